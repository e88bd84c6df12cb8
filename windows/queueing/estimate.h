/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A quick estimate of waits under varying demand: each step is a stationary system at the load that
 * earlier arrivals leave behind (the modified offered load).  It treats a burst of a minute as
 * permanent, so it is 5 % (steady minutes) to 130 % (bursty minutes) above the search by replay.
 * It gives the search its start, and ranks queues that share scarce machines.  It never decides
 * alone; windows/queueing/transient.h is more accurate.
 *
 * Engines (engine.h) are stationary by windows/servers/engine_wait.h; their targets other than the
 * wait are not considered.
 */
#pragma once

#include "windows/queueing/arrivals.h"
#include "windows/servers/engine_wait.h"

enum { ESTIMATE_BINS = 256 };

struct estimate {
    double mean_s;   /* of service; of engines, where three quarters of the slots run */
    double cv;       /* of service, or of the lengths of answers */
    double load_max; /* erlangs */
    struct engine_station engine; /* replicas aside; slots 0: one request at a time */
    double share[ESTIMATE_BINS];  /* of the arrivals that come at a load in this bin */
};

void estimate_init(struct estimate *estimate, const struct arrivals_setup *setup);

/* The share of requests that wait longer than t. */
double estimate_tail(const struct estimate *estimate, int servers, double t_s);

/* The fewest servers with which at most a share of 1 - p waits longer than t; at least 1. */
int estimate_servers(const struct estimate *estimate, double p, double t_s);

/* The least rate, per second, such that a share p of the requests comes at no higher rate. */
double estimate_rate(const struct estimate *estimate, double p);

/* The highest load, in servers that are full. */
double estimate_load(const struct estimate *estimate);

/* The wait at p, in multiples of the target; above 1000 where the peak load cannot be served, more
   the worse.  Finite and falling in servers. */
double estimate_pressure(const struct estimate *estimate, int servers, double p, double target_s);
