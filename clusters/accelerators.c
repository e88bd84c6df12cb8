/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See accelerators.h.
 *
 * The share of a MIG profile "3g.40gb" follows from its name: 3 of 7 compute slices, and 40 GB of
 * the GPU's memory, in eighths; the greater of the two counts.  The memory of the GPU is a label of
 * its node.  Where that is absent, the table of NVIDIA's MIG User Guide says which GPU has such a
 * profile.  Where two have it, a pod counts the greater share, and a node the fewer GPUs.
 */
#include "clusters/accelerators.h"

#include "base/shared_text.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { SLICES = 7, EIGHTHS = 8, MIB_PER_GB = 1024, LABEL_MOST = 100000000 };

static const char nvidia_gpu[] = "nvidia.com/gpu";
static const char nvidia_shared[] = "nvidia.com/gpu.shared";
static const char nvidia_mig[] = "nvidia.com/mig-";
static const struct gpu_share unknown_share = { .kind = GPU_SHARE_UNKNOWN };

/* Resources of known size, in GPUs. */
static const struct {
    const char *resource;
    int gpus;
} whole[] = {
    { nvidia_gpu, 1 },
    { "amd.com/gpu", 1 },
    { "gpu.intel.com/i915", 1 },
    { "gpu.intel.com/xe", 1 },
    /* asked for beside a GPU, or without one */
    { "gpu.intel.com/i915_monitoring", 0 },
    { "gpu.intel.com/xe_monitoring", 0 },
    { "gpu.intel.com/millicores", 0 },
    { "gpu.intel.com/memory.max", 0 },
    { "gpu.intel.com/tiles", 0 },
};

/* MIG profiles by their slices and gigabytes, and the eighths of the GPU's memory. */
static const struct {
    int64_t slices;
    int64_t gigabytes;
    int64_t eighths;
} profiles[] = {
    { 1, 6, 2 },  { 2, 12, 4 }, { 4, 24, 8 },                               /* 24 GB */
    { 1, 5, 1 },  { 1, 10, 2 }, { 2, 10, 2 },  { 3, 20, 4 },  { 4, 20, 4 }, /* 40 GB */
    { 7, 40, 8 }, { 1, 20, 2 }, { 2, 20, 2 },  { 3, 40, 4 },  { 4, 40, 4 }, /* 80 GB */
    { 7, 80, 8 }, { 1, 10, 1 }, { 1, 12, 1 },  { 1, 24, 2 },  { 2, 24, 2 },
    { 3, 47, 4 },                                                           /* 94 GB */
    { 4, 47, 4 }, { 7, 94, 8 }, { 3, 48, 4 },  { 4, 48, 4 },  { 7, 96, 8 }, /* 96 GB */
    { 1, 24, 1 }, { 2, 48, 4 }, { 4, 96, 8 },  { 1, 18, 1 },  { 1, 35, 2 },
    { 2, 35, 2 },                                                           /* 141 GB */
    { 3, 71, 4 }, { 4, 71, 4 }, { 7, 141, 8 }, { 1, 23, 1 },  { 1, 45, 2 }, /* 180 GB */
    { 2, 45, 2 }, { 3, 90, 4 }, { 4, 90, 4 },  { 7, 180, 8 },
};

/* Whether an extended resource is an accelerator: names with "gpu" in them, and the known names of
   other makers.  A false positive only makes a node more expensive. */
static bool is_accelerator(const char *resource)
{
    static const char *const starts[] = {
        "mig-", "tpu", "npu",  "xpu",  "neuron", "gaudi", "ascend", "fpga",
        "dcu",  "mlu", "i915", "spx_", "dpx_",   "qpx_",  "cpx_",
    };
    const char *slash = strrchr(resource, '/');

    if (!slash)
        return false;
    if (strcasestr(resource, "gpu"))
        return true;
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (strncasecmp(slash + 1, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Reads a number of at most four digits, and then `unit`; NULL: the text has another form. */
static const char *read_number(const char *at, const char *unit, int64_t *ret)
{
    size_t digits = strspn(at, "0123456789");

    if (digits == 0 || digits > 4 || !text_starts_with(at + digits, unit))
        return NULL;
    *ret = strtoll(at, NULL, 10);
    return at + digits + strlen(unit);
}

/* "3g.40gb", with attributes behind it ("+me") or a compute instance before it ("1c."), which is
   counted as the whole slice that it is part of. */
static bool read_profile(const char *name, int64_t *ret_slices, int64_t *ret_gigabytes)
{
    int64_t ignored;
    const char *at = read_number(name, "c.", &ignored) ?: name;

    at = read_number(at, "g.", ret_slices);
    at = at ? read_number(at, "gb", ret_gigabytes) : NULL;
    return at && (*at == '\0' || strchr("+-.", *at)) && *ret_slices >= 1 && *ret_slices <= SLICES;
}

/* How many eighths of a GPU's memory these gigabytes are: the least and the greatest possible
   number.  A MIG profile has at least as many eighths of memory as compute slices. */
static bool find_eighths(int64_t slices, int64_t gigabytes, int64_t memory_mib, int64_t *ret_least,
                         int64_t *ret_most)
{
    *ret_least = INT64_MAX;
    *ret_most = 0;
    if (memory_mib > 0) {
        *ret_most = (gigabytes * MIB_PER_GB * EIGHTHS + memory_mib / 2) / memory_mib;
        *ret_least = *ret_most;
        if (*ret_most >= slices) /* else it is the processor's: "GH200-480GB" */
            return *ret_most <= EIGHTHS;
        *ret_least = INT64_MAX;
        *ret_most = 0;
    }
    for (size_t i = 0; i < COUNT_OF(profiles); i++) {
        int64_t eighths = profiles[i].eighths;

        if (profiles[i].slices != slices || profiles[i].gigabytes != gigabytes)
            continue;
        *ret_least = eighths < *ret_least ? eighths : *ret_least;
        *ret_most = eighths > *ret_most ? eighths : *ret_most;
    }
    return *ret_most > 0;
}

static int64_t slice_parts(int64_t slices, int64_t eighths)
{
    int64_t of_compute = slices * (GPU_PARTS / SLICES);
    int64_t of_memory = eighths * (GPU_PARTS / EIGHTHS);

    return of_compute > of_memory ? of_compute : of_memory;
}

static struct gpu_share slice_share(int64_t slices, int64_t gigabytes, int64_t memory_mib)
{
    int64_t least;
    int64_t most;

    if (!find_eighths(slices, gigabytes, memory_mib, &least, &most))
        return unknown_share;
    return (struct gpu_share){
        .kind = GPU_SHARE_KNOWN,
        .parts = slice_parts(slices, most),
        .replicas = 1,
        .of_parts = slice_parts(slices, most),
        .slices = slices,
        .eighths = least,
        .per_gpu = GPU_PARTS / slice_parts(slices, least),
    };
}

static int64_t label_number(const char *labels, const char *key)
{
    const char *chars = packed_map_get(labels, key);
    long long number = 0;

    return chars && text_to_int(chars, 0, LABEL_MOST, &number) ? number : 0;
}

static struct gpu_share known_share(int64_t parts)
{
    return (struct gpu_share){
        .kind = parts > 0 ? GPU_SHARE_KNOWN : GPU_SHARE_NONE,
        .parts = parts,
        .replicas = 1,
        .of_parts = parts,
    };
}

/* Units that share a GPU, or a slice of one, in time. */
static struct gpu_share shared_share(struct gpu_share share, int64_t replicas)
{
    if (replicas > 1 && share.kind == GPU_SHARE_KNOWN) {
        share.replicas = replicas;
        share.parts = (share.of_parts + replicas - 1) / replicas;
    }
    return share;
}

struct gpu_share accelerator_profile(const char *profile, int64_t memory_mib)
{
    int64_t slices;
    int64_t gigabytes;

    return read_profile(profile, &slices, &gigabytes) ? slice_share(slices, gigabytes, memory_mib)
                                                      : unknown_share;
}

/* "nvidia.com/gpu": labels say what one unit is. */
static struct gpu_share share_of_gpu(const struct gpu_facts *facts)
{
    return shared_share(facts->slices > 0
                            ? slice_share(facts->slices, facts->gigabytes, facts->memory_mib)
                            : known_share(GPU_PARTS),
                        facts->replicas);
}

/* "nvidia.com/mig-1g.10gb", under that name or as "...shared" where the units share a slice. */
static struct gpu_share share_of_slice(const char *resource, const struct gpu_facts *facts)
{
    static const char shared[] = ".shared";
    size_t length = strlen(resource);
    bool is_renamed = length >= sizeof shared &&
                      text_equal(resource + length - (sizeof shared - 1), shared);
    owned(chars) char *label = text_format(
        "%.*s.replicas", (int)(is_renamed ? length - (sizeof shared - 1) : length), resource);
    int64_t replicas = facts->labels ? label_number(facts->labels, label) : 0;

    if (is_renamed && replicas <= 1)
        return unknown_share;
    return shared_share(accelerator_profile(resource + sizeof nvidia_mig - 1, facts->memory_mib),
                        replicas);
}

static struct gpu_share share_by_name(const char *resource, const struct gpu_facts *facts)
{
    if (text_equal(resource, nvidia_gpu) ||
        (text_equal(resource, nvidia_shared) && facts->replicas > 1))
        return share_of_gpu(facts);
    for (size_t i = 0; i < COUNT_OF(whole); i++)
        if (text_equal(resource, whole[i].resource))
            return known_share(whole[i].gpus * GPU_PARTS);
    if (text_starts_with(resource, nvidia_mig))
        return share_of_slice(resource, facts);
    return is_accelerator(resource) ? unknown_share : known_share(0);
}

static const struct accelerator *find_configured(const struct accelerators *configured,
                                                 const char *name)
{
    for (size_t i = 0; configured && i < configured->rows.count; i++)
        if (text_equal(name, configured->rows.items[i].resource))
            return &configured->rows.items[i];
    return NULL;
}

struct gpu_share accelerator_share(const struct accelerators *configured, const char *resource,
                                   const struct gpu_facts *facts)
{
    static const struct gpu_facts nothing;
    const struct accelerator *row = find_configured(configured, resource);

    return row ? known_share(row->parts) : share_by_name(resource, facts ? facts : &nothing);
}

/* An unknown driver may be an accelerator's: only known other drivers count as nothing.
 */
struct gpu_share accelerator_device(const struct accelerators *configured, const char *driver)
{
    static const char *const none[] = {
        "compute-domain.nvidia.com",
        "dra.net",
        "dra.cpu",
        "dra.memory",
        "sriovnetwork.k8snetworkplumbingwg.io",
    };
    const struct accelerator *row = find_configured(configured, driver);

    if (row)
        return known_share(row->parts);
    for (size_t i = 0; i < COUNT_OF(none); i++)
        if (text_equal(driver, none[i]))
            return known_share(0);
    if (strcasestr(driver, "gpu"))
        return known_share(GPU_PARTS);
    return (struct gpu_share){ .kind = GPU_SHARE_UNKNOWN };
}

int64_t accelerator_memory_mib(const char *product)
{
    for (const char *at = product; (at = strpbrk(at, "- "));) {
        int64_t gigabytes;

        if (read_number(++at, "GB", &gigabytes))
            return gigabytes * MIB_PER_GB;
    }
    return 0;
}

struct gpu_facts gpu_facts_of(const char *labels)
{
    static const char mark[] = "-MIG-";
    const char *product = packed_map_get(labels, "nvidia.com/gpu.product") ?: "";
    const char *profile = strstr(product, mark);
    struct gpu_facts facts = {
        .memory_mib = label_number(labels, "nvidia.com/gpu.memory"),
        .replicas = label_number(labels, "nvidia.com/gpu.replicas"),
    };

    /* Every GPU is partitioned alike, and nvidia.com/gpu and its labels describe one slice. */
    if (profile && read_profile(profile + sizeof mark - 1, &facts.slices, &facts.gigabytes))
        facts.memory_mib = accelerator_memory_mib(product);
    return facts;
}

int64_t gpu_parts_whole(int64_t parts)
{
    return (parts + GPU_PARTS - 1) / GPU_PARTS;
}
