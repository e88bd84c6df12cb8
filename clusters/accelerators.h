/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The share of a GPU that one unit of an extended resource stands for.  Whole GPUs and MIG slices
 * are known by name; a configuration adds names or corrects them; labels of the node say the rest.
 * An accelerator whose number cannot be read is reported as unreadable, and never counts as
 * nothing.
 */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

/* GPUs are added up in parts, so that sevenths, eighths and thirds of one add up exactly. */
enum { GPU_PARTS = 5040 };

/* The names of a configuration. */
struct accelerator {
    const char *resource; /* "example.com/npu"; borrowed */
    int64_t parts;        /* that one unit is; 0: it is no accelerator */
};

struct accelerators {
    ARRAY(struct accelerator) rows;
};

/* The facts in a node's labels (NVIDIA's GPU feature discovery) about its GPUs; 0: unknown. */
struct gpu_facts {
    int64_t memory_mib; /* of a whole GPU */
    int64_t replicas;   /* units of nvidia.com/gpu that share one GPU or slice */
    int64_t slices;     /* compute slices, of seven, of one unit of nvidia.com/gpu (MIG strategy
                           "single") */
    int64_t gigabytes;  /* memory of one unit of nvidia.com/gpu */
    const char *labels; /* the packed labels themselves, borrowed: how many share a slice of a
                           profile; NULL: not known */
};

/* Reads packed labels, and does not keep them: the caller that asks for a share sets `labels`. */
struct gpu_facts gpu_facts_of(const char *labels);

struct gpu_share {
    enum { GPU_SHARE_NONE, GPU_SHARE_KNOWN, GPU_SHARE_UNKNOWN } kind;
    int64_t parts;    /* of one unit, at most */
    int64_t replicas; /* units that share, by time slices, what the other members describe; 1: they
                         do not share */
    int64_t of_parts; /* its parts: of all those units together */
    int64_t slices;   /* a MIG slice: of the GPU's seven compute slices; 0: it is none */
    int64_t eighths;  /* of the GPU's memory, at least */
    int64_t per_gpu;  /* the most such slices that one GPU can be cut into */
};

/* configured may be NULL. */
struct gpu_share accelerator_share(const struct accelerators *configured, const char *resource,
                                   const struct gpu_facts *facts);

/* The share of a MIG profile ("1g.10gb") on a GPU with so much memory; 0: unknown. */
struct gpu_share accelerator_profile(const char *profile, int64_t memory_mib);

/* The memory in the name of a product ("NVIDIA H100 80GB HBM3"), in MiB; 0: the name has none. */
int64_t accelerator_memory_mib(const char *product);

/* The share of one whole device of a driver of Dynamic Resource Allocation. */
struct gpu_share accelerator_device(const struct accelerators *configured, const char *driver);

/* Whole GPUs that hold so many parts, rounded up. */
int64_t gpu_parts_whole(int64_t parts);
