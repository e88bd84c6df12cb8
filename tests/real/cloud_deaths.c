/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * cloud_deaths CLOUD FIRST EACH: nodes move from one cluster to the other on a cloud of the
 * simulator, all of it over sockets.  With each move `sluice serve` dies by SIGKILL at another
 * point and is started again on its journal: point FIRST, then every EACH-th, until a move has no
 * such point.  Point 2 n - 2 is before commit n of a move, point 2 n - 1 right after it.
 *
 * After each move the simulator, not sluice, must have one node less here and one more there, with
 * a machine each, and none closed.
 */
#include "tests/cli/clouds.h"
#include "tests/real/mortal_service.h"
#include "tools/simulator/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOVABLE = 80,
    BEGIN = 3,                /* nodes of production; 2 of them are static */
    MOVE_MS = 10 * MINUTE_MS, /* a move that takes longer on a busy machine hangs */
    LOOK_MS = 100,
};

static const char world_head[] =
    "seed: 1\n"
    "pools: { prod-a-east: { nodes: 3 }, research-a-east: { nodes: 80 } }\n"
    "replicas: { chat-2x: { prod-a: 4 } }\n"
    "latency: { api: 1ms..10ms, delete: 500ms..1s, create: 500ms..1s, join: 200ms..500ms,"
    " gpus: 200ms..500ms, pod_start: 200ms, pod_stop: 200ms }\n"
    "jobs: { backlog: 20, duration: 1h..2h }\n";

/* What differs from the small world: a journal in a file, and times of seconds. */
static const char *const edits[][2] = {
    { "journal: ':memory:'\n", "poll: 1s\n" },
    { "drain: {notice: 5m, deadline: 5m, settle: 5s}",
      "drain: {notice: 1s, deadline: 60s, settle: 1s}\njoin: {stable: 1s}" },
    { "prior_p50: 15m, prior_p95: 25m", "prior_p50: 20s, prior_p95: 40s" },
    { "nodes: 16", "nodes: 83" },
};

struct play {
    const struct test_cloud *cloud;
    char *folder;
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct mortal_service *service;
    int moves; /* that were ordered so far */
};

static char *write_config(const struct play *play, int port)
{
    owned(chars) char *end = text_format("127.0.0.1:%d/", port);
    char *config = cloud_config(play->cloud);
    char *path;

    for (size_t i = 0; i < COUNT_OF(edits); i++) {
        char *edited = cloud_text(config, edits[i][0], edits[i][1]);

        mem_free(config);
        config = edited;
    }
    while (port != 1 && strstr(config, "127.0.0.1:1/")) {
        char *edited = cloud_text(config, "127.0.0.1:1/", end);

        mem_free(config);
        config = edited;
    }
    path = test_folder_write(play->folder, "sluice.yaml", config);
    mem_free(config);
    return path;
}

static void play_open(struct play *play)
{
    owned(chars) char *world_path = NULL, *config_path = NULL;
    struct error err = { 0 };
    int port = 0;

    play->folder = test_folder_new();
    play->loop = loop_libevent_new(&err);
    play->http = play->loop ? http_curl_new(play->loop, NULL, &err) : NULL;
    if (!play->http)
        fail_msg("%s", err.text);
    cloud_write_accounts(play->folder);
    world_path = test_folder_write(play->folder, "world.yaml", world_head);
    config_path = write_config(play, 1);
    play->simulator = simulator_new(play->loop, config_path, world_path, &err);
    if (!play->simulator || simulator_listen(play->simulator, 0, &port, &err) < 0)
        fail_msg("%s", err.text);
    mem_free(write_config(play, port));

    owned(chars) char *url = text_format("http://127.0.0.1:%d", port);

    if (simulator_write_kubeconfigs(play->simulator, play->folder, url, &err) < 0)
        fail_msg("%s", err.text);
    play->service = mortal_service_new(play->loop, play->http, play->folder);
    mortal_service_start(play->service);
}

static void play_close(struct play *play)
{
    mortal_service_free(play->service);
    simulator_free(play->simulator);
    http_free(play->http);
    loop_free(play->loop);
    test_folder_free(play->folder);
}

/* Lets a moment pass; a service that died is started again, and that is told. */
static bool go_on(struct play *play)
{
    bool is_dead = mortal_service_is_dead(play->service);

    if (is_dead)
        mortal_service_start(play->service);
    loop_run_until(play->loop, loop_now(play->loop) + LOOK_MS);
    return is_dead;
}

/* As a person who asks again while the answer is no, or none; how often the service died. */
static int apply_moves(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + MOVE_MS;
    int deaths = 0;

    for (;;) {
        json_t *schedules = json_make("{so}", "schedules",
                                      small_schedules(BEGIN + play->moves, BEGIN + play->moves));
        owned(json)
            json_t *plan = mortal_service_ask(play->service, HTTP_POST, "/v1/apply", schedules);

        if (plan)
            return deaths;
        if (loop_now(play->loop) >= end_ms)
            fail_msg("%s: the schedules are not taken", play->folder);
        deaths += go_on(play);
    }
}

/* Transfers in that state; -1: the service says nothing. */
static int count_of(struct play *play, const char *state, char step[24])
{
    owned(json) json_t *answer = mortal_service_ask(play->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);
    const json_t *row;
    int count = 0;
    size_t i;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        count += text_equal(json_text_or(row, "state", ""), state);
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(step, 24, json_text_or(row, "step", ""));
    }
    return answer ? count : -1;
}

static void expect_cluster(struct play *play, const char *name, int nodes)
{
    const struct kube_cluster *cluster = sim_cluster(play->simulator, name);
    int open = 0;
    void *value;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);) {
        const struct kube_node *node = value;

        assert_non_null(node->machine);
        assert_false(node->is_unschedulable);
        open++;
    }
    assert_int_equal(open, nodes);
}

static void expect_world(struct play *play)
{
    char step[24];

    expect_cluster(play, "prod-a", BEGIN + play->moves);
    expect_cluster(play, "research-a", MOVABLE - play->moves);
    assert_int_equal(simulator_pool_running(play->simulator, "prod-a-east"), BEGIN + play->moves);
    assert_int_equal(simulator_pool_running(play->simulator, "research-a-east"),
                     MOVABLE - play->moves);
    for (size_t i = 0; i < play->simulator->pool_count; i++)
        assert_int_equal(
            play->simulator->pools[i].target,
            simulator_pool_running(play->simulator, play->simulator->pools[i].plan->name));
    assert_int_equal(play->simulator->machines_deleted, play->moves);
    assert_int_equal(count_of(play, "done", step), play->moves);
    for (size_t i = 0; i < referee_violation_count(simulator_referee(play->simulator)); i++)
        fail_msg("%s", referee_violation(simulator_referee(play->simulator), i)->sentence);
}

/* One move with a death at that commit (0: none); false: the move had no such commit. */
static bool move_and_die(struct play *play, int64_t commit, enum mortal_moment moment)
{
    int64_t began_ms = loop_now(play->loop), end_ms = began_ms + MOVE_MS;
    char step[24] = "apply", died_in[24] = "end";
    int deaths;

    mortal_service_order(play->service, commit, moment);
    play->moves++;
    deaths = apply_moves(play);
    if (deaths > 0)
        text_copy(died_in, sizeof died_in, "apply");
    while (count_of(play, "done", step) < play->moves) {
        if (loop_now(play->loop) >= end_ms)
            fail_msg("the move does not end: %s/serve.log", play->folder);
        if (go_on(play)) {
            deaths++;
            text_copy(died_in, sizeof died_in, step);
        }
    }
    printf("%s: commit %" PRId64 " %s: %s, %d deaths, %" PRId64 " commits, %.1f s\n",
           play->cloud->name, commit, moment == MORTAL_BEFORE ? "before" : "after", died_in, deaths,
           mortal_service_commits(play->service),
           (double)(loop_now(play->loop) - began_ms) / SECOND_MS);
    fflush(stdout);
    mortal_service_order(play->service, 0, MORTAL_BEFORE);
    expect_world(play);
    assert_in_range(deaths, 0, 1);
    return deaths == 1;
}

static long long first_point, each_point;
static const struct test_cloud *cloud;

static void a_node_moves_once_whenever_the_service_dies(void **state)
{
    struct play play = { .cloud = cloud };

    (void)state;
    play_open(&play);
    assert_false(move_and_die(&play, 0, MORTAL_BEFORE));
    for (long long point = first_point; play.moves < MOVABLE - 2; point += each_point)
        if (!move_and_die(&play, point / 2 + 1, point % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER))
            break;
    play_close(&play);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_moves_once_whenever_the_service_dies),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    for (size_t i = 0; argc == 4 && i < COUNT_OF(test_clouds); i++)
        if (text_equal(test_clouds[i].name, argv[1]))
            cloud = &test_clouds[i];
    if (!cloud || !text_to_int(argv[2], 0, 1000, &first_point) ||
        !text_to_int(argv[3], 1, 1000, &each_point)) {
        fprintf(stderr, "usage: cloud_deaths CLOUD FIRST EACH\nclouds:\n");
        for (size_t i = 0; i < COUNT_OF(test_clouds); i++)
            fprintf(stderr, "%s\n", test_clouds[i].name);
        return 64;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
