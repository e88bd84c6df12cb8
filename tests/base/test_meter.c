/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The line of a long work: what it says at which moment, that it is written on a terminal only, and
 * that nothing of it is left.
 */
#include "base/meter.h"
#include "tests/support/terminal.h"

#include <math.h>
#include <string.h>

static const int64_t noon_ms = 1795521600000; /* Tue 2026-11-24 12:00 UTC */

static const struct {
    const char *name;
    struct progress_state state;
    int64_t elapsed_ms;
    const char *zone;
    const char *want;
} lines[] = {
    { "too early to tell",
      { "searching numbers", 412, 1180, 0.5 },
      1999,
      "UTC",
      "searching numbers 412 of 1,180" },
    { "too little done to tell",
      { "searching numbers", 1, 1180, 0.004 },
      60 * SECOND_MS,
      "UTC",
      "searching numbers 1 of 1,180" },
    { "the whole work counts, not the part",
      { "searching numbers", 1179, 1180, 0.25 },
      50 * MINUTE_MS,
      "UTC",
      "searching numbers 1,179 of 1,180, done about 14:30" },
    { "by the clock on the wall",
      { "judging", 1, 2, 0.25 },
      50 * MINUTE_MS,
      "America/New_York",
      "judging 1 of 2, done about 09:30" },
    { "nobody knows where we are",
      { "judging", 1, 2, 0.25 },
      50 * MINUTE_MS,
      NULL,
      "judging 1 of 2, done about 14:30 UTC" },
    { "another day",
      { "judging", 1, 2, 0.1 },
      3 * HOUR_MS,
      "UTC",
      "judging 1 of 2, done about Wed 15:00" },
    { "soon",
      { "judging", 1, 2, 0.8 },
      40 * SECOND_MS,
      "UTC",
      "judging 1 of 2, done in about 10 s" },
    { "a minute and a half",
      { "judging", 1, 2, 0.5 },
      99 * SECOND_MS,
      "UTC",
      "judging 1 of 2, done in about 100 s" },
    { "just longer",
      { "judging", 1, 2, 0.5 },
      100 * SECOND_MS,
      "UTC",
      "judging 1 of 2, done about 12:01" },
    { "millions",
      { "replaying", 1002003, 12000000, 0 },
      0,
      "UTC",
      "replaying 1,002,003 of 12,000,000" },
};

static void the_line_says_how_far_and_until_when(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        owned(text) struct text *line = text_new(200);
        owned(time_zone) struct time_zone *zone = lines[i].zone
                                                      ? time_zone_open(lines[i].zone, NULL)
                                                      : NULL;

        meter_line(&lines[i].state, lines[i].elapsed_ms, (struct wall_time){ noon_ms }, zone, line);
        if (!text_equal(line->chars, lines[i].want))
            fail_msg("%s: %s", lines[i].name, line->chars);
    }
}

enum { SCREEN = 256 };

/* A terminal hands over what was written in parts of any length. */
static void read_until(const struct terminal *terminal, const char *end, char chars[SCREEN])
{
    size_t length = 0;

    memset(chars, 0, SCREEN);
    while (length < strlen(end) || strcmp(chars + length - strlen(end), end) != 0) {
        ssize_t got = read(terminal->master, chars + length, SCREEN - 1 - length);

        if (got <= 0)
            fail_msg("the terminal shows \"%s\" and not \"%s\"", chars, end);
        length += (size_t)got;
    }
}

static void expect_written(const struct terminal *terminal, const char *want)
{
    char chars[SCREEN];

    read_until(terminal, want, chars);
    assert_string_equal(chars, want);
}

static void a_terminal_shows_one_line_that_goes_again(void **state)
{
    const struct progress_state first = { "forecasting", 1, 2, 0 };
    const struct progress_state same = { first.part, 2, 2, 0 };
    const struct progress_state next = { "judging", 1, 20, 0 };
    struct terminal terminal;

    (void)state;
    terminal_open(&terminal, 80);
    struct meter *meter = meter_new(terminal.slave);

    meter_show(meter, &first);
    expect_written(&terminal, "\rforecasting 1 of 2\033[K");
    meter_show(meter, &same); /* a moment later: not written, or as a whole */
    meter_show(meter, &next);
    meter_free(meter);

    char chars[SCREEN];

    read_until(&terminal, "\rjudging 1 of 20\033[K\r\033[K", chars);
    terminal_close(&terminal);
}

static void a_narrow_terminal_has_one_line_too(void **state)
{
    const struct progress_state narrow = { "forecasting", 1, 2, 0 };
    struct terminal terminal;

    (void)state;
    terminal_open(&terminal, 12);
    struct meter *meter = meter_new(terminal.slave);

    meter_show(meter, &narrow);
    expect_written(&terminal, "\rforecasting\033[K");
    meter_free(meter);
    terminal_close(&terminal);
}

static void nothing_is_written_elsewhere(void **state)
{
    const struct progress_state some = { "forecasting", 1, 2, 0.5 };
    int ends[2];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    struct meter *meter = meter_new(ends[1]);

    meter_show(meter, &some);
    meter_free(meter);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

static void keep(void *context, const struct progress_state *state)
{
    *(struct progress_state *)context = *state;
}

static void what_is_done_within_an_item_counts_once(void **state)
{
    struct progress_state last = { 0 };
    const struct progress_report report = { keep, &last };
    struct progress progress;

    (void)state;
    progress_init(&progress, &report, 8);
    progress_begin(&progress, "planning", 2);
    progress_within(&progress, 1);
    progress_within(&progress, 2);
    assert_true(last.done == 0 && fabs(last.share - 3 / 8.0) < 1e-9);
    progress_within(&progress, -3);
    assert_true(fabs(last.share - 3 / 8.0) < 1e-9); /* it never goes back */
    progress_item(&progress, 4);
    assert_true(last.done == 1 && fabs(last.share - 4 / 8.0) < 1e-9);
    progress_clear(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_says_how_far_and_until_when),
        cmocka_unit_test(a_terminal_shows_one_line_that_goes_again),
        cmocka_unit_test(a_narrow_terminal_has_one_line_too),
        cmocka_unit_test(nothing_is_written_elsewhere),
        cmocka_unit_test(what_is_done_within_an_item_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
