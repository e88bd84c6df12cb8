/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dynamic Resource Allocation (resource.k8s.io): which devices a node has, by its ResourceSlices,
 * and which of them a ResourceClaim was given.  Texts that many nodes have in common are stored
 * once.
 */
#pragma once

#include "base/error.h"
#include "base/shared_text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct snapshot;
struct text;

/* Some of the devices of one pool of one node. */
struct device_slice {
    const char *name;
    const char *node_name; /* "": devices that are not of one node */
    const char *driver;
    const char *pool;
    int64_t generation;  /* of the pool: older slices of it count no more */
    int64_t slice_count; /* of this generation of the pool */
    const char *devices; /* packed: name -> a flag, and "SET/COUNTER=QUANTITY,..." that it
                            consumes, or DEVICE_CUT's form */
    const char *totals;  /* packed: "SET/COUNTER" -> the quantity that there is */
};

enum {
    DEVICE_OPEN = '+',
    DEVICE_TAINTED = '!', /* no pod gets it */
    DEVICE_FACE = '~',    /* the same hardware as another device: of no capacity of its own */
};

/* A slice of a GPU that was partitioned before its driver started: "PARENT/=PROFILE@MIB".  The
   GPU's name takes the place of the counter set, an empty name that of the counter, and the profile
   that of the quantity; then the GPU's memory, 0 if unknown. */
#define DEVICE_CUT "/="

struct device_claim {
    const char *key;     /* "NAMESPACE/NAME" */
    const char *devices; /* packed: "DRIVER/POOL/DEVICE" -> "" */
    int64_t users;       /* pods that share it; 0: unknown, because not only pods do */
    bool is_allocated;
};

/* Decodes versions v1, v1beta2 and v1beta1.  NULL and ERROR_CORRUPT when a required member is
   missing. */
struct device_slice *device_slice_decode(const json_t *object, struct error *err)
    __attribute__((warn_unused_result));
struct device_claim *device_claim_decode(const json_t *object, struct error *err)
    __attribute__((warn_unused_result));
void device_slice_free(struct device_slice *slice);
void device_claim_free(struct device_claim *claim);
void device_slice_share(struct device_slice *slice, struct shared_pool *texts);
void device_claim_share(struct device_claim *claim, struct shared_pool *texts);

/* Parts of a GPU of one device of a node; -1: it is not known. */
int64_t device_parts(const struct snapshot *snapshot, const char *node_name, const char *driver,
                     const char *pool, const char *device);

/* GPUs that the node's slices show, as far as their pools are complete; a GPU that can be cut
   counts once, in however many ways it can be cut, and a tainted device does not count.  Only those
   of drivers whose names end in the domain; NULL: all. */
int64_t device_gpus(const struct snapshot *snapshot, const char *node_name, const char *domain);

/* Adds the node's drivers whose kind of device is unknown: "tpu.google.com". */
void device_uncounted(const struct snapshot *snapshot, const char *node_name, struct text *out);

/* Adds the drivers of the node that show GPUs as slices that were cut before, with their number:
   "MIG devices of gpu.nvidia.com 56". */
void device_slices(const struct snapshot *snapshot, const char *node_name, struct text *out);
