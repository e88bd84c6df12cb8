/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See held.h.
 */
#include "broker/transfer/held.h"

#include "base/map.h"
#include "base/memory.h"

struct held {
    const struct config *config;
    struct map **names; /* as config->pools: of machines */
    struct map **keys;  /* the same: of orders */
};

static void add(struct map *set, const char *text)
{
    static char is_there;

    if (text[0] != '\0')
        map_set(set, text, &is_there);
}

struct held *held_new(const struct runner *runner)
{
    const struct config *config = runner->config;
    struct held *held = mem_new(sizeof *held);
    const struct transfer *transfer;

    held->config = config;
    held->names = mem_new_array(config->pool_count, sizeof *held->names);
    held->keys = mem_new_array(config->pool_count, sizeof *held->keys);
    for (size_t i = 0; i < config->pool_count; i++) {
        held->names[i] = map_new(NULL);
        held->keys[i] = map_new(NULL);
    }
    for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
        size_t goal = (size_t)(transfer_goal(transfer) - config->pools);

        add(held->names[transfer->source - config->pools], transfer->instance);
        add(held->names[goal], transfer->new_instance);
        add(held->keys[goal], transfer->new_key);
    }
    return held;
}

void held_free(struct held *held)
{
    if (!held)
        return;
    for (size_t i = 0; i < held->config->pool_count; i++) {
        map_free(held->names[i]);
        map_free(held->keys[i]);
    }
    mem_free(held->names);
    mem_free(held->keys);
    mem_free(held);
}

bool held_has(const struct held *held, const struct config_pool *pool,
              const struct instance *instance)
{
    size_t at = (size_t)(pool - held->config->pools);

    return map_get(held->names[at], instance->name) ||
           map_get(held->keys[at], instance->request_key);
}
