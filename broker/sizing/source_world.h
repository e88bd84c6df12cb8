/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a command needs to ask a source: a loop, a client, and the source's settings out of the
 * configuration.
 */
#pragma once

#include "base/random.h"
#include "base/world/world.h"
#include "broker/config/config.h"
#include "broker/sources/source.h"

struct source_world {
    struct world world; /* without a journal */
    struct random random;
};

/* Its address must not change until source_world_close(), which is needed after a failure, too. */
int source_world_open(struct source_world *world, struct error *err)
    __attribute__((warn_unused_result));
void source_world_close(struct source_world *world);

/* Borrows the configuration's texts. */
struct source_settings source_settings_of(const struct config_source *source);

/* What the queue's source calls its arrivals.  Borrows the configuration's texts. */
struct source_queue source_queue_of(const struct config_queue *queue);

static inline void owned_source_world(struct source_world *world)
{
    source_world_close(world);
}
