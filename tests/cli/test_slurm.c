/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pods that are nodes of a Slurm cluster: their nodes are not chosen, and what comes to a node that
 * leaves is neither evicted nor deleted.
 */
#include "broker/sides/kube/kube_effects.h"
#include "broker/terminal/board.h"
#include "tests/cli/people.h"

/* What Slinky makes, bound straight to the node. */
static struct kube_pod *run_slurmd(struct rehearsal *rehearsal, struct kube_node *node,
                                   const char *name)
{
    struct kube_pod *pod = people_bind(rehearsal, node, name, false);

    json_object_set_new(json_object_get(pod->written, "metadata"), "ownerReferences",
                        json_make("[{s:s, s:s, s:s, s:b}]", "apiVersion",
                                  "slinky.slurm.net/v1beta1", "kind", "NodeSet", "name", "slurm",
                                  "controller", 1));
    sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
    return pod;
}

static void run_slurmd_on_all_but(struct rehearsal *rehearsal, const char *pool, int spared)
{
    struct simulator *sim = rehearsal->simulator;
    int count = 0;

    for (size_t i = 0; i < sim->pool_count; i++)
        for (size_t k = 0;
             text_equal(sim->pools[i].plan->name, pool) && k < sim->pools[i].machines.count; k++) {
            struct kube_node *node = sim->pools[i].machines.items[k]->node;

            if (!node || node->is_static || count++ < spared)
                continue;
            owned(chars) char *name = text_format("slurmd-%zu", k);

            run_slurmd(rehearsal, node, name);
        }
}

static bool has_slurmd(const struct kube_node *node)
{
    for (size_t i = 0; node && i < node->pods.count; i++)
        if (text_starts_with(node->pods.items[i]->name, "slurmd"))
            return true;
    return false;
}

/* Two nodes of research run none: those two go, and no other, however many are wanted. */
static void nodes_of_slurm_are_not_chosen(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 41, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    run_slurmd_on_all_but(rehearsal, "research-a-east", 2);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 10);
    for (int minute = 0; minute < 120; minute++) {
        const struct runner *runner = rehearsal->service->runner;

        rehearsal_run(rehearsal, MINUTE_MS);
        for (size_t i = 0; i < runner->transfers.count; i++)
            assert_false(
                has_slurmd(people_node(rehearsal, "research-a", runner->transfers.items[i]->node)));
    }
    assert_int_equal(transfers_of(rehearsal, true), 2);
    assert_int_equal(rehearsal->simulator->forced_deletes, 0);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

static struct transfer *draining(struct rehearsal *rehearsal)
{
    struct runner *runner = rehearsal->service->runner;

    for (int second = 0; second < 3 * 3600; second++) {
        for (size_t i = 0; i < runner->transfers.count; i++)
            if (runner->transfers.items[i]->step == STEP_DRAIN)
                return runner->transfers.items[i];
        rehearsal_run(rehearsal, SECOND_MS);
    }
    fail_msg("no transfer came to the drain");
    return NULL;
}

/* Every movable node runs it: the plan says what keeps them, and which tool does. */
static void the_plan_names_the_tool_that_keeps_nodes(void **state)
{
    static const char line[] = "9 nodes of pool research-a-east run slurmd (Slinky): "
                               "drain them in Slurm";
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 43, "");

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    run_slurmd_on_all_but(rehearsal, "research-a-east", 0);
    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 10, 10);
    rehearsal_run(rehearsal, MINUTE_MS);

    struct error err = { 0 };
    owned(json) json_t *plan = service_plan(rehearsal->service, NULL, &err);
    owned(text) struct text *page = text_new(TEXT_UNBOUNDED);

    if (!plan)
        fail_msg("%s", err.text);
    board_lacks(plan, page);
    if (!strstr(page->chars, line))
        fail_msg("%s", page->chars);
}

static void expect_given_back(struct rehearsal *rehearsal, const char *node,
                              const struct kube_pod *slurmd)
{
    const struct runner *runner = rehearsal->service->runner;
    int done = 0;

    assert_int_equal(slurmd->deletion_ms, 0);
    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        assert_null(effect_find(transfer, &kube_effect_evict, slurmd->uid));
        assert_null(effect_find(transfer, &kube_effect_delete_pod, slurmd->uid));
        assert_int_equal(transfer->state,
                         text_equal(transfer->node, node) ? TRANSFER_UNDONE : TRANSFER_DONE);
        done += transfer->state == TRANSFER_DONE;
    }
    assert_int_equal(done, 1);
    assert_false(people_node(rehearsal, "research-a", node)->is_unschedulable);
    assert_int_equal(rehearsal->simulator->forced_deletes, 0);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

/* One that starts on a node which leaves, at each step: the node is given back, another one moves,
   and of the first no pod was evicted after the slurmd came. */
static void a_late_node_of_slurm_gives_its_node_back(void **state)
{
    static const enum transfer_step steps[] = { STEP_ANNOUNCE, STEP_NOTICE, STEP_DRAIN };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 42, "");
        const struct transfer *transfer;
        struct kube_pod *slurmd;
        char node[TRANSFER_NAME_SIZE];

        rehearsal_run(rehearsal, 2 * MINUTE_MS);
        apply(rehearsal, 7, 7);
        transfer = run_to(rehearsal, steps[i]);
        assert_non_null(transfer);
        text_copy(node, sizeof node, transfer->node);
        slurmd = run_slurmd(rehearsal, people_node(rehearsal, "research-a", node), "slurmd-late");
        rehearsal_run(rehearsal, 3 * HOUR_MS);
        expect_given_back(rehearsal, node, slurmd);
    }
}

/* Its tool removes it already: that is waited for, and nothing else ends it. */
static void a_node_of_slurm_that_leaves_is_waited_for(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 44, "");
    struct transfer *transfer;
    struct kube_pod *pod;

    (void)state;
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 7);
    transfer = draining(rehearsal);
    pod = run_slurmd(rehearsal, people_node(rehearsal, "research-a", transfer->node),
                     "slurmd-late");
    pod->deletion_ms = loop_now(rehearsal->loop) + 30 * SECOND_MS; /* by its tool */
    sim_pod_changed(rehearsal->simulator, pod, CHANGE_MODIFIED);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_LIVE);
    assert_int_equal(transfer->step, STEP_FORCE);
    assert_null(effect_find(transfer, &kube_effect_delete_pod, pod->uid));
    sim_pod_remove(rehearsal->simulator, pod);
    rehearsal_run(rehearsal, HOUR_MS);
    assert_int_equal(transfer->state, TRANSFER_DONE);
    assert_int_equal(rehearsal_violations(rehearsal), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_slurm_are_not_chosen),
        cmocka_unit_test(the_plan_names_the_tool_that_keeps_nodes),
        cmocka_unit_test(a_late_node_of_slurm_gives_its_node_back),
        cmocka_unit_test(a_node_of_slurm_that_leaves_is_waited_for),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
