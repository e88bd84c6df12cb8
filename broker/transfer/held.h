/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The machines that live transfers hold, as sets: for looks that ask about all machines of a fleet.
 * Made for one look; nothing may change meanwhile.
 */
#pragma once

#include "broker/transfer/runner.h"

#include <stdbool.h>

struct held;

struct held *held_new(const struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
void held_free(struct held *held);

/* Whether the machine of that pool leaves it with a live transfer, or is the one that a live
   transfer brings to the pool: by its name, or by the key of its order. */
bool held_has(const struct held *held, const struct config_pool *pool,
              const struct instance *instance);

static inline void owned_held(struct held **held)
{
    held_free(*held);
}
