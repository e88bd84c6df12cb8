/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is known of batch servers without this program: the figures of an event simulation (ten
 * seeds of two million requests, each with its standard error) and of closed forms, and engines to
 * measure against them.  Used by `tools/bench engines` and by tests of the
 * replay.
 */
#pragma once

#include "base/memory.h"
#include "base/random.h"
#include "windows/queueing/replay.h"

#include <math.h>

struct engine_figure {
    double want; /* 0: not known */
    double error;
};

struct engine_row {
    const char *name;
    struct engine_law law;
    double out; /* mean tokens */
    double cv;
    int replicas;
    double high; /* share */
    double rate; /* requests a second, all replicas */
    struct engine_figure waits;
    struct engine_figure mean_s; /* of the low class where there are two */
    struct engine_figure p98_s;
    struct engine_figure high_mean_s;
};

#define ENGINE_R1(router)                                                                          \
    {                                                                                              \
        16, 0.010, 0.0005, 0, 0, router                                                            \
    }
#define ENGINE_R2                                                                                  \
    {                                                                                              \
        64, 0.020, 0.00025, 0, 0, ENGINE_LEAST_OUTSTANDING                                         \
    }
#define ENGINE_R3                                                                                  \
    {                                                                                              \
        256, 0.012, 0.00012, 0, 0, ENGINE_LEAST_OUTSTANDING                                        \
    }
#define ENGINE_FLAT                                                                                \
    {                                                                                              \
        8, 0.025, 0, 0, 0, ENGINE_LEAST_OUTSTANDING                                                \
    }
#define ENGINE_STEEP                                                                               \
    {                                                                                              \
        8, 0, 0.001, 0, 0, ENGINE_LEAST_OUTSTANDING                                                \
    }
#define ENGINE_LOR ENGINE_LEAST_OUTSTANDING

/* clang-format off */
static const struct engine_row engine_rows[] = {
    { "R1 0.9", ENGINE_R1(ENGINE_LOR), 200, 1, 1, 0, 4,
      { .5158, .0012 }, { 1.163, .007 }, { 7.31, .05 }, { 0, 0 } },
    { "R1 0.7", ENGINE_R1(ENGINE_LOR), 200, 1, 1, 0, 28 / 9.0,
      { .07429, .0003 }, { .05545, .0003 }, { .979, .005 }, { 0, 0 } },
    { "R2", ENGINE_R2, 250, 1, 1, 0, 6.4,
      { .2103, .0012 }, { .297, .003 }, { 3.32, .03 }, { 0, 0 } },
    { "R3", ENGINE_R3, 300, 1, 1, 0, 19,
      { .1064, .002 }, { .114, .005 }, { 1.78, .06 }, { 0, 0 } },
    { "flat", ENGINE_FLAT, 40, 1, 1, 0, 7,
      { .6359, .0008 }, { .637, .002 }, { 3.455, .015 }, { 0, 0 } },
    { "steep", ENGINE_STEEP, 200, 1, 1, 0, 4.5,
      { .4310, .0013 }, { .863, .006 }, { 6.13, .05 }, { 0, 0 } },
    { "4 R1 random", ENGINE_R1(ENGINE_RANDOM), 200, 1, 4, 0, 16,
      { .5157, .001 }, { 1.168, .006 }, { 7.36, .05 }, { 0, 0 } },
    { "4 R1 round robin", ENGINE_R1(ENGINE_ROUND_ROBIN), 200, 1, 4, 0, 16,
      { .3974, .0013 }, { .563, .004 }, { 4.24, .03 }, { 0, 0 } },
    { "4 R1 least outstanding", ENGINE_R1(ENGINE_LOR), 200, 1, 4, 0, 16,
      { .1890, .001 }, { .1243, .0013 }, { 1.478, .013 }, { 0, 0 } },
    { "4 R1 central", ENGINE_R1(ENGINE_CENTRAL), 200, 1, 4, 0, 16,
      { .2114, .001 }, { .1194, .0013 }, { 1.332, .014 }, { 0, 0 } },
    { "10 R1 least outstanding", ENGINE_R1(ENGINE_LOR), 200, 1, 10, 0, 40,
      { .0431, .0006 }, { .0150, .0003 }, { .268, .0063 }, { 0, 0 } },
    { "R1, all of one length", ENGINE_R1(ENGINE_LOR), 200, 0, 1, 0, 4,
      { .4896, .0012 }, { .599, .003 }, { 3.62, .02 }, { 0, 0 } },
    { "R1, cv 1.5", ENGINE_R1(ENGINE_LOR), 200, 1.5, 1, 0, 4,
      { .5275, .0013 }, { 1.691, .013 }, { 11.5, .13 }, { 0, 0 } },
    { "4 R1 least outstanding, cv 1.5", ENGINE_R1(ENGINE_LOR), 200, 1.5, 4, 0, 16,
      { .1989, .001 }, { .160, .002 }, { 1.89, .03 }, { 0, 0 } },
    { "R1, 30 % high", ENGINE_R1(ENGINE_LOR), 200, 1, 1, 0.3, 4,
      { .515, .0012 }, { 1.586, .01 }, { 9.8, .25 }, { .1586, .0007 } },
};
/* clang-format on */

/* Lengths of that mean and cv, and prompts all of one length; the caller frees it. */
static inline struct service_time *engine_service(const struct engine_law *law, double out,
                                                  double cv, double in)
{
    struct service_time *service = service_time_new(out, cv); /* a second for each token */
    struct engine *engine = mem_new(sizeof *engine);

    engine->law = *law;
    engine->mean_out = out;
    engine->mean_in = in;
    engine->cv_out = cv;
    service->longest = 0;
    for (size_t i = 0; i < ENGINE_LENGTHS; i++) {
        double alone_s;

        engine->out[i] = (float)((double)service->ticks[i] / TICKS_PER_SECOND);
        engine->in[i] = (float)in;
        alone_s = law->prefill_s * in + (double)engine->out[i] * engine_iteration_s(law, 1);
        service->ticks[i] = (uint64_t)(alone_s * TICKS_PER_SECOND + 0.5);
        service->longest = service->ticks[i] > service->longest ? service->ticks[i]
                                                                : service->longest;
    }
    service->mean_s = law->prefill_s * in + out * engine_iteration_s(law, 1);
    service->cv = cv;
    service->engine = engine;
    return service;
}

/* Poisson counts in minutes, so many requests in all on average. */
static inline void engine_stream(struct demand_series *series, double rate, double high,
                                 double requests, uint64_t seed)
{
    const double rates[DEMAND_CLASSES] = { rate * high, rate * (1 - high) };
    struct random random;

    *series = (struct demand_series){ .queue = (char *)(uintptr_t) "engine",
                                      .start = { 1767225600000 },
                                      .step_ms = MINUTE_MS };
    series->count = (size_t)(requests / rate / 60) + 2;
    random_seed(&random, seed);
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        series->counts[class] = mem_new_array(series->count, sizeof(int32_t));
        for (size_t i = 0; i < series->count && rates[class] > 0; i++)
            for (double at = random_exponential(&random, 1 / rates[class]); at < 60;
                 at += random_exponential(&random, 1 / rates[class]))
                series->counts[class][i]++;
    }
}

static inline void engine_stream_clear(struct demand_series *series)
{
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        mem_free(series->counts[class]);
}

/* Over seeds. */
struct engine_mean {
    int count;
    double sum;
    double squares;
};

static inline void engine_mean_add(struct engine_mean *mean, double value)
{
    mean->count++;
    mean->sum += value;
    mean->squares += value * value;
}

static inline double engine_mean_of(const struct engine_mean *mean)
{
    return mean->sum / mean->count;
}

static inline double engine_error_of(const struct engine_mean *mean)
{
    double variance = (mean->squares - mean->sum * engine_mean_of(mean)) / (mean->count - 1);

    return sqrt(fmax(0, variance) / mean->count);
}

struct engine_found {
    struct engine_mean waits;
    struct engine_mean mean_s;
    struct engine_mean p98_s;
    struct engine_mean high_mean_s;
    double requests;
};

/* How much of a row is replayed. */
struct engine_repeats {
    int seeds;
    uint64_t seed;   /* the first; the others are the numbers after it */
    double requests; /* under each seed, on average */
};

/* Replays one row. */
static inline int engine_row_run(const struct engine_row *row, const struct engine_repeats *repeats,
                                 struct engine_found *ret, struct error *err)
{
    const struct replay_target target = { .wait_ms = 0, .percentile = 98 };
    struct service_time *service = engine_service(&row->law, row->out, row->cv, 0);
    int result = 0;

    *ret = (struct engine_found){ 0 };
    for (int i = 0; i < repeats->seeds && result == 0; i++) {
        uint64_t seed = repeats->seed + (uint64_t)i;
        struct demand_series series;
        struct segment_list segments = { 0 };
        struct replay_result found;

        engine_stream(&series, row->rate, row->high, repeats->requests, seed);
        *array_add(&segments.list) = (struct segment){ 1, series.count - 1 };

        struct arrivals_setup setup = { &series, &segments, service, 1, seed };
        struct arrivals *arrivals = arrivals_new(&setup, err);

        result = arrivals ? replay_report(arrivals, row->replicas, &target, &found, err) : -1;
        if (result == 0) {
            const struct replay_class *high = &found.classes[DEMAND_HIGH];
            const struct replay_class *low = &found.classes[DEMAND_LOW];
            double count = (double)(high->count + low->count);

            engine_mean_add(&ret->waits, (double)(high->violations + low->violations) / count);
            engine_mean_add(&ret->mean_s, low->mean_s);
            engine_mean_add(&ret->p98_s, low->p98_s);
            engine_mean_add(&ret->high_mean_s, high->mean_s);
            ret->requests += count;
        }
        arrivals_free(arrivals);
        segments_clear(&segments);
        engine_stream_clear(&series);
    }
    service_time_free(service);
    return result;
}

/* By how many standard errors, of both, the means lie apart. */
static inline double engine_apart(const struct engine_figure *figure,
                                  const struct engine_mean *found)
{
    double own = engine_error_of(found);

    return fabs(engine_mean_of(found) - figure->want) /
           sqrt(own * own + figure->error * figure->error);
}
