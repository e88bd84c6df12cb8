/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a replay (windows/queueing/replay.h) is asked, and what it answers.
 *
 * At a percentile of p, n requests may have floor((1 - p) n) that wait longer than the target; this
 * is the same as comparing the ceil(p n)-th shortest wait with it.
 */
#pragma once

#include "windows/demand/demand.h"

/* The figures of a request for which a queue may have a target. */
enum replay_figure {
    REPLAY_WAIT, /* until it starts */
    REPLAY_TTFT, /* of an engine: time until its first token, the end of the current iteration
                    included */
    REPLAY_ITL,  /* of an engine: the mean time of each later token; 0 for requests under two
                    tokens */
    REPLAY_FIGURES,
};

/* For an engine's requests, the time until the first token or that of each later one. */
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

/* The day with most late requests, relative to the allowed number. */
struct replay_day {
    size_t day;        /* step with which it begins */
    double used;       /* late over allowed and one, of the worse class: 1 or more misses */
    double quantile_s; /* at the limit's percentile, of that day and class */
};

struct replay_result {
    struct replay_class classes[DEMAND_CLASSES];
    struct replay_waits waits;
    struct replay_day wait_day; /* of engines; otherwise zeroes */
    struct replay_day ttft_day;
    struct replay_day itl_day;
};

struct replay_target {
    int64_t wait_ms;
    double percentile; /* in (0, 100) */
    struct replay_limit {
        double limit_s;    /* 0: none */
        double percentile; /* of the requests of a class, in (0, 100) */
    } ttft, itl;           /* of engines: time until the first token; mean time of each later one */
};

/* How many of `count` waits may exceed the target: floor((1 - p) n) in integers. */
int64_t replay_allowed(int64_t count, double percentile);

/* The wait at a percentile: the ceil(p n)-th shortest.  Reorders the values; 0 for none. */
uint64_t replay_quantile(uint64_t *waits, size_t count, double percentile);

/* The same of `count` waits, given the `waited` of them that are above zero. */
uint64_t replay_quantile_waited(uint64_t *waits, size_t waited, size_t count, double percentile);
