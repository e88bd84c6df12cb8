/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first week makes records every day; they are not counted.
 */
#include "windows/forecast/peak.h"

#include <math.h>

enum { FIRST_DAYS = 7, LAST_DAYS = 7, RECORDS = 3 };

static const double margin = 1.03;
static const double record = 1.01;      /* over all before, to be one */
static const double prior_missed = 0.2; /* days that pass the cap, */
static const double prior_days = 20;    /* of so many */

void peak_clear(struct peak *peak)
{
    array_clear(&peak->days);
}

void peak_add(struct peak *peak, int64_t day, double need)
{
    size_t at = peak->days.count;

    while (at > 0 && peak->days.items[at - 1].day > day)
        at--;
    if (at > 0 && peak->days.items[at - 1].day == day) {
        peak->days.items[at - 1].need = fmax(peak->days.items[at - 1].need, need);
        return;
    }
    (void)array_add(&peak->days);
    for (size_t i = peak->days.count - 1; i > at; i--)
        peak->days.items[i] = peak->days.items[i - 1];
    peak->days.items[at] = (struct peak_day){ day, need };
}

/* The first of the last seven days: the newest is that before the origin, or that of the origin
   itself where a window of it is over. */
static int64_t first_of_last(const struct peak *peak, int64_t origin)
{
    size_t count = peak->days.count;
    bool has_today = count > 0 && peak->days.items[count - 1].day >= origin;

    return (has_today ? peak->days.items[count - 1].day + 1 : origin) - LAST_DAYS;
}

struct peak_cap peak_look(const struct peak *peak, int64_t origin, bool gives_way)
{
    int64_t first = first_of_last(peak, origin);
    double most = 0;
    double missed = prior_missed;
    double days = prior_days;
    int records = 0;

    for (size_t i = 0; i < peak->days.count; i++) {
        const struct peak_day *day = &peak->days.items[i];

        if (i >= FIRST_DAYS) {
            days++;
            missed += day->need > most * margin;
            records += day->day >= first && day->need > most * record;
        }
        most = fmax(most, day->need);
    }
    return (struct peak_cap){ gives_way && records >= RECORDS ? 0 : most * margin, missed / days };
}

double peak_most(const struct peak_cap *cap, double misses)
{
    return cap->servers > 0 ? cap->servers * sqrt(fmax(1, cap->missed / misses)) : HUGE_VAL;
}
