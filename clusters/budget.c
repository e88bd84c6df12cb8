/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Decoding, label selectors, and the algebra of a budget's status.
 */
#include "clusters/budget.h"

#include "base/index.h"
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/fields.h"

#include <string.h>

enum { MESSAGE_SIZE = 200 };

/* The controller fails closed: it allows none, and does not touch the other numbers. */
static int find_failure(struct budget *budget, const json_t *object, struct error *err)
{
    json_t *conditions = NULL;
    if (json_find_array(object, "status/conditions", &conditions, err) < 0)
        return -1;

    char message[MESSAGE_SIZE] = "";
    size_t at = 0;
    const json_t *condition = NULL;
    json_array_foreach(conditions, at, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "DisruptionAllowed") &&
            text_equal(json_text_or(condition, "status", ""), "False") &&
            text_equal(json_text_or(condition, "reason", ""), "SyncFailed"))
            text_copy(message, sizeof message,
                      json_text_or(condition, "message", "it does not say why"));
    }
    budget->failure = shared_text_of(message);
    return 0;
}

static int fill(struct budget *budget, const json_t *object, struct error *err)
{
    json_t *selector = NULL;
    json_t *disrupted = NULL;
    const char *policy = "";
    int64_t generation = 0;
    int64_t observed = 0;
    if (field_name(object, "metadata/namespace", &budget->namespace, err) < 0 ||
        field_name(object, "metadata/name", &budget->name, err) < 0 ||
        field_name(object, "metadata/resourceVersion", &budget->resource_version, err) < 0 ||
        json_find_int(object, "metadata/generation", &generation, err) < 0 ||
        json_find_object(object, "spec/selector", &selector, err) < 0 ||
        json_find_text(object, "spec/unhealthyPodEvictionPolicy", &policy, err) < 0 ||
        json_find_int(object, "status/observedGeneration", &observed, err) < 0 ||
        json_find_int(object, "status/disruptionsAllowed", &budget->allowed, err) < 0 ||
        json_find_int(object, "status/currentHealthy", &budget->healthy, err) < 0 ||
        json_find_int(object, "status/desiredHealthy", &budget->wanted, err) < 0 ||
        json_find_int(object, "status/expectedPods", &budget->expected, err) < 0 ||
        json_find_object(object, "status/disruptedPods", &disrupted, err) < 0 ||
        find_failure(budget, object, err) < 0)
        return -1;
    budget->selector = json_deep_copy(selector);
    budget->is_current = observed >= generation;
    budget->frees_unready = text_equal(policy, "AlwaysAllow");
    budget->disrupted = (int64_t)json_object_size(disrupted);
    return 0;
}

static struct budget *decode(const json_t *object, bool empty_selects_all, struct error *err)
{
    struct error why = { 0 };
    struct budget *budget = mem_new(sizeof *budget);
    budget->empty_selects_all = empty_selects_all;
    if (fill(budget, object, &why) < 0) {
        error_set(err, ERROR_CORRUPT, "poddisruptionbudgets/%s/%s: %s",
                  json_text_or(object, "metadata/namespace", "?"),
                  json_text_or(object, "metadata/name", "?"), why.text);
        budget_free(budget);
        return NULL;
    }
    return budget;
}

struct budget *budget_decode_v1(const json_t *object, struct error *err)
{
    return decode(object, true, err);
}

struct budget *budget_decode_v1beta1(const json_t *object, struct error *err)
{
    return decode(object, false, err);
}

void budget_free(struct budget *budget)
{
    if (!budget)
        return;
    shared_text_drop(budget->namespace);
    shared_text_drop(budget->name);
    shared_text_drop(budget->resource_version);
    shared_text_drop(budget->failure);
    json_decref(budget->selector);
    mem_free(budget);
}

static bool is_among(const json_t *values, const char *value)
{
    size_t at = 0;
    const json_t *one = NULL;
    json_array_foreach(values, at, one) {
        if (value && text_equal(json_string_value(one), value))
            return true;
    }
    return false;
}

static bool expression_holds(const json_t *expression, const struct pod *pod)
{
    const char *value = pod_label(pod, json_text_or(expression, "key", ""));
    const char *operator= json_text_or(expression, "operator", "");
    const json_t *values = json_object_get(expression, "values");
    if (text_equal(operator, "In"))
        return is_among(values, value);
    if (text_equal(operator, "NotIn"))
        return !is_among(values, value);
    if (text_equal(operator, "Exists"))
        return value != NULL;
    if (text_equal(operator, "DoesNotExist"))
        return value == NULL;
    return false; /* the server lets no other in */
}

bool budget_selects(const struct budget *budget, const struct pod *pod)
{
    json_t *labels = json_object_get(budget->selector, "matchLabels");
    const json_t *expressions = json_object_get(budget->selector, "matchExpressions");
    if (!budget->selector || !text_equal(budget->namespace, pod->namespace))
        return false;
    if (json_object_size(labels) == 0 && json_array_size(expressions) == 0)
        return budget->empty_selects_all;

    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(labels, key, value) {
        const char *has = pod_label(pod, key);
        if (!has || !text_equal(has, json_string_value(value)))
            return false;
    }
    size_t at = 0;
    const json_t *expression = NULL;
    json_array_foreach(expressions, at, expression) {
        if (!expression_holds(expression, pod))
            return false;
    }
    return true;
}

bool budget_counts_for(const struct pod *pod)
{
    return pod->deletion.ms == 0 && (pod->phase == POD_RUNNING || pod->phase == POD_UNKNOWN);
}

bool budget_frees_unready(const struct budget *budget)
{
    return budget->frees_unready || (budget->wanted > 0 && budget->healthy >= budget->wanted);
}

enum budget_verdict budget_judge(const struct budget *budget)
{
    if (budget->failure[0] != '\0' && budget->allowed == 0)
        return BUDGET_FAILED;
    if (!budget->is_current)
        return BUDGET_UNKNOWN;
    if (budget->allowed > 0)
        return BUDGET_ALLOWS;
    if (budget->disrupted > 0)
        return BUDGET_RESCHEDULED;
    if (budget->expected > 0 && budget->healthy >= budget->expected)
        return BUDGET_NEVER;
    /* Were all its pods healthy it would still let none go. */
    return budget->expected > 0 && budget->wanted >= budget->expected ? BUDGET_NEVER : BUDGET_LATER;
}

size_t budgets_of_pod(const struct snapshot *snapshot, const struct pod *pod,
                      const struct budget **out, size_t most)
{
    size_t count = 0;
    size_t found = 0;
    void *const *budgets = NULL;

    if (budget_counts_for(pod))
        budgets = index_find(snapshot->budgets_by_namespace, pod->namespace, &count);
    for (size_t i = 0; i < count; i++) {
        const struct budget *budget = budgets[i];
        size_t at = found < most ? found : most;

        if (!budget_selects(budget, pod))
            continue;
        for (; at > 0 && strcmp(out[at - 1]->name, budget->name) > 0; at--)
            if (at < most)
                out[at] = out[at - 1];
        if (at < most)
            out[at] = budget;
        found++;
    }
    return found;
}
