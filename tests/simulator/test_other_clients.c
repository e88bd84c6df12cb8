/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Other clients than sluice at a simulated API server: what kubectl and the clients for Python ask.
 * The sentences of refusals are those of a real server of Kubernetes 1.36.
 */
#include "tests/simulator/bench.h"
#include "tools/simulator/apiserver/patch.h"
#include "tools/simulator/apiserver/protobuf.h"
#include "tools/simulator/apiserver/selector.h"

#define APPLY "application/apply-patch+yaml"
#define OPERATIONS "application/json-patch+json"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/inference/deployments"

static int open_bench(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);
    owned(chars) char *world = text_format(
        "%skueue: both\nbudgets: [ { cluster: prod, namespace: inference, selector_label: "
        "app=chat-model, min_available: 4 } ]\n",
        bench_world);

    bench_open(bench, bench_config, world, NULL);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

static struct bench_answer ask(struct bench *bench, struct bench_request request)
{
    owned(chars) char *path = text_format("/clusters/prod%s", request.path);

    request.path = path;
    request.bearer = "admin-prod";
    return bench_ask(bench, &request);
}

static struct bench_answer get(struct bench *bench, const char *path)
{
    return ask(bench, (struct bench_request){ .method = HTTP_GET, .path = path });
}

/* The name of the first object of a list; the caller frees it. */
static char *first_name(struct bench *bench, const char *path)
{
    owned(bench_answer) struct bench_answer list = get(bench, path);

    assert_int_equal(list.status, 200);
    return mem_copy_chars(
        json_text_or(json_array_get(json_at(list.body, "items"), 0), "metadata/name", ""));
}

static char *movable_node(struct bench *bench)
{
    return first_name(bench, "/api/v1/nodes?labelSelector=sluice.dev%2Fephemeral%3Dtrue");
}

/* "%s" in a path is a node that may move. */
static const struct {
    enum http_method method;
    const char *path, *type, *body;
    int status;
    const char *sentence; /* in the answer */
} cases[] = {
    { HTTP_GET, "/api/v1/nodes?labelSelector=a%%20b", NULL, NULL, 400,
      "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt" },
    { HTTP_GET, "/api/v1/nodes?labelSelector=a%%3D%%3D%%3Db", NULL, NULL, 400,
      "unable to parse requirement: found '=', expected: identifier" },
    { HTTP_GET, "/api/v1/nodes?labelSelector=-x", NULL, NULL, 400,
      "unable to parse requirement: <nil>: Invalid value: \\\"-x\\\": name part must consist" },
    { HTTP_GET, "/api/v1/nodes?labelSelector=a%%20in%%20(b", NULL, NULL, 400,
      "unable to parse requirement: found '', expected: ',' or ')'" },
    { HTTP_GET, "/api/v1/nodes?labelSelector=a%%3Dx_y!", NULL, NULL, 400,
      "found '!', expected: ',' or 'end of string'" },
    { HTTP_GET, "/api/v1/nodes?labelSelector=%%2C", NULL, NULL, 400,
      "found ',', expected: !, identifier, or 'end of string'" },
    { HTTP_GET, "/api/v1/nodes?fieldSelector=spec.colour%%3Dred", NULL, NULL, 400,
      "field label not supported: spec.colour" },
    { HTTP_GET, "/api/v1/pods?fieldSelector=abc", NULL, NULL, 400,
      "invalid selector: 'abc'; can't understand 'abc'" },
    { HTTP_GET, "/api/v1/nodes?limit=many", NULL, NULL, 400, "parsing \\\"many\\\": invalid" },
    { HTTP_POST, "/api/v1/nodes/%s", NULL, "{}", 405,
      "the server does not allow this method on the requested resource" },
    { HTTP_DELETE, "/api/v1/pods/x", NULL, NULL, 404, "could not find the requested resource" },
    { HTTP_GET, "/api/v1/secrets", NULL, NULL, 404, "could not find the requested resource" },
    { HTTP_GET, "/api/v1/nodes/%s/none", NULL, NULL, 404, "could not find the requested resource" },
    { HTTP_GET, "/apis/nope/v1/things", NULL, NULL, 404, "404 page not found" },
    { HTTP_GET, DEPLOYMENTS "/x", NULL, NULL, 404, "deployments.apps \\\"x\\\" not found" },
    { HTTP_PATCH, "/api/v1/nodes/%s", "text/plain", "{}", 415, "UnsupportedMediaType" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409,
      "the object has been modified; please apply your changes to the latest version" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"metadata\":{\"name\":\"x\"}}", 400,
      "the name of the object (x) does not match the name on the URL" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"metadata\":{\"uid\":\"x\"}}", 422,
      "metadata.uid: Invalid value: \\\"x\\\": field is immutable" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"spec\":{\"providerID\":\"x\"}}", 422,
      "spec.providerID: Forbidden: node updates may not change providerID" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"metadata\":{\"labels\":{\"a b\":\"c\"}}}", 422,
      "metadata.labels: Invalid value: \\\"a b\\\": name part must consist" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"c d\"}}}", 422,
      "metadata.labels: Invalid value: \\\"c d\\\": a valid label must be an empty string" },
    { HTTP_PATCH, "/api/v1/nodes/%s", MERGE,
      "{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"x\"}]}}", 422,
      "metadata.taints[0].effect: Unsupported value: \\\"x\\\"" },
    { HTTP_PATCH, "/api/v1/nodes/%s?dryRun=Some", MERGE, "{}", 422,
      "PatchOptions.meta.k8s.io \\\"\\\" is invalid: dryRun: Unsupported value: [\\\"Some\\\"]" },
    { HTTP_DELETE, "/api/v1/nodes/%s?dryRun=Some", NULL, NULL, 422,
      "DeleteOptions.meta.k8s.io \\\"\\\" is invalid: dryRun" },
    { HTTP_PATCH, "/api/v1/nodes/%s", OPERATIONS, "[{\"op\":\"remove\",\"path\":\"/spec/none\"}]",
      422, "the server rejected our request due to an error in our request" },
    { HTTP_PATCH, "/api/v1/nodes/%s", APPLY, "{}", 422,
      "fieldManager: Required value: is required for apply patch" },
    { HTTP_POST, "/api/v1/namespaces/nope/pods", NULL,
      "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}", 404,
      "namespaces \\\"nope\\\" not found" },
    { HTTP_POST, "/api/v1/namespaces/inference/pods", NULL, "{\"metadata\":{\"name\":\"p\"}}", 422,
      "Pod \\\"p\\\" is invalid: spec.containers: Required value" },
    { HTTP_POST, "/api/v1/namespaces/inference/pods", NULL,
      "{\"apiVersion\":\"v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"p\"}}", 400,
      "Deployment in version \\\"v1\\\" cannot be handled as a Pod" },
    { HTTP_POST, "/api/v1/namespaces", NULL, "{\"metadata\":{\"name\":\"default\"}}", 409,
      "namespaces \\\"default\\\" already exists" },
    { HTTP_POST, "/api/v1/namespaces", NULL, "{\"metadata\":{\"name\":\"A_b\"}}", 422,
      "Namespace \\\"A_b\\\" is invalid: metadata.name: Invalid value: \\\"A_b\\\"" },
    { HTTP_PATCH, DEPLOYMENTS "/chat-model/scale", MERGE, "{\"spec\":{\"replicas\":-1}}", 422,
      "Scale.autoscaling \\\"chat-model\\\" is invalid: spec.replicas: Invalid value: -1" },
    { HTTP_PATCH, DEPLOYMENTS "/chat-model", STRATEGIC,
      "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"x\"}]}}}}",
      422, "the simulator plays no rollout" },
    { HTTP_GET, "/api/v1/nodes?watch=1&resourceVersion=99999999", NULL, NULL, 504,
      "Too large resource version" },
    { HTTP_PUT, "/apis/batch/v1/namespaces/research/jobs/x", NULL, "{}", 405, "MethodNotAllowed" },
};

static void test_refusals_are_those_of_a_real_server(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *node = movable_node(bench);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        /* "%%" is a percent sign. */
        owned(text) struct text *path = text_new(1024);

        for (const char *at = cases[i].path; *at; at++) {
            if (text_starts_with(at, "%s"))
                text_add(path, "%s", node);
            else
                text_add(path, "%c", *at);
            at += *at == '%';
        }

        owned(bench_answer) struct bench_answer answer = ask(
            bench, (struct bench_request){ .method = cases[i].method,
                                           .path = path->chars,
                                           .type = cases[i].type,
                                           .body = cases[i].body });

        if (answer.status != cases[i].status || !strstr(answer.text, cases[i].sentence))
            fail_msg("%s: %d %s", path->chars, answer.status, answer.text);
    }
}

static json_t *node_of(struct bench *bench, const char *name)
{
    owned(chars) char *path = text_format("/api/v1/nodes/%s", name);
    owned(bench_answer) struct bench_answer answer = get(bench, path);

    assert_int_equal(answer.status, 200);
    return json_incref(answer.body);
}

/* Whether a request changes anything: the version of the cluster's lists. */
static char *version_of(struct bench *bench)
{
    owned(bench_answer) struct bench_answer list = get(bench, "/api/v1/namespaces");

    return mem_copy_chars(json_text_or(list.body, "metadata/resourceVersion", ""));
}

static void test_a_dry_run_changes_nothing(void **state)
{
    static const struct bench_request writes[] = {
        { HTTP_PATCH,
          "/api/v1/nodes/%s?dryRun=All",
          NULL,
          STRATEGIC,
          "{\"spec\":{\"unschedulable\":true}}",
          { 0 } },
        { HTTP_DELETE, "/api/v1/nodes/%s?dryRun=All", NULL, NULL, NULL, { 0 } },
        { HTTP_DELETE, "/api/v1/nodes/%s", NULL, NULL, "{\"dryRun\":[\"All\"]}", { 0 } },
        { HTTP_DELETE, "/api/v1/namespaces/inference/pods?dryRun=All", NULL, NULL, NULL, { 0 } },
        { HTTP_PATCH,
          DEPLOYMENTS "/chat-model?dryRun=All",
          NULL,
          MERGE,
          "{\"spec\":{\"replicas\":1}}",
          { 0 } },
        { HTTP_PATCH,
          DEPLOYMENTS "/chat-model/scale?dryRun=All",
          NULL,
          MERGE,
          "{\"spec\":{\"replicas\":1}}",
          { 0 } },
        { HTTP_DELETE, DEPLOYMENTS "/chat-model?dryRun=All", NULL, NULL, NULL, { 0 } },
        { HTTP_PATCH,
          DEPLOYMENTS "/chat-model?dryRun=All&fieldManager=me&force=true",
          NULL,
          APPLY,
          "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"spec\":{\"replicas\":1}}",
          { 0 } },
        { HTTP_POST,
          "/api/v1/namespaces?dryRun=All",
          NULL,
          NULL,
          "{\"metadata\":{\"name\":\"fresh\"}}",
          { 0 } },
        { HTTP_POST,
          "/apis/kueue.x-k8s.io/v1beta1/clusterqueues?dryRun=All",
          NULL,
          NULL,
          "{\"metadata\":{\"name\":\"fresh\"}}",
          { 0 } },
    };
    struct bench *bench = *state;
    owned(chars) char *node = movable_node(bench);
    owned(chars) char *before = version_of(bench);

    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        const char *rest = strstr(writes[i].path, "%s");
        struct bench_request request = writes[i];
        owned(chars) char *path = rest ? text_format("%.*s%s%s", (int)(rest - writes[i].path),
                                                     writes[i].path, node, rest + 2)
                                       : mem_copy_chars(writes[i].path);

        request.path = path;

        owned(bench_answer) struct bench_answer answer = ask(bench, request);

        if (answer.status != 200 && answer.status != 201)
            fail_msg("%s: %d %s", path, answer.status, answer.text);
    }

    owned(chars) char *after = version_of(bench);
    owned(bench_answer) struct bench_answer fresh = get(bench, "/api/v1/namespaces/fresh");

    assert_string_equal(before, after);
    assert_int_equal(fresh.status, 404);
}

/* What kubectl and the clients need to decode a Node and a Pod. */
static void test_objects_have_what_clients_require(void **state)
{
    static const char *const node_members[] = {
        "status/nodeInfo/architecture",
        "status/nodeInfo/containerRuntimeVersion",
        "status/nodeInfo/kernelVersion",
        "status/nodeInfo/kubeProxyVersion",
        "status/nodeInfo/operatingSystem",
        "status/nodeInfo/osImage",
        "status/addresses",
        "status/daemonEndpoints/kubeletEndpoint/Port",
        "status/images",
    };
    static const char *const pod_members[] = { "status/containerStatuses", "status/podIP",
                                               "status/hostIP", "status/qosClass",
                                               "spec/schedulerName" };
    struct bench *bench = *state;
    owned(chars) char *name = movable_node(bench);
    owned(json) json_t *node = node_of(bench, name);
    owned(bench_answer) struct bench_answer pods = get(
        bench, "/api/v1/namespaces/inference/pods?fieldSelector=status.phase%3DRunning");
    const json_t *pod = json_array_get(json_at(pods.body, "items"), 0);
    size_t i;
    json_t *condition;

    for (i = 0; i < COUNT_OF(node_members); i++)
        assert_non_null(json_at(node, node_members[i]));
    json_array_foreach(json_at(node, "status/conditions"), i, condition)
        assert_non_null(json_at(condition, "lastHeartbeatTime"));
    for (i = 0; i < COUNT_OF(pod_members); i++)
        assert_non_null(json_at(pod, pod_members[i]));
}

static void test_a_table_has_the_cells_that_kubectl_prints(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer answer = ask(
        bench, (struct bench_request){
                   .method = HTTP_GET,
                   .path = DEPLOYMENTS,
                   .extra = { "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io" } });
    const json_t *row = json_array_get(json_at(answer.body, "rows"), 0);

    assert_string_equal(json_text_or(answer.body, "kind", ""), "Table");
    assert_string_equal(json_string_value(json_array_get(json_at(row, "cells"), 0)), "chat-model");
    assert_string_equal(json_string_value(json_array_get(json_at(row, "cells"), 1)), "4/4");
    assert_string_equal(json_text_or(row, "object/kind", ""), "PartialObjectMetadata");
}

/* A drain as kubectl does it, which meets the budget and takes its time. */
static void test_a_drain_takes_pods_away_and_the_referee_is_silent(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *pod = first_name(bench, "/api/v1/namespaces/inference/pods");
    owned(chars) char *path = text_format("/api/v1/namespaces/inference/pods/%s/eviction", pod);
    owned(chars) char *up = text_format("%s", DEPLOYMENTS "/chat-model");
    const struct bench_request evict = { .method = HTTP_POST,
                                         .path = path,
                                         .body = "{\"deleteOptions\":{}}" };
    owned(bench_answer) struct bench_answer refused = ask(bench, evict);
    owned(bench_answer) struct bench_answer scaled = ask(
        bench, (struct bench_request){ .method = HTTP_PATCH,
                                       .path = up,
                                       .type = STRATEGIC,
                                       .body = "{\"spec\":{\"replicas\":6}}" });

    assert_int_equal(refused.status, 429);
    assert_int_equal(scaled.status, 200);
    bench_wait(bench, 2 * MINUTE_MS);

    owned(bench_answer) struct bench_answer evicted = ask(bench, evict);
    owned(chars) char *pod_path = text_format("/api/v1/namespaces/inference/pods/%s", pod);

    assert_int_equal(evicted.status, 201);
    bench_wait(bench, MINUTE_MS);

    owned(bench_answer) struct bench_answer gone = get(bench, pod_path);

    assert_int_equal(gone.status, 404);
    assert_false(bench_has_violation(bench, "I5"));
}

static struct bench_answer apply(struct bench *bench, const char *manager, int replicas,
                                 const char *more)
{
    owned(chars) char *path = text_format("%s/chat-model?fieldManager=%s%s", DEPLOYMENTS, manager,
                                          more);
    owned(chars) char *body = text_format("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                                          "\"metadata\":{\"name\":\"chat-model\"},"
                                          "\"spec\":{\"replicas\":%d}}",
                                          replicas);

    return ask(bench, (struct bench_request){
                          .method = HTTP_PATCH, .path = path, .type = APPLY, .body = body });
}

static void test_an_apply_respects_other_managers(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer first = apply(bench, "one", 5, "");
    owned(bench_answer) struct bench_answer second = apply(bench, "two", 6, "");
    owned(bench_answer) struct bench_answer forced = apply(bench, "two", 6, "&force=true");

    assert_int_equal(first.status, 200);
    assert_int_equal(json_int_or(first.body, "spec/replicas", 0), 5);
    assert_int_equal(second.status, 409);
    assert_non_null(strstr(second.text, "Apply failed with 1 conflict: conflict with \\\"one\\\" "
                                        "using apps/v1: .spec.replicas"));
    assert_int_equal(forced.status, 200);
    assert_int_equal(json_int_or(forced.body, "spec/replicas", 0), 6);
    assert_non_null(strstr(forced.text, "\"f:replicas\":{}"));
}

static void test_a_queue_of_kueue_is_kept(void **state)
{
    static const char path[] = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer made = ask(
        bench, (struct bench_request){ .method = HTTP_POST,
                                       .path = path,
                                       .body = "{\"metadata\":{\"name\":\"team\"},\"spec\":{"
                                               "\"cohortName\":\"all\"}}" });
    owned(bench_answer) struct bench_answer refused = ask(
        bench, (struct bench_request){ .method = HTTP_PATCH,
                                       .path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team",
                                       .type = STRATEGIC,
                                       .body = "{}" });
    /* sluice sees it, in the older version too */
    owned(bench_answer) struct bench_answer seen = bench_ask_cluster(
        bench, "prod",
        &(struct bench_request){ .method = HTTP_GET,
                                 .path = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/team" });

    assert_int_equal(made.status, 201);
    assert_int_equal(refused.status, 415);
    assert_int_equal(seen.status, 200);
    assert_string_equal(json_text_or(seen.body, "spec/cohort", ""), "all");
}

/* A deployment of one's own runs pods, and they leave with it. */
static void test_a_posted_deployment_runs_pods(void **state)
{
    static const char body[] =
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{"
        "\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
        "\"nvidia.com/gpu\":1}}}]}}}}";
    static const char pods[] = "/api/v1/namespaces/inference/pods?labelSelector=a%3Db";
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer made = ask(
        bench, (struct bench_request){ .method = HTTP_POST, .path = DEPLOYMENTS, .body = body });

    assert_int_equal(made.status, 201);
    bench_wait(bench, 2 * MINUTE_MS);

    owned(bench_answer) struct bench_answer running = get(bench, pods);
    owned(bench_answer) struct bench_answer deleted = ask(
        bench, (struct bench_request){ .method = HTTP_DELETE, .path = DEPLOYMENTS "/web" });

    assert_int_equal(json_array_size(json_at(running.body, "items")), 2);
    assert_string_equal(
        json_text_or(json_array_get(json_at(running.body, "items"), 0), "status/phase", ""),
        "Running");
    assert_int_equal(deleted.status, 200);
    bench_wait(bench, 2 * MINUTE_MS);

    owned(bench_answer) struct bench_answer left = get(bench, pods);

    assert_int_equal(json_array_size(json_at(left.body, "items")), 0);
}

/* The largest numbers that JSON and a query can hold overflow nothing. */
static void test_large_numbers_are_bounded(void **state)
{
    static const char body[] =
        "{\"metadata\":{\"name\":\"large\"},\"spec\":{\"replicas\":1,\"selector\":{"
        "\"matchLabels\":{\"a\":\"l\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"l\"}},"
        "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{"
        "\"nvidia.com/gpu\":9223372036854775807}}},{\"name\":\"d\",\"resources\":{\"limits\":{"
        "\"nvidia.com/gpu\":9223372036854775807}}}]}}}}";
    struct bench *bench = *state;
    owned(chars) char *name = first_name(bench, "/api/v1/namespaces/inference/pods");
    owned(chars) char *pod = text_format("/api/v1/namespaces/inference/pods/%s", name);
    owned(bench_answer) struct bench_answer made = ask(
        bench, (struct bench_request){ .method = HTTP_POST, .path = DEPLOYMENTS, .body = body });
    owned(bench_answer) struct bench_answer deleted = ask(
        bench, (struct bench_request){ .method = HTTP_DELETE,
                                       .path = pod,
                                       .body = "{\"gracePeriodSeconds\":9223372036854775807}" });
    owned(bench_answer) struct bench_answer watched = get(
        bench, "/api/v1/nodes?watch=1&timeoutSeconds=9223372036854775807");

    assert_int_equal(made.status, 201);
    assert_int_equal(deleted.status, 200);
    bench_wait(bench, MINUTE_MS);
}

/* What sluice may not do, people may ask for sluice. */
static void test_a_review_reads_protobuf(void **state)
{
    /* SelfSubjectAccessReview of "get pods", as kubectl sends it. */
    static const char spec[] = "\x12\x0d\x0a\x0b\x12\x03get\x2a\x04pods";
    static const char type[] = "\x0a\x32\x0a\x17"
                               "authorization.k8s.io/v1"
                               "\x12\x17SelfSubjectAccessReview";
    owned(text) struct text *bytes = text_new(1024);
    struct error err = { 0 };
    owned(json) json_t *review = NULL;

    (void)state;
    text_add_bytes(bytes, "k8s\0", 4);
    text_add_bytes(bytes, type, sizeof type - 1);
    text_add_bytes(bytes, "\x12\x0f", 2);
    text_add_bytes(bytes, spec, sizeof spec - 1);
    review = protobuf_decode(bytes->chars, bytes->length, &err);
    if (!review)
        fail_msg("%s", err.text);
    assert_string_equal(json_text_or(review, "spec/resourceAttributes/verb", ""), "get");
    assert_string_equal(json_text_or(review, "spec/resourceAttributes/resource", ""), "pods");
    for (size_t size = 0; size < bytes->length; size++) { /* cut anywhere: refused or in part */
        owned(json) json_t *part = protobuf_decode(bytes->chars, size, &err);

        assert_true(!part || json_is_object(part));
    }
}

static void test_selectors_and_patches(void **state)
{
    static const struct {
        const char *selector;
        bool takes;
    } rows[] = {
        { "", true },
        { "a", true },
        { "!a", false },
        { "a=1", true },
        { "a==2", false },
        { "a!=2", true },
        { "b!=2", true },
        { "a in (1,2)", true },
        { "a notin (1)", false },
        { "b notin (1)", true },
        { "a>0", true },
        { "a<1", false },
        { "a=1,!b", true },
        { "a=1,b", false },
    };
    owned(json) json_t *labels = json_make("{s:s}", "a", "1");
    owned(json) json_t *object = json_make("{s:[{s:s, s:i}, {s:s}], s:i}", "containers", "name",
                                           "x", "old", 1, "name", "y", "gone", 1);
    owned(json) json_t *patch = json_make("{s:[{s:s, s:i}, {s:s, s:s}], s:n, s:[s]}", "containers",
                                          "name", "x", "new", 2, "$patch", "delete", "name", "y",
                                          "gone", "$setElementOrder/containers", "x");
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(selector) struct selector *selector = selector_of_labels(rows[i].selector, &err);

        assert_non_null(selector);
        if (selector_takes_labels(selector, labels) != rows[i].takes)
            fail_msg("%s", rows[i].selector);
    }
    patch_merge_strategic(object, patch);

    owned(chars) char *printed = json_print(object);

    assert_string_equal(printed, "{\"containers\":[{\"name\":\"x\",\"old\":1,\"new\":2}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refusals_are_those_of_a_real_server, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(test_a_dry_run_changes_nothing, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_objects_have_what_clients_require, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(test_a_table_has_the_cells_that_kubectl_prints, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(test_a_drain_takes_pods_away_and_the_referee_is_silent,
                                        open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_an_apply_respects_other_managers, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(test_a_queue_of_kueue_is_kept, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_a_posted_deployment_runs_pods, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(test_large_numbers_are_bounded, open_bench, close_bench),
        cmocka_unit_test(test_a_review_reads_protobuf),
        cmocka_unit_test(test_selectors_and_patches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
