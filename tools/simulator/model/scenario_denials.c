/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What accounts may not do: `denied: [ { whose: prod-a, action: create pods/eviction } ]`.
 */
#include "base/text.h"
#include "tools/simulator/model/scenario.h"

static int text_at(const struct yaml_node *node, const char *key, const char **ret,
                   struct error *err)
{
    const struct yaml_node *found = yaml_get(node, key);

    return found ? yaml_text(found, ret, err) : yaml_error(err, node, "%s is missing", key);
}

int scenario_read_denials(struct scenario *scenario, struct error *err)
{
    const struct yaml_node *list = yaml_get(yaml_root(scenario->world), "denied");

    for (size_t i = 0; list && i < list->count; i++) {
        struct scenario_denial *denial = array_add(&scenario->denials);

        if (text_at(&list->children[i], "whose", &denial->whose, err) < 0 ||
            text_at(&list->children[i], "action", &denial->action, err) < 0)
            return -1;
    }
    return 0;
}

bool scenario_denies(const struct scenario *scenario, const char *whose, const char *action)
{
    for (size_t i = 0; i < scenario->denials.count; i++)
        if (text_equal(scenario->denials.items[i].whose, whose) &&
            text_equal(scenario->denials.items[i].action, action))
            return true;
    return false;
}
