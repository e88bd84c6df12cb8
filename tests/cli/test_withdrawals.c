/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A transfer is withdrawn at each of its steps in turn.  Up to the accepted removal of its machine
 * the node is exactly as it was before, in all that anybody can see of it; from there on it
 * arrives.  A node that another controller claims meanwhile is left to it.
 */
#include "tests/cli/stepwise.h"

/* What others see of a node: all that a person, a controller or we may have written. */
static json_t *face_of(const struct kube_node *node)
{
    return json_make("{s:O, s:O, s:O, s:b}", "labels", node->labels, "annotations",
                     node->annotations, "taints", node->taints, "unschedulable",
                     (int)node->is_unschedulable);
}

/* Of all nodes of research, by name, with a person's marks on each. */
static json_t *faces_of(struct rehearsal *rehearsal)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    json_t *faces = json_object();
    const char *name;
    void *node;

    for (size_t i = 0; map_next(cluster->nodes, &i, &name, &node);)
        json_object_set_new(faces, name, face_of(node));
    return faces;
}

static void mark_nodes(struct rehearsal *rehearsal)
{
    const struct kube_cluster *cluster = sim_cluster(rehearsal->simulator, "research-a");
    void *value;

    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);) {
        struct kube_node *node = value;

        json_object_set_new(node->annotations, "example.com/owner", json_string("vision"));
        json_array_append_new(node->taints,
                              json_make("{s:s, s:s, s:s}", "key", "example.com/slow", "value",
                                        "disk", "effect", "PreferNoSchedule"));
        sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    }
}

/* Only pods that do not stop need force. */
static const char deaf[] = "faults: { stuck_pod: 1 }\n";

static void play(enum transfer_step step)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12,
                                                                   step == STEP_FORCE ? deaf : "");
    owned(json) json_t *before = NULL;
    owned(json) json_t *after = NULL;
    bool comes_back = step <= STEP_RELEASE; /* its removal is not asked for yet */
    struct transfer *transfer;

    mark_nodes(rehearsal);
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    before = faces_of(rehearsal);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, step);
    if (!transfer)
        fail_msg("step %s was not seen", transfer_steps[step].name);
    apply(rehearsal, 6, 6); /* or it would begin again */
    runner_withdraw(rehearsal->service->runner, transfer, "test");
    rehearsal_run(rehearsal, HOUR_MS);

    if (transfer->state != (comes_back ? TRANSFER_UNDONE : TRANSFER_DONE))
        fail_msg("withdrawn at %s: %s", transfer_steps[step].name,
                 transfer_state_name(transfer->state));
    assert_int_equal(rehearsal_violations(rehearsal), 0);
    if (comes_back) {
        after = faces_of(rehearsal);
        if (!json_equal(before, after)) {
            owned(chars) char *was = json_print_pretty(before);
            owned(chars) char *is = json_print_pretty(after);

            fail_msg("withdrawn at %s: %s\nwas %s", transfer_steps[step].name, is, was);
        }
    }
    expect_rest(rehearsal, 6); /* what arrived goes back as the plan wants */
}

/* The last one waits for nothing: it is done in the turn in which it begins. */
static void each_step_has_its_way_back_or_none(void **state)
{
    (void)state;
    for (int step = 0; step < STEP_HAND_OVER; step++)
        play((enum transfer_step)step);
}

/* What a rival does to the transfer's node. */
static struct kube_node *taint_node(struct rehearsal *rehearsal, const struct transfer *transfer,
                                    const char *key, const char *effect)
{
    struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                     transfer->node);

    json_array_append_new(node->taints, json_make("{s:s, s:s}", "key", key, "effect", effect));
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    return node;
}

static void a_node_that_a_rival_claims_is_left_to_it(void **state)
{
    static const enum transfer_step steps[] = { STEP_ANNOUNCE, STEP_NOTICE, STEP_DRAIN,
                                                STEP_FORCE };
    static const char rival[] = "ToBeDeletedByClusterAutoscaler";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
            folder, 12, steps[i] == STEP_FORCE ? deaf : "");
        struct transfer *transfer = scheduled(rehearsal, steps[i]);
        struct kube_node *node = taint_node(rehearsal, transfer, rival, "NoSchedule");

        rehearsal_run(rehearsal, MINUTE_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        assert_false(node->is_unschedulable);
        assert_int_equal(json_array_size(node->taints), 1);
        assert_string_equal(json_text_or(json_array_get(node->taints, 0), "key", ""), rival);
        assert_null(json_object_get(node->annotations, SLUICE_NOTE_TRANSFER));
        rehearsal_run(rehearsal, 90 * MINUTE_MS); /* the window has begun: another node came */
        expect_rest(rehearsal, 7);
        assert_non_null(map_get(node->cluster->nodes, node->name));
    }
}

/* An operator takes the label off, which says that it may be moved: that ends the transfer at once,
   and not only when the node has been emptied. */
static void a_node_that_may_not_be_moved_any_more_is_emptied_no_further(void **state)
{
    static const enum transfer_step steps[] = { STEP_NOTICE, STEP_CORDON, STEP_DRAIN, STEP_FORCE };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(
            folder, 12, steps[i] == STEP_FORCE ? deaf : "");
        struct transfer *transfer = scheduled(rehearsal, steps[i]);
        struct kube_node *node = map_get(sim_cluster(rehearsal->simulator, "research-a")->nodes,
                                         transfer->node);

        json_object_del(node->labels, "sluice.dev/ephemeral");
        sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
        rehearsal_run(rehearsal, 5 * SECOND_MS);
        assert_true(
            transfer->is_undoing); /* the way back takes a patch, and a watch that shows it */
        rehearsal_run(rehearsal, 25 * SECOND_MS);
        assert_int_equal(transfer->state, TRANSFER_UNDONE);
        assert_false(node->is_unschedulable);
        assert_int_equal(json_array_size(node->taints), 0);
        assert_non_null(map_get(node->cluster->nodes, node->name));
    }
}

/* What an autoscaler may do is no claim: our announcement is the answer to it. */
static void a_rivals_hint_takes_no_move_back(void **state)
{
    static const enum transfer_step steps[] = { STEP_ANNOUNCE, STEP_NOTICE, STEP_CORDON };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
        struct transfer *transfer = scheduled(rehearsal, steps[i]);

        (void)taint_node(rehearsal, transfer, NODE_TAINT_CANDIDATE, "PreferNoSchedule");
        rehearsal_run(rehearsal, 2 * HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        expect_rest(rehearsal, 7);
    }
}

/* A machine that the cloud was asked to remove may go at any moment: its node is not given back. */
static void a_removal_that_was_asked_for_is_not_taken_back(void **state)
{
    (void)state;
    for (int is_answered = 0; is_answered < 2; is_answered++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 12, "");
        struct transfer *transfer = scheduled(rehearsal, STEP_RELEASE);

        while (!removal_of(transfer) || (is_answered && removal_of(transfer)->answered_ms == 0))
            rehearsal_run(rehearsal, 1);
        assert_int_equal(removal_of(transfer)->is_in_flight, !is_answered);
        assert_int_equal(transfer->step, STEP_RELEASE);
        runner_withdraw(rehearsal->service->runner, transfer, "test");
        rehearsal_run(rehearsal, HOUR_MS);
        assert_int_equal(transfer->state, TRANSFER_DONE);
        expect_rest(rehearsal, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_has_its_way_back_or_none),
        cmocka_unit_test(a_node_that_a_rival_claims_is_left_to_it),
        cmocka_unit_test(a_node_that_may_not_be_moved_any_more_is_emptied_no_further),
        cmocka_unit_test(a_rivals_hint_takes_no_move_back),
        cmocka_unit_test(a_removal_that_was_asked_for_is_not_taken_back),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
