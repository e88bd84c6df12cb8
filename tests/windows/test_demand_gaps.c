/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which queues a row of a gaps file is about: those that it names, and no others.
 */
#include "tests/support/folder.h"
#include "tests/windows/told.h"

#define ROWS                                                                                       \
    "t,queue,count\n2026-11-17T12:00:00Z,chat,1\n2026-11-17T12:00:00Z,embed,1\n"                   \
    "2026-11-17T12:01:00Z,chat,2\n2026-11-17T12:01:00Z,embed,2\n"                                  \
    "2026-11-17T12:02:00Z,chat,3\n2026-11-17T12:02:00Z,embed,3\n"
#define SECOND "2026-11-17T12:01:00Z,2026-11-17T12:02:00Z\n"
#define CHAT(a, b, c) "chat 1m 2026-11-17T12:00:00Z: " a " " b " " c
#define EMBED(a, b, c) "; embed 1m 2026-11-17T12:00:00Z: " a " " b " " c
#define BOTH CHAT("1", "-", "3") EMBED("1", "-", "3")
#define NONE CHAT("1", "2", "3") EMBED("1", "2", "3")

static const struct {
    const char *source;
    const char *gaps;
    const char *want;
    size_t file_gaps;
    size_t idle_gaps;
} rows[] = {
    { "in/busy.csv", "trace,gap_start,gap_end\nchat," SECOND,
      CHAT("1", "-", "3") EMBED("1", "2", "3"), 0, 0 },
    { "in/chat-and-embed.csv", "trace,gap_start,gap_end\nchat," SECOND,
      CHAT("1", "-", "3") EMBED("1", "2", "3"), 0, 0 },
    { "in/chat.csv", "trace,gap_start,gap_end\nchat," SECOND,
      CHAT("1", "-", "3") EMBED("1", "2", "3"), 0, 0 },
    { "in/busy.csv", "Queue,gap_start,gap_end\nchat," SECOND,
      CHAT("1", "-", "3") EMBED("1", "2", "3"), 0, 0 },
    { "in/busy.csv.gz", "trace,gap_start,gap_end\nbusy," SECOND, BOTH, 1, 0 },
    { "in/arrivals_busy.csv.gz", "trace,gap_start,gap_end\nbusy," SECOND, BOTH, 1, 0 },
    { "in/arrivals_busy.csv.gz", "trace,gap_start,gap_end\narrivals_busy," SECOND, BOTH, 1, 0 },
    { "busy", "gap_start,gap_end\n" SECOND, BOTH, 0, 0 },
    { "in/busy.csv", "trace,gap_start,gap_end\nb," SECOND "us," SECOND "csv," SECOND "in," SECOND,
      NONE, 0, 4 },
    { "in/busy.csv", "trace,gap_start,gap_end\nCHAT," SECOND "cha," SECOND, NONE, 0, 2 },
    { "in/busy.csv", "trace,gap_start,gap_end\nchat," SECOND "," SECOND,
      ":3: trace: is empty: expected a queue, or no column trace if each gap is one of all queues",
      0, 0 },
};

static void a_gap_is_of_the_queues_that_it_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(chars) char *gaps = test_folder_write(folder, "gaps.csv", rows[i].gaps);
        struct demand_options options = { .gaps = gaps };
        struct error err = { 0 };
        owned(demand) struct demand *demand = demand_parse(ROWS, strlen(ROWS), rows[i].source,
                                                           &options, &err);
        owned(text) struct text *found = demand ? told(demand) : text_new(ERROR_TEXT_SIZE);

        if (!demand)
            text_add(found, "%s", err.text);
        if (demand ? !text_equal(found->chars, rows[i].want)
                   : rows[i].want[0] != ':' || !strstr(found->chars, rows[i].want))
            fail_msg("row %zu: found \"%s\", wanted \"%s\"", i, found->chars, rows[i].want);
        if (demand) {
            assert_int_equal(demand->facts.file_gaps, rows[i].file_gaps);
            assert_int_equal(demand->facts.idle_gaps, rows[i].idle_gaps);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_of_the_queues_that_it_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
