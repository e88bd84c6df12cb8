/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The API server's wire: what is answered to which request.
 */
#include "base/url.h"
#include "tests/simulator/bench.h"

#define BUDGET                                                                                     \
    "budgets: [ { cluster: prod, namespace: inference, selector_label: app=chat-model, "           \
    "min_available: 4 } ]\n"

static int open_bench(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);

    bench_open(bench, bench_config, bench_world, NULL);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

/* Asks the cluster `name`. */
/* The first pod whose owner is of that kind, as "NAMESPACE/NAME"; its UID in *ret_uid. */
static char *pod_of(struct bench *bench, const char *cluster, const char *owner, char **ret_uid)
{
    owned(bench_answer) struct bench_answer pods = bench_ask_cluster(
        bench, cluster, &(struct bench_request){ .method = HTTP_GET, .path = "/api/v1/pods" });
    size_t i;
    json_t *pod;

    json_array_foreach(json_at(pods.body, "items"), i, pod) {
        json_t *first = json_array_get(json_at(pod, "metadata/ownerReferences"), 0);

        if (!text_equal(json_text_or(first, "kind", ""), owner) ||
            json_at(pod, "metadata/deletionTimestamp"))
            continue;
        *ret_uid = mem_copy_chars(json_text_or(pod, "metadata/uid", ""));
        return text_format("%s/%s", json_text_or(pod, "metadata/namespace", ""),
                           json_text_or(pod, "metadata/name", ""));
    }
    fail_msg("no pod of a %s", owner);
    return NULL;
}

static char *pod_path(const char *pod, const char *below)
{
    const char *slash = strchr(pod, '/');

    return text_format("/api/v1/namespaces/%.*s/pods/%s%s", (int)(slash - pod), pod, slash + 1,
                       below);
}

static struct bench_answer evict(struct bench *bench, const char *cluster, const char *pod,
                                 const char *uid)
{
    owned(chars) char *path = pod_path(pod, "/eviction");
    owned(chars) char *body = text_format(
        "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":"
        "\"%s\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"%s\"}}}",
        strchr(pod, '/') + 1, uid);

    return bench_ask_cluster(
        bench, cluster, &(struct bench_request){ .method = HTTP_POST, .path = path, .body = body });
}

static struct bench_answer delete_pod(struct bench *bench, const char *cluster, const char *pod,
                                      const char *uid, int grace_s)
{
    owned(chars) char *path = pod_path(pod, "");
    owned(chars) char *body = text_format(
        "{\"gracePeriodSeconds\":%d,\"preconditions\":{\"uid\":\"%s\"}}", grace_s, uid);

    return bench_ask_cluster(
        bench, cluster,
        &(struct bench_request){ .method = HTTP_DELETE, .path = path, .body = body });
}

static void test_refusals_are_statuses(void **state)
{
    static const struct {
        const char *name;
        enum http_method method;
        const char *path, *token, *type, *body;
        int status;
        const char *reason;
    } cases[] = {
        { "no token", HTTP_GET, "/clusters/lab/api/v1/nodes", "", NULL, NULL, 401, "Unauthorized" },
        { "token of another cluster", HTTP_GET, "/clusters/lab/api/v1/nodes", "sim-prod", NULL,
          NULL, 401, "Unauthorized" },
        { "no such resource", HTTP_GET, "/clusters/lab/api/v1/secrets", "sim-lab", NULL, NULL, 404,
          "NotFound" },
        { "no such node", HTTP_GET, "/clusters/lab/api/v1/nodes/nobody", "sim-lab", NULL, NULL, 404,
          "NotFound" },
        { "no such pod", HTTP_GET, "/clusters/lab/api/v1/namespaces/research/pods/nobody",
          "sim-lab", NULL, NULL, 404, "NotFound" },
        { "POST to a node", HTTP_POST, "/clusters/lab/api/v1/nodes/nobody", "sim-lab", NULL, "{}",
          405, "MethodNotAllowed" },
        { "unknown query", HTTP_GET, "/clusters/lab/api/v1/nodes?colour=red", "sim-lab", NULL, NULL,
          400, "BadRequest" },
        { "unknown field", HTTP_GET, "/clusters/lab/api/v1/pods?fieldSelector=spec.colour%3Dred",
          "sim-lab", NULL, NULL, 400, "BadRequest" },
        { "limit is no number", HTTP_GET, "/clusters/lab/api/v1/pods?limit=many", "sim-lab", NULL,
          NULL, 400, "BadRequest" },
        { "continue of nobody", HTTP_GET, "/clusters/lab/api/v1/pods?continue=eA%3D%3D", "sim-lab",
          NULL, NULL, 400, "BadRequest" },
        { "continue of long ago", HTTP_GET, "/clusters/lab/api/v1/pods?continue=MSB4", "sim-lab",
          NULL, NULL, 410, "Expired" },
        { "watch from long ago", HTTP_GET, "/clusters/lab/api/v1/pods?watch=1&resourceVersion=1",
          "sim-lab", NULL, NULL, 410, "Expired" },
        { "watch from the future", HTTP_GET,
          "/clusters/lab/api/v1/pods?watch=1&resourceVersion=999999", "sim-lab", NULL, NULL, 504,
          "Timeout" },
        { "no such deployment", HTTP_GET,
          "/clusters/prod/apis/apps/v1/namespaces/inference/deployments/nobody/scale", "sim-prod",
          NULL, NULL, 404, "NotFound" },
        { "no such whole deployment", HTTP_GET,
          "/clusters/prod/apis/apps/v1/namespaces/inference/deployments/nobody", "sim-prod", NULL,
          NULL, 404, "NotFound" },
        { "no such custom object", HTTP_GET,
          "/clusters/lab/apis/kueue.x-k8s.io/v1beta1/clusterqueues/nobody", "sim-lab", NULL, NULL,
          404, "NotFound" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = bench_ask(
            bench, &(struct bench_request){ .method = cases[i].method,
                                            .path = cases[i].path,
                                            .bearer = cases[i].token,
                                            .type = cases[i].type,
                                            .body = cases[i].body });

        print_message("%s\n", cases[i].name);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(json_text_or(answer.body, "kind", ""), "Status");
        assert_string_equal(json_text_or(answer.body, "reason", ""), cases[i].reason);
        assert_int_equal(json_int_or(answer.body, "code", 0), cases[i].status);
    }
}

static void test_a_client_can_find_its_way(void **state)
{
    static const struct {
        const char *path, *member;
    } cases[] = {
        { "/version", "gitVersion" }, { "/api", "versions" },           { "/apis", "groups" },
        { "/api/v1", "resources" },   { "/apis/apps/v1", "resources" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = bench_lab(bench, cases[i].path);

        assert_int_equal(answer.status, 200);
        assert_non_null(json_at(answer.body, cases[i].member));
    }
}

static void test_a_namespace_has_its_own_pods(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer pods = bench_lab(bench,
                                                             "/api/v1/namespaces/kube-system/pods");
    size_t i;
    json_t *pod;

    json_array_foreach(json_at(pods.body, "items"), i, pod)
        assert_string_equal(json_text_or(pod, "metadata/namespace", ""), "kube-system");
    assert_int_equal(i, 2); /* one of the DaemonSet's a node */
}

static void test_pages_hold_every_pod_once(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer whole = bench_lab(bench, "/api/v1/pods");
    owned(chars) char *token = NULL;
    owned(json) json_t *names = json_object();
    size_t i;
    json_t *pod;

    do {
        owned(text) struct text *path = text_new(1000);

        text_add(path, "/api/v1/pods?limit=3");
        if (token) {
            text_add(path, "&continue=");
            url_add_escaped(path, token);
        }

        owned(bench_answer) struct bench_answer page = bench_lab(bench, path->chars);

        assert_int_equal(page.status, 200);
        json_array_foreach(json_at(page.body, "items"), i, pod)
            json_object_set_new(names, json_text_or(pod, "metadata/name", ""), json_true());
        mem_free(token);
        token = mem_copy_chars(json_text_or(page.body, "metadata/continue", NULL));
    } while (token);
    assert_true(json_object_size(names) > 3);
    assert_int_equal(json_object_size(names), json_array_size(json_at(whole.body, "items")));
}

static void test_the_selector_keeps_the_pods_of_one_node(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer nodes = bench_lab(bench, "/api/v1/nodes");
    size_t sum = 0, i, k;
    json_t *node, *pod;
    owned(bench_answer) struct bench_answer whole = bench_lab(bench, "/api/v1/pods");

    json_array_foreach(json_at(nodes.body, "items"), i, node) {
        const char *name = json_text_or(node, "metadata/name", "");
        owned(chars) char *path = text_format(
            "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s&limit=500", name);
        owned(bench_answer) struct bench_answer pods = bench_lab(bench, path);

        json_array_foreach(json_at(pods.body, "items"), k, pod)
            assert_string_equal(json_text_or(pod, "spec/nodeName", ""), name);
        sum += k;
    }
    assert_int_equal(sum, json_array_size(json_at(whole.body, "items")));
}

static void test_patches_of_a_node(void **state)
{
    static const struct {
        const char *name, *type, *body;
        int status;
    } cases[] = {
        { "no format", "application/json", "{}", 415 },
        { "strategic", STRATEGIC, "{}", 415 },
        { "no object", MERGE, "[]", 400 },
        { "stale", MERGE,
          "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"unschedulable\":true}}", 409 },
        { "wrong uid", MERGE, "{\"metadata\":{\"uid\":\"x\"}}", 422 },
        { "unknown member", MERGE, "{\"colour\":1}", 400 },
        { "providerID changes", MERGE, "{\"spec\":{\"providerID\":\"x\"}}", 422 },
        { "taint without effect", MERGE, "{\"spec\":{\"taints\":[{\"key\":\"a\"}]}}", 422 },
        { "taint twice", MERGE,
          "{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"a\","
          "\"effect\":\"NoSchedule\"}]}}",
          422 },
        { "label is a number", MERGE, "{\"metadata\":{\"labels\":{\"a\":1}}}", 400 },
        { "right", MERGE,
          "{\"metadata\":{\"annotations\":{\"a\":\"b\"},\"labels\":{\"kubernetes.io/arch\":null}},"
          "\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":"
          "\"NoSchedule\"}]}}",
          200 },
    };
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer nodes = bench_lab(bench, "/api/v1/nodes");
    const char *name = json_text_or(json_array_get(json_at(nodes.body, "items"), 0),
                                    "metadata/name", "");
    owned(chars) char *path = text_format("/api/v1/nodes/%s?fieldManager=sluice", name);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
            bench, "lab",
            &(struct bench_request){
                .method = HTTP_PATCH, .path = path, .type = cases[i].type, .body = cases[i].body });

        print_message("%s\n", cases[i].name);
        assert_int_equal(answer.status, cases[i].status);
        if (answer.status != 200)
            continue;
        assert_string_equal(json_text_or(answer.body, "metadata/annotations/a", ""), "b");
        assert_null(json_object_get(json_at(answer.body, "metadata/labels"), "kubernetes.io/arch"));
        assert_int_equal(json_array_size(json_at(answer.body, "spec/taints")), 1);
    }

    /* The control plane adds its own taint on its own, a version later. */
    bench_wait(bench, SECOND_MS);

    owned(chars) char *plain = text_format("/api/v1/nodes/%s", name);
    owned(bench_answer) struct bench_answer later = bench_lab(bench, plain);

    assert_non_null(
        bench_find(later.body, "spec/taints", "key", "node.kubernetes.io/unschedulable"));
    assert_non_null(bench_find(later.body, "spec/taints", "key", "k"));
}

static void test_a_patch_that_changes_nothing_keeps_the_version(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer nodes = bench_lab(bench, "/api/v1/nodes");
    json_t *node = json_array_get(json_at(nodes.body, "items"), 0);
    owned(chars) char *path = text_format("/api/v1/nodes/%s",
                                          json_text_or(node, "metadata/name", ""));
    owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
        bench, "lab",
        &(struct bench_request){ .method = HTTP_PATCH,
                                 .path = path,
                                 .type = MERGE,
                                 .body = "{\"spec\":{\"unschedulable\":false}}" });

    assert_int_equal(answer.status, 200);
    assert_string_equal(json_text_or(answer.body, "metadata/resourceVersion", "a"),
                        json_text_or(node, "metadata/resourceVersion", "b"));
}

static void test_an_eviction_ends_a_pod_and_its_job_comes_back(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *uid = NULL;
    owned(chars) char *pod = pod_of(bench, "lab", "Job", &uid);
    owned(chars) char *path = pod_path(pod, "");
    owned(bench_answer) struct bench_answer wrong = evict(bench, "lab", pod, "other");
    owned(bench_answer) struct bench_answer right = evict(bench, "lab", pod, uid);
    owned(bench_answer) struct bench_answer during = bench_lab(bench, path);

    assert_int_equal(wrong.status, 409);
    assert_string_equal(json_text_or(wrong.body, "reason", ""), "Conflict");
    assert_int_equal(right.status, 201);
    assert_string_equal(json_text_or(right.body, "status", ""), "Success");
    assert_non_null(json_at(during.body, "metadata/deletionTimestamp"));
    assert_string_equal(
        json_text_or(bench_find(during.body, "status/conditions", "type", "DisruptionTarget"),
                     "reason", ""),
        "EvictionByEvictionAPI");
    bench_wait(bench, 6 * SECOND_MS);

    owned(bench_answer) struct bench_answer after = bench_lab(bench, path);
    owned(json) json_t *report = simulator_report(bench->simulator);

    assert_int_equal(after.status, 404);
    assert_int_equal(json_int_or(report, "research/jobs_evicted", 0), 1);
}

static void test_evictions_that_are_no_evictions(void **state)
{
    static const struct {
        const char *name, *body;
    } cases[] = {
        { "old version", "{\"apiVersion\":\"policy/v1beta1\",\"kind\":\"Eviction\",\"metadata\":"
                         "{\"name\":\"%s\"}}" },
        { "other name",
          "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":"
          "\"not-%s\"}}" },
        { "unknown option", "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":"
                            "{\"name\":\"%s\"},\"deleteOptions\":{\"force\":true}}" },
        { "negative grace", "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":"
                            "{\"name\":\"%s\"},\"deleteOptions\":{\"gracePeriodSeconds\":-1}}" },
    };
    struct bench *bench = *state;
    owned(chars) char *uid = NULL;
    owned(chars) char *pod = pod_of(bench, "lab", "Job", &uid);
    owned(chars) char *path = pod_path(pod, "/eviction");

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(text) struct text *body = text_new(1000);
        const char *hole = strstr(cases[i].body, "%s");

        text_add_bytes(body, cases[i].body, (size_t)(hole - cases[i].body));
        text_add(body, "%s%s", strchr(pod, '/') + 1, hole + 2);

        owned(bench_answer) struct bench_answer answer = bench_ask_cluster(
            bench, "lab",
            &(struct bench_request){ .method = HTTP_POST, .path = path, .body = body->chars });

        print_message("%s\n", cases[i].name);
        assert_int_equal(answer.status, 400);
    }
}

static void test_budgets(void **state)
{
    static const struct {
        const char *name, *world;
        int status;
        const char *cause;
    } cases[] = {
        { "one that has nothing to spare", BUDGET, 429, "DisruptionBudget" },
        { "one with something to spare",
          "budgets: [ { cluster: prod, namespace: inference, selector_label: app=chat-model, "
          "min_available: 3 } ]\n",
          201, "" },
        { "one of another namespace",
          "budgets: [ { cluster: prod, namespace: other, selector_label: app=chat-model, "
          "min_available: 4 } ]\n",
          201, "" },
        { "two",
          "budgets: [ { cluster: prod, namespace: inference, selector_label: app=chat-model, "
          "min_available: 1 }, { cluster: prod, namespace: inference, selector_label: "
          "app=chat-model, min_available: 1 } ]\n",
          500, "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench here, *bench = &here;
        owned(chars) char *world = text_format("%s%s", bench_world, cases[i].world);
        owned(chars) char *uid = NULL;

        print_message("%s\n", cases[i].name);
        bench_open(bench, bench_config, world, NULL);

        owned(chars) char *pod = pod_of(bench, "prod", "ReplicaSet", &uid);
        owned(bench_answer) struct bench_answer answer = evict(bench, "prod", pod, uid);
        json_t *cause = json_array_get(json_at(answer.body, "details/causes"), 0);

        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(json_text_or(cause, "reason", ""), cases[i].cause);
        assert_int_equal(answer.retry_after_ms, 0);
        bench_close(bench);
    }
}

static void test_a_stuck_pod_stays_until_grace_zero(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *uid = NULL;
    owned(chars) char *pod = pod_of(bench, "lab", "Job", &uid);
    owned(chars) char *path = pod_path(pod, "");

    simulator_fault_next(bench->simulator, "stuck_pod", NULL);

    owned(bench_answer) struct bench_answer evicted = evict(bench, "lab", pod, uid);

    assert_int_equal(evicted.status, 201);
    bench_wait(bench, 10 * MINUTE_MS);

    owned(bench_answer) struct bench_answer forced = delete_pod(bench, "lab", pod, uid, 1);

    assert_int_equal(forced.status, 200);
    bench_wait(bench, MINUTE_MS);

    owned(bench_answer) struct bench_answer still = bench_lab(bench, path);

    assert_int_equal(still.status, 200);

    owned(bench_answer) struct bench_answer zero = delete_pod(bench, "lab", pod, uid, 0);

    assert_int_equal(zero.status, 200);
    bench_wait(bench, 2 * SECOND_MS); /* its finalizer */

    owned(bench_answer) struct bench_answer gone = bench_lab(bench, path);

    assert_int_equal(gone.status, 404);
}

static void test_grace_only_shortens(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *uid = NULL;
    owned(chars) char *pod = pod_of(bench, "lab", "Job", &uid);

    simulator_fault_next(bench->simulator, "stuck_pod", NULL);

    owned(bench_answer) struct bench_answer first = delete_pod(bench, "lab", pod, uid, 20);
    owned(bench_answer) struct bench_answer longer = delete_pod(bench, "lab", pod, uid, 300);
    owned(bench_answer) struct bench_answer shorter = delete_pod(bench, "lab", pod, uid, 2);

    assert_string_equal(json_text_or(first.body, "metadata/deletionTimestamp", "a"),
                        json_text_or(longer.body, "metadata/deletionTimestamp", "b"));
    assert_true(strcmp(json_text_or(shorter.body, "metadata/deletionTimestamp", "~"),
                       json_text_or(first.body, "metadata/deletionTimestamp", "")) < 0);
    assert_int_equal(json_int_or(shorter.body, "metadata/deletionGracePeriodSeconds", 0), 2);
}

static void test_a_mark_joins_the_conditions(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *uid = NULL;
    owned(chars) char *pod = pod_of(bench, "lab", "Job", &uid);
    owned(chars) char *path = pod_path(pod, "/status");
    owned(chars) char *body = text_format(
        "{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"conditions\":[{\"type\":"
        "\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"DeletionByBroker\"}]}}",
        uid);
    owned(bench_answer) struct bench_answer format = bench_ask_cluster(
        bench, "lab",
        &(struct bench_request){ .method = HTTP_PATCH, .path = path, .type = MERGE, .body = body });
    owned(bench_answer) struct bench_answer first = bench_ask_cluster(
        bench, "lab",
        &(struct bench_request){
            .method = HTTP_PATCH, .path = path, .type = STRATEGIC, .body = body });
    owned(bench_answer) struct bench_answer again = bench_ask_cluster(
        bench, "lab",
        &(struct bench_request){
            .method = HTTP_PATCH, .path = path, .type = STRATEGIC, .body = body });
    owned(bench_answer) struct bench_answer other = bench_ask_cluster(
        bench, "lab",
        &(struct bench_request){
            .method = HTTP_PATCH,
            .path = path,
            .type = STRATEGIC,
            .body = "{\"metadata\":{\"uid\":\"x\"},\"status\":{\"conditions\":[]}}" });

    assert_int_equal(format.status, 415);
    assert_int_equal(first.status, 200);
    assert_non_null(bench_find(first.body, "status/conditions", "type", "Ready"));
    assert_int_equal(json_array_size(json_at(first.body, "status/conditions")),
                     json_array_size(json_at(again.body, "status/conditions")));
    assert_int_equal(other.status, 422);
}

static void test_the_scale_of_a_deployment(void **state)
{
    static const char path[] = "/apis/apps/v1/namespaces/inference/deployments/chat-model/scale";
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer before = bench_ask_cluster(
        bench, "prod", &(struct bench_request){ .method = HTTP_GET, .path = path });
    owned(bench_answer) struct bench_answer patched = bench_ask_cluster(
        bench, "prod",
        &(struct bench_request){ .method = HTTP_PATCH,
                                 .path = path,
                                 .type = MERGE,
                                 .body = "{\"spec\":{\"replicas\":6}}" });
    owned(bench_answer) struct bench_answer stale = bench_ask_cluster(
        bench, "prod",
        &(struct bench_request){
            .method = HTTP_PUT,
            .path = path,
            .body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"spec\":{\"replicas\":9}}" });
    owned(bench_answer) struct bench_answer wrong = bench_ask_cluster(
        bench, "prod",
        &(struct bench_request){ .method = HTTP_PATCH,
                                 .path = path,
                                 .type = MERGE,
                                 .body = "{\"spec\":{\"replicas\":-1}}" });

    assert_int_equal(json_int_or(before.body, "spec/replicas", 0), 4);
    assert_int_equal(json_int_or(before.body, "status/replicas", 0), 4);
    assert_int_equal(json_int_or(patched.body, "spec/replicas", 0), 6);
    assert_int_equal(stale.status, 409);
    assert_int_equal(wrong.status, 422);
    bench_wait(bench, 25 * SECOND_MS);

    owned(json) json_t *report = simulator_report(bench->simulator);

    assert_int_equal(json_int_or(report, "workloads/chat-model/prod/serving", 0), 6);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)
    const struct CMUnitTest tests[] = {
        CASE(test_refusals_are_statuses),
        CASE(test_a_client_can_find_its_way),
        CASE(test_a_namespace_has_its_own_pods),
        CASE(test_pages_hold_every_pod_once),
        CASE(test_the_selector_keeps_the_pods_of_one_node),
        CASE(test_patches_of_a_node),
        CASE(test_a_patch_that_changes_nothing_keeps_the_version),
        CASE(test_an_eviction_ends_a_pod_and_its_job_comes_back),
        CASE(test_evictions_that_are_no_evictions),
        cmocka_unit_test(test_budgets),
        CASE(test_a_stuck_pod_stays_until_grace_zero),
        CASE(test_grace_only_shortens),
        CASE(test_a_mark_joins_the_conditions),
        CASE(test_the_scale_of_a_deployment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
