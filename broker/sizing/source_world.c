/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The loop of a command that asks, and ends when it was answered.
 */
#include "broker/sizing/source_world.h"

#include "base/text.h"

int source_world_open(struct source_world *world, struct error *err)
{
    require(!world->world.loop && !world->world.http);
    random_seed_system(&world->random);
    world->world.random = &world->random;
    world->world.loop = loop_libevent_new(err);
    world->world.http = world->world.loop ? http_curl_new(world->world.loop, NULL, err) : NULL;
    if (!world->world.http)
        return -1;
    world->world.ssh = ssh_new(world->world.loop);
    return 0;
}

void source_world_close(struct source_world *world)
{
    http_free(world->world.http);
    ssh_free(world->world.ssh);
    loop_free(world->world.loop);
}

struct source_settings source_settings_of(const struct config_source *source)
{
    struct source_settings settings = *(const struct source_settings *)source->own.settings;

    require(source->own.settings && source->name && source->kind_name);
    settings.name = source->name;
    settings.kind = source->kind_name;
    settings.missing_zero = text_equal(source->missing, "zero");
    return settings;
}

struct source_queue source_queue_of(const struct config_queue *queue)
{
    return (struct source_queue){
        .queue = queue->name,
        .names = { [DEMAND_HIGH] = queue->arrivals_high,
                   [DEMAND_LOW] = queue->arrivals_low ?: queue->arrivals },
    };
}
