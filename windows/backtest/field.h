/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The data of one queue for the policies of a backtest.  A policy must not see the weeks that it
 * plans: each function here that reads past data takes the moment before which it may read.
 */
#pragma once

#include "windows/backtest/course.h"
#include "windows/backtest/outlook.h"
#include "windows/forecast/forecast.h"
#include "windows/queueing/search.h"

struct backtest_queue {
    const struct demand_series *series;
    struct replay_target target;
    double service_s;
    double service_cv;
    const struct service_shape *shape; /* NULL: the law that the cv stands for */
    double scale;                      /* of the arrivals */
    int gpus;                          /* a server */
};

struct field {
    const struct backtest_queue *queue;
    const struct course *course;
    struct service_time *service;
    const bool *counted; /* one a slot: it counts for capacity (coverage.h); NULL: all do */
    const struct segment_list *whole; /* what is known of the planned weeks */
    const struct wall_span *judged;   /* the spans of the verdict */
    size_t judged_count;
    int64_t up_ms;             /* until more servers are there */
    uint64_t seed;             /* of what happens; plans draw their own numbers */
    int seeds;                 /* repetitions of a search on past arrivals */
    double misses;             /* the share of days that a plan may miss */
    int64_t follow_ms;         /* before a window begins, when it is planned once more */
    unsigned without;          /* parts of the forecast that are left out */
    struct progress *progress; /* hears how far the field's oracle is, */
    double oracle_expected;    /* which is expected to take so much */
    int *needs;                /* one a span: the fewest servers for what arrived in it, alone */
    int *last_week; /* [week * windows + window]: the search on the week before, under 8 seeds */
    struct outlook outlooks[OUTLOOKS];
};

/* The settings, from `judged` to `misses`, are there already. */
void field_init(struct field *field, const struct backtest_queue *queue,
                const struct course *course);
void field_clear(struct field *field);

/* The arrivals as they happened: for the search of `needs` and for the judge. */
struct search_setup field_truth(const struct field *field, const struct segment_list *segments);

/* A forecast until the end of the course. */
struct forecast_setup field_forecast_setup(const struct field *field);

/* Sets one of `needs`, one week of `last_week`. */
int field_find_need(struct field *field, size_t span, struct error *err)
    __attribute__((warn_unused_result));
int field_find_last_week(struct field *field, size_t week, struct error *err)
    __attribute__((warn_unused_result));

/* The window's segments in the seven days before `wall`; if none of them is known, in the seven
   days before those, and so on, up to eight weeks back. */
void field_past(const struct field *field, size_t window, struct wall_time wall,
                struct segment_list *out);

/* The mean number of busy servers in these segments if no request waited. */
double field_load(const struct field *field, const struct segment_list *segments);

/* The same in a slot of the course; negative if unknown.  If a step is longer than a slot, it is
   the mean of the whole step.  A policy must not use it before the step ends. */
double field_slot_load(const struct field *field, struct wall_time begin);

/* When that load is known: the end of the last step that is part of it. */
struct wall_time field_slot_known(const struct field *field, struct wall_time begin);

/* The same in the last five minutes, or the last step, that were over at `wall`. */
double field_recent_load(const struct field *field, struct wall_time wall);

struct field_how {
    int seeds;        /* of the plan; the worst counts */
    bool is_each_day; /* the target holds for each day alone */
    double scale;     /* of the arrivals */
};

/* The fewest servers for these segments; 0: nothing arrives, or none is known. */
int field_search(const struct field *field, const struct segment_list *segments,
                 const struct field_how *how, int *ret_servers, struct error *err)
    __attribute__((warn_unused_result));
