/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The calendar: what stands outside the week, read from `holidays:` and `events:`.
 *
 *     holidays: {country: US, as: sunday, 2026-12-24: saturday}
 *     events:
 *       launch: {from: 2026-12-01 09:00, to: 2026-12-03 18:00, multiplier: 1.6, queues: [chat]}
 *
 * The public holidays of a country (or of a list of them; windows/calendar/holidays.h) are days
 * with the windows of `as`, a Sunday's unless it is given.  A date that is listed by itself counts
 * instead of the country's holiday on that date; listed with its own weekday, it is an ordinary
 * day.
 *
 * A time without an offset is that of the clock on the wall of the windows' zone.  Events do not
 * overlap; each has a window's name, and so a schedule of its own.
 */
#pragma once

#include "windows/calendar/window.h"

/* Adds both (either may be NULL) to a set that has none.  Errors name file, line and key; the set
   may then hold a part. */
int calendar_read(struct window_set *set, const struct yaml_node *holidays,
                  const struct yaml_node *events, struct error *err)
    __attribute__((warn_unused_result));

/* Adds both of another set to one that has none. */
void calendar_copy(const struct window_set *from, struct window_set *set);

/* The name of a window, which becomes that of a file: letters, digits, hyphens. */
int calendar_check_name(const struct yaml_node *node, struct error *err)
    __attribute__((warn_unused_result));

/* "monday" .. "sunday" */
const char *calendar_day_name(int weekday);
