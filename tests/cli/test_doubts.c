/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Doubts about machines and nodes, each played inside a whole transfer: a cloud that contradicts
 * itself, an answer that never came, a pool without room, and a node that is not empty, not the
 * one, or not free, when its turn comes.
 */
#include "broker/sides/kube/kube_effects.h"
#include "tests/cli/people.h"

static struct kube_node *research_node(struct rehearsal *rehearsal, const char *name)
{
    return people_node(rehearsal, "research-a", name);
}

/* A way out on which the cloud does not know what deleteInstances is while it is forgetful. */
static struct http *open_way;
static bool is_forgetful;

static struct http_exchange *strait_send(struct http *http, const struct http_request *request,
                                         http_done_fn done, void *context)
{
    struct http_request bent = *request;
    const char *verb = strstr(request->url, "deleteInstances");
    owned(chars) char *url = NULL;

    (void)http;
    if (is_forgetful && verb) {
        url = text_format("%.*sforgotten", (int)(verb - request->url), request->url);
        bent.url = url;
    }
    return http_send(open_way, &bent, done, context);
}

static void strait_cancel(struct http_exchange *exchange)
{
    http_cancel(open_way, exchange);
}

static const struct http_verbs strait_verbs = { .send = strait_send, .cancel = strait_cancel };

/* The service begins again, and reaches everything by this way. */
static void go_through(struct rehearsal *rehearsal, struct http *strait)
{
    struct error err = { 0 };

    open_way = rehearsal->door;
    rehearsal_kill(rehearsal);
    rehearsal->world.http = strait;
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    rehearsal_run(rehearsal, MINUTE_MS);
}

/* T35: "no such machine" is not believed while the list shows it: a machine taken for gone would
   run on beside the one that is made in its place. */
static void a_machine_that_is_listed_is_not_gone(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 30, "");
    struct http strait = { &strait_verbs };
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;
    const struct effect *effect;

    (void)state;
    go_through(rehearsal, &strait);
    is_forgetful = true;
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_RELEASE);
    assert_non_null(transfer);
    rehearsal_run(rehearsal, 20 * MINUTE_MS);
    assert_int_equal(transfer->step, STEP_RELEASE);
    effect = effect_find(transfer, &effect_remove, transfer->instance);
    assert_non_null(effect);
    assert_true(effect->sent_count > 1); /* it was told so, and asked again */
    assert_int_equal(effect->outcome, ERROR_NONE);
    assert_int_equal(rehearsal->simulator->machines_created, 0);
    assert_int_equal(rehearsal_violations(rehearsal), 0);

    is_forgetful = false;
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    expect_rest(rehearsal, 7);
    rehearsal_kill(rehearsal);
    rehearsal->world.http = rehearsal->door;
}

static bool create_failed(const struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_create, transfer->new_instance);

    return effect && effect->outcome != ERROR_NONE;
}

/* T36: the cloud made the machine and its answer was lost.  It is asked for by the same name,
   found, and taken. */
static void a_machine_whose_answer_was_lost_is_the_only_one(void **state)
{
    static const char *const faults[] = { "lost_answer", "http_500_after" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 31, "");
        owned(json) json_t *answer = NULL;
        const struct transfer *transfer;

        rehearsal_run(rehearsal, MINUTE_MS);
        simulator_fault_next(rehearsal->simulator, faults[i], "create_instances");
        answer = reclaim(rehearsal, 1);
        transfer = run_to(rehearsal, STEP_ACQUIRE);
        assert_non_null(transfer);
        for (int64_t ms = 0; !create_failed(transfer); ms += STEPWISE_MS) {
            if (ms > HOUR_MS)
                fail_msg("%s hit nothing", faults[i]);
            rehearsal_run(rehearsal, STEPWISE_MS);
        }
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        assert_int_equal(transfer->attempt, 1);
        assert_int_equal(rehearsal->simulator->machines_created, 1);
        expect_rest(rehearsal, 7);
    }
}

/* T38: each attempt in the target finds no room, so the node goes back to where it came from. */
static void a_node_without_room_elsewhere_is_made_again_at_home(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal_with(
        folder, 6, "stockouts: [{zone: us-east5-a}]\n", "guard: {attempts: 2}\n", "");
    owned(json) json_t *answer = NULL;
    const struct transfer *transfer;

    (void)state;
    rehearsal_run(rehearsal, MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, STEP_ACQUIRE);
    assert_non_null(transfer);
    for (int i = 0; i < 60 && !transfer->is_returning; i++)
        rehearsal_run(rehearsal, MINUTE_MS);
    assert_true(transfer->is_returning);
    assert_int_equal(transfer->attempt, 3); /* the first one at home */
    assert_int_equal(rehearsal->simulator->machines_created, 0);
    assert_int_equal(simulator_pool_target(rehearsal->simulator, "prod-a-east"), 6);

    rehearsal->simulator->scenario->stockouts.count = 0;
    for (int i = 0; i < 60 && transfer->state == TRANSFER_LIVE; i++)
        rehearsal_run(rehearsal, MINUTE_MS);
    assert_int_equal(transfer->state, TRANSFER_RETURNED);
    assert_non_null(
        sim_machine_find(pool_of(rehearsal, "research-a-east"), transfer->new_instance));
    assert_non_null(research_node(rehearsal, transfer->new_node));
    rehearsal_run(rehearsal, HOUR_MS); /* what was reclaimed comes all the same, of another node */
    expect_rest(rehearsal, 7);
}

static int closed_nodes(struct rehearsal *rehearsal)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    int count = 0;
    void *value;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);)
        count += ((const struct kube_node *)value)->is_unschedulable;
    return count;
}

static bool has_evicted(struct rehearsal *rehearsal)
{
    owned(json) json_t *report = simulator_report(rehearsal->simulator);

    return json_int_or(report, "requests/evict_pod", 0) > 0;
}

static void expect_closed_at_first_eviction(struct rehearsal *rehearsal, int nodes)
{
    for (int64_t ms = 0; !has_evicted(rehearsal); ms += STEPWISE_MS) {
        if (ms > 3 * (int64_t)HOUR_MS)
            fail_msg("no pod is evicted");
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    assert_int_equal(transfers_of(rehearsal, true), nodes);
    assert_int_equal(closed_nodes(rehearsal), nodes);
}

/* T55: what is evicted would else land on a node that leaves next.  Some cordons are refused at
   first: the others wait for them. */
static void a_move_is_closed_before_its_first_eviction(void **state)
{
    (void)state;
    for (int is_planned = 0; is_planned < 2; is_planned++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
        owned(json) json_t *answer = NULL;

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        if (is_planned) {
            apply(rehearsal, 14, 6);
            assert_non_null(run_to(rehearsal, STEP_NOTICE));
            rehearsal_run(rehearsal, MINUTE_MS); /* the others are announced, too */
        } else {
            answer = reclaim(rehearsal, 8);
            assert_int_equal(json_int_or(answer, "accepted_nodes", 0), 8);
        }
        for (int i = 0; i < 3; i++)
            simulator_fault_next(rehearsal->simulator, "http_500", "patch_node");
        expect_closed_at_first_eviction(rehearsal, 8);
        assert_int_equal(rehearsal_violations(rehearsal), 0);
    }
}

/* A pod that was bound to the node, of which no watch tells. */
static struct kube_pod *bind_unseen(struct rehearsal *rehearsal, const char *node)
{
    struct simulator *simulator = rehearsal->simulator;
    struct kube_pod *pod = sim_pod_new(simulator, sim_cluster(simulator, "research-a"), "research",
                                       "unseen");

    pod->written = json_make("{s:{s:[{s:s, s:s, s:b}]}, s:{s:[{s:s}]}}", "metadata",
                             "ownerReferences", "kind", "ReplicaSet", "name", "owner", "controller",
                             1, "spec", "containers", "name", "main");
    simulator->is_started = false; /* what is there at the start is no change */
    sim_pod_bind(simulator, pod, research_node(rehearsal, node));
    simulator->is_started = true;
    pod->state = POD_IS_RUNNING;
    pod->is_ready = true;
    pod->started_ms = sim_now(simulator);
    pod->blob = sim_encode_pod(simulator, pod);
    return pod;
}

/* T6: the scheduler had not heard of the cordon, and the watch does not tell what it did.  The node
   is not empty on the word of that watch, however long it is silent. */
static void a_pod_that_only_the_server_lists_keeps_its_node(void **state)
{
    static const struct {
        int64_t silent_ms;
        enum transfer_step step;       /* at the end of it */
        const struct effect_kind *way; /* in which the pod leaves after it */
    } rows[] = {
        { 2 * MINUTE_MS, STEP_DRAIN, &kube_effect_evict },
        { 25 * MINUTE_MS, STEP_FORCE, &kube_effect_delete_pod },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
        const struct transfer *transfer;
        struct kube_pod *pod;
        char uid[SIM_UID_SIZE];

        transfer = scheduled(rehearsal, STEP_DRAIN);
        pod = bind_unseen(rehearsal, transfer->node);
        text_copy(uid, sizeof uid, pod->uid);
        rehearsal_run(rehearsal, rows[i].silent_ms);
        assert_int_equal(transfer->step, rows[i].step);
        assert_int_equal(transfer->needs_operator, rows[i].step == STEP_FORCE);
        assert_string_equal(transfer->waiting,
                            "1 pod that the server lists and the watch does not show");
        assert_int_equal(rehearsal->simulator->machines_deleted, 0);

        sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
        rehearsal_run(rehearsal, SECOND_MS);
        assert_non_null(effect_find(transfer, rows[i].way, uid));
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        expect_rest(rehearsal, 7);
    }
}

/* All that anybody may have written to a node. */
static json_t *face_of(const struct kube_node *node)
{
    owned(json) json_t *face = json_make("{s:O, s:O, s:O, s:b}", "labels", node->labels,
                                         "annotations", node->annotations, "taints", node->taints,
                                         "unschedulable", (int)node->is_unschedulable);

    return json_deep_copy(face); /* the node's own parts may change in place */
}

/* A client deletes the Node, and the kubelet of its machine registers another under the name. */
static struct kube_node *make_again(struct rehearsal *rehearsal, const char *name)
{
    struct kube_node *old = research_node(rehearsal, name);
    struct machine *machine = old->machine;

    sim_node_delete(rehearsal->simulator, old);
    machine->node = sim_node_register(rehearsal->simulator, machine, false);
    return machine->node;
}

/* T4: the name is the same, the node is not: this one was not chosen, and must not be written to.
 */
static void a_node_made_again_under_the_name_is_not_ours(void **state)
{
    static const enum transfer_step steps[] = { STEP_ANNOUNCE, STEP_NOTICE, STEP_DRAIN,
                                                STEP_FORCE };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
            folder, 12, steps[i] == STEP_FORCE ? "faults: { stuck_pod: 1 }\n" : "");
        owned(json) json_t *before = NULL;
        owned(json) json_t *after = NULL;
        const struct transfer *transfer;
        const struct kube_node *node;

        transfer = scheduled(rehearsal, steps[i]);
        node = make_again(rehearsal, transfer->node);
        before = face_of(node);
        /* In small steps: the next move may well choose it. */
        for (int k = 0; k < 60 * 200 && transfer->state == TRANSFER_LIVE; k++)
            rehearsal_run(rehearsal, STEPWISE_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        assert_ptr_equal(research_node(rehearsal, transfer->node), node);
        after = face_of(node);
        assert_true(json_equal(before, after));
        rehearsal_run(rehearsal, 2 * HOUR_MS);
        expect_rest(rehearsal, 7); /* the window has begun: a node that was chosen again came */
    }
}

/* The node that is chosen when none is marked; the same each time. */
static char *usual_choice(void)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");

    return mem_copy_chars(scheduled(rehearsal, STEP_NOTICE)->node);
}

/* T5: a node that another controller is about to take down is not even chosen. */
static void a_node_that_a_rival_has_marked_is_not_chosen(void **state)
{
    static const char *const marks[] = { "ToBeDeletedByClusterAutoscaler",
                                         "karpenter.sh/disrupted" };
    owned(chars) char *usual = usual_choice();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
        struct kube_node *node = research_node(rehearsal, usual);

        json_array_append_new(node->taints,
                              json_make("{s:s, s:s}", "key", marks[i], "effect", "NoSchedule"));
        sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 7, 6);
        assert_non_null(run_to(rehearsal, STEP_NOTICE));
        assert_string_not_equal(transfer_at(rehearsal, 0)->node, usual);
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        expect_rest(rehearsal, 7);
        assert_int_equal(transfers_of(rehearsal, true), 1); /* nor chosen and given up */
        assert_ptr_equal(research_node(rehearsal, usual), node);
        assert_int_equal(json_array_size(node->taints), 1);
        assert_false(node->is_unschedulable);
    }
}

/* A cordon that is not ours is a person's word. */
static void a_node_that_a_person_closed_is_not_chosen(void **state)
{
    owned(chars) char *usual = usual_choice();
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
    struct kube_node *node = research_node(rehearsal, usual);

    (void)state;
    node->is_unschedulable = true;
    people_changed(rehearsal, node);
    assert_string_not_equal(scheduled(rehearsal, STEP_NOTICE)->node, usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_is_listed_is_not_gone),
        cmocka_unit_test(a_machine_whose_answer_was_lost_is_the_only_one),
        cmocka_unit_test(a_node_without_room_elsewhere_is_made_again_at_home),
        cmocka_unit_test(a_move_is_closed_before_its_first_eviction),
        cmocka_unit_test(a_pod_that_only_the_server_lists_keeps_its_node),
        cmocka_unit_test(a_node_made_again_under_the_name_is_not_ours),
        cmocka_unit_test(a_node_that_a_rival_has_marked_is_not_chosen),
        cmocka_unit_test(a_node_that_a_person_closed_is_not_chosen),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
