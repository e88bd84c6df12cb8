/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What will hold a node, in the words that a person reads: one case a kind, and none for a pod that
 * just goes.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "base/text.h"
#include "broker/sides/kube/blockers.h"
#include "clusters/budget.h"
#include "clusters/kube/kube_error.h"
#include "tests/support/unit.h"

#include <string.h>

#define READY "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"
#define RUNS "\"status\":{\"phase\":\"Running\"," READY "}"
#define META(rest)                                                                                 \
    "\"metadata\":{\"namespace\":\"ml\",\"name\":\"p\",\"uid\":\"U\",\"labels\":{\"app\":"         \
    "\"a\"}" rest "}"
#define OWNED                                                                                      \
    ",\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"set\",\"controller\":true}]"
#define POD(meta, spec) "{" META(OWNED meta) ",\"spec\":{\"nodeName\":\"n\"" spec "}," RUNS "}"
#define BUDGET(name, selector, status)                                                             \
    "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"uid\":\"" name                    \
    "\",\"resourceVersion\":\"1\",\"generation\":1},\"spec\":{\"selector\":{\"matchLabels\":"      \
    "{" selector "}}},\"status\":{" status "}}"
#define COUNTED "\"observedGeneration\":1,\"expectedPods\":4,"
#define MINE "\"app\":\"a\""

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *json = json_parse(chars, strlen(chars), "case", &err);

    if (!json)
        fail_msg("%s: %s", chars, err.text);
    return json;
}

static void add_pod(struct snapshot *snapshot, const char *chars)
{
    struct error err = { 0 };
    owned(json) json_t *object = parse(chars);
    struct pod *pod = pod_decode(object, &err);

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    index_change(snapshot->pods_by_node, "", NULL, pod->node_name, pod);
    map_set(snapshot->pods, pod->uid, pod);
}

static void add_budget(struct snapshot *snapshot, const char *chars)
{
    struct error err = { 0 };
    owned(json) json_t *object = parse(chars);
    struct budget *budget = budget_decode_v1(object, &err);

    if (!budget)
        fail_msg("%s: %s", chars, err.text);
    index_change(snapshot->budgets_by_namespace, "", NULL, budget->namespace, budget);
    map_set(snapshot->budgets, budget->name, budget);
}

static void add_node(struct snapshot *snapshot, const char *ready)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format(
        "{\"metadata\":{\"name\":\"n\",\"uid\":\"N\",\"resourceVersion\":\"1\"},\"status\":"
        "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
        ready);
    owned(json) json_t *object = parse(chars);
    struct node *node = node_decode(object, &err);

    assert_non_null(node);
    map_set(snapshot->nodes, "n", node);
}

static const struct {
    const char *pod;
    const char *budget; /* NULL: none */
    const char *second; /* likewise */
    const char *ready;  /* of the node; NULL: True */
    const char *said;   /* "KIND, VERDICT: TEXT" of each, with a bar after it */
} cases[] = {
    { POD("", ""), NULL, NULL, NULL, "" },
    { POD("", ""), BUDGET("b", MINE, COUNTED "\"disruptionsAllowed\":1"), NULL, NULL, "" },
    { POD("", ""), BUDGET("b", "\"app\":\"other\"", COUNTED "\"disruptionsAllowed\":0"), NULL, NULL,
      "" },
    { POD("", ""), BUDGET("b", MINE, COUNTED "\"disruptionsAllowed\":1"),
      BUDGET("c", MINE, COUNTED "\"disruptionsAllowed\":1"), NULL,
      "two budgets, never: 2 budgets select it (b, c): the server evicts no such pod|" },
    { POD("", ""),
      BUDGET("b", MINE,
             COUNTED "\"disruptionsAllowed\":0,\"currentHealthy\":4,\"desiredHealthy\":4"),
      NULL, NULL,
      "budget, never: budget b (4 healthy of 4, 4 wanted) can never let a pod go: it wants all of "
      "them|" },
    { POD(",\"annotations\":{\"karpenter.sh/do-not-disrupt\":\"true\"}", ""), NULL, NULL, NULL,
      "protected, never: it asks not to be disrupted|" },
    { POD(",\"annotations\":{\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\"}", ""),
      NULL, NULL, NULL, "protected, never: it asks not to be disrupted|" },
    { POD(",\"annotations\":{\"nodeset.slinky.slurm.net/pod-cordon\":\"true\"}", ""), NULL, NULL,
      NULL, "" },
    { "{" META(
          ",\"ownerReferences\":[{\"apiVersion\":\"sunk.coreweave.com/v1alpha1\",\"kind\":"
          "\"NodeSet\",\"name\":\"s\",\"controller\":true}]") ",\"spec\":{\"nodeName\":\"n\"}," RUNS
                                                              "}",
      NULL, NULL, NULL,
      "slurm, never: it is a node of a Slurm cluster (slurmd, run by SUNK): sluice never evicts "
      "it|" },
    { POD(",\"deletionTimestamp\":\"2026-11-21T08:00:00Z\",\"finalizers\":[\"x/hold\"]", ""), NULL,
      NULL, NULL,
      "stuck, never: it was to end at 2026-11-21T08:00:00Z and is held by the finalizers x/hold|"
      "finalizers, slow: its object stays until its finalizers are lifted: x/hold|" },
    { POD("", ""), NULL, NULL, "Unknown",
      "silent node, slow: its node does not answer: it counts as gone when its grace is over|" },
    { POD("", ""),
      BUDGET("b", MINE,
             COUNTED "\"currentHealthy\":3,\"desiredHealthy\":3,\"disruptedPods\":{\"q\":\"t\"}"),
      NULL, NULL,
      "rescheduling, slow: budget b (3 healthy of 4, 3 wanted) waits for what was evicted to run "
      "elsewhere|" },
    { POD("", ""), BUDGET("b", MINE, COUNTED "\"currentHealthy\":2,\"desiredHealthy\":3"), NULL,
      NULL,
      "unhealthy, slow: budget b (2 healthy of 4, 3 wanted) waits for unhealthy pods to recover|" },
    { POD("", ""),
      BUDGET(
          "b", MINE,
          "\"conditions\":[{\"type\":\"DisruptionAllowed\",\"status\":\"False\",\"reason\":"
          "\"SyncFailed\",\"message\":\"jobs.batch does not implement the scale subresource\"}]"),
      NULL, NULL,
      "uncountable, never: budget b lets none go, for its controller cannot count: jobs.batch does "
      "not implement the scale subresource|" },
    { POD("", ""), BUDGET("b", MINE, "\"observedGeneration\":0"), NULL, NULL,
      "uncounted, slow: budget b was changed and its controller has not counted yet|" },
    { POD("", ",\"terminationGracePeriodSeconds\":900"), NULL, NULL, NULL,
      "grace cut, note: it asks for 900 s to stop and gets 300 s|" },
    { "{" META("") ",\"spec\":{\"nodeName\":\"n\"}," RUNS "}", NULL, NULL, NULL,
      "unmanaged, note: it has no controller that would make it again|" },
    { POD("", ",\"volumes\":[{\"emptyDir\":{}},{\"emptyDir\":{\"medium\":\"Memory\"}}]"), NULL,
      NULL, NULL, "local data, note: what it keeps on the node's disk is lost|" },
    { POD("", ",\"volumes\":[{\"emptyDir\":{\"medium\":\"Memory\"}}]"), NULL, NULL, NULL, "" },
    { POD("", ",\"volumes\":[{\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]"), NULL, NULL, NULL,
      "volumes, note: its volumes must be detached before they can be used elsewhere|" },
    { POD(",\"finalizers\":[\"batch.kubernetes.io/job-tracking\"]", ""), NULL, NULL, NULL, "" },
    /* A daemon's pod delays nothing, whatever it is. */
    { "{" META(",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"d\",\"controller\":true}],"
               "\"finalizers\":[\"x/hold\"]") ",\"spec\":{\"nodeName\":\"n\"}," RUNS "}",
      NULL, NULL, NULL, "" },
};

static void each_blocker_is_said_in_its_words(void **state)
{
    struct wall_time now = { 0 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(wall_parse("2026-11-21T09:00:00Z", false, &now, &err), 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(text) struct text *said = text_new(4096);
        struct snapshot snapshot;
        const json_t *blocker;
        size_t at;

        snapshot_init(&snapshot);
        add_node(&snapshot, cases[i].ready ?: "True");
        add_pod(&snapshot, cases[i].pod);
        if (cases[i].budget)
            add_budget(&snapshot, cases[i].budget);
        if (cases[i].second)
            add_budget(&snapshot, cases[i].second);
        owned(json) json_t *blockers = blockers_of_lone_node(&snapshot, "n", 300000, now);
        json_array_foreach(blockers, at, blocker) {
            assert_string_equal(json_text_or(blocker, "pod", ""), "ml/p");
            if (text_equal(json_text_or(blocker, "kind", ""), "stuck") ||
                text_equal(json_text_or(blocker, "kind", ""), "slurm"))
                assert_null(json_at(blocker, "expected_s")); /* it is not forced */
            text_add(said, "%s, %s: %s|", json_text_or(blocker, "kind", ""),
                     json_text_or(blocker, "verdict", ""), json_text_or(blocker, "text", ""));
        }
        if (!text_equal(said->chars, cases[i].said))
            fail_msg("%s\nsaid %s\nnot  %s", cases[i].pod, said->chars, cases[i].said);
        snapshot_clear(&snapshot);
    }
}

static void more_pods_than_may_go_at_once_take_turns(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    add_pod(&snapshot, POD("", ""));
    add_pod(&snapshot,
            "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"q\",\"uid\":\"V\",\"labels\":"
            "{\"app\":\"a\"}" OWNED "},\"spec\":{\"nodeName\":\"n\"}," RUNS "}");
    add_budget(&snapshot, BUDGET("b", MINE, COUNTED "\"disruptionsAllowed\":1"));
    owned(json)
        json_t *blockers = blockers_of_lone_node(&snapshot, "n", 300000, (struct wall_time){ 0 });
    assert_int_equal(json_array_size(blockers), 2);
    assert_string_equal(json_text_or(json_array_get(blockers, 1), "text", ""),
                        "budget b lets 1 go at a time, and 2 leave: 2 rounds of up to 30s, and "
                        "others must be ready "
                        "between them: at least 1m if they stop so slowly");
    snapshot_clear(&snapshot);
}

/* The pods of two nodes share one budget: 3 pods of 30 s, one at a time, against 1 minute. */
static void nodes_that_leave_together_share_the_budget(void **state)
{
    struct snapshot snapshot;
    const json_t *blocker;

    (void)state;
    snapshot_init(&snapshot);
    add_pod(&snapshot, POD("", ""));
    add_pod(&snapshot,
            "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"q\",\"uid\":\"V\",\"labels\":"
            "{\"app\":\"a\"}" OWNED "},\"spec\":{\"nodeName\":\"m\"}," RUNS "}");
    add_pod(&snapshot,
            "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"r\",\"uid\":\"W\",\"labels\":"
            "{\"app\":\"a\"}" OWNED "},\"spec\":{\"nodeName\":\"m\"}," RUNS "}");
    add_budget(&snapshot, BUDGET("b", MINE, COUNTED "\"disruptionsAllowed\":1"));
    owned(leaving) struct leaving *leaving = leaving_new(&snapshot, 60000, (struct wall_time){ 0 });
    leaving_add(leaving, "n");
    leaving_add(leaving, "m");
    owned(json) json_t *blockers = blockers_of_node(leaving, "n");
    blocker = json_array_get(blockers, 0);
    assert_int_equal(json_array_size(blockers), 1);
    assert_null(json_at(blocker, "expected_s")); /* it is not known how long new pods take */
    assert_string_equal(json_text_or(blocker, "class", ""), "ReplicaSet");
    assert_string_equal(json_text_or(blocker, "text", ""),
                        "budget b lets 1 go at a time, and 3 leave: 3 rounds of up to 30s, and "
                        "others must be ready between them: at least 1m30s if they stop so slowly; "
                        "the drain has 1m, and deletes the rest at their own deadlines");
    snapshot_clear(&snapshot);
}

/* What was computed, what the server says to a dry run, and what is said then. */
static const struct {
    const char *budget; /* NULL: none */
    struct {
        enum error_kind kind; /* ERROR_NONE: it would go */
        const struct error_cause *cause;
        const char *text;
    } answer;
    const char *said; /* "KIND, VERDICT: TEXT <SERVER>" of each */
} heard[] = {
    { BUDGET("b", MINE, "\"observedGeneration\":0"), { ERROR_NONE, NULL, "" }, "" },
    { BUDGET("b", MINE, "\"observedGeneration\":0"),
      { ERROR_THROTTLED, &kube_cause_budget, "held by a disruption budget: b needs 4" },
      "uncounted, slow: budget b was changed and its controller has not counted yet <held by a "
      "disruption budget: b needs 4>|" },
    { NULL,
      { ERROR_THROTTLED, &kube_cause_budget, "held by a disruption budget: b needs 4" },
      "budget, slow: held by a disruption budget: b needs 4 <held by a disruption budget: b needs "
      "4>|" },
    { NULL,
      { ERROR_THROTTLED, &kube_cause_webhook, "held by an admission webhook: it migrates" },
      "admission, slow: held by an admission webhook: it migrates <held by an admission webhook: "
      "it "
      "migrates>|" },
    { NULL,
      { ERROR_TRANSIENT, &kube_cause_webhook_down, "500 InternalError: failed calling webhook v" },
      "webhook down, slow: 500 InternalError: failed calling webhook v <500 InternalError: failed "
      "calling webhook v>|" },
    { NULL,
      { ERROR_DENIED, &kube_cause_forbidden, "403 Forbidden: cannot create" },
      "forbidden, never: 403 Forbidden: cannot create <403 Forbidden: cannot create>|" },
    { BUDGET("b", MINE, "\"observedGeneration\":0"),
      { ERROR_INVALID, NULL, "cluster c has no policy/v1 (Kubernetes 1.21)" },
      "uncounted, slow: budget b was changed and its controller has not counted yet <>|" },
    { BUDGET("b", MINE, "\"observedGeneration\":0"),
      { ERROR_DENIED, &kube_cause_two_budgets,
        "500: This pod has more than one PodDisruptionBudget, which" },
      "two budgets, never: 500: This pod has more than one PodDisruptionBudget, which <500: This "
      "pod has more than one PodDisruptionBudget, which>|" },
    { NULL, { ERROR_DENIED, NULL, "401 Unauthorized: Unauthorized" }, "" },
    { NULL, { ERROR_NOT_FOUND, NULL, "404 NotFound: gone" }, "" },
    { NULL, { ERROR_TRANSIENT, NULL, "connection lost" }, "" },
};

static void a_servers_word_counts_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(heard); i++) {
        owned(text) struct text *said = text_new(4096);
        struct wall_time now = { 0 };
        struct snapshot snapshot;
        const json_t *blocker;
        struct error err = { 0 };
        size_t at;

        error_set(&err, heard[i].answer.kind, "%s", heard[i].answer.text);
        error_because(&err, heard[i].answer.cause);
        error_context(&err, "cluster c: POST /api/v1/namespaces/ml/pods/p/eviction");
        snapshot_init(&snapshot);
        snapshot.budgets_are_known = true;
        add_pod(&snapshot, POD("", ""));
        if (heard[i].budget)
            add_budget(&snapshot, heard[i].budget);
        owned(leaving) struct leaving *leaving = leaving_new(&snapshot, 300000, now);
        owned(json) json_t *blockers = blockers_of_node(leaving, "n");
        assert_int_equal(blockers_are_unsure(leaving, map_get(snapshot.pods, "U")),
                         heard[i].budget != NULL);
        blockers_hear(blockers, map_get(snapshot.pods, "U"), 300000,
                      err.kind == ERROR_NONE ? NULL : &err);
        json_array_foreach(blockers, at, blocker)
            text_add(said, "%s, %s: %s <%s>|", json_text_or(blocker, "kind", ""),
                     json_text_or(blocker, "verdict", ""), json_text_or(blocker, "text", ""),
                     json_text_or(blocker, "server", ""));
        if (!text_equal(said->chars, heard[i].said))
            fail_msg("%zu said %s\nnot  %s", i, said->chars, heard[i].said);
        snapshot_clear(&snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_blocker_is_said_in_its_words),
        cmocka_unit_test(more_pods_than_may_go_at_once_take_turns),
        cmocka_unit_test(nodes_that_leave_together_share_the_budget),
        cmocka_unit_test(a_servers_word_counts_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
