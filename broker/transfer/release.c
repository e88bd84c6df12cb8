/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps release and clear: the machine first, then what it leaves behind.  The Node object is never
 * deleted while its machine may run: its pods' names would be free while their processes live.
 */
#include "broker/transfer/effect.h"
#include "broker/transfer/look.h"
#include "broker/transfer/runner.h"

enum { FENCE_MS = 90 * SECOND_MS };

/* The last look before the point of no return. */
static enum verdict check_node(struct runner *runner, struct transfer *transfer)
{
    switch (look_at_node(runner, transfer, transfer->step_began_ms)) {
    case NODE_LOOK_UNKNOWN:
        transfer_wait_for(transfer, "a direct read of the node");
        return STEP_WAIT;
    case NODE_LOOK_MARKED:
    case NODE_LOOK_STATIC:
        transfer_wait_for(transfer, "node %s is not movable any more", transfer->node);
        return STEP_UNDO;
    case NODE_LOOK_GONE:
        /* Somebody repaired or replaced the machine under its name: this is not the node that was
           drained. */
        transfer_wait_for(transfer, "node %s was replaced by another", transfer->node);
        return STEP_UNDO;
    case NODE_LOOK_OURS:
        return STEP_DONE;
    }
    return STEP_WAIT;
}

/* A list without the machine, though nobody here asked for its end, and its node lives: one of the
   two is wrong, and believing the list would take the pods of a machine that runs. */
static bool is_in_doubt(const struct runner *runner, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, transfer->source->cluster);
    const struct node *node = map_get(snapshot->nodes, transfer->node);

    if (effect_may_have_happened(effect_find(transfer, EFFECT_REMOVE, transfer->instance)))
        return false;
    return !snapshot->is_known ||
           (node && text_equal(node->uid, transfer->node_uid) && node->is_ready);
}

enum verdict step_release(struct runner *runner, struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, EFFECT_REMOVE, transfer->instance);
    int64_t since_ms = effect && effect->answered_ms > transfer->step_began_ms
                           ? effect->answered_ms
                           : transfer->step_began_ms;
    struct effect_target target = { .object = transfer->instance };
    const struct instance *instance = NULL;
    enum verdict verdict;

    switch (
        fleet_instance(runner->fleet, transfer->source, transfer->instance, since_ms, &instance)) {
    case PRESENCE_NO:
        if (!is_in_doubt(runner, transfer))
            return STEP_DONE;
        fleet_refresh(runner->fleet, transfer->source);
        transfer_wait_for(transfer, "node %s to stop: its machine is listed no more",
                          transfer->node);
        return STEP_WAIT;
    case PRESENCE_UNKNOWN:
        fleet_refresh(runner->fleet, transfer->source);
        transfer_wait_for(transfer, "pool %s to be listed", transfer->source->name);
        return STEP_WAIT;
    case PRESENCE_YES:
        break;
    }
    fleet_refresh(runner->fleet, transfer->source);
    transfer_wait_for(transfer, "machine %s to be gone (it is %s)", transfer->instance,
                      instance_state_name(instance->state));
    if (instance->state == INSTANCE_DELETING)
        return STEP_WAIT;
    /* What was true before an earlier ask may not be true any more: a group may have made a new
       machine under the old name.  After an ask there is no way back, so a person must look. */
    verdict = check_node(runner, transfer);
    if (verdict != STEP_DONE)
        return effect_may_have_happened(effect) ? STEP_WAIT : verdict;
    effect = effect_ask(runner, transfer, EFFECT_REMOVE, &target,
                        fleet_pool(runner->fleet, transfer->source)->began_ms);
    if (effect->outcome != ERROR_NONE)
        transfer_wait_for(transfer, "the cloud to delete %s: %s", transfer->instance, effect->text);
    return STEP_WAIT;
}

/* Whether the volumes of the machine that is gone are let go, or were waited for long enough.  The
   controller that detaches them gives a kubelet six minutes to unmount first; the taint says that
   this one never will.  Of a Node that still counts as Ready nobody would believe it.  A reclaim
   has no time for it. */
static bool is_fenced(struct runner *runner, struct transfer *transfer,
                      const struct snapshot *snapshot, const struct node *node)
{
    struct effect_target target = { .object = transfer->node_uid, .node = node };
    int count = 0;

    if (!transfer->has_volumes || node->is_leaving || transfer->is_emergency ||
        loop_now(runner->world->loop) - transfer->step_began_ms >= FENCE_MS)
        return true;
    transfer_wait_for(transfer, "a list of the attached volumes");
    if (!look_at_volumes(runner, transfer, transfer->step_began_ms, &count))
        return false;
    if (count == 0)
        return true;
    transfer_wait_for(transfer, "%d volume%s of the machine that is gone to be detached%s", count,
                      count == 1 ? "" : "s",
                      node->is_ready ? ", once its node is seen to be down" : "");
    if (!node->is_ready && !node_has_taint(node, NODE_TAINT_OUT_OF_SERVICE))
        effect_ask(runner, transfer, EFFECT_FENCE, &target, snapshot->nodes_seen_ms);
    return false;
}

/* Removes the pods that are still bound; returns how many are left that can be removed, and one
   that cannot (NULL: none). */
static int clear_pods(struct runner *runner, struct transfer *transfer,
                      const struct snapshot *snapshot, const struct pod **ret_held)
{
    int left = 0;
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    *ret_held = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct pod *pod = pods[i];
        struct effect_target target = { .object = pod->uid, .pod = pod };

        /* The cluster's garbage collector takes daemons, mirrors and what had finished. */
        if (!pod_must_leave(pod))
            continue;
        /* A finalizer is somebody's promise to come by: reported, never stripped. */
        if (pod->finalizers[0] != '\0' && pod->deletion.ms > 0) {
            *ret_held = pod;
            continue;
        }
        left++;
        effect_ask(runner, transfer, EFFECT_CLEAR_POD, &target, snapshot->pods_seen_ms);
        transfer_wait_for(transfer, "pod %.120s/%.120s to be cleared", pod->namespace, pod->name);
    }
    return left;
}

/* Nothing waits for this pod, but whoever put the finalizer should read that it stays. */
static void tell_of_held(struct transfer *transfer, const struct pod *pod)
{
    owned(chars) char *before = mem_copy_chars(transfer->waiting);

    if (pod)
        transfer_wait_for(transfer, "%s; pod %.120s/%.120s stays, held by the finalizers %s",
                          before, pod->namespace, pod->name, pod->finalizers);
}

/* Asks for what is still to be removed, pods first, and says for what it waits. */
static void clear(struct runner *runner, struct transfer *transfer, const struct snapshot *snapshot,
                  const struct node *node)
{
    struct effect_target target = { .object = transfer->node_uid };
    const struct pod *held;

    if (clear_pods(runner, transfer, snapshot, &held) == 0 &&
        is_fenced(runner, transfer, snapshot, node)) {
        transfer_wait_for(transfer, "node object %.120s to be deleted%s", transfer->node,
                          node->is_leaving ? " (it has a finalizer)" : "");
        if (!node->is_leaving)
            effect_ask(runner, transfer, EFFECT_CLEAR_NODE, &target, snapshot->nodes_seen_ms);
    }
    tell_of_held(transfer, held);
}

enum verdict step_clear(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, transfer->source->cluster);
    const struct node *node;

    if (!snapshot->is_known) {
        transfer_wait_for(transfer, "cluster %s to be seen", transfer->source->cluster->name);
        return STEP_WAIT;
    }
    node = map_get(snapshot->nodes, transfer->node);
    if (node && !text_equal(node->uid, transfer->node_uid))
        node = NULL;
    /* Without its Node the garbage collector of the cluster takes the pods; we need not wait. */
    if (!node)
        return STEP_DONE;
    clear(runner, transfer, snapshot, node);
    return STEP_WAIT;
}
