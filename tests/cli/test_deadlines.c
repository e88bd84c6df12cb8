/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines and graces inside a whole transfer, watched by an observer that sees only the cluster:
 * when a pod is told to leave, how long it is given, and what is done with the one that does not
 * go.
 */
#include "broker/sides/kube/kube_effects.h"
#include "tests/cli/people.h"

enum {
    DEADLINE_MS = 5 * MINUTE_MS, /* of the drain, from the cordon; small_world.h */
    LATE_MS = 10 * SECOND_MS,    /* what is asked for at a moment is seen this much later at most */
};

static const char no_room[] =
    "budgets: [{cluster: research-a, namespace: ml, selector_label: app=held, min_available: "
    "99}]\n";
static const char never_stops[] = "{\"test.sluice.dev/stuck\": \"true\"}";

/* What was seen of the pod; times are since the cordon of its node, -1: not seen. */
struct story {
    int64_t marked_ms;     /* it carries DisruptionTarget */
    int64_t told_ms;       /* it was told to leave, */
    int64_t told_grace_s;  /* with this grace */
    int64_t forced_ms;     /* a delete came, not an eviction */
    int64_t shortened_ms;  /* its grace got shorter, */
    int64_t short_grace_s; /* to this */
};

static struct kube_cluster *research(struct rehearsal *rehearsal)
{
    return sim_cluster(rehearsal->simulator, "research-a");
}

/* The pod of which the cases tell; NULL: it is gone. */
static struct kube_pod *held_pod(struct rehearsal *rehearsal)
{
    return map_get(research(rehearsal)->pods, "ml/held");
}

/* One node is announced, and the pod comes to it.  `annotations` and `finalizers` are JSON. */
static struct transfer *announced_with_pod(struct rehearsal *rehearsal, int grace_s,
                                           const char *annotations, const char *finalizers)
{
    struct error err = { 0 };
    struct transfer *transfer;
    json_t *notes = json_parse(annotations, strlen(annotations), "annotations", &err);
    json_t *holds = json_parse(finalizers, strlen(finalizers), "finalizers", &err);

    transfer = scheduled(rehearsal, STEP_NOTICE);
    post(rehearsal, "api/v1/namespaces", json_make("{s:{s:s}}", "metadata", "name", "ml"));
    post(rehearsal, "api/v1/namespaces/ml/pods",
         json_make("{s:{s:s, s:{s:s}, s:o, s:o, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}]}}",
                   "metadata", "name", "held", "labels", "app", "held", "annotations", notes,
                   "finalizers", holds, "ownerReferences", "kind", "ReplicaSet", "name", "owner",
                   "controller", 1, "spec", "nodeName", transfer->node,
                   "terminationGracePeriodSeconds", grace_s, "containers", "name", "main"));
    assert_non_null(held_pod(rehearsal));
    return transfer;
}

/* A case that waits for what never comes fails, and does not hang. */
static void run_for(struct rehearsal *rehearsal, const struct transfer *transfer, int64_t ms)
{
    assert_true(loop_wall(rehearsal->loop).ms < transfer->departure.ms + HOUR_MS);
    rehearsal_run(rehearsal, ms);
}

static void run_on(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    run_for(rehearsal, transfer, STEPWISE_MS);
}

static bool is_marked(const struct kube_pod *pod)
{
    size_t i;
    const json_t *condition;

    json_array_foreach(pod->conditions, i, condition) {
        if (text_equal(json_text_or(condition, "type", ""), "DisruptionTarget"))
            return true;
    }
    return false;
}

static void look_at(struct story *story, const struct kube_pod *pod, int64_t ms)
{
    if (story->marked_ms < 0 && is_marked(pod))
        story->marked_ms = ms;
    if (story->forced_ms < 0 && pod->is_forced)
        story->forced_ms = ms;
    if (pod->deletion_ms == 0)
        return;
    if (story->told_ms < 0) {
        story->told_ms = ms;
        story->told_grace_s = pod->deletion_grace_s;
    } else if (story->shortened_ms < 0 && pod->deletion_grace_s < story->told_grace_s) {
        story->shortened_ms = ms;
        story->short_grace_s = pod->deletion_grace_s;
    }
}

/* Until the node is drained: what a pod is told is told in these steps. */
static struct story watch_drain(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    struct story story = { -1, -1, -1, -1, -1, -1 };

    while (transfer->step < STEP_DRAIN)
        run_on(rehearsal, transfer);
    while (transfer->step <= STEP_FORCE) {
        const struct kube_pod *pod = held_pod(rehearsal);

        if (pod)
            look_at(&story, pod, loop_wall(rehearsal->loop).ms - transfer->cordoned.ms);
        run_on(rehearsal, transfer);
    }
    return story;
}

static void expect_done(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* A budget that lets no pod go takes nothing from the pod's own grace, and nothing from the
   deadline: the delete comes when the one fits just into the other. */
static void a_blocked_pod_is_deleted_its_own_grace_before_the_deadline(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
    const struct transfer *transfer = announced_with_pod(
        rehearsal, 60, "{\"test.sluice.dev/stops-in\": \"50s\"}", "[]");
    struct story story = watch_drain(rehearsal, transfer);

    (void)state;
    assert_in_range(story.told_ms, DEADLINE_MS - 60 * SECOND_MS,
                    DEADLINE_MS - 60 * SECOND_MS + LATE_MS);
    assert_in_range(story.told_grace_s, 51, 60);
    assert_int_equal(story.forced_ms, story.told_ms);
    assert_in_range(story.marked_ms, 0, story.told_ms - 1); /* its owner sees a disruption first */
    assert_int_equal(story.shortened_ms, -1);
    assert_null(held_pod(rehearsal));
    expect_done(rehearsal, transfer);
}

/* The mark that tells the pod's owner of a disruption is sent again when a server was only busy; a
   server that forbids it, or stays busy, takes nothing from the pod's grace. */
static void a_mark_that_came_to_nothing_is_sent_again(void **state)
{
    static const struct {
        const char *fault;
        int times;
        bool is_marked;
    } cases[] = {
        { "http_500", 1, true }, { "http_429", 1, true },  { "lost_answer", 1, true },
        { "refused", 1, true },  { "http_500", 9, false }, { "http_403", 1, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
        const struct transfer *transfer = announced_with_pod(
            rehearsal, 60, "{\"test.sluice.dev/stops-in\": \"40s\"}", "[]");
        struct story story;

        for (int k = 0; k < cases[i].times; k++)
            simulator_fault_next(rehearsal->simulator, cases[i].fault, "mark_pod");
        story = watch_drain(rehearsal, transfer);
        if (cases[i].is_marked != (story.marked_ms >= 0 && story.marked_ms < story.told_ms))
            fail_msg("%s %d times: marked at %lld, told at %lld", cases[i].fault, cases[i].times,
                     (long long)story.marked_ms, (long long)story.told_ms);
        assert_in_range(story.told_ms, DEADLINE_MS - 60 * SECOND_MS,
                        DEADLINE_MS - 60 * SECOND_MS + LATE_MS);
        assert_in_range(story.told_grace_s, 55, 60);
        expect_done(rehearsal, transfer);
    }
}

/* What its own grace leaves of it is asked once more at the deadline, and not before; never with
   grace 0, which would free its name while its processes run. */
static void a_pod_that_does_not_stop_has_until_the_deadline(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(rehearsal, 60, never_stops, "[]");
    struct story story = watch_drain(rehearsal, transfer);
    const struct kube_pod *pod = held_pod(rehearsal);
    const struct effect *effect;

    (void)state;
    assert_in_range(story.told_ms, 0, LATE_MS);
    assert_int_equal(story.told_grace_s, 60);
    assert_in_range(story.forced_ms, DEADLINE_MS, DEADLINE_MS + LATE_MS);
    assert_non_null(pod);
    effect = effect_find(transfer, &kube_effect_delete_pod, pod->uid);
    assert_non_null(effect);
    assert_int_equal(effect->grace_s, 1);
    expect_done(rehearsal, transfer);
}

/* A grace that another client granted is theirs to grant, as long as the drain has time for it. */
static void a_long_grace_of_another_client_is_cut_at_the_deadline(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(rehearsal, 3000, never_stops, "[]");
    struct story story;

    (void)state;
    sim_pod_terminate(rehearsal->simulator, held_pod(rehearsal), 3000);
    story = watch_drain(rehearsal, transfer);
    assert_int_equal(story.told_grace_s, 3000);
    assert_int_equal(story.forced_ms, story.shortened_ms);
    assert_in_range(story.shortened_ms, DEADLINE_MS, DEADLINE_MS + LATE_MS);
    assert_int_equal(story.short_grace_s, 1);
    expect_done(rehearsal, transfer);
}

static bool has_machine(struct rehearsal *rehearsal, const struct transfer *transfer)
{
    const struct kube_node *node = map_get(research(rehearsal)->nodes, transfer->node);

    return node && node->machine;
}

/* The pod's object goes neither before the machine, on which it runs, nor with the Node. */
static void what_outlives_its_machine_is_removed_before_its_node(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(rehearsal, 60, never_stops, "[]");
    const struct effect *effect;
    char uid[SIM_UID_SIZE];

    (void)state;
    text_copy(uid, sizeof uid, held_pod(rehearsal)->uid);
    while (transfer->step < STEP_RELEASE || has_machine(rehearsal, transfer)) {
        assert_non_null(held_pod(rehearsal));
        assert_null(effect_find(transfer, &kube_effect_clear_pod, uid));
        run_on(rehearsal, transfer);
    }
    assert_non_null(held_pod(rehearsal));
    while (held_pod(rehearsal)) {
        assert_non_null(map_get(research(rehearsal)->nodes, transfer->node));
        run_on(rehearsal, transfer);
    }
    assert_non_null(map_get(research(rehearsal)->nodes, transfer->node));
    while (map_get(research(rehearsal)->nodes, transfer->node))
        run_on(rehearsal, transfer);
    effect = effect_find(transfer, &kube_effect_clear_pod, uid);
    assert_non_null(effect);
    assert_true(effect->answered_ms > 0);
    assert_int_equal(effect->outcome, ERROR_NONE);
    expect_done(rehearsal, transfer);
}

/* Whether who looks at the transfers now is told this. */
static bool is_shown(struct rehearsal *rehearsal, const char *words)
{
    owned(json) json_t *shown = service_transfers(rehearsal->service, false);
    const json_t *row = json_array_get(json_object_get(shown, "transfers"), 0);

    return strstr(json_text_or(row, "waits_for", ""), words) != NULL;
}

/* A finalizer is another controller's promise to come by: it is told of and left, and the node
 * moves. */
static void a_foreign_finalizer_is_left_and_gone_past(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(
        rehearsal, 20, "{\"test.sluice.dev/stops-in\": \"2s\"}", "[\"example.com/theirs\"]");
    bool was_told = false;
    bool was_told_after = false; /* when its machine is gone */
    char uid[SIM_UID_SIZE];

    (void)state;
    text_copy(uid, sizeof uid, held_pod(rehearsal)->uid);
    while (map_get(research(rehearsal)->nodes, transfer->node)) {
        const struct kube_pod *pod = held_pod(rehearsal);

        assert_non_null(pod);
        assert_string_equal(
            json_string_value(json_array_get(json_at(pod->written, "metadata/finalizers"), 0)),
            "example.com/theirs");
        if (transfer->step <= STEP_FORCE)
            was_told |= is_shown(rehearsal, "it is held by the finalizers example.com/theirs");
        if (transfer->step == STEP_CLEAR)
            was_told_after |= is_shown(
                rehearsal, "; pod ml/held stays, held by the finalizers example.com/theirs");
        run_for(rehearsal, transfer, transfer->step <= STEP_FORCE ? 100 : STEPWISE_MS);
    }
    assert_true(was_told);
    assert_true(was_told_after);
    assert_null(effect_find(transfer, &kube_effect_clear_pod, uid)); /* it would change nothing */
    assert_non_null(effect_find(transfer, &kube_effect_clear_node, transfer->node_uid));
    expect_done(rehearsal, transfer);
}

static void post_daring_pod(struct rehearsal *rehearsal, const struct transfer *transfer, int at)
{
    owned(chars) char *name = text_format("back-%d", at);

    post(rehearsal, "api/v1/namespaces/ml/pods",
         json_make("{s:{s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:[{s:s}], s:[{s:s}]}}",
                   "metadata", "name", name, "annotations", "test.sluice.dev/stops-in", "20s",
                   "ownerReferences", "kind", "ReplicaSet", "name", "owner", "controller", 1,
                   "spec", "nodeName", transfer->node, "terminationGracePeriodSeconds", 30,
                   "tolerations", "operator", "Exists", "containers", "name", "main"));
}

/* A node that was empty in time is looked at once more; a pod that came to it meanwhile is asked as
   anybody is before the deadline. */
static void a_pod_that_comes_to_an_emptied_node_is_evicted(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(
        rehearsal, 60, "{\"test.sluice.dev/stops-in\": \"10s\"}", "[]");
    const struct effect *evicted;
    const struct kube_pod *pod;
    char uid[SIM_UID_SIZE];

    (void)state;
    while (transfer->step < STEP_FORCE)
        run_for(rehearsal, transfer, 1);
    assert_true(loop_wall(rehearsal->loop).ms < transfer->drain_due.ms - 2 * MINUTE_MS);
    post_daring_pod(rehearsal, transfer, 0);
    pod = map_get(research(rehearsal)->pods, "ml/back-0");
    text_copy(uid, sizeof uid, pod->uid);
    while (transfer->step == STEP_FORCE)
        run_for(rehearsal, transfer, 1);
    evicted = effect_find(transfer, &kube_effect_evict, uid);
    assert_non_null(evicted);
    assert_int_equal(evicted->outcome, ERROR_NONE);
    assert_null(effect_find(transfer, &kube_effect_delete_pod, uid));
    expect_done(rehearsal, transfer);
}

/* A delete that is accepted late gives the pod its whole grace, however soon the next turn is. */
static void a_delete_that_was_refused_for_long_grants_all_the_same(void **state)
{
    (void)state;
    for (int refusals = 4; refusals < 10; refusals++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, no_room);
        const struct transfer *transfer = announced_with_pod(
            rehearsal, 60, "{\"test.sluice.dev/stops-in\": \"50s\"}", "[]");

        for (int k = 0; k < refusals; k++)
            simulator_fault_next(rehearsal->simulator, "http_429", "delete_pod");
        watch_drain(rehearsal, transfer);
        if (held_pod(rehearsal))
            fail_msg("%d refusals: its machine goes %lld ms before its grace is over", refusals,
                     (long long)(held_pod(rehearsal)->deletion_ms - sim_now(rehearsal->simulator)));
    }
}

/* What tolerates every taint comes back to the closed node as often as it is evicted.  It is
   evicted until the drain's deadline, once more before the machine goes, and then holds nothing. */
static void play_for_ever(int64_t write_ms)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, "");
    const struct transfer *transfer = announced_with_pod(
        rehearsal, 30, "{\"test.sluice.dev/stops-in\": \"5s\"}", "[]");
    int count = 0;

    rehearsal_slow_disk(rehearsal, write_ms);
    post_daring_pod(rehearsal, transfer, count);
    while (transfer->step <= STEP_RELEASE) {
        owned(chars) char *key = text_format("ml/back-%d", count);
        const struct kube_pod *pod = map_get(research(rehearsal)->pods, key);
        const struct kube_node *node = map_get(research(rehearsal)->nodes, transfer->node);

        if (node && node->is_alive && (!pod || pod->deletion_ms > 0))
            post_daring_pod(rehearsal, transfer, ++count);
        run_for(rehearsal, transfer, 5 * SECOND_MS);
    }
    assert_int_equal(transfer->redrains, 1);
    assert_in_range(loop_wall(rehearsal->loop).ms, transfer->drain_due.ms,
                    transfer->drain_due.ms + 5 * MINUTE_MS);
    expect_done(rehearsal, transfer);
}

/* The disk of a real journal is never as fast as the turn that asks it. */
static void a_pod_that_comes_back_for_ever_holds_no_machine(void **state)
{
    (void)state;
    play_for_ever(0);
    play_for_ever(50);
}

/* The message of the only Event of this reason about the pod; NULL: there is none. */
static const char *told_of_pod(struct rehearsal *rehearsal, const char *reason)
{
    const char *message = NULL;
    const char *path;
    void *value;

    for (size_t i = 0; map_next(research(rehearsal)->objects, &i, &path, &value);) {
        if (strncmp(path, "events/ml/", 10) != 0 ||
            !text_equal(json_text_or(value, "reason", ""), reason))
            continue;
        assert_null(message);
        assert_string_equal(json_text_or(value, "involvedObject/name", ""), "held");
        message = json_text_or(value, "message", "");
    }
    return message;
}

/* Who wants longer than the whole drain has what the drain has, and reads on the pod how long that
   was.  Its budget is asked all the same, for a minute. */
static void a_grace_beyond_the_deadline_is_cut_and_the_pod_says_so(void **state)
{
    static const struct {
        const char *budgets;
        int64_t told_ms;
        int64_t grace_s;
        const char *reason;
    } rows[] = {
        { "", 0, 300, "GraceCut" },
        { no_room, MINUTE_MS, 240, "ForcedDelete" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 8, rows[i].budgets);
        const struct transfer *transfer = announced_with_pod(
            rehearsal, 900, "{\"test.sluice.dev/stops-in\": \"3m\"}", "[]");
        struct story story = watch_drain(rehearsal, transfer);
        owned(chars) char *granted = text_format("with %lld s of its 900 s to stop",
                                                 (long long)story.told_grace_s);
        const char *message = told_of_pod(rehearsal, rows[i].reason);

        assert_in_range(story.told_ms, rows[i].told_ms, rows[i].told_ms + LATE_MS);
        assert_in_range(story.told_grace_s, rows[i].grace_s - 10, rows[i].grace_s);
        assert_int_equal(story.forced_ms, i == 0 ? -1 : story.told_ms);
        assert_non_null(message);
        assert_non_null(strstr(message, granted));
        expect_done(rehearsal, transfer);
    }
}

/* For an emergency time passes, whatever can be asked. */
static void a_reclaims_deadline_is_never_moved(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 71, "");
    const struct transfer *transfer = reclaimed(rehearsal, STEP_DRAIN);
    int64_t due_ms = transfer->drain_due.ms;

    (void)state;
    simulator_cut_off(rehearsal->simulator, "research-a");
    rehearsal_run(rehearsal, 4 * MINUTE_MS);
    assert_in_range(transfer->step, STEP_DRAIN, STEP_FORCE);
    simulator_cut_off(rehearsal->simulator, NULL);
    rehearsal_run(rehearsal, 40 * SECOND_MS);
    assert_int_equal(transfer->drain_due.ms, due_ms);
    rehearsal_run(rehearsal, HOUR_MS);
    expect_rest(rehearsal, 7);
}

/* It was not asked before the deadline: it has its own grace yet. */
static void a_pod_that_comes_late_has_its_grace(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12,
                                                                   "faults: { stuck_pod: 1 }\n");
    const struct transfer *transfer = scheduled(rehearsal, STEP_FORCE);
    const struct kube_pod *pod;
    const struct effect *effect;

    (void)state;
    rehearsal_run(rehearsal, 5 * SECOND_MS);
    pod = people_bind(rehearsal, people_node(rehearsal, "research-a", transfer->node), "late",
                      false);
    rehearsal_run(rehearsal, 10 * SECOND_MS);
    effect = effect_find(transfer, &kube_effect_delete_pod, pod->uid);
    assert_non_null(effect);
    assert_int_equal(effect->grace_s, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_pod_is_deleted_its_own_grace_before_the_deadline),
        cmocka_unit_test(a_mark_that_came_to_nothing_is_sent_again),
        cmocka_unit_test(a_pod_that_does_not_stop_has_until_the_deadline),
        cmocka_unit_test(a_long_grace_of_another_client_is_cut_at_the_deadline),
        cmocka_unit_test(a_pod_that_comes_to_an_emptied_node_is_evicted),
        cmocka_unit_test(a_delete_that_was_refused_for_long_grants_all_the_same),
        cmocka_unit_test(a_pod_that_comes_back_for_ever_holds_no_machine),
        cmocka_unit_test(what_outlives_its_machine_is_removed_before_its_node),
        cmocka_unit_test(a_foreign_finalizer_is_left_and_gone_past),
        cmocka_unit_test(a_grace_beyond_the_deadline_is_cut_and_the_pod_says_so),
        cmocka_unit_test(a_reclaims_deadline_is_never_moved),
        cmocka_unit_test(a_pod_that_comes_late_has_its_grace),
    };

    mem_setup();
    log_setup(LOG_ERROR, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
