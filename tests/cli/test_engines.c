/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Commands that plan for a queue whose replicas are engines: eight requests at once in each, so
 * that a plan which takes a request for a server asks for eight times as many.
 */
#include "tests/cli/planned.h"

#include <math.h>

#define WITH " -c @/sluice.yaml -d @/week.csv "

/* A request alone takes 81 s, in a full batch 88 s. */
#define ALONE "service: 81s"
#define ENGINE "engine: {slots: 8, iteration: 40ms, iteration_per_request: 0.5ms, tokens_out: 2000}"

/* The folder of planned.h with another chat. */
static char *folder_with(const char *chat)
{
    static const char was[] = "  chat: {wait_target: 20s, service: 30s}\n";
    char *folder = planned_folder();
    const char *at = strstr(planned_config, was);
    owned(chars) char *config = text_format("%.*s  chat: {wait_target: 20s, %s}\n%s",
                                            (int)(at - planned_config), planned_config, chat,
                                            at + strlen(was));

    planned_put(folder, "sluice.yaml", config);
    return folder;
}

static json_t *json_of(const char *folder, const char *line)
{
    owned(said) struct said said = expect_code(folder, 0, line);

    return planned_json(&said);
}

static double suggested(const char *chat)
{
    owned(test_folder) char *folder = folder_with(chat);
    owned(json) json_t *root = json_of(folder, "windows --suggest --count 3 -o json" WITH);

    return json_number_value(json_object_get(root, "floor"));
}

/* Other queues need the same in both; chat alone is a sixth of what it would be. */
static void proposed_windows_count_replicas(void **state)
{
    double none = suggested("scale_up: 0.0001, " ALONE);
    double alone = suggested(ALONE) - none;
    double engines = suggested(ENGINE) - none;

    (void)state;
    assert_true(alone > 0);
    if (!(engines > alone / 10 && engines < alone / 4))
        fail_msg("%g GPU-hours for engines, %g for one request at a time", engines, alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposed_windows_count_replicas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
