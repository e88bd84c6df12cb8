/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Boundaries of windows proposed from a demand.  The need at each five minutes of the week is
 * given; a window has to hold the greatest need inside it, so windows cost level times length.
 * Weekdays and weekends get windows of their own, and days of both kinds begin at one time, which
 * is found too.  Of all ways to cut the week like that, the cheapest is found exactly, by dynamic
 * programming over every pair of slots.
 */
#pragma once

#include "windows/calendar/odd_days.h"
#include "windows/calendar/window.h"
#include "windows/demand/demand.h"

#include <stddef.h>

enum {
    SUGGEST_SLOT_MINUTES = 5,
    SUGGEST_DAY = 24 * 60 / SUGGEST_SLOT_MINUTES,
    SUGGEST_WEEK = 7 * SUGGEST_DAY,
    SUGGEST_WINDOWS_MAX = 24,
};

/* Arrivals a second in each slot of the local week, the highest over the weeks of the series;
   -1: nothing is known.  Hours of events are left out, a holiday counts as its other day.  Days of
   `odd` are left out, too: one Monday that was no Monday is no reason for a window; NULL: none. */
void suggest_rates(const struct demand_series *series, const struct window_set *set,
                   const struct odd_days *odd, double ret_rates[SUGGEST_WEEK]);

/* Gives each unknown slot what a day of its kind (weekday or weekend) knows of this time; or, if
   none does, the greater one of the known times before and after it.  So no window begins because
   of lost data.  Without any known slot the slots of a kind stay unknown. */
void suggest_join(double rates[SUGGEST_WEEK]);

/* ERROR_INVALID: a kind of days has no known slot, so that its windows would need nothing. */
int suggest_check(const double need[SUGGEST_WEEK], struct error *err)
    __attribute__((warn_unused_result));

struct suggest_profile {
    const double *levels; /* the need in each slot */
    size_t slots;
    size_t shortest; /* slots of a piece, at least */
};

/* Cuts a profile into 1, 2 .. `count` pieces.  ret_costs[k - 1]: the
   sum of level times length with exactly k pieces, HUGE_VAL where that cannot be; ret_starts: the
   pieces' first slots for `count` pieces (the caller asks again for the number that it takes);
   either may be NULL. */
void suggest_cut(const struct suggest_profile *profile, size_t count, double *ret_costs,
                 size_t *ret_starts);

struct suggest_window {
    unsigned days; /* as struct window has them */
    int from_minute;
    int to_minute;
    double level;
};

struct suggestion {
    struct suggest_window windows[SUGGEST_WINDOWS_MAX];
    size_t count;
    double hours;       /* a week's sum of level times hours */
    double floor_hours; /* with a window for every slot */
    double peak_hours;  /* with one for all */
};

/* At most `count` windows (2 .. SUGGEST_WINDOWS_MAX), none shorter than `shortest` slots, which
   SUGGEST_DAY / count must allow.  Negative needs are unknown. */
struct suggestion suggest_windows(const double need[SUGGEST_WEEK], size_t count, size_t shortest);

/* The same sum for windows as they are; events and holidays do not count. */
double suggest_hours_of(const struct window_set *set, const double need[SUGGEST_WEEK]);
