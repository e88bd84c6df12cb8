/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * real_slurm FOLDER RELEASE SSHD PORT NAME KUBECONFIG BROKER [fixed | FIRST EACH]: a node goes from
 * a real Slurm to Kubernetes and back, while jobs run.  FOLDER: of tests/slurm/server, without
 * nodes, or with eight if they are fixed; SSHD: the folder of a real sshd on PORT, through which
 * the service runs Slurm's commands. KUBECONFIG and BROKER are of a real API server; "-": the
 * simulator's.  The cloud is the simulator's: a machine that it boots becomes a real slurmd, or a
 * Node in the API server.  A person has drained one node, with a reason.
 *
 * Without the last: one way there and back, with 24 jobs; slurmctld is restarted in the middle of
 * the drain.  fixed: the same with a few jobs, nodes of slurm.conf, and commands only: slurmctld is
 * restarted while the node is away.  FIRST EACH: with each move `sluice serve` dies by SIGKILL at
 * another point and is started again on its journal: point FIRST, then every EACH-th, until neither
 * way has such a point.  Point 2 n - 2 is before commit n of a move, point 2 n - 1 right after it.
 * The last move of each way is one without a death.
 *
 * Looked at without the service: real_jobs_check(); no node drains but the person's, and no
 * reservation is left.
 */
#include "base/log.h"
#include "base/map.h"
#include "tests/conformance/ask.h"
#include "tests/real/mortal_service.h"
#include "tests/slurm/real_jobs.h"
#include "tests/slurm/real_nodes.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NODES = 8,
    IN_PROD = 2, /* nodes, before the first move */
    REPLICAS = 4 /* that fill a node */,
    LOOK_MS = 100,
    LONGEST_MS = 15 * MINUTE_MS, /* what takes longer on a busy machine hangs */
    OUTAGE_MS = 3 * SECOND_MS,
    AWAY_MS = 25 * SECOND_MS, /* longer than SlurmdTimeout */
    READ_MS = 3 * SECOND_MS,  /* that a list may take, and the part of a second of its age */
};

struct play {
    const char *release, *sshd, *port, *name, *kubeconfig, *broker;
    bool is_deadly;
    bool is_fixed;         /* the nodes are those of slurm.conf */
    long long first, each; /* points */
    struct real_server server;
    struct real_jobs *jobs;
    struct real_nodes *nodes;
    char *folder;
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct mortal_service *service;
    struct kube_config *access; /* NULL: the simulator's */
    struct asker asker;
    struct map *joined;       /* names of Nodes that a real API server was told of */
    int in_prod;              /* nodes that were ordered there */
    int moves;                /* that were ordered */
    bool was_told_lost;       /* the service said of a job that its work is lost */
    char kept[SIM_NAME_SIZE]; /* the node that a person drained */
};

static const char reason[] = "fan 3 is loud (anna)";

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: ephemeral=true\n"
    "drain: {notice: %s, deadline: %s, settle: 1s}\n"
    "join: {stable: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: '%s'}\n"
    "  research-a: {kind: slurm, role: research, poll: 1s, %s,\n"
    "    ssh_address: 127.0.0.1, ssh_port: %s, ssh_user: root,\n"
    "    ssh_host_key: '%s', ssh_key: '%s/user', path: '%s/bin',\n"
    "    checkpoint_lead: 2s}\n"
    "reservations:\n"
    "  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8,"
    " nodes: 10}\n"
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

static const char world_text[] =
    "seed: 1\n"
    "pools: { prod-a-east: { nodes: 2 }, research-a-east: { nodes: 8 } }\n"
    "replicas: { chat-2x: { prod-a: 4 } }\n"
    "latency: { api: 1ms..10ms, delete: 1s..2s, create: 1s..2s, join: 500ms..1s, gpus: 500ms..1s,"
    " pod_start: 1s, pod_stop: 1s }\n";

/* ---- the world ---- */

static const struct pool *pool_of(const struct play *play, const char *name)
{
    for (size_t i = 0; i < play->simulator->pool_count; i++)
        if (text_equal(play->simulator->pools[i].plan->name, name))
            return &play->simulator->pools[i];
    fail_msg("no pool %s", name);
    return NULL;
}

static json_t *resources_of(int gpus)
{
    owned(chars) char *count = text_format("%d", gpus);

    return json_make("{s:s, s:s, s:s, s:s}", "cpu", "192", "memory", "1800Gi", "pods", "110",
                     "nvidia.com/gpu", count);
}

/* What the kubelets of production's machines tell a real API server. */
static void follow_kubelets(struct play *play)
{
    void *value;

    if (!play->access)
        return;
    for (size_t at = 0; map_next(play->simulator->clusters[0].nodes, &at, NULL, &value);) {
        const struct kube_node *node = value;
        json_t *taints;

        if (map_get(play->joined, node->name) || node->readiness != NODE_READY || node->gpus == 0)
            continue;
        map_set(play->joined, node->name, play);
        taints = sim_node_has_taint(node, SIM_STARTING)
                     ? json_make("[{s:s, s:s}]", "key", SIM_STARTING, "effect", "NoSchedule")
                     : json_array();
        ask_server(&play->asker, ASK_POST,
                   json_make("{s:s, s:s, s:{s:s, s:O}, s:{s:s, s:o}, s:{s:o, s:o}}", "apiVersion",
                             "v1", "kind", "Node", "metadata", "name", node->name, "labels",
                             node->labels, "spec", "providerID", node->provider_id, "taints",
                             taints, "status", "allocatable", resources_of(node->gpus), "capacity",
                             resources_of(node->gpus)),
                   "/api/v1/nodes");
        ask_expect(&play->asker, 201);
        return; /* the loop ran: the map may have changed */
    }
}

/* A moment passes; a service that died is started again, and that is told. */
static bool go_on(struct play *play)
{
    bool is_dead = mortal_service_is_dead(play->service);

    if (is_dead)
        mortal_service_start(play->service);
    loop_run_until(play->loop, loop_now(play->loop) + LOOK_MS);
    real_nodes_follow(play->nodes, pool_of(play, "research-a-east"));
    follow_kubelets(play);
    return is_dead;
}

/* Several of them; returns how often the service died. */
static int pass(struct play *play, int64_t ms)
{
    int deaths = 0;

    for (int64_t end_ms = loop_now(play->loop) + ms; loop_now(play->loop) < end_ms;)
        deaths += go_on(play);
    return deaths;
}

static char *first_line(const char *folder, const char *name)
{
    owned(chars) char *path = text_format("%s/%s", folder, name);
    owned(text) struct text *file = test_file_read(path);

    return text_format("%.*s", (int)strcspn(file->chars, "\n"), file->chars);
}

static void write_config(struct play *play, int port)
{
    owned(chars) char *url = first_line(play->server.folder, "url");
    owned(chars) char *key = first_line(play->sshd, "host.pub");
    owned(chars) char *own = text_format("%s/prod-a.kubeconfig", play->folder);
    owned(chars) char *way = play->is_fixed
                                 ? mem_copy_chars("machine: '{extra}'")
                                 : text_format("rest: '%s', rest_user: root, token: '%s/token',\n"
                                               "    machine: 'gce://p/us-east5-a/{name}'",
                                               url, play->server.folder);
    owned(chars) char *chars = text_format(
        config_format, play->is_deadly ? "2s" : "4s", play->is_deadly ? "6s" : "12s",
        play->access ? play->broker : own, way, play->port, key, play->sshd, play->server.folder,
        port, port, play->name, play->name, play->name);

    mem_free(test_folder_write(play->folder, "sluice.yaml", chars));
}

static void open_world(struct play *play)
{
    struct error err = { 0 };
    owned(chars) char *world_path = NULL;
    owned(chars) char *config_path = NULL;
    owned(chars) char *base = NULL;
    int port = 0;

    play->folder = test_folder_new();
    play->joined = map_new(NULL);
    play->server.log = text_format("%s/server.log", play->folder);
    play->jobs = real_jobs_new(&play->server, play->is_deadly || play->is_fixed);
    play->nodes = real_nodes_new(&play->server, play->is_fixed ? NODES : 0);
    play->in_prod = IN_PROD;
    play->loop = loop_libevent_new(&err);
    play->http = play->loop ? http_curl_new(play->loop, NULL, &err) : NULL;
    if (play->http && !text_equal(play->kubeconfig, "-"))
        play->access = kube_config_read(play->kubeconfig, NULL, NULL, &err);
    play->asker = (struct asker){ play->loop, play->http, play->access, 0, NULL };
    world_path = test_folder_write(play->folder, "world.yaml", world_text);
    config_path = text_format("%s/sluice.yaml", play->folder);
    write_config(play, 1);
    play->simulator = simulator_new(play->loop, config_path, world_path, &err);
    if (!play->simulator || simulator_listen(play->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    base = text_format("http://127.0.0.1:%d", port);
    if (simulator_write_kubeconfigs(play->simulator, play->folder, base, &err) < 0)
        fail_msg("%s", err.text);
    write_config(play, port);
    play->service = mortal_service_new(play->loop, play->http, play->folder);
    real_nodes_follow(play->nodes, pool_of(play, "research-a-east"));
}

static void close_world(struct play *play)
{
    mortal_service_free(play->service);
    simulator_free(play->simulator);
    http_free(play->http);
    kube_config_free(play->access);
    json_decref(play->asker.body);
    loop_free(play->loop);
    map_free(play->joined);
    real_jobs_free(play->jobs);
    real_nodes_free(play->nodes);
    mem_free((char *)(uintptr_t)play->server.log);
    test_folder_free(play->folder);
}

/* ---- before the first move ---- */

/* The work in production, for a real API server; the simulator has its own. */
static void post_work(struct play *play)
{
    if (!play->access)
        return;
    ask_server(&play->asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                         "name", play->name),
               "/api/v1/namespaces");
    ask_server(
        &play->asker, ASK_POST,
        json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:{s:{s:{s:s}}, s:{s:[{s:s, s:s, "
                  "s:{s:{s:s}}}]}}}}",
                  "apiVersion", "apps/v1", "kind", "Deployment", "metadata", "name", "chat-2x",
                  "spec", "replicas", REPLICAS, "selector", "matchLabels", "app", "work",
                  "template", "metadata", "labels", "app", "work", "spec", "containers", "name",
                  "main", "image", "registry.example/main:1", "resources", "limits",
                  "nvidia.com/gpu", "2"),
        "/apis/apps/v1/namespaces/%s/deployments", play->name);
    ask_expect(&play->asker, 201);
}

static void drain_by_person(struct play *play)
{
    const struct pool *pool = pool_of(play, "research-a-east");
    owned(chars) char *line = NULL;

    for (size_t i = 0; i < pool->machines.count; i++)
        if (pool->machines.items[i]->is_static)
            text_copy(play->kept, sizeof play->kept,
                      real_nodes_of(play->nodes, pool->machines.items[i]) ?: "");
    line = text_format("scontrol update NodeName=%s State=DRAIN Reason='%s'", play->kept, reason);
    mem_free(real_server_run(&play->server, line));
}

static void await_serving(struct play *play, int nodes)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;

    while (real_server_serving(&play->server) != nodes) {
        if (loop_now(play->loop) > end_ms)
            fail_msg("%s: %d of %d nodes serve", play->server.folder,
                     real_server_serving(&play->server), nodes);
        (void)pass(play, SECOND_MS);
    }
}

/* ---- jobs ---- */

static void await_started(struct play *play, enum job_part part)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;

    real_jobs_submit(play->jobs, part);
    while (!real_jobs_have_started(play->jobs, part)) {
        if (loop_now(play->loop) > end_ms)
            fail_msg("the jobs do not start: %s", play->server.folder);
        (void)pass(play, SECOND_MS);
    }
}

/* Until the service has read what runs now: it chooses a node by the jobs that it knows of, and
   whole nodes of an urgent job, requeued, would have Slurm end what runs on others. */
static void await_seen(struct play *play)
{
    int64_t from_ms = loop_now(play->loop);
    int64_t read_ms = 0;

    while (read_ms <= from_ms) {
        int64_t now_ms = loop_now(play->loop);
        owned(json)
            json_t *status = mortal_service_ask(play->service, HTTP_GET, "/v1/status", NULL);
        const json_t *row;
        size_t i;

        json_array_foreach(json_object_get(status, "clusters"), i, row)
            if (text_equal(json_text_or(row, "cluster", ""), "research-a"))
                read_ms = now_ms - READ_MS - json_int_or(row, "age_s", 0) * SECOND_MS;
        if (now_ms > from_ms + LONGEST_MS)
            fail_msg("%s: the service does not see the jobs", play->folder);
        (void)go_on(play);
    }
}

static void submit(struct play *play)
{
    real_jobs_begin(play->jobs);
    await_started(play, JOBS_THAT_STAY);
    await_started(play, JOBS_THAT_LEAVE);
    real_jobs_submit(play->jobs, JOBS_THAT_WAIT);
    await_seen(play);
}

static void await_end(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;

    while (!real_jobs_have_ended(play->jobs)) {
        if (loop_now(play->loop) > end_ms) {
            owned(chars) char *nodes = real_server_run(&play->server, "scontrol -o show nodes");
            owned(chars) char *shown = real_server_run(&play->server, "squeue --states=all");

            fprintf(stderr, "%s%s", nodes, shown); /* more than fail_msg takes */
            fail_msg("the jobs do not end: %s", play->server.folder);
        }
        (void)pass(play, SECOND_MS);
    }
}

/* The person's drain is there as it was, and no other; no reservation of sluice. */
static void check_nodes(const struct play *play)
{
    owned(chars) char *nodes = real_server_run(&play->server, "scontrol -o show nodes");
    owned(chars) char *reservations = real_server_run(&play->server,
                                                      "scontrol -o show reservations");
    owned(chars) char *line = text_format("scontrol -o show node %s", play->kept);
    owned(chars) char *shown = real_server_run(&play->server, line);

    if (strstr(nodes, "Reason=sluice") || strstr(nodes, "Comment=sluice") ||
        strstr(reservations, "sluice_"))
        fail_msg("left over: %s\n%s", nodes, reservations);
    if (!strstr(shown, "+DRAIN") || !strstr(shown, reason))
        fail_msg("the person's drain: %s", shown);
}

/* ---- a move ---- */

static const char *const ways[] = { "back", "there" }; /* [is_there] */

/* As a person who asks again while the answer is no, or none; how often the service died.  In the
   deadly play production's work fills one node: what leaves is empty. */
static int apply(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;
    int replicas = play->is_deadly ? REPLICAS : (play->in_prod - 1) * REPLICAS;
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        replicas, play->in_prod);
    int deaths = 0;

    for (;; deaths += go_on(play)) {
        owned(json) json_t *plan = mortal_service_ask(
            play->service, HTTP_POST, "/v1/apply",
            json_make("{s:{s:s, s:s}}", "schedules", "day", chars, "night", chars));

        if (plan)
            return deaths;
        if (loop_now(play->loop) > end_ms)
            fail_msg("%s: the schedules are not taken", play->folder);
    }
}

/* Whether all that was ordered is done; the step is that of a move that goes on. */
static bool is_done(struct play *play, char step[24])
{
    owned(json) json_t *answer = mortal_service_ask(play->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);
    const json_t *rows = json_object_get(answer, "transfers");
    size_t i;
    json_t *row;
    int done = 0;

    json_array_foreach(rows, i, row) {
        owned(chars) char *blockers = json_print(json_object_get(row, "blockers") ?: row);

        done += text_equal(json_text_or(row, "state", ""), "done");
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(step, 24, json_text_or(row, "step", ""));
        play->was_told_lost |= strstr(blockers, "its work is lost") != NULL;
    }
    if ((int)json_array_size(rows) > play->moves)
        fail_msg("%s: a move began that was not ordered", play->folder);
    return done == play->moves;
}

static int restart_slurmctld(struct play *play)
{
    int deaths;

    real_server_do(&play->server, "ctld", "stop");
    deaths = pass(play, OUTAGE_MS);
    real_server_do(&play->server, "ctld", "start");
    return deaths;
}

/* One node more or less in production.  Returns how often the service died, and in which step. */
static int move(struct play *play, bool is_there, bool restarts, char died_in[24])
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;
    char step[24] = "apply";
    int deaths;

    play->in_prod += is_there ? 1 : -1;
    play->moves++;
    deaths = apply(play);
    text_copy(died_in, 24, deaths > 0 ? "apply" : "end");
    while (!is_done(play, step)) {
        int before = deaths;

        if (loop_now(play->loop) > end_ms)
            fail_msg("the move does not end in step %s: %s/serve.log", step, play->folder);
        if (restarts && text_equal(step, "drain")) {
            restarts = false;
            deaths += restart_slurmctld(play);
        }
        deaths += go_on(play);
        if (deaths > before)
            text_copy(died_in, 24, step);
    }
    assert_false(restarts); /* it was done */
    assert_int_equal(simulator_pool_running(play->simulator, "prod-a-east"), play->in_prod);
    assert_int_equal(simulator_pool_running(play->simulator, "research-a-east"),
                     NODES + IN_PROD - play->in_prod);
    return deaths;
}

/* ---- the plays ---- */

/* Nothing runs on a node that is parked, although what waits would find room there. */
static void watch_parked(struct play *play, const char *node, int64_t ms)
{
    owned(chars) char *show = text_format("scontrol -o show node %s", node);
    owned(chars) char *list = text_format("squeue -h -w %s -t R,CF,CG,S", node);

    for (int64_t end_ms = loop_now(play->loop) + ms; loop_now(play->loop) < end_ms;) {
        owned(chars) char *shown = real_server_run(&play->server, show);
        owned(chars) char *jobs = real_server_run(&play->server, list);

        if (!strstr(shown, "+DRAIN") || !strstr(shown, "Reason=sluice-parked ") || jobs[0] != '\0')
            fail_msg("%s is parked, with jobs \"%s\": %s", node, jobs, shown);
        (void)pass(play, SECOND_MS);
    }
    assert_false(real_jobs_have_started(play->jobs, JOBS_THAT_INSIST));
}

/* slurmctld reads its configuration again, which would make a node serve that is only FUTURE.  From
   then on a node that is DOWN stays so when its slurmd registers: that is Slurm's own default. */
static void keep_down(struct play *play)
{
    owned(chars) char *said = real_server_run(
        &play->server, "sed -i 's/^ReturnToService=.*/ReturnToService=0/' \"$SLURM_CONF\" && "
                       "scontrol reconfigure && scontrol show config | grep ReturnToService");

    if (!strstr(said, "= 0"))
        fail_msg("%s: %s", play->server.folder, said);
}

/* slurmctld is restarted while a node is away.  Then a slurmd starts under its name by mistake, so
   that nothing but sluice's drain keeps the jobs from it.  At last the node is kept DOWN. */
static void stay_away(struct play *play)
{
    owned(chars) char *node = real_nodes_vacant(play->nodes);
    char step[24];

    real_jobs_submit_on(play->jobs, node);
    watch_parked(play, node, AWAY_MS);
    (void)restart_slurmctld(play);
    await_serving(play, NODES - 2);
    watch_parked(play, node, AWAY_MS);
    real_server_do(&play->server, "again", node);
    watch_parked(play, node, AWAY_MS);
    real_server_do(&play->server, "leave", node);
    keep_down(play);
    watch_parked(play, node, AWAY_MS);
    assert_true(is_done(play, step));
}

static void there_and_back(struct play *play)
{
    int64_t began_ms = loop_now(play->loop);
    int requeued, cancelled, count;
    double there_s;
    char step[24];

    mortal_service_order(play->service, 0, MORTAL_BEFORE);
    submit(play);
    assert_int_equal(move(play, true, !play->is_fixed, step), 0);
    there_s = (double)(loop_now(play->loop) - began_ms) / SECOND_MS;
    if (play->is_fixed)
        stay_away(play);
    real_jobs_release(play->jobs);
    assert_int_equal(move(play, false, false, step), 0);
    await_end(play);
    await_serving(play, NODES - 1);
    check_nodes(play);
    real_jobs_check_saved(play->jobs);
    assert_true(play->was_told_lost);
    count = real_jobs_check(play->jobs, &requeued, &cancelled);
    printf("%s, Slurm %s, %s Kubernetes: there in %.0f s, with a restart of slurmctld%s, and back; "
           "%" PRId64 " commits; of %d jobs %d records were requeued and %d cancelled; %.0f s\n",
           play->name, play->release, play->access ? "real" : "simulated", there_s,
           play->is_fixed ? " after it" : "", mortal_service_commits(play->service), count,
           requeued, cancelled, (double)(loop_now(play->loop) - began_ms) / SECOND_MS);
}

/* One move with a death at that commit; false: it had no such commit. */
static bool move_and_die(struct play *play, bool is_there, int64_t commit,
                         enum mortal_moment moment)
{
    const char *when = moment == MORTAL_BEFORE ? "before" : "after";
    int64_t began_ms = loop_now(play->loop);
    char died_in[24];
    int deaths;

    printf("%s: %s, commit %" PRId64 " %s begins\n", play->name, ways[is_there], commit, when);
    mortal_service_order(play->service, commit, moment);
    deaths = move(play, is_there, false, died_in);
    printf("%s: %s, commit %" PRId64 " %s: %s, %d deaths, %" PRId64 " commits, %.1f s\n",
           play->name, ways[is_there], commit, when, died_in, deaths,
           mortal_service_commits(play->service),
           (double)(loop_now(play->loop) - began_ms) / SECOND_MS);
    mortal_service_order(play->service, 0, MORTAL_BEFORE);
    assert_in_range(deaths, 0, 1);
    return deaths == 1;
}

static void die_at_each_point(struct play *play)
{
    bool had_point = true;
    int requeued, cancelled;

    for (long long point = play->first; had_point; point += play->each) {
        enum mortal_moment moment = point % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER;

        submit(play);
        had_point = move_and_die(play, true, point / 2 + 1, moment);
        real_jobs_release(play->jobs);
        had_point |= move_and_die(play, false, point / 2 + 1, moment);
        await_end(play);
        await_serving(play, NODES - 1);
        check_nodes(play);
        (void)real_jobs_check(play->jobs, &requeued, &cancelled);
    }
}

static void a_node_moves_from_slurm_and_back(void **state)
{
    struct play *play = *state;

    open_world(play);
    await_serving(play, NODES);
    drain_by_person(play);
    post_work(play);
    mortal_service_start(play->service);
    if (play->is_deadly)
        die_at_each_point(play);
    else
        there_and_back(play);
    close_world(play);
}

int main(int argc, char **argv)
{
    struct play play = {
        .is_deadly = argc == 10,
        .is_fixed = argc == 9 && text_equal(argv[8], "fixed"),
    };
    const struct CMUnitTest tests[] = {
        { .name = argc > 5 ? argv[5] : "move",
          .test_func = a_node_moves_from_slurm_and_back,
          .initial_state = &play },
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if ((argc != 8 && !play.is_fixed && !play.is_deadly) ||
        (play.is_deadly && (!text_to_int(argv[8], 0, 1000, &play.first) ||
                            !text_to_int(argv[9], 1, 1000, &play.each)))) {
        fprintf(stderr, "usage: real_slurm FOLDER RELEASE SSHD PORT NAME KUBECONFIG BROKER "
                        "[fixed | FIRST EACH]\n");
        return 64;
    }
    play.server.folder = argv[1];
    play.release = argv[2];
    play.sshd = argv[3];
    play.port = argv[4];
    play.name = argv[5];
    play.kubeconfig = argv[6];
    play.broker = argv[7];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
