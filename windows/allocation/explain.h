/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why a queue needs as many replicas as a plan says: the waits with one fewer and one more, the
 * time and the day at which one fewer is not enough, and what the closed form would have said.  Of
 * engines also which of their targets decides, and how full they are when most arrives.
 */
#pragma once

#include "windows/allocation/allocate.h"
#include "windows/queueing/search_targets.h"

enum explain_step { EXPLAIN_LESS, EXPLAIN_SAME, EXPLAIN_MORE, EXPLAIN_STEPS };

struct explain_wait { /* with so many replicas, under one seed */
    int replicas;     /* 0: there is no such number */
    int seed;
    struct search_targets targets;
    double utilisation; /* of engines in the busiest step: the arrival rate over their capacity;
                           from 1 on the queue grows */
    double occupancy;   /* share of their slots that runs in that step, in closed form; below the
                           utilisation, because small batches are served faster */
};

struct explain {
    struct explain_wait waits[EXPLAIN_STEPS];
    int estimate;               /* replicas, as --estimate would have them */
    double rate_per_s;          /* mean of the window */
    double peak_per_s;          /* of its busiest step; of its busiest minute, if steps are shorter
                                 */
    struct wall_time peak;      /* when that step begins */
    enum replay_figure binds;   /* with one replica less (with this number, if one less is
                                   impossible); if each day counts, on the worst day */
    struct wall_time binding;   /* the step that then makes the longest wait, or the longest time of
                                   the target that binds; 0: no request waits */
    double binding_wait_s;      /* that wait, or time */
    struct search_late_day day; /* the worst day with one replica less (or with this number).  With
                                   token targets: by the target with most late requests relative to
                                   the allowed number.  Otherwise by the wait at the percentile;
                                   `used` is then not known */
};

/* A queue in a window: indices in the model. */
struct explain_at {
    size_t window;
    size_t queue;
};

/* Explains a queue that has arrivals in the window; its cell must be known. */
int explain_cell(const struct allocate_model *model, const struct allocate_plan *plan,
                 struct explain_at at, struct explain *ret, struct error *err)
    __attribute__((warn_unused_result));

/* The result of any number of replicas for each target: the worst of all seeds (and days, if each
   counts).  Tokens only if they are targets. */
int explain_number(const struct allocate_model *model, struct explain_at at, int replicas,
                   struct search_targets *ret, struct error *err)
    __attribute__((warn_unused_result));
