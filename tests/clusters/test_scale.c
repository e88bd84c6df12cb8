/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A large cluster over real sockets: another process serves the objects as large as real ones are,
 * and this one must know them all soon, in little memory, and spend little time on what changes.
 * SLUICE_SCALE_NODES and _PODS change the size; the bounds hold where no sanitizer is in the way.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/url.h"
#include "base/world/http_server.h"
#include "tests/clusters/cluster_bench.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef __SANITIZE_ADDRESS__
enum { NODES = 200, PODS = 2000, IS_MEASURED = 0 };
#else
enum { NODES = 5000, PODS = 50000, IS_MEASURED = 1 };
#endif
enum { PAGE = 500, VIEW_MOST_MS = 5000, MEMORY_MOST_KB = 128 * 1024, CPU_MOST_PERMILLE = 20 };
/* A node tells its state every five minutes when nothing changes, and a pod lives for hours. */
enum { BEAT_MS = 300 * 1000, STEADY_MS = 10 * 1000 };

struct crowd {
    struct loop *loop;
    struct http_server *server;
    struct http_call *watch[2]; /* nodes, pods */
    struct timer *beat;
    long long nodes, pods;
    long long at; /* of the next beat */
    long long version;
};

static long long size_of(const char *name, long long otherwise)
{
    long long size = otherwise;
    const char *wish = getenv(name);

    if (wish && !text_to_int(wish, 1, 1000000, &size))
        fail_msg("%s=%s", name, wish);
    return size;
}

static void add_fields(struct text *out, int count)
{
    text_add(out,
             "\"managedFields\":[{\"manager\":\"kubelet\",\"operation\":\"Update\",\"fieldsV1\":{");
    for (int i = 0; i < count; i++)
        text_add(out, "%s\"f:member-%d\":{\".\":{},\"f:value\":{}}", i > 0 ? "," : "", i);
    text_add(out, "}}]");
}

/* About 8 kB: labels as clouds write them, images, conditions. */
static void add_node(struct text *out, long long i, long long version)
{
    text_add(
        out,
        "{\"metadata\":{\"name\":\"gpu-pool-%05lld\",\"uid\":\"5f6a1c2e-0000-4000-8000-%012lld\","
        "\"resourceVersion\":\"%lld\",\"creationTimestamp\":\"2026-11-17T12:12:05Z\",\"labels\":{",
        i, i, version);
    for (int label = 0; label < 30; label++)
        text_add(out, "\"topology.example.com/label-%d\":\"value-of-rack-%lld\",", label, i / 16);
    text_add(out,
             "\"kubernetes.io/hostname\":\"gpu-pool-%05lld\"},\"annotations\":{"
             "\"node.alpha.kubernetes.io/ttl\":\"0\"},",
             i);
    add_fields(out, 40);
    text_add(out,
             "},\"spec\":{\"providerID\":\"gce://project/zone/gpu-pool-%05lld\"},\"status\":{"
             "\"allocatable\":{\"nvidia.com/gpu\":\"8\"},\"conditions\":[",
             i);
    for (int condition = 0; condition < 10; condition++)
        text_add(out,
                 "{\"type\":\"Kind%d\",\"status\":\"False\",\"reason\":\"KubeletHasNone\","
                 "\"message\":\"kubelet has sufficient memory available\"},",
                 condition);
    text_add(out, "{\"type\":\"Ready\",\"status\":\"True\"}],\"images\":[");
    for (int image = 0; image < 20; image++)
        text_add(out,
                 "%s{\"names\":[\"registry.example/team/image-%d@sha256:0123456789abcdef0123456789"
                 "abcdef\"],\"sizeBytes\":1234567}",
                 image > 0 ? "," : "", image);
    text_add(out, "]}}");
}

/* About 4 kB. */
static void add_pod(struct text *out, long long i, long long nodes, long long version)
{
    text_add(
        out,
        "{\"metadata\":{\"name\":\"worker-%lld-x7k2p\",\"namespace\":\"team-%lld\",\"uid\":"
        "\"9b0e6d7a-0000-4000-8000-%012lld\",\"resourceVersion\":\"%lld\",\"creationTimestamp\":"
        "\"2026-11-17T12:12:05Z\",\"labels\":{",
        i, i % 40, i, version);
    for (int label = 0; label < 7; label++)
        text_add(out, "\"app.kubernetes.io/label-%d\":\"set-%lld\",", label, i / 20);
    text_add(out,
             "\"apps.kubernetes.io/pod-index\":\"%lld\"},\"annotations\":{\"cni.projectcalico.org/"
             "podIP\":"
             "\"10.0.0.1/32\"},\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"set-%lld\","
             "\"controller\":true}],",
             i % 20, i / 20);
    add_fields(out, 40);
    text_add(
        out,
        "},\"spec\":{\"nodeName\":\"gpu-pool-%05lld\",\"containers\":[{\"name\":\"main\",\"env\":[",
        i % nodes);
    for (int variable = 0; variable < 20; variable++)
        text_add(out, "%s{\"name\":\"VARIABLE_%d\",\"value\":\"some value of it\"}",
                 variable > 0 ? "," : "", variable);
    text_add(out,
             "],\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]},\"status\":{\"phase\":"
             "\"Running\",\"startTime\":\"2026-11-17T12:12:06Z\",\"conditions\":[{\"type\":"
             "\"Ready\",\"status\":\"True\"}]}}");
}

static void answer_list(struct crowd *crowd, struct http_call *call, bool is_nodes)
{
    owned(chars) char *rest = url_query(http_call_target(call), "continue");
    owned(text) struct text *body = text_new(TEXT_UNBOUNDED);
    long long count = is_nodes ? crowd->nodes : crowd->pods;
    long long first = 0;

    if (rest)
        (void)text_to_int(rest, 0, count, &first);
    text_add(body, "{\"metadata\":{\"resourceVersion\":\"1\"");
    if (first + PAGE < count)
        text_add(body, ",\"continue\":\"%lld\"", first + PAGE);
    text_add(body, "},\"items\":[");
    for (long long i = first; i < count && i < first + PAGE; i++) {
        text_add(body, "%s", i > first ? "," : "");
        if (is_nodes)
            add_node(body, i, 1);
        else
            add_pod(body, i, crowd->nodes, 1);
    }
    text_add(body, "]}");
    http_call_answer(call, &(struct http_reply){ .status = 200,
                                                 .content_type = "application/json",
                                                 .body = body->chars,
                                                 .body_size = body->length });
}

static void on_watch_closed(void *context)
{
    *(struct http_call **)context = NULL;
}

static void on_request(void *context, struct http_call *call)
{
    struct crowd *crowd = context;
    const char *target = http_call_target(call);
    bool is_nodes = strstr(target, "/nodes") != NULL;
    struct http_call **watch = &crowd->watch[is_nodes ? 0 : 1];

    if (!strstr(target, "watch=1"))
        return answer_list(crowd, call, is_nodes);
    http_call_stream_begin(call, "application/json", on_watch_closed, watch);
    *watch = call;
}

static void send_event(struct http_call *watch, struct text *frame)
{
    text_add(frame, "}\n");
    (void)http_call_stream_send(watch, frame->chars, frame->length);
}

/* One node says that it lives, and one pod in ten of those changes. */
static void on_beat(void *context)
{
    struct crowd *crowd = context;
    owned(text) struct text *node = text_new(TEXT_UNBOUNDED);
    owned(text) struct text *pod = text_new(TEXT_UNBOUNDED);

    timer_set(crowd->beat, BEAT_MS / crowd->nodes);
    crowd->at++;
    crowd->version++;
    text_add(node, "{\"type\":\"MODIFIED\",\"object\":");
    add_node(node, crowd->at % crowd->nodes, crowd->version);
    if (crowd->watch[0])
        send_event(crowd->watch[0], node);
    text_add(pod, "{\"type\":\"MODIFIED\",\"object\":");
    add_pod(pod, crowd->at % crowd->pods, crowd->nodes, crowd->version);
    if (crowd->watch[1] && crowd->at % 10 == 0)
        send_event(crowd->watch[1], pod);
}

static _Noreturn void serve(int port_pipe, long long nodes, long long pods)
{
    struct error err = { 0 };
    struct crowd crowd = { .nodes = nodes, .pods = pods, .version = 1 };
    int port = 0;

    crowd.loop = loop_libevent_new(&err);
    crowd.server = http_server_new(crowd.loop, on_request, &crowd);
    crowd.beat = timer_new(crowd.loop, on_beat, &crowd);
    if (http_server_listen_loopback(crowd.server, 0, &port, &err) < 0 ||
        write(port_pipe, &port, sizeof port) != sizeof port)
        _exit(1);
    timer_set(crowd.beat, BEAT_MS / crowd.nodes);
    loop_run_until(crowd.loop, loop_now(crowd.loop) + 300 * SECOND_MS);
    _exit(0);
}

static long memory_peak_kb(void)
{
    struct error err = { 0 };
    owned(text) struct text *status = file_read("/proc/self/status", 1 << 16, &err);
    const char *line = status ? strstr(status->chars, "VmHWM:") : NULL;

    return line ? strtol(line + 6, NULL, 10) : 0;
}

static int64_t cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * INT64_C(1000) +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static void on_view(void *context)
{
    (void)context; /* look() asks by itself */
}

struct measure {
    struct loop *loop;
    struct cluster *cluster;
    struct timer *look;
};

static void look(void *context)
{
    struct measure *measure = context;

    if (cluster_snapshot(measure->cluster)->is_known)
        loop_stop(measure->loop);
    else
        timer_set(measure->look, 5);
}

static void watch_crowd(int port, long long nodes, long long pods)
{
    struct measure it = { 0 };
    struct error err = { 0 };
    struct random random;
    char folder[] = "/tmp/sluice-scale-XXXXXX";

    assert_non_null(mkdtemp(folder));
    owned(chars) char *config = text_format(
        "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n",
        port);
    bench_write(folder, "config", config);
    owned(chars) char *path = text_format("%s/config", folder);
    it.loop = loop_libevent_new(&err);
    random_seed(&random, 1);
    struct world world = { it.loop, http_curl_new(it.loop, NULL, &err), &random, NULL, NULL };
    const struct kube_cluster_settings own = { .kubeconfig = path };
    const struct cluster_settings settings = { .name = "large",
                                               .kind = &cluster_kubernetes,
                                               .own = &own };
    it.cluster = cluster_open(&world, &settings, &err);
    assert_non_null(it.cluster);
    it.look = timer_new(it.loop, look, &it);

    int64_t began_ms = loop_now(it.loop);
    timer_set(it.look, 5);
    cluster_watch(it.cluster, on_view, NULL);
    loop_run_until(it.loop, began_ms + 10 * MINUTE_MS);
    int64_t view_ms = loop_now(it.loop) - began_ms;
    int64_t work_ms = cpu_ms();
    const struct snapshot *snapshot = cluster_snapshot(it.cluster);
    assert_int_equal(map_count(snapshot->nodes), nodes);
    assert_int_equal(map_count(snapshot->pods), pods);
    size_t on_node = 0;
    assert_non_null(snapshot_pods_on(snapshot, "gpu-pool-00007", &on_node));
    assert_int_equal(on_node, pods / nodes);

    int64_t held = cluster_held(it.cluster);
    int64_t steady_ms = IS_MEASURED ? STEADY_MS : SECOND_MS;
    int64_t spent_ms = cpu_ms();
    loop_run_until(it.loop, loop_now(it.loop) + steady_ms);
    spent_ms = cpu_ms() - spent_ms;
    print_message(
        "%lld nodes, %lld pods: first view %lld ms (%lld ms of a processor), peak memory %ld MB "
        "(%lld MB of objects), %.2f %% of a processor in steady state\n",
        nodes, pods, (long long)view_ms, (long long)work_ms, memory_peak_kb() / 1024,
        (long long)(held >> 20), 100.0 * (double)spent_ms / (double)steady_ms);
    if (IS_MEASURED) {
        assert_true(work_ms < VIEW_MOST_MS); /* the wall clock is the machine's other guests' too */
        assert_true(memory_peak_kb() < MEMORY_MOST_KB);
        assert_true(held * 4 < (int64_t)KUBE_CLUSTER_MEMORY_MB << 20);
        assert_true(spent_ms * 1000 < steady_ms * CPU_MOST_PERMILLE);
    }
    cluster_close(it.cluster);
    timer_free(it.look);
    http_free(world.http);
    loop_free(it.loop);
    bench_remove_folder(folder);
}

static void a_large_cluster_is_seen_soon_and_held_in_little(void **state)
{
    long long nodes = size_of("SLUICE_SCALE_NODES", NODES);
    long long pods = size_of("SLUICE_SCALE_PODS", PODS);
    int pipes[2];
    int port = 0;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        serve(pipes[1], nodes, pods);
    assert_int_equal(read(pipes[0], &port, sizeof port), sizeof port);
    watch_crowd(port, nodes, pods);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_cluster_is_seen_soon_and_held_in_little),
    };
    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
