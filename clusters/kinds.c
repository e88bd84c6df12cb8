/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of kinds of cluster.
 */
#include "clusters/kube_cluster.h"
#include "clusters/slurm_cluster.h"

const struct cluster_kind *const cluster_kinds[] = { &cluster_kubernetes, &cluster_slurm, NULL };
