/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One stream of requests for both the replay and the simulation of every iteration.  Both begin
 * with an empty engine.
 */
#pragma once

#include "tools/engine_rows.h"
#include "tools/request_log.h"
#include "windows/queueing/search.h"

enum { STREAM_QUIET = 60 }; /* minutes before it, longer than both look back */

struct stream {
    struct demand_series series;
    struct segment_list segments;
    struct service_time *service; /* owned */
    struct search_setup setup;
};

/* Makes a stream of so many requests a second, and so many in all on average. */
static inline void stream_init(struct stream *stream, struct service_time *service, double rate,
                               double requests, uint64_t seed)
{
    *stream = (struct stream){ .service = service };
    engine_stream(&stream->series, rate, 0, requests + rate * 60 * STREAM_QUIET, seed);
    for (size_t i = 0; i < STREAM_QUIET; i++)
        stream->series.counts[DEMAND_LOW][i] = 0;
    *array_add(&stream->segments.list) = (struct segment){ STREAM_QUIET,
                                                           stream->series.count - STREAM_QUIET };
    stream->setup = (struct search_setup){
        .series = &stream->series,
        .segments = &stream->segments,
        .service = service,
        .scale = 1,
        .target = { .wait_ms = 0, .percentile = 98 },
        .seed = seed,
        .seeds = 1,
    };
}

static inline void stream_clear(struct stream *stream)
{
    segments_clear(&stream->segments);
    engine_stream_clear(&stream->series);
    service_time_free(stream->service);
}

/* The same requests under one seed; lengths are those of the order of starts.  The caller frees
   came and lengths. */
static inline struct iteration_case stream_case(const struct stream *stream, int seed)
{
    const struct engine *engine = stream->service->engine;
    struct arrivals *arrivals = search_arrivals(&stream->setup, seed, NULL);
    size_t count = (size_t)arrivals_total(arrivals, DEMAND_LOW);
    double *came = mem_new_array(count + 1, sizeof *came);
    struct iteration_pair *lengths = mem_new_array(count + 1, sizeof *lengths);
    size_t at = 0;
    uint64_t word = 0;
    struct random random;

    random_seed(&random, arrivals_service_seed(arrivals_setup_of(arrivals), STREAM_QUIET));
    for (size_t i = 0; i < arrivals_chunks(arrivals); i++) {
        const struct arrivals_chunk *chunk = arrivals_chunk(arrivals, i);

        for (size_t j = 0; j < chunk->count[DEMAND_LOW]; j++, at++) {
            if (at % 4 == 0)
                word = random_next(&random);
            came[at] = (double)chunk->at[DEMAND_LOW][j] / TICKS_PER_SECOND;
            lengths[at] = (struct iteration_pair){ (int)engine->in[word & 0xffff],
                                                   (int)engine->out[word & 0xffff] };
            word >>= 16;
        }
    }
    arrivals_free(arrivals);
    return (struct iteration_case){
        .slots = engine->law.slots,
        .iteration_s = engine->law.iteration_s,
        .decode_s = engine->law.per_request_s,
        .prefill_s = engine->law.prefill_s,
        .budget = ITERATION_BUDGET,
        .requests = count,
        .came = came,
        .lengths = lengths,
    };
}

static inline void stream_case_clear(struct iteration_case *what)
{
    mem_free((void *)(uintptr_t)what->came);
    mem_free((void *)(uintptr_t)what->lengths);
}

/* Whether so many replicas meet the target in the simulation, under every seed of the stream. */
static inline bool stream_is_met(const struct stream *stream, int replicas)
{
    const struct replay_target *target = &stream->setup.target;
    bool is_met = true;

    for (int seed = 0; seed < stream->setup.seeds && is_met; seed++) {
        struct iteration_case what = stream_case(stream, seed);

        what.replicas = replicas;
        is_met = iterations_meet(&what, target);
        stream_case_clear(&what);
    }
    return is_met;
}

/* The fewest; looks from `from` on, up and down. */
static inline int stream_fewest(const struct stream *stream, int from)
{
    while (from > 1 && stream_is_met(stream, from - 1))
        from--;
    while (!stream_is_met(stream, from))
        from++;
    return from;
}
