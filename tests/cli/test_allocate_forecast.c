/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice allocate --forecast as people call it: what the schedules record of what they were planned
 * for, which attainment is claimed, and that a stale forecast never shrinks production.
 */
#include "base/log.h"
#include "tests/cli/weeks.h"
#include "windows/allocation/schedule.h"

#define ALLOCATE "allocate --demand @/weeks.csv --config @/sluice.yaml "

static int replicas_in(const char *folder, const char *file)
{
    owned(chars) char *path = text_format("%s/%s", folder, file);
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule = schedule_read(path, &err);

    if (!schedule)
        fail_msg("%s", err.text);
    return schedule_replicas_of(schedule, "chat-2x", "prod-a");
}

static void allocate_plans_for_the_bound_and_says_so(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said plain = expect_code(folder, EXIT_DONE, ALLOCATE "--out @/plain");
    owned(said) struct said ahead = expect_code(folder, EXIT_DONE,
                                                ALLOCATE "--out @/ahead --forecast");

    assert_non_null(strstr(plain.out->chars, "wrote"));
    assert_non_null(strstr(ahead.out->chars, "wrote"));

    owned(text) struct text *file = said_file(folder, "ahead/day.yaml");

    assert_true(replicas_in(folder, "ahead/day.yaml") > replicas_in(folder, "plain/day.yaml"));
    assert_non_null(strstr(file->chars, "# forecast: chat x 1."));
    assert_non_null(strstr(file->chars, "scaled to the forecast's upper bound"));
    owned(said) struct said both = expect_code(folder, EXIT_USAGE,
                                               ALLOCATE "--forecast --rate chat=1/s");
    assert_non_null(strstr(both.err->chars, "--rate"));
}

/* Bolder together than nine days in ten alone, safer together than that. */
static void an_attainment_is_for_all_windows_together(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said bold = expect_code(folder, EXIT_DONE,
                                               ALLOCATE "--out @/bold --forecast --attainment 60");
    owned(said) struct said safe = expect_code(folder, EXIT_DONE,
                                               ALLOCATE "--out @/safe --forecast --attainment 99");
    owned(text) struct text *file = said_file(folder, "safe/day.yaml");

    assert_non_null(strstr(bold.out->chars, "wrote"));
    assert_non_null(strstr(safe.out->chars, "wrote"));
    assert_non_null(strstr(file->chars, "(99 of 100 days of all windows together"));
    assert_true(replicas_in(folder, "safe/day.yaml") > replicas_in(folder, "bold/day.yaml"));
    owned(said) struct said alone = expect_code(folder, EXIT_USAGE, ALLOCATE "--attainment 95");
    assert_non_null(strstr(alone.err->chars, "--forecast"));
}

/* One window from fresh demand, with bounds of plans that were made as late. */
static void one_window_is_planned_shortly_before_it(void **state)
{
    static const struct mistake mistakes[] = {
        { ALLOCATE "--follow 1h --window day", EXIT_USAGE, "--forecast" },
        { ALLOCATE "--follow 1h --forecast", EXIT_USAGE, "--window" },
        { ALLOCATE "--follow 1h --forecast --window day --horizon 1", EXIT_USAGE, "--horizon" },
        { ALLOCATE "--follow 2d --forecast --window day", EXIT_USAGE, "a minute to a day" },
        /* the demand ends at midnight, and the window begins at eight */
        { ALLOCATE "--out @/out --forecast --follow 1h --window day", EXIT_ERROR,
          "begins 8h after the end of the demand" },
        { ALLOCATE "--forecast --window day --again", EXIT_USAGE, "--follow" },
        { ALLOCATE "--out @/out --forecast --follow 1h --window day --again", EXIT_ERROR,
          "window day is not in force when the demand ends" },
    };
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said said = expect_code(
        folder, EXIT_DONE, ALLOCATE "--out @/out --forecast --follow 8h --window day");
    owned(text) struct text *file = said_file(folder, "out/day.yaml");

    assert_non_null(strstr(said.out->chars, "wrote"));
    assert_non_null(
        strstr(file->chars, "for the next window alone, by plans that were made 8h before it"));
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

/* The night began at eight, and the demand ends at midnight. */
static void the_rest_of_a_window_is_planned_while_it_is_in_force(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said said = expect_code(
        folder, EXIT_DONE,
        ALLOCATE "--out @/out --forecast --follow 1h --window night --again -o json");
    owned(text) struct text *file = said_file(folder, "out/night.yaml");
    owned(json) json_t *root = json_parse(said.out->chars, said.out->length, "stdout", NULL);

    assert_int_equal(json_integer_value(json_at(root, "forecast/again_s")), 4 * 3600);
    assert_non_null(strstr(file->chars, "for the rest of the window in force, by plans that were "
                                        "made when it had been for 4h"));
}

/* The last day overran its bound, so the forecast is stale: it may grow production, not shrink it.
 */
static void a_stale_forecast_never_shrinks_production(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1.8);

    (void)state;

    owned(said) struct said first = expect_code(folder, EXIT_DONE, ALLOCATE "--forecast" NOW);

    assert_non_null(strstr(first.out->chars, "wrote"));

    int planned = replicas_in(folder, "schedules/day.yaml");
    owned(chars) char *more = text_format("workloads: {chat-2x: {prod-a: %d}}\n", planned + 5);
    owned(chars) char *fewer = text_format("workloads: {chat-2x: {prod-a: %d}}\n", planned - 1);

    mem_free(test_folder_write(folder, "schedules/day.yaml", fewer));
    owned(said) struct said grows = expect_code(folder, EXIT_DONE, ALLOCATE "--forecast" NOW);
    assert_non_null(strstr(grows.out->chars, "wrote"));
    assert_int_equal(replicas_in(folder, "schedules/day.yaml"), planned);

    mem_free(test_folder_write(folder, "schedules/day.yaml", more));
    owned(said) struct said shrinks = expect_code(folder, EXIT_REFUSED, ALLOCATE "--forecast" NOW);
    assert_non_null(strstr(shrinks.err->chars, "the forecast of queue chat is stale (overrun)"));
    assert_int_equal(replicas_in(folder, "schedules/day.yaml"), planned + 5);
}

/* What ended long before now says nothing of now.  The files hold the same bytes as if it did. */
static void demand_that_ended_long_ago_never_shrinks_production(void **state)
{
    static const char *const allocate = ALLOCATE "--forecast --now ";
    owned(test_folder) char *folder = weeks_folder(1);
    owned(chars) char *in_time = text_format("%s2026-11-18T00:00:00Z", allocate);
    owned(chars) char *too_late = text_format("%s2026-11-18T00:00:01Z", allocate);
    owned(chars) char *check = text_format("%s --check", too_late);

    (void)state;
    owned(said) struct said first = expect_code(folder, EXIT_DONE, in_time);
    assert_null(strstr(first.err->chars, "stale"));
    owned(said) struct said same = expect_code(folder, EXIT_DONE, check);
    assert_non_null(strstr(same.err->chars, "note: the forecast of queue chat is stale (old)"));

    owned(chars) char *more = text_format("workloads: {chat-2x: {prod-a: %d}}\n",
                                          replicas_in(folder, "schedules/day.yaml") + 1);

    mem_free(test_folder_write(folder, "schedules/day.yaml", more));
    owned(said) struct said held = expect_code(folder, EXIT_REFUSED, too_late);
    assert_non_null(strstr(held.err->chars, "the forecast of queue chat is stale (old)"));
    owned(said) struct said shrinks = expect_code(folder, EXIT_DONE, in_time);
    assert_non_null(strstr(shrinks.out->chars, "wrote"));
}

/* An event is planned from last week: no attainment is claimed for it either. */
static void an_event_is_named_as_not_planned_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = text_format(
        "%sevents: {launch: {from: 2026-11-18 09:00, to: 2026-11-18 18:00, multiplier: 1.2}}\n",
        small_config);

    (void)state;
    write_demand(folder, "weeks.csv", 1);
    mem_free(test_folder_write(folder, "sluice.yaml", config));
    owned(said) struct said plan = expect_code(folder, EXIT_DONE,
                                               ALLOCATE "--out @/out --forecast --attainment 95");
    owned(text) struct text *file = said_file(folder, "out/launch.yaml");

    assert_non_null(strstr(plan.out->chars, "queue chat: NOT planned for any attainment (event)"));
    assert_non_null(strstr(file->chars, "(1 of 3 queues in windows): chat in launch (event)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocate_plans_for_the_bound_and_says_so),
        cmocka_unit_test(an_attainment_is_for_all_windows_together),
        cmocka_unit_test(one_window_is_planned_shortly_before_it),
        cmocka_unit_test(the_rest_of_a_window_is_planned_while_it_is_in_force),
        cmocka_unit_test(a_stale_forecast_never_shrinks_production),
        cmocka_unit_test(demand_that_ended_long_ago_never_shrinks_production),
        cmocka_unit_test(an_event_is_named_as_not_planned_for),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
