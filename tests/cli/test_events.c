/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An event from the configuration to the nodes: allocate sizes it, the service grows production
 * ahead of it and gives the nodes back when it has ended, with the referee watching.
 */
#include "broker/terminal/client.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"
#include "windows/allocation/schedule.h"

/* 10:00 to 13:00 of the Tuesday that small worlds begin on at 06:00. */
static const char event_text[] =
    "events:\n"
    "  launch: {from: 2026-11-17 10:00, to: 2026-11-17 13:00, multiplier: 2, queues: [chat]}\n";

/* A week of one request in 1.5 seconds, before that Tuesday. */
static void write_demand(const char *folder)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 11, 10) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int64_t at = 0; at < WEEK_MS; at += 10 * MINUTE_MS) {
        char time[WALL_TEXT_SIZE];

        text_add(csv, "%s,chat,400\n", wall_format((struct wall_time){ first + at }, time));
    }
    mem_free(test_folder_write(folder, "week.csv", csv->chars));
}

static struct rehearsal *open_rehearsal(const char *folder)
{
    owned(chars) char *config = text_format("%s%s", small_config, event_text);
    owned(chars) char *world = text_format("seed: 1\n%s", small_machines);

    return world_start(folder, config, world, 6, 1);
}

static int planned_nodes(const json_t *schedules, const char *window)
{
    const char *text = json_string_value(json_object_get(schedules, window));
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule =
        text ? schedule_parse(text, strlen(text), window, &err) : NULL;

    if (!schedule)
        fail_msg("%s: %s", window, text ? err.text : "there is no file");
    return schedule_nodes_of(schedule, "a3-megagpu-8g", "us-east5", "prod-a", 0);
}

/* What allocate writes, as apply sends it. */
static json_t *allocate(const char *folder)
{
    owned(chars) char *schedules = text_format("%s/schedules", folder);
    struct error err = { 0 };

    write_demand(folder);
    owned(said) struct said said = expect_code(
        folder, EXIT_DONE,
        "allocate --demand @/week.csv --config @/sluice.yaml --seeds 2 --days 7");

    assert_non_null(strstr(said.out->chars, "launch.yaml"));

    json_t *files = client_schedules(schedules, &err);

    if (!files)
        fail_msg("%s", err.text);
    assert_int_equal(json_object_size(files), 4); /* three schedules, and the forecast */
    return files;
}

static void expect_production(struct rehearsal *rehearsal, int nodes)
{
    assert_int_equal(nodes_of(rehearsal, "prod-a-east"), nodes);
}

static const char *window_of(struct rehearsal *rehearsal, char *out, size_t size)
{
    owned(json) json_t *status = service_status(rehearsal->service);

    text_copy(out, size, json_text_or(status, "window", ""));
    return out;
}

static void an_event_grows_production_ahead_and_ends_by_itself(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_rehearsal(folder);
    owned(json) json_t *files = allocate(folder);
    int usual = planned_nodes(files, "day");
    int more = planned_nodes(files, "launch");
    struct error err = { 0 };
    char window[64];

    (void)state;
    assert_int_equal(planned_nodes(files, "night"), usual);
    assert_in_range(more, usual + 2, 2 * usual);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);

    owned(json) json_t *plan = service_apply(rehearsal->service, files, NULL, "test", &err);

    if (!plan)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, 178 * MINUTE_MS); /* 09:00 */
    expect_rest(rehearsal, usual);
    rehearsal_run(rehearsal, 60 * MINUTE_MS); /* 10:00: it begins, and all is there */
    assert_string_equal(window_of(rehearsal, window, sizeof window), "launch");
    expect_rest(rehearsal, more);
    rehearsal_run(rehearsal, 179 * MINUTE_MS); /* 12:59 */
    expect_production(rehearsal, more);
    rehearsal_run(rehearsal, 2 * HOUR_MS); /* 14:59 */
    assert_string_equal(window_of(rehearsal, window, sizeof window), "day");
    expect_rest(rehearsal, usual);
}

static void only_an_event_that_is_over_needs_no_schedule(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = open_rehearsal(folder);
    owned(json) json_t *files = small_schedules(6, 6);
    struct error err = { 0 };

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    assert_null(service_apply(rehearsal->service, files, NULL, "test", &err));
    assert_non_null(strstr(err.text, "window launch has no schedule"));
    rehearsal_run(rehearsal, 7 * HOUR_MS);

    owned(json) json_t *plan = service_apply(rehearsal->service, files, NULL, "test", &err);

    if (!plan)
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_grows_production_ahead_and_ends_by_itself),
        cmocka_unit_test(only_an_event_that_is_over_needs_no_schedule),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
