/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waits in closed form while demand changes faster than a queue settles: what `sluice allocate
 * --estimate` plans with, and how a forecast measures what past days needed.  The number of
 * requests in the system is followed by its mean and variance, step by step, as if it were normal
 * (the Gaussian variance approximation of Massey and Pender, "Gaussian skewness approximation for
 * dynamic rate multi-server queues", 2013):
 *
 *     mean'      = rate - E[min(N, c)] / s
 *     variance'  = rate + E[min(N, c)] (free + cv^2 busy) / s - 2 free variance / s
 *
 * where busy = P(N >= c) and free = 1 - busy; free servers follow the rate the faster, the more
 * equal the services are.  An arriving request waits longer than t if more than c of the requests
 * in the system are left after c servers have worked for t.
 *
 * A stationary formula (windows/queueing/estimate.h) takes every minute above c for one without
 * end; this one knows that a burst of a minute ends.  Each number looked at costs a pass over all
 * steps.
 */
#pragma once

#include "windows/queueing/arrivals.h"

/* The share of requests that wait longer than t.  The setup's seed is not used. */
double transient_tail(const struct arrivals_setup *setup, int servers, double t_s);

/* The fewest servers with which at most a share of 1 - p waits longer than t; 0: nothing arrives.
 */
int transient_servers(const struct arrivals_setup *setup, double p, double t_s);

/* The same with a fraction, between the last number that fails and this one, by the logarithms of
   the shares that wait too long.  A good guess of it saves passes; 0: there is none. */
double transient_need(const struct arrivals_setup *setup, double p, double t_s, int guess);

/* The wait that a share p does not exceed, in seconds; a week stands for a week or more. */
double transient_wait(const struct arrivals_setup *setup, int servers, double p);
