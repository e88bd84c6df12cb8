/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One policy at one level (or with the levels that were chosen for its weeks): the plan of every
 * queue, what the judge says of it, and what it cost.
 */
#pragma once

#include "windows/backtest/measure.h"
#include "windows/backtest/policies.h"

/* What all runs of a backtest share. */
struct run_frame {
    const struct course *planned;
    const struct course *judged; /* the same slots */
    const struct field *fields;  /* one a queue */
    size_t queue_count;
};

struct run {
    const struct policy *policy; /* NULL: there is none */
    double level;
    int **servers;               /* one a queue, per slot */
    struct judge_score **scores; /* one a queue, per judged span */
    int *nodes;                  /* per slot */
};

void run_init(struct run *run, const struct run_frame *frame, const struct policy *policy,
              double level);
void run_clear(struct run *run, const struct run_frame *frame);

/* GPUs of all queues in a slot. */
int run_gpus(const struct run *run, const struct run_frame *frame, size_t slot);

/* If all queues together want more than the fleet, each gets its part.  A policy that looks again
   catches up with what is left.  Then nodes are counted. */
void run_fit(struct run *run, const struct run_frame *frame, const struct fleet *fleet);

struct measure run_measure(const struct run *run, const struct run_frame *frame,
                           const struct fleet *fleet, struct course_weeks weeks);
