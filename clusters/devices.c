/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Decoding of ResourceSlices and ResourceClaims.
 */
#include "clusters/devices.h"

#include "base/input/json.h"
#include "base/text.h"
#include "clusters/accelerators.h"
#include "clusters/fields.h"

#include <inttypes.h>

/* Adds "SET/COUNTER=QUANTITY" of a counter set's counters. */
static void add_uses(struct text *out, const json_t *set, const char *name)
{
    const char *counter = NULL;
    const json_t *value = NULL;

    json_object_foreach(json_object_get(set, "counters"), counter, value) {
        text_add(out, "%s%s/%s=%s", out->length > 1 ? "," : "", name, counter,
                 json_text_or(value, "value", "?"));
    }
}

static bool is_tainted(const json_t *device)
{
    size_t at = 0;
    const json_t *taint = NULL;

    json_array_foreach(json_object_get(device, "taints"), at, taint) {
        const char *effect = json_text_or(taint, "effect", "");

        if (text_equal(effect, "NoSchedule") || text_equal(effect, "NoExecute"))
            return true;
    }
    return false;
}

static const char *attribute(const json_t *device, const char *name)
{
    const json_t *attributes = json_object_get(device, "attributes");

    return json_text_or(json_object_get(attributes, name), "string", "");
}

/* Drivers show a GPU that is passed through to a virtual machine beside the GPU itself. */
static bool is_face(const json_t *device)
{
    return text_equal(attribute(device, "type"), "vfio");
}

/* Counters are of GPUs that are cut as pods ask for it. */
static bool is_cut(const json_t *device)
{
    return text_equal(attribute(device, "type"), "mig") &&
           json_array_size(json_object_get(device, "consumesCounters")) == 0;
}

static void add_cut(struct text *out, const json_t *device)
{
    text_add(out, "%s" DEVICE_CUT "%s@%" PRId64, attribute(device, "parentUUID"),
             attribute(device, "profile"),
             accelerator_memory_mib(attribute(device, "productName")));
}

/* In v1beta1 all but the name is in `basic`. */
static json_t *pack_devices(const json_t *devices)
{
    json_t *packed = json_object();
    size_t at = 0;
    const json_t *device = NULL;

    json_array_foreach(devices, at, device) {
        const json_t *basic = json_object_get(device, "basic") ?: device;
        owned(text) struct text *value = text_new(TEXT_UNBOUNDED);
        size_t i = 0;
        const json_t *use = NULL;

        text_add(value, "%c",
                 is_tainted(basic) ? DEVICE_TAINTED
                 : is_face(basic)  ? DEVICE_FACE
                                   : DEVICE_OPEN);
        json_array_foreach(json_object_get(basic, "consumesCounters"), i, use)
            add_uses(value, use, json_text_or(use, "counterSet", "?"));
        if (is_cut(basic))
            add_cut(value, basic);
        json_put(packed, json_text_or(device, "name", "?"), json_text(value->chars));
    }
    return packed;
}

static json_t *pack_totals(const json_t *sets)
{
    json_t *packed = json_object();
    size_t at = 0;
    const json_t *set = NULL;

    json_array_foreach(sets, at, set) {
        const char *counter = NULL;
        const json_t *value = NULL;

        json_object_foreach(json_object_get(set, "counters"), counter, value) {
            owned(chars) char *key = text_format("%s/%s", json_text_or(set, "name", "?"), counter);

            json_put(packed, key, json_text(json_text_or(value, "value", "?")));
        }
    }
    return packed;
}

static int fill_slice(struct device_slice *slice, const json_t *object, struct error *err)
{
    json_t *devices = NULL;
    json_t *sets = NULL;

    if (field_name(object, "metadata/name", &slice->name, err) < 0 ||
        field_text(object, "spec/nodeName", &slice->node_name, err) < 0 ||
        field_name(object, "spec/driver", &slice->driver, err) < 0 ||
        field_name(object, "spec/pool/name", &slice->pool, err) < 0 ||
        json_find_int(object, "spec/pool/generation", &slice->generation, err) < 0 ||
        json_find_int(object, "spec/pool/resourceSliceCount", &slice->slice_count, err) < 0 ||
        json_find_array(object, "spec/devices", &devices, err) < 0 ||
        json_find_array(object, "spec/sharedCounters", &sets, err) < 0)
        return -1;
    owned(json) json_t *packed = pack_devices(devices);
    owned(json) json_t *totals = pack_totals(sets);
    slice->devices = packed_map_new(packed, NULL);
    slice->totals = packed_map_new(totals, NULL);
    return 0;
}

struct device_slice *device_slice_decode(const json_t *object, struct error *err)
{
    struct error why = { 0 };
    struct device_slice *slice = mem_new(sizeof *slice);

    if (fill_slice(slice, object, &why) < 0) {
        error_set(err, ERROR_CORRUPT, "resourceslices/%s: %s",
                  json_text_or(object, "metadata/name", "?"), why.text);
        device_slice_free(slice);
        return NULL;
    }
    return slice;
}

/* A device with admin access belongs to another claim, or to none. */
static json_t *pack_results(const json_t *results)
{
    json_t *packed = json_object();
    size_t at = 0;
    const json_t *result = NULL;

    json_array_foreach(results, at, result) {
        owned(chars) char *key = text_format("%s/%s/%s", json_text_or(result, "driver", "?"),
                                             json_text_or(result, "pool", "?"),
                                             json_text_or(result, "device", "?"));

        if (!json_is_true(json_object_get(result, "adminAccess")))
            json_put(packed, key, json_text(""));
    }
    return packed;
}

static int64_t count_users(const json_t *users)
{
    int64_t count = 0;
    size_t at = 0;
    const json_t *user = NULL;

    json_array_foreach(users, at, user) {
        if (!text_equal(json_text_or(user, "resource", ""), "pods"))
            return 0;
        count++;
    }
    return count;
}

static int fill_claim(struct device_claim *claim, const json_t *object, struct error *err)
{
    const char *namespace = NULL;
    const char *name = NULL;
    json_t *allocation = NULL;
    json_t *results = NULL;
    json_t *users = NULL;

    if (json_need_text(object, "metadata/namespace", &namespace, err) < 0 ||
        json_need_text(object, "metadata/name", &name, err) < 0 ||
        json_find_object(object, "status/allocation", &allocation, err) < 0 ||
        json_find_array(object, "status/allocation/devices/results", &results, err) < 0 ||
        json_find_array(object, "status/reservedFor", &users, err) < 0)
        return -1;
    owned(chars) char *key = text_format("%s/%s", namespace, name);
    owned(json) json_t *packed = pack_results(results);
    claim->key = shared_text_of(key);
    claim->devices = packed_map_new(packed, NULL);
    claim->users = count_users(users);
    claim->is_allocated = allocation != NULL;
    return 0;
}

struct device_claim *device_claim_decode(const json_t *object, struct error *err)
{
    struct error why = { 0 };
    struct device_claim *claim = mem_new(sizeof *claim);

    if (fill_claim(claim, object, &why) < 0) {
        error_set(err, ERROR_CORRUPT, "resourceclaims/%s/%s: %s",
                  json_text_or(object, "metadata/namespace", "?"),
                  json_text_or(object, "metadata/name", "?"), why.text);
        device_claim_free(claim);
        return NULL;
    }
    return claim;
}

void device_slice_free(struct device_slice *slice)
{
    if (!slice)
        return;
    shared_text_drop(slice->name);
    shared_text_drop(slice->node_name);
    shared_text_drop(slice->driver);
    shared_text_drop(slice->pool);
    shared_text_drop(slice->devices);
    shared_text_drop(slice->totals);
    mem_free(slice);
}

void device_claim_free(struct device_claim *claim)
{
    if (!claim)
        return;
    shared_text_drop(claim->key);
    shared_text_drop(claim->devices);
    mem_free(claim);
}

void device_slice_share(struct device_slice *slice, struct shared_pool *texts)
{
    shared_pool_take(texts, &slice->node_name);
    shared_pool_take(texts, &slice->driver);
    shared_pool_take(texts, &slice->pool);
    shared_pool_take(texts, &slice->devices);
    shared_pool_take(texts, &slice->totals);
}

void device_claim_share(struct device_claim *claim, struct shared_pool *texts)
{
    shared_pool_take(texts, &claim->devices);
}
