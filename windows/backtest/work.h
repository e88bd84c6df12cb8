/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the backtest: the data that its rounds share, from the queues' fields to the runs of
 * all policies that are played.  "Row" means a row of the backtest's result.
 */
#pragma once

#include "windows/backtest/backtest.h"
#include "windows/backtest/run.h"

enum search_kind { SEARCH_NEED, SEARCH_LAST_WEEK, SEARCH_OUTLOOK };

/* One search for each queue. */
struct search_item {
    enum search_kind kind;
    size_t outlook; /* kind of it */
    size_t at;      /* the span of a need, otherwise the week */
};

struct work {
    const struct backtest_setup *setup;
    struct backtest *backtest;
    struct field *fields; /* one a queue */
    struct run_frame frame;
    struct wall_span *spans;    /* of the judged course */
    struct segment_list *whole; /* one a queue: what is known of the planned weeks */
    bool has_outlook[OUTLOOKS]; /* a policy that is played goes by it */
    ARRAY(struct search_item) searches;
    double *requests;    /* one a queue: of a week, on average */
    struct run *runs;    /* [row * POLICY_LEVELS + level] */
    struct run *tuned;   /* one a row whose policy is tuned */
    struct run **chosen; /* one a row: of `tuned`, or of `runs` where nothing is */
    struct run **round;  /* those that are planned or judged now */
    size_t round_count;
    double *limits; /* one a queue */
    struct progress progress;
};

/* The rows and the course of the backtest are there already. */
void work_init(struct work *work, const struct backtest_setup *setup, struct backtest *backtest);
void work_clear(struct work *work);

struct run *work_run(const struct work *work, size_t row, size_t level);

/* The chosen run of a policy, by its index in the table; NULL: it is not played. */
const struct run *work_chosen(const struct work *work, size_t policy);

/* What a run did in [from, to) weeks. */
struct measure work_measure(const struct work *work, const struct run *run,
                            struct course_weeks weeks);

/* verdict.c: puts a row's tuned plan together from the weeks of the levels that did best before
   them. */
void verdict_tune(struct work *work, size_t row);

/* missed.c: finds the misses of all rows that report them, in the judged runs. */
int missed_find(struct work *work, struct error *err) __attribute__((warn_unused_result));

/* verdict.c: sets the backtest's figures, once all runs are judged. */
void verdict_take(struct work *work);
