/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs of nodes and pods, of any vendor, whole or partitioned.  Pure: computed from the present
 * snapshot.
 */
#pragma once

#include "base/text.h"
#include "clusters/accelerators.h"
#include "clusters/snapshot.h"

/* Whole GPUs that the node has.  Slices count as the fewest GPUs that they can be cut from. */
int64_t gpus_of_node(const struct snapshot *snapshot, const struct node *node);

/* Accelerators of the node that are not counted, such as "example.com/npu 8", and those that are
   slices, "nvidia.com/mig-1g.10gb 56"; nothing is added for none. */
void gpus_uncounted(const struct snapshot *snapshot, const struct node *node, struct text *out);
void gpus_slices(const struct snapshot *snapshot, const struct node *node, struct text *out);

/* Units of this resource that the node has: what a quota of it is counted in.  If the name is no
   accelerator's (NULL, or a device class of Kueue), the unit is a whole GPU. */
int64_t gpus_units(const struct snapshot *snapshot, const struct node *node, const char *resource);

/* The number of such units in that many whole GPUs. */
int64_t gpus_to_units(const struct snapshot *snapshot, int64_t gpus, const char *resource);

/* The GPUs that a pod asks for, in fractions of a GPU. is_whole: a part of it cannot be read, and
   it counts as the whole node. */
struct gpu_demand {
    int64_t parts;
    bool is_whole;
};
struct gpu_demand gpus_of_pod(const struct snapshot *snapshot, const struct pod *pod);
