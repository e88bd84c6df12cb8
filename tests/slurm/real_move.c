/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * real_slurm FOLDER RELEASE SSHD PORT NAME KUBECONFIG BROKER ROUNDS EACH: a node goes from a real
 * Slurm to Kubernetes and back, while 24 jobs run.  FOLDER: of tests/slurm/server, without nodes;
 * SSHD: the folder of a real sshd on PORT, through which the service runs Slurm's commands.
 * KUBECONFIG and BROKER are of a real API server; "-": the simulator's.  The cloud is the
 * simulator's: a machine that it boots becomes a real slurmd, or a Node in the API server.
 *
 * slurmctld is restarted in the middle of the first move's drain.  A person has drained a node of
 * research, with a reason.  ROUNDS 0: one pair of moves, and the service lives.  Otherwise there
 * are so many pairs, and the service dies by SIGKILL again and again: in pair n first at commit n,
 * and then at the EACH-th commit after each start, in odd pairs before the commit, in others right
 * after it.
 *
 * Looked at without the service: each of the jobs ended under its own number; none of a node that
 * stayed was started twice; no node drains but the person's; no reservation is left.
 */
#include "base/log.h"
#include "base/map.h"
#include "tests/conformance/ask.h"
#include "tests/real/mortal_service.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 8, JOBS = 24, LOOK_MS = 100, MOVE_MS = 15 * MINUTE_MS };

struct play {
    const char *server, *release, *sshd, *port, *name, *kubeconfig, *broker;
    int64_t rounds, each;
    enum mortal_moment moment;
    char *folder;
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct mortal_service *service;
    struct kube_config *access; /* NULL: the simulator's */
    struct asker asker;
    struct map *joined; /* names of machines whose slurmd or Node was started */
    struct map *moved;  /* numbers of jobs that were on a node which left */
    int numbers;        /* of slurmds */
    int deaths;
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
    "drain: {notice: 4s, deadline: 12s, settle: 1s}\n"
    "join: {stable: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: '%s'}\n"
    "  research-a: {kind: slurm, role: research, poll: 1s, rest: '%s', rest_user: root,\n"
    "    token: '%s/token', ssh_address: 127.0.0.1, ssh_port: %s, ssh_user: root,\n"
    "    ssh_host_key: '%s', ssh_key: '%s/user', path: '%s/bin',\n"
    "    checkpoint_lead: 3s, machine: 'gce://p/us-east5-a/{name}'}\n"
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

/* ---- Slurm's commands ---- */

/* What a line prints there; it may fail.  The caller frees it. */
static char *run(const struct play *play, const char *line)
{
    owned(chars) char *command = text_format("'%s/run' \"$LINE\" 2>&1", play->server);
    struct text *out = text_new(16 << 20);
    char bytes[4096];
    size_t size;
    FILE *pipe;

    assert_int_equal(setenv("LINE", line, 1), 0);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((size = fread(bytes, 1, sizeof bytes, pipe)) > 0)
        text_add_bytes(out, bytes, size);
    (void)pclose(pipe);
    return text_take(out);
}

static void server(const struct play *play, const char *verb, const char *rest)
{
    owned(chars) char *line = text_format(
        "SLUICE_FEATURE=ephemeral '%s/tests/slurm/server' %s '%s' "
        "%s >>'%s/server.log' 2>&1",
        SLUICE_SOURCE, verb, play->server, rest, play->folder);

    assert_int_equal(system(line), 0);
}

/* ---- the world ---- */

static const struct pool *pool_of(const struct play *play, const char *name)
{
    for (size_t i = 0; i < play->simulator->pool_count; i++)
        if (text_equal(play->simulator->pools[i].plan->name, name))
            return &play->simulator->pools[i];
    fail_msg("no pool %s", name);
    return NULL;
}

/* A machine of research that runs has a slurmd, and one that stops has none. */
static void follow_slurmds(struct play *play)
{
    const struct pool *pool = pool_of(play, "research-a-east");
    const char *name;

    for (size_t i = 0; i < pool->machines.count; i++) {
        const struct machine *machine = pool->machines.items[i];
        bool is_joined = map_get(play->joined, machine->name);
        owned(chars) char *rest = NULL;

        if (machine->state == MACHINE_RUNNING && machine->slurm_node && !is_joined) {
            map_set(play->joined, machine->name, play);
            rest = text_format("'%s' %d", machine->node_name, 101 + play->numbers++);
            server(play, "join", rest);
        } else if (machine->state == MACHINE_STOPPING && is_joined) {
            (void)map_take(play->joined, machine->name);
            rest = text_format("'%s'", machine->node_name);
            server(play, "leave", rest);
        }
    }
    (void)name;
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

/* A moment passes; a service that died is started again. */
static void go_on(struct play *play)
{
    if (mortal_service_is_dead(play->service)) {
        play->deaths++;
        mortal_service_start(play->service);
        if (play->rounds > 0)
            mortal_service_order(play->service, play->each, play->moment);
    }
    loop_run_until(play->loop, loop_now(play->loop) + LOOK_MS);
    follow_slurmds(play);
    follow_kubelets(play);
}

static void write_config(struct play *play, int port)
{
    owned(chars) char *url_path = text_format("%s/url", play->server);
    owned(chars) char *key_path = text_format("%s/host.pub", play->sshd);
    owned(text) struct text *url = test_file_read(url_path);
    owned(text) struct text *key = test_file_read(key_path);
    owned(chars) char *own = text_format("%s/prod-a.kubeconfig", play->folder);

    owned(chars) char *chars = text_format(
        config_format, play->access ? play->broker : own, "URL", play->server, play->port, "KEY",
        play->sshd, play->server, port, port, play->name, play->name, play->name);
    owned(text) struct text *out = text_new(1 << 16);
    const char *at_url = strstr(chars, "URL");
    const char *at_key = strstr(chars, "KEY");

    text_add(out, "%.*s%.*s%.*s%.*s%s", (int)(at_url - chars), chars,
             (int)strcspn(url->chars, "\n"), url->chars, (int)(at_key - at_url - 3), at_url + 3,
             (int)strcspn(key->chars, "\n"), key->chars, at_key + 3);
    mem_free(test_folder_write(play->folder, "sluice.yaml", out->chars));
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
    play->moved = map_new(NULL);
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
    map_free(play->moved);
    test_folder_free(play->folder);
}

/* ---- looking ---- */

static json_t *list(const struct play *play, const char *line, const char *name)
{
    owned(chars) char *chars = run(play, line);
    owned(json) json_t *body = json_loads(chars, 0, NULL);

    if (!json_is_array(json_object_get(body, name)))
        fail_msg("%s: %.300s", line, chars);
    return json_incref(json_object_get(body, name));
}

static int64_t number(const json_t *item, const char *key)
{
    const json_t *value = json_object_get(item, key);

    return json_is_object(value) ? json_int_or(value, "number", 0) : json_integer_value(value);
}

static const char *state_of(const json_t *job)
{
    const json_t *state = json_object_get(job, "job_state");

    return json_string_value(json_is_array(state) ? json_array_get(state, 0) : state) ?: "";
}

/* How many nodes serve, as people see it.  A drained node counts as idle for sinfo's own filter. */
static int serving(const struct play *play)
{
    owned(chars) char *lines = run(play, "sinfo -h -N -p train -o %T");
    int count = 0;

    for (const char *at = lines; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        count += text_starts_with(at, "idle") || text_starts_with(at, "mixed") ||
                 text_starts_with(at, "allocated");
    return count;
}

static void post_work(struct play *play)
{
    static const char label[] = "ephemeral";

    if (!play->access)
        return;
    (void)label;
    ask_server(&play->asker, ASK_POST,
               json_make("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
                         "name", play->name),
               "/api/v1/namespaces");
    ask_server(
        &play->asker, ASK_POST,
        json_make("{s:s, s:s, s:{s:s}, s:{s:i, s:{s:{s:s}}, s:{s:{s:{s:s}}, s:{s:[{s:s, s:s, "
                  "s:{s:{s:s}}}]}}}}",
                  "apiVersion", "apps/v1", "kind", "Deployment", "metadata", "name", "chat-2x",
                  "spec", "replicas", 4, "selector", "matchLabels", "app", "work", "template",
                  "metadata", "labels", "app", "work", "spec", "containers", "name", "main",
                  "image", "registry.example/main:1", "resources", "limits", "nvidia.com/gpu", "2"),
        "/apis/apps/v1/namespaces/%s/deployments", play->name);
    ask_expect(&play->asker, 201);
}

/* ---- a move ---- */

static void apply(struct play *play, int nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%d]\n",
        (nodes - 1) * 4, nodes);

    for (int64_t end_ms = loop_now(play->loop) + MOVE_MS;; go_on(play)) {
        owned(json) json_t *plan = mortal_service_ask(
            play->service, HTTP_POST, "/v1/apply",
            json_make("{s:{s:s, s:s}}", "schedules", "day", chars, "night", chars));

        if (plan)
            return;
        assert_true(loop_now(play->loop) < end_ms);
    }
}

/* The transfers that ended as done; -1: one lives, or nothing answers.  step: of the live one. */
static int done(struct play *play, char step[24], char node[SIM_NAME_SIZE])
{
    owned(json) json_t *answer = mortal_service_ask(play->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);
    size_t i;
    json_t *row;
    int count = 0;
    bool is_live = false;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        const char *state = json_text_or(row, "state", "");

        count += text_equal(state, "done");
        if (!text_equal(state, "live"))
            continue;
        is_live = true;
        text_copy(step, 24, json_text_or(row, "step", ""));
        text_copy(node, SIM_NAME_SIZE, json_text_or(row, "node", ""));
    }
    return answer && !is_live ? count : -1;
}

/* The jobs of the node that leaves. */
static void note_jobs(struct play *play, const char *node)
{
    owned(chars) char *line = text_format("squeue -h -w %s -o %%A", node);
    owned(chars) char *lines = run(play, line);

    for (char *at = lines; at[strspn(at, "0123456789")] == '\n'; at = strchr(at, '\n') + 1) {
        owned(chars) char *id = text_format("%.*s", (int)strspn(at, "0123456789"), at);

        map_set(play->moved, id, play);
    }
}

/* Until so many transfers were done in all; slurmctld is restarted when a drain begins. */
static void follow(struct play *play, int wanted, bool restarts)
{
    int64_t end_ms = loop_now(play->loop) + MOVE_MS;
    char step[24] = "", node[SIM_NAME_SIZE] = "";

    while (done(play, step, node) < wanted) {
        if (loop_now(play->loop) > end_ms)
            fail_msg("%s: the move does not end: %s in step %s", play->folder, node, step);
        if (text_equal(step, "notice") || text_equal(step, "cordon") || text_equal(step, "drain"))
            note_jobs(play, node);
        if (restarts && text_equal(step, "drain")) {
            restarts = false;
            server(play, "ctld", "stop");
            for (int i = 0; i < 30; i++)
                go_on(play);
            server(play, "ctld", "start");
        }
        for (int i = 0; i < 5; i++)
            go_on(play);
    }
}

/* ---- jobs ---- */

/* 24 of them: on one node and on two, arrays, one that may not be requeued; all longer than a drain
   but for a few. */
static void submit(struct play *play)
{
    static const char *const kinds[] = {
        "--gpus=4 --time=30",
        "--gpus=4 --time=30 --signal=B:USR1@60",
        "--gpus=8 --time=30",
        "--array=1-3 --gpus=2 --time=30",
        "--nodes=2 --exclusive --time=30",
    };
    int jobs = 0;

    for (int i = 0; jobs < JOBS; i++) {
        int kind = JOBS - jobs < 3 && i % 5 == 3 ? 0 : i % 5;
        owned(chars) char *line = text_format("sbatch --chdir=/tmp --output=/dev/null %s "
                                              "--wrap='trap : USR1; i=0; while [ $i "
                                              "-lt %d ]; do sleep 1; i=$((i+1)); done'",
                                              kinds[kind], 60 + 10 * (i % 6));
        owned(chars) char *said = run(play, line);

        if (!strstr(said, "Submitted batch job"))
            fail_msg("%s: %s", line, said);
        jobs += kind == 3 ? 3 : 1;
    }
}

static void await_jobs(struct play *play, int wanted)
{
    for (int64_t end_ms = loop_now(play->loop) + MOVE_MS;;) {
        owned(json) json_t *jobs = list(play, "squeue --states=all --json", "jobs");
        int ended = 0;
        size_t i;
        json_t *job;

        json_array_foreach(jobs, i, job)
            ended += text_equal(state_of(job), "COMPLETED");
        if (ended >= wanted)
            return;
        if (loop_now(play->loop) > end_ms)
            fail_msg("%d of %d jobs ended", ended, wanted);
        for (int k = 0; k < 10; k++)
            go_on(play);
    }
}

/* Every job ended under its own number; the ones that were requeued are counted. */
static int check_jobs(const struct play *play, int wanted)
{
    owned(json) json_t *jobs = list(play, "squeue --states=all --json", "jobs");
    int requeued = 0;
    size_t i;
    json_t *job;

    assert_int_equal(json_array_size(jobs), wanted);
    json_array_foreach(jobs, i, job) {
        if (!text_equal(state_of(job), "COMPLETED"))
            fail_msg("job %" PRId64 " is %s", number(job, "job_id"), state_of(job));
        owned(chars) char *id = text_format("%" PRId64, number(job, "job_id"));

        if (number(job, "restart_cnt") > 0 && !map_get(play->moved, id))
            fail_msg("job %s was never on a node that left, and was started twice", id);
        requeued += number(job, "restart_cnt") > 0;
        assert_true(number(job, "restart_cnt") <= 2);
    }
    return requeued;
}

/* The person's drain is there as it was, and no other; no reservation of sluice. */
static void check_nodes(const struct play *play)
{
    owned(chars) char *nodes = run(play, "scontrol -o show nodes");
    owned(chars) char *reservations = run(play, "scontrol -o show reservations");
    owned(chars) char *kept = text_format("scontrol -o show node %s", play->kept);
    owned(chars) char *shown = run(play, kept);

    if (strstr(nodes, "Reason=sluice") || strstr(reservations, "sluice_"))
        fail_msg("left over: %s\n%s", nodes, reservations);
    if (!strstr(shown, "+DRAIN") || !strstr(shown, reason))
        fail_msg("the person's drain: %s", shown);
    assert_int_equal(serving(play), NODES - 1);
}

static void drain_by_person(struct play *play)
{
    const struct pool *pool = pool_of(play, "research-a-east");
    owned(chars) char *line = NULL;

    for (size_t i = 0; i < pool->machines.count; i++)
        if (pool->machines.items[i]->is_static)
            text_copy(play->kept, sizeof play->kept, pool->machines.items[i]->node_name);
    line = text_format("scontrol update NodeName=%s State=DRAIN Reason='%s'", play->kept, reason);
    mem_free(run(play, line));
}

static void there_and_back(struct play *play, int round)
{
    int64_t began_ms = loop_now(play->loop);
    int before = play->deaths;

    submit(play);
    for (int i = 0; i < 30; i++)
        go_on(play);
    play->moment = round % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER;
    mortal_service_order(play->service, play->rounds > 0 ? round + 1 : 0, play->moment);
    apply(play, 3);
    follow(play, 2 * round + 1, round == 0);
    assert_int_equal(simulator_pool_running(play->simulator, "prod-a-east"), 3);
    apply(play, 2);
    follow(play, 2 * round + 2, false);
    await_jobs(play, (round + 1) * JOBS);
    for (int i = 0; i < 300 && serving(play) < NODES - 1; i++)
        go_on(play);
    check_nodes(play);
    printf("%s, Slurm %s: there and back%s, %" PRId64
           " commits since the last start, %d deaths, %d of %d jobs were "
           "requeued so far, %.0f s\n",
           play->name, play->release, round == 0 ? ", slurmctld restarted" : "",
           mortal_service_commits(play->service), play->deaths - before,
           check_jobs(play, (round + 1) * JOBS), (round + 1) * JOBS,
           (double)(loop_now(play->loop) - began_ms) / SECOND_MS);
    fflush(stdout);
    mortal_service_order(play->service, 0, MORTAL_BEFORE);
}

static void a_node_moves_from_slurm_and_back(void **state)
{
    struct play *play = *state;

    open_world(play);
    for (int i = 0; i < 1200 && serving(play) < NODES; i++)
        go_on(play);
    assert_int_equal(serving(play), NODES);
    drain_by_person(play);
    post_work(play);
    mortal_service_start(play->service);
    for (int round = 0; round == 0 || round < play->rounds; round++)
        there_and_back(play, round);
    assert_true(play->rounds == 0 || play->deaths >= play->rounds);
    close_world(play);
}

int main(int argc, char **argv)
{
    long long rounds = 0, each = 1;
    struct play play = { 0 };
    const struct CMUnitTest tests[] = {
        { .name = argc > 5 ? argv[5] : "move",
          .test_func = a_node_moves_from_slurm_and_back,
          .initial_state = &play },
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    if (argc != 10 || !text_to_int(argv[8], 0, 1000, &rounds) ||
        !text_to_int(argv[9], 1, 1000, &each)) {
        fprintf(stderr, "usage: real_slurm FOLDER RELEASE SSHD PORT NAME KUBECONFIG BROKER ROUNDS "
                        "EACH\n");
        return 64;
    }
    play = (struct play){ .server = argv[1],
                          .release = argv[2],
                          .sshd = argv[3],
                          .port = argv[4],
                          .name = argv[5],
                          .kubeconfig = argv[6],
                          .broker = argv[7],
                          .rounds = rounds,
                          .each = each };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
