/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fewest servers with which a queue meets its target in a window, under every seed: the
 * smallest number found such that it and the next one pass, and the one below fails.  The low class
 * never waits longer for one more server; the high class can, rarely, which is why the next one is
 * tried too.
 *
 * Where requests are many, numbers are looked at in ticks (wheel.h) and exactly only where that
 * leaves a doubt; the answer, the next number and the one below are tried exactly under the worst
 * seed, and the whole search is exact when the two disagree.
 */
#pragma once

#include "windows/replay.h"

struct search_setup {
    const struct demand_series *series;
    const struct segment_list *segments;
    const struct service_time *service;
    double scale;
    struct replay_target target;
    uint64_t seed; /* of the plan */
    int seeds;     /* repetitions, at least 1; the worst counts */
};

struct search_result {
    int servers;                      /* 0: nothing arrives */
    int failing_seed;                 /* under which one fewer fails; -1 for one server or none */
    int worst_seed;                   /* under which most wait too long, by the ticks if used */
    int64_t requests[DEMAND_CLASSES]; /* one repetition */
    double wait_s[DEMAND_CLASSES];    /* at the percentile, under the worst seed */
};

int search_servers(const struct search_setup *setup, struct search_result *ret_result,
                   struct error *err) __attribute__((warn_unused_result));

/* The wait at the percentile with this many servers, of the worse class and seed. */
int search_wait(const struct search_setup *setup, int servers, double *ret_wait_s,
                struct error *err) __attribute__((warn_unused_result));

/* The arrivals of one repetition. */
struct arrivals *search_arrivals(const struct search_setup *setup, int seed, struct error *err)
    __attribute__((warn_unused_result));
