/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes to pods: the mark in their status, the eviction that asks the budgets, the delete that
 * does not.
 */
#include "tools/simulator/kube/kube_versions.h"
#include "tools/simulator/model/model.h"

static bool bad(struct sim_call *call, const char *what)
{
    sim_kube_status(call->answer, 400, "BadRequest", "%s", what);
    return false;
}

static bool uid_matches(struct sim_call *call, const struct kube_pod *pod, const char *uid)
{
    return sim_kube_uid_is(call, "Pod", pod->name, pod->uid, uid);
}

static bool members_are_known(struct sim_call *call, json_t *object, const char *const *known,
                              size_t count)
{
    const char *key;
    json_t *value;

    if (object && !json_is_object(object))
        return bad(call, "an object was expected");
    json_object_foreach(object, key, value) {
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
    json_array_foreach(pod->conditions, i, old) {
        if (!text_equal(json_text_or(old, "type", ""), json_text_or(condition, "type", "")))
            continue;
        json_object_update(old, condition);
        return;
    }
    json_array_append_new(pod->conditions, json_deep_copy(condition));
}

static bool conditions_are_right(struct sim_call *call, json_t *conditions)
{
    size_t i;
    json_t *condition;

    if (conditions && !json_is_array(conditions))
        return bad(call, "status.conditions must be an array");
    json_array_foreach(conditions, i, condition) {
        if (!json_text_or(condition, "type", NULL) || !json_text_or(condition, "status", NULL))
            return bad(call, "a condition needs type and status");
    }
    return true;
}

static void take_status(struct sim_call *call, struct kube_pod *pod, const json_t *status)
{
    const char *phase = json_text_or(status, "phase", "");
    size_t i;
    json_t *condition;

    json_array_foreach(json_at(status, "conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "Ready"))
            pod->is_ready = text_equal(json_text_or(condition, "status", ""), "True");
        else
            merge_condition(pod, condition);
    }
    if (text_equal(phase, "Succeeded") && !sim_pod_is_over(pod))
        sim_pod_finish(call->sim, pod, POD_IS_SUCCEEDED);
    else
        sim_pod_changed(call->sim, pod, CHANGE_MODIFIED);
}

void sim_kube_mark_pod(struct sim_call *call, struct kube_pod *pod)
{
    owned(json) json_t *body = NULL;

    if (!sim_kube_is_content(call, "application/strategic-merge-patch+json") ||
        !sim_kube_query_is_known(call, (const char *const[]){ "fieldManager" }, 1) ||
        (body = sim_kube_body(call)) == NULL)
        return;
    if (!json_is_object(json_at(body, "status"))) {
        bad(call, "status is missing");
        return;
    }
    if (!conditions_are_right(call, json_at(body, "status/conditions")) ||
        !sim_kube_uid_stays(call, "Pod", pod->name, pod->uid,
                            json_text_or(body, "metadata/uid", NULL)))
        return;
    referee_touch_pod(call->sim, "mark_pod", pod, json_at(body, "metadata/uid") != NULL);
    take_status(call, pod, json_at(body, "status"));
    sim_kube_answer_blob(call, 200, pod->blob);
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

/* Whether this is a dry run, by the query or the body.  Both must agree, and "All" is the only
   value. */
static bool read_dry_run(struct sim_call *call, const json_t *body, bool *ret_is_dry)
{
    owned(chars) char *query = url_query(call->request->target, "dryRun");
    const json_t *list = json_at(body, "deleteOptions/dryRun");
    const char *inner = json_string_value(json_array_get(list, 0));

    *ret_is_dry = query || inner;
    if ((query && !text_equal(query, "All")) || (inner && !text_equal(inner, "All")) ||
        (query && list && !inner) || (list && json_array_size(list) != 1))
        return bad(call, "Non-matching dry-run options in request and content");
    return true;
}

/* As old servers do, one that has only v1beta1 takes no other. */
static bool is_eviction_of(const struct simulator *sim, const json_t *body,
                           const struct kube_pod *pod)
{
    owned(chars) char *version = text_format("policy/%s", sim_version_of(sim, SCENARIO_POLICY));

    return text_equal(json_text_or(body, "apiVersion", ""), version) &&
           text_equal(json_text_or(body, "kind", ""), "Eviction") &&
           text_equal(json_text_or(body, "metadata/name", ""), pod->name) &&
           text_equal(json_text_or(body, "metadata/namespace", pod->namespace), pod->namespace);
}

void sim_kube_evict_pod(struct sim_call *call, struct kube_pod *pod)
{
    static const char *const known[] = { "apiVersion", "kind", "metadata", "deleteOptions" };
    struct simulator *sim = call->sim;
    owned(json) json_t *body = NULL;
    bool is_dry_run;

    if (!sim_kube_query_is_known(call, (const char *const[]){ "dryRun" }, 1) ||
        (body = sim_kube_body(call)) == NULL ||
        !members_are_known(call, body, known, COUNT_OF(known)) ||
        !options_are_right(call, json_at(body, "deleteOptions")) ||
        !read_dry_run(call, body, &is_dry_run))
        return;
    if (!is_eviction_of(sim, body, pod)) {
        bad(call, "the body is no Eviction of this pod in the version that is served");
        return;
    }

    const char *uid = json_text_or(body, "deleteOptions/preconditions/uid", NULL);

    if (!sim_namespace_admits(call, pod->namespace, pod->name) ||
        !sim_rules_admit(call, pod->namespace, pod->name))
        return;
    if (!uid_matches(call, pod, uid))
        return;
    if (!is_dry_run)
        referee_touch_pod(sim, "evict_pod", pod, uid != NULL);
    if (!sim_budgets_allow(call, pod))
        return;
    sim_answer_json(call->answer, 201,
                    json_make("{s:s, s:s, s:{}, s:s}", "kind", "Status", "apiVersion", "v1",
                              "metadata", "status", "Success"));
    if (is_dry_run)
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
    /* The object may be freed below; the answer is its former state, terminating. */
    pod->actor.pending++;
    sim_pod_terminate(call->sim, pod, grace_s);
    sim_kube_answer_blob(call, 200, pod->blob);
    pod->actor.pending--;
    if (pod->actor.is_gone && !pod->actor.pending)
        pod->actor.free(&pod->actor);
}
