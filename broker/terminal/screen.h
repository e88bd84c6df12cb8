/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A terminal's alternate screen (xterm's 1049): one text, drawn again as a whole, with keys.  What
 * the terminal showed before comes back when the screen is closed.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct screen;

enum screen_key {
    SCREEN_NONE,  /* the time has passed */
    SCREEN_QUIT,  /* q, Ctrl-C, a signal that ends the process, or the terminal is gone */
    SCREEN_OPEN,  /* o or Enter: show groups row by row, or as one row again */
    SCREEN_OTHER, /* it was scrolled or resized: draw again */
};

/* Draws on `out` and reads keys from `in`.  NULL: one of them is no terminal.  Until screen_close()
   the signals that end the process are taken as SCREEN_QUIT. */
struct screen *screen_open(int out, int in, bool has_colors) __attribute__((warn_unused_result));
void screen_close(struct screen *screen); /* NULL is legal */

/* How many columns it has now. */
size_t screen_columns(const struct screen *screen);

/* Draws as much of the text as fits, its sentences wrapped, from where it was scrolled to; with
   is_tail, the end of it while it is not scrolled.  The last row says what the keys do. */
void screen_show(struct screen *screen, const struct text *text, bool is_tail);

/* Waits for a key. */
enum screen_key screen_wait(struct screen *screen, int64_t wait_ms)
    __attribute__((warn_unused_result));

/* The rows of a text from row `first` on (0: the first) that fit, each cut to so many characters of
   UTF-8; control characters become "?", so that no text from elsewhere commands the terminal.
   Returns how many rows the text has. */
struct screen_size {
    size_t rows;
    size_t columns;
};
size_t screen_clip(const struct text *text, struct screen_size size, size_t first,
                   struct text *out);
