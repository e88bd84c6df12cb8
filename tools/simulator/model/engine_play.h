/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Replicas that run many requests at once, as engines of language models do, played iteration by
 * iteration: whole tokens, prompts in chunks between the tokens of those that run.  Nothing here
 * comes from the planner, whose closed forms and replays are held against it.
 *
 * An iteration gives each decoding request a token; what is left of ENGINE_BUDGET tokens goes to
 * prompts, first come first served.  A request waits until the iteration in which it is first
 * scheduled begins; at the end of the one that computes the last of its prompt it has its first
 * token.  Iterations that are all alike are passed over in one step.
 *
 * Times are seconds since the start of the run, and never fall from call to call.
 */
#pragma once

#include "tools/simulator/model/wait_log.h"

#include <stddef.h>
#include <stdint.h>

enum { ENGINE_BUDGET = 2048 };

enum engine_choice { /* who gives a request to a replica */
                     CHOICE_LEAST,
                     CHOICE_RANDOM,
                     CHOICE_IN_TURN,
                     CHOICE_CENTRAL, /* one line; a replica with a free slot takes the first */
};

struct engine_plan {
    int slots; /* 0: one request at a time, and nothing below counts */
    enum engine_choice choice;
    double iteration_s;
    double per_request_s;
    double prefill_s; /* of a token of a prompt */
    int tokens_in;
    double tokens_out; /* mean */
    double tokens_cv;  /* 1: exponential, 0: constant, else log-normal */
    bool is_lognormal; /* also where that is 1 */
};

struct engine_play;

/* Writes waits into the log, which outlives it. */
struct engine_play *engine_play_new(uint64_t seed, const struct engine_plan *plan,
                                    struct wait_log *waits) __attribute__((returns_nonnull));
void engine_play_free(struct engine_play *play);

void engine_play_arrive(struct engine_play *play, double now_s, bool is_low);

/* Changes the number of replicas; the youngest are removed.  A removed replica finishes its running
   requests; its waiting requests go to the others. */
void engine_play_replicas(struct engine_play *play, double now_s, int change);

/* When the next event happens, INFINITY if none will; and processes it. */
double engine_play_next(const struct engine_play *play);
void engine_play_step(struct engine_play *play);

int engine_play_count(const struct engine_play *play); /* replicas that stay */
size_t engine_play_waiting(const struct engine_play *play);
