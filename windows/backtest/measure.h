/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a plan in GPU-hours, and the targets that it met, over the judged weeks.
 */
#pragma once

#include "windows/backtest/field.h"

struct fleet {
    int nodes;
    int gpus_per_node;
    int64_t up_ms;    /* research to production */
    int64_t down_ms;  /* production to research */
    double evicted_h; /* GPU-hours of research work lost with a node that goes to production */
};

struct measure {
    double research_h;   /* GPU-hours that production, transit and lost work leave */
    double production_h; /* GPU-hours of production's nodes */
    double transit_h;
    double evicted_h;
    double shortage_h;   /* GPU-hours by which the load of a slot was above its servers */
    double moves_a_week; /* of counted time */
    double attainment;   /* share of spans with arrivals that met the target in both classes; says
                            nothing if there are none */
    size_t spans;
    size_t spans_met;
    int64_t requests;
    int64_t late;      /* requests over one target: the one that most requests are over */
    double violations; /* share of late requests */
    double worst;      /* the figure found at the percentile, divided by its target, in the worst
                          span */
    double recovered;  /* share of the oracle's gain over static-peak; set by the backtest */
};

/* Nodes for each slot.  A node stays over a gap if moving it would cost more than keeping it, and
   if its next use was known when it would leave: `known` has for each slot the first one in which
   that slot's number is known; NULL: nothing is known ahead. */
void measure_nodes(const struct fleet *fleet, const int *gpus, size_t slots, const size_t *known,
                   int *ret_nodes);

/* Slots whose capacity is measured: [first, end), but for those that are not counted. */
struct measure_slots {
    size_t first;
    size_t end;
    const bool *counted; /* one a slot, from 0 on (coverage.h); NULL: all are */
};

/* Adds the capacity of these slots.  Moves are those from one counted slot to the next; a move into
   the first one counts, too. */
void measure_capacity(const struct fleet *fleet, const int *nodes,
                      const struct measure_slots *slots, struct measure *measure);

/* Adds a queue's promises in the spans of these weeks; a score for each span of the course. */
void measure_promises(const struct course *course, struct course_weeks weeks,
                      const struct judge_score *scores, const struct replay_target *target,
                      struct measure *measure);

/* Adds a queue's shortage in [first, end) slots. */
void measure_shortage(const struct field *field, const int *servers, size_t first, size_t end,
                      struct measure *measure);
