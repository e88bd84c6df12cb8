/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * List, watch and a verb over real sockets: libcurl on one side, the HTTP server on the other.
 */
#include "base/log.h"
#include "base/url.h"
#include "base/world/http_server.h"
#include "clusters/kube_verbs.h"
#include "tests/clusters/cluster_bench.h"

struct live {
    struct loop *loop;
    struct http_server *server;
    struct http_call *stream; /* the open watch of the nodes */
    int watches;
    int lists;
    char place[128]; /* target of the last watch of the nodes */
    struct cluster *cluster;
    struct timer *look;
    const char *wanted;
    int verbs_done;
};

#define NODE(name, version)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\",\"resourceVersion\":\"" version "\"}}"

static void on_close(void *context)
{
    ((struct live *)context)->stream = NULL;
}

static void answer(struct http_call *call, int status, const char *body)
{
    http_call_answer(
        call, &(struct http_reply){ .status = status, .body = body, .body_size = strlen(body) });
}

static void on_call(void *context, struct http_call *call)
{
    struct live *live = context;
    const char *target = http_call_target(call);
    bool is_nodes = strstr(target, "/nodes") != NULL;
    if (http_call_method(call) == HTTP_PATCH) {
        answer(call, 409,
               "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":409,\"message\":\"changed\"}");
    } else if (!strstr(target, "watch=1")) {
        live->lists += is_nodes ? 1 : 0;
        answer(call, 200,
               is_nodes
                   ? "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" NODE("a", "1") "]}"
                   : "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
    } else {
        http_call_stream_begin(call, "application/json", is_nodes ? on_close : NULL, live);
        if (!is_nodes)
            return;
        live->stream = call;
        live->watches++;
        text_copy(live->place, sizeof live->place, target);
    }
}

static void send_piece(struct live *live, const char *chars)
{
    assert_non_null(live->stream);
    assert_true(http_call_stream_send(live->stream, chars, strlen(chars)));
}

static void look(void *context)
{
    struct live *live = context;
    bool is_there = map_get(cluster_snapshot(live->cluster)->nodes, live->wanted) && live->stream;
    if (is_there)
        loop_stop(live->loop);
    else
        timer_set(live->look, 10);
}

/* Runs until the node is known and a watch is open. */
static void run_until_known(struct live *live, const char *name)
{
    live->wanted = name;
    timer_set(live->look, 10);
    loop_run_until(live->loop, loop_now(live->loop) + 2 * MINUTE_MS);
    assert_non_null(map_get(cluster_snapshot(live->cluster)->nodes, name));
}

static void on_news(void *context)
{
    (void)context;
}

static void on_patched(void *context, const json_t *body, const struct error *err)
{
    struct live *live = context;
    assert_null(body);
    assert_int_equal(err->kind, ERROR_CONFLICT);
    live->verbs_done++;
    loop_stop(live->loop);
}

static void a_watch_lives_through_a_cut_connection(void **state)
{
    struct live live = { 0 };
    struct error err = { 0 };
    char folder[] = "/tmp/sluice-live-XXXXXX";
    int port = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    live.loop = loop_libevent_new(&err);
    live.server = http_server_new(live.loop, on_call, &live);
    assert_int_equal(http_server_listen_loopback(live.server, 0, &port, &err), 0);
    owned(chars) char *config = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d/k'}}]\n",
        port);
    bench_write(folder, "config", config);

    struct random random;
    random_seed(&random, 1);
    struct world world = { live.loop, http_curl_new(live.loop, NULL, &err), &random, NULL, NULL };
    assert_non_null(world.http);
    owned(chars) char *path = text_format("%s/config", folder);
    const struct kube_cluster_settings own = { .kubeconfig = path };
    const struct cluster_settings settings = { .name = "live",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    live.cluster = cluster_open(&world, &settings, &err);
    assert_non_null(live.cluster);
    live.look = timer_new(live.loop, look, &live);
    cluster_watch(live.cluster, on_news, &live);

    run_until_known(&live, "a");
    send_piece(&live, "{\"type\":\"ADDED\",\"object\":" NODE("b", "8") "}\n{\"type\":\"ADD");
    run_until_known(&live, "b");
    http_call_drop(steal(&live.stream));
    loop_run_until(live.loop, loop_now(live.loop) + 100);
    run_until_known(&live, "b");
    assert_int_equal(live.watches, 2);
    assert_int_equal(live.lists, 1);
    assert_non_null(strstr(live.place, "resourceVersion=8&"));
    send_piece(&live, "{\"type\":\"ADDED\",\"object\":" NODE("c", "9") "}\n");
    run_until_known(&live, "c");
    assert_string_equal(cluster_trouble(live.cluster), "");

    owned(json) json_t *patch = json_object();
    cluster_patch_node(live.cluster, "a", patch, on_patched, &live);
    loop_run_until(live.loop, loop_now(live.loop) + 2 * MINUTE_MS);
    assert_int_equal(live.verbs_done, 1);

    cluster_close(live.cluster);
    timer_free(live.look);
    http_free(world.http);
    http_server_free(live.server);
    loop_free(live.loop);
    bench_remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_lives_through_a_cut_connection),
    };
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
