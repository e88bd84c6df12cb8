/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which admission webhooks and policies are asked about evictions: a rule's group, operation and
 * resource, as the API server matches them.  Selectors and conditions are ignored: a webhook
 * counts if it may be asked.  Also what an answer of a webhook, a policy or a budget means.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube_verbs.h"

static bool names_one_of(const json_t *list, const char *const *wanted, size_t count)
{
    size_t at;
    const json_t *name;

    json_array_foreach(list, at, name) {
        for (size_t i = 0; i < count; i++)
            if (text_equal(json_string_value(name), wanted[i]))
                return true;
    }
    return false;
}

/* "*" alone means all resources, but not their subresources. */
static bool see_evictions(const json_t *rules)
{
    static const char *const groups[] = { "", "*" };
    static const char *const operations[] = { "CREATE", "*" };
    static const char *const resources[] = { "pods/eviction", "pods/*", "*/eviction", "*/*" };
    size_t at;
    const json_t *rule;

    json_array_foreach(rules, at, rule) {
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

    json_array_foreach(json_object_get(list, "items"), at, item) {
        if (see_evictions(json_at(item, "spec/matchConstraints/resourceRules")))
            return true;
        json_array_foreach(json_object_get(item, "webhooks"), of, webhook) {
            if (see_evictions(json_object_get(webhook, "rules")))
                return true;
        }
    }
    return false;
}

bool cluster_is_budget(const struct error *err)
{
    return kube_error_holds_eviction(err);
}

bool cluster_serves_none(const struct error *err)
{
    return err->cause == &kube_cause_unserved || err->cause == &kube_cause_no_group;
}

bool cluster_lacks_group(const struct error *err)
{
    return err->cause == &kube_cause_no_group;
}

enum dry_run cluster_dry_run_of(const struct error *err)
{
    static const struct {
        const struct error_cause *cause;
        enum dry_run means;
    } rows[] = {
        { &kube_cause_budget, DRY_RUN_BUDGET },
        { &kube_cause_webhook, DRY_RUN_DENIED },
        { &kube_cause_policy, DRY_RUN_DENIED },
        { &kube_cause_two_budgets, DRY_RUN_TWO_BUDGETS },
        { &kube_cause_webhook_down, DRY_RUN_UNREACHED },
        { &kube_cause_forbidden, DRY_RUN_NOT_PERMITTED },
    };

    if (!err)
        return DRY_RUN_LEAVES;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (err->cause == rows[i].cause)
            return rows[i].means;
    return err->kind == ERROR_NOT_FOUND || err->kind == ERROR_CONFLICT ? DRY_RUN_GONE
                                                                       : DRY_RUN_UNKNOWN;
}
