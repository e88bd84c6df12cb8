/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The chain is summed from below as Erlang's B is: blocked(n), the share of the state n among those
 * up to n, has 1/blocked(n) = 1 + mu(n) / rate / blocked(n - 1).  All terms are positive, nothing
 * cancels, and no sum of 4096 x 1000 states is kept.
 */
#include "windows/servers/engine_wait.h"

#include "windows/servers/erlang.h"

#include <math.h>
#include <stddef.h>

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

/* The scope of one queue: all replicas, or one alone with its share. */
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

/* The number running in each replica at which it finishes as many requests as it gets; stable rates
   only. */
static double balance(const struct engine_station *station, double rate_each)
{
    return rate_each * station->fixed_s / (1 - rate_each * station->slope_s);
}

/* The state from which the sum may begin: nine standard deviations below the most likely state.
   All lower states together weigh less than 1e-17, because the service rate grows more slowly as
   replicas fill. */
static double first_state(const struct engine_station *station, double replicas, double rate)
{
    double each = rate / replicas;
    double busiest = balance(station, each);
    double variance = busiest / (1 - each * station->slope_s);
    double begin = replicas * busiest - 9 * sqrt(replicas * variance) - 10;

    return station->fixed_s > 0 && begin > 0 ? floor(begin) : 0;
}

/* The states of replicas that are equally full, one after the other. */
struct ladder {
    const struct engine_station *station;
    double replicas;
    double full; /* requests that run in each replica */
    double more; /* replicas in which one more runs */
    double less; /* a replica's rates with `full` and with one more */
    double next;
};

static struct ladder ladder_at(const struct engine_station *station, double replicas, double state)
{
    double full = floor(state / replicas);

    return (struct ladder){ station,
                            replicas,
                            full,
                            state - full * replicas,
                            rate_of(station, full),
                            rate_of(station, full + 1) };
}

/* The rate of all replicas. */
static double ladder_rate(const struct ladder *ladder)
{
    return (ladder->replicas - ladder->more) * ladder->less + ladder->more * ladder->next;
}

static void ladder_rise(struct ladder *ladder)
{
    if (ladder->more >= ladder->replicas) {
        ladder->more = 0;
        ladder->less = ladder->next;
        ladder->next = rate_of(ladder->station, ++ladder->full + 1);
    }
    ladder->more++;
}

/* The limit of 1/blocked at constant rates. */
static double settled(double share)
{
    return share < 1 ? 1 / (1 - share) : 1;
}

/* Walks the states until all slots are busy, or until waiting is negligible.  Returns the
   inverse of blocked(n) at that state. ret_running (may be NULL): the mean of the states below
   all slots. */
static double walk(const struct pool *pool, double *ret_running)
{
    double slots = pool->station->slots * pool->replicas;
    double state = first_state(pool->station, pool->replicas, pool->rate);
    struct ladder ladder = ladder_at(pool->station, pool->replicas, state);
    double inverse = settled(ladder_rate(&ladder) / pool->rate);
    double mean = state;
    double below = state;

    while (state < slots && inverse < 1e300) {
        below = mean;
        state++;
        ladder_rise(&ladder);
        inverse = 1 + inverse * (ladder_rate(&ladder) / pool->rate);
        mean += (state - mean) / inverse;
    }
    if (ret_running)
        *ret_running = below;
    return inverse;
}

/* The share that waits, from blocked(all slots), as for Erlang's C. */
static double waiting_of(const struct pool *pool, double *ret_running)
{
    double blocked = 1 / walk(pool, ret_running);
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

/* Whether waiting is negligible.  "All slots are busy" is e^x times less likely than the most
   likely state.  x is `parts` times the integral of log(f(b) / each) from the balance to all slots;
   f(b) are the completions a second of a replica on which b requests run. */
bool engine_hardly_waits(const struct engine_station *station, double rate)
{
    enum { ENOUGH = 40 }; /* e to the power of it */
    double fixed = station->fixed_s;
    double slope = station->slope_s;
    double each = rate / station->replicas;
    double parts = station->is_split ? 1 : station->replicas;
    double ends[2] = { balance(station, each), station->slots };
    double sums[2];

    for (int i = 0; i < 2; i++) {
        double b = ends[i];
        double held = fixed + slope * b; /* the integral of log b, and of the log of this */

        sums[i] = b > 0 ? b * log(b) - b : 0;
        if (slope > 0 && held > 0)
            sums[i] -= (held * log(held) - held) / slope;
        else if (!(slope > 0))
            sums[i] -= b * log(held);
        sums[i] -= b * log(each);
    }
    return parts * (sums[1] - sums[0]) > ENOUGH;
}

/* Vectorised, and without a division in the recursion: their service rates are the same. */
void engine_waiting_each(const struct engine_station *station, const double *rates, size_t count,
                         double *waiting)
{
    enum { LANES = 8, BLOCK = 16 };
    double replicas = station->is_split ? 1 : station->replicas;
    double scale = replicas / station->replicas; /* of a rate, to that of one queue */
    double slots = station->slots * replicas;

    for (size_t first = 0; first < count; first += LANES) {
        size_t lanes = count - first < LANES ? count - first : LANES;
        double state = first_state(station, replicas, rates[first] * scale);
        struct ladder ladder = ladder_at(station, replicas, state);
        double inverse[LANES];
        double step[LANES];
        double least = 0;

        for (size_t i = 0; i < LANES; i++) {
            step[i] = 1 / (rates[first + (i < lanes ? i : 0)] * scale);
            inverse[i] = settled(ladder_rate(&ladder) * step[i]);
        }
        while (state < slots && least < 1e18) {
            for (int turn = 0; turn < BLOCK && state < slots; turn++, state++) {
                ladder_rise(&ladder);
                for (int i = 0; i < LANES; i++)
                    inverse[i] = 1 + inverse[i] * (ladder_rate(&ladder) * step[i]);
            }
            least = inverse[lanes - 1];
        }
        for (size_t i = 0; i < lanes; i++) {
            double rho = rates[first + i] / engine_capacity(station);
            double blocked = 1 / inverse[i];

            waiting[first + i] = blocked / ((1 - rho) + rho * blocked);
        }
    }
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
    double reading = rate / replicas * prompt_s; /* share of the time that prompts are computed */
    double running = state.running / replicas;
    double rest = (1 - state.waiting) * (1 - exp(-running)) / 2; /* of the iteration that runs */
    double chunks = fmax(1, ceil(engine->mean_in / ENGINE_CHUNK_TOKENS));

    return state.wait_s + prompt_s +
           (reading < 1 ? reading * prompt_s / 2 / (1 - reading) : INFINITY) +
           (rest + chunks) * engine_iteration_s(&engine->law, fmax(1, running));
}
