/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What commands print for people: times in one zone, and colours.
 */
#include "broker/terminal/colors.h"
#include "broker/terminal/table.h"
#include "broker/terminal/times.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static void times_have_one_zone(void **state)
{
    static const struct {
        const char *zone; /* NULL: none is known */
        const char *text;
        const char *shown;
    } cases[] = {
        { "America/New_York", "until 2026-11-17T12:30:00Z by ada",
          "until 2026-11-17 07:30 EST by ada" },
        { "America/New_York", "2026-07-17T12:30:05Z", "2026-07-17 08:30:05 EDT" },
        { "America/New_York", "2026-07-17T12:30:05.250Z;", "2026-07-17 08:30:05 EDT;" },
        { "America/New_York", "a (2026-11-01T05:59:00Z, 2026-11-01T06:01:00Z)",
          "a (2026-11-01 01:59 EDT, 2026-11-01 01:01 EST)" },
        { "America/New_York", "2026-11-17T03:00:00Z", "2026-11-16 22:00 EST" },
        { "UTC", "2026-11-17T12:30:00Z", "2026-11-17 12:30 UTC" },
        { NULL, "2026-11-17T12:30:07Z", "2026-11-17 12:30:07 UTC" },
        { "Nowhere/At_All", "2026-11-17T12:30:00Z", "2026-11-17 12:30 UTC" },
        /* what only looks like a time */
        { "America/New_York", "x2026-11-17T12:30:00Z", "x2026-11-17T12:30:00Z" },
        { "America/New_York", "job-2026-11-17T12:30:00Z", "job-2026-11-17T12:30:00Z" },
        { "America/New_York", "2026-11-17T12:30:00Zed", "2026-11-17T12:30:00Zed" },
        { "America/New_York", "2026-11-17T12:30:00+01:00", "2026-11-17T12:30:00+01:00" },
        { "America/New_York", "2026-13-17T12:30:00Z", "2026-13-17T12:30:00Z" },
        { "America/New_York", "2026-11-17T12:30:00.12345678901234567890Z",
          "2026-11-17T12:30:00.12345678901234567890Z" },
        { "America/New_York", "2026-11-17T12:3", "2026-11-17T12:3" },
        { "America/New_York", "", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(chars) char *shown = NULL;

        times_begin(false);
        times_use_zone(cases[i].zone);
        shown = times_local(cases[i].text);
        assert_string_equal(shown, cases[i].shown);
    }
}

static void utc_is_utc_whatever_the_service_says(void **state)
{
    owned(chars) char *shown = NULL;

    (void)state;
    times_begin(true);
    times_use_zone("America/New_York");
    shown = times_local("2026-11-17T12:30:00Z");
    assert_string_equal(shown, "2026-11-17 12:30 UTC");
}

static void a_column_is_as_wide_as_its_local_times(void **state)
{
    static const char *const titles[] = { "UNTIL", "BY", NULL };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    (void)state;
    times_begin(false);
    times_use_zone("America/New_York");
    table_insert(table, "MORE");
    table_cell(table, "%s", "2026-11-17T12:30:00Z");
    table_cell(table, "%s", "m");
    table_cell(table, "%s", "ada");
    table_print(table, out);
    assert_string_equal(out->chars, "UNTIL                 MORE  BY\n"
                                    "2026-11-17 07:30 EST  m     ada\n");
}

static void colors_are_for_terminals_that_have_them(void **state)
{
    static const struct {
        const char *option, *no_color, *term;
        bool is_terminal, wanted;
    } cases[] = {
        { NULL, NULL, "xterm", true, true },     { NULL, NULL, "xterm", false, false },
        { "auto", "", "xterm", true, true },     { "auto", "1", "xterm", true, false },
        { "auto", NULL, "dumb", true, false },   { "auto", NULL, NULL, true, true },
        { "never", NULL, "xterm", true, false }, { "always", "1", "dumb", false, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (colors_wanted(cases[i].option, cases[i].is_terminal, cases[i].no_color,
                          cases[i].term) != cases[i].wanted)
            fail_msg("case %zu", i);
}

#define RED "\033[1;31m"
#define YELLOW "\033[33m"
#define GREEN "\033[32m"
#define CYAN "\033[36m"
#define END "\033[0m"

static const struct {
    const char *lines, *shown;
} lines[] = {
    { "SHORT           prod-a has 6\n", RED "SHORT" END "           prod-a has 6\n" },
    { "READY IN TIME   4 transfers\n", GREEN "READY IN TIME" END "   4 transfers\n" },
    { "WARN a queue\n", YELLOW "WARN" END " a queue\n" },
    { "the word SHORT in a sentence\n", "the word SHORT in a sentence\n" },
    { "SHORTER  x\n", "SHORTER  x\n" },
    { "  + node a\n  - node b\n    - c\n",
      "  " GREEN "+" END " node a\n  " RED "-" END " node b\n    - c\n" },
    { "CLUSTER  STATE\nprod-a   SHORT, FROZEN  503 OK\nres-1    OK\n\nx        OK\n",
      "CLUSTER  STATE\nprod-a   " RED "SHORT" END ", " CYAN "FROZEN" END "  503 OK\nres-1    " GREEN
      "OK" END "\n\nx        OK\n" },
    { "ID   STATE  REASON\na-1  waits  OK\n",
      "ID   STATE  REASON\na-1  " YELLOW "waits" END "  OK\n" },
    { "", "" },
    { "OK", GREEN "OK" END },
};

/* Without its colours each text is what it was. */
static void expect_plain(const char *chars, const char *plain)
{
    for (; *chars != '\0'; chars++) {
        if (*chars == '\033')
            chars = strchr(chars, 'm');
        else if (*chars != *plain++)
            fail_msg("something is said by colour alone: %s", plain);
    }
    assert_true(*plain == '\0');
}

static void words_have_the_color_of_how_bad_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

        colors_add(lines[i].lines, out);
        assert_string_equal(out->chars, lines[i].shown);
        expect_plain(out->chars, lines[i].lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_one_zone),
        cmocka_unit_test(utc_is_utc_whatever_the_service_says),
        cmocka_unit_test(a_column_is_as_wide_as_its_local_times),
        cmocka_unit_test(colors_are_for_terminals_that_have_them),
        cmocka_unit_test(words_have_the_color_of_how_bad_they_are),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
