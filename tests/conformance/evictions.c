/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases about evictions: what the server answers, and what the product makes of it.
 */
#include "clusters/kube_verbs.h"
#include "tests/conformance/conformance.h"

#include <stdio.h>
#include <string.h>

/* The eviction as the wire has it, without the product. */
static void evict_raw(struct stage *stage, const char *pod, bool is_dry_run)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "policy/v1", "kind", "Eviction",
                        "metadata", "name", pod, "namespace", stage->namespace),
              "/api/v1/namespaces/%s/pods/%s/eviction%s", stage->namespace, pod,
              is_dry_run ? "?dryRun=All" : "");
}

static bool is_marked(struct stage *stage, const void *context)
{
    size_t i;
    json_t *condition;

    stage_ask(stage, ASK_GET, NULL, "/api/v1/namespaces/%s/pods/%s", stage->namespace,
              (const char *)context);
    json_array_foreach(json_at(stage->body, "status/conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "DisruptionTarget"))
            return text_equal(json_text_or(condition, "status", ""), "True") &&
                   text_equal(json_text_or(condition, "reason", ""), "EvictionByEvictionAPI");
    }
    return false;
}

void an_eviction_is_marked(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = node, .stops_in = "3s" };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    evict_raw(stage, "work", true);
    stage_expect(stage, 201);
    assert_int_equal(stage_pod(stage, "work")->deletion.ms, 0);
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
    assert_true(is_marked(stage, "work"));
    stage_await_gone(stage, "work");
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NOT_FOUND);
}

/* A pod of the app under a budget that lets nothing go. */
static char *add_blocked(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    char *uid = stage_add_pod(stage,
                              &(struct pod_wish){ .name = "work", .node = node, .app = "chat" });

    stage_add_budget(stage, "keep", "chat", 1, false);
    stage_await_healthy(stage, "keep", 1);
    return uid;
}

void an_exhausted_budget_says_no(struct stage *stage)
{
    owned(chars) char *uid = add_blocked(stage);
    struct error err = stage_evict(stage, "work", uid);

    assert_int_equal(err.kind, ERROR_THROTTLED);
    assert_true(cluster_is_budget(&err));
    assert_non_null(strstr(err.text, "keep"));
    /* No patience is asked for: the pace is the caller's. */
    assert_int_equal(err.retry_after_ms, 0);
    evict_raw(stage, "work", false);
    stage_expect(stage, 429);
    assert_string_equal(json_text_or(stage->body, "reason", ""), "TooManyRequests");
    assert_string_equal(
        json_text_or(json_array_get(json_at(stage->body, "details/causes"), 0), "message", ""),
        "The disruption budget keep needs 1 healthy pods and has 1 currently");
    assert_null(json_at(stage->body, "details/retryAfterSeconds"));
    assert_int_equal(stage_pod(stage, "work")->deletion.ms, 0);
}

void two_budgets_are_a_failure(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    owned(chars) char *uid = stage_add_pod(
        stage, &(struct pod_wish){ .name = "work", .node = node, .app = "chat" });

    stage_add_budget(stage, "one", "chat", 0, false);
    stage_add_budget(stage, "other", "chat", 0, false);
    stage_await_healthy(stage, "one", 1);
    stage_await_healthy(stage, "other", 1);
    evict_raw(stage, "work", false);
    stage_expect(stage, 500);
    assert_string_equal(json_text_or(stage->body, "kind", ""), "Status");
    assert_string_equal(json_text_or(stage->body, "status", ""), "Failure");
    assert_int_equal(json_int_or(stage->body, "code", 0), 500);
    assert_null(json_at(stage->body, "reason"));
    assert_string_equal(json_text_or(stage->body, "message", ""),
                        "This pod has more than one PodDisruptionBudget, which the eviction "
                        "subresource does not support.");

    struct error err = stage_evict(stage, "work", uid);

    assert_int_equal(err.kind, ERROR_DENIED);
    assert_int_equal(stage_pod(stage, "work")->deletion.ms, 0);
    assert_false(stage_is_gone(stage, "work"));
}

void an_unseen_budget_asks_for_patience(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    owned(chars) char *uid = stage_add_pod(
        stage, &(struct pod_wish){ .name = "work", .node = node, .app = "chat" });

    stage_hold_controllers(stage);
    stage_add_budget(stage, "new", "chat", 0, false);

    struct error err = stage_evict(stage, "work", uid);

    stage_continue_controllers(stage);
    assert_int_equal(err.kind, ERROR_THROTTLED);
    assert_true(cluster_is_budget(&err));
    assert_int_equal(err.retry_after_ms, 10 * SECOND_MS);
    assert_non_null(strstr(err.text, "still being processed"));
    stage_await_healthy(stage, "new", 1);
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
}

static void make_unready(struct stage *stage, const char *pod)
{
    stage_ask(stage, ASK_STRATEGIC_PATCH,
              json_make("{s:{s:[{s:s, s:s}]}}", "status", "conditions", "type", "Ready", "status",
                        "False"),
              "/api/v1/namespaces/%s/pods/%s/status", stage->namespace, pod);
    stage_expect(stage, 200);
}

void unready_pods_go_by_policy(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    static const char *const apps[] = { "strict", "lenient" };

    for (size_t i = 0; i < COUNT_OF(apps); i++) {
        owned(chars) char *well = text_format("%s-well", apps[i]);
        owned(chars) char *sick = text_format("%s-sick", apps[i]);
        owned(chars) char *well_uid = stage_add_pod(
            stage, &(struct pod_wish){ .name = well, .node = node, .app = apps[i] });
        owned(chars) char *sick_uid = stage_add_pod(
            stage, &(struct pod_wish){ .name = sick, .node = node, .app = apps[i] });

        make_unready(stage, sick);
        stage_add_budget(stage, apps[i], apps[i], 2, i == 1);
        stage_await_healthy(stage, apps[i], 1);

        struct error err = stage_evict(stage, sick, sick_uid);

        if (i == 1) {
            assert_int_equal(err.kind, ERROR_NONE);
        } else {
            assert_int_equal(err.kind, ERROR_THROTTLED);
            assert_true(cluster_is_budget(&err));
        }
        assert_int_equal(stage_evict(stage, well, well_uid).kind, ERROR_THROTTLED);
    }
}

void a_namesake_is_not_evicted(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    const char *other = stage_add_node(stage);
    owned(chars) char *uid = stage_add_pod(stage,
                                           &(struct pod_wish){ .name = "web-0", .node = node });

    assert_int_equal(stage_delete(stage, "web-0", uid, 0).kind, ERROR_NONE);
    stage_await_gone(stage, "web-0");

    owned(chars) char *again = stage_add_pod(stage,
                                             &(struct pod_wish){ .name = "web-0", .node = other });

    assert_int_equal(stage_evict(stage, "web-0", uid).kind, ERROR_CONFLICT);
    assert_int_equal(stage_delete(stage, "web-0", uid, 1).kind, ERROR_NONE);
    assert_string_equal(stage_pod(stage, "web-0")->uid, again);
    assert_int_equal(stage_pod(stage, "web-0")->deletion.ms, 0);
}

static void expect_leaving_namespace(struct stage *stage, const char *pod, const char *uid)
{
    struct error err = stage_evict(stage, pod, uid);

    if (err.kind != ERROR_TRANSIENT)
        fail_msg("%s: kind %d: %s", pod, (int)err.kind, err.text);
    evict_raw(stage, pod, false);
    stage_expect(stage, 403);
    assert_string_equal(
        json_text_or(json_array_get(json_at(stage->body, "details/causes"), 0), "reason", ""),
        "NamespaceTerminating");
}

static bool is_told_to_stop(struct stage *stage, const void *context)
{
    const struct pod *pod = stage_pod(stage, context);

    return pod && pod->deletion.ms > 0;
}

void a_leaving_namespace_is_waited_for(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = node, .is_stuck = true };
    owned(chars) char *uid = stage_add_pod(stage, &wish);

    /* Its pods are not told to stop before a controller comes round. */
    stage_hold_controllers(stage);
    stage_ask(stage, ASK_DELETE, NULL, "/api/v1/namespaces/%s", stage->namespace);
    stage_expect(stage, 200);
    expect_leaving_namespace(stage, "work", uid);
    stage_continue_controllers(stage);
    stage_await(stage, "the namespace's end of the pod", is_told_to_stop, "work");
    expect_leaving_namespace(stage, "work", uid);
    /* A delete is no creation: it passes. */
    assert_int_equal(stage_delete(stage, "work", uid, 0).kind, ERROR_NONE);
    stage_await_gone(stage, "work");
}

void a_budget_lets_one_go(struct stage *stage)
{
    enum { PODS = 10 };
    const char *node = stage_add_node(stage);
    struct heard heard[PODS] = { 0 };
    char *uids[PODS], names[PODS][20];
    int gone = 0;

    for (int i = 0; i < PODS; i++) {
        snprintf(names[i], sizeof names[i], "work-%d", i);
        uids[i] = stage_add_pod(
            stage,
            &(struct pod_wish){ .name = names[i], .node = node, .app = "chat", .stops_in = "20s" });
    }
    stage_add_budget(stage, "nine", "chat", PODS - 1, false);
    stage_await_healthy(stage, "nine", PODS);
    for (int i = 0; i < PODS; i++)
        cluster_evict_pod(
            stage->cluster,
            &(struct pod_ref){ .namespace = stage->namespace, .name = names[i], .uid = uids[i] }, 0,
            hear, &heard[i]);
    for (int i = 0; i < PODS; i++) {
        await_heard(stage, &heard[i]);
        if (heard[i].err.kind == ERROR_NONE)
            gone++;
        else if (!cluster_is_budget(&heard[i].err))
            fail_msg("%s", heard[i].err.text);
        heard_clear(&heard[i]);
        mem_free(uids[i]);
    }
    assert_int_equal(gone, 1);
}

enum { CROWD = 10 };

struct crowd {
    char names[CROWD][20];
    char *uids[CROWD];
};

/* All at once, as a drain of several nodes is; how many the server had no room for. */
static int evict_crowd(struct stage *stage, const struct crowd *crowd)
{
    struct heard heard[CROWD] = { 0 };
    int refused = 0;

    for (int i = 0; i < CROWD; i++)
        cluster_evict_pod(stage->cluster,
                          &(struct pod_ref){ .namespace = stage->namespace,
                                             .name = crowd->names[i],
                                             .uid = crowd->uids[i] },
                          0, hear, &heard[i]);
    for (int i = 0; i < CROWD; i++) {
        const struct error *err = &heard[i].err;

        await_heard(stage, &heard[i]);
        if (err->kind != ERROR_NONE &&
            (err->kind != ERROR_THROTTLED || cluster_is_budget(err) ||
             err->retry_after_ms < SECOND_MS || !strstr(err->text, "Too many requests")))
            fail_msg("%s, %d ms: %s", error_kind_name(err->kind), (int)err->retry_after_ms,
                     err->text);
        refused += err->kind != ERROR_NONE;
        heard_clear(&heard[i]);
    }
    return refused;
}

void an_overload_is_no_budget(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    int64_t end_ms = loop_now(stage->loop) + 20 * SECOND_MS;
    struct crowd crowd;
    int refused = 0;

    for (int i = 0; i < CROWD; i++) {
        snprintf(crowd.names[i], sizeof crowd.names[i], "work-%d", i);
        crowd.uids[i] = stage_add_pod(
            stage, &(struct pod_wish){
                       .name = crowd.names[i], .node = node, .stops_in = "60s", .grace_s = 90 });
    }
    stage_overload(stage);
    /* Evicting twice is evicting once.  They may come one by one, each in its time. */
    while (refused == 0 && loop_now(stage->loop) < end_ms)
        refused = evict_crowd(stage, &crowd);
    assert_in_range(refused, 1, CROWD - 1);
    stage_calm(stage);
    while (evict_crowd(stage, &crowd) > 0)
        assert_true(loop_now(stage->loop) < end_ms);
    for (int i = 0; i < CROWD; i++) {
        stage_await(stage, "the pod told to stop", is_told_to_stop, crowd.names[i]);
        mem_free(crowd.uids[i]);
    }
}

static bool is_denied_dry(struct stage *stage, const void *context)
{
    evict_raw(stage, context, true);
    return stage->status == 500;
}

static bool is_allowed_dry(struct stage *stage, const void *context)
{
    evict_raw(stage, context, true);
    return stage->status == 201;
}

/* A webhook over the evictions of this namespace, at a port where no server listens. */
static void post_webhook(struct stage *stage)
{
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}, s:[{s:s, s:[s], s:s, s:s, s:{s:s},"
                        " s:{s:{s:s}}, s:[{s:[s], s:[s], s:[s], s:[s]}]}]}",
                        "apiVersion", "admissionregistration.k8s.io/v1", "kind",
                        "ValidatingWebhookConfiguration", "metadata", "name", stage->namespace,
                        "webhooks", "name", "guard.example.com", "admissionReviewVersions", "v1",
                        "sideEffects", "None", "failurePolicy", "Fail", "clientConfig", "url",
                        "https://127.0.0.1:1/", "namespaceSelector", "matchLabels",
                        "kubernetes.io/metadata.name", stage->namespace, "rules", "apiGroups", "",
                        "apiVersions", "v1", "operations", "CREATE", "resources", "pods/eviction"),
              "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations");
    stage_expect(stage, 201);
}

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/"

static bool is_forbidden_dry(struct stage *stage, const void *context)
{
    evict_raw(stage, context, true);
    return stage->status == 422;
}

/* A policy in the server itself that lets no pod of this namespace be evicted. */
static void post_policy(struct stage *stage)
{
    const char *name = stage->namespace;

    stage_ask(
        stage, ASK_POST,
        json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:{s:{s:{s:s}}, s:[{s:[s], s:[s], s:[s], s:[s]}]},"
                  " s:[{s:s, s:s}]}}",
                  "apiVersion", "admissionregistration.k8s.io/v1", "kind",
                  "ValidatingAdmissionPolicy", "metadata", "name", name, "spec", "failurePolicy",
                  "Fail", "matchConstraints", "namespaceSelector", "matchLabels",
                  "kubernetes.io/metadata.name", name, "resourceRules", "apiGroups", "",
                  "apiVersions", "v1", "operations", "CREATE", "resources", "pods/eviction",
                  "validations", "expression", "false", "message", "ask the team first"),
        ADMISSION "validatingadmissionpolicies");
    stage_expect(stage, 201);
    stage_ask(stage, ASK_POST,
              json_make("{s:s, s:s, s:{s:s}, s:{s:s, s:[s]}}", "apiVersion",
                        "admissionregistration.k8s.io/v1", "kind",
                        "ValidatingAdmissionPolicyBinding", "metadata", "name", name, "spec",
                        "policyName", name, "validationActions", "Deny"),
              ADMISSION "validatingadmissionpolicybindings");
    stage_expect(stage, 201);
}

static void a_policy_that_forbids_is_a_hold(struct stage *stage)
{
    owned(chars) char *uid = stage_add_pod(
        stage, &(struct pod_wish){ .name = "kept", .node = stage->nodes[0] });
    struct error err;

    post_policy(stage);
    stage_await(stage, "the policy in force", is_forbidden_dry, "kept");
    assert_string_equal(json_text_or(stage->body, "reason", ""), "Invalid");
    err = stage_evict(stage, "kept", uid);
    stage_ask(stage, ASK_DELETE, NULL, ADMISSION "validatingadmissionpolicybindings/%s",
              stage->namespace);
    stage_expect(stage, 200);
    stage_ask(stage, ASK_DELETE, NULL, ADMISSION "validatingadmissionpolicies/%s",
              stage->namespace);
    stage_expect(stage, 200);
    assert_int_equal(err.kind, ERROR_THROTTLED);
    assert_true(cluster_is_budget(&err)); /* of this pod, and not an overloaded server */
    assert_non_null(strstr(err.text, "ask the team first"));
    assert_int_equal(stage_pod(stage, "kept")->deletion.ms, 0);
}

void what_stands_before_an_eviction_is_told_apart(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    owned(chars) char *uid = stage_add_pod(stage,
                                           &(struct pod_wish){ .name = "work", .node = node });

    post_webhook(stage);
    stage_await(stage, "the webhook in force", is_denied_dry, "work");

    struct error err = stage_evict(stage, "work", uid);

    stage_ask(stage, ASK_DELETE, NULL, ADMISSION "validatingwebhookconfigurations/%s",
              stage->namespace);
    stage_expect(stage, 200);
    assert_int_equal(err.kind, ERROR_TRANSIENT);
    assert_non_null(strstr(err.text, "failed calling webhook"));
    assert_int_equal(stage_pod(stage, "work")->deletion.ms, 0);
    stage_await(stage, "the webhook's end", is_allowed_dry, "work");
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
    stage_await_gone(stage, "work");
    a_policy_that_forbids_is_a_hold(stage);
}

void evicting_twice_is_evicting_once(struct stage *stage)
{
    const char *node = stage_add_node(stage);
    struct pod_wish wish = { .name = "work", .node = node, .app = "chat", .stops_in = "2s" };
    owned(chars) char *uid = stage_add_pod(stage, &wish);
    owned(chars) char *other = stage_add_pod(
        stage, &(struct pod_wish){ .name = "other", .node = node, .app = "chat" });

    stage_add_budget(stage, "one", "chat", 1, false);
    stage_await_healthy(stage, "one", 2);
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
    /* As if the answer had been lost: asked again, it is no failure and costs no budget. */
    assert_int_equal(stage_evict(stage, "work", uid).kind, ERROR_NONE);
    stage_await_gone(stage, "work");
    stage_await_healthy(stage, "one", 1);
    assert_int_equal(stage_evict(stage, "other", other).kind, ERROR_THROTTLED);
}

static bool knows_budgets(struct stage *stage, const void *context)
{
    (void)context;
    return cluster_snapshot(stage->cluster)->budgets_are_known;
}

static enum dry_run try_pod(struct stage *stage, const char *name)
{
    struct heard heard = { 0 };
    const struct pod_ref pod = pod_ref_of(stage_pod(stage, name));
    struct error err = { 0 };

    if (cluster_try_eviction(stage->cluster, &pod, hear, &heard, &err) < 0)
        fail_msg("%s: %s", name, err.text);
    await_heard(stage, &heard);
    err = heard.err;
    heard_clear(&heard);
    return cluster_dry_run_of(err.kind == ERROR_NONE ? NULL : &err);
}

/* The server's own word: not told to stop, and not marked. */
static void expect_untouched(struct stage *stage, const char *name)
{
    stage_ask(stage, ASK_GET, NULL, "/api/v1/namespaces/%s/pods/%s", stage->namespace, name);
    stage_expect(stage, 200);
    assert_null(json_at(stage->body, "metadata/deletionTimestamp"));
    assert_false(is_marked(stage, name));
}

static void expect_webhooks_that_see(struct stage *stage)
{
    struct heard heard = { 0 };

    cluster_read_admission(stage->cluster, "validatingwebhookconfigurations", hear, &heard);
    await_heard(stage, &heard);
    assert_int_equal(heard.err.kind, ERROR_NONE);
    assert_true(cluster_admission_sees_evictions(heard.body));
    heard_clear(&heard);
}

void a_dry_run_tells_and_does_nothing(struct stage *stage)
{
    static const struct {
        const char *name;
        const char *app;
        enum dry_run trial;
    } pods[] = {
        { "free", "none", DRY_RUN_LEAVES },
        { "blocked", "chat", DRY_RUN_BUDGET },
        { "doubled", "video", DRY_RUN_TWO_BUDGETS },
    };
    const char *node = stage_add_node(stage);

    kube_cluster_watch_budgets(stage->cluster);
    stage_await(stage, "the budgets", knows_budgets, NULL);
    for (size_t i = 0; i < COUNT_OF(pods); i++) {
        struct pod_wish wish = { .name = pods[i].name, .node = node, .app = pods[i].app };

        mem_free(stage_add_pod(stage, &wish));
    }
    stage_add_budget(stage, "keep", "chat", 1, false);
    stage_add_budget(stage, "one", "video", 0, false);
    stage_add_budget(stage, "other", "video", 0, false);
    stage_await_healthy(stage, "keep", 1);
    stage_await_healthy(stage, "one", 1);
    stage_await_healthy(stage, "other", 1);
    for (size_t i = 0; i < COUNT_OF(pods); i++)
        assert_int_equal(try_pod(stage, pods[i].name), pods[i].trial);

    post_webhook(stage);
    stage_await(stage, "the webhook in force", is_denied_dry, "free");
    expect_webhooks_that_see(stage);
    assert_int_equal(try_pod(stage, "free"), DRY_RUN_UNREACHED);
    stage_ask(stage, ASK_DELETE, NULL,
              "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/%s",
              stage->namespace);
    stage_expect(stage, 200);
    for (size_t i = 0; i < COUNT_OF(pods); i++)
        expect_untouched(stage, pods[i].name);
}
