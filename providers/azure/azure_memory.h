/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a provider remembers of an agent pool between its lists, because stable versions of the API
 * list machines without a state.  A machine whose removal was accepted is leaving as long as the
 * operation runs.  One that is new in a list is being created as long as an operation runs.
 * After a restart nothing is remembered, and what is listed counts as running.
 */
#pragma once

#include "base/map.h"
#include "providers/azure/azure_pool.h"

struct azure_memory {
    struct map *known;   /* names of machines that no operation creates any more */
    struct map *next;    /* the same, of the list that is being read */
    struct map *leaving; /* name -> when its removal was accepted, int64_t, loop time */
    bool has_listed;     /* once, to its end */

    int64_t scaling_ms;     /* loop time: so long it has been seen scaling to one count; 0: not */
    int64_t scaling_wanted; /* that count */

    /* As the list that is being read found the pool. */
    int64_t asked_ms;
    int64_t wanted;
    bool is_busy;
    struct error trouble; /* why machines are missing; ERROR_NONE: the pool has not failed */
};

struct azure_memory *azure_memory_new(void) __attribute__((returns_nonnull, warn_unused_result));
void azure_memory_free(void *memory);

/* The pool was read.  Returns for how long it has been scaling to one count; 0: it is not. */
int64_t azure_memory_of_scaling(struct azure_memory *memory, const struct azure_pool *pool,
                                int64_t now_ms);
/* A list begins with the pool.  asked_ms: when it was asked for. */
void azure_memory_begin(struct azure_memory *memory, const json_t *body,
                        const struct azure_pool *pool, int64_t asked_ms);
/* The machine of a list: changes its state to what is remembered. */
void azure_memory_judge(struct azure_memory *memory, struct instance *machine);
/* All machines were listed. */
void azure_memory_end(struct azure_memory *memory, int64_t now_ms);

/* The removal was accepted. */
void azure_memory_leaves(struct azure_memory *memory, const char *name, int64_t now_ms);
bool azure_memory_is_leaving(const struct azure_memory *memory, const char *name);
