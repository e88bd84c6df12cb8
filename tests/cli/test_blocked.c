/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * T60 on a live system: what `sluice transfers` says of a pod while its node is announced, word for
 * word, and that it comes true when the node is drained.
 */
#include "broker/transfer/effect.h"
#include "tests/cli/stepwise.h"

enum {
    DEADLINE_MS = 5 * MINUTE_MS, /* of the drain, from the cordon; small_world.h */
    SOON_MS = 30 * SECOND_MS,    /* the settle time and a few questions */
};

#define BUDGET(label)                                                                              \
    "{cluster: research-a, namespace: ml, selector_label: " label "=held, min_available: 99}"
#define NOTES(more) "\"annotations\":{\"test.sluice.dev/stops-in\":\"10s\"" more "}"
#define OWNED(more)                                                                                \
    NOTES(more)                                                                                    \
    ",\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"owner\",\"controller\":true}]"

/* How the pod leaves. */
enum end {
    EVICTED,   /* soon after the cordon */
    FORCED,    /* deleted its own grace before the deadline, and never evicted */
    CUT_SHORT, /* evicted soon, with no longer a grace than there is time */
    STAYS,     /* soon, but its object is there when its machine is gone */
};

static const struct {
    const char *meta;    /* of the pod */
    const char *spec;    /* likewise */
    const char *budgets; /* of the world */
    int64_t grace_s;
    const char *said; /* "KIND, VERDICT: TEXT" */
    enum end end;
} rows[] = {
    { OWNED(",\"karpenter.sh/do-not-disrupt\":\"true\""), "", "", 30,
      "protected, never: it asks not to be disrupted", FORCED },
    { OWNED(",\"cluster-autoscaler.kubernetes.io/safe-to-evict\":\"false\""), "", "", 30,
      "protected, never: it asks not to be disrupted", FORCED },
    { OWNED(""), "", "budgets: [" BUDGET("app") "]\n", 40,
      "budget, never: budget app-held (1 healthy of 1, 99 wanted) can never let a pod go: it wants "
      "all of them",
      FORCED },
    { OWNED(""), "", "budgets: [" BUDGET("app") ", " BUDGET("tier") "]\n", 60,
      "two budgets, never: 2 budgets select it (app-held, tier-held): the server evicts no such "
      "pod",
      FORCED },
    { OWNED(""), "", "", 900, "grace cut, note: it asks for 900 s to stop and gets 300 s",
      CUT_SHORT },
    { NOTES(""), "", "", 30, "unmanaged, note: it has no controller that would make it again",
      EVICTED },
    { OWNED(""), ",\"volumes\":[{\"emptyDir\":{}}]", "", 30,
      "local data, note: what it keeps on the node's disk is lost", EVICTED },
    { OWNED("") ",\"finalizers\":[\"example.com/hold\"]", "", "", 30,
      "finalizers, slow: its object stays until its finalizers are lifted: example.com/hold",
      STAYS },
};

static struct kube_pod *held_pod(struct rehearsal *rehearsal)
{
    return map_get(sim_cluster(rehearsal->simulator, "research-a")->pods, "ml/held");
}

/* The pod comes to a node that is announced. */
static struct transfer *announced_with(struct rehearsal *rehearsal, size_t row)
{
    struct error err = { 0 };
    struct transfer *transfer;
    owned(chars) char *pod = NULL;

    transfer = scheduled(rehearsal, STEP_NOTICE);
    pod = text_format("{\"metadata\":{\"name\":\"held\",\"labels\":{\"app\":\"held\",\"tier\":"
                      "\"held\"},%s},\"spec\":"
                      "{\"nodeName\":\"%s\",\"terminationGracePeriodSeconds\":%d,\"containers\":[{"
                      "\"name\":\"main\"}]%s}}",
                      rows[row].meta, transfer->node, (int)rows[row].grace_s, rows[row].spec);
    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    post(rehearsal, "api/v1/namespaces/ml/pods", json_parse(pod, strlen(pod), "pod", &err));
    return transfer;
}

/* All that is said of the pod, a line each. */
static char *said_of(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    struct error err = { 0 };
    owned(json) json_t *answer = service_transfer(rehearsal->service, transfer->id, &err);
    struct text *said = text_new(4096);
    const json_t *blocker;
    size_t i;

    json_array_foreach(json_object_get(answer, "blockers"), i, blocker) {
        if (text_equal(json_text_or(blocker, "pod", ""), "ml/held"))
            text_add(said, "%s, %s: %s\n", json_text_or(blocker, "kind", ""),
                     json_text_or(blocker, "verdict", ""), json_text_or(blocker, "text", ""));
    }
    return text_take(said);
}

/* Plays until the pod is told to leave; how long after the cordon that is. */
static int64_t told_ms(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    for (int64_t ms = 0; ms < HOUR_MS; ms += 50) {
        const struct kube_pod *pod = held_pod(rehearsal);

        if (transfer->cordoned.ms > 0 && (!pod || pod->deletion_ms > 0))
            return loop_wall(rehearsal->loop).ms - transfer->cordoned.ms;
        rehearsal_run(rehearsal, 50);
    }
    fail_msg("it is never told to leave");
    return 0;
}

static void expect_end(struct rehearsal *rehearsal, size_t row, const struct transfer *transfer)
{
    int64_t ms = told_ms(rehearsal, transfer);
    const struct kube_pod *pod = held_pod(rehearsal);
    int64_t due_ms = DEADLINE_MS - rows[row].grace_s * SECOND_MS;

    assert_non_null(pod);
    assert_int_equal(pod->is_forced, rows[row].end == FORCED);
    if (rows[row].end == FORCED)
        assert_in_range(ms, due_ms - SECOND_MS, due_ms + SOON_MS);
    else
        assert_in_range(ms, 0, SOON_MS);
    if (rows[row].end == CUT_SHORT)
        assert_in_range(pod->deletion_grace_s, 1, DEADLINE_MS / SECOND_MS);
    else /* a delete comes a moment late, and keeps to the deadline */
        assert_in_range(pod->deletion_grace_s, rows[row].grace_s - 10, rows[row].grace_s);
    for (int64_t at = 0; transfer->step < STEP_CLEAR && at < HOUR_MS; at += 50)
        rehearsal_run(rehearsal, 50);
    assert_int_equal(held_pod(rehearsal) != NULL, rows[row].end == STAYS);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static void what_is_said_of_a_pod_comes_true(void **state)
{
    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 9,
                                                                       rows[row].budgets);
        const struct transfer *transfer = announced_with(rehearsal, row);
        owned(chars) char *line = text_format("%s\n", rows[row].said);
        owned(chars) char *said = NULL;

        rehearsal_run(rehearsal, 2 * MINUTE_MS); /* it runs, and its budgets are counted */
        said = said_of(rehearsal, transfer);
        if (!text_equal(said, line))
            fail_msg("row %zu: said\n%snot\n%s", row, said, line);
        print_message("%s\n", rows[row].said);
        expect_end(rehearsal, row, transfer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_a_pod_comes_true),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
