/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inside clusters/ only: which pods are nodes of a Slurm cluster.
 */
#pragma once

#include "clusters/snapshot.h"

/* Looks at the pod's labels and its controller. */
enum pod_slurm slurm_pod_kind(const struct pod *pod);
