/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line on a terminal that is written again and again: which part of a long work is under way,
 * how far it is, and when all of it will be done.
 *
 *     searching numbers 412 of 1,180, done about 14:32
 *
 * The end is told by what is done of the whole work so far, so whoever reports weighs the parts by
 * what they are expected to take.
 */
#pragma once

#include "base/text.h"
#include "base/time_zone.h"

#include <stdbool.h>

struct meter_state {
    const char *part; /* lower case, without a full stop */
    size_t done;      /* items of the part, of */
    size_t count;
    double share; /* done of the whole work, 0 .. 1 */
};

struct meter;

/* Writes to the file, if that is a terminal; otherwise all calls do nothing.  The file stays open
   until meter_free(). */
struct meter *meter_new(int fd) __attribute__((returns_nonnull, warn_unused_result));

/* Shows the state, if the line was not written a moment ago or the part is another one.  May be
   called by any thread, by one at a time. */
void meter_show(struct meter *meter, const struct meter_state *state);

/* Takes the line away; NULL is legal. */
void meter_free(struct meter *meter);

/* The line without its end, for a work that began `elapsed_ms` before `now`.  zone: of the clock
   that is shown; NULL: UTC, and says so. */
void meter_line(const struct meter_state *state, int64_t elapsed_ms, struct wall_time now,
                const struct time_zone *zone, struct text *out);

static inline void owned_meter(struct meter **meter)
{
    meter_free(*meter);
}
