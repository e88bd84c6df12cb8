/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An engine played iteration by iteration, with integer tokens, and scraped: what an estimator has
 * to find again.  It shares no code with the product.
 */
#pragma once

#include "base/array.h"
#include "base/random.h"
#include "windows/servers/profile.h"

#include <math.h>

struct engine_play {
    double base_s, request_s, prefill_s;
    int slots;
    double tokens_in, tokens_out; /* the second is the mean of a geometric law */
    double noise;                 /* of an iteration's time, relative */
    double scrape_s;
    /* Arrivals a second: from low to high and back, `waves` times. */
    double low, high, waves;
    int scrapes;
    int tokens_a_step; /* speculative decoding; 0 is 1 */
};

struct engine_scrape {
    struct profile_scrape scrape;
    double waiting;
    double requests; /* ended */
};

struct engine_state {
    struct random random;
    double left[512]; /* tokens of the running ones */
    bool is_new[512];
    int running;
    ARRAY(double) queue;
    size_t head;
    double next_s; /* arrival */
    double counters[PROFILE_COUNTERS];
    double requests;
    double running_s; /* running requests times seconds */
};

static inline void play_arrive(const struct engine_play *play, struct engine_state *state,
                               double now_s, double rate)
{
    while (state->next_s <= now_s) {
        double u = 1 - random_unit(&state->random);

        *array_add(&state->queue) = 1 + floor(log(u) / log1p(-1 / play->tokens_out));
        state->next_s += random_exponential(&state->random, 1 / rate);
    }
}

/* One iteration; its seconds. */
static inline double play_iteration(const struct engine_play *play, struct engine_state *state)
{
    int begun = 0;
    int decoding = state->running;
    int steps = play->tokens_a_step > 0 ? play->tokens_a_step : 1;
    double seconds;

    while (state->head < state->queue.count && state->running < play->slots) {
        state->is_new[state->running] = true;
        state->left[state->running++] = state->queue.items[state->head++];
        begun++;
    }
    seconds = (play->base_s + play->request_s * decoding +
               play->prefill_s * play->tokens_in * begun) *
              (1 + play->noise * random_normal(&state->random));
    state->counters[PROFILE_ITERATIONS] += 1;
    state->counters[PROFILE_PREFILL] += play->tokens_in * begun;
    state->counters[PROFILE_GAP_SECONDS] += seconds * decoding;
    state->counters[PROFILE_GAPS] += decoding;
    state->running_s += seconds * state->running;
    for (int i = 0; i < state->running;) {
        double tokens = state->left[i] < steps ? state->left[i] : steps;

        state->counters[PROFILE_GENERATED] += tokens;
        state->left[i] -= tokens;
        state->is_new[i] = false;
        if (state->left[i] > 0) {
            i++;
            continue;
        }
        state->requests++;
        state->left[i] = state->left[--state->running];
    }
    return seconds;
}

static inline struct engine_scrape play_scrape(const struct engine_play *play,
                                               struct engine_state *state, size_t instance,
                                               double at_s)
{
    struct engine_scrape scrape = {
        .scrape = { .instance = instance,
                    .at_s = at_s,
                    .running_least = state->running,
                    .running_mean = state->running_s / play->scrape_s },
        .waiting = (double)(state->queue.count - state->head),
        .requests = state->requests,
    };

    memcpy(scrape.scrape.counters, state->counters, sizeof state->counters);
    state->running_s = 0;
    return scrape;
}

/* Writes play->scrapes scrapes, the first at begin_s + scrape_s. */
static inline void engine_play(const struct engine_play *play, uint64_t seed, size_t instance,
                               double begin_s, struct engine_scrape *ret)
{
    struct engine_state state = { 0 };
    double now_s = 0;

    random_seed(&state.random, seed);
    for (int at = 0; at < play->scrapes;) {
        double angle = 2 * M_PI * play->waves * at / play->scrapes;
        double rate = play->low + (play->high - play->low) * (1 - cos(angle)) / 2;
        double scrape_s = (at + 1) * play->scrape_s;

        play_arrive(play, &state, now_s, rate);
        if (state.running > 0 || state.head < state.queue.count)
            now_s += play_iteration(play, &state);
        else
            now_s = state.next_s;
        for (; now_s >= scrape_s && at < play->scrapes; at++, scrape_s += play->scrape_s)
            ret[at] = play_scrape(play, &state, instance, begin_s + scrape_s);
    }
    array_clear(&state.queue);
}
