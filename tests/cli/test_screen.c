/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The screen of --watch: what fits, what keys do, and that the terminal is as it was afterwards.
 */
#include "base/input/json.h"
#include "broker/cli/event_rows.h"
#include "broker/terminal/columns.h"
#include "broker/terminal/prose.h"
#include "broker/terminal/screen.h"
#include "broker/terminal/transfer_rows.h"
#include "tests/support/golden.h"
#include "tests/support/terminal.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>

enum { PATIENCE_MS = 10000, READ_SIZE = 65536 };

static const struct {
    const char *text;
    struct screen_size size;
    size_t first;
    const char *shown;
    size_t rows;
} clips[] = {
    { "", { 3, 4 }, 0, "", 0 },
    { "abcd\nabcde\n", { 3, 4 }, 0, "abcd\nabcd\n", 2 },
    { "a\nb\nc\n", { 2, 4 }, 0, "a\nb\n", 3 },
    { "a\nb\nc\n", { 2, 4 }, 1, "b\nc\n", 3 },
    { "a\nb", { 9, 4 }, 1, "b\n", 2 },
    /* a character of two bytes is one column, and is never cut */
    { "\xc3\xa9\xc3\xa9\xc3\xa9\n", { 1, 2 }, 0, "\xc3\xa9\xc3\xa9\n", 1 },
    /* a Korean one is two, and is shown whole or not; a combined accent is none */
    { "\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\n", { 1, 4 }, 0, "\xea\xb0\x80\xea\xb0\x80\n", 1 },
    { "\xea\xb0\x80\xea\xb0\x80\n", { 1, 3 }, 0, "\xea\xb0\x80\n", 1 },
    { "e\xcc\x81"
      "bc\n",
      { 1, 2 },
      0,
      "e\xcc\x81"
      "b\n",
      1 },
    { "a\xff"
      "bc\n",
      { 1, 3 },
      0,
      "a\xff"
      "b\n",
      1 },
    /* no text commands the terminal */
    { "a\xc2\x9b"
      "2Jb\n",
      { 1, 80 },
      0,
      "a??2Jb\n",
      1 },
    { "a\033[2Jb\x7f\a\n", { 1, 80 }, 0, "a?[2Jb??\n", 1 },
    { "a\n\nb\n", { 3, 4 }, 0, "a\n\nb\n", 3 },
};

static void what_fits_is_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(clips); i++) {
        owned(text) struct text *text = text_new(TEXT_UNBOUNDED);
        owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

        text_add(text, "%s", clips[i].text);
        assert_int_equal(screen_clip(text, clips[i].size, clips[i].first, out), clips[i].rows);
        assert_string_equal(out->chars, clips[i].shown);
    }
}

static const struct {
    const char *text;
    size_t columns;
    const char *wrapped;
} sentences[] = {
    { "", 40, "" },
    { "short\n\nrow\n", 40, "short\n\nrow\n" },
    { "BLOCKED         one two three four five six seven\n", 40,
      "BLOCKED         one two three four five\n                six seven\n" },
    { "                one two three four five six seven\n", 40,
      "                one two three four five\n                six seven\n" },
    { "WARN one two three four five six seven eight nine\n", 40,
      "WARN one two three four five six seven\neight nine\n" },
    /* exactly as wide; one more */
    { "BLOCKED         four five six seven nine\n", 40,
      "BLOCKED         four five six seven nine\n" },
    { "BLOCKED         four five six seven nine.\n", 40,
      "BLOCKED         four five six seven\n                nine.\n" },
    /* a word that is too long is cut between characters */
    { "WARN \n", 40, "WARN \n" },
    { "BLOCKED         123456789012345678901234\xc3\xa9x\n", 40,
      "BLOCKED         123456789012345678901234\n                \xc3\xa9x\n" },
    { "BLOCKED         12345678901234567890123\xc3\xa9x\n", 40,
      "BLOCKED         12345678901234567890123\xc3\xa9\n                x\n" },
    /* twelve characters of two columns, and one more */
    { "BLOCKED         \xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80"
      "\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x81\n",
      40,
      "BLOCKED         \xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80"
      "\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\n                "
      "\xea\xb0\x81\n" },
    /* an indented row goes on with the same indentation; a number in a table is none */
    { "       one two three four five six seven eight\n", 40,
      "       one two three four five six seven\n       eight\n" },
    { "      1  one two three four five six seven eight\n", 40,
      "      1  one two three four five six seven eight\n" },
    /* a table is not wrapped, nor is anything on a terminal that is too narrow */
    { "prod-a          production  6  of ten nodes\n", 40,
      "prod-a          production  6  of ten nodes\n" },
    { "BLOCKED         one two three four five six seven\n", 30,
      "BLOCKED         one two three four five six seven\n" },
};

static void sentences_go_on_in_the_next_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sentences); i++) {
        owned(text) struct text *text = text_new(TEXT_UNBOUNDED);
        owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

        text_add(text, "%s", sentences[i].text);
        prose_wrap(text, sentences[i].columns, out);
        assert_string_equal(out->chars, sentences[i].wrapped);
    }
}

/* All that the terminal got so far, and at least `wanted`. */
static void expect_drawn(const struct terminal *terminal, const char *wanted)
{
    owned(text) struct text *drawn = text_new(TEXT_UNBOUNDED);
    struct pollfd polled = { .fd = terminal->master, .events = POLLIN };

    while (!strstr(drawn->chars, wanted)) {
        char part[READ_SIZE];
        ssize_t size;

        if (poll(&polled, 1, PATIENCE_MS) <= 0)
            fail_msg("not drawn: %s; but: %s", wanted, drawn->chars);
        size = read(terminal->master, part, sizeof part);
        assert_true(size > 0);
        text_add_bytes(drawn, part, (size_t)size);
    }
}

static void press(const struct terminal *terminal, const char *keys)
{
    assert_int_equal(write(terminal->master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static struct text *hundred_rows(void)
{
    struct text *text = text_new(TEXT_UNBOUNDED);

    for (int i = 0; i < 100; i++)
        text_add(text, "row %d.\n", i);
    return text;
}

/* 24 rows: 23 of the text, and one for the keys. */
static void keys_scroll_and_end(void **state)
{
    owned(text) struct text *text = hundred_rows();
    struct terminal terminal;
    struct termios before, after;
    struct screen *screen;

    (void)state;
    terminal_open(&terminal, 80);
    assert_int_equal(tcgetattr(terminal.slave, &before), 0);
    screen = screen_open(terminal.slave, terminal.slave, false);
    assert_non_null(screen);
    expect_drawn(&terminal, "\033[?1049h");
    screen_show(screen, text, false);
    expect_drawn(&terminal, "\033[Jrow 0.");
    press(&terminal, "j");
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_OTHER);
    screen_show(screen, text, false);
    expect_drawn(&terminal, "\033[Jrow 1.");
    press(&terminal, "G");
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_OTHER);
    screen_show(screen, text, false);
    expect_drawn(&terminal, "\033[Jrow 77.");
    press(&terminal, "\033[A");
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_OTHER);
    screen_show(screen, text, true); /* scrolled: not the tail */
    expect_drawn(&terminal, "\033[Jrow 76.");
    press(&terminal, "o");
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_OPEN);
    assert_int_equal(screen_wait(screen, 1), SCREEN_NONE);
    press(&terminal, "\x03");
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_QUIT);
    screen_close(screen);
    expect_drawn(&terminal, "\033[?1049l");
    assert_int_equal(tcgetattr(terminal.slave, &after), 0);
    assert_int_equal(after.c_lflag, before.c_lflag);
    assert_memory_equal(after.c_cc, before.c_cc, sizeof before.c_cc);
    terminal_close(&terminal);
}

static void the_tail_follows_the_text(void **state)
{
    owned(text) struct text *text = hundred_rows();
    struct terminal terminal;
    struct screen *screen;

    (void)state;
    terminal_open(&terminal, 80);
    screen = screen_open(terminal.slave, terminal.slave, false);
    screen_show(screen, text, true);
    expect_drawn(&terminal, "\033[Jrow 77.");
    text_add(text, "row 100.\n");
    screen_show(screen, text, true);
    expect_drawn(&terminal, "\033[Jrow 78.");
    screen_close(screen);
    terminal_close(&terminal);
}

static void a_signal_ends_it_and_leaves_the_terminal_whole(void **state)
{
    struct terminal terminal;
    struct screen *screen;

    (void)state;
    terminal_open(&terminal, 80);
    screen = screen_open(terminal.slave, terminal.slave, false);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_int_equal(screen_wait(screen, PATIENCE_MS), SCREEN_QUIT);
    screen_close(screen);
    expect_drawn(&terminal, "\033[?1049l");
    terminal_close(&terminal);
}

static void what_is_no_terminal_has_no_screen(void **state)
{
    int pipes[2];

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_null(screen_open(pipes[1], pipes[0], false));
    close(pipes[0]);
    close(pipes[1]);
}

/* waits_for may have a %d, the number of the node. */
static void add_rows(json_t *rows, int count, const char *step, const char *waits_for)
{
    for (int i = 0; i < count; i++) {
        const char *at = strstr(waits_for, "%d");
        owned(chars) char *waits = at ? text_format("%.*s%d%s", (int)(at - waits_for), waits_for, i,
                                                    at + 2)
                                      : mem_copy_chars(waits_for);
        owned(chars) char *name = text_format("res1-n%03d", (int)json_array_size(rows));
        owned(chars) char *since = text_format("2026-11-17T07:%02d:00Z", 10 + i % 20);
        owned(chars) char *expected = text_format("2026-11-17T08:%02d:00Z", 10 + i % 20);

        json_array_append_new(rows, json_make("{ss ss ss ss ss ss ss ss ss}", "transfer", "t-1",
                                              "node", name, "from", "res-1-east", "to",
                                              "prod-a-east", "state", "live", "step", step, "since",
                                              since, "expected", expected, "waits_for", waits));
    }
}

/* 800 moves in a few rows. */
static void what_waits_for_the_same_is_one_row(void **state)
{
    owned(json) json_t *rows = json_array();
    owned(json)
        json_t *answer = json_make("{ss sO}", "at", "2026-11-17T07:40:00Z", "transfers", rows);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    (void)state;
    add_rows(rows, 500, "drain", "1 pod to leave: research/robotics-%d-0-d3ed0");
    add_rows(rows, 1, "drain", "the budget chat/chat of 2 pods");
    add_rows(rows, 200, "acquire", "the machine");
    add_rows(rows, 99, "join", "the Node of machine prod-a-east-%d to register");
    add_rows(rows, 3, "drain", "3 pods to leave: research/vision-%d");
    add_rows(rows, 3, "drain", "1 pod to leave: research/robotics-%d-0-d3ed0");
    transfer_rows_groups(answer, 80, out);
    golden_check("golden/cli/groups.txt", out->chars);
}

/* Names of managed instance groups, as Google Kubernetes Engine makes them. */
#define NODE "gke-research-a-main-pool-004ca00-abcd1234"
#define OTHER "gke-research-a-main-pool-004ca00-abcd9876"
#define MACHINE "gke-production-a-main-pool-7f31bd2-wxyz5678"
#define STOCK_OUT                                                                                  \
    "machine " MACHINE " for attempt 3: ZONE_RESOURCE_POOL_EXHAUSTED, again in 5m (the cause)"

/* Adds what a terminal of 24 rows and 80 columns shows; whatever is wider is cut. */
static void add_screen(const struct text *drawn, struct text *out)
{
    owned(text) struct text *wrapped = text_new(TEXT_UNBOUNDED);

    prose_wrap(drawn, 80, wrapped);
    screen_clip(wrapped, (struct screen_size){ 23, 80 }, 0, out);
    text_add(out, "\n");
}

/* How often the end of the longest sentence is on the screens. */
static int count_causes(const char *screens)
{
    int count = 0;

    for (; (screens = strstr(screens, "cause)")); screens++)
        count++;
    return count;
}

static json_t *long_transfers(void)
{
    static const char row[] = "{ss ss ss ss ss ss ss ss ss}";
    json_t *rows = json_array();

    for (int i = 0; i < 2; i++)
        json_array_append_new(
            rows, json_make(row, "transfer", i ? "t-2f1c09ab2e" : "t-1f1c09ab2e", "node",
                            i ? OTHER : NODE, "from", "research-a-main-pool-of-zone-b", "to",
                            "production-a-main-pool-of-zone-b", "state", "live", "step", "acquire",
                            "since", "2026-11-17T07:10:00Z", "expected", "2026-11-17T08:10:00Z",
                            "waits_for", STOCK_OUT));
    return json_make("{ss so}", "at", "2026-11-17T07:40:00Z", "transfers", rows);
}

static void transfers_of_long_names_fit_80_columns(void **state)
{
    owned(json) json_t *answer = long_transfers();
    owned(text) struct text *groups = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *open = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *shown = text_new(TEXT_UNBOUNDED);

    (void)state;
    transfer_rows_groups(answer, 80, groups);
    add_screen(groups, shown);
    transfer_rows_open(answer, 80, open);
    add_screen(open, shown);
    assert_int_equal(count_causes(shown->chars), 3);
    golden_check("golden/cli/transfers-80.txt", shown->chars);
}

static json_t *long_events(void)
{
    static const char form[] = "{ss ss ss ss ss ss ss ss}";
    json_t *events = json_array();

    for (int i = 0; i < 3; i++)
        json_array_append_new(events,
                              json_make(form, "at", "2026-11-17T07:10:05Z", "event", "step",
                                        "transfer", "t-1f1c09ab2e", "step", i ? "acquire" : "drain",
                                        "node", i == 1 ? OTHER : NODE, "from", "research-a-main",
                                        "to", "production-a-main", "text", STOCK_OUT));
    return events;
}

static void events_of_long_names_fit_80_columns(void **state)
{
    owned(json) json_t *events = long_events();
    owned(text) struct text *closed = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *open = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *shown = text_new(TEXT_UNBOUNDED);

    (void)state;
    event_rows_screen(events, false, 80, closed);
    add_screen(closed, shown);
    event_rows_screen(events, true, 80, open);
    add_screen(open, shown);
    assert_int_equal(count_causes(shown->chars), 5);
    golden_check("golden/cli/events-80.txt", shown->chars);
}

static const struct {
    const char *text;
    size_t most;
    const char *shortened;
} names[] = {
    { "", 4, "" },
    { "abcd", 4, "abcd" },
    { "abcde", 4, "a..e" },
    { "abcdef", 5, "a..ef" },
    { "abcdef", 2, ".." },
    { "abcdef", 1, "." },
    { "abcdef", 0, "" },
    { NODE, 17, "gke-res..abcd1234" },
    /* two columns each: whole or not at all */
    { "\xea\xb0\x80\xea\xb0\x80\xea\xb0\x80\xea\xb0\x81", 7, "\xea\xb0\x80..\xea\xb0\x81" },
};

static void names_are_shortened_in_the_middle(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        owned(chars) char *shortened = columns_shorten(names[i].text, names[i].most);

        assert_string_equal(shortened, names[i].shortened);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_shown),
        cmocka_unit_test(sentences_go_on_in_the_next_row),
        cmocka_unit_test(keys_scroll_and_end),
        cmocka_unit_test(the_tail_follows_the_text),
        cmocka_unit_test(a_signal_ends_it_and_leaves_the_terminal_whole),
        cmocka_unit_test(what_is_no_terminal_has_no_screen),
        cmocka_unit_test(what_waits_for_the_same_is_one_row),
        cmocka_unit_test(transfers_of_long_names_fit_80_columns),
        cmocka_unit_test(events_of_long_names_fit_80_columns),
        cmocka_unit_test(names_are_shortened_in_the_middle),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
