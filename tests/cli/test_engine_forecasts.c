/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Forecasts of a queue whose replicas serve many requests at once: what is foretold are replicas,
 * as many as the search finds, whichever target asks for them.
 */
#include "tests/cli/weeks.h"

#include <math.h>
#include <string.h>

#define ENGINE "engine: {slots: 8, iteration: 40ms, iteration_per_request: 0.5ms, tokens_out: 2000}"
#define WITH " --demand @/weeks.csv --config @/sluice.yaml"

static char *folder_with(const char *chat)
{
    static const char was[] = "  chat: {wait_target: 30s, service: 20s}\n";
    char *folder = weeks_folder(1);
    const char *at = strstr(small_config, was);

    assert_non_null(at);

    owned(chars) char *config = text_format("%.*s  chat: {wait_target: 30s, %s}\n%s",
                                            (int)(at - small_config), small_config, chat,
                                            at + strlen(was));

    mem_free(test_folder_write(folder, "sluice.yaml", config));
    return folder;
}

static json_t *json_of(const char *folder, const char *line)
{
    owned(said) struct said said = expect_code(folder, EXIT_DONE, line);
    json_t *root = json_parse(said.out->chars, said.out->length, "said", NULL);

    assert_non_null(root);
    return root;
}

static double number(const json_t *row, const char *key)
{
    if (!json_is_number(json_object_get(row, key)))
        fail_msg("%s is no number", key);
    return json_number_value(json_object_get(row, key));
}

static double planned(const json_t *root)
{
    const json_t *window = json_array_get(json_at(root, "windows"), 0);

    return number(json_array_get(json_at(window, "queues"), 0), "replicas_for_target");
}

static void what_is_foretold_are_replicas(void **state)
{
    static const struct {
        const char *chat;
        double least; /* replicas of the last week: 0.7 a second */
        double most;
    } rows[] = {
        { ENGINE, 8, 10 },
        { "itl_target: 42ms, " ENGINE, 14, 20 },
        { "service: 88s, engine: {slots: 8}", 8, 10 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = folder_with(rows[i].chat);
        owned(json) json_t *root = json_of(folder, "forecast -o json" WITH NOW);
        owned(json) json_t *plan = json_of(folder, "allocate --seeds 1 --out @/out -o json" WITH);
        owned(json) json_t *more = json_of(
            folder, "allocate --seeds 1 --forecast --out @/more -o json" WITH NOW);
        const json_t *row = json_array_get(json_at(root, "forecasts"), 0);
        double last = number(row, "servers_last_week");
        double ratio = number(row, "replay_ratio");

        assert_true(planned(plan) >= rows[i].least && planned(plan) <= rows[i].most);
        assert_true(fabs(last - planned(plan)) <= 1.5);
        assert_true(ratio > 0.8 && ratio < 1.2);
        assert_true(planned(more) >= planned(plan));
        assert_true(fabs(planned(more) - number(row, "servers_upper")) <= 2);
    }
}

static void plans_that_follow_the_day_foretell_replicas_too(void **state)
{
    owned(test_folder) char *folder = folder_with(ENGINE);
    owned(json) json_t *root = json_of(folder, "forecast --follow 90m -o json" WITH NOW);
    const json_t *row = json_array_get(json_at(root, "forecasts"), 0);

    (void)state;
    assert_true(number(row, "servers_point") >= 7 && number(row, "servers_point") <= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_foretold_are_replicas),
        cmocka_unit_test(plans_that_follow_the_day_foretell_replicas_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
