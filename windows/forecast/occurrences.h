/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The past occurrences of each window (one a day), and what each of them needed: part of
 * windows/forecast/forecast.h, which owns them.
 */
#pragma once

#include "windows/calendar/segment.h"
#include "windows/forecast/forecast_cell.h"

/* Fills `past` of each cell, in the order of time, from the window in force at the series' first
   step on; events' hours are left out. */
void occurrences_find(const struct forecast_setup *setup, struct forecast *forecast);

/* The number of servers needed, with a fraction: with `servers` the share `passes` waits too long,
   with one fewer the share `fails`, and the share 1 - p is allowed. */
double occurrences_between(int servers, double passes, double fails, double p);

/* The number of servers needed, with a fraction.  It interpolates the logarithm of the share that
   waits too long, between the last number that fails and the first that passes. 0: nothing arrives.
   */
double occurrences_need(const struct forecast_setup *setup, const struct segment_list *segments,
                        double scale);

/* The factor for these segments' arrivals with which they need `need`: 0.05 to 20; 1 if unknown. */
double occurrences_scale_for(const struct forecast_setup *setup,
                             const struct segment_list *segments, double need);

/* The local day of that moment, as civil_day() counts. */
int64_t occurrences_day(const struct window_set *set, struct wall_time wall);

/* The moment at which that day begins. */
struct wall_time occurrences_midnight(const struct window_set *set, int64_t day);
