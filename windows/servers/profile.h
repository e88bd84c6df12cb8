/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An engine's law (engine.h) out of its own counters.  Between two scrapes of one process that had
 * requests all the time,
 *
 *     seconds = iteration dI + per_request d(generated tokens) + prefill d(computed prompt tokens),
 *
 * and least squares over many such intervals gives the three coefficients.  Other intervals are
 * dropped with a reason (profile_rows.c).  Where engines do not count iterations, the mean time
 * between two tokens is fitted to the mean number of running requests.  If neither gives a law, the
 * safe form is left: as many slots as were seen to run, at the slowest pace that was seen.
 *
 * Pure: what was scraped comes in, and nothing is asked.
 */
#pragma once

#include "base/error.h"
#include "windows/servers/service_shape.h"

#include <stdbool.h>
#include <stddef.h>

enum profile_counter {
    PROFILE_ITERATIONS,
    PROFILE_GENERATED,   /* tokens */
    PROFILE_PREFILL,     /* computed tokens of prompts: without those from a cache */
    PROFILE_GAP_SECONDS, /* between two tokens of a request, summed over all requests */
    PROFILE_GAPS,        /* how many such times there were */
    PROFILE_COUNTERS,
};

/* One scrape of one instance; NAN: the scrape has no such value. */
struct profile_scrape {
    size_t instance;
    double at_s;
    double counters[PROFILE_COUNTERS];
    double running_least; /* since the scrape before: 0 is idle */
    double running_mean;  /* likewise */
};

/* Why an interval is not used. */
enum profile_drop {
    PROFILE_USED,
    PROFILE_UNKNOWN,     /* a scrape did not tell what is needed */
    PROFILE_RESTART,     /* a counter fell */
    PROFILE_COLD,        /* the first minutes of a process */
    PROFILE_MISSED,      /* scrapes were missed in between */
    PROFILE_IDLE,        /* nothing ran at a scrape, or token times do not fill it */
    PROFILE_UNEXPLAINED, /* the fit explains too little of its seconds */
    PROFILE_DROPS,
};

struct profile_interval {
    size_t instance;
    double seconds;
    double growth[PROFILE_COUNTERS];
    double running_mean; /* NAN: not known */
    enum profile_drop drop;
};

struct profile_intervals {
    struct profile_interval *items;
    size_t count;
    size_t instances; /* one more than the greatest */
};

/* The differences of scrapes that are sorted by instance, then time, each instance by itself.  A
   scrape at the time of the one before is the same scrape, and is left out. */
struct profile_intervals *profile_intervals_new(const struct profile_scrape *scrapes, size_t count)
    __attribute__((returns_nonnull, warn_unused_result));
void profile_intervals_free(struct profile_intervals *intervals);

enum profile_coefficient { PROFILE_BASE_S, PROFILE_REQUEST_S, PROFILE_PREFILL_S, PROFILE_TERMS };

enum profile_method {
    PROFILE_BY_COUNTERS, /* seconds, as a function of iterations and tokens */
    PROFILE_BY_GAPS,     /* the mean gap, as a function of the mean number of running requests */
    PROFILE_SAFE,        /* no law: the slowest gap that was seen */
    PROFILE_METHODS,
};

/* What is known besides the counters. */
struct profile_hints {
    bool is_speculative;      /* several tokens of a request in one iteration */
    bool gaps_are_iterations; /* the gap is per iteration of the engine, not per request: the
                                 running requests are sampled */
    bool hides_prefill;       /* prompts come from a cache, and nothing counts the computed ones */
    double slots;             /* requests that run at once, at most; 0: not known */
};

struct profile_law {
    enum profile_method method;
    double value[PROFILE_TERMS]; /* seconds; without has_prefill the last is 0 */
    double error[PROFILE_TERMS]; /* standard errors: of the fit, or between instances if greater */
    double covariance[PROFILE_TERMS][PROFILE_TERMS]; /* of the fit */
    bool has_prefill;                                /* false: prefill is a part of the other terms
                                                      */
    double prefill_share; /* the greatest share of the seconds; without has_prefill the share that
                             was left out */
    size_t used;
    size_t dropped[PROFILE_DROPS];
    struct profile_spread {
        double least, mean, most, deviation;
    } batch;           /* requests that ran, in the mean of an interval */
    double residual;   /* standard deviation of the residuals, over the seconds */
    double explained;  /* share of the variance of an iteration's time that the fit explains */
    size_t instances;  /* that were used */
    size_t compared;   /* of them, those that tell a law by themselves */
    double apart;      /* greatest over least iteration at the mean batch among these, less 1 */
    double slowest_s;  /* the greatest mean gap of an interval; NAN: not known */
    double slowest_at; /* requests that ran then, in the mean */
    struct error why[PROFILE_SAFE]; /* why methods were refused; kind ERROR_NONE: they were not */
};

/* The best method that the intervals carry, and the marks of those that were dropped.  0; -1 with
   ERROR_INVALID when not even the slowest gap is known. */
int profile_measure(struct profile_intervals *intervals, const struct profile_hints *hints,
                    struct profile_law *ret, struct error *err) __attribute__((warn_unused_result));

/* "counters", "gaps", "safe" */
const char *profile_method_name(enum profile_method method);

/* "idle", "restart", ... */
const char *profile_drop_name(enum profile_drop drop);

/* Seconds of an iteration with n running, by the law. */
static inline double profile_iteration_s(const struct profile_law *law, double n)
{
    return law->value[PROFILE_BASE_S] + law->value[PROFILE_REQUEST_S] * n;
}

/* The bounds of a cumulative histogram (ascending, the last one +Inf) between which a quantile
   lies; the position within a bucket is unknown. 0; -1 if there is no valid bucket, or no
   request. */
int profile_quantile(const struct service_bucket *buckets, size_t count, double quantile,
                     double *ret_least, double *ret_most) __attribute__((warn_unused_result));

static inline void owned_profile_intervals(struct profile_intervals **intervals)
{
    profile_intervals_free(*intervals);
}
