/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An inference engine with continuous batching (vLLM, SGLang, TGI, ...) as a server of many
 * requests at once.  Each iteration gives every running request its next token.  With n running it
 * takes
 *
 *     t(n) = iteration + per_request n,
 *
 * and each token of a prompt that is computed on the way holds all of them up for prefill.  At
 * most `slots` run; the others wait, first come first served.  All running requests go on at one
 * rate, so the order in which they end is known when they begin (batch.h).
 *
 * One request at a time is an engine with one slot, and is not described by this but by its service
 * time alone (service_time.h: the engine is NULL).
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ENGINE_SLOTS_MAX = 4096,
    ENGINE_LENGTHS = 1 << 16,
    ENGINE_CHUNK_TOKENS = 2048, /* of prompts in one iteration: vLLM's max_num_batched_tokens */
};

enum engine_router {                           /* who gives a request to a replica */
                     ENGINE_LEAST_OUTSTANDING, /* fewest running and waiting; ties by chance */
                     ENGINE_RANDOM,
                     ENGINE_ROUND_ROBIN,
                     ENGINE_CENTRAL, /* one queue for all; the emptiest replica with a free slot
                                        takes the first request */
                     ENGINE_ROUTERS,
};

/* How fast, and how many at once. */
struct engine_law {
    int slots;            /* 1 to ENGINE_SLOTS_MAX */
    double iteration_s;   /* > 0, or per_request_s is */
    double per_request_s; /* >= 0 */
    double prefill_s;     /* >= 0: of one token of a prompt */
    double kv_tokens;     /* that the cache holds; 0: the slots alone limit */
    enum engine_router router;
};

struct engine_periods; /* engine_periods.h */

/* It has the lengths of ENGINE_LENGTHS requests, all equally likely: in[i] and out[i] are prompt
   and answer of one request. */
struct engine {
    struct engine_law law; /* its slots are those that the cache lets run: engine_slots() */
    double mean_out; /* tokens; >= 1 but in the short form, where the one is the whole service */
    double mean_in;
    double cv_out;
    int slots_asked; /* that it is started with; the cache may leave fewer */
    bool is_kv_limited;
    bool is_short; /* only slots and the service time at a full batch are known */
    float out[ENGINE_LENGTHS];
    float in[ENGINE_LENGTHS];
    struct engine_periods *periods; /* owned: lengths by time; NULL: the same all the time */
};

/* Whether tokens have times, because the iterations are known.  The short form, and a server of one
   request at a time (NULL), have none. */
static inline bool engine_has_tokens(const struct engine *engine)
{
    return engine && !engine->is_short;
}

/* Slots that the cache leaves: kv_tokens / (mean_in + mean_out / 2), at least 1. */
int engine_slots(const struct engine_law *law, double mean_in, double mean_out);

/* Seconds of an iteration with n running; without prefill. */
static inline double engine_iteration_s(const struct engine_law *law, double n)
{
    return law->iteration_s + law->per_request_s * n;
}

/* Seconds that the request at a place of the table takes alone in its replica. */
static inline double engine_alone_s(const struct engine *engine, int place)
{
    return engine->law.prefill_s * (double)engine->in[place] +
           (double)engine->out[place] * engine_iteration_s(&engine->law, 1);
}

/* per_request_s with the delay by the prompts of later requests: s + g L / m. */
double engine_slope_s(const struct engine *engine);

/* Requests a second that one replica ends with n running. */
double engine_rate(const struct engine *engine, double n);

/* Seconds of a whole server that a request takes where all slots run; mean_s where a server takes
   one request at a time (engine NULL). */
double engine_whole_s(const struct engine *engine, double mean_s);

/* Requests that a server serves at once; 1 where the engine is NULL. */
static inline int engine_places(const struct engine *engine)
{
    return engine ? engine->law.slots : 1;
}

/* Mean seconds of a request while half of the slots run. */
static inline double engine_half_full_s(const struct engine *engine)
{
    double running = (engine->law.slots + 1) / 2;

    return running / engine_rate(engine, running);
}

/* Seconds that the longest request of the table takes in a full batch: a replica that is drained
   may run for so long.  0 in the short form, which has no lengths. */
double engine_longest_s(const struct engine *engine);

/* One iteration of a full batch with a chunk of prompts: an arriving request waits for the current
   one.  Shorter waits cannot be a target. 0 in the short form, whose iterations are unknown. */
double engine_floor_s(const struct engine *engine);

/* "least-outstanding", "random", "round-robin", "central"; ENGINE_ROUTERS for anything else. */
enum engine_router engine_router_parse(const char *name);
const char *engine_router_name(enum engine_router router);
