/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The node of a new machine in Slurm: registered, with its GPUs, and healthy as Slurm's own health
 * check sees it.  Then sluice's reservation and drain are lifted, if it has them from the time when
 * a machine of this name left.  Any other drain is a person's, or the health check's.
 *
 * A record that a person drained before this machine came has a comment (slurm_clear.c).  It is not
 * deleted with the machine.
 *
 * Unless ReturnToService is 2, slurmctld keeps a node DOWN that was parked: it is resumed, too, and
 * must then be ready like any other.
 */
#include "base/text.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"
#include "clusters/gpus.h"
#include "clusters/slurm_cluster.h"
#include "clusters/slurm_snapshot.h"

#include <inttypes.h>

enum { SKEW_MS = 90 * SECOND_MS };

static void add(struct text *missing, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct text *missing, const char *format, ...)
{
    va_list arguments;

    if (missing->length > 0)
        text_add(missing, ", ");
    va_start(arguments, format);
    text_add_arguments(missing, format, arguments);
    va_end(arguments);
}

void slurm_lacks(const struct runner *runner, const struct transfer *transfer, struct text *missing)
{
    const struct node *node = acquire_node(runner, transfer);
    const struct snapshot *snapshot = side_target_snapshot(runner, transfer);
    int64_t wanted = transfer_goal(transfer)->reservation->gpus_per_node;

    if (!node) {
        add(missing, "slurmd of machine %s to register", transfer_machine(transfer));
        return;
    }
    if (node->created.ms > 0 && node->created.ms + SKEW_MS < transfer->cordoned.ms) {
        add(missing, "slurmd of node %s to start: the one that Slurm knows is an older machine's",
            node->name);
        return;
    }
    if (!node->is_ready && !node_annotation(node, SLURM_NOTE_HELD_DOWN)) /* its resume ends DOWN */
        add(missing, "node %s to be ready: it is %s", node->name,
            node_annotation(node, SLURM_NOTE_STATE) ?: "?");
    if (gpus_of_node(snapshot, node) != wanted)
        add(missing, "%" PRId64 " of %" PRId64 " GPUs in its GRES", gpus_of_node(snapshot, node),
            wanted);
    if (!fleet_is_ephemeral(runner->config, node))
        add(missing, "feature %s", runner->config->ephemeral_label);
    if (slurm_is_drained_by(node, "other"))
        add(missing, "the drain of %s, which is not sluice's, to be lifted: %.80s (by %.32s)",
            node->name, node_annotation(node, SLURM_NOTE_REASON) ?: "no reason",
            node_annotation(node, SLURM_NOTE_REASON_BY) ?: "another");
}

/* Slurm has no start-up taint whose absence is worth telling: a node of slurm.conf comes drained,
   and a dynamic one serves as soon as it registers. */
int slurm_note_ready(struct runner *runner, struct transfer *transfer)
{
    (void)runner;
    (void)transfer;
    return 0;
}

/* Sluice's comment on a node whose drain a person lifted says that its machine left.  It is asked
   to go once: no node waits longer for that. */
static bool is_tidy(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    const struct effect *effect;

    if (!slurm_has_our_comment(node))
        return true;
    transfer_wait_for(transfer, "the comment of node %s to go", node->name);
    effect = slurm_ask_node(runner, transfer, &slurm_effect_tidy, node, node->uid);
    return effect->answered_ms > 0;
}

enum verdict slurm_welcome(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);
    require(node && node->uid[0] != '\0');

    text_copy(transfer->new_node, sizeof transfer->new_node, node->name);
    if (node_annotation(node, SLURM_NOTE_RESERVATION)) {
        transfer_wait_for(transfer, "the reservation of node %s to be lifted", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_admit, node, node->uid);
        return STEP_WAIT;
    }
    if (slurm_is_drained_by(node, "ours")) {
        transfer_wait_for(transfer, "node %s to be resumed", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_resume, node, node->uid);
        return STEP_WAIT;
    }
    if (!node->is_unschedulable)
        return is_tidy(runner, transfer, node) ? STEP_DONE : STEP_WAIT;
    transfer_wait_for(transfer, "the drain of %s, which is not sluice's, to be lifted", node->name);
    return STEP_WAIT;
}

bool slurm_is_lost(struct runner *runner, struct transfer *transfer)
{
    return slurm_is_read(runner, transfer, transfer_goal(transfer)->cluster,
                         transfer->step_began_ms) &&
           !acquire_node(runner, transfer);
}

bool slurm_may_discard(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    return !node ||
           (!effect_may_have_happened(effect_find(transfer, &slurm_effect_resume, node->uid)) &&
            slurm_jobs_on(side_target_snapshot(runner, transfer), node->name) == 0);
}

bool slurm_is_idle(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct node *node = acquire_node(runner, transfer);

    if (!slurm_is_read(runner, transfer, transfer_goal(transfer)->cluster, since_ms))
        return false;
    if (!node)
        return true;
    transfer_wait_for(transfer, "the jobs on node %s, whose machine failed, to end", node->name);
    return slurm_jobs_on(side_target_snapshot(runner, transfer), node->name) == 0;
}

static bool is_older_record(const struct node *node)
{
    return !text_equal(node_annotation(node, SLURM_NOTE_COMMENT) ?: "", "");
}

/* A static node keeps its place, and the drain that it has. */
bool slurm_discard(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    if (!node || !node_annotation(node, SLURM_NOTE_DYNAMIC) || node->is_ready ||
        (slurm_is_kept(node) && is_older_record(node)))
        return true;
    transfer_wait_for(transfer, "node %s of a machine that failed to be deleted", node->name);
    (void)slurm_ask_node(runner, transfer, &slurm_effect_discard, node, node->uid);
    return false;
}
