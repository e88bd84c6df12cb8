/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a node's states and its reason say together: parked by sluice, without a machine, or out of
 * service.  Pure.
 */
#pragma once

#include "clusters/slurm/slurm_read.h"

#include <stdbool.h>

/* How the reasons of sluice's drains begin. */
#define SLURM_REASON_LEAVING "sluice-leaving "
#define SLURM_REASON_PARKED "sluice-parked "

/* Drained by sluice because its machine left.  A reason may outlive its drain. */
bool slurm_node_is_parked(const struct slurm_node *node);

/* A record without a machine: it is none of the cluster's nodes now. */
bool slurm_node_is_vacant(const struct slurm_node *node);

/* Parked, and nothing but DOWN keeps it from being ready: a resume ends that. */
bool slurm_node_is_held_down(const struct slurm_node *node);

/* "down": another took it out of service and said why; "silent": perhaps.  NULL: neither. */
const char *slurm_node_out_of(const struct slurm_node *node);
