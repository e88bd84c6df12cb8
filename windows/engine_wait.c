/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The chain is summed from below as Erlang's B is: blocked(n), the share of the state n among those
 * up to n, has 1/blocked(n) = 1 + mu(n) / rate / blocked(n - 1).  All terms are positive, nothing
 * cancels, and no sum of 4096 x 1000 states is kept.
 */
#include "windows/engine_wait.h"

#include "windows/erlang.h"

#include <math.h>

struct engine_station engine_station_of(const struct engine *engine, int replicas)
{
    const struct engine_law *law = &engine->law;

    return (struct engine_station){
        .slots = law->slots,
        .replicas = replicas,
        .is_split = law->router == ENGINE_RANDOM || law->router == ENGINE_ROUND_ROBIN,
        .fixed_s = engine->mean_out * law->iteration_s,
        .slope_s = engine->mean_out * engine_slope_s(engine),
    };
}

/* Requests a second that a replica ends with b running. */
static double rate_of(const struct engine_station *station, double b)
{
    return b > 0 ? b / (station->fixed_s + station->slope_s * b) : 0;
}

double engine_capacity(const struct engine_station *station)
{
    return station->replicas * rate_of(station, station->slots);
}

/* What is one queue: all replicas, or one alone with its share. */
struct pool {
    const struct engine_station *station;
    double replicas;
    double rate;
    double capacity;
};

static struct pool pool_of(const struct engine_station *station, double rate)
{
    double parts = station->is_split ? station->replicas : 1;

    return (struct pool){ station, station->replicas / parts, rate / parts,
                          engine_capacity(station) / parts };
}

/* The state from which the sum may begin: nine deviations below the busiest one what lies lower
   weighs less than 1e-17, because rates grow the slower the fuller the replicas are. */
static double first_state(const struct pool *pool)
{
    const struct engine_station *station = pool->station;
    double each = pool->rate / pool->replicas;
    double busiest = each * station->fixed_s / (1 - each * station->slope_s);
    double variance = busiest / (1 - each * station->slope_s);
    double begin = pool->replicas * busiest - 9 * sqrt(pool->replicas * variance) - 10;

    return station->fixed_s > 0 && begin > 0 ? floor(begin) : 0;
}

/* Walks the states up to all slots.  The inverse of blocked(n) there, or any number over `enough`
   once it is that; ret_running (may be NULL): the mean of the states below all slots. */
static double walk(const struct pool *pool, double enough, double *ret_running)
{
    const struct engine_station *station = pool->station;
    double slots = station->slots * pool->replicas;
    double state = first_state(pool);
    double full = floor(state / pool->replicas); /* running in each replica, */
    double more = state - full * pool->replicas; /* and in so many one more */
    double less = rate_of(station, full) / pool->rate;
    double next = rate_of(station, full + 1) / pool->rate;
    double share = (pool->replicas - more) * less + more * next;
    double inverse = share < 1 ? 1 / (1 - share) : 1;
    double mean = state;

    while (state < slots && inverse <= enough) {
        state++;
        more++;
        inverse = 1 + inverse * ((pool->replicas - more) * less + more * next);
        if (ret_running) {
            *ret_running = mean;
            mean += (state - mean) / inverse;
        }
        if (more == pool->replicas) {
            more = 0;
            less = next;
            next = rate_of(station, ++full + 1) / pool->rate;
        }
    }
    if (ret_running && inverse > enough)
        *ret_running = mean;
    return inverse;
}

/* From blocked(all slots) the share that waits, as for Erlang's C. */
static double waiting_of(const struct pool *pool, double *ret_running)
{
    double blocked = 1 / walk(pool, 1e300, ret_running);
    double rho = pool->rate / pool->capacity;

    return blocked / ((1 - rho) + rho * blocked);
}

static bool is_stable(const struct pool *pool)
{
    return pool->rate < pool->capacity;
}

double engine_waiting(const struct engine_station *station, double rate)
{
    struct pool pool = pool_of(station, rate);

    return rate <= 0 ? 0 : is_stable(&pool) ? waiting_of(&pool, NULL) : 1;
}

struct engine_state engine_state(const struct engine_station *station, double rate)
{
    struct pool pool = pool_of(station, rate);
    double slots = (double)station->slots * station->replicas;
    double below = 0;

    if (rate <= 0)
        return (struct engine_state){ .residence_s = station->fixed_s + station->slope_s };
    if (!is_stable(&pool))
        return (struct engine_state){ 1, INFINITY, slots, slots / engine_capacity(station) };

    double waiting = waiting_of(&pool, &below);
    double running = ((1 - waiting) * below + waiting * station->slots * pool.replicas) *
                     (station->replicas / pool.replicas);

    return (struct engine_state){ waiting, waiting / (pool.capacity - pool.rate), running,
                                  running / rate };
}

double engine_tail(const struct engine_station *station, double rate, double t_s)
{
    struct pool pool = pool_of(station, rate);

    return engine_waiting(station, rate) *
           (is_stable(&pool) ? exp(-(pool.capacity - pool.rate) * t_s) : 1);
}

double engine_quantile(const struct engine_station *station, double rate, double p)
{
    return engine_high_quantile(station, rate, 0, p);
}

double engine_high_mean(const struct engine_station *station, double high, double low)
{
    struct pool pool = pool_of(station, high + low);
    struct pool first = pool_of(station, high);

    return is_stable(&first) ? engine_waiting(station, high + low) / (pool.capacity - first.rate)
                             : INFINITY;
}

double engine_low_mean(const struct engine_station *station, double high, double low)
{
    struct pool pool = pool_of(station, high + low);

    return is_stable(&pool) ? engine_high_mean(station, high, low) / (1 - pool.rate / pool.capacity)
                            : INFINITY;
}

double engine_high_quantile(const struct engine_station *station, double high, double low, double p)
{
    struct pool first = pool_of(station, high);

    return erlang_busy_high_quantile(first.capacity, engine_waiting(station, high + low),
                                     first.rate, p);
}

double engine_low_quantile(const struct engine_station *station, double high, double low, double p)
{
    struct pool first = pool_of(station, high);
    struct pool last = pool_of(station, low);

    return erlang_busy_low_quantile(first.capacity, engine_waiting(station, high + low), first.rate,
                                    last.rate, p);
}

int engine_servers(const struct engine *engine, double rate, double p, double target_s)
{
    struct engine_station station = engine_station_of(engine, 1);
    double least = rate / engine_capacity(&station);
    int fails = least < ENGINE_REPLICAS_MAX ? (int)least : ENGINE_REPLICAS_MAX;
    int passes = fails + 1;

    for (int step = 1; passes <= ENGINE_REPLICAS_MAX; step *= 2) {
        station.replicas = passes;
        if (engine_quantile(&station, rate, p) <= target_s)
            break;
        fails = passes;
        passes += step;
    }
    if (passes > ENGINE_REPLICAS_MAX)
        return -1;
    while (passes - fails > 1) {
        station.replicas = fails + (passes - fails) / 2;
        if (engine_quantile(&station, rate, p) <= target_s)
            passes = station.replicas;
        else
            fails = station.replicas;
    }
    return passes;
}

double engine_first_token_s(const struct engine *engine, int replicas, double rate)
{
    struct engine_station station = engine_station_of(engine, replicas);
    struct engine_state state = engine_state(&station, rate);
    double prompt_s = engine->law.prefill_s * engine->mean_in;
    double busy = rate / replicas * prompt_s; /* share of the time that prompts are computed */
    double chunks = fmax(1, ceil(engine->mean_in / ENGINE_CHUNK_TOKENS));

    return state.wait_s + prompt_s + (busy < 1 ? busy * prompt_s / 2 / (1 - busy) : INFINITY) +
           chunks * engine_iteration_s(&engine->law, fmax(1, state.running / replicas));
}
