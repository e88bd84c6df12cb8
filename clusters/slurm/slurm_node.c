/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_node.h.
 */
#include "clusters/slurm/slurm_node.h"

#include "base/text.h"

#include <string.h>

bool slurm_node_is_parked(const struct slurm_node *node)
{
    return node->states & SLURM_NODE_DRAIN && text_starts_with(node->reason, SLURM_REASON_PARKED);
}

/* When slurmd registers, slurmctld ends NOT_RESPONDING, but DOWN only as ReturnToService says.  A
   slurmctld that was started again remembers DOWN alone: then slurmd has no start. */
static bool is_away(const struct slurm_node *node)
{
    return node->states & (SLURM_NODE_SILENT | SLURM_NODE_OFF) ||
           (node->states & SLURM_NODE_DOWN && node->slurmd_start_s == 0);
}

bool slurm_node_is_vacant(const struct slurm_node *node)
{
    return node->states & SLURM_NODE_FUTURE ||
           (node->states & SLURM_NODE_OFF && !(node->states & SLURM_NODE_BUSY)) ||
           (is_away(node) && slurm_node_is_parked(node));
}

bool slurm_node_is_held_down(const struct slurm_node *node)
{
    return slurm_node_is_parked(node) && node->states & SLURM_NODE_DOWN &&
           !(node->states & (SLURM_NODE_CHANGING | SLURM_NODE_INVALID));
}

/* slurmctld's own word for a machine that died.  24.11 adds it to a reason that outlived what it
   was given for, or that a drain has; neither does so on a node that a person set DOWN. */
static bool is_by_slurmctld(const char *reason)
{
    const char *last = strrchr(reason, ':');

    return text_equal(reason, "Not responding") || (last && text_equal(last, ": Not responding"));
}

/* 24.11 keeps a reason on a node that was resumed, and such a node is silent for seconds, or
   UNKNOWN after a restart of slurmctld. */
const char *slurm_node_out_of(const struct slurm_node *node)
{
    bool is_others = node->reason[0] != '\0' && !is_by_slurmctld(node->reason) &&
                     !text_starts_with(node->reason, SLURM_REASON_LEAVING) &&
                     !text_starts_with(node->reason, SLURM_REASON_PARKED);

    if (!is_others || node->states & (SLURM_NODE_DRAIN | SLURM_NODE_UNKNOWN))
        return NULL;
    return node->states & SLURM_NODE_DOWN     ? "down"
           : node->states & SLURM_NODE_SILENT ? "silent"
                                              : NULL;
}
