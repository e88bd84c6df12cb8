/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same fakes behind real sockets: lists, a watch, a lost answer, and the kubeconfigs.
 */
#include "tests/simulator/bench.h"

enum { PATIENCE_MS = 2 * MINUTE_MS };

struct place {
    char *folder;
    struct loop *loop;
    struct simulator *simulator;
    struct http *http;
    char *url;
};

/* Latencies of a real run are too long for a test. */
static const char quick_world[] = "pools: { prod-east: { nodes: 4 }, lab-east: { nodes: 2 } }\n"
                                  "latency: { api: 1ms..2ms, pod_stop: 10ms }\n"
                                  "jobs: { backlog: 8, duration: 2h..4h }\n";

static int open_place(void **state)
{
    struct place *place = mem_new(sizeof *place);
    struct error err = { 0 };
    int port = 0;

    place->folder = test_folder_new();

    owned(chars) char *config = test_folder_write(place->folder, "sluice.yaml", bench_config);
    owned(chars) char *world = test_folder_write(place->folder, "world.yaml", quick_world);

    place->loop = loop_libevent_new(&err);
    assert_non_null(place->loop);
    place->simulator = simulator_new(place->loop, config, world, &err);
    assert_non_null(place->simulator);
    assert_int_equal(simulator_listen(place->simulator, 0, &port, &err), 0);
    place->url = text_format("http://127.0.0.1:%d", port);
    place->http = http_curl_new(place->loop, NULL, &err);
    assert_non_null(place->http);
    *state = place;
    return 0;
}

static int close_place(void **state)
{
    struct place *place = *state;

    http_free(place->http);
    simulator_free(place->simulator);
    loop_free(place->loop);
    test_folder_free(place->folder);
    mem_free(place->url);
    mem_free(place);
    return 0;
}

static void wait_for(struct place *place, const bool *is_done)
{
    for (int64_t waited_ms = 0; waited_ms < PATIENCE_MS && !*is_done; waited_ms += 10)
        loop_run_until(place->loop, loop_now(place->loop) + 10);
    assert_true(*is_done);
}

static struct bench_answer ask(struct place *place, enum http_method method, const char *path,
                               const char *body)
{
    struct bench_answer answer = { 0 };
    owned(chars) char *url = text_format("%s%s", place->url, path);
    const struct http_header headers[] = { { "Authorization", "Bearer sim-lab" },
                                           { "Content-Type", MERGE } };
    struct http_request request = { .method = method,
                                    .url = url,
                                    .headers = headers,
                                    .header_count = COUNT_OF(headers),
                                    .body = body,
                                    .body_size = body ? strlen(body) : 0,
                                    .is_mutation = method != HTTP_GET,
                                    .timeout_ms = PATIENCE_MS };

    http_send(place->http, &request, bench_done, &answer);
    wait_for(place, &answer.is_done);
    return answer;
}

struct watching {
    bool is_told; /* a frame came */
    struct bench_answer end;
};

static void take(void *context, const char *bytes, size_t size)
{
    owned(text) struct text *piece = text_new(1 << 20);

    text_add_bytes(piece, bytes, size);
    ((struct watching *)context)->is_told |= strstr(piece->chars, "MODIFIED") != NULL;
}

static void ended(void *context, const struct http_answer *answer, const struct error *err)
{
    bench_done(&((struct watching *)context)->end, answer, err);
}

static void test_a_watch_over_a_socket_tells_of_a_patch(void **state)
{
    struct place *place = *state;
    owned(bench_answer) struct bench_answer nodes = ask(place, HTTP_GET,
                                                        "/clusters/lab/api/v1/nodes", NULL);
    json_t *node = json_array_get(json_at(nodes.body, "items"), 0);
    owned(chars) char *patch = text_format("/clusters/lab/api/v1/nodes/%s",
                                           json_text_or(node, "metadata/name", ""));
    owned(chars) char *url = text_format(
        "%s/clusters/lab/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=%s", place->url,
        json_text_or(nodes.body, "metadata/resourceVersion", ""));
    const struct http_header header = { "Authorization", "Bearer sim-lab" };
    struct http_request request = {
        .url = url, .headers = &header, .header_count = 1, .on_chunk = take
    };
    struct watching watching = { 0 };

    assert_int_equal(nodes.status, 200);
    http_send(place->http, &request, ended, &watching);

    owned(bench_answer) struct bench_answer answer = ask(place, HTTP_PATCH, patch,
                                                         "{\"spec\":{\"unschedulable\":true}}");

    assert_int_equal(answer.status, 200);
    wait_for(place, &watching.is_told);
    wait_for(place, &watching.end.is_done);
    assert_int_equal(watching.end.status, 200);
    bench_answer_clear(&watching.end);
}

static void test_a_lost_answer_is_an_unknown_outcome(void **state)
{
    struct place *place = *state;

    simulator_fault_next(place->simulator, "lost_answer", "list_nodes");

    owned(bench_answer) struct bench_answer lost = ask(place, HTTP_GET,
                                                       "/clusters/lab/api/v1/nodes", NULL);
    owned(bench_answer) struct bench_answer next = ask(place, HTTP_GET,
                                                       "/clusters/lab/api/v1/nodes", NULL);

    assert_int_equal(lost.error, ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(next.status, 200);
}

static void test_the_report_is_served(void **state)
{
    struct place *place = *state;
    owned(bench_answer) struct bench_answer report = ask(place, HTTP_GET, "/simulator/report",
                                                         NULL);

    assert_int_equal(report.status, 200);
    assert_int_equal(json_int_or(report.body, "pools/prod-east/ready", 0), 4);
}

static void test_faults_begin_and_end_by_request(void **state)
{
    static const char path[] = "/simulator/faults";
    static const char nodes[] = "/clusters/lab/api/v1/nodes";
    static const char *const wrong[] = { "{\"stuck_pods\":1}", "{\"stuck_pod\":2}",
                                         "{\"stuck_pod\":\"1\"}", "[]" };
    struct place *place = *state;
    owned(bench_answer) struct bench_answer begun = ask(place, HTTP_PUT, path, "{\"http_500\":1}");
    owned(bench_answer) struct bench_answer failed = ask(place, HTTP_GET, nodes, NULL);

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        owned(bench_answer) struct bench_answer refused = ask(place, HTTP_PUT, path, wrong[i]);

        assert_int_equal(refused.status, 400);
    }

    owned(bench_answer) struct bench_answer still = ask(place, HTTP_GET, nodes, NULL);
    owned(bench_answer) struct bench_answer ended = ask(place, HTTP_PUT, path, "{}");
    owned(bench_answer) struct bench_answer well = ask(place, HTTP_GET, nodes, NULL);

    assert_int_equal(begun.status, 200);
    assert_int_equal(failed.status, 500);
    assert_int_equal(still.status, 500);
    assert_int_equal(ended.status, 200);
    assert_int_equal(well.status, 200);
}

static void test_kubeconfigs_point_to_the_server(void **state)
{
    struct place *place = *state;
    struct error err = { 0 };
    owned(chars) char *folder = text_format("%s/kube", place->folder);
    owned(chars) char *path = text_format("%s/lab.kubeconfig", folder);
    owned(chars) char *wanted = text_format("server: %s/clusters/lab\n", place->url);

    assert_int_equal(simulator_write_kubeconfigs(place->simulator, folder, place->url, &err), 0);

    owned(text) struct text *file = file_read(path, 4096, &err);

    assert_non_null(file);
    assert_non_null(strstr(file->chars, wanted));
    assert_non_null(strstr(file->chars, "token: sim-lab\n"));
}

/* Each mutation has a connection of its own. */
static void test_tls_takes_many_clients_of_one_address(void **state)
{
    enum { CLIENTS = 60 };
    struct place *place = *state;
    owned(chars) char *certificate = text_format("%s/simulator.crt", place->folder);
    owned(chars) char *key = text_format("%s/simulator.key", place->folder);
    const struct simulator_tls tls = { 0, certificate, key };
    const struct http_header header = { "Authorization", "Bearer admin-lab" };
    struct bench_answer answers[CLIENTS] = { 0 };
    struct error err = { 0 };
    int port = 0;

    assert_int_equal(simulator_listen_tls(place->simulator, &tls, &port, &err), 0);

    owned(text) struct text *pem = file_read(certificate, 1 << 16, &err);
    owned(chars) char *url = text_format("https://127.0.0.1:%d/clusters/lab/api/v1/namespaces",
                                         port);
    const struct http_tls trust = { .ca_pem = pem->chars };
    const struct http_request request = { .method = HTTP_POST,
                                          .url = url,
                                          .tls = &trust,
                                          .headers = &header,
                                          .header_count = 1,
                                          .body = "{}",
                                          .body_size = 2,
                                          .is_mutation = true,
                                          .timeout_ms = PATIENCE_MS };

    for (size_t i = 0; i < CLIENTS; i++)
        http_send(place->http, &request, bench_done, &answers[i]);
    for (size_t i = 0; i < CLIENTS; i++) {
        wait_for(place, &answers[i].is_done);
        assert_int_equal(answers[i].status, 422); /* a namespace needs a name */
        bench_answer_clear(&answers[i]);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, open_place, close_place)
    const struct CMUnitTest tests[] = {
        CASE(test_a_watch_over_a_socket_tells_of_a_patch),
        CASE(test_a_lost_answer_is_an_unknown_outcome),
        CASE(test_the_report_is_served),
        CASE(test_faults_begin_and_end_by_request),
        CASE(test_kubeconfigs_point_to_the_server),
        CASE(test_tls_takes_many_clients_of_one_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
