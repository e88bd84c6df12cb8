/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The last look before the machine is removed, and what Slurm still has of the node afterwards.  A
 * dynamic node is deleted.  A static one never is: slurmctld of 22.05 deletes it too, and then does
 * not start with its configuration.  It stays drained with sluice's reason and reservation, which
 * survive a restart of slurmctld.
 *
 * A node that a person drained keeps its record, also a dynamic one: if slurmd registers under its
 * name again, it takes the record, with the drain, the reason and its user.
 */
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_cluster.h"
#include "clusters/slurm_snapshot.h"

enum verdict slurm_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);
    struct tenant place = slurm_place(runner, transfer);
    size_t count = slurm_jobs_on(snapshot, place.node);

    if (!slurm_is_read(runner, transfer, place.cluster, since_ms))
        return STEP_WAIT;
    if (!node && slurm_is_lodged(runner, transfer)) /* its tool has deleted it */
        return STEP_DONE;
    if (!node || !side_is_marked(node, transfer)) {
        transfer_wait_for(transfer, "node %s is not the one that was drained", place.node);
        return STEP_UNDO;
    }
    if (slurm_is_out(transfer, node))
        return STEP_UNDO;
    transfer_wait_for(transfer, "node %s to be drained and empty: it is %s, with %zu jobs",
                      place.node, node_annotation(node, SLURM_NOTE_STATE) ?: "?", count);
    return node->is_unschedulable && count == 0 ? STEP_DONE : STEP_DRAIN_AGAIN;
}

bool slurm_is_in_use(const struct runner *runner, const struct transfer *transfer, int64_t asked_ms)
{
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);

    return snapshot->nodes_seen_ms >= asked_ms && node &&
           (!node->is_unschedulable || slurm_jobs_on(snapshot, node->name) > 0);
}

static bool has_reservation(const struct node *node)
{
    return node_annotation(node, SLURM_NOTE_RESERVATION) != NULL;
}

/* A node that was a pod is its tool's: it may come back under this name on another machine.  So it
   is only given back, once Slurm starts nothing on the slurmd that is gone. */
static enum verdict give_back(struct runner *runner, struct transfer *transfer,
                              const struct node *node)
{
    struct tenant place = slurm_place(runner, transfer);

    if (node && node->is_ready && !tenant_is_elsewhere(runner, transfer, &place)) {
        transfer_wait_for(transfer, "Slurm to see that node %s does not respond", node->name);
        return STEP_WAIT;
    }
    return slurm_undo(runner, transfer);
}

/* The comment tells people why a node without a machine is there; and slurm_discard(), that the
   record is older than the next machine.  A comment of others serves as well. */
static enum verdict keep(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    const char *comment = node_annotation(node, SLURM_NOTE_COMMENT) ?: "";
    owned(chars) char *words = slurm_words_for_record(transfer);

    if (text_equal(comment, words) || (comment[0] != '\0' && !slurm_has_our_comment(node)))
        return STEP_DONE;
    transfer_wait_for(
        transfer, "node %s, which is drained by another, to say that its machine left", node->name);
    (void)slurm_ask_node(runner, transfer, &slurm_effect_keep, node, node->uid);
    return STEP_WAIT;
}

enum verdict slurm_clear(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = slurm_leaving_node(runner, transfer);
    bool is_dynamic = node && node_annotation(node, SLURM_NOTE_DYNAMIC);

    if (!slurm_is_read(runner, transfer, slurm_place(runner, transfer).cluster,
                       transfer->step_began_ms))
        return STEP_WAIT;
    if (slurm_is_lodged(runner, transfer))
        return give_back(runner, transfer, node);
    if (!node)
        return STEP_DONE;
    if (slurm_is_kept(node) && !has_reservation(node))
        return is_dynamic ? keep(runner, transfer, node) : STEP_DONE;
    if (!side_is_marked(node, transfer) && !node_has_taint(node, SLUICE_TAINT_STARTING))
        return STEP_DONE;
    if (node_has_taint(node, SLUICE_TAINT_STARTING)) {
        transfer_wait_for(transfer, "Slurm to see that node %s does not respond", node->name);
        return STEP_WAIT;
    }
    if (!is_dynamic && !slurm_is_kept(node)) {
        transfer_wait_for(transfer, "node %s to be kept without its machine", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_park, node, node->uid);
        return STEP_WAIT;
    }
    if (has_reservation(node)) {
        transfer_wait_for(transfer, "the reservation of node %s to be deleted", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_lift, node, node->uid);
        return STEP_WAIT;
    }
    if (!is_dynamic)
        return STEP_DONE;
    transfer_wait_for(transfer, "node %s to be deleted in Slurm", node->name);
    (void)slurm_ask_node(runner, transfer, &slurm_effect_forget, node, node->uid);
    return STEP_WAIT;
}
