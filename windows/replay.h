/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The exact replay of counted arrivals against a number of servers: two classes, the high one goes
 * first but interrupts nobody, first come first served within a class.  Service times are given in
 * the order of starts, not of arrivals: when anyone starts then depends on neither priorities nor
 * chance at the queue, and more servers never make a low request wait longer.
 *
 * Each segment begins with servers busy as arrivals_before() says and nobody waiting (the window
 * before met its target), and ends when all that arrived in it have started: nothing is cut off.
 *
 * Where service_time.h has an engine, a server is a replica of it that serves many at once; batch.h
 * has its rules, batch_lead.h how it begins.
 *
 * At a percentile of p, n requests may have floor((1 - p) n) that wait longer than the target; this
 * is the same as comparing the ceil(p n)-th shortest wait with it.
 */
#pragma once

#include "windows/arrivals.h"

/* Of an engine's requests, the time until the first token or that of each later one. */
struct replay_spread {
    int64_t violations; /* longer than the limit */
    double mean_s;
    double p50_s;
    double p90_s;
    double p98_s;
    double p99_s;
    double max_s;
    double quantile_s; /* at the limit's percentile; at 98 where there is no limit */
};

struct replay_class {
    int64_t count;
    int64_t violations; /* waits longer than the target */
    double mean_s;
    double p50_s;
    double p90_s;
    double p98_s;
    double p99_s;
    double max_s;
    double quantile_s;         /* at the percentile asked for */
    struct replay_spread ttft; /* of engines; otherwise zeroes */
    struct replay_spread itl;
};

/* The waits at the percentile: those of all days in one, and of the worst day by itself. */
struct replay_waits {
    double wait_s[DEMAND_CLASSES];
    double day_wait_s[DEMAND_CLASSES]; /* each class on its worst day */
    double day_s;                      /* the longer of the two */
    size_t day;                        /* step with which that day begins */
};

struct replay_result {
    struct replay_class classes[DEMAND_CLASSES];
    struct replay_waits waits;
};

struct replay_target {
    int64_t wait_ms;
    double percentile; /* in (0, 100) */
    struct replay_limit {
        double limit_s;    /* 0: none */
        double percentile; /* of the requests of a class, in (0, 100) */
    } ttft, itl;           /* of engines: until the first token; mean time of each later one */
};

/* How many of `count` waits may be longer than the target: floor((1 - p) n) in integers. */
int64_t replay_allowed(int64_t count, double percentile);

/* The wait at a percentile: the ceil(p n)-th shortest.  Reorders the values; 0 for none. */
uint64_t replay_quantile(uint64_t *waits, size_t count, double percentile);

/* The same of `count` waits, given the `waited` of them that are above zero. */
uint64_t replay_quantile_waited(uint64_t *waits, size_t waited, size_t count, double percentile);

/* Whether both classes meet the target.  Stops as soon as one cannot.  ret_used (may be NULL):
   violations over those allowed plus one, of the worse class; 1 or more when it fails. */
bool replay_passes(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   double *ret_used);

struct calm;

/* Adds the violations of one segment, or of its beginning when these go beyond what is allowed on
   the whole; false when they do.  What `calm` (may be NULL) says is left out. */
bool replay_count(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  const struct calm *calm, size_t segment, int64_t violations[DEMAND_CLASSES]);

struct replay_around {
    bool passes;
    bool fewer_fails; /* with one server fewer */
    bool more_passes; /* with one more */
    struct replay_waits waits;
};

/* A number of servers in full, and its neighbours where it is not calm, each beginning there as
   the number itself is then.  One fewer would begin no better off: it fails at least as much (the
   low class; of the high one alone that is not certain, and not said). */
void replay_around(struct arrivals *arrivals, int servers, const struct replay_target *target,
                   const struct calm *calm, struct replay_around *ret);

/* All figures, at the cost of eight bytes a request, or 24 where a server is an engine's replica.
   ERROR_INVALID for more than 2^28 requests, and when the backlog would outlast 64-bit time. */
int replay_report(struct arrivals *arrivals, int servers, const struct replay_target *target,
                  struct replay_result *ret_result, struct error *err)
    __attribute__((warn_unused_result));
