/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `sluice doctor` finds in a Slurm cluster: whether it answers, what neither slurmrestd nor
 * the commands can do, and settings of Slurm that stand in the way.  Changes nothing.
 */
#pragma once

#include "clusters/cluster.h"
#include "clusters/slurm/slurm_client.h"

struct slurm_inspection;

/* The inspector is copied; its done is called once, in a later turn. */
struct slurm_inspection *slurm_inspection_new(struct slurm_client *client,
                                              const struct cluster_needs *needs,
                                              const struct cluster_inspector *inspector)
    __attribute__((returns_nonnull));
/* NULL is legal.  Only while no question is under way, or before its client is freed. */
void slurm_inspection_free(struct slurm_inspection *inspection);
