/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes to pods: the mark in their status, the eviction that asks the budgets, the delete that
 * does not.
 */
#include "tools/simulator/model.h"

static void answer_pod(struct sim_call *call, const struct kube_pod *pod)
{
    call->answer->status = 200;
    call->answer->content_type = "application/json";
    call->answer->body = text_new(1 << 20);
    text_add_bytes(call->answer->body, pod->blob->chars, pod->blob->size);
}

static bool bad(struct sim_call *call, const char *what)
{
    sim_kube_status(call->answer, 400, "BadRequest", "%s", what);
    return false;
}

static bool uid_matches(struct sim_call *call, const struct kube_pod *pod, const char *uid)
{
    if (!uid || text_equal(uid, pod->uid))
        return true;
    sim_kube_status(call->answer, 409, "Conflict",
                    "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid,
                    pod->uid);
    return false;
}

static bool members_are_known(struct sim_call *call, json_t *object, const char *const *known,
                              size_t count)
{
    const char *key;
    json_t *value;

    if (object && !json_is_object(object))
        return bad(call, "an object was expected");
    json_object_foreach(object, key, value)
    {
        bool is_known = false;

        for (size_t i = 0; i < count; i++)
            is_known |= text_equal(known[i], key);
        if (!is_known)
            return bad(call, "unknown member of the body");
    }
    return true;
}

static bool options_are_right(struct sim_call *call, json_t *options)
{
    static const char *const known[] = { "kind",          "apiVersion",        "gracePeriodSeconds",
                                         "preconditions", "propagationPolicy", "dryRun" };
    static const char *const conditions[] = { "uid", "resourceVersion" };

    if (!members_are_known(call, options, known, COUNT_OF(known)) ||
        !members_are_known(call, json_at(options, "preconditions"), conditions,
                           COUNT_OF(conditions)))
        return false;
    if (json_object_get(options, "gracePeriodSeconds") &&
        (!json_is_integer(json_object_get(options, "gracePeriodSeconds")) ||
         json_int_or(options, "gracePeriodSeconds", 0) < 0))
        return bad(call, "gracePeriodSeconds must be a whole number, not negative");
    return true;
}

/* Strategic merge: conditions go by their type. */
static void merge_condition(struct kube_pod *pod, json_t *condition)
{
    size_t i;
    json_t *old;

    if (!pod->conditions)
        pod->conditions = json_array();
    json_array_foreach(pod->conditions, i, old)
    {
        if (!text_equal(json_text_or(old, "type", ""), json_text_or(condition, "type", "")))
            continue;
        json_object_update(old, condition);
        return;
    }
    json_array_append_new(pod->conditions, json_deep_copy(condition));
}

void sim_kube_mark_pod(struct sim_call *call, struct kube_pod *pod)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");
    owned(json) json_t *body = NULL;
    size_t i;
    json_t *condition;

    if (!type || !text_starts_with(type, "application/strategic-merge-patch+json")) {
        sim_kube_status(call->answer, 415, "UnsupportedMediaType", "unknown format of the body");
        return;
    }
    if (!sim_kube_query_is_known(call, (const char *const[]){ "fieldManager" }, 1) ||
        (body = sim_kube_body(call)) == NULL)
        return;

    json_t *conditions = json_at(body, "status/conditions");

    if (!json_is_array(conditions)) {
        bad(call, "status.conditions is missing");
        return;
    }
    json_array_foreach(conditions, i, condition)
    {
        if (json_text_or(condition, "type", NULL) && json_text_or(condition, "status", NULL))
            continue;
        bad(call, "a condition needs type and status");
        return;
    }
    if (!uid_matches(call, pod, json_text_or(body, "metadata/uid", NULL)))
        return;
    referee_touch_pod(call->sim, "mark_pod", pod, json_at(body, "metadata/uid") != NULL);
    json_array_foreach(conditions, i, condition) merge_condition(pod, condition);
    sim_pod_changed(call->sim, pod, CHANGE_MODIFIED);
    answer_pod(call, pod);
}

static bool budget_selects(const struct scenario_budget *budget, const struct kube_pod *pod)
{
    return budget->cluster == pod->cluster->index &&
           text_equal(budget->namespace, pod->namespace) &&
           text_equal(sim_pod_label(pod, budget->label_key), budget->label_value);
}

static int healthy_count(const struct scenario_budget *budget, const struct kube_cluster *cluster)
{
    int count = 0;
    void *value;

    for (size_t i = 0; map_next(cluster->pods, &i, NULL, &value);) {
        const struct kube_pod *pod = value;

        count += pod->is_ready && !pod->deletion_ms && budget_selects(budget, pod);
    }
    return count;
}

static void refuse_by_budget(struct sim_call *call, const struct kube_pod *pod,
                             const struct scenario_budget *budget, int healthy)
{
    owned(chars) char *cause = text_format(
        "The disruption budget %s-%s needs %d healthy pods and has %d currently", budget->label_key,
        budget->label_value, budget->min_available, healthy);

    sim_answer_json(
        call->answer, 429,
        json_make("{s:s, s:s, s:{}, s:s, s:s, s:s, s:{s:s, s:s, s:[{s:s, s:s}]}, s:i}", "kind",
                  "Status", "apiVersion", "v1", "metadata", "status", "Failure", "message",
                  "Cannot evict pod as it would violate the pod's disruption budget.", "reason",
                  "TooManyRequests", "details", "name", pod->name, "kind", "pods", "causes",
                  "reason", "DisruptionBudget", "message", cause, "code", 429));
}

/* True when the budgets let the pod go. */
static bool budgets_allow(struct sim_call *call, const struct kube_pod *pod)
{
    const struct scenario_budget *selecting = NULL;

    if (pod->deletion_ms || sim_pod_is_over(pod) || pod->state == POD_IS_PENDING)
        return true;
    for (size_t i = 0; i < call->sim->scenario->budgets.count; i++) {
        const struct scenario_budget *budget = &call->sim->scenario->budgets.items[i];

        if (!budget_selects(budget, pod))
            continue;
        if (selecting) {
            sim_kube_status(call->answer, 500, "InternalError",
                            "This pod has more than one PodDisruptionBudget, which the eviction "
                            "subresource does not support.");
            return false;
        }
        selecting = budget;
    }
    if (!selecting)
        return true;

    int healthy = healthy_count(selecting, pod->cluster);

    if (healthy - pod->is_ready >= selecting->min_available)
        return true;
    refuse_by_budget(call, pod, selecting, healthy);
    return false;
}

static void mark_disrupted(struct sim_call *call, struct kube_pod *pod)
{
    char now[WALL_TEXT_SIZE];
    owned(json) json_t *condition = json_make(
        "{s:s, s:s, s:s, s:s, s:s}", "type", "DisruptionTarget", "status", "True", "reason",
        "EvictionByEvictionAPI", "message", "Eviction API: evicting", "lastTransitionTime",
        sim_time(call->sim, sim_now(call->sim), now));

    merge_condition(pod, condition);
}

void sim_kube_evict_pod(struct sim_call *call, struct kube_pod *pod)
{
    static const char *const known[] = { "apiVersion", "kind", "metadata", "deleteOptions" };
    struct simulator *sim = call->sim;
    owned(chars) char *dry_run = url_query(call->request->target, "dryRun");
    owned(json) json_t *body = NULL;

    if (!sim_kube_query_is_known(call, (const char *const[]){ "dryRun" }, 1) ||
        (body = sim_kube_body(call)) == NULL ||
        !members_are_known(call, body, known, COUNT_OF(known)) ||
        !options_are_right(call, json_at(body, "deleteOptions")))
        return;
    if (!text_equal(json_text_or(body, "apiVersion", ""), "policy/v1") ||
        !text_equal(json_text_or(body, "kind", ""), "Eviction") ||
        !text_equal(json_text_or(body, "metadata/name", ""), pod->name) ||
        !text_equal(json_text_or(body, "metadata/namespace", pod->namespace), pod->namespace)) {
        bad(call, "the body is no policy/v1 Eviction of this pod");
        return;
    }

    const char *uid = json_text_or(body, "deleteOptions/preconditions/uid", NULL);

    if (!uid_matches(call, pod, uid))
        return;
    if (!dry_run)
        referee_touch_pod(sim, "evict_pod", pod, uid != NULL);
    if (!budgets_allow(call, pod))
        return;
    sim_answer_json(call->answer, 201,
                    json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success"));
    if (dry_run)
        return;
    sim->evictions++;
    mark_disrupted(call, pod);

    int64_t grace_s = json_int_or(body, "deleteOptions/gracePeriodSeconds", -1);

    if (grace_s == 0)
        referee_zero_grace(sim, pod);
    sim_pod_terminate(sim, pod, grace_s);
}

void sim_kube_delete_pod(struct sim_call *call, struct kube_pod *pod)
{
    static const char *const queries[] = { "gracePeriodSeconds", "propagationPolicy" };
    owned(json) json_t *body = call->request->body_size ? sim_kube_body(call) : json_object();
    owned(chars) char *query = url_query(call->request->target, "gracePeriodSeconds");
    long long query_grace_s = -1;

    if (!body || !sim_kube_query_is_known(call, queries, COUNT_OF(queries)) ||
        !options_are_right(call, body))
        return;
    if (query && !text_to_int(query, 0, 1 << 20, &query_grace_s)) {
        bad(call, "gracePeriodSeconds must be a whole number, not negative");
        return;
    }

    const char *uid = json_text_or(body, "preconditions/uid", NULL);
    int64_t grace_s = json_int_or(body, "gracePeriodSeconds", query_grace_s);

    if (!uid_matches(call, pod, uid))
        return;
    referee_touch_pod(call->sim, "delete_pod", pod, uid != NULL);
    if (grace_s == 0)
        referee_zero_grace(call->sim, pod);
    call->sim->forced_deletes++;
    pod->is_forced = true;
    /* The object may be freed below; what is answered is what it was, leaving. */
    pod->actor.pending++;
    sim_pod_terminate(call->sim, pod, grace_s);
    answer_pod(call, pod);
    pod->actor.pending--;
    if (pod->actor.is_gone && !pod->actor.pending)
        pod->actor.free(&pod->actor);
}
