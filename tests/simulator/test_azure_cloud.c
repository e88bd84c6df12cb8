/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Azure's wire: tokens, paths, bodies that are refused, ETags, and operations that run for minutes.
 */
#include "tests/simulator/bench.h"

#define FORM "application/x-www-form-urlencoded"
#define ASSERTION_TYPE                                                                             \
    "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
#define GRANT "grant_type=client_credentials&client_id=c&scope=https%3A%2F%2Farm%2F.default"
#define TOKEN_PATH "/azure/t-1/oauth2/v2.0/token"
#define POOLS                                                                                      \
    "/azure/subscriptions/s-1/resourceGroups/rg/providers/Microsoft.ContainerService/"             \
    "managedClusters/c/agentPools"
#define VERSION "?api-version=2026-04-01"
#define GPU POOLS "/gpu"

static const char config[] =
    "clusters:\n"
    "  lab: { role: research, kubeconfig: lab.kubeconfig }\n"
    "reservations:\n"
    "  main: { machine: m, region: region, zone: region-1, gpus_per_node: 8, nodes: 4 }\n"
    "providers:\n"
    "  cloud: { kind: azure, subscription: s-1 }\n"
    "pools:\n"
    "  lab-gpu: { cluster: lab, reservation: main, provider: cloud, resource_group: rg,"
    " managed_cluster: c, agent_pool: gpu }\n"
    "queues: {}\n"
    "workloads: {}\n";

static const char world[] =
    "pools: { lab-gpu: { nodes: 3, page: 2 } }\n"
    "latency: { api: 10ms, delete: 60s, create: 120s, join: 60s, gpus: 30s }\n";

static int open_bench(void **state)
{
    struct bench *bench = mem_new(sizeof *bench);

    bench_open(bench, config, world, NULL);
    *state = bench;
    return 0;
}

static int close_bench(void **state)
{
    bench_close(*state);
    mem_free(*state);
    return 0;
}

static struct bench_answer ask_token(struct bench *bench, const char *form)
{
    return bench_ask(bench,
                     &(struct bench_request){
                         .method = HTTP_POST, .path = TOKEN_PATH, .type = FORM, .body = form });
}

static char *token_of(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = ask_token(bench, GRANT "&client_secret=s");

    assert_int_equal(answer.status, 200);
    return mem_copy_chars(json_text_or(answer.body, "access_token", ""));
}

static struct bench_answer ask(struct bench *bench, enum http_method method, const char *path,
                               const char *body, const char *if_match)
{
    owned(chars) char *token = token_of(bench);

    return bench_ask(
        bench, &(struct bench_request){ .method = method,
                                        .path = path,
                                        .bearer = token,
                                        .body = body,
                                        .extra = { if_match ? "If-Match" : NULL, if_match } });
}

/* The whole pool as a client sends it back, with another count. */
static char *body_with(struct bench *bench, int count)
{
    static const char *const answers[] = { "eTag", "provisioningState", "powerState", "status",
                                           "currentOrchestratorVersion" };
    owned(bench_answer) struct bench_answer answer = ask(bench, HTTP_GET, GPU VERSION, NULL, NULL);
    json_t *properties = json_at(answer.body, "properties");
    owned(json) json_t *body = json_make("{s:O}", "properties", properties);

    for (size_t i = 0; i < COUNT_OF(answers); i++)
        json_object_del(properties, answers[i]);
    json_put(properties, "count", json_integer(count));
    return json_print(body);
}

static char *etag_of(struct bench *bench)
{
    owned(bench_answer) struct bench_answer answer = ask(bench, HTTP_GET, GPU VERSION, NULL, NULL);

    return mem_copy_chars(json_text_or(answer.body, "properties/eTag", NULL));
}

static char *status_of(struct bench *bench, const char *url)
{
    owned(bench_answer) struct bench_answer answer = ask(
        bench, HTTP_GET, url + strlen("http://127.0.0.1:1"), NULL, NULL);

    assert_int_equal(answer.status, 200);
    return mem_copy_chars(json_text_or(answer.body, "status", ""));
}

static void test_tokens(void **state)
{
    static const struct {
        const char *form;
        int status;
        const char *error;
        int code; /* of AADSTS */
    } cases[] = {
        { GRANT "&client_secret=s", 200, "", 0 },
        { GRANT "&" ASSERTION_TYPE "&client_assertion=a.b.c", 200, "", 0 },
        { GRANT, 401, "invalid_client", 7000216 },
        { GRANT "&client_secret=wrong", 401, "invalid_client", 7000215 },
        { GRANT "&client_assertion=a.b.c", 400, "invalid_request", 900144 },
        { GRANT "&" ASSERTION_TYPE "&client_assertion=expired", 401, "invalid_client", 700024 },
        { "grant_type=password&client_id=c&scope=a%2F.default", 400, "unsupported_grant_type",
          70003 },
        { "grant_type=client_credentials&client_id=c&scope=a&client_secret=s", 400, "invalid_scope",
          1002012 },
        { "grant_type=client_credentials", 400, "invalid_request", 900144 },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = ask_token(bench, cases[i].form);

        print_message("%s\n", cases[i].form);
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(json_text_or(answer.body, "error", ""), cases[i].error);
        if (cases[i].code)
            assert_int_equal(
                json_integer_value(json_array_get(json_at(answer.body, "error_codes"), 0)),
                cases[i].code);
    }
}

static void test_a_token_ends(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *token = token_of(bench);
    struct bench_request request = { .method = HTTP_GET, .path = GPU VERSION, .bearer = token };
    owned(bench_answer) struct bench_answer before = bench_ask(bench, &request);

    assert_int_equal(before.status, 200);
    bench_wait(bench, HOUR_MS);
    owned(bench_answer) struct bench_answer after = bench_ask(bench, &request);

    assert_int_equal(after.status, 401);
    assert_string_equal(json_text_or(after.body, "error/code", ""), "ExpiredAuthenticationToken");
    request.bearer = "az-sim.9999999999999.0";
    owned(bench_answer) struct bench_answer forged = bench_ask(bench, &request);

    assert_string_equal(json_text_or(forged.body, "error/code", ""), "InvalidAuthenticationToken");
}

static void test_refusals(void **state)
{
    static const struct {
        enum http_method method;
        const char *path;
        const char *body;
        int status;
        const char *code;
    } cases[] = {
        { HTTP_GET, GPU, NULL, 400, "MissingApiVersionParameter" },
        { HTTP_GET, GPU "?api-version=new", NULL, 400, "InvalidApiVersionParameter" },
        { HTTP_GET, GPU VERSION "&x=y", NULL, 400, "InvalidQueryParameter" },
        { HTTP_GET, POOLS "/other" VERSION, NULL, 404, "NotFound" },
        { HTTP_GET, GPU "/machines/aks-gpu-1-vmss000000" VERSION, NULL, 404, "NotFound" },
        { HTTP_GET,
          "/azure/subscriptions/s-2/resourceGroups/rg/providers/Microsoft.ContainerService/"
          "managedClusters/c/agentPools/gpu" VERSION,
          NULL, 404, "SubscriptionNotFound" },
        { HTTP_POST, GPU VERSION, "{}", 405, "HttpMethodNotSupported" },
        { HTTP_GET, GPU "/deleteMachines" VERSION, NULL, 405, "HttpMethodNotSupported" },
        { HTTP_PUT, GPU VERSION, "[]", 400, "InvalidRequestContent" },
        { HTTP_PUT, GPU VERSION, "{\"name\":\"gpu\",\"properties\":{}}", 400,
          "InvalidRequestContent" },
        { HTTP_PUT, GPU VERSION, "{\"properties\":{}}", 400, "InvalidParameter" },
        { HTTP_PUT, GPU VERSION, "{\"properties\":{\"count\":1001}}", 400, "InvalidParameter" },
        { HTTP_PUT, GPU VERSION, "{\"properties\":{\"count\":4,\"eTag\":\"e\"}}", 400,
          "InvalidRequestContent" },
        { HTTP_PUT, GPU VERSION, "{\"properties\":{\"count\":4}}", 400,
          "PropertyChangeNotAllowed" },
        { HTTP_POST, GPU "/deleteMachines" VERSION, "{}", 400, "InvalidParameter" },
        { HTTP_POST, GPU "/deleteMachines" VERSION, "{\"machineNames\":[]}", 400,
          "InvalidParameter" },
        { HTTP_POST, GPU "/deleteMachines" VERSION, "{\"machineNames\":[\"x\"]}", 404,
          "MachineNotFound" },
        { HTTP_POST, GPU "/abort" VERSION, NULL, 409, "OperationNotAllowed" },
    };
    struct bench *bench = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(bench_answer) struct bench_answer answer = ask(bench, cases[i].method, cases[i].path,
                                                             cases[i].body, NULL);
        const char *code = json_text_or(answer.body, "error/code",
                                        json_text_or(answer.body, "code", ""));

        print_message("%s %s\n", cases[i].path, cases[i].body ?: "");
        assert_int_equal(answer.status, cases[i].status);
        assert_string_equal(code, cases[i].code);
        assert_int_equal(simulator_pool_target(bench->simulator, "lab-gpu"), 3);
    }
}

static void test_pages(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer first = ask(bench, HTTP_GET, GPU "/machines" VERSION,
                                                        NULL, NULL);
    const char *next = json_text_or(first.body, "nextLink", "");

    assert_int_equal(json_array_size(json_at(first.body, "value")), 2);
    assert_true(text_starts_with(next, "http://127.0.0.1:1/azure/subscriptions/"));
    owned(bench_answer) struct bench_answer last = ask(
        bench, HTTP_GET, next + strlen("http://127.0.0.1:1"), NULL, NULL);

    assert_int_equal(json_array_size(json_at(last.body, "value")), 1);
    assert_null(json_at(last.body, "nextLink"));
}

/* A write under the ETag that was read is accepted once. */
static void test_etags_and_operations(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *etag = etag_of(bench);
    owned(chars) char *four = body_with(bench, 4);
    owned(bench_answer) struct bench_answer stale = ask(bench, HTTP_PUT, GPU VERSION, four, "e-0");
    owned(bench_answer) struct bench_answer good = ask(bench, HTTP_PUT, GPU VERSION, four, etag);
    owned(bench_answer) struct bench_answer busy = ask(bench, HTTP_PUT, GPU VERSION, four, NULL);

    assert_int_equal(stale.status, 412);
    assert_int_equal(good.status, 200);
    assert_string_equal(json_text_or(good.body, "properties/provisioningState", ""), "Scaling");
    assert_int_equal(good.retry_after_ms, 10000);
    assert_int_equal(busy.status, 409);
    assert_string_equal(json_text_or(busy.body, "code", ""), "OperationNotAllowed");
    assert_non_null(strstr(json_text_or(busy.body, "message", ""), "is in progress"));

    owned(chars) char *running = status_of(bench, good.operation);

    assert_string_equal(running, "InProgress");
    bench_wait(bench, 5 * MINUTE_MS);
    owned(chars) char *done = status_of(bench, good.operation);
    owned(chars) char *later = etag_of(bench);

    assert_string_equal(done, "Succeeded");
    assert_string_not_equal(etag, later);
}

static void test_a_growth_that_fails(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *five = body_with(bench, 5); /* of four in the reservation */
    owned(bench_answer) struct bench_answer grown = ask(bench, HTTP_PUT, GPU VERSION, five, NULL);

    assert_int_equal(grown.status, 200);
    bench_wait(bench, 5 * MINUTE_MS);
    owned(bench_answer) struct bench_answer pool = ask(bench, HTTP_GET, GPU VERSION, NULL, NULL);
    owned(chars) char *status = status_of(bench, grown.operation);
    const json_t *details = json_at(pool.body, "properties/status/provisioningError/details");

    assert_string_equal(status, "Failed");
    assert_string_equal(json_text_or(pool.body, "properties/provisioningState", ""), "Failed");
    assert_int_equal(json_int_or(pool.body, "properties/count", 0), 5);
    assert_string_equal(json_text_or(json_array_get(details, 0), "code", ""), "AllocationFailed");
    assert_int_equal(simulator_pool_running(bench->simulator, "lab-gpu"), 4);
}

static void test_an_abort(void **state)
{
    struct bench *bench = *state;
    owned(chars) char *five = body_with(bench, 5);
    owned(bench_answer) struct bench_answer grown = ask(bench, HTTP_PUT, GPU VERSION, five, NULL);
    owned(bench_answer) struct bench_answer aborted = ask(bench, HTTP_POST, GPU "/abort" VERSION,
                                                          NULL, NULL);

    assert_int_equal(grown.status, 200);
    assert_int_equal(aborted.status, 202);
    assert_non_null(strstr(aborted.operation, "/operationresults/"));
    bench_wait(bench, 5 * MINUTE_MS);
    owned(bench_answer) struct bench_answer pool = ask(bench, HTTP_GET, GPU VERSION, NULL, NULL);
    owned(bench_answer) struct bench_answer result = ask(
        bench, HTTP_GET, aborted.operation + strlen("http://127.0.0.1:1"), NULL, NULL);

    assert_string_equal(json_text_or(pool.body, "properties/provisioningState", ""), "Canceled");
    assert_int_equal(result.status, 204);
    assert_int_equal(simulator_pool_running(bench->simulator, "lab-gpu"), 3);
}

static void test_a_deletion(void **state)
{
    struct bench *bench = *state;
    owned(bench_answer) struct bench_answer list = ask(bench, HTTP_GET, GPU "/machines" VERSION,
                                                       NULL, NULL);
    const char *name = json_text_or(json_array_get(json_at(list.body, "value"), 0), "name", "");
    owned(chars) char *body = text_format("{\"machineNames\":[\"%s\"]}", name);
    owned(bench_answer) struct bench_answer deleted = ask(
        bench, HTTP_POST, GPU "/deleteMachines" VERSION, body, NULL);

    assert_int_equal(deleted.status, 202);
    assert_int_equal(simulator_pool_target(bench->simulator, "lab-gpu"), 2);
    owned(chars) char *running = status_of(bench, deleted.operation);

    assert_string_equal(running, "InProgress");
    bench_wait(bench, 5 * MINUTE_MS);
    owned(chars) char *done = status_of(bench, deleted.operation);

    assert_string_equal(done, "Succeeded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tokens, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_a_token_ends, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_refusals, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_pages, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_etags_and_operations, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_a_growth_that_fails, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_an_abort, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(test_a_deletion, open_bench, close_bench),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
