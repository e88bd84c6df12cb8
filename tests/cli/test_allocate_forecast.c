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
    assert_non_null(strstr(file->chars, "1 of 1 queues have the slo pooled: "));
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
        { ALLOCATE "--out @/out --forecast --follow 1h --window day" NOW, EXIT_ERROR,
          "begins 8h after the end of the demand, and --follow says 1h: give newer demand, or "
          "--follow "
          "8h" },
        { ALLOCATE "--forecast --window day --again", EXIT_USAGE, "--follow" },
        { ALLOCATE "--out @/out --forecast --follow 1h --window day --again" NOW, EXIT_ERROR,
          "window day is not in force when the demand ends" },
    };
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said said = expect_code(
        folder, EXIT_DONE, ALLOCATE "--out @/out --forecast --follow 8h --window day" NOW);
    owned(text) struct text *file = said_file(folder, "out/day.yaml");

    assert_non_null(strstr(said.out->chars, "wrote"));
    assert_non_null(
        strstr(file->chars, "for the next window alone, by plans that were made 8h before it"));
    assert_null(strstr(said.err->chars, "lead.prior_p95"));
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

/* Nodes that are asked for an hour before a window come later, if they take longer. */
static void a_lead_that_is_shorter_than_that_of_nodes_is_noted(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);
    owned(text) struct text *config = said_file(folder, "sluice.yaml");
    owned(text) struct text *slow = text_new(1 << 16);
    const char *lead = strstr(config->chars, "25m}"); /* prior_p95 */

    (void)state;
    assert_non_null(lead);
    text_add(slow, "%.*s150m%s", (int)(lead - config->chars), config->chars, lead + 3);
    mem_free(test_folder_write(folder, "slow.yaml", slow->chars));

    owned(said) struct said said = expect_code(
        folder, EXIT_DONE,
        "allocate --demand @/weeks.csv --config @/slow.yaml --out @/out --forecast "
        "--follow 8h --window day" NOW);
    owned(said) struct said late = expect_code(
        folder, EXIT_ERROR,
        "allocate --demand @/weeks.csv --config @/slow.yaml --out @/out --forecast "
        "--follow 1h --window day" NOW);

    assert_null(strstr(said.err->chars, "lead.prior_p95"));
    assert_non_null(strstr(late.err->chars, "a node takes up to 2h30m to come (lead.prior_p95)"));
}

/* The night began at eight, and the demand ends at midnight. */
static void the_rest_of_a_window_is_planned_while_it_is_in_force(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said said = expect_code(
        folder, EXIT_DONE,
        ALLOCATE "--out @/out --forecast --follow 1h --window night --again -o json" NOW);
    owned(text) struct text *file = said_file(folder, "out/night.yaml");
    owned(json) json_t *root = json_parse(said.out->chars, said.out->length, "stdout", NULL);

    assert_int_equal(json_integer_value(json_at(root, "forecast/again_s")), 4 * 3600);
    assert_non_null(strstr(file->chars, "for the rest of the window in force, by plans that were "
                                        "made when it had been for 4h"));
}

#define FOLLOW ALLOCATE "--out @/out --forecast --follow 8h --window day"
#define AGAIN_TO(folder)                                                                           \
    ALLOCATE "--out @/" folder " --forecast --follow 1h --window night --again" NOW
#define AGAIN ALLOCATE "--out @/out --forecast --follow 1h --window night --again"

/* The demand ends at midnight, in steps of ten minutes.  A plan of the next hours needs the last
   ones, of the day on which it is made. */
static void a_plan_of_hours_needs_the_demand_until_now(void **state)
{
    static const struct mistake mistakes[] = {
        { FOLLOW " --now 2026-11-16T00:20:01Z", EXIT_ERROR,
          "the demand of queue chat is known until 2026-11-16T00:00:00Z only (now: "
          "2026-11-16T00:20:01Z)" },
        { FOLLOW " --now 2026-11-17T16:00:00Z", EXIT_ERROR, "give newer demand" },
        { FOLLOW " --now 2026-11-15T23:39:59Z", EXIT_ERROR,
          "the demand of queue chat ends at 2026-11-16T00:00:00Z, which is after now" },
        { AGAIN " --now 2026-11-17T00:00:00Z", EXIT_ERROR, "is known until 2026-11-16T00:00:00Z" },
    };
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));

    owned(said) struct said late = expect_code(folder, EXIT_DONE,
                                               FOLLOW " --now 2026-11-16T00:20:00Z");
    owned(said) struct said early = expect_code(folder, EXIT_DONE,
                                                FOLLOW " --now 2026-11-15T23:40:00Z");
    assert_string_equal(late.err->chars, early.err->chars);
}

/* Those who wait are on top of what arrives, if a new request would be late behind them. */
static void requests_that_wait_get_replicas_of_their_own(void **state)
{
    static const struct mistake mistakes[] = {
        { ALLOCATE "--waiting chat=5", EXIT_USAGE, "give --follow" },
        { AGAIN NOW " --waiting chat", EXIT_USAGE, "write it like chat=1200" },
        { AGAIN NOW " --waiting =5", EXIT_USAGE, "write it like chat=1200" },
        { AGAIN NOW " --waiting chat=many", EXIT_USAGE, "write it like chat=1200" },
        { AGAIN NOW " --waiting chat=-1", EXIT_USAGE, "write it like chat=1200" },
        { AGAIN NOW " --waiting chat=1 --waiting chat=2", EXIT_USAGE, "chat is given twice" },
        { AGAIN NOW " --waiting tchat=1", EXIT_ERROR,
          "--waiting: there is no queue or workload \"tchat\"" },
    };
    static const char *const files[] = { "none/night.yaml", "few/night.yaml", "many/night.yaml",
                                         "most/night.yaml" };
    owned(test_folder) char *folder = weeks_folder(1);
    int replicas[COUNT_OF(files)];

    (void)state;
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));

    owned(said) struct said none = expect_code(folder, EXIT_DONE, AGAIN_TO("none"));
    owned(said) struct said few = expect_code(folder, EXIT_DONE,
                                              AGAIN_TO("few") " --waiting chat=3");
    owned(said) struct said many = expect_code(
        folder, EXIT_DONE, AGAIN_TO("many") " --waiting chat-2x=1500 --waiting chat=500 -o json");
    owned(json) json_t *root = json_parse(many.out->chars, many.out->length, "stdout", NULL);
    const json_t *window = json_array_get(json_object_get(root, "windows"), 0);
    const json_t *queue = json_array_get(json_object_get(window, "queues"), 0);
    owned(said) struct said most = expect_code(folder, EXIT_DONE,
                                               AGAIN_TO("most") " --waiting chat=1000000");
    owned(text) struct text *file = said_file(folder, files[2]);

    for (size_t i = 0; i < COUNT_OF(files); i++)
        replicas[i] = replicas_in(folder, files[i]);
    assert_int_equal(replicas[1], replicas[0]);
    assert_int_equal(replicas[2], replicas[0] + 12); /* 2000 of 20 s in an hour, by both names */
    assert_true(replicas[3] > replicas[2]);          /* as many as there is room for */
    assert_null(strstr(few.out->chars, "that wait already"));
    assert_int_equal(json_int_or(queue, "replicas_catch_up", 0), 12);
    assert_true(json_number_value(json_object_get(queue, "waiting")) >= 2000);
    assert_int_equal(json_int_or(queue, "replicas_granted", 0),
                     json_int_or(queue, "replicas_needed", 0) + 12);
    assert_non_null(strstr(file->chars, ", waiting chat-2x=1500, waiting chat=500\n"));
    assert_null(strstr(none.out->chars, "that wait already"));
    assert_non_null(strstr(most.out->chars, "on top serve the 1000000 requests that wait already; "
                                            "there is no room for "));
}

/* Writes demand in which queue chat has no rows in the last hours, except so many last ones, while
   another queue goes on. */
static void write_hole(const char *folder, const char *name, int hours, int rows)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 11, 2) * DAY_MS;
    int end = 14 * 144;

    text_add(csv, "t,queue,count\n");
    for (int step = 0; step < end; step++) {
        char time[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ first + step * (10 * (int64_t)MINUTE_MS) }, time);
        text_add(csv, "%s,other,300\n", time);
        if (step < end - hours * 6 || step >= end - rows)
            text_add(csv, "%s,chat,300\n", time);
    }
    mem_free(test_folder_write(folder, name, csv->chars));
}

/* The end of the file is not the end of each queue, and a stray row does not tell of hours. */
static void each_queue_must_be_known_until_now(void **state)
{
    static const struct {
        int hours;
        int rows;
        int code;
    } rows[] = {
        { 1, 0, EXIT_ERROR },  { 10, 0, EXIT_ERROR }, { 10, 1, EXIT_ERROR },
        { 10, 2, EXIT_ERROR }, { 10, 3, EXIT_DONE },  { 0, 0, EXIT_DONE },
    };
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_hole(folder, "weeks.csv", rows[i].hours, rows[i].rows);
        owned(said) struct said said = expect_code(folder, rows[i].code, FOLLOW NOW);
        if (rows[i].code == EXIT_ERROR)
            assert_non_null(strstr(said.err->chars, "queue chat is known until 2026-11-15T"));
        if (rows[i].code == EXIT_ERROR)
            assert_non_null(strstr(said.err->chars, "or --missing zero if a step without a row"));

        /* where a step without a row means that nothing arrived, all steps are known */
        owned(said) struct said zero = expect_code(folder, EXIT_DONE, FOLLOW NOW " --missing zero");
        assert_null(strstr(zero.err->chars, "is known until"));
    }
}

/* A night of which the demand has the beginning is over when the plan is made. */
static void the_window_that_is_planned_again_is_in_force_now(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);
    owned(text) struct text *csv = said_file(folder, "weeks.csv");
    char *end = strstr(csv->chars, "2026-11-15T08:00:00Z");

    (void)state;
    assert_non_null(end);
    *end = '\0';
    mem_free(test_folder_write(folder, "weeks.csv", csv->chars));
    owned(said) struct said over = expect_code(folder, EXIT_ERROR,
                                               AGAIN " --now 2026-11-15T08:00:00Z");
    assert_non_null(strstr(over.err->chars, "not in force"));
    *strstr(csv->chars, "2026-11-15T07:50:00Z") = '\0';
    mem_free(test_folder_write(folder, "weeks.csv", csv->chars));
    owned(said) struct said just = expect_code(folder, EXIT_ERROR,
                                               AGAIN " --now 2026-11-15T08:00:00Z");
    assert_non_null(strstr(just.err->chars, "window night was in force when the demand ended"));
    owned(said) struct said now = expect_code(folder, EXIT_DONE,
                                              AGAIN " --now 2026-11-15T07:59:00Z");
    assert_non_null(strstr(now.out->chars, "wrote"));
}

/* A plan of days is made, but people hear of it: the zone of the times may be wrong. */
static void demand_that_ends_after_now_is_told(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said plan = expect_code(
        folder, EXIT_DONE, ALLOCATE "--out @/out --forecast --now 2026-11-15T16:00:00Z");
    owned(said) struct said view = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --now 2026-11-15T16:00:00Z");
    owned(said) struct said fresh = expect_code(folder, EXIT_DONE,
                                                ALLOCATE "--out @/out --forecast" NOW);

    assert_non_null(strstr(plan.err->chars, "note: the demand of queue chat ends at "
                                            "2026-11-16T00:00:00Z, which is after now "
                                            "(2026-11-15T16:00:00Z): check the time zone"));
    assert_non_null(strstr(view.err->chars, "which is after now"));
    assert_null(strstr(fresh.err->chars, "after now"));
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

/* Writes weeks in which the last one of queue chat has no arrivals, while another queue goes on. */
static void write_silent_week(const char *folder, double last_week)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 10, 19) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int step = 0; step < 28 * 144; step++) {
        char time[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ first + step * (10 * (int64_t)MINUTE_MS) }, time);
        text_add(csv, "%s,other,300\n", time);
        text_add(csv, "%s,chat,%.0f\n", time, step / 144 >= 21 ? 300 * last_week : 300.0);
    }
    mem_free(test_folder_write(folder, "weeks.csv", csv->chars));
}

/* A week without arrivals may be one in which an exporter was dead: there is a bound, but nothing
   that could be scaled to it. */
static void a_week_of_silence_never_shrinks_production(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;
    write_silent_week(folder, 1);
    owned(said) struct said first = expect_code(folder, EXIT_DONE, ALLOCATE "--forecast" NOW);
    int planned = replicas_in(folder, "schedules/day.yaml");

    assert_non_null(strstr(first.out->chars, "wrote"));
    assert_true(planned > 5);
    for (int last = 0; last < 2; last++) { /* none at all, and a few */
        write_silent_week(folder, 0.01 * last);
        owned(said) struct said held = expect_code(folder, EXIT_REFUSED, ALLOCATE "--forecast" NOW);
        assert_non_null(strstr(held.err->chars, "(no-shape), and window day would shrink from"));
        assert_non_null(strstr(held.err->chars, "queue chat"));
        assert_int_equal(replicas_in(folder, "schedules/day.yaml"), planned);
    }

    /* Last week's demand is what people may plan from, if they mean it. */
    owned(said) struct said plain = expect_code(folder, EXIT_DONE, ALLOCATE);
    assert_non_null(strstr(plain.out->chars, "wrote"));
    assert_true(replicas_in(folder, "schedules/day.yaml") < planned);
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
        cmocka_unit_test(a_lead_that_is_shorter_than_that_of_nodes_is_noted),
        cmocka_unit_test(the_rest_of_a_window_is_planned_while_it_is_in_force),
        cmocka_unit_test(a_plan_of_hours_needs_the_demand_until_now),
        cmocka_unit_test(requests_that_wait_get_replicas_of_their_own),
        cmocka_unit_test(each_queue_must_be_known_until_now),
        cmocka_unit_test(the_window_that_is_planned_again_is_in_force_now),
        cmocka_unit_test(demand_that_ends_after_now_is_told),
        cmocka_unit_test(a_stale_forecast_never_shrinks_production),
        cmocka_unit_test(a_week_of_silence_never_shrinks_production),
        cmocka_unit_test(demand_that_ended_long_ago_never_shrinks_production),
        cmocka_unit_test(an_event_is_named_as_not_planned_for),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
