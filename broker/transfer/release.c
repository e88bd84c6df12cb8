/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps release and clear: the machine first, then what it leaves behind.  The Node object is never
 * deleted while its machine may run: its pods' names would be free while their processes live.
 */
#include "base/log.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/kube_effects.h"
#include "broker/transfer/look.h"
#include "broker/transfer/runner.h"

enum {
    FENCE_MS = 90 * SECOND_MS,
    NOTHING_MS = 5 * MINUTE_MS, /* a removal of which the list shows nothing came to nothing */
    REDRAINS_MAX = 3,           /* then the node stays where it is */
};

/* Whether the node is still the one that was drained; STEP_WAIT while that is not known. */
static enum verdict check_node(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    switch (look_at_node(runner, transfer, since_ms)) {
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

/* Whether the node is still as the drain left it.  A person may have opened it while the removal
   waited, and a pod may have been bound to it past all cordons. */
static enum verdict check_pods(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    struct wall_time last_drain = { transfer->drain_due.ms - runner->config->drain.deadline_ms };
    const char *opener;
    const char *first;
    int count;

    transfer_wait_for(transfer, "a direct list of the node's pods");
    if (!look_at_pods(runner, transfer, since_ms, &count))
        return STEP_WAIT;
    if (!look_is_closed(transfer, &opener)) {
        transfer_wait_for(transfer, "node %s was opened again by %s", transfer->node,
                          opener[0] != '\0' ? opener : "somebody unnamed");
        return STEP_DRAIN_AGAIN;
    }
    count = look_running_pods(
        transfer, transfer->redrains > 0 ? last_drain : (struct wall_time){ 0 }, &first);
    if (count == 0)
        return STEP_DONE;
    transfer_wait_for(transfer, "%d pod%s came to the closed node %s: %s%s", count,
                      count == 1 ? "" : "s", transfer->node, first,
                      count == 1 ? "" : " and others");
    return STEP_DRAIN_AGAIN;
}

/* The last look before the point of no return, both reads at once. */
static enum verdict check_again(struct runner *runner, struct transfer *transfer,
                                const struct effect *effect)
{
    int64_t since_ms = effect && effect->not_before_ms > transfer->step_began_ms
                           ? effect->not_before_ms
                           : transfer->step_began_ms;
    enum verdict node = check_node(runner, transfer, since_ms);
    enum verdict pods = node == STEP_UNDO ? STEP_UNDO : check_pods(runner, transfer, since_ms);

    if (node != STEP_DONE || pods != STEP_DRAIN_AGAIN)
        return node != STEP_DONE ? node : pods;
    /* An accepted removal goes on by itself, if more slowly than its list tells. */
    if (effect && effect->accepted_ms > 0 && step_may_be_released(runner, transfer))
        return STEP_WAIT;
    if (transfer->redrains >= REDRAINS_MAX) {
        log_warn("node_kept", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("text", transfer->waiting));
        return STEP_UNDO;
    }
    if (!step_may_be_released(runner, transfer))
        effect_renew(transfer, &effect_remove, transfer->instance);
    return STEP_DRAIN_AGAIN;
}

bool step_may_be_released(const struct runner *runner, const struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_remove, transfer->instance);
    const struct instance *instance = NULL;

    if (!effect_may_have_happened(effect))
        return false;
    return effect->is_in_flight ||
           fleet_instance(runner->fleet, transfer->source, transfer->instance,
                          effect->answered_ms + NOTHING_MS, &instance) != PRESENCE_YES ||
           instance->state != INSTANCE_RUNNING;
}

/* A list without the machine, though nobody here asked for its end, and its node lives: one of the
   two is wrong, and believing the list would take the pods of a machine that runs. */
static bool is_in_doubt(const struct runner *runner, const struct transfer *transfer)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, transfer->source->cluster);
    const struct node *node = map_get(snapshot->nodes, transfer->node);

    if (effect_may_have_happened(effect_find(transfer, &effect_remove, transfer->instance)))
        return false;
    return !snapshot->is_known ||
           (node && text_equal(node->uid, transfer->node_uid) && node->is_ready);
}

/* The list may be old: a machine whose removal was accepted long ago, and which it shows as if
   nothing had been, is read by its name.  STEP_DONE: it is gone; STEP_BACK: it is there. */
static enum verdict read_machine(struct runner *runner, struct transfer *transfer,
                                 const struct effect *remove)
{
    const struct instance *instance = NULL;

    if (!effect_may_have_happened(remove) || step_may_be_released(runner, transfer))
        return STEP_BACK;
    transfer_wait_for(transfer, "machine %s, which is listed, to be read by its name",
                      transfer->instance);
    switch (fleet_read_instance(runner->fleet, transfer->source, transfer->instance,
                                remove->answered_ms, &instance)) {
    case PRESENCE_NO:
        return STEP_DONE;
    case PRESENCE_YES:
        return instance->state == INSTANCE_DELETING ? STEP_WAIT : STEP_BACK;
    case PRESENCE_UNKNOWN:
        break;
    }
    return STEP_WAIT;
}

enum verdict step_release(struct runner *runner, struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_remove, transfer->instance);
    int64_t since_ms = effect && effect->answered_ms > transfer->step_began_ms
                           ? effect->answered_ms
                           : transfer->step_began_ms;
    int64_t began_ms = fleet_pool(runner->fleet, transfer->source)->began_ms;
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
    if (!effect_may_be_sent(runner, transfer, &effect_remove, transfer->instance, began_ms)) {
        if (effect && effect->outcome != ERROR_NONE)
            transfer_wait_for(transfer, "the cloud to delete %s: %s", transfer->instance,
                              effect->text);
        return STEP_WAIT;
    }
    verdict = read_machine(runner, transfer, effect);
    if (verdict != STEP_BACK)
        return verdict;
    verdict = check_again(runner, transfer, effect);
    if (verdict != STEP_DONE)
        return verdict;
    effect_ask(runner, transfer, &effect_remove, &target, began_ms);
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
        effect_ask(runner, transfer, &kube_effect_fence, &target, snapshot->nodes_seen_ms);
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
        effect_ask(runner, transfer, &kube_effect_clear_pod, &target, snapshot->pods_seen_ms);
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
    struct effect_target target = { .object = transfer->node_uid, .node = node };
    const struct pod *held;

    if (clear_pods(runner, transfer, snapshot, &held) == 0 &&
        is_fenced(runner, transfer, snapshot, node)) {
        transfer_wait_for(transfer, "node object %.120s to be deleted%s", transfer->node,
                          node->is_leaving ? " (it has a finalizer)" : "");
        if (!node->is_leaving)
            effect_ask(runner, transfer, &kube_effect_clear_node, &target, snapshot->nodes_seen_ms);
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
    /* A healer made it anew under its name: what is on it runs again, and is not ours. */
    if (fleet_instance(runner->fleet, transfer->source, transfer->instance, 0, NULL) ==
        PRESENCE_YES) {
        fleet_refresh(runner->fleet, transfer->source);
        transfer_wait_for(transfer, "machine %s, which is listed again, to be gone",
                          transfer->instance);
        return STEP_WAIT;
    }
    clear(runner, transfer, snapshot, node);
    return STEP_WAIT;
}
