/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What each command that reads a demand says of it: unknown steps with the remedy, steps that
 * change, the time zone of times without an offset, and names that are no text.
 */
#include "base/log.h"
#include "tests/cli/said.h"
#include "tests/cli/small_world.h"

/* The commands that read a demand file d.csv, with small_config. */
static const char *const readers[] = {
    "replay --demand @/d.csv --queue chat --servers 40 --service 20s --time-zone America/New_York",
    "forecast --demand @/d.csv --config @/sluice.yaml --now 2026-11-16T00:00:00Z",
    "allocate --demand @/d.csv --config @/sluice.yaml --out @/out --estimate",
    "explain window day --demand @/d.csv --config @/sluice.yaml",
    "whatif --demand @/d.csv --config @/sluice.yaml --scale-up 1.1",
    "backtest --demand @/d.csv --service 20s --seeds 1 --policy sluice --nodes 40",
    "windows --suggest --demand @/d.csv --zone America/New_York",
};

/* Four weeks of `minutes`; of each hour the last `silent` rows are left out. */
static struct text *write_weeks(int minutes, int silent, const char *zone_mark)
{
    struct text *csv = text_new(4 << 20);
    int64_t first = civil_day(2026, 10, 19) * DAY_MS;

    text_add(csv, "t,queue,count\n");
    for (int i = 0; i < 28 * 24 * 60 / minutes; i++) {
        char time[WALL_TEXT_SIZE];

        if (i % (60 / minutes) >= 60 / minutes - silent)
            continue;
        wall_format((struct wall_time){ first + i * (int64_t)minutes * MINUTE_MS }, time);
        text_add(csv, "%.19s%s,chat,%d\n", time, zone_mark, 30 * minutes);
    }
    return csv;
}

static struct said ask(const char *folder, const char *line, const struct text *csv)
{
    owned(text) struct text *config = text_new(1 << 16);
    const char *zone = strstr(small_config, "time_zone: UTC");
    struct said said;

    assert_non_null(zone);
    text_add(config, "%.*s", (int)(zone - small_config), small_config);
    text_add(config, "time_zone: America/New_York%s", zone + strlen("time_zone: UTC"));
    mem_free(test_folder_write(folder, "d.csv", csv->chars));
    mem_free(test_folder_write(folder, "sluice.yaml", config->chars));
    said = say(folder, folder, line);
    return said;
}

static void each_command_names_unknown_steps_and_the_remedy(void **state)
{
    owned(text) struct text *csv = write_weeks(10, 2, "Z");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(said) struct said said = ask(folder, readers[i], csv);

        if (!strstr(said.err->chars, "d.csv: 1342 of 4030 steps have no row and are unknown, in 1 "
                                     "of 1 queues (most in chat: 1342 of 4030)") ||
            !strstr(said.err->chars, "give --missing zero"))
            fail_msg("%s: %s", readers[i], said.err->chars);
    }
}

static void json_counts_the_unknown_steps(void **state)
{
    owned(text) struct text *csv = write_weeks(10, 2, "Z");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *line = text_format("%s -o json", readers[i]);
        owned(said) struct said said = ask(folder, line, csv);
        owned(json) json_t *root = json_parse(said.out->chars, said.out->length, "said", NULL);

        if (json_int_or(root, "demand/steps_unknown", 0) != 1342 ||
            json_int_or(root, "demand/steps", 0) != 4030 ||
            json_array_size(json_at(root, "demand/notes")) != 1 ||
            json_int_or(json_array_get(json_at(root, "demand/queues"), 0), "steps_unknown", 0) !=
                1342)
            fail_msg("%s: %s %s", line, said.out->chars, said.err->chars);
    }
}

static void a_queue_that_ends_before_the_others_is_named(void **state)
{
    static const char ended[] = "3 of 4 queues end earlier than the others (first chat-2, at "
                                "2026-11-14T13:50:00Z; the demand ends at 2026-11-15T23:50:00Z)";
    owned(text) struct text *csv = write_weeks(10, 1, "Z");
    owned(text) struct text *more = text_new(4 << 20);

    (void)state;
    text_add(more, "%s", csv->chars);
    for (int queue = 1; queue <= 3; queue++) { /* chat-3 lacks the last hour and ten minutes */
        const char *line = strchr(csv->chars, '\n') + 1;
        size_t lines = queue == 3 ? 28 * 24 * 5 - 6 : 27 * 24 * 5 - 10 * 5 * (size_t)(queue - 1);

        for (; lines > 0; lines--, line = strchr(line, '\n') + 1)
            text_add(more, "%.21schat-%d,300\n", line, queue);
    }
    for (int i = 0; i < 2; i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(said) struct said said = ask(
            folder,
            i == 0 ? "replay --demand @/d.csv --queue chat --servers 40 --service 20s"
                   : "replay --demand @/d.csv --queue chat --servers 40 --service 20s "
                     "--missing zero",
            more);

        if ((strstr(said.err->chars, ended) != NULL) != (i == 0) ||
            (strstr(said.err->chars, "nothing arrived for longer than ever before (longest in "
                                     "chat-2, for the last ") != NULL) != (i == 1))
            fail_msg("%s", said.err->chars);
    }
}

static void with_the_remedy_nothing_is_unknown(void **state)
{
    owned(text) struct text *csv = write_weeks(10, 2, "Z");
    owned(test_folder) char *folder = test_folder_new();
    owned(said) struct said said = ask(
        folder, "replay --demand @/d.csv --servers 40 --service 20s --missing zero -o json", csv);
    owned(json) json_t *root = json_parse(said.out->chars, said.out->length, "said", NULL);

    (void)state;
    assert_string_equal(json_text_or(root, "demand/missing", ""), "zero");
    assert_int_equal(json_int_or(root, "demand/steps_unknown", -1), 0);
    assert_null(strstr(said.err->chars, "note:"));
}

/* A day of a month, of one queue; silence is said to be zero everywhere else. */
static void a_gap_is_named_where_silence_is_zero(void **state)
{
    owned(text) struct text *csv = write_weeks(10, 2, "Z");
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *gaps = test_folder_write(
        folder, "gaps.csv",
        "trace,gap_start,gap_end\nchat,2026-10-21,2026-10-22\nd,2026-10-22,2026-10-23\n");

    (void)state;
    text_add(csv, "2026-10-21T00:00:00Z,embed,1\n2026-10-21T00:10:00Z,embed,1\n");

    owned(said) struct said said = ask(folder,
                                       "replay --demand @/d.csv -q chat --servers 40 --service 20s "
                                       "--missing zero --gaps @/gaps.csv",
                                       csv);

    if (!strstr(said.err->chars, "d.csv: 432 of 8060 steps are unknown by ") ||
        !strstr(said.err->chars, "gaps.csv, in 2 of 2 queues (most in chat: 288 of 4030); they are "
                                 "left out") ||
        !strstr(said.err->chars, "d.csv: 1 of 2 gaps of ") ||
        !strstr(said.err->chars, "name this file in their column trace, and no queue: they are "
                                 "gaps of all its 2 queues"))
        fail_msg("%s", said.err->chars);
    assert_non_null(gaps);
}

/* 2026-11-01 is when New York goes back by an hour: these rows show its hour once. */
static void each_command_reads_times_in_its_zone(void **state)
{
    owned(text) struct text *csv = write_weeks(10, 0, "");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        owned(test_folder) char *folder = test_folder_new();
        bool is_utc = strncmp(readers[i], "backtest", 8) == 0; /* no zone is given */
        owned(said) struct said said = ask(folder, readers[i], csv);
        const char *want = is_utc ? "times without an offset are taken to be in the time zone UTC"
                                  : "d.csv:1880: queue chat, 2026-11-01T01:00:00: the rows do not "
                                    "go through this hour twice";

        if (!strstr(said.err->chars, want))
            fail_msg("%s: %s", readers[i], said.err->chars);
    }
}

static void the_header_of_a_plan_says_how_the_demand_was_read(void **state)
{
    owned(text) struct text *csv = text_new(4 << 20);
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/out/day.yaml", folder);

    (void)state;
    text_add(csv, "time;chat\n");
    for (int hour = 0; hour < 14 * 24; hour++)
        text_add(csv, "2026-11-%02d %02d:00;%d,5\n", 2 + hour / 24, hour % 24, 1800);
    for (int five = 0; five < 288; five++)
        text_add(csv, "2026-11-16 %02d:%02d;150\n", five / 12, five % 12 * 5);

    owned(said) struct said said = ask(
        folder, "allocate --demand @/d.csv --config @/sluice.yaml --out @/out --estimate", csv);
    owned(text) struct text *file = file_read(path, 1 << 20, NULL);

    if (said.code != EXIT_DONE)
        fail_msg("%s", said.err->chars);
    assert_non_null(strstr(file->chars, "# note: no column is named count: each column is taken to "
                                        "be a queue (1; the first by name is chat)"));
    assert_non_null(strstr(file->chars, "# note: times without an offset are taken to be in the "
                                        "time zone America/New_York"));
    assert_non_null(strstr(file->chars, "(first at 2026-11-16T05:00:00Z)"));
    assert_non_null(strstr(file->chars, "counts of up to 1h are spread evenly over steps of 5m"));
}

/* A file of minutes holds one of five minutes, and silence is said to be zero: who knows. */
static void a_queue_of_longer_steps_is_named_where_silence_is_zero(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(text) struct text *csv = text_new(1 << 20);

    (void)state;
    text_add(csv, "t,queue,count\n");
    for (int i = 0; i < 1440; i++) {
        char time[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ civil_day(2026, 11, 2) * DAY_MS + i * (int64_t)MINUTE_MS },
                    time);
        text_add(csv, "%s,chat,9\n", time);
        if (i % 5 == 0)
            text_add(csv, "%s,slow,45\n", time);
        if (i < 720 ? i % 5 == 0 && i % 15 > 0 : i % 3 > 0)
            text_add(csv, "%s,partly,9\n", time);
    }

    owned(said) struct said said = ask(folder,
                                       "replay --demand @/d.csv --queue chat --servers 40 "
                                       "--service 20s --missing zero",
                                       csv);

    assert_non_null(strstr(said.err->chars, "d.csv: the rows of 1 queues (slow) are further apart "
                                            "all the time (5m) than the steps of all (1m)"));
    assert_non_null(strstr(said.err->chars,
                           "d.csv: some rows of 1 queues keep longer steps (those of partly from "
                           "2026-11-02T00:05:00Z to 2026-11-02T11:55:00Z: 5m) than all (1m)"));
}

/* Files of two minutes, and a part of the note on them. */
static const struct {
    const char *file;
    const char *note;
} noted[] = {
    { "t,chat (req/s)\n2026-11-02T00:00:00Z,5\n2026-11-02T00:01:00Z,6\n",
      "d.csv: counts are rates, by the unit in a column's name or in the column of units" },
    { "t,count,Unit\n2026-11-02T00:00:00Z,5,Count\n2026-11-02T00:01:00Z,6,Count/Second\n",
      "d.csv: counts are rates, by the unit in a column's name or in the column of units" },
    { "t,chat\n2026-11-02T00:00:00Z,0.0822\n2026-11-02T00:01:00Z,0.1\n",
      "d.csv: most counts have a fraction, as rates have" },
    { "t,increase(x[5m])\n2026-11-02T00:00:00Z,5\n2026-11-02T00:01:00Z,6\n",
      "d.csv: each count of increase(x[5m]) is that of 5m by its name, and is taken to be that of "
      "a "
      "step (1m)" },
    { "_time,chat,_span\n2026-11-02T00:00:00Z,5,60\n2026-11-02T00:01:00Z,6,60\n",
      "d.csv: 1 columns (the first is \"_span\") are no queues and are left out" },
    { ",t,chat,_x\n0,2026-11-02T00:00:00Z,5,60\n1,2026-11-02T00:01:00Z,6,60\n",
      "d.csv: 2 columns (the first is \"\") are no queues and are left out" },
    { "t,queue,class,count,duration\n2026-11-02T00:00:00Z,chat,High,5,28.7s\n"
      "2026-11-02T00:01:00Z,chat,High,6,28.7s\n",
      "d.csv: columns that are not read: 2 (the first is \"class\"); sluice reads times, "
      "queues, " },
};

static void what_was_made_of_the_columns_is_noted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(noted); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *path = test_folder_write(folder, "d.csv", noted[i].file);
        owned(said) struct said said = say(folder, folder,
                                           "replay --demand @/d.csv --servers 400 --service 20s");

        assert_non_null(path);
        assert_int_equal(said.code, EXIT_DONE);
        if (!strstr(said.err->chars, noted[i].note))
            fail_msg("file %zu: %s", i, said.err->chars);
    }
}

/* An export leaves out the days without arrivals, and the hours of noon are lost. */
static void windows_are_proposed_for_what_is_known(void **state)
{
    static const char suggest[] = "windows --suggest --zone UTC --demand @/d.csv --count 4";
    owned(test_folder) char *folder = test_folder_new();
    owned(text) struct text *csv = text_new(1 << 20);
    owned(chars) char *with_gaps = text_format("%s --missing zero --gaps @/gaps.csv", suggest);

    (void)state;
    text_add(csv, "t,count\n");
    for (int hour = 0; hour < 14 * 24; hour++) {
        char time[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ civil_day(2026, 11, 2) * DAY_MS + hour * (int64_t)HOUR_MS },
                    time);
        if (hour / 24 % 7 < 5)
            text_add(csv, "%s,%d\n", time, hour % 24 >= 8 && hour % 24 < 18 ? 36000 : 3600);
    }
    mem_free(test_folder_write(folder, "gaps.csv",
                               "gap_start,gap_end\n2026-11-01T00:00:00Z,2026-11-07T00:00:00Z\n"
                               "2026-11-09T10:00:00Z,2026-11-09T15:00:00Z\n"
                               "2026-11-10T10:00:00Z,2026-11-10T15:00:00Z\n"
                               "2026-11-11T10:00:00Z,2026-11-11T15:00:00Z\n"
                               "2026-11-12T10:00:00Z,2026-11-12T15:00:00Z\n"
                               "2026-11-13T10:00:00Z,2026-11-13T15:00:00Z\n"));

    owned(said) struct said refused = ask(folder, suggest, csv);
    owned(said) struct said said = ask(folder, with_gaps, csv);

    assert_int_equal(refused.code, EXIT_ERROR);
    assert_non_null(strstr(refused.err->chars, "the demand says nothing of Saturdays and Sundays"));
    assert_int_equal(said.code, EXIT_DONE);
    assert_non_null(strstr(said.out->chars, "mon-fri-0800: {days: mon-fri, from: \"08:00\", to: "
                                            "\"18:00\"}   # 10.0\n"));
    assert_non_null(strstr(said.out->chars, "# of 1500 minutes of the week nothing is known"));
}

static void no_command_aborts_at_a_name_that_is_no_text(void **state)
{
    owned(text) struct text *csv = text_new(1024);

    (void)state;
    text_add(csv, "t,queue,count\n2026-11-02T00:00:00Z,chat,5\n2026-11-02T00:01:00Z,ch\xe4t,6\n");
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *line = text_format("%s -o json", readers[i]);
        owned(said) struct said said = ask(folder, line, csv);

        assert_int_equal(said.code, EXIT_ERROR);
        if (!strstr(said.err->chars, "d.csv:3: queue: \"ch?t\" is not UTF-8"))
            fail_msg("%s: %s", line, said.err->chars);
    }
}

static void a_file_whose_name_is_no_text_names_a_queue_all_the_same(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    static const char *const lines[] = {
        "replay --demand @/b\xfcro.csv --servers 4 --service 20s -o json",
        "backtest --demand @/b\xfcro.csv --service 20s -o json",
        "windows --suggest --demand @/b\xfcro.csv --zone UTC -o json",
    };

    (void)state;
    mem_free(test_folder_write(folder, "b\xfcro.csv",
                               "t,count\n2026-11-02T00:00:00Z,5\n2026-11-02T00:01:00Z,6\n"));
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        owned(said) struct said said = say(folder, folder, lines[i]);

        assert_true(said.code == EXIT_DONE || said.code == EXIT_ERROR);
        if (i == 0)
            assert_non_null(strstr(said.out->chars, "\"queue\": \"b?ro\""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_names_unknown_steps_and_the_remedy),
        cmocka_unit_test(json_counts_the_unknown_steps),
        cmocka_unit_test(a_queue_that_ends_before_the_others_is_named),
        cmocka_unit_test(with_the_remedy_nothing_is_unknown),
        cmocka_unit_test(a_gap_is_named_where_silence_is_zero),
        cmocka_unit_test(each_command_reads_times_in_its_zone),
        cmocka_unit_test(the_header_of_a_plan_says_how_the_demand_was_read),
        cmocka_unit_test(a_queue_of_longer_steps_is_named_where_silence_is_zero),
        cmocka_unit_test(what_was_made_of_the_columns_is_noted),
        cmocka_unit_test(windows_are_proposed_for_what_is_known),
        cmocka_unit_test(no_command_aborts_at_a_name_that_is_no_text),
        cmocka_unit_test(a_file_whose_name_is_no_text_names_a_queue_all_the_same),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
