/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line on a terminal that is written again and again: which part of a long work is under way,
 * how far it is, and when all of it will be done.
 *
 *     searching numbers 412 of 1,180, done about 14:32
 *
 * The end is told by the share of the whole work that is done.
 */
#pragma once

#include "base/progress.h"
#include "base/text.h"
#include "base/time_zone.h"

struct meter;

/* Writes to the file, if that is a terminal; otherwise all calls do nothing.  The file stays open
   until meter_free(). */
struct meter *meter_new(int fd) __attribute__((returns_nonnull, warn_unused_result));

/* For a progress_report, whose context is the meter: shows the state, unless the line was written a
   moment ago for the same part.  Any thread may call it, one at a time. */
void meter_show(void *meter, const struct progress_state *state);

/* Takes the line away; NULL is legal. */
void meter_free(struct meter *meter);

/* The line without its end, for a work that began `elapsed_ms` before `now`. zone: of the clock
   that is shown; NULL: UTC, which the line then names. */
void meter_line(const struct progress_state *state, int64_t elapsed_ms, struct wall_time now,
                const struct time_zone *zone, struct text *out);

static inline void owned_meter(struct meter **meter)
{
    meter_free(*meter);
}
