/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inference engines iteration by iteration, to judge the replay by: whole tokens, prompts in chunks
 * within a budget of tokens, each iteration as long as what is in it.  An arriving request waits
 * for the end of the running iteration.  The replica with the fewest requests gets the next one.
 * It shares with the replay only the times and the lengths of requests.
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
    size_t requests;
    const double *came; /* seconds, ascending */
    const struct iteration_pair *lengths;
};

struct iteration_result { /* sorted */
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
    struct iteration_result *result;
    size_t *ids; /* of the running, by replica and place */
};

static inline void iteration_admit(struct iteration_world *world, int at, double now)
{
    struct iteration_replica *replica = &world->replicas[at];

    while (replica->count < world->what->slots && replica->queue_first < replica->queue_end) {
        size_t id = replica->queue[replica->queue_first++];
        struct iteration_request *request = &replica->running[replica->count];

        *request = (struct iteration_request){ world->what->came[id], now,
                                               world->what->lengths[id].in,
                                               world->what->lengths[id].out, true };
        world->ids[(size_t)at * (size_t)world->what->slots + (size_t)replica->count++] = id;
        world->result->waits[id] = now - request->came;
    }
}

/* Each decoding request gets a token; the rest of the budget goes to prompts, in the order in which
   they came. */
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
    int from = (int)(id * 2654435761u % (unsigned)replicas); /* ties go anywhere */
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
        iteration_begin(world, best, world->what->came[id]);
}

static inline void iteration_all(struct iteration_world *world)
{
    const struct iteration_case *what = world->what;

    for (size_t next = 0;;) {
        double when = next < what->requests ? world->what->came[next] : HUGE_VAL;
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

static inline double iteration_sort(double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    qsort(values, count, sizeof *values, iteration_compare);
    return sum / (double)count;
}

/* The caller clears the result. */
static inline void iterations_run(const struct iteration_case *what,
                                  struct iteration_result *result)
{
    struct iteration_world world = { .what = what, .result = result };
    size_t slots = (size_t)what->slots;

    world.ids = mem_new_array((size_t)what->replicas * slots, sizeof *world.ids);
    world.replicas = mem_new_array((size_t)what->replicas, sizeof *world.replicas);
    for (int i = 0; i < what->replicas; i++) {
        world.replicas[i].running = mem_new_array(slots, sizeof *world.replicas[i].running);
        world.replicas[i].tokens = mem_new_array(slots, sizeof *world.replicas[i].tokens);
        world.replicas[i].ends = HUGE_VAL;
    }
    result->waits = mem_new_array(what->requests, sizeof *result->waits);
    result->firsts = mem_new_array(what->requests, sizeof *result->firsts);
    iteration_all(&world);
    result->count = what->requests;
    result->mean_wait_s = iteration_sort(result->waits, what->requests);
    result->mean_first_s = iteration_sort(result->firsts, what->requests);
    for (int i = 0; i < what->replicas; i++) {
        mem_free(world.replicas[i].running);
        mem_free(world.replicas[i].tokens);
        mem_free(world.replicas[i].queue);
    }
    mem_free(world.replicas);
    mem_free(world.ids);
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
