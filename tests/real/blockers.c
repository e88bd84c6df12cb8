/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A play: what the service says of the pods of an announced node, word for word, and that the real
 * server then sees each of them leave as it was said.
 */
#include "base/text.h"
#include "tests/real/picture.h"
#include "tests/real/plays.h"
#include "tests/support/unit.h"
#include "tools/simulator/model/model.h"

#include <stdio.h>
#include <string.h>

enum {
    DEADLINE_MS = MINUTE_MS,  /* of the drain, from the cordon */
    SOON_MS = 20 * SECOND_MS, /* before the first that is forced */
    LATE_MS = 8 * SECOND_MS,  /* what a busy machine may take to send a delete */
};

/* How the pod leaves. */
enum end {
    EVICTED,   /* soon after the cordon */
    FORCED,    /* deleted its own grace before the deadline, and never evicted */
    CUT_SHORT, /* evicted soon, with no longer a grace than there is time */
    STAYS,     /* evicted soon, but its object is there when its machine is gone */
};

/* Each is the pod of a ReplicaSet of its own, but for the one that has no controller. */
static const struct row {
    const char *name;
    const char *notes; /* annotations of the pod, after the first */
    const char *spec;  /* of the pod, after the first members */
    int budgets;       /* that want all of it */
    int64_t grace_s;
    const char *said; /* "KIND, VERDICT: TEXT" */
    enum end end;
} rows[] = {
    { "two", "", "", 2, 25,
      "two budgets, never: 2 budgets select it (two-1, two-2): the server evicts no such pod",
      FORCED },
    { "one", "", "", 1, 20,
      "budget, never: budget one-1 (1 healthy of 1, 1 wanted) can never let a pod go: it wants all "
      "of them",
      FORCED },
    { "peace", ",\"karpenter.sh/do-not-disrupt\":\"true\"", "", 0, 10,
      "protected, never: it asks not to be disrupted", FORCED },
    { "safe", ",\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\"", "", 0, 15,
      "protected, never: it asks not to be disrupted", FORCED },
    { "held", "", "", 0, 30,
      "finalizers, slow: its object stays until its finalizers are lifted: example.com/hold",
      STAYS },
    { "long", "", "", 0, 600, "grace cut, note: it asks for 600 s to stop and gets 60 s",
      CUT_SHORT },
    { "alone", "", "", 0, 30, "unmanaged, note: it has no controller that would make it again",
      EVICTED },
    { "disk", "", ",\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}}]", 0, 30,
      "local data, note: what it keeps on the node's disk is lost", EVICTED },
};
enum { ROWS = COUNT_OF(rows) };

/* A pod as the server showed it. */
struct seen {
    char name[80];
    char uid[48];
    char reason[48]; /* of its condition DisruptionTarget then */
    int64_t told_ms; /* when it was first seen to leave; 0: not yet */
    int64_t grace_s; /* that it was told then */
    bool is_there;
};

struct watch {
    struct pair *pair;
    char node[128];
    int64_t cordoned_ms; /* seen; 0: not yet */
    struct seen pods[ROWS];
};

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *object = json_parse(chars, strlen(chars), "object", &err);

    if (!object)
        fail_msg("%s: %s", err.text, chars);
    return object;
}

static void post(struct pair *pair, const char *group, const char *kind, const char *object)
{
    struct asker *asker = &pair->askers[RESEARCH];

    ask_server(asker, ASK_POST, parse(object), "/%s/namespaces/%s/%s", group, pair->name, kind);
    ask_expect(asker, 201);
}

/* What makes a pod: metadata and spec. */
static char *pod_of(const struct watch *watch, const struct row *row)
{
    return text_format(
        "\"metadata\":{\"name\":\"%s\",\"labels\":{\"row\":\"%s\"},\"annotations\":{"
        "\"test.sluice.dev/stops-in\":\"4s\"%s}},\"spec\":{\"nodeSelector\":{"
        "\"kubernetes.io/hostname\":\"%s\"},\"terminationGracePeriodSeconds\":%d,\"containers\":[{"
        "\"name\":\"main\",\"image\":\"registry.example/main:1\"}]%s}",
        row->name, row->name, row->notes, watch->node, (int)row->grace_s, row->spec);
}

static void post_row(struct watch *watch, const struct row *row)
{
    owned(chars) char *pod = pod_of(watch, row);
    owned(chars) char *object = NULL;

    for (int i = 1; i <= row->budgets; i++) {
        owned(chars) char *budget = text_format(
            "{\"metadata\":{\"name\":\"%s-%d\"},\"spec\":{\"minAvailable\":1,\"selector\":{"
            "\"matchLabels\":{\"row\":\"%s\"}}}}",
            row->name, i, row->name);

        post(watch->pair, "apis/policy/v1", "poddisruptionbudgets", budget);
    }
    if (text_equal(row->name, "alone")) {
        object = text_format("{%s}", pod);
        post(watch->pair, "api/v1", "pods", object);
        return;
    }
    object = text_format("{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"replicas\":1,\"selector\":{"
                         "\"matchLabels\":{\"row\":\"%s\"}},\"template\":{%s}}}",
                         row->name, row->name, pod);
    post(watch->pair, "apis/apps/v1", "replicasets", object);
}

static const char *reason_of(const json_t *pod)
{
    size_t i;
    json_t *condition;

    json_array_foreach(json_at(pod, "status/conditions"), i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "DisruptionTarget"))
            return json_text_or(condition, "reason", "");
    }
    return "";
}

static void see_pod(struct watch *watch, const json_t *pod, int64_t now)
{
    const char *uid = json_text_or(pod, "metadata/uid", "");

    for (size_t i = 0; i < ROWS; i++) {
        struct seen *seen = &watch->pods[i];

        if (seen->uid[0] == '\0' && json_at(pod, "spec/nodeName") &&
            text_equal(json_text_or(pod, "metadata/labels/row", ""), rows[i].name)) {
            text_copy(seen->uid, sizeof seen->uid, uid);
            text_copy(seen->name, sizeof seen->name, json_text_or(pod, "metadata/name", ""));
        }
        if (!text_equal(seen->uid, uid))
            continue;
        seen->is_there = true;
        if (seen->told_ms == 0 && json_at(pod, "metadata/deletionTimestamp")) {
            seen->told_ms = now;
            text_copy(seen->reason, sizeof seen->reason, reason_of(pod));
            seen->grace_s = json_int_or(pod, "metadata/deletionGracePeriodSeconds", -1);
        }
    }
}

/* Lets a moment pass, and looks at the node and its pods. */
static void see(struct watch *watch)
{
    struct pair *pair = watch->pair;
    struct asker *asker = &pair->askers[RESEARCH];
    owned(json) json_t *pods = NULL;
    size_t i;
    json_t *pod;

    assert_false(pair_go_on(pair));
    ask_server(asker, ASK_GET, NULL, "/api/v1/nodes/%s", watch->node);
    if (watch->cordoned_ms == 0 && json_is_true(json_at(asker->body, "spec/unschedulable")))
        watch->cordoned_ms = loop_now(pair->loop);
    pods = pair_items(pair, RESEARCH, "/api/v1/namespaces/", "/pods?labelSelector=row");
    for (i = 0; i < ROWS; i++)
        watch->pods[i].is_there = false;
    json_array_foreach(pods, i, pod) {
        see_pod(watch, pod, loop_now(pair->loop));
    }
}

/* Whether the server has counted the pod of the budget that is alone.  Of two budgets its
   controller follows a pod for one only: the other may show none for minutes. */
static bool is_counted(struct pair *pair)
{
    struct asker *asker = &pair->askers[RESEARCH];

    ask_server(asker, ASK_GET, NULL, "/apis/policy/v1/namespaces/%s/poddisruptionbudgets/one-1",
               pair->name);
    return json_int_or(asker->body, "status/currentHealthy", 0) == 1;
}

/* The one node that can leave; all pods come to it, and run. */
static void fill_node(struct watch *watch)
{
    struct pair *pair = watch->pair;
    int64_t end_ms = loop_now(pair->loop) + MOVE_MS;
    owned(json) json_t *nodes = pair_items(pair, RESEARCH,
                                           "/api/v1/nodes?labelSelector=sluice.dev/ephemeral=", "");
    size_t there = 0;

    assert_int_equal(json_array_size(nodes), 1);
    text_copy(watch->node, sizeof watch->node,
              json_text_or(json_array_get(nodes, 0), "metadata/name", ""));
    for (size_t i = 0; i < ROWS; i++)
        post_row(watch, &rows[i]);
    while (there < ROWS || !is_counted(pair)) {
        assert_true(loop_now(pair->loop) < end_ms);
        see(watch);
        there = 0;
        for (size_t i = 0; i < ROWS; i++)
            there += watch->pods[i].is_there;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].end != STAYS)
            continue;
        ask_server(&pair->askers[RESEARCH], ASK_MERGE_PATCH,
                   parse("{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}"),
                   "/api/v1/namespaces/%s/pods/%s", pair->name, watch->pods[i].name);
        ask_expect(&pair->askers[RESEARCH], 200);
    }
}

/* What is said of all pods of the node that leaves, a line each; "" when it is not announced. */
static char *said_of_node(struct pair *pair)
{
    owned(json) json_t *live = pair_live(pair);
    const json_t *row = json_array_get(live, 0);
    struct text *said = text_new(4096);
    const json_t *blocker;
    size_t i;

    json_array_foreach(json_object_get(row, "blockers"), i, blocker) {
        text_add(said, "%s %s, %s: %s\n", json_text_or(blocker, "pod", ""),
                 json_text_or(blocker, "kind", ""), json_text_or(blocker, "verdict", ""),
                 json_text_or(blocker, "text", ""));
    }
    return text_take(said);
}

static char *wanted_of_node(const struct watch *watch)
{
    struct text *wanted = text_new(4096);

    for (size_t i = 0; i < ROWS; i++)
        text_add(wanted, "%s/%s %s\n", watch->pair->name, watch->pods[i].name, rows[i].said);
    return text_take(wanted);
}

/* While it is announced and nothing has happened yet. */
static void read_blockers(struct watch *watch)
{
    owned(chars) char *wanted = wanted_of_node(watch);
    owned(chars) char *said = NULL;

    while (watch->cordoned_ms == 0) {
        mem_free(said);
        said = said_of_node(watch->pair);
        if (text_equal(said, wanted))
            return;
        see(watch);
    }
    fail_msg("said\n%snot\n%s", said, wanted);
}

/* Whether the cloud was told to delete the node's machine. */
static bool is_machine_gone(const struct watch *watch)
{
    const struct simulator *simulator = watch->pair->simulator;

    for (size_t i = 0; i < simulator->pool_count; i++) {
        const struct machine *machine = sim_machine_find(&simulator->pools[i], watch->node);

        if (machine)
            return machine->state == MACHINE_STOPPING;
    }
    return true;
}

static void check_end(const struct watch *watch, size_t at)
{
    const struct row *row = &rows[at];
    const struct seen *seen = &watch->pods[at];
    bool was_evicted = text_equal(seen->reason, "EvictionByEvictionAPI");
    int64_t ms = seen->told_ms - watch->cordoned_ms;
    int64_t due_ms = DEADLINE_MS - row->grace_s * SECOND_MS;

    printf("%s: %s; told %.1f s after the cordon to stop in %d s, %s%s\n", watch->pair->name,
           row->said, (double)ms / SECOND_MS, (int)seen->grace_s, seen->reason,
           seen->is_there ? ", and outlives its machine" : "");
    assert_true(seen->told_ms > 0);
    assert_int_equal(was_evicted, row->end != FORCED);
    if (row->end == FORCED)
        assert_in_range(ms, due_ms - SECOND_MS, due_ms + LATE_MS);
    else
        assert_in_range(ms, 0, SOON_MS);
    if (row->end == CUT_SHORT)
        assert_in_range(seen->grace_s, (DEADLINE_MS - SOON_MS) / SECOND_MS,
                        DEADLINE_MS / SECOND_MS);
    else /* a delete comes a moment late, and keeps to the deadline */
        assert_in_range(seen->grace_s, row->grace_s - LATE_MS / SECOND_MS, row->grace_s);
    assert_int_equal(seen->is_there, row->end == STAYS);
}

static void lift_finalizers(struct watch *watch)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].end == STAYS)
            ask_server(&watch->pair->askers[RESEARCH], ASK_MERGE_PATCH,
                       parse("{\"metadata\":{\"finalizers\":null}}"),
                       "/api/v1/namespaces/%s/pods/%s", watch->pair->name, watch->pods[i].name);
}

void what_is_said_of_a_pod_comes_true(void **state)
{
    struct pair *pair = *state;
    struct watch watch = { .pair = pair };
    struct picture before;
    int64_t end_ms;
    char step[24];

    pair->movable = 1;
    pair->drain = "notice: 10s, deadline: 60s, settle: 1s";
    pair_begin(pair);
    fill_node(&watch);
    picture_take(pair, &before);
    pair_order(pair, 1);
    pair_apply(pair);
    read_blockers(&watch);
    for (end_ms = loop_now(pair->loop) + MOVE_MS; !is_machine_gone(&watch); see(&watch))
        if (loop_now(pair->loop) >= end_ms)
            fail_msg("the machine is not deleted: %s/serve.log", pair->folder);
    see(&watch);
    for (size_t i = 0; i < ROWS; i++)
        check_end(&watch, i);
    lift_finalizers(&watch);
    assert_int_equal(pair_follow(pair, step), 0);
    picture_check_move(pair, &before);
    picture_clear(&before);
    pair_end(pair);
}
