/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice forecast as people call it: what is shown of which demand, and what is said where nothing
 * can be foretold.
 */
#include "base/log.h"
#include "tests/cli/weeks.h"

#include <math.h>

static void a_forecast_shows_its_interval_and_its_score(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said json = expect_code(
        folder, EXIT_DONE, "forecast chat --demand @/weeks.csv --config @/sluice.yaml -o json" NOW);
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);
    const json_t *row = json_array_get(json_at(root, "forecasts"), 0);
    double point = json_number_value(json_at(row, "servers_point"));

    assert_int_equal(json_array_size(json_at(root, "forecasts")), 2);
    assert_string_equal(json_text_or(row, "window", ""), "day");
    assert_string_equal(json_text_or(row, "basis", ""), "rank");
    assert_true(json_number_value(json_at(row, "servers_lower")) <= point);
    assert_true(json_number_value(json_at(row, "servers_upper")) >= point);
    assert_true(json_number_value(json_at(row, "scale")) > 1.02);
    assert_true(json_is_null(json_object_get(row, "stale")));
    assert_true(json_int_or(root, "score/days", 0) > 40);
    /* demand grows by a tenth a week, and nothing else happens: the bounds are a little over it */
    assert_true(json_number_value(json_at(root, "score/upper_over_need")) > 1);
    assert_true(json_number_value(json_at(root, "score/upper_over_need")) < 1.5);

    owned(said) struct said table = expect_code(
        folder, EXIT_DONE, "forecast --demand @/weeks.csv --config @/sluice.yaml --score");

    assert_non_null(strstr(table.out->chars, "LAST_WEEK+10%"));
    assert_non_null(strstr(table.out->chars, "made again every 7 days.\n"));
    owned(said) struct said each = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --score --horizon 1" NOW);
    assert_non_null(strstr(each.out->chars, "made again each day.\n"));
    owned(said) struct said nightly = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --horizon 1 -o json" NOW);
    owned(json) json_t *daily = json_parse(nightly.out->chars, nightly.out->length, "said", NULL);

    assert_int_equal(json_int_or(daily, "horizon_days", 0), 1);
    assert_true(json_int_or(daily, "score/days", 0) > json_int_or(root, "score/days", 0));
    assert_int_equal(json_int_or(daily, "score/bases/rank/days", 0) +
                         json_int_or(daily, "score/bases/normal/days", 0) +
                         json_int_or(daily, "score/bases/prior/days", 0),
                     json_int_or(daily, "score/days", 0));
    assert_string_equal(json_text_or(json_array_get(json_at(daily, "queues"), 0), "queue", ""),
                        "chat");
    owned(said) struct said far = expect_code(
        folder, EXIT_USAGE, "forecast --demand @/weeks.csv --config @/sluice.yaml --horizon 8");
    assert_non_null(strstr(far.err->chars, "horizon"));
    owned(said) struct said none = expect_code(
        folder, EXIT_ERROR, "forecast x --demand @/weeks.csv --config @/sluice.yaml");
    assert_non_null(strstr(none.err->chars, "there is no queue \"x\""));
    owned(said) struct said usage = expect_code(folder, EXIT_USAGE, "forecast");
    assert_non_null(strstr(usage.err->chars, "--demand"));
}

/* What is said of plans that are made before each window, and of replays that a score lacks. */
static void a_score_says_which_plans_it_is_of(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_demand(folder, "weeks.csv", 1);
    mem_free(test_folder_write(folder, "sluice.yaml", small_config));

    owned(said) struct said table = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --score --follow 90m" NOW);
    owned(said) struct said json = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --follow 90m -o json" NOW);
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);
    owned(said) struct said weekly = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --config @/sluice.yaml --score -o json" NOW);
    owned(json) json_t *plain = json_parse(weekly.out->chars, weekly.out->length, "said", NULL);
    const json_t *row = json_array_get(json_at(plain, "forecasts"), 0);

    assert_null(strstr(table.out->chars, "made again"));
    assert_non_null(strstr(table.out->chars, "plan that is made 1h30m before its window.\n"));
    assert_int_equal(json_int_or(root, "follow_s", 0), 5400);
    assert_true(json_number_value(
                    json_at(json_array_get(json_at(root, "forecasts"), 0), "replay_ratio")) > 0.1);
    assert_true(json_is_null(json_object_get(plain, "follow_s")));
    assert_true(json_object_get(plain, "follow_s") != NULL);
    /* days are scored by the closed form: no replay is made */
    assert_true(json_is_null(json_object_get(row, "replay_ratio")));
    assert_true(json_number_value(json_at(row, "servers_point")) > 1);
}

/* But for the line of --config, which all commands have. */
static void its_help_fits_a_terminal(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    owned(said) struct said help = expect_code(folder, EXIT_DONE, "forecast --help");

    for (const char *line = help.out->chars; *line; line += strspn(line, "\n")) {
        int length = (int)strcspn(line, "\n");

        if (length > 100 && !memmem(line, (size_t)length, "--config FILE", 13))
            fail_msg("%d characters: %.*s", length, length, line);
        line += length;
    }
}

/* Nights of which two hours are a window of their own; in those some steps have no row. */
enum gap { GAP_NIGHTLY, GAP_SPARSE };

static void write_gaps(const char *folder, enum gap gap)
{
    static const char whole[] = "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n";
    const char *at = strstr(small_config, whole);
    owned(chars) char *config = text_format(
        "%.*s%s  backup: {days: mon-sun, from: '02:00', to: '04:00', within: night}\n%s",
        (int)(at - small_config), small_config, whole, at + strlen(whole));
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 10, 12) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int step = 0; step < 35 * 144; step++) {
        int of_day = step % 144;
        bool is_backup = of_day >= 12 && of_day < 24;
        bool is_gap = gap == GAP_NIGHTLY ? of_day >= 13 && of_day < 16
                                         : is_backup && step * 7919 % 13 < 5;

        if (!is_gap)
            add_count(csv, first + step * (10 * (int64_t)MINUTE_MS), 300 + step % 7);
    }
    mem_free(test_folder_write(folder, "gaps.csv", csv->chars));
    mem_free(test_folder_write(folder, "sluice.yaml", config));
}

static const json_t *row_of(const json_t *root, const char *window)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(root, "forecasts"), i, row)
        if (strcmp(json_text_or(row, "window", ""), window) == 0)
            return row;
    fail_msg("no window %s", window);
    return NULL;
}

static const char forecast_gaps[] = "forecast --demand @/gaps.csv --config @/sluice.yaml -o json";
static const char allocate_gaps[] =
    "allocate --demand @/gaps.csv --config @/sluice.yaml --out @/out --forecast --attainment 95";

/* A quarter of the window is unknown each night, in the same place: that is how the queue is. */
static void a_gap_each_night_has_a_forecast(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_gaps(folder, GAP_NIGHTLY);
    owned(said) struct said json = expect_code(folder, EXIT_DONE, forecast_gaps);
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);
    const json_t *row = row_of(root, "backup");
    double point = json_number_value(json_at(row, "servers_point"));

    assert_true(point > 1);
    assert_true(json_number_value(json_at(row, "servers_upper")) >= point);
    assert_int_equal(json_int_or(row, "missing_days", -1), 2); /* until it is a habit */
    assert_true(json_number_value(json_at(row, "usually_known")) < 0.751);
    assert_true(json_number_value(json_at(row, "usually_known")) > 0.749);
    assert_true(json_is_null(json_object_get(row, "no_forecast")));

    owned(said) struct said table = expect_code(
        folder, EXIT_DONE, "forecast --demand @/gaps.csv --config @/sluice.yaml");
    owned(said) struct said plan = expect_code(folder, EXIT_DIFFERENT, allocate_gaps);
    owned(text) struct text *file = said_file(folder, "out/backup.yaml");
    owned(text) struct text *record = said_file(folder, "out/forecast.json");
    owned(chars) char *as_json = text_format("%s -o json", allocate_gaps);
    owned(said) struct said again = expect_code(folder, EXIT_DIFFERENT, as_json);
    owned(json) json_t *plan_root = json_parse(again.out->chars, again.out->length, "said", NULL);
    const json_t *item = json_array_get(json_at(plan_root, "forecast/not_planned"), 0);

    assert_non_null(strstr(table.out->chars, "queue chat in backup: 25 % of the window is unknown "
                                             "each time; the numbers speak of the rest."));
    assert_null(strstr(file->chars, "chat x 1.0000"));

    /* The plan is for the rest of the window, so it claims nothing for the window. */
    assert_non_null(strstr(plan.out->chars, "backup           queue chat: NOT planned for any "
                                            "attainment (partly-known): over a tenth"));
    assert_non_null(strstr(file->chars, "no attainment is claimed (1 of 3 queues in windows): chat "
                                        "in backup (partly-known)"));
    assert_non_null(strstr(file->chars, "NOT planned for any attainment (partly-known)"));
    assert_non_null(strstr(record->chars, "\"no_forecast\": \"partly-known\""));
    assert_int_equal(json_array_size(json_at(plan_root, "forecast/not_planned")), 1);
    assert_string_equal(json_text_or(item, "window", ""), "backup");
    assert_string_equal(json_text_or(item, "why", ""), "partly-known");
}

/* Rows are missing anywhere: nothing is foretold, and no plan says that it was. */
static void what_has_no_forecast_is_named_and_no_attainment_is_claimed_for_it(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_gaps(folder, GAP_SPARSE);
    owned(said) struct said json = expect_code(folder, EXIT_DONE, forecast_gaps);
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);
    const json_t *row = row_of(root, "backup");
    static const char *const keys[] = { "servers_point", "servers_lower", "servers_upper", "scale",
                                        "growth",        "method",        "basis" };

    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (!json_is_null(json_object_get(row, keys[i])))
            fail_msg("%s is not null", keys[i]);
    assert_string_equal(json_text_or(row, "no_forecast", ""), "unknown");
    assert_non_null(strstr(json_text_or(row, "remedy", ""), "--missing zero"));
    assert_true(json_number_value(json_at(row_of(root, "day"), "servers_point")) > 1);

    owned(said) struct said table = expect_code(
        folder, EXIT_DONE, "forecast --demand @/gaps.csv --config @/sluice.yaml");

    assert_non_null(strstr(table.out->chars, "no forecast of queue chat in backup (unknown): "));
    assert_null(strstr(table.out->chars, " 0.0 "));

    owned(said) struct said plan = expect_code(folder, EXIT_DIFFERENT, allocate_gaps);
    owned(text) struct text *file = said_file(folder, "out/backup.yaml");
    owned(chars) char *as_json = text_format("%s -o json", allocate_gaps);
    owned(said) struct said again = expect_code(folder, EXIT_DIFFERENT, as_json);
    owned(json) json_t *plan_root = json_parse(again.out->chars, again.out->length, "said", NULL);

    assert_non_null(strstr(plan.out->chars, "backup           queue chat: NOT planned for any "
                                            "attainment (unknown): over half of each"));
    assert_non_null(strstr(file->chars, "NOT planned for, and no attainment is claimed (1 of 3 "
                                        "queues in windows): chat in backup (unknown)"));
    assert_non_null(strstr(file->chars, "chat x 1.0000, NOT planned for any attainment (unknown)"));
    assert_int_equal(json_array_size(json_at(plan_root, "forecast/not_planned")), 1);
    assert_string_equal(
        json_text_or(json_array_get(json_at(plan_root, "forecast/not_planned"), 0), "why", ""),
        "unknown");
}

/* As backtest has it: service, target and zone by options. */
static void a_forecast_needs_no_configuration(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_demand(folder, "weeks.csv", 1);
    owned(said) struct said json = expect_code(
        folder, EXIT_DONE,
        "forecast --demand @/weeks.csv --service 20s --time-zone Europe/Berlin -o json" NOW);
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);

    assert_int_equal(json_array_size(json_at(root, "forecasts")), 5);
    assert_string_equal(json_text_or(row_of(root, "weekday-peak"), "queue", ""), "chat");
    assert_true(json_number_value(json_at(row_of(root, "weekday-peak"), "servers_point")) > 10);

    owned(said) struct said cut = expect_code(
        folder, EXIT_DONE,
        "forecast chat --demand @/weeks.csv --service 20s --scale 2 --plan-windows 3 -o json" NOW);
    owned(json) json_t *two = json_parse(cut.out->chars, cut.out->length, "said", NULL);

    assert_true(json_array_size(json_at(two, "forecasts")) <= 3);

    static const struct mistake mistakes[] = {
        { "forecast --demand @/weeks.csv --wait-target 10s", EXIT_USAGE, "requires --service" },
        { "forecast --demand @/weeks.csv --plan-windows 3", EXIT_USAGE, "requires --service" },
        { "forecast --demand @/weeks.csv --service 0s", EXIT_USAGE, "more than nothing" },
        { "forecast chat --queue chat --demand @/weeks.csv --service 2s", EXIT_USAGE, "give one" },
        { "forecast --demand @/weeks.csv --service 2s --missing none", EXIT_USAGE, "unknown" },
        { "forecast --demand @/weeks.csv --service 2s --without cap,x", EXIT_USAGE,
          "unknown name \"x\"; known are weekdays, " },
        { "forecast --queue x --demand @/weeks.csv --service 2s", EXIT_ERROR, "no queue \"x\"" },
        { "forecast --demand @/weeks.csv --service 2s --time-zone Mars", EXIT_ERROR, "Mars" },
    };

    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
}

/* Sixteen days that lie far apart. */
static void write_few_days(const char *folder)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 10, 26) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int hour = 0; hour < 16 * 24; hour++)
        add_count(csv, first + hour * (int64_t)HOUR_MS, 2000 + hour / 24 * 7919 % 13 * 150);
    mem_free(test_folder_write(folder, "few.csv", csv->chars));
}

#define FEW "forecast --demand @/few.csv --service 20s --now 2026-11-11T00:00:00Z "

static void a_forecast_without_its_parts_is_another_one(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_few_days(folder);
    owned(said) struct said all = expect_code(folder, EXIT_DONE, FEW);
    owned(said) struct said few = expect_code(
        folder, EXIT_DONE, FEW "--without cap,level-shift --without weekdays,short-history");

    assert_string_not_equal(all.out->chars, few.out->chars);
}

/* Minutes that burst: the closed form is far above what a replay needs. */
static void write_bursts(const char *folder)
{
    owned(text) struct text *csv = text_new(1 << 20);
    int64_t first = civil_day(2026, 10, 26) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int minute = 0; minute < 14 * 1440; minute++) {
        int burst = minute * 7919 % 97 < 9 ? 5 : 1;

        add_count(csv, first + minute * (int64_t)MINUTE_MS, 20 * burst + minute % 5);
    }
    mem_free(test_folder_write(folder, "bursts.csv", csv->chars));
    mem_free(test_folder_write(folder, "sluice.yaml", small_config));
}

static void the_servers_of_a_forecast_are_those_of_a_replay(void **state)
{
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    write_bursts(folder);
    owned(said) struct said json = expect_code(
        folder, EXIT_DONE, "forecast --demand @/bursts.csv --config @/sluice.yaml -o json");
    owned(said) struct said plan = expect_code(
        folder, EXIT_DONE,
        "allocate --demand @/bursts.csv --config @/sluice.yaml --out @/out -o json");
    owned(json) json_t *root = json_parse(json.out->chars, json.out->length, "said", NULL);
    owned(json) json_t *planned = json_parse(plan.out->chars, plan.out->length, "said", NULL);
    const json_t *row = row_of(root, "day");
    const json_t *window = json_array_get(json_at(planned, "windows"), 0);
    const json_t *queue = json_array_get(json_at(window, "queues"), 0);
    double exact = (double)json_int_or(queue, "replicas_for_target", 0);
    double shown = json_number_value(json_at(row, "servers_last_week"));

    assert_string_equal(json_text_or(window, "window", ""), "day");
    if (fabs(shown / exact - 1) > 0.05)
        fail_msg("forecast shows %.1f servers for last week, the search finds %.0f", shown, exact);
    /* the closed form knows that a burst ends */
    assert_true(fabs(json_number_value(json_at(row, "replay_ratio")) - 1) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forecast_shows_its_interval_and_its_score),
        cmocka_unit_test(a_score_says_which_plans_it_is_of),
        cmocka_unit_test(its_help_fits_a_terminal),
        cmocka_unit_test(a_gap_each_night_has_a_forecast),
        cmocka_unit_test(what_has_no_forecast_is_named_and_no_attainment_is_claimed_for_it),
        cmocka_unit_test(a_forecast_needs_no_configuration),
        cmocka_unit_test(a_forecast_without_its_parts_is_another_one),
        cmocka_unit_test(the_servers_of_a_forecast_are_those_of_a_replay),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
