/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inference engines iteration by iteration, to judge the replay by: whole tokens, prompts in chunks
 * within a budget of tokens, each iteration as long as what is in it.  Who comes waits for the end
 * of the iteration that runs.  Replicas with the fewest requests get the next one.  It shares
 * nothing with the replay, random numbers included, and takes some hundred times as long.
 */
#pragma once

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { ITERATION_BUDGET = 2048 };

struct iteration_pair {
    int in;
    int out; /* 1 at least */
};

struct iteration_case {
    int replicas;
    int slots;
    double iteration_s;
    double decode_s;  /* of each request that gets a token */
    double prefill_s; /* of each token of a prompt */
    int budget;       /* tokens of an iteration */
    double rate;
    size_t requests;
    const struct iteration_pair *pairs; /* drawn with equal chance */
    size_t pair_count;
    uint64_t seed;
};

struct iteration_result { /* sorted, the first tenth of the requests left out */
    double *waits;
    double *firsts; /* until the first token */
    size_t count;
    double mean_wait_s;
    double mean_first_s;
};

struct iteration_request {
    double came;
    double began;
    int to_read;
    int to_write;
    bool is_new;
};

struct iteration_replica {
    struct iteration_request *running;
    int count;
    size_t *queue; /* requests by their number */
    size_t queue_size;
    size_t queue_first;
    size_t queue_end;
    double ends; /* the iteration that runs; infinite: none */
    int *tokens; /* that each running request gets with it */
};

struct iteration_world {
    const struct iteration_case *what;
    struct iteration_replica *replicas;
    double *came;
    struct iteration_pair *lengths;
    struct iteration_result *result;
    size_t *ids; /* of the running, by replica and place */
    uint64_t random;
};

static inline double iteration_chance(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return ((double)(*random >> 11) + 0.5) / 9007199254740992.0;
}

static inline void iteration_admit(struct iteration_world *world, int at, double now)
{
    struct iteration_replica *replica = &world->replicas[at];

    while (replica->count < world->what->slots && replica->queue_first < replica->queue_end) {
        size_t id = replica->queue[replica->queue_first++];
        struct iteration_request *request = &replica->running[replica->count];

        *request = (struct iteration_request){ world->came[id], now, world->lengths[id].in,
                                               world->lengths[id].out, true };
        world->ids[(size_t)at * (size_t)world->what->slots + (size_t)replica->count++] = id;
        world->result->waits[id] = now - request->came;
    }
}

/* Those that write get a token each, and what the budget leaves goes to prompts, in the order in
   which they came. */
static inline void iteration_begin(struct iteration_world *world, int at, double now)
{
    struct iteration_replica *replica = &world->replicas[at];
    int writing = 0;
    int read = 0;

    iteration_admit(world, at, now);
    for (int i = 0; i < replica->count; i++)
        writing += replica->tokens[i] = replica->running[i].to_read == 0;

    int left = world->what->budget - writing;

    for (int i = 0; i < replica->count && left > 0; i++) {
        struct iteration_request *request = &replica->running[i];
        int part = request->to_read < left ? request->to_read : left;

        request->to_read -= part;
        left -= part;
        read += part;
        replica->tokens[i] += part > 0 && request->to_read == 0;
    }
    replica->ends = replica->count == 0
                        ? HUGE_VAL
                        : now + world->what->iteration_s + world->what->decode_s * writing +
                              world->what->prefill_s * read;
}

static inline void iteration_end(struct iteration_world *world, int at)
{
    struct iteration_replica *replica = &world->replicas[at];
    size_t *ids = world->ids + (size_t)at * (size_t)world->what->slots;
    double now = replica->ends;
    int kept = 0;

    for (int i = 0; i < replica->count; i++) {
        struct iteration_request request = replica->running[i];

        if (replica->tokens[i] > 0 && request.is_new) {
            world->result->firsts[ids[i]] = now - request.came;
            request.is_new = false;
        }
        request.to_write -= replica->tokens[i];
        if (request.to_write > 0 || request.to_read > 0) {
            ids[kept] = ids[i];
            replica->running[kept++] = request;
        }
    }
    replica->count = kept;
    iteration_begin(world, at, now);
}

static inline void iteration_come(struct iteration_world *world, size_t id)
{
    int replicas = world->what->replicas;
    int from = (int)(iteration_chance(&world->random) * replicas);
    int best = from;
    size_t least = SIZE_MAX;

    for (int i = 0; i < replicas; i++) {
        const struct iteration_replica *replica = &world->replicas[(from + i) % replicas];
        size_t has = (size_t)replica->count + replica->queue_end - replica->queue_first;

        if (has < least) {
            least = has;
            best = (from + i) % replicas;
        }
    }

    struct iteration_replica *replica = &world->replicas[best];

    if (replica->queue_end == replica->queue_size) {
        replica->queue_size = 2 * replica->queue_size + 64;
        replica->queue = mem_resize(replica->queue, replica->queue_size, sizeof *replica->queue);
    }
    replica->queue[replica->queue_end++] = id;
    if (replica->ends == HUGE_VAL)
        iteration_begin(world, best, world->came[id]);
}

static inline void iteration_draw(struct iteration_world *world)
{
    double now = 0;

    for (size_t i = 0; i < world->what->requests; i++) {
        now -= log(iteration_chance(&world->random)) / world->what->rate;
        world->came[i] = now;
        world->lengths[i] = world->what->pairs[(size_t)(iteration_chance(&world->random) *
                                                        (double)world->what->pair_count)];
    }
}

static inline void iteration_all(struct iteration_world *world)
{
    const struct iteration_case *what = world->what;

    for (size_t next = 0;;) {
        double when = next < what->requests ? world->came[next] : HUGE_VAL;
        int first = -1;

        for (int i = 0; i < what->replicas; i++)
            if (world->replicas[i].ends < when) {
                when = world->replicas[i].ends;
                first = i;
            }
        if (first >= 0)
            iteration_end(world, first);
        else if (next < what->requests)
            iteration_come(world, next++);
        else
            break;
    }
}

static inline int iteration_compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* Leaves out who came before it was as busy as it gets. */
static inline double iteration_sort(double **values, size_t requests)
{
    size_t first = requests / 10;
    size_t count = requests - first;
    double *rest = mem_new_array(count, sizeof *rest);
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += rest[i] = (*values)[first + i];
    mem_free(*values);
    *values = rest;
    qsort(rest, count, sizeof *rest, iteration_compare);
    return sum / (double)count;
}

/* The caller clears the result. */
static inline void iterations_run(const struct iteration_case *what,
                                  struct iteration_result *result)
{
    struct iteration_world world = { .what = what, .result = result, .random = what->seed };
    size_t slots = (size_t)what->slots;

    world.random = world.random * 0x9e3779b97f4a7c15u + 0x1234567;
    world.came = mem_new_array(what->requests, sizeof *world.came);
    world.lengths = mem_new_array(what->requests, sizeof *world.lengths);
    world.ids = mem_new_array((size_t)what->replicas * slots, sizeof *world.ids);
    world.replicas = mem_new_array((size_t)what->replicas, sizeof *world.replicas);
    for (int i = 0; i < what->replicas; i++) {
        world.replicas[i].running = mem_new_array(slots, sizeof *world.replicas[i].running);
        world.replicas[i].tokens = mem_new_array(slots, sizeof *world.replicas[i].tokens);
        world.replicas[i].ends = HUGE_VAL;
    }
    result->waits = mem_new_array(what->requests, sizeof *result->waits);
    result->firsts = mem_new_array(what->requests, sizeof *result->firsts);
    iteration_draw(&world);
    iteration_all(&world);
    result->count = what->requests - what->requests / 10;
    result->mean_wait_s = iteration_sort(&result->waits, what->requests);
    result->mean_first_s = iteration_sort(&result->firsts, what->requests);
    for (int i = 0; i < what->replicas; i++) {
        mem_free(world.replicas[i].running);
        mem_free(world.replicas[i].tokens);
        mem_free(world.replicas[i].queue);
    }
    mem_free(world.replicas);
    mem_free(world.ids);
    mem_free(world.lengths);
    mem_free(world.came);
}

static inline double iterations_at(const double *sorted, size_t count, double percentile)
{
    return sorted[(size_t)ceil(percentile / 100 * (double)count) - 1];
}

static inline void iterations_clear(struct iteration_result *result)
{
    mem_free(result->waits);
    mem_free(result->firsts);
}
