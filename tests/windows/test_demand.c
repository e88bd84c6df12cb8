/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand files: what is found in them, what is unknown, and what is refused.
 */
#include "base/file.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/calendar/segment.h"
#include "windows/demand/demand_rows.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static struct demand *parse(const char *chars, bool missing_zero, struct error *err)
{
    struct demand_options options = { .missing_zero = missing_zero };
    owned(chars) char *copy = mem_copy_chars(chars);

    return demand_parse(copy, strlen(copy), "in/busy.csv.gz", &options, err);
}

static void columns_are_found_by_their_content(void **state)
{
    static const char *const files[] = {
        "minute_utc_iso,queue,count\n"
        "2026-11-17T12:00:00Z,chat,5\n2026-11-17T12:01:00Z,chat,6\n",
        "count,when,Queue\n5,2026-11-17 13:00:00+01:00,chat\n6,2026-11-17 12:01:00,chat\n",
        "\xef\xbb\xbfqueue,\"count\",note,t\r\nchat,6,\"a, b\",2026-11-17T12:01:00Z\r\n"
        "chat,5.0,\"say \"\"x\"\"\",2026-11-17T12:00:00Z\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct error err = { 0 };
        owned(demand) struct demand *demand = parse(files[i], false, &err);

        if (!demand)
            fail_msg("file %zu: %s", i, err.text);
        assert_int_equal(demand->count, 1);

        const struct demand_series *series = demand_find(demand, "chat");

        assert_non_null(series);
        assert_true(series->is_single);
        assert_int_equal(series->start.ms, 1794916800000);
        assert_int_equal(series->step_ms, MINUTE_MS);
        assert_int_equal(series->count, 2);
        assert_int_equal(demand_at(series, DEMAND_LOW, 0), 5);
        assert_int_equal(demand_at(series, DEMAND_LOW, 1), 6);
        assert_int_equal(demand_at(series, DEMAND_HIGH, 1), 0);
        assert_int_equal(demand->end.ms, 1794916800000 + 2 * MINUTE_MS);
    }
}

static void without_a_queue_column_the_file_names_the_queue(void **state)
{
    owned(demand) struct demand *demand = parse(
        "t,count\n2026-11-17T12:00:00Z,5\n2026-11-17T12:10:00Z,6\n", false, NULL);

    (void)state;
    assert_non_null(demand);
    assert_string_equal(demand->series[0].queue, "busy");
    assert_int_equal(demand->series[0].step_ms, 10 * MINUTE_MS);
}

/* minute 2 has no row; minute 3 only one class; chat is silent at the end */
static const char holes[] = "t,queue,count,priority\n"
                            "2026-11-17T12:00:00Z,chat,1,high\n2026-11-17T12:00:00Z,chat,10,low\n"
                            "2026-11-17T12:01:00Z,chat,2,high\n2026-11-17T12:01:00Z,chat,20,low\n"
                            "2026-11-17T12:03:00Z,chat,3,high\n"
                            "2026-11-17T12:04:00Z,chat,4,high\n2026-11-17T12:04:00Z,chat,40,low\n"
                            "2026-11-17T12:04:00Z,batch,7,low\n2026-11-17T12:05:00Z,batch,8,low\n";

static void a_step_without_a_row_is_unknown_and_never_zero(void **state)
{
    static const int32_t high[] = { 1, 2, -1, -1, 4 };
    static const int32_t low[] = { 10, 20, -1, -1, 40 };
    owned(demand) struct demand *demand = parse(holes, false, NULL);
    const struct demand_series *chat = demand_find(demand, "chat");
    owned(segments) struct segment_list segments = { 0 };

    (void)state;
    assert_int_equal(chat->count, 5);
    assert_memory_equal(chat->counts[DEMAND_HIGH], high, sizeof high);
    assert_memory_equal(chat->counts[DEMAND_LOW], low, sizeof low);
    assert_null(demand_find(demand, "batch")->counts[DEMAND_HIGH]);
    assert_string_equal(demand->series[0].queue, "batch");
    segments_of_series(chat, (struct wall_span){ chat->start, demand->end }, &segments);
    assert_int_equal(segments.list.count, 2);
    assert_int_equal(segments.list.items[0].count, 2);
    assert_int_equal(segments.list.items[1].first, 4);

    /* a step belongs to the days in which it begins */
    owned(segments) struct segment_list part = { 0 };

    segments_of_series(
        chat, (struct wall_span){ { chat->start.ms + 1 }, { chat->start.ms + MINUTE_MS + 1 } },
        &part);
    assert_int_equal(part.list.count, 1);
    assert_int_equal(part.list.items[0].first, 1);
    assert_int_equal(part.list.items[0].count, 1);
}

/* Each step has a row, and none has those of both classes. */
static void a_queue_without_a_known_step_is_refused(void **state)
{
    static const char turns[] = "t,count,priority\n"
                                "2026-11-17T12:00:00Z,1,high\n2026-11-17T12:01:00Z,2,low\n"
                                "2026-11-17T12:02:00Z,3,high\n2026-11-17T12:03:00Z,4,low\n";
    struct error err = { 0 };
    owned(demand) struct demand *refused = parse(turns, false, &err);
    owned(demand) struct demand *zero = parse(turns, true, NULL);
    owned(demand) struct demand *half = parse(holes, false, NULL);

    (void)state;
    assert_null(refused);
    assert_non_null(strstr(err.text, "queue busy: no step is known"));
    assert_non_null(strstr(err.text, "give --missing zero"));
    assert_int_equal(demand_unknown(&zero->series[0]), 0);
    assert_int_equal(demand_find(half, "chat")->half_known, 1);
}

static void missing_zero_makes_silence_a_count(void **state)
{
    static const int32_t high[] = { 1, 2, 0, 3, 4, 0 };
    static const int32_t low[] = { 10, 20, 0, 0, 40, 0 };
    owned(demand) struct demand *demand = parse(holes, true, NULL);
    const struct demand_series *chat = demand_find(demand, "chat");

    (void)state;
    assert_int_equal(chat->count, 6);
    assert_memory_equal(chat->counts[DEMAND_HIGH], high, sizeof high);
    assert_memory_equal(chat->counts[DEMAND_LOW], low, sizeof low);
    assert_int_equal(demand_find(demand, "batch")->count, 6);
    assert_int_equal(demand_find(demand, "batch")->counts[DEMAND_LOW][0], 0);
}

static void a_gap_is_unknown_whatever_else_is_said(void **state)
{
    char path[] = "/tmp/sluice-gaps-XXXXXX";
    int fd = mkstemp(path);
    static const char gaps[] = "trace,gap_start_utc,gap_end_utc\n"
                               "chat,2026-11-17T12:01:30Z,2026-11-17T12:03:00Z\n"
                               "elsewhere,2026-11-17T12:00:00Z,2026-11-17T13:00:00Z\n"
                               "busy,2026-11-17T12:05:00Z,2026-11-17T12:06:00Z\n";
    struct demand_options options = { .missing_zero = true, .gaps = path };
    owned(chars) char *copy = mem_copy_chars(holes);
    static const int32_t high[] = { 1, -1, -1, 3, 4, -1 };
    static const int32_t batch[] = { 0, 0, 0, 0, 7, -1 };

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, gaps, sizeof gaps - 1), sizeof gaps - 1);
    close(fd);

    struct error err = { 0 };
    owned(demand) struct demand *demand = demand_parse(copy, strlen(copy), "in/busy.csv", &options,
                                                       &err);

    unlink(path);
    if (!demand)
        fail_msg("%s", err.text);
    assert_memory_equal(demand_find(demand, "chat")->counts[DEMAND_HIGH], high, sizeof high);
    assert_memory_equal(demand_find(demand, "batch")->counts[DEMAND_LOW], batch, sizeof batch);
}

static void the_sum_over_windows_is_the_input(void **state)
{
    owned(text) struct text *csv = text_new(1 << 22);
    struct time_zone *zone = time_zone_open("America/New_York", NULL);
    owned(window_set) struct window_set *set = window_set_read(NULL, zone, NULL);
    int64_t expected = 0;
    int64_t found = 0;
    size_t steps = 0;

    (void)state;
    text_add(csv, "t,count\n");
    /* three weeks around the end of daylight saving, every fifth row in seven missing */
    for (int64_t i = 0; i < 3 * 7 * 288; i++) {
        char time[WALL_TEXT_SIZE];

        if (i % 7 == 5)
            continue;
        text_add(csv, "%s,%d\n",
                 wall_format((struct wall_time){ 1792368000000 + i * 5 * MINUTE_MS }, time),
                 (int)(i * 31 % 97));
        expected += i * 31 % 97;
        steps++;
    }

    owned(demand) struct demand *demand = parse(csv->chars, false, NULL);
    const struct demand_series *series = &demand->series[0];

    for (size_t window = 0; window < set->count; window++) {
        owned(segments) struct segment_list segments = { 0 };

        segments_of_window(series, set, window, (struct wall_span){ series->start, demand->end },
                           &segments);
        for (size_t i = 0; i < segments.list.count; i++)
            for (size_t at = 0; at < segments.list.items[i].count; at++) {
                size_t step = segments.list.items[i].first + at;

                assert_ptr_equal(window_at(set, demand_time(series, step)), &set->items[window]);
                found += demand_at(series, DEMAND_LOW, step);
                steps--;
            }
    }
    assert_int_equal(found, expected);
    assert_int_equal(steps, 0);
}

static void a_gzip_file_reads_like_the_plain_one(void **state)
{
    char path[] = "/tmp/sluice-demand-XXXXXX";
    int fd = mkstemp(path);
    gzFile file = gzdopen(fd, "wb");
    struct demand_options options = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_non_null(file);
    assert_int_equal(gzwrite(file, holes, sizeof holes - 1), sizeof holes - 1);
    assert_int_equal(gzclose(file), Z_OK);

    owned(demand) struct demand *demand = demand_read(path, &options, &err);

    if (!demand)
        fail_msg("%s", err.text);
    assert_int_equal(demand_find(demand, "chat")->counts[DEMAND_LOW][4], 40);

    /* and one that was cut is refused */
    assert_int_equal(truncate(path, 60), 0);
    assert_null(demand_read(path, &options, &err));
    unlink(path);
}

#define HEAD "t,queue,count,priority\n"
#define ROW "2026-11-17T12:00:00Z,chat,1,high\n2026-11-17T12:01:00Z,chat,1,high\n"

static const struct {
    const char *text;
    const char *want;
} mistakes[] = {
    { "", "in/busy.csv.gz: is empty" },
    { HEAD, "in/busy.csv.gz: has a header and no rows" },
    { "t,queue\n2026-11-17T12:00:00Z,chat\n", ":1: the header names no column \"count\"" },
    { "t,count\nyesterday,5\n", ":2: no column holds times" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,-1,high\n",
      ":4: count: expected a number that is not negative, found \"-1\"" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,x,high\n",
      ":4: count: expected a number like 12, 28.5 or 70/min, found \"x\"" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,inf,high\n", ":4: count: expected a number" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,3000000000,high\n",
      ":4: count: expected at most 2147483647, found \"3000000000\"" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,1,urgent\n",
      ":4: priority: expected high or low (or 1 or 2), found \"urgent\"" },
    { HEAD ROW "2026-11-17T12:02:00Z,,1,high\n", ":4: queue: is empty" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,1\n", ":4: 3 fields, but the header has 4" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,1,high,x\n", ":4: 5 fields, but the header has 4" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat,1,hi", ":4: priority: expected high or low" },
    { HEAD ROW "2026-11-17T12:02:00Z,chat", ":4: 2 fields, but the header has 4" },
    { HEAD ROW "2026-13-17T12:02:00Z,chat,1,high\n", ":4: " },
    { HEAD ROW "2026-11-17T12:02:30Z,chat,1,high\n",
      ":4: queue chat, 2026-11-17T12:02:30Z: is not on the grid" },
    { HEAD ROW "2026-11-17T12:01:00Z,chat,1,high\n",
      ":4: queue chat, 2026-11-17T12:01:00Z: stands twice" },
    { HEAD ROW "2026-11-17T12:02:00Z,\"chat,1,high\n", ":4: a quote is never closed" },
    { HEAD "2026-11-17T12:00:00Z,chat,1,high\n",
      ":2: queue chat, 2026-11-17T12:00:00Z: one time alone" },
    { "t,count\n2026-11-17T00:00:00Z,1\n2026-11-19T00:00:00Z,1\n", "most rows are 2d apart" },
    { "t,count\n1990-01-01T00:00:00Z,1\n1990-01-01T00:00:01Z,1\n2099-01-01T00:00:00Z,1\n",
      "too far" },
};

static void a_mistake_is_answered_with_file_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        struct error err = { 0 };
        owned(demand) struct demand *demand = parse(mistakes[i].text, false, &err);

        if (demand || err.kind != ERROR_INVALID || !strstr(err.text, mistakes[i].want) ||
            strncmp(err.text, "in/busy.csv.gz", 14) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s\"", i, err.text, mistakes[i].want);
    }
}

/* 40 queues of two rows each ask for a year and a half of seconds, each: 8 GB from 2.2 kB.  The
   error names the queue with which it is too much. */
static void few_rows_do_not_ask_for_any_amount_of_memory(void **state)
{
    owned(text) struct text *csv = text_new(1 << 16);
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,queue,count\n2026-01-01T00:00:00Z,q00,1\n2026-01-01T00:00:01Z,q00,1\n");
    text_add(csv, "2027-06-01T00:00:00Z,q01,1\n2027-06-01T00:00:01Z,q01,1\n");
    for (int i = 2; i < 40; i++)
        text_add(csv, "2026-01-01T00:00:00Z,q%02d,1\n2026-01-01T00:00:01Z,q%02d,1\n", i, i);
    owned(demand) struct demand *demand = parse(csv->chars, true, &err);

    assert_null(demand);
    assert_int_equal(err.kind, ERROR_INVALID);
    if (!strstr(err.text, "in/busy.csv.gz:7: queue q02") || !strstr(err.text, "100 million steps"))
        fail_msg("%s", err.text);
}

/* The rows, or the mistake, as text. */
static struct text *rows_text(const char *file, size_t part_bytes)
{
    owned(demand_rows) struct demand_rows rows = { 0 };
    struct demand_feed feed = { .source = "f.csv", .bytes = file, .size = strlen(file) };
    struct text *out = text_new(1 << 20);
    struct error err = { 0 };
    int result = demand_rows_read(&rows, &feed, false, part_bytes, &err);

    demand_block_clear(&feed.rest);
    if (result < 0) {
        text_add(out, "%s", err.text);
        return out;
    }
    for (size_t i = 0; i < rows.queues.count; i++)
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            struct packed_cursor cursor = packed_begin(&rows.queues.items[i].classes[class]);
            struct packed_row row;

            while (packed_next(&cursor, &row))
                text_add(out, "%lld: %lld %s %g %d\n", (long long)row.line, (long long)row.ms,
                         rows.queues.items[i].name, row.value, class);
        }
    return out;
}

/* Rows of all kinds, by time: those that look like the one before, and those that do not. */
static struct text *busy_file(const char *end, const char *mistake, int mistake_row)
{
    struct text *csv = text_new(1 << 20);

    text_add(csv, "t,queue,count,priority%s", end);
    for (int i = 0; i < 240; i++) {
        char time[WALL_TEXT_SIZE];
        int queue = i % 8;

        wall_format((struct wall_time){ 1794916800000 + i / 8 * MINUTE_MS }, time);
        if (i == mistake_row)
            text_add(csv, "%s%s", mistake, end);
        if (i % 31 == 30)
            text_add(csv, "%s", end);
        if (i % 17 == 16)
            text_add(csv, "\"%s\",\"q,%d\",%d.0,low%s", time, queue, i, end);
        else if (i % 13 == 12)
            text_add(csv, "%.19s+00:00,\"q%d\",%d,high%s", time, queue, i, end);
        else
            text_add(csv, "%s,q%d,%d,%s%s", time, queue, i * i * i, i % 2 ? "low" : "high", end);
    }
    return csv;
}

static void parts_of_any_size_read_like_the_whole(void **state)
{
    static const char *const ends[] = { "\n", "\r\n" };
    static const char *const bad_rows[] = {
        NULL,
        "2026-11-17T12:02:00Z,q1,-1,high",
        "2026-11-17T12:02:00Z,q1,1234567890123,high",
        "2026-11-17T12:02:00Z,q1,x,high",
        "2026-11-17T12:02:00Z,,1,high",
        "2026-11-17T12:02:00Z,q1,1,highest",
        "2026-11-17T12:02:00Z,q1,1",
        "2026-11-17T12:02:00Z,q1,1,low,",
        "2026-11-17T12:62:00Z,q1,1,low",
        "2026-11-17T12:02:00Zulu,q1,1,low",
        "2026-11-17T12:02:00Z,\"q1,1,low",
        "2026-11-17T12:02:00Z,q1,1,low\r\r",
    };

    (void)state;
    for (size_t end = 0; end < COUNT_OF(ends); end++)
        for (size_t i = 0; i < COUNT_OF(bad_rows); i++)
            for (int row = 3; row < 240; row += 47) {
                owned(text) struct text *file = busy_file(ends[end], bad_rows[i],
                                                          bad_rows[i] ? row : -1);
                owned(text) struct text *whole = rows_text(file->chars, 1 << 20);

                assert_int_equal(text_starts_with(whole->chars, "f.csv:"), bad_rows[i] != NULL);
                for (size_t size = 1; size < 9000; size += size / 3 + 1) {
                    owned(text) struct text *parts = rows_text(file->chars, size);

                    assert_string_equal(parts->chars, whole->chars);
                }
            }
}

/* Blocks that are large enough for threads of their own. */
static void many_threads_read_like_one(void **state)
{
    static const char row[] = "2026-11-17T12:00:00Z,q1,x,high\n";
    owned(text) struct text *file = text_new(1 << 20);

    (void)state;
    text_add(file, "t,queue,count,priority\n");
    for (int i = 0; i < 6000; i++) {
        char time[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ 1794916800000 + i / 7 * MINUTE_MS }, time);
        text_add(file, "%s,q%d,%d,%s\n", time, i % 7, i * 31 % 1000, i % 2 ? "low" : "high");
    }
    for (int turn = 0; turn < 2; turn++) {
        owned(text) struct text *whole = rows_text(file->chars, 1 << 20);

        for (size_t size = 17 << 10; size < 150 << 10; size += 31 << 10) {
            owned(text) struct text *parts = rows_text(file->chars, size);

            assert_string_equal(parts->chars, whole->chars);
        }
        assert_int_equal(text_starts_with(whole->chars, "f.csv:6002: count"), turn);
        text_add(file, "%s%s%s", row, row, row);
    }
}

static void of_several_mistakes_the_first_is_told(void **state)
{
    owned(text) struct text *file = busy_file("\n", "2026-11-17T12:02:00Z,q1,x,high", 70);

    (void)state;
    text_add(file, "2026-11-17T12:02:00Z,q1,y,high\n2026-11-17T12:02:00Z,q1,1,hi");
    for (size_t size = 1; size < 9000; size += size / 3 + 1) {
        owned(text) struct text *found = rows_text(file->chars, size);

        assert_string_equal(found->chars, "f.csv:74: count: expected a number like 12, "
                                          "28.5 or 70/min, found \"x\"");
    }
}

/* The row that names one queue too many, in whatever part. */
static void too_many_queues_are_told_with_their_line(void **state)
{
    owned(text) struct text *file = text_new(1 << 20);

    (void)state;
    text_add(file, "t,queue,count\n");
    for (int i = 0; i < DEMAND_QUEUES_MAX; i++)
        text_add(file, "2026-11-17T12:00:00Z,q%d,1\n2026-11-17T12:01:00Z,q%d,1\n", i, i);
    text_add(file, "2026-11-17T12:00:00Z,q9,1\n2026-11-17T12:00:00Z,one,1\n");
    for (size_t size = 1000; size < 1 << 20; size *= 9) {
        owned(text) struct text *found = rows_text(file->chars, size);

        assert_string_equal(found->chars, "f.csv:20003: more than 10000 queues");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_found_by_their_content),
        cmocka_unit_test(without_a_queue_column_the_file_names_the_queue),
        cmocka_unit_test(a_step_without_a_row_is_unknown_and_never_zero),
        cmocka_unit_test(a_queue_without_a_known_step_is_refused),
        cmocka_unit_test(missing_zero_makes_silence_a_count),
        cmocka_unit_test(few_rows_do_not_ask_for_any_amount_of_memory),
        cmocka_unit_test(a_gap_is_unknown_whatever_else_is_said),
        cmocka_unit_test(the_sum_over_windows_is_the_input),
        cmocka_unit_test(a_gzip_file_reads_like_the_plain_one),
        cmocka_unit_test(a_mistake_is_answered_with_file_and_line),
        cmocka_unit_test(parts_of_any_size_read_like_the_whole),
        cmocka_unit_test(many_threads_read_like_one),
        cmocka_unit_test(of_several_mistakes_the_first_is_told),
        cmocka_unit_test(too_many_queues_are_told_with_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
