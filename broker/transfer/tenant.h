/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tenant of a node: a node of a Slurm cluster that runs as a pod there.  The node's cluster
 * names that Slurm cluster (`clusters.NAME.slurm`).  The tenant's side does its part of each step
 * of the transfer; the node's side asks it, and leaves the pod alone until the tenant is empty.
 *
 * A pod whose node Slurm does not list has an unknown tenant: it is never an empty one.
 */
#pragma once

#include "broker/config/config.h"
#include "broker/fleet/fleet.h"

struct runner;
struct side_origin;
struct transfer;

/* Borrowed until the next turn. */
struct tenant {
    const struct config_cluster *cluster; /* of Slurm */
    const char *node;                     /* its name there */
    bool is_asked;                        /* an effect of the transfer on it is in the journal */
};

/* Why the node cannot leave because of pods on it that run slurmd, a text of the program; NULL: it
   can.  Slurm must have been read at or after since_ms (loop time). */
const char *tenant_keeps(const struct fleet *fleet, const struct config_cluster *host,
                         const char *node, int64_t since_ms);

/* The tenant of the node that leaves: the one that the transfer's effects name, or, before there
   are any, the one that its pod names. */
bool tenant_find(const struct runner *runner, const struct transfer *transfer, struct tenant *ret);

/* Its side, while the tenant may still run on the node that leaves; NULL: there is none, or its pod
   is bound to another node now. */
const struct side_origin *tenant_side(const struct runner *runner, const struct transfer *transfer);

/* Whether a pod of that name in Slurm is bound to another node than the one that leaves. */
bool tenant_is_elsewhere(const struct runner *runner, const struct transfer *transfer,
                         const struct tenant *tenant);

/* A pod on the node that leaves which runs slurmd, is not being deleted, and is not the tenant's;
   NULL: none. */
const struct pod *tenant_stranger(const struct runner *runner, const struct transfer *transfer);
