/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas of an engine behind a router, exactly, request by request: the same arrivals and the
 * same lengths in the order of starts as the replay of one request at a time (replay.h).  An event
 * costs a search among the running requests of one replica, and a comparison among the replicas.
 *
 * With two classes the high one starts first, and interrupts no request.  When a request starts,
 * its replica pauses for its prefill: no request gets a token meanwhile, and several pauses add
 * up.  In total this is the cost of chunked prompts for the running requests.  A prompt of several
 * chunks stays one iteration longer for each chunk after the first.  Before its first token a
 * request also waits for the end of the current iteration, and for the prompts before its own, one
 * iteration for each chunk.
 *
 * Only + - * / and comparisons take part, so the same seed gives the same bytes everywhere.  Times
 * are ticks (1 us) with a fraction; what is told of them is rounded up to the tick.
 */
#pragma once

#include "base/array.h"
#include "base/random.h"
#include "windows/queueing/replay_result.h"
#include "windows/servers/engine.h"

/* Figures above zero as they become known, each with its request's number: the wait and the first
   token in ticks, later tokens in nanoseconds. */
struct batch_told {
    size_t number;
    uint64_t value;
};
struct batch_told_list {
    ARRAY(struct batch_told) list;
};

/* What is counted; zeroed, and owned by the caller. */
struct batch_tally {
    uint64_t limits[REPLAY_FIGURES]; /* UINT64_MAX: none */
    int64_t late[REPLAY_FIGURES][DEMAND_CLASSES];
    uint64_t *kept[REPLAY_FIGURES][DEMAND_CLASSES];               /* by number; NULL: not wanted */
    struct batch_told_list *told[REPLAY_FIGURES][DEMAND_CLASSES]; /* likewise */
};

/* Requests in the order of time. */
struct batch_feed {
    const uint64_t *at[DEMAND_CLASSES]; /* ticks, sorted */
    size_t count[DEMAND_CLASSES];
    size_t number[DEMAND_CLASSES]; /* of the first */
    double horizon;                /* events before it; HUGE_VAL: until all have started, and have
                                      ended if the time per token counts */
};

struct batch;

/* Borrows both.  All replicas are empty; there may be none. */
struct batch *batch_new(const struct engine *engine, int replicas, struct batch_tally *tally)
    __attribute__((returns_nonnull, warn_unused_result));
void batch_free(struct batch *batch);

void batch_reset(struct batch *batch);

/* From here on lengths are drawn from these numbers.  Each gives four; `drawn` of the first
   number's four are used already. */
void batch_draw_from(struct batch *batch, const struct random *random, unsigned drawn);

/* From here on lengths are those of this period (engine_periods.h); those of ENGINE_WHOLE until it
   is called. */
void batch_draw_period(struct batch *batch, size_t period);

/* From here on ties, and the random router, are decided by this seed; `turn` requests went round
   before. */
void batch_route_from(struct batch *batch, uint64_t seed, size_t turn);

void batch_run(struct batch *batch, const struct batch_feed *feed);

/* The same without counting: for the time before a segment. */
void batch_run_before(struct batch *batch, const struct batch_feed *feed);

/* Times count from `now` on; running requests stay, waiting ones are dropped.  None of them is
   counted. */
void batch_begin(struct batch *batch, double now);

/* From `now` on so many replicas serve; never more than the limit of batch_new().  Of all, draining
   ones included, those with the most running requests are taken first, then those whose last
   request needs longest to end, then empty ones.  The others drain: they finish their running
   requests, and their waiting ones go to the router again, high first.  Requests that arrive while
   there is no replica wait for the first. */
void batch_resize(struct batch *batch, int replicas, double now);

/* The least number of those of a class that wait or, where the time per token counts, run; SIZE_MAX
   for none. */
size_t batch_first_open(const struct batch *batch, enum demand_class class);

bool batch_anyone_waits(const struct batch *batch);

/* How many waiting requests of a class are late already, whenever they start. */
int64_t batch_overdue(const struct batch *batch, enum demand_class class, uint64_t now);

static inline void owned_batch(struct batch **batch)
{
    batch_free(*batch);
}
