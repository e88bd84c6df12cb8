/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs that a node's slices show, and the share of a GPU that a device is.
 *
 * A device that consumes counters is a part of a counter set, which stands for one GPU.  Its share
 * is that of the counter of which it consumes most.  Counters with a total of 1 are places (a slice
 * of memory, say): of them the share of places counts.
 */
#include "base/index.h"
#include "base/text.h"
#include "clusters/accelerators.h"
#include "clusters/devices.h"
#include "clusters/fields.h"
#include "clusters/snapshot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 64 };

/* ---- pools ---- */

struct slices {
    const struct device_slice *const *items;
    size_t count;
};

static struct slices slices_of(const struct snapshot *snapshot, const char *node_name)
{
    struct slices slices;

    slices.items = (const struct device_slice *const *)index_find(snapshot->slices_by_node,
                                                                  node_name, &slices.count);
    return slices;
}

static bool is_of_pool(const struct device_slice *slice, const char *driver, const char *pool)
{
    return text_equal(slice->driver, driver) && text_equal(slice->pool, pool);
}

/* Whether the pool has no newer slice than this one. */
static bool is_newest(const struct slices *slices, const struct device_slice *slice)
{
    for (size_t i = 0; i < slices->count; i++)
        if (is_of_pool(slices->items[i], slice->driver, slice->pool) &&
            slices->items[i]->generation > slice->generation)
            return false;
    return true;
}

/* Whether all slices of this one's generation are there. */
static bool is_complete(const struct slices *slices, const struct device_slice *slice)
{
    int64_t count = 0;

    for (size_t i = 0; i < slices->count; i++)
        count += is_of_pool(slices->items[i], slice->driver, slice->pool) &&
                 slices->items[i]->generation == slice->generation;
    return count >= slice->slice_count;
}

/* ---- shares ---- */

/* The next "SET/COUNTER=QUANTITY"; false at the end. */
struct use {
    const char *set; /* not terminated */
    size_t set_length;
    size_t key_length; /* with the counter */
    double quantity;
};

static bool next_use(const char **at, struct use *use)
{
    size_t length = strcspn(*at, ",");

    if (length == 0)
        return false;
    use->set = *at;
    use->set_length = strcspn(*at, "/,");
    use->key_length = strcspn(*at, "=,");
    use->quantity = NAN; /* names with commas are no names: a server made them up */
    if (use->key_length < length) {
        owned(chars) char *quantity = text_format("%.*s", (int)(length - use->key_length - 1),
                                                  *at + use->key_length + 1);
        use->quantity = field_quantity(quantity);
    }
    *at += length;
    *at += **at == ',';
    return true;
}

/* What the device consumes of this counter; 0: nothing. */
static double use_of(const char *uses, const char *key)
{
    struct use use;

    while (next_use(&uses, &use))
        if (strlen(key) == use.key_length && strncmp(use.set, key, use.key_length) == 0)
            return use.quantity;
    return 0;
}

/* The share of one counter set, whose totals these are; NAN: they are absent, or cannot be read. */
static double set_share(const char *totals, const char *set, size_t set_length, const char *uses)
{
    double share = 0;
    int places = 0;
    int taken = 0;
    bool is_known = false;
    const char *key;
    const char *value;

    while (packed_map_next(&totals, &key, &value)) {
        double total = field_quantity(value);
        double used;

        if (strcspn(key, "/") != set_length || strncmp(key, set, set_length) != 0)
            continue;
        used = use_of(uses, key);
        if (isnan(total) || isnan(used))
            return NAN;
        is_known = true;
        places += total > 0 && total <= 1;
        taken += total > 0 && total <= 1 && used > 0;
        if (total > 1 && used / total > share)
            share = used / total;
    }
    if (places > 0 && (double)taken / places > share)
        share = (double)taken / places;
    return is_known ? share : NAN;
}

/* The totals of a set are in any slice of the pool. */
static double pool_share(const struct slices *slices, const struct device_slice *of,
                         const struct use *use, const char *uses)
{
    for (size_t i = 0; i < slices->count; i++) {
        const struct device_slice *slice = slices->items[i];
        double share;

        if (!is_of_pool(slice, of->driver, of->pool) || slice->generation != of->generation)
            continue;
        share = set_share(slice->totals, use->set, use->set_length, uses);
        if (!isnan(share))
            return share;
    }
    return NAN;
}

/* The share over all counter sets that the device consumes of; the uses of one set follow each
   other. */
static int64_t share_of_uses(const struct slices *slices, const struct device_slice *of,
                             const char *uses)
{
    double sum = 0;
    const char *at = uses;
    struct use use;
    struct use last = { 0 };

    while (next_use(&at, &use)) {
        if (last.set && last.set_length == use.set_length &&
            strncmp(last.set, use.set, use.set_length) == 0)
            continue;
        sum += pool_share(slices, of, &use, uses);
        last = use;
    }
    return sum <= SETS_MOST ? (int64_t)llround(sum * GPU_PARTS) : -1; /* NAN: -1 too */
}

/* The share of a slice by its profile, as for a device plugin's slice; -1: unknown. */
static int64_t share_of_cut(const char *cut)
{
    size_t length = strcspn(cut, "@");
    owned(chars) char *profile = text_format("%.*s", (int)length, cut);
    struct gpu_share share = accelerator_profile(
        profile, cut[length] != '\0' ? strtoll(cut + length + 1, NULL, 10) : 0);

    return share.kind == GPU_SHARE_KNOWN ? share.parts : -1;
}

/* The share of one GPU that a device uses; -1: unknown. */
static int64_t share_of_device(const struct slices *slices, const struct device_slice *of,
                               const char *uses)
{
    const char *cut = strstr(uses, DEVICE_CUT);

    if (uses[0] == '\0')
        return GPU_PARTS;
    return cut ? share_of_cut(cut + strlen(DEVICE_CUT)) : share_of_uses(slices, of, uses);
}

int64_t device_parts(const struct snapshot *snapshot, const char *node_name, const char *driver,
                     const char *pool, const char *device)
{
    struct gpu_share whole = accelerator_device(snapshot->accelerators, driver);
    struct slices slices = slices_of(snapshot, node_name);

    if (whole.kind != GPU_SHARE_KNOWN)
        return whole.kind == GPU_SHARE_NONE ? 0 : -1;
    for (size_t i = 0; i < slices.count; i++) {
        const struct device_slice *slice = slices.items[i];
        const char *value = packed_map_get(slice->devices, device);
        int64_t parts;

        if (!value || !is_of_pool(slice, driver, pool) || !is_newest(&slices, slice))
            continue;
        parts = share_of_device(&slices, slice, value + 1);
        return parts < 0 ? -1 : parts * whole.parts / GPU_PARTS;
    }
    return -1;
}

/* ---- capacity ---- */

/* Counter sets that were counted. */
struct sets {
    const char *names[SETS_MOST];
    size_t lengths[SETS_MOST];
    size_t count;
};

static bool add_set(struct sets *sets, const char *name, size_t length)
{
    for (size_t i = 0; i < sets->count; i++)
        if (sets->lengths[i] == length && strncmp(sets->names[i], name, length) == 0)
            return false;
    if (sets->count == SETS_MOST)
        return false;
    sets->names[sets->count] = name;
    sets->lengths[sets->count++] = length;
    return true;
}

/* Devices of this pool, those that share a counter set as one. */
static int64_t count_pool(const struct slices *slices, const struct device_slice *of)
{
    struct sets sets = { .count = 0 };
    int64_t count = 0;

    for (size_t i = 0; i < slices->count; i++) {
        const struct device_slice *slice = slices->items[i];
        const char *at = slice->devices;
        const char *name;
        const char *value;

        if (!is_of_pool(slice, of->driver, of->pool) || slice->generation != of->generation)
            continue;
        while (packed_map_next(&at, &name, &value)) {
            if (value[0] == DEVICE_OPEN && value[1] == '\0')
                count++;
            else if (value[0] == DEVICE_OPEN)
                count += add_set(&sets, value + 1, strcspn(value + 1, "/"));
        }
    }
    return count;
}

/* Whether no slice before this one is of its pool and generation. */
static bool is_first(const struct slices *slices, size_t at)
{
    const struct device_slice *slice = slices->items[at];

    for (size_t i = 0; i < at; i++)
        if (is_of_pool(slices->items[i], slice->driver, slice->pool) &&
            slices->items[i]->generation == slice->generation)
            return false;
    return true;
}

static bool is_of_domain(const char *driver, const char *domain, size_t length)
{
    size_t size = strlen(driver);

    return size >= length && (length == 0 || strncmp(driver + size - length, domain, length) == 0);
}

int64_t device_gpus(const struct snapshot *snapshot, const char *node_name, const char *domain)
{
    struct slices slices = slices_of(snapshot, node_name);
    size_t length = domain ? strcspn(domain, "/") : 0;
    int64_t parts = 0;

    for (size_t i = 0; i < slices.count; i++) {
        const struct device_slice *slice = slices.items[i];

        if (is_first(&slices, i) && is_of_domain(slice->driver, domain, length) &&
            is_newest(&slices, slice) && is_complete(&slices, slice))
            parts += count_pool(&slices, slice) *
                     accelerator_device(snapshot->accelerators, slice->driver).parts;
    }
    return gpu_parts_whole(parts);
}

void device_uncounted(const struct snapshot *snapshot, const char *node_name, struct text *out)
{
    struct slices slices = slices_of(snapshot, node_name);

    for (size_t i = 0; i < slices.count; i++) {
        const char *driver = slices.items[i]->driver;

        if (accelerator_device(snapshot->accelerators, driver).kind == GPU_SHARE_UNKNOWN &&
            is_first(&slices, i) && is_newest(&slices, slices.items[i]))
            text_add(out, "%sdevices of %s", out->length > 0 ? ", " : "", driver);
    }
}

static int64_t count_cut(const struct device_slice *slice)
{
    const char *at = slice->devices;
    int64_t count = 0;
    const char *name;
    const char *value;

    while (packed_map_next(&at, &name, &value))
        count += strstr(value, DEVICE_CUT) != NULL;
    return count;
}

void device_slices(const struct snapshot *snapshot, const char *node_name, struct text *out)
{
    struct slices slices = slices_of(snapshot, node_name);

    for (size_t i = 0; i < slices.count; i++) {
        int64_t count = is_newest(&slices, slices.items[i]) ? count_cut(slices.items[i]) : 0;

        if (count > 0)
            text_add(out, "%sMIG devices of %s %" PRId64, out->length > 0 ? ", " : "",
                     slices.items[i]->driver, count);
    }
}
