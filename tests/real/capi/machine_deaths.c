/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * machine_deaths PROD RESEARCH BROKER_IN_PROD BROKER_IN_RESEARCH NAME FIRST EACH: Machines move
 * between two MachineDeployments of Cluster API's own controllers, there and back.  The first four
 * are kubeconfigs, two of who may do all, and two of the service; PROD is the management cluster,
 * too.
 *
 * With each move `sluice serve` dies by SIGKILL at another point and is started again on its
 * journal: point FIRST, then every EACH-th, until neither way has such a point.  Point 2 n - 2 is
 * before commit n of a move, point 2 n - 1 right after it.  The last move of each way is one
 * without a death.
 *
 * Each move begins as the one before it left the pools: with three Machines of each, or with two
 * and four.  What a move leaves is read from the API servers, without the service (farm.h).  Run by
 * tests/real/machine_deaths.
 */
#include "base/log.h"
#include "tests/real/capi/farm.h"
#include "tests/real/mortal_service.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EACH_POOL = 3,               /* Machines at the beginning */
    LOOK_MS = SECOND_MS,         /* a Machine is there for several seconds at least */
    LONGEST_MS = 20 * MINUTE_MS, /* what takes longer on a busy machine hangs */
    CALM_MS = 30 * SECOND_MS,    /* in which nothing may change at last */
};

static const char config_format[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "poll: 2s\n"
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
    " nodes: 6}\n"
    "providers:\n"
    "  capi: {kind: capi, kubeconfig: '%s'}\n"
    "pools:\n"
    "  prod-a-east: {cluster: prod-a, reservation: east, provider: capi, namespace: default,"
    " machine_deployment: %s-prod, static_nodes: 1}\n"
    "  research-a-east: {cluster: research-a, reservation: east, provider: capi,"
    " namespace: default, machine_deployment: %s-research, static_nodes: 1}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: %s, gpus: 2, clusters: {prod-a: {}}}\n";

static const char *const ways[CLUSTERS] = { [RESEARCH] = "there", [PROD] = "back" };

struct play {
    const char *kubeconfigs[CLUSTERS];
    const char *brokers[CLUSTERS];
    long long first, each; /* points */
    char *folder;
    struct loop *loop;
    struct http *http;
    struct kube_config *access[CLUSTERS];
    struct farm farm;
    struct mortal_service *service;
    size_t in_prod; /* Machines that were ordered there */
    size_t moves;   /* that were ordered */
};

/* ---- the service ---- */

/* Lets a moment pass; a service that died is started again, and that is told. */
static bool go_on(struct play *play)
{
    bool is_dead = mortal_service_is_dead(play->service);

    if (is_dead)
        mortal_service_start(play->service);
    loop_run_until(play->loop, loop_now(play->loop) + LOOK_MS);
    farm_look(&play->farm);
    return is_dead;
}

static json_t *schedules_for(size_t nodes)
{
    owned(chars) char *chars = text_format(
        "workloads:\n  chat-2x:\n    prod-a: %zu\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n"
        "      prod-a:\n        counts: [%zu]\n",
        (nodes - 1) * 4, nodes);

    return json_make("{s:{s:s, s:s}}", "schedules", "day", chars, "night", chars);
}

/* As a person who asks again while the answer is no, or none; how often the service died. */
static int apply(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;
    int deaths = 0;

    for (;;) {
        owned(json) json_t *plan = mortal_service_ask(play->service, HTTP_POST, "/v1/apply",
                                                      schedules_for(play->in_prod));

        if (plan)
            return deaths;
        if (loop_now(play->loop) >= end_ms)
            fail_msg("%s: the schedules are not taken", play->folder);
        deaths += go_on(play);
    }
}

/* All transfers that there ever were, as the service has them; NULL: it says nothing. */
static json_t *transfers(struct play *play)
{
    owned(json) json_t *answer = mortal_service_ask(play->service, HTTP_GET,
                                                    "/v1/transfers?all=true", NULL);

    return json_incref(json_object_get(answer, "transfers"));
}

/* Whether all that was ordered is done; the step is that of a move that goes on. */
static bool is_done(struct play *play, char step[24])
{
    owned(json) json_t *rows = transfers(play);
    const json_t *row;
    size_t done = 0, i;

    json_array_foreach(rows, i, row) {
        done += text_equal(json_text_or(row, "state", ""), "done");
        if (text_equal(json_text_or(row, "state", ""), "live"))
            text_copy(step, 24, json_text_or(row, "step", ""));
    }
    if (json_array_size(rows) > play->moves)
        fail_msg("%s: a move began that was not ordered", play->folder);
    return done == play->moves;
}

/* ---- moves ---- */

/* Applies, and goes on until the move has ended; how often the service died, and where. */
static int follow(struct play *play, char died_in[24])
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;
    char step[24] = "apply";
    int deaths = apply(play);

    text_copy(died_in, 24, deaths > 0 ? "apply" : "end");
    while (!is_done(play, step)) {
        if (loop_now(play->loop) >= end_ms)
            fail_msg("the move does not end: %s/serve.log", play->folder);
        if (go_on(play)) {
            deaths++;
            text_copy(died_in, 24, step);
        }
    }
    return deaths;
}

/* What the service tells of the move is compared with what the servers have. */
static void check_move(struct play *play, const struct farm_picture *before, size_t from)
{
    owned(json) json_t *rows = transfers(play);
    const json_t *row = json_array_get(rows, json_array_size(rows) - 1);

    farm_picture_check(&play->farm, before,
                       &(struct farm_move){ .from = from,
                                            .left = json_text_or(row, "instance", ""),
                                            .came = json_text_or(row, "new_instance", "") });
}

/* One move out of that cluster with a death at that commit; false: it had no such commit. */
static bool move_and_die(struct play *play, size_t from, int64_t commit, enum mortal_moment moment)
{
    const char *when = moment == MORTAL_BEFORE ? "before" : "after";
    int64_t began_ms = loop_now(play->loop);
    struct farm_picture before;
    char died_in[24];
    int deaths;

    printf("%s: %s, commit %" PRId64 " %s begins\n", play->farm.name, ways[from], commit, when);
    farm_picture_take(&play->farm, &before);
    play->in_prod = from == PROD ? play->in_prod - 1 : play->in_prod + 1;
    play->moves++;
    mortal_service_order(play->service, commit, moment);
    deaths = follow(play, died_in);
    printf("%s: %s, commit %" PRId64 " %s: %s, %d deaths, %" PRId64 " commits, %.1f s\n",
           play->farm.name, ways[from], commit, when, died_in, deaths,
           mortal_service_commits(play->service),
           (double)(loop_now(play->loop) - began_ms) / SECOND_MS);
    mortal_service_order(play->service, 0, MORTAL_BEFORE);
    assert_in_range(deaths, 0, 1);
    check_move(play, &before, from);
    farm_picture_clear(&before);
    return deaths == 1;
}

/* ---- the play ---- */

static void open_play(struct play *play)
{
    struct error err = { 0 };
    const char *name = play->farm.name;
    owned(chars) char *config = text_format(config_format, name, play->brokers[PROD],
                                            play->brokers[RESEARCH], play->brokers[PROD], name,
                                            name, name);

    play->folder = test_folder_new();
    mem_free(test_folder_write(play->folder, "sluice.yaml", config));
    play->loop = loop_libevent_new(&err);
    play->http = play->loop ? http_curl_new(play->loop, NULL, &err) : NULL;
    if (!play->http)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < CLUSTERS; i++) {
        play->access[i] = kube_config_read(play->kubeconfigs[i], NULL, NULL, &err);
        if (!play->access[i])
            fail_msg("%s", err.text);
        play->farm.askers[i] = (struct asker){ play->loop, play->http, play->access[i], 0, NULL };
    }
    play->service = mortal_service_new(play->loop, play->http, play->folder);
}

static void close_play(struct play *play)
{
    mortal_service_free(play->service);
    farm_end(&play->farm);
    http_free(play->http);
    for (size_t i = 0; i < CLUSTERS; i++)
        kube_config_free(play->access[i]);
    loop_free(play->loop);
    test_folder_free(play->folder);
}

/* Returns when all Machines run and have their Nodes, and the service has taken the schedules.  At
   first, on a busy machine, Cluster API may make one too many by itself, and deletes it again. */
static void begin(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + LONGEST_MS;

    farm_begin(&play->farm);
    play->farm.most = 4 * EACH_POOL;
    while (!farm_is_at(&play->farm, PROD, EACH_POOL) ||
           !farm_is_at(&play->farm, RESEARCH, EACH_POOL)) {
        if (loop_now(play->loop) >= end_ms)
            fail_msg("the Machines do not come to run");
        loop_run_until(play->loop, loop_now(play->loop) + SECOND_MS);
        farm_look(&play->farm);
    }
    play->farm.are_new = true;
    play->farm.least = 2 * EACH_POOL - 1;
    play->farm.most = 2 * EACH_POOL;
    play->in_prod = EACH_POOL;
    mortal_service_start(play->service);
    apply(play);
}

/* What comes late is a Machine too many. */
static void expect_calm(struct play *play)
{
    int64_t end_ms = loop_now(play->loop) + CALM_MS;
    size_t ever = json_object_size(play->farm.ever);

    while (loop_now(play->loop) < end_ms) {
        assert_false(go_on(play));
        assert_true(farm_is_at(&play->farm, PROD, play->in_prod));
        assert_true(farm_is_at(&play->farm, RESEARCH, 2 * EACH_POOL - play->in_prod));
        assert_int_equal(json_object_size(play->farm.ever), ever);
    }
}

static void a_machine_moves_once_whenever_the_service_dies(void **state)
{
    struct play *play = *state;
    bool had_point = true;

    open_play(play);
    begin(play);
    for (long long point = play->first; had_point; point += play->each) {
        enum mortal_moment moment = point % 2 == 0 ? MORTAL_BEFORE : MORTAL_AFTER;

        had_point = move_and_die(play, RESEARCH, point / 2 + 1, moment);
        had_point |= move_and_die(play, PROD, point / 2 + 1, moment);
    }
    expect_calm(play);
    close_play(play);
}

int main(int argc, char **argv)
{
    struct play play = { 0 };
    const struct CMUnitTest tests[] = {
        { .name = "machine_deaths",
          .test_func = a_machine_moves_once_whenever_the_service_dies,
          .initial_state = &play },
    };

    mem_setup();
    log_setup(getenv("SLUICE_LOG") ? LOG_DEBUG : LOG_SILENT, LOG_FORM_TEXT);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 8 || !text_to_int(argv[6], 0, 1000, &play.first) ||
        !text_to_int(argv[7], 1, 1000, &play.each)) {
        fprintf(stderr, "usage: machine_deaths PROD RESEARCH BROKER_IN_PROD BROKER_IN_RESEARCH NAME"
                        " FIRST EACH\n");
        return 64;
    }
    play.kubeconfigs[PROD] = argv[1];
    play.kubeconfigs[RESEARCH] = argv[2];
    play.brokers[PROD] = argv[3];
    play.brokers[RESEARCH] = argv[4];
    play.farm.name = argv[5];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
