/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A whole service, `sluice serve`, moves a machine of one's own from one cluster to another and
 * back, over a real sshd.  tests/real/machines starts it, and says where the files are.
 *
 * The clusters are the simulator's.  A Node comes and goes with the machine's kubelet, as the
 * stand-in of kubeadm leaves it on the disk.  Bootstrap tokens are made in the token server.
 */
#include "base/file.h"
#include "base/log.h"
#include "tests/real/mortal_service.h"
#include "tests/real/own/secret_search.h"
#include "tests/real/own/small_disk.h"
#include "tests/real/own/token_server.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/cloud.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 20, MOVE_MS = 5 * MINUTE_MS }; /* a longer move hangs */

#define MACHINE "gpu-1"

/* The stand-in of kubeadm wants both. */
#define NODES                                                                                      \
    "labels: sluice.dev/ephemeral=true, taints: '{key: nvidia.com/gpu, effect: NoSchedule}'"

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "poll: 1s\n"
    "repack_nodes: 0\n"
    "ephemeral_label: sluice.dev/ephemeral=true\n"
    "drain: {notice: 1s, deadline: 60s, settle: 1s}\n"
    "join: {stable: 1s}\n"
    "lead: {prior_p50: 20s, prior_p95: 40s}\n"
    "clusters:\n"
    "  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}\n"
    "  research-a: {role: research, kubeconfig: research-a.kubeconfig}\n"
    "reservations:\n"
    "  rack: {machine: a3-megagpu-8g, region: here, zone: here-a, gpus_per_node: 8, nodes: 1}\n"
    "providers:\n"
    "  rack: {kind: ssh, machines: machines.yaml, user: root, port: %s, key: '%s/user',"
    " folder: '%s'}\n"
    "pools:\n"
    "  prod-a-rack: {cluster: prod-a, reservation: rack, provider: rack, group: b, join: kubeadm,"
    " kubeconfig: '%s/kubeconfig', " NODES "}\n"
    "  research-a-rack: {cluster: research-a, reservation: rack, provider: rack, group: a,"
    " join: kubeadm, kubeconfig: '%s/kubeconfig', " NODES "}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}\n";

static const char world_text[] =
    "seed: 1\n"
    "pools: { prod-a-rack: { nodes: 0 }, research-a-rack: { nodes: 1 } }\n"
    "replicas: { chat-2x: { prod-a: 0 } }\n"
    "latency: { api: 1ms..10ms, delete: 100ms..200ms, create: 200ms..500ms, join: 200ms..500ms,"
    " gpus: 200ms..500ms, pod_start: 200ms, pod_stop: 200ms }\n"
    "jobs: { backlog: 20, duration: 1h..2h }\n";

struct play {
    const char *sshd; /* its folder */
    char *folder;     /* of the service */
    char *marker;     /* folder on the machine */
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct token_server *tokens;
    struct mortal_service *service;
    struct secret_search search;
    struct timer *timer;
    bool had_kubelet;
    int known_tokens; /* that are looked for */
    int moves;        /* that were ordered */
};

static char *path_of(const char *folder, const char *name)
{
    return text_format("%s/%s", folder, name);
}

static bool has_file(const char *folder, const char *name)
{
    owned(chars) char *path = path_of(folder, name);

    return file_exists(path);
}

/* ---- the machine's Node ---- */

static struct pool *pool_of_group(struct play *play, const char *group)
{
    for (size_t i = 0; i < play->simulator->pool_count; i++)
        if (text_equal(sim_pool_text(&play->simulator->pools[i], "group"), group))
            return &play->simulator->pools[i];
    fail_msg("no pool of group \"%s\"", group);
    return NULL;
}

static struct machine *machine_now(const struct play *play)
{
    struct machine *machine = NULL;

    for (size_t i = 0; !machine && i < play->simulator->pool_count; i++)
        machine = sim_machine_find(&play->simulator->pools[i], MACHINE);
    return machine;
}

/* The value of a line NAME=VALUE of the marker. */
static void marker_line(const struct play *play, const char *name, char out[64])
{
    owned(chars) char *path = path_of(play->marker, "marker");
    owned(chars) char *start = text_format("\n%s=", name);
    struct error err = { 0 };
    owned(text) struct text *file = file_read(path, 4096, &err);
    owned(chars) char *marker = text_format("\n%s", file ? file->chars : "");
    const char *at = strstr(marker, start);

    text_print(out, 64, "%.*s", at ? (int)strcspn(at + strlen(start), "\n") : 0,
               at ? at + strlen(start) : "");
}

static void follow_kubelet(struct play *play)
{
    bool has_kubelet = has_file(play->sshd, "root/etc/kubernetes/kubelet.conf");
    struct machine *machine = machine_now(play);
    char state[64], group[64];

    if (play->had_kubelet && !has_kubelet && machine) {
        referee_delete_instance(play->simulator, machine, "");
        sim_machine_remove(play->simulator, machine);
    }
    play->had_kubelet = has_kubelet;
    marker_line(play, "state", state);
    marker_line(play, "group", group);
    if (has_kubelet && !machine && text_equal(state, "in"))
        sim_machine_start(play->simulator,
                          sim_machine_new(play->simulator, pool_of_group(play, group), MACHINE));
}

/* Also while an answer is awaited. */
static void on_look(void *context)
{
    struct play *play = context;

    for (; play->known_tokens < token_server_made(play->tokens); play->known_tokens++) {
        const char *secret = token_server_secret(play->tokens, play->known_tokens);

        secret_search_add(&play->search, secret, strlen(secret));
    }
    follow_kubelet(play);
    secret_search_processes(&play->search);
    timer_set(play->timer, LOOK_MS);
}

/* ---- the world ---- */

static void write_files(struct play *play)
{
    owned(chars) char *host_path = path_of(play->sshd, "host.pub");
    owned(text) struct text *host_key = test_file_read(host_path);
    owned(chars) char *list = text_format(MACHINE
                                          ": {address: 127.0.0.1, group: a, host_key: '%.*s'}\n",
                                          (int)strcspn(host_key->chars, "\n"), host_key->chars);
    owned(chars) char *config = text_format(config_format, getenv("SSHD_PORT"), play->sshd,
                                            play->marker, play->sshd, play->sshd);

    mem_free(test_folder_write(play->folder, "machines.yaml", list));
    mem_free(test_folder_write(play->folder, "sluice.yaml", config));
    mem_free(test_folder_write(play->folder, "world.yaml", world_text));
}

static void open_simulator(struct play *play)
{
    owned(chars) char *config = path_of(play->folder, "sluice.yaml");
    owned(chars) char *world = path_of(play->folder, "world.yaml");
    struct error err = { 0 };
    int port = 0;

    play->simulator = simulator_new(play->loop, config, world, &err);
    if (!play->simulator || simulator_listen(play->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    owned(chars) char *url = text_format("http://127.0.0.1:%d", port);

    if (simulator_write_kubeconfigs(play->simulator, play->folder, url, &err) < 0)
        fail_msg("%s", err.text);
}

/* marker: the folder of the machine's state, new for each play. */
static void play_open(struct play *play, const char *marker)
{
    owned(chars) char *key = NULL;
    struct error err = { 0 };

    *play = (struct play){ .sshd = getenv("SSHD_FOLDER") };
    assert_non_null(play->sshd);
    play->folder = test_folder_new();
    play->marker = mem_copy_chars(marker);
    play->loop = loop_libevent_new(&err);
    play->http = play->loop ? http_curl_new(play->loop, NULL, &err) : NULL;
    if (!play->http)
        fail_msg("%s", err.text);
    play->tokens = token_server_new(play->loop, play->sshd);
    key = path_of(play->sshd, "user");
    secret_search_add_key(&play->search, key);
    write_files(play);
    open_simulator(play);
    play->timer = timer_new(play->loop, on_look, play);
    on_look(play);
    play->service = mortal_service_new(play->loop, play->http, play->folder);
    mortal_service_start(play->service);
}

static void play_close(struct play *play)
{
    mortal_service_free(play->service);
    timer_free(play->timer);
    simulator_free(play->simulator);
    token_server_free(play->tokens);
    http_free(play->http);
    loop_free(play->loop);
    secret_search_clear(&play->search);
    test_folder_free(play->folder);
    mem_free(play->marker);
}

static void go_on(struct play *play)
{
    if (mortal_service_is_dead(play->service))
        fail_msg("the service was killed: %s/serve.log", play->folder);
    loop_run_until(play->loop, loop_now(play->loop) + 10 * LOOK_MS);
    if (play->search.found[0] != '\0')
        fail_msg("%s", play->search.found);
}

/* So many nodes in production; asked again while the answer is no, or none. */
static void order(struct play *play, int nodes)
{
    owned(chars) char *schedule = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %d\ncompute:\n  a3-megagpu-8g:\n    here:\n"
        "      prod-a:\n        counts: [%d]\n",
        4 * nodes, nodes);
    int64_t end_ms = loop_now(play->loop) + MOVE_MS;
    json_t *plan = NULL;

    play->moves++;
    while (!plan) {
        plan = mortal_service_ask(
            play->service, HTTP_POST, "/v1/apply",
            json_make("{s{ss ss}}", "schedules", "day", schedule, "night", schedule));
        if (loop_now(play->loop) >= end_ms)
            fail_msg("the schedules are not taken: %s/serve.log", play->folder);
        go_on(play);
    }
    json_decref(plan);
}

/* Transfers that are done; what the live one waits for. */
static int count_done(struct play *play, char waits_for[512])
{
    owned(json) json_t *answer = mortal_service_ask(play->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);
    const json_t *row;
    int done = 0;
    size_t i;

    waits_for[0] = '\0';
    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        done += text_equal(json_text_or(row, "state", ""), "done");
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(waits_for, 512, json_text_or(row, "waits_for", ""));
    }
    return done;
}

static void expect_nodes(struct play *play, const char *cluster, int nodes)
{
    const struct map *map = sim_cluster(play->simulator, cluster)->nodes;
    void *value;
    int count = 0;

    for (size_t i = 0; map_next(map, &i, NULL, &value);) {
        const struct kube_node *node = value;

        assert_string_equal(node->provider_id, "ssh://" MACHINE);
        assert_false(node->is_unschedulable);
        count++;
    }
    assert_int_equal(count, nodes);
}

#define ROUND "kubeadm reset\nrestart containerd\nkubeadm join\n"

/* The move has ended, and each of its steps was done once. */
static void expect_moved(struct play *play, int in_production)
{
    int64_t end_ms = loop_now(play->loop) + MOVE_MS;
    owned(chars) char *steps_path = path_of(play->sshd, "steps");
    char waits_for[512];

    while (count_done(play, waits_for) < play->moves) {
        if (loop_now(play->loop) >= end_ms)
            fail_msg("the move does not end, it waits for: %s: %s/serve.log", waits_for,
                     play->folder);
        go_on(play);
    }
    owned(text) struct text *steps = test_file_read(steps_path);

    assert_string_equal(steps->chars, ROUND);
    test_file_write(steps_path, "", 0);
    expect_nodes(play, "prod-a", in_production);
    expect_nodes(play, "research-a", 1 - in_production);
    assert_int_equal(token_server_count(play->tokens), 0);
}

/* ---- the cases ---- */

/* What is there is found, in files as well as in the journal's tables. */
static void expect_to_find(const struct play *play, const char *journal)
{
    struct secret_search search = { 0 };

    assert_true(has_file(play->folder, "serve.log"));
    secret_search_add(&search, "prod-a-rack", strlen("prod-a-rack"));
    (void)secret_search_files(&search, play->folder);
    assert_string_not_equal(search.found, "");
    search.found[0] = '\0';
    (void)secret_search_tables(&search, journal);
    assert_string_not_equal(search.found, "");
    secret_search_clear(&search);
}

static void no_secret_is_left_anywhere(void **state)
{
    owned(chars) char *marker = path_of(getenv("SSHD_FOLDER"), "marker-of-service");
    owned(chars) char *journal = NULL, *config_path = NULL;
    struct play play;
    int files, values, made;

    (void)state;
    play_open(&play, marker);
    order(&play, 1);
    expect_moved(&play, 1);
    order(&play, 0);
    expect_moved(&play, 0);

    config_path = path_of(play.sshd, "config");
    owned(text) struct text *config = test_file_read(config_path);

    /* One for each order; a slow machine that has not begun gets another in place of the first, so
       that the last one alone is good. */
    made = token_server_made(play.tokens);
    assert_in_range(made, 2, 4);
    assert_non_null(strstr(config->chars, token_server_secret(play.tokens, made - 1)));
    assert_true(play.search.has_seen_join && play.search.has_seen_service);
    (void)secret_search_files(&play.search, play.folder); /* the log of the journal, too */
    mortal_service_stop(play.service);
    journal = path_of(play.folder, "sluice.db");
    files = secret_search_files(&play.search, play.folder) +
            secret_search_files(&play.search, play.marker);
    values = secret_search_tables(&play.search, journal);
    expect_to_find(&play, journal);
    print_message("      %zu secrets; %d looks at a process, %d files, %d values of the journal\n",
                  play.search.secrets.count, play.search.processes, files, values);
    assert_string_equal(play.search.found, "");
    play_close(&play);
}

/* The transfer waits, and says which machine has no space. */
static void expect_full(struct play *play, const char *when)
{
    int64_t began_ms = loop_now(play->loop);
    char waits_for[512];

    do {
        if (loop_now(play->loop) >= began_ms + MOVE_MS)
            fail_msg("%s: it waits for \"%s\": %s/serve.log", when, waits_for, play->folder);
        go_on(play);
        (void)count_done(play, waits_for);
    } while (!strstr(waits_for, "machine " MACHINE) || !strstr(waits_for, "its disk is full"));
    print_message("      %s, after %.1f s: %s\n", when,
                  (double)(loop_now(play->loop) - began_ms) / SECOND_MS, waits_for);
}

static bool is_parked(const struct play *play)
{
    char state[64];

    marker_line(play, "state", state);
    return text_equal(state, "parked");
}

static bool is_reset(const struct play *play)
{
    return !play->had_kubelet;
}

/* Looks often, so that what follows comes before the service's next question. */
static void await(struct play *play, bool (*is_so)(const struct play *play), const char *what)
{
    int64_t end_ms = loop_now(play->loop) + MOVE_MS;

    while (!is_so(play)) {
        if (loop_now(play->loop) >= end_ms)
            fail_msg("never %s: %s/serve.log", what, play->folder);
        loop_run_until(play->loop, loop_now(play->loop) + 1);
    }
}

/* Full when the machine is asked to leave, when its first step was done, and in a whole sweep also
   when it is asked to join, because the next attempt takes minutes.  Nothing begins, nothing is
   done twice, and with space it goes on by itself. */
static void a_full_disk_is_waited_out(void **state)
{
    const char *disk = getenv("SMALL_DISK");
    struct play play;

    (void)state;
    if (!disk)
        skip();
    play_open(&play, disk);
    small_disk_fill(play.marker);
    order(&play, 1);
    expect_full(&play, "before leaving");
    assert_true(has_file(play.sshd, "root/etc/kubernetes/kubelet.conf"));
    mem_free(test_folder_write(play.sshd, "state/fill", disk));
    small_disk_make_space(play.marker);
    await(&play, is_reset, "reset");
    expect_full(&play, "after a step");
    small_disk_make_space(play.marker);
    if (getenv("SLUICE_SWEEP")) {
        await(&play, is_parked, "parked");
        small_disk_fill(play.marker);
        expect_full(&play, "before joining");
        small_disk_make_space(play.marker);
    }
    expect_moved(&play, 1);
    play_close(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_secret_is_left_anywhere),
        cmocka_unit_test(a_full_disk_is_waited_out),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
