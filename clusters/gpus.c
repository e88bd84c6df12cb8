/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See gpus.h.
 */
#include "clusters/gpus.h"

#include "base/index.h"
#include "base/map.h"
#include "base/shared_text.h"
#include "clusters/devices.h"

#include <stdlib.h>

enum { GPUS_MOST = 4096 }; /* that one pod may ask for */

static int64_t whole_quotient(int64_t dividend, int64_t divisor)
{
    return (dividend + divisor - 1) / divisor;
}

/* Slices of GPUs while they are counted. */
struct slices {
    int64_t compute; /* sevenths */
    int64_t memory;  /* eighths */
    int64_t alike;   /* GPUs that the slices of one profile fill, for the profile that fills most */
};

static void slices_add(struct slices *slices, const struct gpu_share *share, int64_t count)
{
    int64_t alike = whole_quotient(count, share->per_gpu);

    slices->compute += count * share->slices;
    slices->memory += count * share->eighths;
    if (alike > slices->alike)
        slices->alike = alike;
}

static int64_t slices_gpus(const struct slices *slices)
{
    int64_t gpus = slices->alike;

    if (whole_quotient(slices->compute, 7) > gpus)
        gpus = whole_quotient(slices->compute, 7);
    if (whole_quotient(slices->memory, 8) > gpus)
        gpus = whole_quotient(slices->memory, 8);
    return gpus;
}

/* The share of one unit of the resource on the node; NULL: a node of which nothing is known. */
static struct gpu_share share_on(const struct snapshot *snapshot, const struct node *node,
                                 const char *resource)
{
    struct gpu_facts facts = { 0 };

    if (node) {
        facts = node->gpu_facts;
        facts.labels = node->labels;
    }
    return accelerator_share(snapshot->accelerators, resource, &facts);
}

int64_t gpus_of_node(const struct snapshot *snapshot, const struct node *node)
{
    struct slices slices = { 0 };
    int64_t parts = 0;
    int64_t of_plugins;
    int64_t of_drivers; /* the same GPUs, where both show them */
    const char *at = node->devices;
    const char *resource;
    const char *digits;

    while (packed_map_next(&at, &resource, &digits)) {
        struct gpu_share share = share_on(snapshot, node, resource);
        int64_t count = strtoll(digits, NULL, 10);

        if (count < 0 || share.kind != GPU_SHARE_KNOWN)
            continue;
        if (share.slices > 0)
            slices_add(&slices, &share, whole_quotient(count, share.replicas));
        else
            parts += whole_quotient(count, share.replicas) * share.of_parts;
    }
    of_plugins = gpu_parts_whole(parts) + slices_gpus(&slices);
    of_drivers = device_gpus(snapshot, node->name, NULL);
    return of_plugins > of_drivers ? of_plugins : of_drivers;
}

static bool is_uncounted(const struct gpu_share *share, bool is_readable)
{
    return share->kind == GPU_SHARE_UNKNOWN || (share->kind == GPU_SHARE_KNOWN && !is_readable);
}

static bool is_slice(const struct gpu_share *share, bool is_readable)
{
    return share->slices > 0 && is_readable;
}

static void list_devices(const struct snapshot *snapshot, const struct node *node,
                         bool (*is_listed)(const struct gpu_share *share, bool is_readable),
                         struct text *out)
{
    const char *at = node->devices;
    const char *resource;
    const char *digits;

    while (packed_map_next(&at, &resource, &digits)) {
        struct gpu_share share = share_on(snapshot, node, resource);
        bool is_readable = digits[0] != '-';

        if (is_listed(&share, is_readable))
            text_add(out, "%s%s%s%s", out->length > 0 ? ", " : "", resource, is_readable ? " " : "",
                     is_readable ? digits : "");
    }
}

void gpus_uncounted(const struct snapshot *snapshot, const struct node *node, struct text *out)
{
    list_devices(snapshot, node, is_uncounted, out);
    device_uncounted(snapshot, node->name, out);
}

void gpus_slices(const struct snapshot *snapshot, const struct node *node, struct text *out)
{
    list_devices(snapshot, node, is_slice, out);
    device_slices(snapshot, node->name, out);
}

static bool is_of_gpus(const struct snapshot *snapshot, const char *resource)
{
    return !resource ||
           accelerator_share(snapshot->accelerators, resource, NULL).kind == GPU_SHARE_NONE;
}

static bool is_whole_gpu(const struct snapshot *snapshot, const char *resource)
{
    struct gpu_share share = accelerator_share(snapshot->accelerators, resource, NULL);

    return share.slices == 0 && share.parts == GPU_PARTS;
}

int64_t gpus_units(const struct snapshot *snapshot, const struct node *node, const char *resource)
{
    const char *digits;
    int64_t count;

    if (is_of_gpus(snapshot, resource))
        return gpus_of_node(snapshot, node);
    digits = packed_map_get(node->devices, resource);
    count = digits ? strtoll(digits, NULL, 10) : 0;
    if (count == 0 && is_whole_gpu(snapshot, resource)) /* pods get them from the driver */
        count = device_gpus(snapshot, node->name, resource);
    return count > 0 ? count : 0;
}

int64_t gpus_to_units(const struct snapshot *snapshot, int64_t gpus, const char *resource)
{
    struct gpu_share share = accelerator_share(snapshot->accelerators, resource, NULL);

    return share.kind == GPU_SHARE_KNOWN ? gpus * GPU_PARTS / share.parts : gpus;
}

/* One device of a claim, "DRIVER/POOL/DEVICE"; -1: it cannot be read. */
static int64_t claimed_parts(const struct snapshot *snapshot, const struct pod *pod,
                             const char *device)
{
    size_t driver_length = strcspn(device, "/");
    const char *last = strrchr(device, '/');
    owned(chars) char *driver = text_format("%.*s", (int)driver_length, device);
    owned(chars) char *pool = text_format("%.*s", (int)(last - device - (int)driver_length - 1),
                                          device + driver_length + 1);

    return device_parts(snapshot, pod->node_name, driver, pool, last + 1);
}

static const struct device_claim *claim_named(const struct snapshot *snapshot,
                                              const struct pod *pod, const char *name)
{
    owned(chars) char *key = text_format("%s/%s", pod->namespace, name);
    size_t count;
    void *const *claims = index_find(snapshot->claims_by_key, key, &count);

    return count > 0 ? claims[0] : NULL;
}

/* The GPUs of a claim; pods that share it count an equal part each. */
static void add_claim(const struct snapshot *snapshot, const struct pod *pod,
                      const struct device_claim *claim, struct gpu_demand *demand)
{
    const char *at = claim->devices;
    int64_t sum = 0;
    const char *device;
    const char *ignored;

    while (packed_map_next(&at, &device, &ignored)) {
        int64_t parts = claimed_parts(snapshot, pod, device);

        if (parts < 0)
            demand->is_whole = true;
        else
            sum += parts;
    }
    demand->parts += claim->users > 1 ? whole_quotient(sum, claim->users) : sum;
}

static struct gpu_demand gpus_claimed(const struct snapshot *snapshot, const struct pod *pod)
{
    struct gpu_demand demand = { 0 };
    const char *at = pod->device_claims;
    const char *ignored;
    const char *name;

    while (packed_map_next(&at, &ignored, &name)) {
        const struct device_claim *claim = claim_named(snapshot, pod, name);

        if (claim && claim->is_allocated)
            add_claim(snapshot, pod, claim, &demand);
        else
            demand.is_whole = true;
    }
    return demand;
}

/* A count that cannot be read, or that no node has, shows only that the pod is there. */
static void add_units(struct gpu_demand *demand, int64_t count, int64_t parts)
{
    require(parts > 0);
    if (count < 0 || count > GPUS_MOST * GPU_PARTS / parts)
        demand->is_whole = true;
    else
        demand->parts += count * parts;
}

struct gpu_demand gpus_of_pod(const struct snapshot *snapshot, const struct pod *pod)
{
    struct gpu_demand demand = gpus_claimed(snapshot, pod);
    const struct node *node = NULL;
    const char *at = pod->devices;
    const char *resource;
    const char *digits;

    if (at[0] != '\0')
        node = map_get(snapshot->nodes, pod->node_name);
    while (packed_map_next(&at, &resource, &digits)) {
        struct gpu_share share = share_on(snapshot, node, resource);
        int64_t count = strtoll(digits, NULL, 10);

        if (share.kind == GPU_SHARE_UNKNOWN)
            demand.is_whole = true;
        else if (share.kind == GPU_SHARE_KNOWN)
            add_units(&demand, count, share.parts);
    }
    demand.is_whole = demand.is_whole || pod->is_unread;
    return demand;
}
