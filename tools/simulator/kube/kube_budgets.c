/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PodDisruptionBudgets: what people post, what their status says, and whether an eviction may be.
 * The order of the questions is the API server's.
 */
#include "tools/simulator/kube/kube_routes.h"
#include "tools/simulator/kube/kube_versions.h"

#include <inttypes.h>

enum { DISRUPTION_CONTROLLER_MS = 100, BUDGET_RETRY_S = 10 };

static void budget_free(struct actor *actor)
{
    struct kube_budget *budget = (struct kube_budget *)actor;

    json_decref(budget->labels);
    sim_blob_drop(budget->blob);
    mem_free(budget);
}

static int allowed(const struct kube_budget *budget)
{
    return budget->healthy > budget->min_available ? budget->healthy - budget->min_available : 0;
}

static struct blob *encode(const struct simulator *sim, const struct kube_budget *budget)
{
    owned(chars) char *version = text_format("%" PRIu64, budget->version);
    owned(chars) char *api = text_format("policy/%s", sim_version_of(sim, SCENARIO_POLICY));

    return sim_blob_of(json_make(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:i}, s:{s:i, s:{s:O}, s:s},"
        " s:{s:i, s:i, s:i, s:i, s:i}}",
        "apiVersion", api, "kind", "PodDisruptionBudget", "metadata", "name", budget->name,
        "namespace", budget->namespace, "uid", budget->uid, "resourceVersion", version,
        "generation", 1, "spec", "minAvailable", budget->min_available, "selector", "matchLabels",
        budget->labels, "unhealthyPodEvictionPolicy",
        budget->allows_unready ? "AlwaysAllow" : "IfHealthyBudget", "status", "observedGeneration",
        budget->is_observed ? 1 : 0, "disruptionsAllowed", allowed(budget), "currentHealthy",
        budget->healthy, "desiredHealthy", budget->min_available, "expectedPods",
        budget->expected));
}

static void write_down(struct simulator *sim, struct kube_budget *budget, enum change_type type)
{
    struct change change = { .kind = OBJECT_BUDGET, .type = type };

    budget->version = change.version = ++budget->cluster->version;
    sim_blob_drop(budget->blob);
    budget->blob = change.blob = encode(sim, budget);
    text_copy(change.name, sizeof change.name, budget->name);
    sim_history_add(sim, budget->cluster, &change);
}

static struct kube_budget *budget_new(struct simulator *sim, struct kube_cluster *cluster,
                                      const char *namespace, const char *name)
{
    struct kube_budget *budget = mem_new(sizeof *budget);

    budget->actor.free = budget_free;
    budget->cluster = cluster;
    text_copy(budget->namespace, sizeof budget->namespace, namespace);
    text_copy(budget->name, sizeof budget->name, name);
    sim_uuid(sim, budget->uid);
    *array_add(&cluster->budgets) = budget;
    return budget;
}

void sim_budgets_new(struct simulator *sim, struct kube_cluster *cluster)
{
    for (size_t i = 0; i < sim->scenario->budgets.count; i++) {
        const struct scenario_budget *plan = &sim->scenario->budgets.items[i];
        char name[SIM_NAME_SIZE];

        if (plan->cluster != cluster->index)
            continue;
        snprintf(name, sizeof name, "%.30s-%.30s", plan->label_key, plan->label_value);

        struct kube_budget *budget = budget_new(sim, cluster, plan->namespace, name);

        budget->labels = json_make("{s:s}", plan->label_key, plan->label_value);
        budget->min_available = plan->min_available;
        budget->is_observed = true;
        write_down(sim, budget, CHANGE_ADDED);
    }
}

void sim_budgets_clear(struct kube_cluster *cluster)
{
    for (size_t i = 0; i < cluster->budgets.count; i++)
        sim_actor_end(&cluster->budgets.items[i]->actor);
    array_clear(&cluster->budgets);
}

static bool selects(const struct kube_budget *budget, const struct kube_pod *pod)
{
    const char *key;
    json_t *value;

    if (!text_equal(budget->namespace, pod->namespace))
        return false;
    json_object_foreach(budget->labels, key, value) {
        if (!text_equal(sim_pod_label(pod, key), json_string_value(value)))
            return false;
    }
    return true;
}

static void count_pods(struct kube_budget *budget)
{
    void *value;

    budget->expected = budget->healthy = 0;
    for (size_t i = 0; map_next(budget->cluster->pods, &i, NULL, &value);) {
        const struct kube_pod *pod = value;

        if (!selects(budget, pod) || sim_pod_is_over(pod))
            continue;
        budget->expected++;
        budget->healthy += pod->is_ready && !pod->deletion_ms;
    }
}

void sim_budgets_review(struct simulator *sim, struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->cluster->budgets.count; i++) {
        struct kube_budget *budget = pod->cluster->budgets.items[i];
        int expected = budget->expected, healthy = budget->healthy;

        if (!selects(budget, pod))
            continue;
        count_pods(budget);
        if (healthy != budget->healthy || expected != budget->expected)
            write_down(sim, budget, CHANGE_MODIFIED);
    }
}

static void refuse(struct sim_call *call, const struct kube_pod *pod, const char *cause,
                   int retry_s)
{
    json_t *status = json_make(
        "{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:s, s:s, s:[{s:s, s:s}]}, s:i}", "kind", "Status",
        "apiVersion", "v1", "metadata", "status", "Failure", "message",
        "Cannot evict pod as it would violate the pod's disruption budget.", "reason",
        "TooManyRequests", "details", "name", pod->name, "kind", "pods", "causes", "reason",
        "DisruptionBudget", "message", cause, "code", 429);

    if (retry_s) {
        json_object_set_new(json_object_get(status, "details"), "retryAfterSeconds",
                            json_integer(retry_s));
        call->answer->headers[call->answer->header_count++] = (struct http_header){ "Retry-After",
                                                                                    "10" };
    }
    sim_answer_json(call->answer, 429, status);
}

static bool ask_budget(struct sim_call *call, const struct kube_pod *pod,
                       const struct kube_budget *budget)
{
    owned(chars) char *cause = NULL;

    if (!pod->is_ready && (budget->allows_unready ||
                           (budget->healthy >= budget->min_available && budget->min_available > 0)))
        return true;
    if (!budget->is_observed) {
        cause = text_format("The disruption budget %s is still being processed by the server.",
                            budget->name);
        refuse(call, pod, cause, BUDGET_RETRY_S);
        return false;
    }
    if (allowed(budget) > 0)
        return true;
    cause = text_format("The disruption budget %s needs %d healthy pods and has %d currently",
                        budget->name, budget->min_available, budget->healthy);
    refuse(call, pod, cause, 0);
    return false;
}

bool sim_budgets_allow(struct sim_call *call, const struct kube_pod *pod)
{
    const struct kube_budget *selecting = NULL;

    if (pod->deletion_ms || sim_pod_is_over(pod) || pod->state == POD_IS_PENDING)
        return true;
    for (size_t i = 0; i < call->cluster->budgets.count; i++) {
        const struct kube_budget *budget = call->cluster->budgets.items[i];

        if (!selects(budget, pod))
            continue;
        if (selecting) {
            /* The server gives no reason here. */
            sim_kube_status(call->answer, 500, NULL,
                            "This pod has more than one PodDisruptionBudget, which the eviction "
                            "subresource does not support.");
            return false;
        }
        selecting = budget;
    }
    return !selecting || ask_budget(call, pod, selecting);
}

static void observed(struct simulator *sim, struct actor *actor, uint64_t stamp)
{
    struct kube_budget *budget = (struct kube_budget *)actor;

    (void)stamp;
    if (actor->is_gone)
        return;
    budget->is_observed = true;
    write_down(sim, budget, CHANGE_MODIFIED);
}

static struct kube_budget *find(struct kube_cluster *cluster, const char *namespace,
                                const char *name, size_t *ret_at)
{
    for (*ret_at = 0; *ret_at < cluster->budgets.count; ++*ret_at) {
        struct kube_budget *budget = cluster->budgets.items[*ret_at];

        if (text_equal(budget->namespace, namespace) && text_equal(budget->name, name))
            return budget;
    }
    return NULL;
}

static void post(struct sim_call *call, char **parts)
{
    const char *namespace = parts[4];
    owned(json) json_t *body = sim_kube_body(call);
    const char *name = body ? json_text_or(body, "metadata/name", "") : "";
    json_t *labels = body ? json_at(body, "spec/selector/matchLabels") : NULL;
    size_t at;

    if (!body)
        return;
    if (!name[0] || !json_is_object(labels) || !json_is_integer(json_at(body, "spec/minAvailable")))
        sim_kube_status(call->answer, 422, "Invalid",
                        "a budget needs a name, minAvailable as a number, and matchLabels");
    else if (find(call->cluster, namespace, name, &at))
        sim_kube_status(call->answer, 409, "AlreadyExists",
                        "poddisruptionbudgets.policy \"%s\" already exists", name);
    else {
        struct kube_budget *budget = budget_new(call->sim, call->cluster, namespace, name);

        budget->labels = json_deep_copy(labels);
        budget->min_available = (int)json_int_or(body, "spec/minAvailable", 0);
        budget->allows_unready = text_equal(
            json_text_or(body, "spec/unhealthyPodEvictionPolicy", ""), "AlwaysAllow");
        count_pods(budget);
        write_down(call->sim, budget, CHANGE_ADDED);
        sim_after(call->sim, DISRUPTION_CONTROLLER_MS, observed, &budget->actor, 0);
        sim_kube_answer_blob(call, 201, budget->blob);
    }
}

/* The requested budget; NULL: answered that there is none. */
static struct kube_budget *budget_of(struct sim_call *call, char **parts, size_t *ret_at)
{
    struct kube_budget *budget = find(call->cluster, parts[4], parts[6], ret_at);

    if (!budget)
        sim_kube_not_found(call, "poddisruptionbudgets.policy", parts[6]);
    return budget;
}

static void list(struct sim_call *call, char **parts)
{
    (void)parts;
    sim_kube_list(call, OBJECT_BUDGET, NULL);
}

static void get(struct sim_call *call, char **parts)
{
    size_t at;
    const struct kube_budget *budget = budget_of(call, parts, &at);

    if (budget)
        sim_kube_answer_blob(call, 200, budget->blob);
}

static void take_away(struct sim_call *call, char **parts)
{
    size_t at;
    struct kube_budget *budget = budget_of(call, parts, &at);

    if (!budget)
        return;
    array_remove(&call->cluster->budgets, at);
    write_down(call->sim, budget, CHANGE_DELETED);
    sim_kube_answer_blob(call, 200, budget->blob);
    sim_actor_end(&budget->actor);
}

#define BUDGETS "apis/policy/*/namespaces/*/poddisruptionbudgets"

const struct kube_route kube_budget_routes[] = {
    { ON(GET), "apis/policy/*/poddisruptionbudgets", NULL, list },
    { ON(POST), BUDGETS, NULL, post },
    { ON(GET), BUDGETS "/*", NULL, get },
    { ON(DELETE), BUDGETS "/*", NULL, take_away },
    { 0 },
};
