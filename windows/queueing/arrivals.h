/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The moments of arrival that one repetition (one seed) of a replay uses: as many in each step as
 * the series counted, times `scale`, each anywhere in its step with equal chance.  The numbers of a
 * step depend on the seed, the step's time and the class alone: neither more history, nor other
 * queues, nor the order of asking changes them, and a larger scale only adds arrivals.
 *
 * Arrivals come in chunks of whole steps in the order of time, so that a replay of any length needs
 * little memory; where they are few they are kept for the next look.  Times are ticks (1 us) since
 * the segment's start.  Not for several threads at once.
 */
#pragma once

#include "base/random.h"
#include "windows/calendar/segment.h"
#include "windows/demand/demand.h"
#include "windows/servers/service_time.h"

struct arrivals_setup {
    const struct demand_series *series;
    const struct segment_list *segments;
    const struct service_time *service;
    double scale;
    uint64_t seed; /* of this repetition and queue */
};

struct arrivals_chunk {
    size_t segment; /* index */
    size_t first;   /* step of the series */
    size_t steps;
    size_t period; /* whose lengths its requests have (engine_periods.h) */
    bool is_first; /* of its segment */
    bool is_last;
    uint64_t end;  /* ticks: arrivals before this are in this chunk or an earlier one */
    size_t before; /* arrivals of the segment before it */
    double load;   /* the peak of the mean number of busy servers, if no request had to wait; an
                      upper bound if lengths differ by period */
    uint64_t *at[DEMAND_CLASSES]; /* sorted; NULL until asked for */
    size_t count[DEMAND_CLASSES];
};

struct arrivals;

/* ERROR_INVALID when a step holds more than 50 million arrivals. */
struct arrivals *arrivals_new(const struct arrivals_setup *setup, struct error *err)
    __attribute__((warn_unused_result));
void arrivals_free(struct arrivals *arrivals);

const struct arrivals_setup *arrivals_setup_of(const struct arrivals *arrivals);
int64_t arrivals_total(const struct arrivals *arrivals, enum demand_class class);

/* How many of a class arrive in a step.  The upper 32 bits of each of the next random numbers are
   the position of one arrival in the step: arrivals_chunk() sorts them. */
size_t arrivals_of_step(const struct arrivals *arrivals, size_t step, enum demand_class class,
                        struct random *ret_random);

/* The seed of the services of a segment that begins with this step. */
uint64_t arrivals_service_seed(const struct arrivals_setup *setup, size_t step);

/* Each random number gives four services of 16 bits.  Sets *ret_random and *ret_drawn
   to where the services of chunk `at` begin in this sequence.  All earlier requests of its segment
   count as started. */
void arrivals_services(struct arrivals *arrivals, size_t at, struct random *ret_random,
                       unsigned *ret_drawn);

size_t arrivals_chunks(const struct arrivals *arrivals);

/* The first chunk of a segment. */
size_t arrivals_first_chunk(const struct arrivals *arrivals, size_t segment);

/* Forgets what arrivals_chunk() has drawn; the next look draws it again. */
void arrivals_drop(struct arrivals *arrivals);

/* Valid until the next call. */
const struct arrivals_chunk *arrivals_chunk(struct arrivals *arrivals, size_t at);

/* The same without the moments, which it does not draw. */
const struct arrivals_chunk *arrivals_outline(const struct arrivals *arrivals, size_t at);

/* The remaining services when a segment begins, if everything before it was served at once: ticks
   left, the longest first.  If the steps before are unknown, the segment's first step is used in
   their place. */
const uint64_t *arrivals_before(struct arrivals *arrivals, size_t segment, size_t *ret_count);

/* The greatest first. */
void arrivals_sort_descending(uint64_t *ticks, size_t count);

static inline void owned_arrivals(struct arrivals **arrivals)
{
    arrivals_free(*arrivals);
}
