/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The course of a day: what the service saw, and what its schedules want next.
 */
#include "base/file.h"
#include "tests/cli/small_world.h"

#include <stdlib.h>

static const json_t *cluster_of(const json_t *day, const char *name)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(day, "clusters"), i, row)
        if (text_equal(json_text_or(row, "cluster", ""), name))
            return row;
    fail_msg("no cluster %s", name);
    return NULL;
}

/* A look of the cluster: at `from_last` from the newest. */
static json_int_t look(const json_t *day, const char *cluster, size_t from_last, size_t column)
{
    const json_t *course = json_object_get(cluster_of(day, cluster), "course");
    const json_t *row = json_array_get(course, json_array_size(course) - 1 - from_last);
    const json_t *value = json_array_get(row, column);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

enum { AGE, READY, WANTED, LENT };

static void the_schedules_are_shown_for_a_day(void **state)
{
    static const struct {
        const char *from, *window;
        int nodes;
    } want[] = { { "2026-11-17T06:10:00Z", "night", 6 },
                 { "2026-11-17T08:00:00Z", "day", 10 },
                 { "2026-11-17T20:00:00Z", "night", 6 } };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *before = NULL;
    owned(json) json_t *day = NULL;
    const json_t *ahead;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    before = service_day(rehearsal->service);
    ahead = json_object_get(cluster_of(before, "prod-a"), "ahead");
    assert_true(json_is_null(json_object_get(json_array_get(ahead, 0), "nodes")));
    apply(rehearsal, 10, 6);
    day = service_day(rehearsal->service);
    ahead = json_object_get(cluster_of(day, "prod-a"), "ahead");
    assert_int_equal(json_array_size(ahead), COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const json_t *row = json_array_get(ahead, i);

        assert_string_equal(json_text_or(row, "from", ""), want[i].from);
        assert_string_equal(json_text_or(row, "window", ""), want[i].window);
        assert_int_equal(json_int_or(row, "nodes", -1), want[i].nodes);
    }
    assert_null(json_object_get(cluster_of(day, "research-a"), "ahead"));
    assert_string_equal(json_text_or(day, "time_zone", ""), "UTC");
}

/* SLUICE_DAY: a file for the played day, which the play of the web page shows. */
static void keep(const json_t *day)
{
    const char *path = getenv("SLUICE_DAY");
    owned(chars) char *text = json_print(day);
    struct error err;

    if (path && file_write(path, text, strlen(text), 0644, &err) < 0)
        fail_msg("%s", err.text);
}

static void the_nodes_of_the_day_are_remembered(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *day = NULL;
    const json_t *course;
    size_t count;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    rehearsal_run(rehearsal, 26 * (int64_t)HOUR_MS); /* until 08:10 */
    day = service_day(rehearsal->service);
    keep(day);
    course = json_object_get(cluster_of(day, "prod-a"), "course");
    count = json_array_size(course);
    assert_int_equal(count, 289); /* of 24 hours; older ones are forgotten */
    assert_in_range(look(day, "prod-a", count - 1, AGE), DAY_MS / SECOND_MS,
                    DAY_MS / SECOND_MS + 600);
    for (size_t i = 1; i < count; i++)
        assert_true(look(day, "prod-a", i, AGE) > look(day, "prod-a", i - 1, AGE));
    assert_int_equal(look(day, "prod-a", 0, READY), 10);
    assert_int_equal(look(day, "prod-a", 0, WANTED), 10);
    assert_int_equal(look(day, "prod-a", 0, LENT), -1);
    assert_int_equal(look(day, "research-a", 0, READY), 6);
    assert_int_equal(look(day, "research-a", 0, LENT), 5); /* one node is static */
    assert_int_equal(look(day, "research-a", 0, WANTED), -1);
    assert_int_equal(look(day, "prod-a", 4 * 12, READY), 6); /* four hours before */
    assert_int_equal(look(day, "prod-a", 4 * 12, WANTED), 6);
    assert_int_equal(look(day, "research-a", 4 * 12, LENT), 9);
}

/* A number that is not known is null, and no 0. */
static void what_was_not_seen_is_not_known(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *day = NULL;

    (void)state;
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 30 * MINUTE_MS);
    day = service_day(rehearsal->service);
    assert_int_equal(look(day, "research-a", 0, READY), -1);
    assert_int_equal(look(day, "research-a", 0, LENT), -1);
    assert_int_equal(look(day, "prod-a", 0, READY), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schedules_are_shown_for_a_day),
        cmocka_unit_test(the_nodes_of_the_day_are_remembered),
        cmocka_unit_test(what_was_not_seen_is_not_known),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
