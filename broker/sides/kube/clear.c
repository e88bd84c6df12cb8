/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The node right before its machine goes, and what is left of it after.  The Node object is never
 * deleted while its machine may run: its pods' names would be free while their processes live.
 */
#include "base/log.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/sides/kube/look.h"
#include "broker/sides/kube/slurmd.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"

enum { FENCE_MS = 90 * SECOND_MS };

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
        /* The machine was repaired or replaced under its name: this is not the node that was
           drained. */
        transfer_wait_for(transfer, "node %s was replaced by another", transfer->node);
        return STEP_UNDO;
    case NODE_LOOK_OURS:
        return STEP_DONE;
    }
    return STEP_WAIT;
}

/* Whether the node is still as the drain left it.  While the removal waited, an operator may have
   uncordoned the node, or a pod may have been bound to it in spite of the cordon. */
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
                          opener[0] != '\0' ? opener : "an unknown author");
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

/* All reads at once. */
enum verdict kube_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    enum verdict tenant = slurmd_may_remove(runner, transfer, since_ms);
    enum verdict node = tenant == STEP_UNDO ? STEP_UNDO : check_node(runner, transfer, since_ms);
    enum verdict pods = node == STEP_UNDO ? STEP_UNDO : check_pods(runner, transfer, since_ms);

    return node != STEP_DONE ? node : pods != STEP_DONE ? pods : tenant;
}

/* Open, or with a pod that came to it since its removal was asked for. */
bool kube_is_in_use(const struct runner *runner, const struct transfer *transfer, int64_t asked_ms)
{
    int64_t asked_wall_ms = runner_now(runner).ms - (loop_now(runner->world->loop) - asked_ms);
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    if (!node)
        return false;
    if (slurmd_is_in_use(runner, transfer, asked_ms))
        return true;
    for (size_t i = 0; i < count; i++)
        if (pod_must_leave(pods[i]) && pods[i]->deletion.ms == 0 &&
            (pods[i]->started.ms == 0 ||
             snapshot_wall(snapshot, pods[i]->started).ms >= asked_wall_ms))
            return true;
    return !node->is_unschedulable;
}

/* Whether the volumes of the removed machine are detached, or the wait was long enough.  The
   attach-detach controller gives a kubelet six minutes to unmount first; the out-of-service taint
   says that this kubelet never will.  The taint has no effect on a Node that still counts as
   Ready.  A reclaim does not wait for volumes. */
static bool is_fenced(struct runner *runner, struct transfer *transfer,
                      const struct snapshot *snapshot, const struct node *node)
{
    struct effect_target target = { .object = transfer->node_uid, .node = node };
    int count = 0;

    require(transfer->step == STEP_CLEAR && text_equal(node->uid, transfer->node_uid));
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

        require(pod->uid[0] != '\0');
        /* The cluster's garbage collector deletes pods of DaemonSets, mirror pods and finished
           pods. */
        if (!pod_must_leave(pod))
            continue;
        /* A finalizer belongs to another controller: it is reported, never removed. */
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

/* Nothing waits for this pod, but the owner of the finalizer should see that the pod stays. */
static void tell_of_held(struct transfer *transfer, const struct pod *pod)
{
    owned(chars) char *before = mem_copy_chars(transfer->waiting);

    if (pod)
        transfer_wait_for(transfer, "%s; pod %.120s/%.120s stays, held by the finalizers %s",
                          before, pod->namespace, pod->name, pod->finalizers);
}

/* Asks for the remaining deletes, pods first, and sets what the transfer waits for. */
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

static enum verdict clear_own(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);

    if (!snapshot->is_known) {
        transfer_wait_for(transfer, "cluster %s to be seen", transfer->source->cluster->name);
        return STEP_WAIT;
    }
    /* Without its Node the garbage collector of the cluster takes the pods; we need not wait. */
    if (!node)
        return STEP_DONE;
    /* An autohealer made the machine again under its name: it runs other work, and is not ours. */
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

/* The tenant is given back meanwhile; its name may serve on another node already. */
enum verdict kube_clear(struct runner *runner, struct transfer *transfer)
{
    enum verdict tenant = slurmd_clear(runner, transfer);
    enum verdict own = clear_own(runner, transfer);

    return own == STEP_DONE ? tenant : own;
}
