/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Node of a new machine: readiness.c says what is missing, and its start-up taint is lifted
 * last.  A machine that fails is discarded together with its Node.
 */
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/sides/kube/look.h"
#include "broker/sides/kube/readiness.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"

/* Whether a pod on it would have to be drained: then the node serves, whoever removed the taint. */
static bool has_work(const struct snapshot *snapshot, const struct node *node)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node->name, &count);

    for (size_t i = 0; i < count; i++)
        if (pod_must_leave(pods[i]))
            return true;
    return false;
}

bool kube_may_discard(const struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct node *node = transfer->step == STEP_JOIN ? acquire_node(runner, transfer) : NULL;

    if (!node)
        return true;
    const struct snapshot *snapshot = side_target_snapshot(runner, transfer);

    return !readiness_is_other(snapshot, node, goal->reservation->gpus_per_node) &&
           !effect_may_have_happened(effect_find(transfer, &kube_effect_welcome, node->uid)) &&
           !has_work(snapshot, node);
}

void kube_lacks(const struct runner *runner, const struct transfer *transfer, struct text *missing)
{
    const struct config_pool *goal = transfer_goal(transfer);
    struct readiness readiness = {
        .wanted = &runner->config->join,
        .gpus = goal->reservation->gpus_per_node,
        .snapshot = side_target_snapshot(runner, transfer),
        .node = acquire_node(runner, transfer),
        .machine = transfer->new_instance,
        .old_uid = transfer->node_uid,
        .not_before = transfer->cordoned,
    };

    readiness_describe(&readiness, missing);
}

/* Records, once, that a node was ready without our start-up taint: the pool's node template lacks
   the taint, and pods started before the node was complete. */
int kube_note_ready(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);
    struct error err;

    if (transfer->came_untainted || node_has_taint(node, SLUICE_TAINT_STARTING) ||
        effect_may_have_happened(effect_find(transfer, &kube_effect_welcome, node->uid)))
        return 0;
    transfer->came_untainted = true;
    return runner_store(runner, transfer, "came_untainted", &err);
}

/* Removes our start-up taint and sets our label.  Any other taint or cordon belongs to another
   controller or operator. */
enum verdict kube_welcome(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);
    require(node && node->uid[0] != '\0');

    struct effect_target target = { .node = node, .object = node->uid };
    bool is_starting = node_has_taint(node, SLUICE_TAINT_STARTING);

    text_copy(transfer->new_node, sizeof transfer->new_node, node->name);
    if (!is_starting && fleet_is_ephemeral(runner->config, node)) {
        if (!node->is_unschedulable)
            return STEP_DONE;
        transfer_wait_for(transfer, "the cordon of %s, which is not sluice's, to be lifted",
                          node->name);
        return STEP_WAIT;
    }
    transfer_wait_for(transfer, "the start-up taint to be lifted");
    effect_ask(runner, transfer, &kube_effect_welcome, &target,
               side_target_snapshot(runner, transfer)->nodes_seen_ms);
    return STEP_WAIT;
}

bool kube_is_lost(struct runner *runner, struct transfer *transfer)
{
    return look_at_new_node(runner, transfer) == PRESENCE_NO;
}

bool kube_is_idle(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct node *node = acquire_node(runner, transfer);
    int count;

    if (!side_target_snapshot(runner, transfer)->is_known)
        return false;
    if (!node)
        return true;
    if (!look_at_new_pods(runner, transfer, node->name, since_ms, &count))
        return false;
    if (count > 0)
        transfer_wait_for(transfer,
                          "%d pod%s to leave node %.120s, whose machine failed: delete %s, or let "
                          "%s end",
                          count, count == 1 ? "" : "s", node->name, count == 1 ? "it" : "them",
                          count == 1 ? "it" : "them");
    return count == 0;
}

/* Whether the Node of the removed machine is gone too, or need not be waited for.  A cloud
   controller deletes it minutes later, or there is no such controller.  A Node that is Ready
   although we never removed its machine means that the list is wrong. */
bool kube_discard(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct snapshot *snapshot = side_target_snapshot(runner, transfer);
    const struct node *node = acquire_node(runner, transfer);
    const struct effect *effect = effect_find(transfer, &effect_discard, transfer->new_instance);

    if (!snapshot->is_known) {
        transfer_wait_for(transfer, "cluster %s to be seen", goal->cluster->name);
        return false;
    }
    if (!node || node->is_leaving || (node->is_ready && !effect_may_have_happened(effect)))
        return true;

    struct effect_target target = { .object = node->uid, .node = node };

    transfer_wait_for(transfer, "node object %.120s of a machine that failed to be deleted",
                      node->name);
    effect = effect_ask(runner, transfer, &kube_effect_discard_node, &target,
                        snapshot->nodes_seen_ms);
    return effect->answered_ms > 0 &&
           (effect->outcome == ERROR_DENIED || effect->outcome == ERROR_INVALID);
}
