/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The departure board: who leaves stood on it long enough before, and it has its forms for other
 * programs.
 */
#include "base/log.h"
#include "base/map.h"
#include "broker/api/departure_calendar.h"
#include "broker/service/service_parts.h"
#include "broker/terminal/departure_forms.h"
#include "tests/cli/small_world.h"
#include "tests/support/golden.h"

#include <string.h>

static json_t *rows_of(const json_t *board)
{
    return json_object_get(board, "departures");
}

static size_t count_of(const json_t *board, const char *certainty)
{
    size_t count = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows_of(board), i, row)
        count += text_equal(json_text_or(row, "certainty", ""), certainty);
    return count;
}

/* From 6 to 10 nodes at 08:00: a lead time (the prior's 25 minutes) before, and a quarter of a
   minute for the plan's turn and the cordon. */
static void tomorrow_is_on_the_board_today(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *before = NULL;
    owned(json) json_t *day = NULL;
    owned(json) json_t *short_day = NULL;
    const json_t *row;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    before = service_departures(rehearsal->service, DAY_MS);
    assert_int_equal(json_array_size(rows_of(before)), 0);

    apply(rehearsal, 10, 6);
    day = service_departures(rehearsal->service, DAY_MS);
    assert_int_equal(count_of(day, "planned"), 4);
    json_array_foreach(rows_of(day), i, row) {
        assert_string_equal(json_text_or(row, "leaves", ""), "2026-11-17T07:34:45Z");
        assert_string_equal(json_text_or(row, "due", ""), "2026-11-17T08:00:00Z");
        assert_string_equal(json_text_or(row, "window", ""), "day");
        assert_string_equal(json_text_or(row, "to", ""), "prod-a");
    }
    assert_int_equal(json_int_or(day, "unnamed_nodes", -1), 0);
    short_day = service_departures(rehearsal->service, HOUR_MS);
    assert_int_equal(json_array_size(rows_of(short_day)), 0);

    /* The next day's leave again, after the night in which they came. */
    owned(json) json_t *two = service_departures(rehearsal->service, 2 * (int64_t)DAY_MS);
    assert_int_equal((int)json_array_size(rows_of(two)) + json_int_or(two, "unnamed_nodes", 0), 8);
}

/* What comes back is another machine, whose name is not known. */
static void no_node_leaves_twice_on_the_board(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(map) struct map *seen = map_new(NULL); /* borrowed */
    owned(json) json_t *board = NULL;
    const json_t *row;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    board = service_departures(rehearsal->service, 3 * (int64_t)DAY_MS);
    assert_true(json_array_size(rows_of(board)) >= 4);
    json_array_foreach(rows_of(board), i, row) {
        const char *node = json_text_or(row, "node", "");

        if (map_get(seen, node))
            fail_msg("%s leaves twice", node);
        map_set(seen, node, (void *)(uintptr_t)row);
    }
}

/* A board without departures says that no node leaves, unless it says that it does not know. */
static void what_was_not_seen_lately_is_named_as_unknown(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *seen = NULL;
    owned(json) json_t *unseen = NULL;
    const json_t *row;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply(rehearsal, 10, 6);
    seen = service_departures(rehearsal->service, DAY_MS);
    assert_int_equal(json_array_size(json_object_get(seen, "unknown")), 0);
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    unseen = service_departures(rehearsal->service, DAY_MS);
    assert_int_equal(json_array_size(rows_of(unseen)), 0);
    assert_int_equal(json_array_size(json_object_get(unseen, "unknown")), 1);
    row = json_array_get(json_object_get(unseen, "unknown"), 0);
    assert_string_equal(json_text_or(row, "reservation", ""), "east");
    assert_non_null(strstr(json_text_or(row, "reason", ""), "research-a"));
}

/* "No departures" would be read as "it stays". */
static void a_node_that_no_cluster_has_is_an_error(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    struct error err = { 0 };
    const char *name = NULL;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_true(
        map_next(fleet_snapshot(rehearsal->service->fleet, &rehearsal->config->clusters[1])->nodes,
                 &(size_t){ 0 }, &name, NULL));
    assert_int_equal(service_find_node(rehearsal->service, name, &err), 0);
    assert_int_equal(service_find_node(rehearsal->service, "gpu-1", &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(err.text, "no cluster has a node gpu-1");
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    assert_int_equal(service_find_node(rehearsal->service, name, &err), 0);
    assert_int_equal(service_find_node(rehearsal->service, "gpu-1", &err), -1);
    assert_int_equal(err.kind, ERROR_DENIED);
    assert_non_null(strstr(err.text, "cluster research-a was not seen lately"));
}

/* Puts down who is announced, and since when. */
static void note_announced(struct rehearsal *rehearsal, struct map *announced)
{
    owned(json) json_t *board = service_departures(rehearsal->service, DAY_MS);
    const json_t *row;
    size_t i;

    json_array_foreach(rows_of(board), i, row) {
        const char *node = json_text_or(row, "node", "");
        const char *leaves = json_text_or(row, "leaves", "");

        if (!text_equal(json_text_or(row, "certainty", ""), "announced"))
            continue;
        if (map_get(announced, node))
            assert_string_equal(map_get(announced, node), leaves);
        else
            map_set(announced, node, mem_copy_chars(leaves));
    }
}

/* Who left stood on the board with the time at which it did. */
static void who_leaves_was_announced(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 3, "");
    owned(map) struct map *announced = map_new(mem_free); /* node -> its time */
    owned(json) json_t *answer = NULL;
    size_t left = 0;
    const json_t *row;
    size_t i;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 12, 6);
    for (int minutes = 0; minutes < 30 * 60; minutes += 2) {
        note_announced(rehearsal, announced);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
    }
    answer = service_transfers(rehearsal->service, true);
    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        const char *told = map_get(announced, json_text_or(row, "node", ""));

        if (!text_equal(json_text_or(row, "from", ""), "research-a-east"))
            continue;
        left++;
        assert_non_null(told);
        assert_string_equal(told, json_text_or(row, "departure", ""));
    }
    assert_int_equal(left, 12); /* six on each of two mornings */
}

static void the_forms_for_other_programs(void **state)
{
    static const char board[] =
        "{\"at\":\"2026-11-17T06:00:00.123Z\",\"departures\":["
        "{\"leaves\":\"2026-11-17T07:35:00.999Z\",\"node\":\"res1-b07-n01\",\"cluster\":\"res-1\","
        "\"pool\":\"res-1-east\",\"to\":\"prod-a\",\"certainty\":\"announced\","
        "\"due\":\"2026-11-17T08:00:00Z\",\"window\":\"peak\",\"jobs\":["
        "{\"kind\":\"JobSet\",\"job\":\"align/sft, "
        "\\\"big\\\"\",\"namespace\":\"align\",\"gpus\":8},"
        "{\"kind\":\"Job\",\"job\":\"eval/\xc3\xa9-77\",\"namespace\":\"eval\",\"gpus\":2}]},"
        "{\"leaves\":\"2026-11-17T19:00:00Z\",\"node\":\"res1-b07-n02\",\"cluster\":\"res-1\","
        "\"pool\":\"res-1-east\",\"to\":\"prod-a\",\"certainty\":\"planned\",\"due\":null,"
        "\"window\":\"\",\"jobs\":[]}]}";
    struct error err = { 0 };
    owned(json) json_t *answer = json_parse(board, strlen(board), "board", &err);
    owned(text) struct text *csv = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *ical = text_new(TEXT_UNBOUNDED);

    (void)state;
    assert_non_null(answer);
    departures_csv(answer, true, csv);
    golden_check("golden/cli/departures.csv", csv->chars);
    departures_ical(answer, ical);
    golden_check("golden/cli/departures.ics", ical->chars);
    for (const char *line = ical->chars; *line;) {
        size_t length = strcspn(line, "\r");

        assert_true(length <= 75);
        assert_memory_equal(line + length, "\r\n", 2);
        line += length + 2;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tomorrow_is_on_the_board_today),
        cmocka_unit_test(no_node_leaves_twice_on_the_board),
        cmocka_unit_test(what_was_not_seen_lately_is_named_as_unknown),
        cmocka_unit_test(a_node_that_no_cluster_has_is_an_error),
        cmocka_unit_test(who_leaves_was_announced),
        cmocka_unit_test(the_forms_for_other_programs),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
