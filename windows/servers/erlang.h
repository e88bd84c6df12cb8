/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closed forms of a station with `servers` equal servers, exponential service at rate `mu` and
 * Poisson arrivals at rate `lambda` (both per the same unit of time; waits are in that unit): one
 * class, or two with non-preemptive priority.
 *
 * Load in erlangs is lambda / mu.  A station with load >= servers has no stationary state: the
 * probability of waiting is then 1 and every wait INFINITY.  Pure functions, no state.
 */
#pragma once

#include <stddef.h>

enum { ERLANG_SERVERS_MAX = 1 << 20 };

struct station {
    int servers;
    double mu; /* services per unit of time and server */
};

/* The share of requests that a station without a queue turns away. */
double erlang_b(int servers, double load);

/* The share of requests that have to wait. */
double erlang_c(int servers, double load);

double erlang_mean_wait(struct station station, double lambda);

/* P(wait > t). */
double erlang_tail(struct station station, double lambda, double t);

/* The wait that a share p in (0, 1) of the requests does not exceed. */
double erlang_quantile(struct station station, double lambda, double p);

/* The fewest servers with erlang_quantile() <= target; -1 beyond ERLANG_SERVERS_MAX. */
int erlang_servers(double lambda, double mu, double p, double target);

/* Mean wait of class `at` (0 goes first) among `count` classes with these rates. */
double erlang_class_mean(struct station station, const double *lambdas, size_t count, size_t at);

/* Two classes: "high" goes first, "low" after it. */
double erlang_high_quantile(struct station station, double high, double low, double p);
double erlang_low_tail(struct station station, double high, double low, double t);
double erlang_low_quantile(struct station station, double high, double low, double p);

/* The same of any station that ends `speed` requests per unit of time while anyone waits, given the
   share of them that has to. */
double erlang_busy_high_quantile(double speed, double waiting, double high, double p);
double erlang_busy_low_quantile(double speed, double waiting, double high, double low, double p);
