/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closed form of replicas that are engines (engine.h): Poisson arrivals and exponential
 * lengths.  With b running a replica ends b / (m t(b)) requests a second, so the number in the
 * system is a birth-death chain whose rates depend on it; above all slots they do not, and waits
 * are those of M/M/c given that one waits.
 *
 * Replicas behind a random router are alone with their share of the requests, which is exact.  One
 * queue for all is taken to keep them equally full; a simulation of four replicas at 90 % agrees to
 * 1 %.  Least-outstanding is taken for the same.  There the simulated share that waits is below
 * this one (four replicas: 10 %; ten: 23 %), and the wait at 98 % above it (12 %, 18 %).  Round
 * robin has no closed form and counts as random, which is on the safe side.
 *
 * A station that gets more than it can end has no stationary state: the share that waits is then 1,
 * every wait INFINITY, all slots run.  Times are seconds, rates are per second.
 */
#pragma once

#include "windows/servers/engine.h"

#include <stddef.h>

enum { ENGINE_REPLICAS_MAX = 1 << 20 };

struct engine_station {
    int slots; /* of a replica */
    int replicas;
    bool is_split;  /* each replica alone with its share */
    double fixed_s; /* m a: a replica ends b / (fixed + slope b) requests a second */
    double slope_s; /* m s, prompts included */
};

struct engine_station engine_station_of(const struct engine *engine, int replicas);

/* Requests that all replicas end in a second when all slots run: their utilisation is the rate of
   arrivals over this. */
double engine_capacity(const struct engine_station *station);

/* P(wait > 0). */
double engine_waiting(const struct engine_station *station, double rate);

/* The same for many rates at once, all above 0, below the capacity and ascending; results below
   1e-16 are not exact. */
void engine_waiting_each(const struct engine_station *station, const double *rates, size_t count,
                         double *waiting);

/* Whether fewer than one in 1e15 wait at this rate, which is above 0 and below the capacity. */
bool engine_hardly_waits(const struct engine_station *station, double rate);

struct engine_state {
    double waiting;     /* P(wait > 0) */
    double wait_s;      /* mean */
    double running;     /* mean of all replicas together: occupancy is this over their slots */
    double residence_s; /* mean time in a slot; over the tokens of an answer, that of a token */
};

struct engine_state engine_state(const struct engine_station *station, double rate);

/* P(wait > t), and the wait that a share p in (0, 1) does not exceed. */
double engine_tail(const struct engine_station *station, double rate, double t_s);
double engine_quantile(const struct engine_station *station, double rate, double p);

/* Two classes with lengths of one law; "high" goes first and interrupts no request; exact in this
   model.  `high` and `low` are their rates. */
double engine_high_mean(const struct engine_station *station, double high, double low);
double engine_low_mean(const struct engine_station *station, double high, double low);
double engine_high_quantile(const struct engine_station *station, double high, double low,
                            double p);
double engine_low_quantile(const struct engine_station *station, double high, double low, double p);

/* The fewest replicas with engine_quantile() <= target; -1 beyond ENGINE_REPLICAS_MAX. */
int engine_servers(const struct engine *engine, double rate, double p, double target_s);

/* Mean time until the first token, if all prompts have the mean length: the wait, the rest of the
   current iteration, the prompts that come before, the request's own prompt, and an iteration for
   each chunk of its own.  If waiting is negligible, the result is within 5 % of the replay's. */
double engine_first_token_s(const struct engine *engine, int replicas, double rate);
