/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecast beside the schedules: allocate writes it, validate checks it, it comes into force
 * with them, outlives the process, and what is not known of it is never a number.
 */
#include "base/log.h"
#include "tests/cli/weeks.h"
#include "windows/forecast/forecast_file.h"

#define ALLOCATE "allocate --demand @/weeks.csv --config @/sluice.yaml "

static void expect_near(double found, double wanted)
{
    if (!(found > wanted - 1e-9 && found < wanted + 1e-9))
        fail_msg("%g is not %g", found, wanted);
}

static struct forecast_file *read_file(const char *folder, const char *name)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);
    struct error err = { 0 };
    struct forecast_file *file = forecast_file_read(path, &err);

    if (!file)
        fail_msg("%s", err.text);
    return file;
}

static const struct forecast_file_row *row_of(const struct forecast_file *file, const char *window)
{
    const struct forecast_file_window *found = forecast_file_find(file, window);

    assert_non_null(found);
    assert_int_equal(found->rows.count, 1);
    return &found->rows.items[0];
}

static void allocate_writes_what_it_planned_for(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said said = expect_code(folder, EXIT_DONE,
                                               ALLOCATE "--out @/out --forecast --horizon 1");
    owned(forecast_file) struct forecast_file *file = read_file(folder, "out/forecast.json");
    owned(text) struct text *schedule = said_file(folder, "out/day.yaml");
    const struct forecast_file_row *row = row_of(file, "day");
    owned(chars) char *planned = text_format("prod-a: %d\n", (int)row->replicas);
    const struct forecast_file_window *day = forecast_file_find(file, "day");

    assert_non_null(strstr(said.out->chars, "forecast.json"));
    assert_non_null(strstr(schedule->chars, planned));
    assert_string_equal(row->lack, "");
    assert_true(row->lower <= row->point && row->point <= (double)row->replicas);
    assert_true(row->lower > 0);
    expect_near(row->share, 0.9);
    expect_near(row->gpus, 2.0 * (double)row->replicas);
    assert_true(row->score.days > 7 && row->score.covered <= row->score.days);
    assert_int_equal(day->until.ms - day->to.ms, DAY_MS);

    owned(said) struct said same = expect_code(folder, EXIT_DONE,
                                               ALLOCATE "--out @/out --forecast --horizon 1");
    assert_null(strstr(same.out->chars, "wrote"));

    /* Another horizon changes what is promised, if perhaps no schedule. */
    owned(said) struct said other = expect_code(folder, EXIT_DONE,
                                                ALLOCATE "--out @/out --forecast");
    assert_non_null(strstr(other.out->chars, "forecast.json"));
}

/* Otherwise the file of an older plan would speak for this one. */
static void a_plan_from_last_week_replaces_the_forecast(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said ahead = expect_code(folder, EXIT_DONE, ALLOCATE "--forecast" NOW);
    owned(said) struct said plain = expect_code(folder, EXIT_DONE, ALLOCATE "--scale-up 0.9");
    owned(forecast_file) struct forecast_file *file = read_file(folder, "schedules/forecast.json");

    assert_non_null(strstr(plain.out->chars, "forecast.json"));
    assert_string_equal(row_of(file, "day")->lack, "not-asked");
    assert_false(forecast_file_find(file, "day")->is_forecast);
    assert_true(row_of(file, "day")->replicas > 0);
}

static void one_window_leaves_the_others_as_they_were(void **state)
{
    owned(test_folder) char *folder = weeks_folder(1);

    (void)state;

    owned(said) struct said all = expect_code(folder, EXIT_DONE, ALLOCATE "--out @/out");
    owned(said) struct said one = expect_code(folder, EXIT_DONE,
                                              ALLOCATE "--out @/out --forecast --window day");
    owned(forecast_file) struct forecast_file *file = read_file(folder, "out/forecast.json");

    assert_int_equal(file->windows.count, 2);
    assert_true(forecast_file_find(file, "day")->is_forecast);
    assert_false(forecast_file_find(file, "night")->is_forecast);
    assert_string_equal(row_of(file, "night")->lack, "not-asked");

    /* What a merge has broken keeps no window from being planned. */
    mem_free(test_folder_write(folder, "out/forecast.json", "<<<<<<< HEAD\n"));
    owned(said) struct said again = expect_code(folder, EXIT_DONE,
                                                ALLOCATE "--out @/out --forecast --window day");
    owned(forecast_file) struct forecast_file *mended = read_file(folder, "out/forecast.json");
    assert_non_null(strstr(again.err->chars, "note: it is replaced, without its other windows"));
    assert_int_equal(mended->windows.count, 1);
}

#define VALIDATE "validate --offline --config @/sluice.yaml"

static void validate_looks_at_it(void **state)
{
    static const struct mistake mistakes[] = {
        { VALIDATE " @/schedules/forecast.json", EXIT_ERROR,
          "forecast.json: the configuration has no window noon" },
    };
    owned(test_folder) char *folder = weeks_folder(1);
    owned(said) struct said first = expect_code(folder, EXIT_DONE, ALLOCATE "--forecast" NOW);
    owned(said) struct said good = expect_code(folder, EXIT_DONE, VALIDATE);
    owned(text) struct text *text = said_file(folder, "schedules/forecast.json");
    char *at = strstr(text->chars, "\"night\"");

    (void)state;
    assert_non_null(strstr(good.out->chars, "forecast.json: good"));
    memcpy(at, "\"noon\" ", strlen("\"noon\" "));
    mem_free(test_folder_write(folder, "schedules/forecast.json", text->chars));
    expect_mistakes(folder, mistakes, COUNT_OF(mistakes));
    owned(said) struct said all = expect_code(folder, EXIT_ERROR, VALIDATE);
    assert_non_null(strstr(all.err->chars, "no window noon"));
}

/* ---- in force ---- */

#define ROW                                                                                        \
    "{\"queue\": \"chat\", \"replicas\": 40, \"gpus\": 80, \"point\": 30, \"lower\": 20, "         \
    "\"share\": 0.9, \"method\": \"profile\", \"basis\": \"rank\", \"score\": {\"days\": 10, "     \
    "\"covered\": 9, \"loss\": 0.5, \"loss_last_week\": 0.75, \"loss_last_week_10\": 0.625}}"
#define WINDOW(name, until, is_forecast, row)                                                      \
    "{\"window\": \"" name "\", \"demand_from\": \"2026-11-09T00:00:00Z\", \"demand_to\": "        \
    "\"2026-11-16T00:00:00Z\", \"use_until\": \"2026-11-" until "T00:00:00Z\", "                   \
    "\"is_forecast\": " is_forecast ", \"queues\": [" row "]}"
#define FILE_OF(windows) "{\"kind\": \"forecast\", \"version\": 1, \"windows\": [" windows "]}"

static const char good_file[] = FILE_OF(WINDOW("day", "23", "true", ROW) ", " WINDOW(
    "night", "18", "true",
    "{\"queue\": \"chat\", \"replicas\": 9, \"gpus\": 18, "
    "\"no_forecast\": \"no-days\"}"));

static void apply_with(struct rehearsal *rehearsal, const char *file)
{
    owned(json) json_t *schedules = small_schedules(10, 6);
    struct error err = { 0 };
    owned(json) json_t *plan = NULL;

    if (file)
        json_put(schedules, FORECAST_FILE_NAME, json_text(file));
    plan = service_apply(rehearsal->service, schedules, NULL, "test", &err);
    if (!plan)
        fail_msg("%s", err.text);
}

static void expect_state(struct rehearsal *rehearsal, const char *state)
{
    owned(json) json_t *answer = service_forecast(rehearsal->service);

    assert_string_equal(json_text_or(answer, "state", ""), state);
}

static void it_comes_into_force_with_the_schedules(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *answer = NULL;
    const json_t *day, *night, *score;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_state(rehearsal, "none");
    apply_with(rehearsal, good_file);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    restart(rehearsal);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    answer = service_forecast(rehearsal->service);
    assert_string_equal(json_text_or(answer, "state", ""), "current");
    day = json_array_get(json_object_get(answer, "windows"), 0);
    night = json_array_get(json_object_get(answer, "windows"), 1);
    expect_near(json_number_value(json_at(day, "need/gpus/bound")), 80);
    expect_near(json_number_value(json_at(day, "need/gpus/point")), 60);
    expect_near(json_number_value(json_at(day, "need/nodes/bound")), 10);
    expect_near(json_number_value(json_at(day, "need/nodes/lower")), 5);
    assert_true(json_is_null(json_object_get(day, "why")));
    /* A queue without a forecast needs something: the sum is unknown. */
    assert_true(json_is_null(json_object_get(night, "need")));
    assert_non_null(strstr(json_text_or(night, "why", ""), "queue chat has no forecast"));
    score = json_object_get(answer, "score");
    assert_int_equal(json_int_or(score, "occurrences", 0), 10);
    expect_near(json_number_value(json_at(score, "coverage")), 0.9);
    assert_string_equal(json_text_or(score, "baseline", ""), "last week + 10 %");
    expect_near(json_number_value(json_at(score, "baseline_loss")), 0.625);

    apply_with(rehearsal, NULL);
    expect_state(rehearsal, "none");
    restart(rehearsal);
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    expect_state(rehearsal, "none");
    apply_with(rehearsal, FILE_OF(WINDOW("day", "23", "false", "")));
    expect_state(rehearsal, "not-asked");
}

/* The sentence of the condition; NULL: it does not hold. */
static char *outdated_text(struct rehearsal *rehearsal)
{
    owned(json) json_t *status = service_status(rehearsal->service);
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(status, "health/conditions"), i, row)
        if (text_equal(json_text_or(row, "id", ""), "forecast_outdated"))
            return mem_copy_chars(json_text_or(row, "text", ""));
    return NULL;
}

/* The plan was to be made again: what it said of later days is not shown as if it held. */
static void an_outdated_forecast_has_no_need(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
    owned(json) json_t *answer = NULL;
    owned(chars) char *text = NULL;
    const json_t *day;

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply_with(rehearsal, FILE_OF(WINDOW("day", "18", "true", ROW)));
    expect_state(rehearsal, "current");
    rehearsal_run(rehearsal, 18 * HOUR_MS + MINUTE_MS);
    answer = service_forecast(rehearsal->service);
    day = json_array_get(json_object_get(answer, "windows"), 0);
    assert_string_equal(json_text_or(answer, "state", ""), "outdated");
    assert_true(json_bool_or(day, "is_outdated", false));
    assert_true(json_is_null(json_object_get(day, "need")));
    assert_non_null(strstr(json_text_or(day, "why", ""), "until 2026-11-18T00:00:00Z"));
    assert_null(outdated_text(rehearsal));
    rehearsal_run(rehearsal, 6 * HOUR_MS);
    text = outdated_text(rehearsal);
    assert_string_equal(text, "the schedule of day was to be planned again by "
                              "2026-11-18T00:00:00Z");
    apply_with(rehearsal, NULL);
    assert_null(outdated_text(rehearsal));
}

static void a_wrong_one_changes_nothing(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {
        { "{}", "forecast.json" },
        { FILE_OF(WINDOW("noon", "23", "true", ROW)), "no window noon" },
        { FILE_OF(WINDOW("day", "23", "true",
                         "{\"queue\": \"ghost\", \"replicas\": 1, \"gpus\": 1, "
                         "\"no_forecast\": \"idle\"}")),
          "no queue ghost" },
    };
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");

    (void)state;
    rehearsal_run(rehearsal, 10 * MINUTE_MS);
    apply_with(rehearsal, good_file);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *schedules = small_schedules(8, 8);
        struct error err = { 0 };

        json_put(schedules, FORECAST_FILE_NAME, json_text(cases[i].file));
        assert_null(service_plan(rehearsal->service, schedules, &err));
        assert_null(service_apply(rehearsal->service, schedules, NULL, "test", &err));
        assert_int_equal(err.kind, ERROR_INVALID);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s", err.text);
        expect_state(rehearsal, "current");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocate_writes_what_it_planned_for),
        cmocka_unit_test(a_plan_from_last_week_replaces_the_forecast),
        cmocka_unit_test(one_window_leaves_the_others_as_they_were),
        cmocka_unit_test(validate_looks_at_it),
        cmocka_unit_test(it_comes_into_force_with_the_schedules),
        cmocka_unit_test(an_outdated_forecast_has_no_need),
        cmocka_unit_test(a_wrong_one_changes_nothing),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
