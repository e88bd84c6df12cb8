/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Days of the past that were not like their weekday: public holidays that are not in the
 * calendar, a company's day off.  Proposed to people, never acted on.
 *
 * Each queue's day is 24 hours, as logarithms.  A day is odd when it is far from its weekday in the
 * four weeks before and after (three times what days usually are), and near to another weekday, or
 * to a fraction or a multiple of its own.  So none of these is one: a burst (a few hours count for
 * little), an outage (near to nothing, or unknown), and a shift of level, since the days before and
 * after it count, too, and the last day of all is not judged.  It is proposed when queues with half
 * of all arrivals agree.
 *
 * Days that the calendar knows already, and those of events, are left out.
 */
#pragma once

#include "base/array.h"
#include "windows/calendar/window.h"
#include "windows/demand/demand.h"

struct odd_day {
    int64_t day;   /* as civil_day() counts */
    int weekday;   /* its own weekday */
    int as;        /* the weekday that it was like; -1: none, but `factor` fits */
    double factor; /* its arrivals over the usual arrivals of its hours */
    double share;  /* of all arrivals: those in queues that agree */
};

struct odd_days {
    ARRAY(struct odd_day) list; /* in the order of time */
};

void odd_days_find(const struct demand *demand, const struct window_set *set, struct odd_days *out);
void odd_days_clear(struct odd_days *days);

static inline void owned_odd_days(struct odd_days *days)
{
    odd_days_clear(days);
}
