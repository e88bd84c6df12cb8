/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fewest servers with which a queue meets its target in a window, under every seed: the
 * smallest number found such that it and the next one pass, and the one below fails.  The low class
 * never waits longer for one more server; the high class can, rarely, which is why the next one is
 * tried too.
 *
 * The target is met by all days of the window pooled, or by each of its days (segment.h) by itself:
 * then other days cannot make up for a worse one.
 *
 * Where requests are many, numbers are looked at in ticks (wheel.h) and exactly only where that
 * leaves a doubt; the answer, the next number and the one below are tried exactly under the worst
 * seed, and the whole search is exact when the two disagree.  Of engines every number is tried
 * request by request, but for hours in which hardly any request waits (negligible.h), and the next
 * number under the worst seed alone; the answer is replayed in full under that seed, and all is
 * searched in full when that misses the target.
 */
#pragma once

#include "windows/queueing/replay.h"

/* Seeds of a plan's search unless others are asked for.  Where all days are alike, the worst of
   them is the plan's only margin: the worst of three is too little on 4 to 16 days of 100, that of
   eight on 1 to 7 (windows/README.md). */
enum { PLAN_SEEDS = 8 };

struct search_setup {
    const struct demand_series *series;
    const struct segment_list *segments;
    const struct service_time *service;
    double scale;
    struct replay_target target;
    uint64_t seed; /* of the plan */
    int seeds;     /* repetitions, at least 1; the worst counts */
    bool is_each_day;
};

struct search_day { /* the one with the longest wait at the percentile, of the worse class */
    struct wall_time begin;
    double wait_s;
};

struct search_result {
    int servers;      /* 0: nothing arrives */
    int failing_seed; /* under which one fewer fails; -1 for one server or none */
    int worst_seed;   /* under which most wait too long; differences below a tenth of the allowed
                         number do not count */
    int64_t requests[DEMAND_CLASSES]; /* one repetition */
    double wait_s[DEMAND_CLASSES];    /* at the percentile, under the worst seed; where each day
                                         counts, of the day on which it is longest */
    struct search_day worst_day;      /* under the worst seed */
};

int search_servers(const struct search_setup *setup, struct search_result *ret_result,
                   struct error *err) __attribute__((warn_unused_result));

struct search_wait {
    double wait_s; /* at the percentile, of the worse class (and day, where each counts) */
    struct search_day worst_day;
};

/* The wait with this many servers, the worst of all seeds. */
int search_wait(const struct search_setup *setup, int servers, struct search_wait *ret,
                struct error *err) __attribute__((warn_unused_result));

/* The same under one seed. */
int search_wait_under(const struct search_setup *setup, int seed, int servers,
                      struct search_wait *ret, struct error *err)
    __attribute__((warn_unused_result));

/* What arrives, for closed forms: they know no seed. */
struct arrivals_setup search_arrivals_setup(const struct search_setup *setup);

/* The arrivals of one repetition. */
struct arrivals *search_arrivals(const struct search_setup *setup, int seed, struct error *err)
    __attribute__((warn_unused_result));
