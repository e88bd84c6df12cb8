/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: which pods are nodes of a Slurm cluster.
 */
#pragma once

#include "clusters/snapshot.h"

/* Looks at the pod's labels and its controller. */
enum pod_slurm slurm_pod_kind(const struct pod *pod);

/* What Slurm calls the node that this pod is, by its tool's rules.  spec: of the pod; NULL: none.
   "": not known yet.  Valid as long as both are. */
const char *slurm_pod_name(const struct pod *pod, const json_t *spec)
    __attribute__((returns_nonnull));
