/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs against a scripted API server: what is on the wire, and what each answer means.
 */
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"

static const char POD_URL[] = SERVER "/api/v1/namespaces/s/pods/p";
static const char EVICT_URL[] = SERVER "/api/v1/namespaces/s/pods/p/eviction";
static const char NODE_URL[] = SERVER "/api/v1/nodes/n";

static const struct pod_ref pod = { .namespace = "s", .name = "p", .uid = "U" };

static void evict(struct bench *bench)
{
    cluster_evict_pod(bench->cluster, &pod, 0, bench_done, bench);
}

static void delete_pod(struct bench *bench)
{
    cluster_delete_pod(bench->cluster, &pod, 0, bench_done, bench);
}

static void patch_node(struct bench *bench)
{
    owned(json) json_t *patch = json_make("{s:{s:b}}", "spec", "unschedulable", 1);
    cluster_patch_node(bench->cluster, "n", patch, bench_done, bench);
}

static void read_node(struct bench *bench)
{
    cluster_read_node(bench->cluster, "n", bench_done, bench);
}

/* One verb, one step, and what must come of it. */
struct verb_case {
    const char *name;
    void (*act)(struct bench *bench);
    struct script_step step;
    enum error_kind kind;
    int64_t retry_after_ms;
    bool is_budget;
    const char *text; /* in the error or the body */
};

static void play(const struct verb_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct verb_case *it = &cases[i];
        struct bench bench;
        bench_open(&bench, &it->step, 1);
        it->act(&bench);
        assert_int_equal(bench.calls, 0); /* never from inside the verb */
        loop_run(bench.loop);
        if (bench.calls != 1 || bench.err.kind != it->kind ||
            bench.err.retry_after_ms != it->retry_after_ms ||
            cluster_is_budget(&bench.err) != it->is_budget ||
            !strstr(bench.body ?: bench.err.text, it->text ?: ""))
            fail_msg("%s: %d calls, %s, %d ms, \"%s\"", it->name, bench.calls,
                     error_kind_name(bench.err.kind), (int)bench.err.retry_after_ms,
                     bench.body ?: bench.err.text);
        bench_close(&bench);
    }
}

#define FAILURE(code, reason, message, details)                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":" #code ",\"reason\":\"" reason          \
    "\",\"message\":\"" message "\",\"details\":{" details "}}"
#define SUCCESS "{\"kind\":\"Status\",\"status\":\"Success\"}"
#define BUDGET(text) "\"causes\":[{\"reason\":\"DisruptionBudget\",\"message\":\"" text "\"}]"
#define TWO_BUDGETS "This pod has more than one PodDisruptionBudget, which is not supported."
#define STEP(status_, answer_)                                                                     \
    {                                                                                              \
        .method = HTTP_POST, .url = EVICT_URL, .status = (status_), .answer = (answer_)            \
    }

static const struct verb_case eviction_cases[] = {
    { "201 success", evict, STEP(201, SUCCESS), ERROR_NONE, 0, false, "Success" },
    { "200 success", evict, STEP(200, SUCCESS), ERROR_NONE, 0, false, "Success" },
    { "201 that is a failure", evict, STEP(201, FAILURE(500, "InternalError", TWO_BUDGETS, "")),
      ERROR_DENIED, 0, false, "more than one PodDisruptionBudget" },
    { "500 two budgets", evict, STEP(500, FAILURE(500, "InternalError", TWO_BUDGETS, "")),
      ERROR_DENIED, 0, false, "more than one" },
    { "201 failure without a code", evict,
      STEP(201, "{\"kind\":\"Status\",\"status\":\"Failure\"}"), ERROR_UNKNOWN_OUTCOME, 0, false,
      "" },
    { "budget is exhausted", evict,
      STEP(429, FAILURE(429, "TooManyRequests", "Cannot evict pod",
                        BUDGET("The disruption budget web needs 5 healthy pods"))),
      ERROR_THROTTLED, 0, true, "The disruption budget web needs 5" },
    { "budget is being processed", evict,
      STEP(429, FAILURE(429, "TooManyRequests", "Cannot evict pod",
                        BUDGET("still being processed") ",\"retryAfterSeconds\":10")),
      ERROR_THROTTLED, 10000, true, "still being processed" },
    { "overload as text",
      evict,
      { HTTP_POST, EVICT_URL, 429, "Too many requests, please try again later.",
        .retry_after = "3" },
      ERROR_THROTTLED,
      3000,
      false,
      "Too many requests" },
    { "overload as Status", evict,
      STEP(429, FAILURE(429, "TooManyRequests", "busy", "\"retryAfterSeconds\":1")),
      ERROR_THROTTLED, 1000, false, "busy" },
    { "a day as a header",
      evict,
      { HTTP_POST, EVICT_URL, 429, "later", .retry_after = "80000" },
      ERROR_THROTTLED,
      5 * MINUTE_MS,
      false,
      "the server asked to wait 22h13m, and sluice waits at most 5m: the server is busy: later" },
    { "a day as a date",
      evict,
      { HTTP_POST, EVICT_URL, 503, "later", .retry_after = "Sun, 22 Nov 2026 13:00:00 GMT",
        .date = "Sat, 21 Nov 2026 13:00:00 GMT" },
      ERROR_UNKNOWN_OUTCOME,
      5 * MINUTE_MS,
      false,
      "the server asked to wait 1d, and sluice waits at most 5m: 503: later" },
    { "more than a day in the body", evict,
      STEP(429, FAILURE(429, "TooManyRequests", "Cannot evict pod",
                        BUDGET("still being processed") ",\"retryAfterSeconds\":800000")),
      ERROR_THROTTLED, 5 * MINUTE_MS, true, "the server asked to wait 9d6h, and sluice waits" },
    { "a webhook buys time", evict,
      STEP(429, FAILURE(429, "", "admission webhook \\\"v\\\" denied the request: wait", "")),
      ERROR_THROTTLED, 0, true, "held by an admission webhook" },
    { "a webhook forbids", evict,
      STEP(403, FAILURE(403, "Forbidden", "admission webhook \\\"v\\\" denied the request", "")),
      ERROR_THROTTLED, 0, true, "denied" },
    { "a webhook forbids with a code of its own", evict,
      STEP(500, FAILURE(500, "", "admission webhook \\\"v\\\" denied the request: wait", "")),
      ERROR_THROTTLED, 0, true, "held by an admission webhook" },
    { "a policy forbids", evict,
      STEP(422,
           FAILURE(422, "Invalid",
                   "pods \\\"p\\\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' "
                   "denied request: keep",
                   "")),
      ERROR_THROTTLED, 0, true, "held by an admission policy" },
    { "a webhook is down", evict,
      STEP(500, FAILURE(500, "InternalError", "failed calling webhook \\\"v\\\"", "")),
      ERROR_TRANSIENT, 0, false, "failed calling webhook" },
    { "the namespace ends", evict,
      STEP(403, FAILURE(403, "Forbidden", "being terminated",
                        "\"causes\":[{\"reason\":\"NamespaceTerminating\"}]")),
      ERROR_TRANSIENT, 0, false, "terminated" },
    { "the budget's controller is behind", evict,
      STEP(403, FAILURE(403, "Forbidden", "pdb disruptions allowed is negative",
                        "\"name\":\"web\",\"kind\":\"poddisruptionbudget\"")),
      ERROR_THROTTLED, 30000, true, "negative" },
    { "no permission", evict, STEP(403, FAILURE(403, "Forbidden", "cannot create", "")),
      ERROR_DENIED, 0, false, "403 Forbidden: cannot create" },
    { "gone", evict, STEP(404, FAILURE(404, "NotFound", "pods \\\"p\\\" not found", "")),
      ERROR_NOT_FOUND, 0, false, "not found" },
    { "not an API server", evict, STEP(404, "<html>nginx</html>"), ERROR_INVALID, 0, false,
      "nginx" },
    { "no such resource", evict,
      STEP(404, FAILURE(404, "NotFound", "the server could not find the requested resource", "")),
      ERROR_INVALID, 0, false, "could not find" },
    { "another pod of that name", evict,
      STEP(409, FAILURE(409, "Conflict", "Precondition failed: UID in precondition: U", "")),
      ERROR_CONFLICT, 0, false, "Precondition" },
    { "the server's own conflict", evict,
      STEP(504, FAILURE(504, "Timeout",
                        "couldn't update PodDisruptionBudget \\\"web\\\" due to conflicts",
                        "\"retryAfterSeconds\":10")),
      ERROR_THROTTLED, 10000, true, "conflicts" },
    { "a proxy's 504", evict, STEP(504, "gateway timeout"), ERROR_UNKNOWN_OUTCOME, 0, false,
      "gateway" },
    { "bad request", evict, STEP(400, FAILURE(400, "BadRequest", "name does not match", "")),
      ERROR_INVALID, 0, false, "match" },
    { "401", evict, STEP(401, FAILURE(401, "Unauthorized", "Unauthorized", "")), ERROR_DENIED, 0,
      false, "401 Unauthorized" },
    { "a redirect", evict, STEP(302, ""), ERROR_INVALID, 0, false, "302" },
    { "success that is no JSON", evict, STEP(201, "ok"), ERROR_UNKNOWN_OUTCOME, 0, false,
      "no JSON" },
    { "answer lost",
      evict,
      { HTTP_POST, EVICT_URL, .fails = ERROR_UNKNOWN_OUTCOME },
      ERROR_UNKNOWN_OUTCOME,
      0,
      false,
      "cluster east: POST /api/v1/namespaces/s/pods/p" },
    { "never sent",
      evict,
      { HTTP_POST, EVICT_URL, .fails = ERROR_TRANSIENT },
      ERROR_TRANSIENT,
      0,
      false,
      "connection lost" },
    { "answer too long",
      evict,
      { HTTP_POST, EVICT_URL, .fails = ERROR_CORRUPT },
      ERROR_UNKNOWN_OUTCOME,
      0,
      false,
      "" },
};

static void answers_to_an_eviction(void **state)
{
    (void)state;
    play(eviction_cases, COUNT_OF(eviction_cases));
}

#define GONE(status_, answer_)                                                                     \
    {                                                                                              \
        .method = HTTP_DELETE, .url = POD_URL, .status = (status_), .answer = (answer_)            \
    }
static const struct verb_case delete_cases[] = {
    { "the pod", delete_pod, GONE(200, "{\"kind\":\"Pod\"}"), ERROR_NONE, 0, false, "Pod" },
    { "accepted", delete_pod, GONE(202, SUCCESS), ERROR_NONE, 0, false, "" },
    { "gone", delete_pod, GONE(404, FAILURE(404, "NotFound", "not found", "")), ERROR_NONE, 0,
      false, "NotFound" },
    { "another of that name", delete_pod,
      GONE(409, FAILURE(409, "Conflict",
                        "Precondition failed: UID in precondition: U, UID in object meta: V", "")),
      ERROR_NONE, 0, false, "Precondition" },
    { "another of that name, as newer servers say it", delete_pod,
      GONE(409, FAILURE(409, "Conflict",
                        "Operation cannot be fulfilled on Pod \\\"p\\\": the UID in the "
                        "precondition (U) does not match the UID in record (V). The object might "
                        "have been deleted and then recreated",
                        "")),
      ERROR_NONE, 0, false, "does not match" },
    { "another conflict", delete_pod, GONE(409, FAILURE(409, "Conflict", "modified", "")),
      ERROR_CONFLICT, 0, false, "modified" },
    { "a proxy's 404", delete_pod, GONE(404, "no route"), ERROR_INVALID, 0, false, "no route" },
    { "no permission", delete_pod, GONE(403, FAILURE(403, "Forbidden", "no", "")), ERROR_DENIED, 0,
      false, "" },
    { "a webhook's denial is no hold here", delete_pod,
      GONE(403, FAILURE(403, "Forbidden", "admission webhook \\\"v\\\" denied", "")), ERROR_DENIED,
      0, false, "" },
    { "503", delete_pod, GONE(503, ""), ERROR_UNKNOWN_OUTCOME, 0, false, "" },
    { "lost",
      delete_pod,
      { HTTP_DELETE, POD_URL, .fails = ERROR_UNKNOWN_OUTCOME },
      ERROR_UNKNOWN_OUTCOME,
      0,
      false,
      "" },
};

static void answers_to_a_delete(void **state)
{
    (void)state;
    play(delete_cases, COUNT_OF(delete_cases));
}

#define PATCHED(status_, answer_)                                                                  \
    {                                                                                              \
        .method = HTTP_PATCH, .url = NODE_URL, .status = (status_), .answer = (answer_)            \
    }
#define SEEN(status_, answer_)                                                                     \
    {                                                                                              \
        .method = HTTP_GET, .url = NODE_URL, .status = (status_), .answer = (answer_)              \
    }
static const struct verb_case other_cases[] = {
    { "patched", patch_node, PATCHED(200, "{\"kind\":\"Node\"}"), ERROR_NONE, 0, false, "Node" },
    { "changed first", patch_node,
      PATCHED(409, FAILURE(409, "Conflict", "the object has been modified", "")), ERROR_CONFLICT, 0,
      false, "modified" },
    { "made anew", patch_node,
      PATCHED(422, FAILURE(422, "Invalid", "metadata.uid: Invalid value: field is immutable", "")),
      ERROR_CONFLICT, 0, false, "" },
    { "wrong patch", patch_node, PATCHED(422, FAILURE(422, "Invalid", "spec.taints: bad", "")),
      ERROR_INVALID, 0, false, "" },
    { "gone", patch_node, PATCHED(404, FAILURE(404, "NotFound", "no", "")), ERROR_NOT_FOUND, 0,
      false, "" },
    { "500", patch_node, PATCHED(500, FAILURE(500, "InternalError", "etcd", "")),
      ERROR_UNKNOWN_OUTCOME, 0, false, "" },
    { "read", read_node, SEEN(200, "{\"kind\":\"Node\"}"), ERROR_NONE, 0, false, "Node" },
    { "read 404", read_node, SEEN(404, FAILURE(404, "NotFound", "no", "")), ERROR_NOT_FOUND, 0,
      false, "" },
    { "read 500", read_node, SEEN(500, "boom"), ERROR_TRANSIENT, 0, false, "boom" },
    { "read 503 with a wait",
      read_node,
      { HTTP_GET, NODE_URL, 503, "later", .retry_after = "5" },
      ERROR_TRANSIENT,
      5000,
      false,
      "later" },
    { "read lost",
      read_node,
      { HTTP_GET, NODE_URL, .fails = ERROR_UNKNOWN_OUTCOME },
      ERROR_TRANSIENT,
      0,
      false,
      "" },
    { "read cut", read_node, SEEN(200, "{\"kind\":"), ERROR_CORRUPT, 0, false, "" },
    { "read a Failure in 200", read_node, SEEN(200, FAILURE(403, "Forbidden", "no", "")),
      ERROR_DENIED, 0, false, "" },
    { "read 410", read_node, SEEN(410, FAILURE(410, "Expired", "too old", "")), ERROR_CONFLICT, 0,
      false, "too old" },
};

static void answers_to_patches_and_reads(void **state)
{
    (void)state;
    play(other_cases, COUNT_OF(other_cases));
}

static void mark(struct bench *bench)
{
    cluster_mark_pod(bench->cluster, &pod, "moves \"now\"", bench_done, bench);
}

static void delete_node(struct bench *bench)
{
    cluster_delete_node(bench->cluster, "n", "U", bench_done, bench);
}

static void read_pods(struct bench *bench)
{
    cluster_read_pods(bench->cluster, "n", NULL, bench_done, bench);
}

static void read_more_pods(struct bench *bench)
{
    cluster_read_pods(bench->cluster, "n", "a=&b", bench_done, bench);
}

static void read_web(struct bench *bench)
{
    cluster_read_at(bench->cluster, "/apis/apps/v1/namespaces/s/deployments/web", bench_done,
                    bench);
}

static void write_scale(struct bench *bench)
{
    owned(json) json_t *patch = json_make("{s:{s:i}}", "spec", "replicas", 3);

    cluster_patch_at(bench->cluster, "/apis/apps/v1/namespaces/s/deployments/web/scale", patch,
                     bench_done, bench);
}

static void what_is_on_the_wire(void **state)
{
#define PODS SERVER "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=500"
#define WEB SERVER "/apis/apps/v1/namespaces/s/deployments/web"
#define SCALE WEB "/scale?fieldManager=sluice"
    static const struct {
        void (*act)(struct bench *bench);
        enum http_method method;
        const char *url;
        const char *type;
        const char *body;
    } cases[] = {
        { evict, HTTP_POST, EVICT_URL, "application/json",
          "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\","
          "\"namespace\":\"s\"},\"deleteOptions\":{\"preconditions\":{\"uid\":\"U\"}}}" },
        { delete_pod, HTTP_DELETE, POD_URL, "application/json",
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"U\"},"
          "\"propagationPolicy\":\"Background\",\"gracePeriodSeconds\":0}" },
        { delete_node, HTTP_DELETE, NODE_URL, "application/json",
          "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"U\"},"
          "\"propagationPolicy\":\"Background\"}" },
        { patch_node, HTTP_PATCH, NODE_URL, "application/merge-patch+json",
          "{\"spec\":{\"unschedulable\":true}}" },
        { mark, HTTP_PATCH, SERVER "/api/v1/namespaces/s/pods/p/status",
          "application/strategic-merge-patch+json",
          "{\"metadata\":{\"uid\":\"U\"},\"status\":{\"conditions\":[{"
          "\"type\":\"DisruptionTarget\",\"status\":\"True\","
          "\"reason\":\"DeletionByCapacityBroker\",\"message\":\"moves \\\"now\\\"\","
          "\"lastTransitionTime\":\"2026-09-21T14:13:20Z\"}]}}" },
        { read_node, HTTP_GET, NODE_URL, "", "" },
        { read_pods, HTTP_GET, PODS, "", "" },
        { read_more_pods, HTTP_GET, PODS "&continue=a%3D%26b", "", "" },
        { read_web, HTTP_GET, WEB, "", "" },
        { write_scale, HTTP_PATCH, SCALE, "application/merge-patch+json",
          "{\"spec\":{\"replicas\":3}}" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bench bench;
        struct script_step step = { cases[i].method, cases[i].url, 200, .answer = "{}" };
        bench_open(&bench, &step, 1);
        cases[i].act(&bench);
        loop_run(bench.loop);
        assert_int_equal(bench.calls, 1);
        assert_string_equal(bench.script->content_type, cases[i].type);
        assert_string_equal(bench.script->body, cases[i].body);
        assert_string_equal(bench.script->authorization, "Bearer first");
        assert_int_equal(bench.script->is_mutation, cases[i].method != HTTP_GET);
        bench_close(&bench);
    }
}

static void a_renewed_token_is_tried_once_after_401(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_PATCH, NODE_URL, 401, .answer = "{}", .delay_ms = 5 },
        { HTTP_PATCH, NODE_URL, 200, .answer = "{}" },
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    patch_node(&bench);
    bench_write(bench.folder, "token", "second");
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_string_equal(bench.script->authorization, "Bearer second");
    bench_close(&bench);
}

static void a_401_is_final_the_second_time(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_PATCH, NODE_URL, 401, .answer = "{}", .delay_ms = 5 },
        { HTTP_PATCH, NODE_URL, 401, .answer = "{}", .delay_ms = 5 },
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    patch_node(&bench);
    bench_write(bench.folder, "token", "second");
    loop_run_until(bench.loop, loop_now(bench.loop) + 7);
    bench_write(bench.folder, "token", "third");
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_DENIED);
    bench_close(&bench);
}

static void a_token_file_that_is_gone_is_a_late_failure(void **state)
{
    struct bench bench;
    (void)state;
    bench_open(&bench, NULL, 0);
    owned(chars) char *path = text_format("%s/token", bench.folder);
    unlink(path);
    evict(&bench);
    assert_int_equal(bench.calls, 0);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
}

static void closing_ends_what_is_in_flight_in_silence(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_POST, EVICT_URL, .hangs = true },
        { HTTP_GET, NODE_URL, .hangs = true },
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    evict(&bench);
    read_node(&bench);
    loop_run_until(bench.loop, loop_now(bench.loop) + 1000);
    assert_int_equal(bench.script->in_flight, 2);
    bench_close(&bench);
    assert_int_equal(bench.calls, 0);
}

static void close_it(void *context, const json_t *body, const struct error *err)
{
    struct bench *bench = context;
    (void)body;
    (void)err;
    bench->calls++;
    cluster_close(steal(&bench->cluster));
}

static void the_cluster_may_be_closed_from_inside_done(void **state)
{
    static const struct script_step steps[] = {
        { HTTP_GET, NODE_URL, 200, .answer = "{}" },
        { HTTP_GET, NODE_URL, .hangs = true },
    };
    struct bench bench;
    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cluster_read_node(bench.cluster, "n", close_it, &bench);
    cluster_read_node(bench.cluster, "n", close_it, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_to_an_eviction),
        cmocka_unit_test(answers_to_a_delete),
        cmocka_unit_test(answers_to_patches_and_reads),
        cmocka_unit_test(what_is_on_the_wire),
        cmocka_unit_test(a_renewed_token_is_tried_once_after_401),
        cmocka_unit_test(a_401_is_final_the_second_time),
        cmocka_unit_test(a_token_file_that_is_gone_is_a_late_failure),
        cmocka_unit_test(closing_ends_what_is_in_flight_in_silence),
        cmocka_unit_test(the_cluster_may_be_closed_from_inside_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
