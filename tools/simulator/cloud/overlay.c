/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See overlay.h.
 */
#include "tools/simulator/cloud/overlay.h"

const char *sim_said(const struct simulator *sim, const struct pool *pool, const char *key)
{
    const struct yaml_node *node = yaml_root(sim->scenario->world);
    const char *const keys[] = { "pools", pool->plan->name, pool->cloud->kind, key };
    struct error err = { 0 };
    const char *text = NULL;

    for (size_t i = 0; i < COUNT_OF(keys) && node; i++)
        node = yaml_get(node, keys[i]);
    return node && yaml_text(node, &text, &err) == 0 ? text : NULL;
}

void sim_overlay(const struct simulator *sim, const struct pool *pool, const char *key,
                 json_t *resource)
{
    const char *chars = sim_said(sim, pool, key);
    json_t *over = chars ? json_loads(chars, 0, NULL) : NULL;

    require(!chars || over);
    if (over)
        require(json_object_update_recursive(resource, over) == 0);
    json_decref(over);
}

/* An account that `granted` of world.yaml names may do what is listed there, and nothing else. */
static bool lacks_grant(const struct simulator *sim, const char *whose, const char *action)
{
    const struct yaml_node *list = yaml_get(yaml_root(sim->scenario->world), "granted");
    bool is_named = false;

    for (size_t i = 0; list && i < list->count; i++) {
        if (!text_equal(yaml_get(&list->children[i], "whose")->text, whose))
            continue;
        if (text_equal(yaml_get(&list->children[i], "action")->text, action))
            return false;
        is_named = true;
    }
    return is_named;
}

bool sim_denies(const struct simulator *sim, const struct pool *pool, const char *action)
{
    const struct yaml_node *provider = pool->plan->provider;

    return provider && (scenario_denies(sim->scenario, provider->key, action) ||
                        lacks_grant(sim, provider->key, action));
}
