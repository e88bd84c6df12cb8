/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A play: the service's clock is not the API servers'.  Grace is written down by theirs and waited
 * for by ours: it is as long as with the right clock, and nothing is deleted before its end.
 *
 * Two nodes leave in each move.  The kubelet of one falls silent when it is closed, so that only
 * the clock says when the grace of its pod is over; on the other a budget keeps a pod until its own
 * grace before the deadline.  The Jobs' pods of both take seconds to stop.
 */
#include "base/text.h"
#include "tests/real/picture.h"
#include "tests/real/plays.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SILENT, KEPT, NODES };
enum { AHEAD_S = 90 };
enum { DEADLINE_MS = 40 * SECOND_MS, LATE_MS = 8 * SECOND_MS };

static const int64_t graces_ms[NODES] = { 20 * SECOND_MS, 10 * SECOND_MS };

/* What was seen of a node that leaves and of its pod; by our clock, 0: not yet. */
struct leaver {
    char node[128];
    int64_t cordoned_ms;
    int64_t told_ms;          /* the pod was told to stop */
    int64_t left_ms;          /* the cloud was told to delete the machine */
    struct wall_time stop_by; /* as the server wrote it at the pod */
};

struct watch {
    struct pair *pair;
    struct leaver leavers[NODES];
};

static void post(struct pair *pair, const char *group, const char *kind, const char *chars)
{
    struct asker *asker = &pair->askers[RESEARCH];
    struct error err = { 0 };
    json_t *object = json_parse(chars, strlen(chars), "object", &err);

    if (!object)
        fail_msg("%s", err.text);
    ask_server(asker, ASK_POST, object, "/%s/namespaces/%s/%s", group, pair->name, kind);
    ask_expect(asker, 201);
}

static void post_pod(struct watch *watch, int at)
{
    owned(chars) char *pod = text_format(
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"},\"annotations\":{%s}},\"spec\":"
        "{\"nodeName\":\"%s\",\"terminationGracePeriodSeconds\":%d,\"containers\":[{\"name\":"
        "\"main\",\"image\":\"registry.example/main:1\"}]}}",
        watch->leavers[at].node, at == KEPT ? "kept" : "silent",
        at == KEPT ? "\"test.sluice.dev/stops-in\":\"4s\"" : "\"test.sluice.dev/stuck\":\"true\"",
        watch->leavers[at].node, (int)(graces_ms[at] / SECOND_MS));

    post(watch->pair, "api/v1", "pods", pod);
}

/* kwok does not call the node Ready again. */
static void stop_kubelet(struct watch *watch)
{
    struct asker *asker = &watch->pair->askers[RESEARCH];

    ask_server(
        asker, ASK_MERGE_PATCH,
        json_make("{s:{s:{s:s}}}", "metadata", "annotations", "test.sluice.dev/boots", "false"),
        "/api/v1/nodes/%s", watch->leavers[SILENT].node);
    ask_expect(asker, 200);
}

static void fall_silent(struct watch *watch)
{
    struct asker *asker = &watch->pair->askers[RESEARCH];

    ask_server(asker, ASK_STRATEGIC_PATCH,
               json_make("{s:{s:[{s:s, s:s, s:s}]}}", "status", "conditions", "type", "Ready",
                         "status", "Unknown", "reason", "NodeStatusUnknown"),
               "/api/v1/nodes/%s/status", watch->leavers[SILENT].node);
    ask_expect(asker, 200);
}

/* Until both nodes are announced: which they are. */
static void see_announced(struct watch *watch)
{
    struct pair *pair = watch->pair;

    for (int64_t end_ms = loop_now(pair->loop) + MOVE_MS; loop_now(pair->loop) < end_ms;) {
        owned(json) json_t *live = pair_live(pair);
        size_t held = 0;
        size_t i;
        json_t *row;

        json_array_foreach(live, i, row) {
            if (held < NODES && text_equal(json_text_or(row, "step", ""), "notice"))
                text_copy(watch->leavers[held++].node, sizeof watch->leavers[0].node,
                          json_text_or(row, "node", ""));
        }
        if (held == NODES)
            return;
        assert_false(pair_go_on(pair));
    }
    fail_msg("the move does not begin: %s/serve.log", pair->folder);
}

static bool is_machine_gone(const struct simulator *simulator, const char *name)
{
    for (size_t i = 0; i < simulator->pool_count; i++) {
        const struct machine *machine = sim_machine_find(&simulator->pools[i], name);

        if (machine)
            return machine->state == MACHINE_STOPPING;
    }
    return true;
}

static void see_pod(struct leaver *leaver, const json_t *pods, int64_t now)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod) {
        const char *end = json_text_or(pod, "metadata/deletionTimestamp", "");

        if (end[0] == '\0' || !text_equal(json_text_or(pod, "metadata/name", ""), leaver->node))
            continue;
        assert_return_code(wall_parse(end, false, &leaver->stop_by, NULL), 0);
        leaver->told_ms = leaver->told_ms ?: now;
    }
}

/* When its machine goes no pod runs on the node; if it is silent, none has time left. */
static void check_left(const struct watch *watch, int at, const json_t *pods)
{
    const struct leaver *leaver = &watch->leavers[at];
    size_t i;
    json_t *pod;

    assert_true(leaver->told_ms > 0);
    /* by the second: a server's Date has no more */
    if (at == SILENT && loop_wall(watch->pair->loop).ms < leaver->stop_by.ms - SECOND_MS)
        fail_msg("the machine of %s goes before its pod's time is over", leaver->node);
    json_array_foreach(pods, i, pod) {
        bool is_stuck = json_object_get(json_at(pod, "metadata/annotations"),
                                        "test.sluice.dev/stuck") != NULL;

        if (!is_stuck && text_equal(json_text_or(pod, "spec/nodeName", ""), leaver->node))
            fail_msg("%s is there when its machine goes", json_text_or(pod, "metadata/name", ""));
    }
}

/* Lets a moment pass, and looks: at the machines first, so that what a list shows was there when
   they went. */
static void see(struct watch *watch)
{
    struct pair *pair = watch->pair;
    struct asker *asker = &pair->askers[RESEARCH];
    bool is_gone[NODES];
    owned(json) json_t *pods = NULL;

    assert_false(pair_go_on(pair));
    for (int i = 0; i < NODES; i++)
        is_gone[i] = is_machine_gone(pair->simulator, watch->leavers[i].node);
    for (int i = 0; i < NODES; i++) {
        if (watch->leavers[i].cordoned_ms > 0)
            continue;
        ask_server(asker, ASK_GET, NULL, "/api/v1/nodes/%s", watch->leavers[i].node);
        if (!json_is_true(json_at(asker->body, "spec/unschedulable")))
            continue;
        watch->leavers[i].cordoned_ms = loop_now(pair->loop);
        if (i == SILENT)
            fall_silent(watch);
    }
    pods = pair_items(pair, RESEARCH, "/api/v1/namespaces/", "/pods");
    for (int i = 0; i < NODES; i++) {
        struct leaver *leaver = &watch->leavers[i];

        see_pod(leaver, pods, loop_now(pair->loop));
        if (leaver->left_ms > 0 || !is_gone[i])
            continue;
        leaver->left_ms = loop_now(pair->loop);
        check_left(watch, i, pods);
    }
}

/* Whether the service says that its clock is so wrong, to a second. */
static bool is_warned(const char *said, int ahead_s)
{
    for (int s = AHEAD_S - 1; s <= AHEAD_S; s++) {
        char duration[DURATION_TEXT_SIZE];
        owned(chars) char *words = text_format("research-a's API server is %s %s ours",
                                               duration_format(s * (int64_t)SECOND_MS, duration),
                                               ahead_s > 0 ? "behind" : "ahead of");

        if (strstr(said, words))
            return true;
    }
    return false;
}

static void expect_warning(struct pair *pair, int ahead_s)
{
    owned(chars) char *said = mem_copy_chars("");

    for (int64_t end_ms = loop_now(pair->loop) + MOVE_MS; loop_now(pair->loop) < end_ms;) {
        owned(json)
            json_t *status = mortal_service_ask(pair->service, HTTP_GET, "/v1/status", NULL);

        mem_free(said);
        said = status ? json_print(status) : mem_copy_chars("");
        if (is_warned(said, ahead_s))
            return;
        assert_false(pair_go_on(pair));
    }
    fail_msg("no warning of %d s: %s", ahead_s, said);
}

/* One move of two nodes by that clock.  ret_times: how long the silent node's machine is left after
   its pod was told to stop, and after how much of the drain the kept pod is told. */
static void move_by(struct pair *pair, int ahead_s, int64_t ret_times[NODES])
{
    struct watch watch = { .pair = pair };
    const struct leaver *leavers = watch.leavers;
    struct picture before;
    char step[24];

    mortal_service_stop(pair->service);
    mortal_service_set_clock(pair->service, ahead_s);
    pair->forgotten = pair->moves;
    mortal_service_start(pair->service);
    if (ahead_s != 0)
        expect_warning(pair, ahead_s);
    picture_take(pair, &before);
    pair_order(pair, NODES);
    pair_apply(pair);
    see_announced(&watch);
    for (int i = 0; i < NODES; i++)
        post_pod(&watch, i);
    stop_kubelet(&watch);
    for (int64_t end_ms = loop_now(pair->loop) + MOVE_MS;
         leavers[SILENT].left_ms == 0 || leavers[KEPT].left_ms == 0; see(&watch))
        if (loop_now(pair->loop) >= end_ms)
            fail_msg("the machines stay: %s/serve.log", pair->folder);
    assert_int_equal(pair_follow(pair, step), 0);
    picture_check_move(pair, &before);
    picture_clear(&before);
    ret_times[SILENT] = leavers[SILENT].left_ms - leavers[SILENT].told_ms;
    ret_times[KEPT] = leavers[KEPT].told_ms - leavers[KEPT].cordoned_ms;
}

void grace_is_as_long_by_any_clock(void **state)
{
    static const int clocks_s[] = { 0, AHEAD_S, -AHEAD_S };
    const int64_t due_ms[NODES] = { graces_ms[SILENT], DEADLINE_MS - graces_ms[KEPT] };
    struct pair *pair = *state;
    int64_t times[COUNT_OF(clocks_s)][NODES];

    pair->movable = NODES * (int)COUNT_OF(clocks_s);
    pair->drain = "notice: 2s, deadline: 40s, settle: 1s";
    pair->stops_in = "8s";
    pair_begin(pair);
    post(pair, "apis/policy/v1", "poddisruptionbudgets",
         "{\"metadata\":{\"name\":\"kept\"},\"spec\":{\"minAvailable\":1,\"selector\":{"
         "\"matchLabels\":{\"app\":\"kept\"}}}}");
    for (size_t i = 0; i < COUNT_OF(clocks_s); i++) {
        move_by(pair, clocks_s[i], times[i]);
        printf("%s: clock %+d s: machine of a silent node %.1f s after its pod was told to stop in"
               " %d s (%.2f of the right clock's), kept pod deleted %.1f s after the cordon"
               " (%.2f)\n",
               pair->name, clocks_s[i], (double)times[i][SILENT] / SECOND_MS,
               (int)(graces_ms[SILENT] / SECOND_MS),
               (double)times[i][SILENT] / (double)times[0][SILENT],
               (double)times[i][KEPT] / SECOND_MS, (double)times[i][KEPT] / (double)times[0][KEPT]);
        for (int k = 0; k < NODES; k++) {
            /* The server writes whole seconds. */
            assert_in_range(times[i][k], due_ms[k] - 2 * SECOND_MS, due_ms[k] + LATE_MS);
            assert_in_range(times[i][k] * 100 / times[0][k], 75, 133);
        }
    }
    pair_end(pair);
}
