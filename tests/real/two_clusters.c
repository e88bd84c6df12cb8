/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * two_clusters PROD.kubeconfig RESEARCH.kubeconfig NAME FIRST EACH: moves one node after the other
 * between two real control planes, and with each move `sluice serve` dies by SIGKILL at another
 * point and is started again on its journal: point FIRST, then every EACH-th, until a move has no
 * such point.  Point 2 n - 2 is before commit n of a move, point 2 n - 1 right after it.
 *
 * two_clusters PROD.kubeconfig RESEARCH.kubeconfig NAME PID: moves one node; in the middle of its
 * drain that process, the API server of RESEARCH, stands still for minutes.
 *
 * The cloud is the simulator's; a machine that it boots is registered in the real API server, as a
 * kubelet would do it, and is left there when the machine is gone.  What a move leaves is looked at
 * without the service: nodes, machines, cordons, marks, Jobs, and all that should not be touched.
 */
#include "base/log.h"
#include "base/map.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/conformance/ask.h"
#include "tests/real/mortal_service.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model.h"
#include "tools/simulator/simulator.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTERS = 2, PROD = 0, RESEARCH = 1 };
enum { MOVES = 12, STATIC_NODES = 3, GPUS = 8, PODS_PER_NODE = 4 };
enum { LOOK_MS = 100, SETTLE_MS = 120 * SECOND_MS, MOVE_MS = 150 * SECOND_MS };
enum { OUTAGE_MS = 150 * SECOND_MS }; /* longer than a deadline, and than any request's patience */

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: sluice.dev/ephemeral=%s\n"
    "drain: {notice: 2s, deadline: 60s, settle: 1s}\n"
    "join: {stable: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: '%s'}\n"
    "  research-a: {role: research, kubeconfig: '%s'}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: %d}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:%d/gcp',"
    " metadata: 'http://127.0.0.1:%d/gcp'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,"
    " group: %s-prod, static_nodes: 1}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,"
    " group: %s-lab, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: %s, gpus: 2, clusters: {prod-a: {}}}\n";

static const char world_format[] =
    "seed: 1\n"
    "pools: { prod-a-east: { nodes: 2 }, research-a-east: { nodes: %d } }\n"
    "latency: { api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 500ms..1s, gpus: 500ms..1s,"
    " pod_start: 1s, pod_stop: 1s }\n";

struct run {
    const char *kubeconfigs[CLUSTERS];
    const char *name; /* of what this run makes, apart from other runs' */
    char *folder;
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct mortal_service *service;
    struct kube_config *access[CLUSTERS];
    struct asker askers[CLUSTERS];
    struct map *posted;   /* name of a node -> GPUs that the real one shows */
    int moves;            /* ordered so far */
    const char *stops_in; /* how long the Jobs' pods take */
};

/* What the real servers hold of a run: what a move must leave alone, but for its own node. */
struct picture {
    json_t *nodes[CLUSTERS]; /* name -> what is ours or a person's to say of it */
    json_t *pods[CLUSTERS];  /* UID -> node, of those that are bound and stay */
};

static void picture_clear(struct picture *picture)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        json_decref(picture->nodes[i]);
        json_decref(picture->pods[i]);
    }
}

static void free_number(void *number)
{
    mem_free(number);
}

static void write_config(struct run *run, int port)
{
    owned(chars) char *chars = text_format(config_format, run->name, run->kubeconfigs[PROD],
                                           run->kubeconfigs[RESEARCH], MOVES + STATIC_NODES, port,
                                           port, run->name, run->name, run->name);

    mem_free(test_folder_write(run->folder, "sluice.yaml", chars));
}

static void open_cloud(struct run *run)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(world_format, MOVES + 1);
    owned(chars) char *world_path = test_folder_write(run->folder, "world.yaml", chars);
    owned(chars) char *config_path = text_format("%s/sluice.yaml", run->folder);
    int port = 0;

    write_config(run, 1);
    run->simulator = simulator_new(run->loop, config_path, world_path, &err);
    if (!run->simulator || simulator_listen(run->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    write_config(run, port);
}

static void open_run(struct run *run)
{
    struct error err = { 0 };

    run->folder = test_folder_new();
    run->loop = loop_libevent_new(&err);
    run->http = run->loop ? http_curl_new(run->loop, NULL, &err) : NULL;
    if (!run->http)
        fail_msg("%s", err.text);
    run->posted = map_new(free_number);
    open_cloud(run);
    run->service = mortal_service_new(run->loop, run->http, run->folder);
    for (size_t i = 0; i < CLUSTERS; i++) {
        run->access[i] = kube_config_read(run->kubeconfigs[i], NULL, NULL, &err);
        if (!run->access[i])
            fail_msg("%s", err.text);
        run->askers[i] = (struct asker){ run->loop, run->http, run->access[i], 0, NULL };
    }
}

static void close_run(struct run *run)
{
    mortal_service_free(run->service);
    simulator_free(run->simulator);
    http_free(run->http);
    for (size_t i = 0; i < CLUSTERS; i++) {
        kube_config_free(run->access[i]);
        json_decref(run->askers[i].body);
    }
    loop_free(run->loop);
    map_free(run->posted);
    test_folder_free(run->folder);
}

static json_t *resources_of(int gpus)
{
    char count[16];

    snprintf(count, sizeof count, "%d", gpus);
    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     "nvidia.com/gpu", count);
}

static void post_node(struct run *run, struct asker *asker, const struct kube_node *node)
{
    json_t *labels = json_deep_copy(node->labels);
    json_t *taints = sim_node_has_taint(node, SIM_STARTING)
                         ? json_make("[{s:s, s:s}]", "key", SIM_STARTING, "effect", "NoSchedule")
                         : json_array();
    int *gpus = mem_new(sizeof *gpus);

    *gpus = node->gpus;
    map_set(run->posted, node->name, gpus);
    json_object_set_new(labels, "test.sluice.dev/run", json_string(run->name));
    ask_server(asker, HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s, s:o}, s:{s:s, s:o}, s:{s:o, s:o}}", "apiVersion", "v1",
                         "kind", "Node", "metadata", "name", node->name, "labels", labels, "spec",
                         "providerID", node->provider_id, "taints", taints, "status", "allocatable",
                         resources_of(node->gpus), "capacity", resources_of(node->gpus)),
               "/api/v1/nodes");
    ask_expect(asker, 201);
}

/* Ready is not enough: without its GPUs a node keeps its start-up taint. */
static void expect_starting(struct asker *asker, const char *node)
{
    size_t i;
    json_t *taint;
    bool is_starting = false;

    ask_server(asker, HTTP_GET, NULL, NULL, "/api/v1/nodes/%s", node);
    ask_expect(asker, 200);
    json_array_foreach(json_at(asker->body, "spec/taints"), i, taint)
    {
        is_starting |= text_equal(json_text_or(taint, "key", ""), SIM_STARTING);
    }
    assert_true(is_starting);
}

/* What the kubelets of the booted machines tell their API server. */
static void register_nodes(struct run *run)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        struct kube_cluster *cluster = &run->simulator->clusters[i];
        void *value;

        for (size_t at = 0; map_next(cluster->nodes, &at, NULL, &value);) {
            const struct kube_node *node = value;
            int *gpus = map_get(run->posted, node->name);

            if (!gpus && node->readiness == NODE_READY) {
                post_node(run, &run->askers[i], node);
                return; /* the loop ran: the map may have changed */
            }
            if (gpus && *gpus != node->gpus && node->machine) {
                *gpus = node->gpus;
                expect_starting(&run->askers[i], node->name);
                ask_server(&run->askers[i], HTTP_PATCH, "application/strategic-merge-patch+json",
                           json_make("{s:{s:o, s:o}}", "status", "allocatable",
                                     resources_of(node->gpus), "capacity",
                                     resources_of(node->gpus)),
                           "/api/v1/nodes/%s/status", node->name);
                return;
            }
        }
    }
}

static void post_namespace(struct run *run, struct asker *asker)
{
    ask_server(asker, HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                         "name", run->name),
               "/api/v1/namespaces");
    ask_expect(asker, 201);
}

static json_t *template_for(const char *label, const char *value)
{
    json_t *gpus = json_make("{s:s}", "nvidia.com/gpu", "2");

    return json_make("{s:{s:{s:s}}, s:{s:{s:s}, s:[{s:s, s:s, s:{s:o}}]}}", "metadata", "labels",
                     "app", "work", "spec", "nodeSelector", label, value, "containers", "name",
                     "main", "image", "registry.example/main:1", "resources", "limits", gpus);
}

static void post_deployment(struct run *run)
{
    struct asker *asker = &run->askers[PROD];

    ask_server(asker, HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:o}}", "apiVersion", "apps/v1",
                         "kind", "Deployment", "metadata", "name", "chat-2x", "spec", "replicas", 4,
                         "selector", "matchLabels", "app", "work", "template",
                         template_for("test.sluice.dev/run", run->name)),
               "/apis/apps/v1/namespaces/%s/deployments", run->name);
    ask_expect(asker, 201);
}

/* A Job that fills the node, and has no other. */
static void post_job(struct run *run, const char *node)
{
    struct asker *asker = &run->askers[RESEARCH];
    json_t *template = template_for("kubernetes.io/hostname", node);

    json_object_set_new(json_object_get(template, "spec"), "restartPolicy", json_string("Never"));
    if (run->stops_in)
        json_object_set_new(json_object_get(template, "metadata"), "annotations",
                            json_make("{s:s}", "test.sluice.dev/stops-in", run->stops_in));
    ask_server(asker, HTTP_POST, NULL,
               json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:i, s:o}}", "apiVersion", "batch/v1", "kind",
                         "Job", "metadata", "name", node, "spec", "parallelism", PODS_PER_NODE,
                         "completions", PODS_PER_NODE, "template", template),
               "/apis/batch/v1/namespaces/%s/jobs", run->name);
    ask_expect(asker, 201);
}

static void post_work(struct run *run)
{
    void *value;

    for (size_t i = 0; i < CLUSTERS; i++)
        post_namespace(run, &run->askers[i]);
    post_deployment(run);
    for (size_t at = 0; map_next(run->simulator->clusters[RESEARCH].nodes, &at, NULL, &value);)
        post_job(run, ((const struct kube_node *)value)->name);
}

/* Lets time pass; whatever died is started again. */
static bool go_on(struct run *run)
{
    bool is_dead = mortal_service_is_dead(run->service);

    if (is_dead)
        mortal_service_start(run->service);
    loop_run_until(run->loop, loop_now(run->loop) + LOOK_MS);
    register_nodes(run);
    return is_dead;
}

static json_t *schedules_for(int nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        (nodes - 1) * PODS_PER_NODE, nodes);

    return json_make("{s:{s:s, s:s}}", "schedules", "day", chars, "night", chars);
}

/* Puts the schedules in force, as a person who asks again while the answer is no, or none. */
static int apply(struct run *run, int nodes)
{
    int64_t end_ms = loop_now(run->loop) + SETTLE_MS;
    int deaths = 0;

    for (;;) {
        owned(json) json_t *plan = mortal_service_ask(run->service, HTTP_POST, "/v1/apply",
                                                      schedules_for(nodes));

        if (plan)
            return deaths;
        if (loop_now(run->loop) >= end_ms)
            fail_msg("%s: the schedules are not taken", run->folder);
        deaths += go_on(run);
    }
}

/* The path is that of the run: its name stands between the two parts. */
static json_t *items_of(struct run *run, size_t at, const char *before, const char *after)
{
    ask_server(&run->askers[at], HTTP_GET, NULL, NULL, "%s%s%s", before, run->name, after);
    ask_expect(&run->askers[at], 200);
    return json_incref(json_at(run->askers[at].body, "items"));
}

/* What a person or we may have said of a node.  The cluster's own words (taints, annotations,
 * copies of labels) come and go by themselves. */
static json_t *said_of(const json_t *node)
{
    json_t *said = json_make("{s:s, s:b, s:o, s:o, s:o}", "uid",
                             json_text_or(node, "metadata/uid", ""), "closed",
                             json_is_true(json_at(node, "spec/unschedulable")), "labels",
                             json_object(), "notes", json_object(), "taints", json_array());
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json_at(node, "metadata/labels"), key, value)
    {
        if (!text_starts_with(key, "beta.kubernetes.io/"))
            json_object_set(json_object_get(said, "labels"), key, value);
    }
    json_object_foreach(json_at(node, "metadata/annotations"), key, value)
    {
        if (strstr(key, "sluice.dev/"))
            json_object_set(json_object_get(said, "notes"), key, value);
    }
    json_array_foreach(json_at(node, "spec/taints"), i, value)
    {
        if (strstr(json_text_or(value, "key", ""), "sluice.dev/"))
            json_array_append(json_object_get(said, "taints"), value);
    }
    return said;
}

static void take_picture(struct run *run, struct picture *ret_picture)
{
    for (size_t at = 0; at < CLUSTERS; at++) {
        owned(json) json_t *nodes = items_of(
            run, at, "/api/v1/nodes?labelSelector=test.sluice.dev/run=", "");
        owned(json) json_t *pods = items_of(run, at, "/api/v1/namespaces/", "/pods");
        size_t i;
        json_t *item;

        ret_picture->nodes[at] = json_object();
        ret_picture->pods[at] = json_object();
        json_array_foreach(nodes, i, item)
        {
            json_object_set_new(ret_picture->nodes[at], json_text_or(item, "metadata/name", ""),
                                said_of(item));
        }
        json_array_foreach(pods, i, item)
        {
            if (json_at(item, "spec/nodeName") && !json_at(item, "metadata/deletionTimestamp"))
                json_object_set(ret_picture->pods[at], json_text_or(item, "metadata/uid", ""),
                                json_at(item, "spec/nodeName"));
        }
    }
}

/* Whether all that was posted runs somewhere. */
static bool is_settled(struct run *run)
{
    struct picture picture;
    bool is_there;

    take_picture(run, &picture);
    is_there = json_object_size(picture.pods[PROD]) == PODS_PER_NODE &&
               json_object_size(picture.pods[RESEARCH]) == (MOVES + 1) * PODS_PER_NODE;
    picture_clear(&picture);
    return is_there;
}

/* Nodes that are there as they were before; fails when one of them is another. */
static size_t count_untouched(const json_t *before, const json_t *after)
{
    const char *name;
    const json_t *was, *is;
    size_t count = 0;

    json_object_foreach((json_t *)(uintptr_t)before, name, was)
    {
        is = json_object_get(after, name);
        if (is && !json_equal(was, is)) {
            owned(chars) char *was_chars = json_print(was);
            owned(chars) char *is_chars = json_print(is);

            fail_msg("%s was %s and is %s", name, was_chars, is_chars);
        }
        count += is != NULL;
    }
    return count;
}

/* Only the pods of a node that left may be gone. */
static void check_pods(const struct picture *before, const struct picture *after, size_t at)
{
    const char *uid;
    const json_t *node;

    json_object_foreach(before->pods[at], uid, node)
    {
        const char *name = json_string_value(node);

        if (json_object_get(after->nodes[at], name) && !json_object_get(after->pods[at], uid))
            fail_msg("a pod of %s, which stays, is gone", name);
    }
}

/* Each node of the cluster has a machine in its pool, is open, and carries no mark of ours. */
static void check_nodes(const struct run *run, const struct picture *after, size_t at)
{
    const char *name;
    const json_t *said;

    json_object_foreach(after->nodes[at], name, said)
    {
        owned(chars) char *chars = json_print(said);
        const struct machine *machine = NULL;

        for (size_t p = 0; p < run->simulator->pool_count && !machine; p++)
            machine = sim_machine_find(&run->simulator->pools[p], name);
        if (!machine || machine->pool->cluster->index != at)
            fail_msg("%s has no machine there", name);
        if (json_is_true(json_object_get(said, "closed")) || strstr(chars, "sluice.dev/leaving") ||
            strstr(chars, "sluice.dev/starting") || strstr(chars, "sluice.dev/transfer"))
            fail_msg("%s is not as a node that serves: %s", name, chars);
    }
}

/* The Jobs that a move stopped go on. */
static void check_jobs(struct run *run)
{
    owned(json) json_t *jobs = items_of(run, RESEARCH, "/apis/batch/v1/namespaces/", "/jobs");
    size_t i;
    json_t *job;

    assert_int_equal(json_array_size(jobs), MOVES + 1);
    json_array_foreach(jobs, i, job)
    {
        if (json_is_true(json_at(job, "spec/suspend")))
            fail_msg("Job %s stands still for ever", json_text_or(job, "metadata/name", ""));
    }
}

static void check_move(struct run *run, const struct picture *before)
{
    const struct simulator *simulator = run->simulator;
    struct picture after;

    assert_int_equal(simulator_pool_running(simulator, "prod-a-east"), 2 + run->moves);
    assert_int_equal(simulator_pool_running(simulator, "research-a-east"), MOVES + 1 - run->moves);
    assert_int_equal(simulator->machines_created, run->moves);
    assert_int_equal(simulator->machines_deleted, run->moves);
    take_picture(run, &after);
    for (size_t at = 0; at < CLUSTERS; at++) {
        int change = at == PROD ? 1 : -1;
        size_t was = json_object_size(before->nodes[at]);

        assert_int_equal(json_object_size(after.nodes[at]), (int)was + change);
        assert_int_equal(count_untouched(before->nodes[at], after.nodes[at]),
                         at == PROD ? was : was - 1);
        check_pods(before, &after, at);
        check_nodes(run, &after, at);
    }
    check_jobs(run);
    picture_clear(&after);
}

/* How many transfers there are in that state; NULL: in any.  -1: nobody says. */
static int count_of(struct run *run, const char *state, char step[24])
{
    owned(json)
        json_t *answer = mortal_service_ask(run->service, HTTP_GET, "/v1/transfers?all=true", NULL);
    size_t i;
    json_t *row;
    int count = 0;

    json_array_foreach(json_object_get(answer, "transfers"), i, row)
    {
        count += !state || text_equal(json_text_or(row, "state", ""), state);
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(step, 24, json_text_or(row, "step", ""));
    }
    return answer ? count : -1;
}

/* Until the move has ended.  Returns how often the service died; where, is in step. */
static int follow_move(struct run *run, char step[24])
{
    int64_t end_ms = loop_now(run->loop) + MOVE_MS;
    char now[24] = "";
    int deaths = apply(run, 2 + run->moves);

    text_copy(step, 24, deaths > 0 ? "apply" : "end");
    while (count_of(run, "done", now) < run->moves) {
        int machines = simulator_pool_running(run->simulator, "prod-a-east") +
                       simulator_pool_running(run->simulator, "research-a-east");

        assert_in_range(machines, MOVES + STATIC_NODES - 1, MOVES + STATIC_NODES);
        if (loop_now(run->loop) >= end_ms)
            fail_msg("the move does not end: %s/serve.log", run->folder);
        if (go_on(run)) {
            deaths++;
            text_copy(step, 24, now[0] != '\0' ? now : "apply");
        }
    }
    assert_int_equal(count_of(run, NULL, now), run->moves);
    return deaths;
}

/* One move with a death at that commit (0: none); false: the move had no such commit. */
static bool play(struct run *run, int64_t commit, enum mortal_moment moment)
{
    int64_t began_ms = loop_now(run->loop);
    struct picture before;
    char step[24];
    int deaths;

    take_picture(run, &before);
    run->moves++;
    mortal_service_order(run->service, commit, moment);
    deaths = follow_move(run, step);
    printf("%s: commit %" PRId64 " %s: %s, %d deaths, %" PRId64 " commits, %.1f s\n", run->name,
           commit, moment == MORTAL_BEFORE ? "before" : "after", step, deaths,
           mortal_service_commits(run->service),
           (double)(loop_now(run->loop) - began_ms) / SECOND_MS);
    fflush(stdout);
    mortal_service_order(run->service, 0, MORTAL_BEFORE);
    check_move(run, &before);
    picture_clear(&before);
    if (commit > 0 && deaths > 0)
        assert_int_equal(deaths, 1);
    return deaths == 1;
}

static void clean_up(struct run *run)
{
    for (size_t i = 0; i < CLUSTERS; i++) {
        ask_server(&run->askers[i], HTTP_DELETE, NULL, NULL, "/api/v1/namespaces/%s", run->name);
        ask_server(&run->askers[i], HTTP_DELETE, NULL, NULL,
                   "/api/v1/nodes?labelSelector=test.sluice.dev/run=%s", run->name);
    }
}

static struct run the_run;
static long long first_point, each_point, server_pid;

/* The nodes are there, and what was posted runs. */
static void begin(struct run *run)
{
    int64_t end_ms;

    open_run(run);
    for (int i = 0; i < MOVES + STATIC_NODES; i++)
        register_nodes(run);
    post_work(run);
    mortal_service_start(run->service);
    apply(run, 2);
    for (end_ms = loop_now(run->loop) + SETTLE_MS; !is_settled(run); go_on(run))
        assert_true(loop_now(run->loop) < end_ms);
}

static void a_node_moves_once_whenever_the_service_dies(void **state)
{
    struct run *run = &the_run;

    (void)state;
    begin(run);
    assert_false(play(run, 0, MORTAL_BEFORE));
    for (long long point = first_point; run->moves < MOVES; point += each_point)
        if (!play(run, point / 2 + 1, point % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER))
            break;
    clean_up(run);
    close_run(run);
}

/* Nobody answers: nothing is taken for done, and no machine goes. */
static void stand_still(struct run *run)
{
    char step[24] = "";

    assert_int_equal(kill((pid_t)server_pid, SIGSTOP), 0);
    for (int64_t end_ms = loop_now(run->loop) + OUTAGE_MS; loop_now(run->loop) < end_ms;) {
        loop_run_until(run->loop, loop_now(run->loop) + SECOND_MS);
        assert_int_equal(count_of(run, "done", step), 0);
        /* The drain's deadline passes meanwhile. */
        assert_true(text_equal(step, "drain") || text_equal(step, "force"));
    }
    assert_int_equal(run->simulator->machines_deleted, 0);
    assert_int_equal(kill((pid_t)server_pid, SIGCONT), 0);
}

static void a_node_moves_once_when_nobody_answered_for_long(void **state)
{
    struct run *run = &the_run;
    int64_t end_ms;
    struct picture before;
    char step[24] = "";

    (void)state;
    run->stops_in = "5s";
    begin(run);
    take_picture(run, &before);
    run->moves++;
    apply(run, 2 + run->moves);
    for (end_ms = loop_now(run->loop) + MOVE_MS; !text_equal(step, "drain"); go_on(run)) {
        assert_true(loop_now(run->loop) < end_ms);
        assert_true(count_of(run, "live", step) >= 0);
    }
    stand_still(run);
    end_ms = loop_now(run->loop);
    assert_int_equal(follow_move(run, step), 0);
    printf("%s: a server stood still for %d s in the middle of a drain, and the move ended %.1f s"
           " after that\n",
           run->name, OUTAGE_MS / SECOND_MS, (double)(loop_now(run->loop) - end_ms) / SECOND_MS);
    check_move(run, &before);
    picture_clear(&before);
    clean_up(run);
    close_run(run);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest deaths[] = {
        cmocka_unit_test(a_node_moves_once_whenever_the_service_dies),
    };
    const struct CMUnitTest outage[] = {
        cmocka_unit_test(a_node_moves_once_when_nobody_answered_for_long),
    };
    bool is_outage = argc == 5 && text_to_int(argv[4], 2, INT32_MAX, &server_pid);

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    if (!is_outage && (argc != 6 || !text_to_int(argv[4], 0, INT32_MAX, &first_point) ||
                       !text_to_int(argv[5], 1, INT32_MAX, &each_point))) {
        fprintf(stderr, "usage: two_clusters PROD.kubeconfig RESEARCH.kubeconfig NAME FIRST EACH\n"
                        "       two_clusters PROD.kubeconfig RESEARCH.kubeconfig NAME PID\n");
        return 64;
    }
    the_run.kubeconfigs[PROD] = argv[1];
    the_run.kubeconfigs[RESEARCH] = argv[2];
    the_run.name = argv[3];
    return is_outage ? cmocka_run_group_tests(outage, NULL, NULL)
                     : cmocka_run_group_tests(deaths, NULL, NULL);
}
