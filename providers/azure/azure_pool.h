/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An agent pool: where it is, what it is, and the request that gives it another size.
 */
#pragma once

#include "providers/common/provider.h"

#include <jansson.h>

/* What it reads of `pools.NAME`; a struct pool_address. */
struct azure_place {
    const char *resource_group;
    const char *managed_cluster;
    const char *agent_pool;
    const char *zone; /* of the reservation; borrowed */
};

static inline const struct azure_place *azure_place_of(const struct pool_address *pool)
{
    return (const struct azure_place *)(const void *)pool;
}

/* Texts are borrowed from the answer. */
struct azure_pool {
    int64_t wanted;    /* machines that AKS was asked for last */
    const char *state; /* provisioningState */
    const char *etag;  /* "": none */
    bool is_scaling;   /* busy, because its count was changed */
    bool is_busy;      /* an operation is under way: AKS refuses every write */
    bool is_failed;    /* the last one ended without success */
    bool is_scaled_by_autoscaler;
};

/* Of the answer to a GET. */
int azure_pool_read(const json_t *body, struct azure_pool *ret_pool, struct error *err)
    __attribute__((warn_unused_result));

/* Whether sluice may change its size; -1 and ERROR_INVALID: what forbids it. */
int azure_pool_may_resize(const json_t *body, const struct azure_pool *pool, struct error *err)
    __attribute__((warn_unused_result));

/* The body of a PUT: a PUT replaces the pool, so everything that may be written goes back as it was
   read, with another count.  The caller drops it. */
json_t *azure_pool_resized(const json_t *body, int64_t wanted)
    __attribute__((returns_nonnull, warn_unused_result));
