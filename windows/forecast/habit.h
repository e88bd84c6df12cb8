/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a window that are unknown at the same time of every day: a nightly restart of the
 * exporter, an hour of maintenance.  They are a habit of the queue and no gap of one occurrence, so
 * an occurrence is compared with the other steps.
 *
 * A place is a time of day on the window's clock, in steps.  It is habitually unknown when it was
 * so on three quarters of the last eight occurrences that are known by half at least, the one that
 * is asked about included; there are three of them or more.  Later occurrences say nothing.
 */
#pragma once

#include "base/array.h"

#include <stddef.h>

enum { HABIT_OCCURRENCES = 8 };

struct habit_places {
    ARRAY(size_t) list; /* each at most once */
};

struct habit {
    struct habit_places last[HABIT_OCCURRENCES]; /* a ring */
    size_t seen;                                 /* occurrences, of all time */
    size_t *unknown;                             /* by place: how many of `last` */
};

/* Places go from 0 to place_count - 1. */
void habit_init(struct habit *habit, size_t place_count);
void habit_clear(struct habit *habit);

/* The next occurrence is known by half at least, but for these places, which are copied. */
void habit_add(struct habit *habit, const struct habit_places *unknown);

/* How many of these places are habitually unknown. */
size_t habit_count(const struct habit *habit, const struct habit_places *unknown);
