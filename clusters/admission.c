/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which admission webhooks and policies are asked about evictions: a rule's group, operation and
 * resource, as the API server matches them.  Selectors and conditions are not looked at: what may
 * be asked counts.
 */
#include "base/json.h"
#include "base/text.h"
#include "clusters/cluster.h"

static bool names_one_of(const json_t *list, const char *const *wanted, size_t count)
{
    size_t at;
    const json_t *name;

    json_array_foreach(list, at, name)
    {
        for (size_t i = 0; i < count; i++)
            if (text_equal(json_string_value(name), wanted[i]))
                return true;
    }
    return false;
}

/* "*" alone stands for resources, and not for what is below them. */
static bool see_evictions(const json_t *rules)
{
    static const char *const groups[] = { "", "*" };
    static const char *const operations[] = { "CREATE", "*" };
    static const char *const resources[] = { "pods/eviction", "pods/*", "*/eviction", "*/*" };
    size_t at;
    const json_t *rule;

    json_array_foreach(rules, at, rule)
    {
        if (names_one_of(json_object_get(rule, "apiGroups"), groups, COUNT_OF(groups)) &&
            names_one_of(json_object_get(rule, "operations"), operations, COUNT_OF(operations)) &&
            names_one_of(json_object_get(rule, "resources"), resources, COUNT_OF(resources)))
            return true;
    }
    return false;
}

bool cluster_admission_sees_evictions(const json_t *list)
{
    size_t at, of;
    const json_t *item, *webhook;

    json_array_foreach(json_object_get(list, "items"), at, item)
    {
        if (see_evictions(json_at(item, "spec/matchConstraints/resourceRules")))
            return true;
        json_array_foreach(json_object_get(item, "webhooks"), of, webhook)
        {
            if (see_evictions(json_object_get(webhook, "rules")))
                return true;
        }
    }
    return false;
}
