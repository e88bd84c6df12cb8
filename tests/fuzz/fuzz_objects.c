/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Nodes, pods, slices and claims of devices that a hostile API server sends.
 */
#include "base/index.h"
#include "base/shared_text.h"
#include "clusters/devices.h"
#include "clusters/gpus.h"
#include "clusters/snapshot.h"
#include "tests/fuzz/fuzz.h"

/* What follows from a slice, as if it were the only one of its node. */
static void count_devices(struct device_slice *slice)
{
    struct snapshot snapshot;
    const char *at = slice->devices;
    const char *name;
    const char *value;

    snapshot_init(&snapshot);
    index_change(snapshot.slices_by_node, "", NULL, "n", slice);
    require(device_gpus(&snapshot, "n", NULL) >= 0);
    while (packed_map_next(&at, &name, &value))
        require(device_parts(&snapshot, "n", slice->driver, slice->pool, name) >= -1);
    snapshot_clear(&snapshot);
}

static void read_devices(const json_t *object)
{
    struct error err = { 0 };
    struct device_slice *slice = device_slice_decode(object, &err);
    struct device_claim *claim;

    if (slice)
        count_devices(slice);
    else
        fuzz_expect_error(&err);
    device_slice_free(slice);
    claim = device_claim_decode(object, &err);
    if (!claim)
        fuzz_expect_error(&err);
    device_claim_free(claim);
}

/* What stands in for a pod that is refused is as whole as one that is not. */
static void stand_in(const json_t *object)
{
    struct pod *pod = pod_stand_in(object, NULL);
    struct pod *newer;
    struct snapshot snapshot;

    snapshot_init(&snapshot);
    require(pod && pod->name[0] != '\0' && pod->uid[0] != '\0' && pod->namespace[0] != '\0');
    require(pod->labels && pod->annotations && pod->finalizers && pod->priority_class &&
            pod->owner_kind && pod->owner_name && pod->owner_version);
    require(pod->is_unread && gpus_of_pod(&snapshot, pod).is_whole && pod_class_of(pod) >= 0);
    newer = pod_stand_in(object, pod); /* tells no less, and takes its place */
    require(newer);
    pod_free(newer);
    pod_free(pod);
    snapshot_clear(&snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct error err = { 0 };
    owned(json) json_t *object = json_parse_foreign((const char *)bytes, size, "fuzz", &err);
    struct node *node;
    struct pod *pod;

    if (!object) {
        fuzz_expect_error(&err);
        return 0;
    }
    node = node_decode(object, &err);
    if (node)
        require(node->name[0] != '\0' && node->uid && node->devices);
    else
        fuzz_expect_error(&err);
    node_free(node);
    pod = pod_decode(object, &err);
    if (pod)
        require(pod->name[0] != '\0' && pod->uid[0] != '\0' && pod->devices && pod->device_claims &&
                pod->grace_s >= 0);
    else
        fuzz_expect_error(&err);
    pod_free(pod);
    stand_in(object);
    read_devices(object);
    return 0;
}
