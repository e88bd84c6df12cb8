/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See screen.h.
 */
#include "broker/terminal/screen.h"

#include "base/memory.h"
#include "broker/terminal/colors.h"
#include "broker/terminal/columns.h"
#include "broker/terminal/prose.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

enum { ROWS = 24, COLUMNS = 80, KEYS_READ = 32, CONTROL_C = 3 };

/* Alternate screen and hidden cursor; the way back. */
static const char enter[] = "\033[?1049h\033[?25l";
static const char leave[] = "\033[?25h\033[?1049l";

struct screen {
    int out;
    int in;
    bool has_colors;
    int signals; /* a signalfd */
    struct termios before;
    sigset_t mask_before;
    size_t first; /* row */
    bool is_scrolled;
    size_t text_rows; /* of the last text */
};

static struct screen_size size_of(const struct screen *screen)
{
    struct winsize size;

    if (ioctl(screen->out, TIOCGWINSZ, &size) < 0 || size.ws_row < 2 || size.ws_col < 2)
        return (struct screen_size){ ROWS, COLUMNS };
    return (struct screen_size){ size.ws_row, size.ws_col };
}

size_t screen_columns(const struct screen *screen)
{
    return size_of(screen).columns;
}

/* A terminal that takes nothing more is noticed by the next read. */
static void put(const struct screen *screen, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(screen->out, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        size -= (size_t)written;
    }
}

static int take_signals(struct screen *screen)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGWINCH);
    if (sigprocmask(SIG_BLOCK, &mask, &screen->mask_before) < 0)
        return -1;
    return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

struct screen *screen_open(int out, int in, bool has_colors)
{
    struct screen *screen;
    struct termios raw;

    if (!isatty(out) || !isatty(in) || tcgetattr(in, &raw) < 0)
        return NULL;
    screen = mem_new(sizeof *screen);
    *screen = (struct screen){ .out = out, .in = in, .has_colors = has_colors, .before = raw };
    screen->signals = take_signals(screen);
    require(screen->signals >= 0);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(in, TCSANOW, &raw);
    put(screen, enter, sizeof enter - 1);
    return screen;
}

void screen_close(struct screen *screen)
{
    if (!screen)
        return;
    put(screen, leave, sizeof leave - 1);
    tcsetattr(screen->in, TCSANOW, &screen->before);
    close(screen->signals);
    sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
    mem_free(screen);
}

/* One row, cut. */
static void add_row(const char *row, size_t length, size_t columns, struct text *out)
{
    owned(chars) char *tame = text_format("%.*s", (int)length, row);
    size_t shown = 0;

    text_tame(tame, false);
    for (size_t at = 0; at < length;) {
        size_t wide;
        size_t bytes = columns_step(tame + at, length - at, &wide);

        if (shown + wide > columns)
            break;
        text_add_bytes(out, tame + at, bytes);
        shown += wide;
        at += bytes;
    }
    text_add(out, "\n");
}

size_t screen_clip(const struct text *text, struct screen_size size, size_t first, struct text *out)
{
    size_t rows = 0;

    for (const char *row = text->chars; *row; rows++) {
        size_t length = strcspn(row, "\n");

        if (rows >= first && rows < first + size.rows)
            add_row(row, length, size.columns, out);
        row += length + (row[length] == '\n');
    }
    return rows;
}

static size_t last_first(const struct screen *screen)
{
    size_t room = size_of(screen).rows - 1;

    return screen->text_rows > room ? screen->text_rows - room : 0;
}

void screen_show(struct screen *screen, const struct text *text, bool is_tail)
{
    owned(text) struct text *shown = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *wrapped = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *rows = text_new(TEXT_UNBOUNDED);
    struct screen_size size = size_of(screen);
    size_t below;

    size.rows--; /* for the keys */
    prose_wrap(text, size.columns, wrapped);
    screen->text_rows = screen_clip(wrapped, (struct screen_size){ 0, 0 }, 0, shown);
    if (screen->first > last_first(screen) || (is_tail && !screen->is_scrolled))
        screen->first = last_first(screen);
    text_add(shown, "\033[H\033[J");
    screen_clip(wrapped, size, screen->first, rows);
    if (screen->has_colors)
        colors_add(rows->chars, shown);
    else
        text_add_bytes(shown, rows->chars, rows->length);
    below = screen->text_rows - screen->first;
    below = below > size.rows ? below - size.rows : 0;
    text_add(shown, "\033[%zu;1H\033[7m%.*s\033[0m", size.rows + 1, (int)size.columns,
             "q quit   o open or close groups   arrows, space: scroll");
    if (below > 0 && size.columns > 75)
        text_add(shown, "  %zu more rows", below);
    put(screen, shown->chars, shown->length);
}

/* Scrolls by rows, within the text. */
static void scroll(struct screen *screen, long rows)
{
    long first = (long)screen->first + rows;
    long last = (long)last_first(screen);

    screen->first = first < 0 ? 0 : (size_t)(first > last ? last : first);
    screen->is_scrolled = screen->first != last_first(screen);
}

/* One key, which a terminal may send as several bytes. */
static enum screen_key take_key(struct screen *screen, const char *key)
{
    static const struct {
        const char *bytes;
        int rows; /* a thousand is a page */
    } scrolls[] = {
        { "j", 1 },           { "\033[B", 1 },  { "\033OB", 1 },  { "k", -1 },
        { "\033[A", -1 },     { "\033OA", -1 }, { " ", 1000 },    { "\033[6~", 1000 },
        { "\033[5~", -1000 }, { "b", -1000 },   { "G", 1000000 }, { "g", -1000000 },
    };
    long page = (long)size_of(screen).rows - 2;

    if (key[0] == 'q' || key[0] == CONTROL_C)
        return SCREEN_QUIT;
    if (key[0] == 'o' || key[0] == '\r' || key[0] == '\n')
        return SCREEN_OPEN;
    for (size_t i = 0; i < COUNT_OF(scrolls); i++)
        if (strcmp(key, scrolls[i].bytes) == 0)
            scroll(screen, scrolls[i].rows == 1000    ? page
                           : scrolls[i].rows == -1000 ? -page
                                                      : scrolls[i].rows);
    return SCREEN_OTHER;
}

static enum screen_key take_signal(const struct screen *screen)
{
    struct signalfd_siginfo info;

    if (read(screen->signals, &info, sizeof info) != sizeof info)
        return SCREEN_OTHER;
    return info.ssi_signo == SIGWINCH ? SCREEN_OTHER : SCREEN_QUIT;
}

enum screen_key screen_wait(struct screen *screen, int64_t wait_ms)
{
    struct pollfd polled[] = { { .fd = screen->in, .events = POLLIN },
                               { .fd = screen->signals, .events = POLLIN } };
    char key[KEYS_READ + 1] = "";
    ssize_t size;

    if (poll(polled, COUNT_OF(polled), (int)wait_ms) <= 0)
        return SCREEN_NONE;
    if (polled[1].revents)
        return take_signal(screen);
    size = read(screen->in, key, KEYS_READ);
    return size <= 0 ? SCREEN_QUIT : take_key(screen, key);
}
