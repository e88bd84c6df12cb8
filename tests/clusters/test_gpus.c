/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The GPUs of nodes and pods: slices, other makers, names of a configuration, labels that say more.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/gpus.h"
#include "tests/support/unit.h"

#include <string.h>

#define A100_40 "\"nvidia.com/gpu.memory\":\"40536\""
#define H100_80 "\"nvidia.com/gpu.memory\":\"81559\""
#define H200 "\"nvidia.com/gpu.memory\":\"143771\""
#define A30 "\"nvidia.com/gpu.memory\":\"24576\""
#define SINGLE(profile) "\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-80GB-MIG-" profile "\""
#define REPLICAS(count) "\"nvidia.com/gpu.replicas\":\"" count "\""
#define MIG_REPLICAS(profile, count) "\"nvidia.com/mig-" profile ".replicas\":\"" count "\""
#define MIG(profile) "\"nvidia.com/mig-" profile "\""

static struct node *node_of(const char *labels, const char *allocatable)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
                                           "\"resourceVersion\":\"1\",\"labels\":{%s}},"
                                           "\"status\":{\"allocatable\":{%s}}}",
                                           labels, allocatable);
    owned(json) json_t *object = json_parse(chars, strlen(chars), "node", &err);
    struct node *node = object ? node_decode(object, &err) : NULL;

    if (!node)
        fail_msg("%s: %s", chars, err.text);
    return node;
}

static struct pod *pod_of(const char *limits)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format("{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\","
                                           "\"uid\":\"u\"},\"spec\":{\"nodeName\":\"n\","
                                           "\"containers\":[{\"resources\":{\"limits\":{%s}}}]}}",
                                           limits);
    owned(json) json_t *object = json_parse(chars, strlen(chars), "pod", &err);
    struct pod *pod = object ? pod_decode(object, &err) : NULL;

    if (!pod)
        fail_msg("%s: %s", chars, err.text);
    return pod;
}

static const struct accelerators configured = {
    .rows = {
        .items = (struct accelerator[]){ { "example.com/npu", GPU_PARTS },
                                         { "example.com/vgpu", GPU_PARTS / 4 },
                                         { "example.com/gpu-exporter", 0 } },
        .count = 3,
    },
};

/* As GPU feature discovery and the device plugins of eight GPUs show them. */
static const struct {
    const char *labels;
    const char *allocatable;
    int gpus;
    const char *uncounted;
} nodes[] = {
    { "", "\"nvidia.com/gpu\":\"8\",\"rdma/ib\":\"8\"", 8, "" },
    { "", "\"amd.com/gpu\":\"8\"", 8, "" },
    { "", "\"amd.com/gpu\":\"7900m\"", 0, "amd.com/gpu" },
    { "", "\"gpu.intel.com/i915\":\"8\",\"gpu.intel.com/millicores\":\"8k\"", 8, "" },
    { "", "\"example.com/npu\":\"8\"", 8, "" },
    { "", "\"example.com/vgpu\":\"32\",\"example.com/gpu-exporter\":\"1\"", 8, "" },
    { "", "\"example.com/vgpu\":\"29\"", 8, "" },
    { "", "\"example.com/xgpu\":\"8\"", 0, "example.com/xgpu 8" },
    /* all GPUs cut alike */
    { H100_80, MIG("1g.10gb") ":\"56\"", 8, "" },
    { H100_80, MIG("1g.20gb") ":\"32\"", 8, "" },
    { H100_80, MIG("2g.20gb") ":\"24\"", 8, "" },
    { H100_80, MIG("3g.40gb") ":\"16\"", 8, "" },
    { H100_80, MIG("7g.80gb") ":\"8\"", 8, "" },
    { A100_40, MIG("1g.5gb") ":\"56\"", 8, "" },
    { A100_40, MIG("1g.10gb") ":\"32\"", 8, "" },
    { H200, MIG("1g.18gb") ":\"56\"", 8, "" },
    { H200, MIG("2g.35gb") ":\"24\"", 8, "" },
    { A30, MIG("1g.6gb") ":\"32\"", 8, "" },
    { A30, MIG("2g.12gb") ":\"16\"", 8, "" },
    /* without the label, by the table */
    { "", MIG("3g.20gb") ":\"16\"", 8, "" },
    { "", MIG("1g.6gb") ":\"32\"", 8, "" },
    { "", MIG("1g.10gb") ":\"56\"", 8, "" }, /* of 80 GB rather than of 40 */
    /* cut differently */
    { H100_80, MIG("4g.40gb") ":\"8\"," MIG("3g.40gb") ":\"8\"", 8, "" },
    { H100_80, MIG("1g.10gb") ":\"16\"," MIG("2g.20gb") ":\"8\"," MIG("3g.40gb") ":\"8\"", 8, "" },
    { H100_80, "\"nvidia.com/gpu\":\"4\"," MIG("1g.10gb") ":\"28\"", 8, "" },
    { H100_80, MIG("1g.10gb") ":\"48\"," MIG("1g.10gb.me") ":\"8\"", 8, "" },
    /* one is missing, or seven of eight are there */
    { H100_80, MIG("1g.10gb") ":\"49\"", 7, "" },
    { H100_80, MIG("2g.20gb") ":\"21\"", 7, "" },
    { H100_80, MIG("5g.60gb.x") ":\"8\"", 8, "" },
    { H100_80, MIG("1g.90gb") ":\"8\"", 0, "nvidia.com/mig-1g.90gb 8" },
    { H100_80, MIG("8g.80gb") ":\"8\"", 0, "nvidia.com/mig-8g.80gb 8" },
    { "", MIG("small") ":\"8\"", 0, "nvidia.com/mig-small 8" },
    { "", MIG("1g.11gb") ":\"8\"", 0, "nvidia.com/mig-1g.11gb 8" },
    /* MIG strategy "single": the slices are called nvidia.com/gpu */
    { SINGLE("1g.10gb"), "\"nvidia.com/gpu\":\"56\"", 8, "" },
    { SINGLE("3g.40gb") ",\"nvidia.com/gpu.memory\":\"40320\"", "\"nvidia.com/gpu\":\"16\"", 8,
      "" },
    /* shared in time */
    { "\"nvidia.com/gpu.replicas\":\"4\"", "\"nvidia.com/gpu\":\"32\"", 8, "" },
    { "\"nvidia.com/gpu.replicas\":\"4\"", "\"nvidia.com/gpu.shared\":\"32\"", 8, "" },
    { "\"nvidia.com/gpu.replicas\":\"1\"", "\"nvidia.com/gpu\":\"8\"", 8, "" },
    { "", "\"nvidia.com/gpu.shared\":\"32\"", 0, "nvidia.com/gpu.shared 32" },
    { REPLICAS("11"), "\"nvidia.com/gpu\":\"88\"", 8, "" }, /* no sum of rounded parts */
    /* slices that are shared in time, of both strategies */
    { SINGLE("2g.20gb-SHARED") "," REPLICAS("2"), "\"nvidia.com/gpu\":\"48\"", 8, "" },
    { SINGLE("1g.10gb") "," REPLICAS("2"), "\"nvidia.com/gpu.shared\":\"112\"", 8, "" },
    { H100_80 "," MIG_REPLICAS("1g.10gb", "2"), MIG("1g.10gb") ":\"112\"", 8, "" },
    { H100_80 "," MIG_REPLICAS("1g.10gb", "2"), MIG("1g.10gb.shared") ":\"112\"", 8, "" },
    { H100_80 "," MIG_REPLICAS("3g.40gb", "4"), MIG("1g.10gb") ":\"28\"," MIG("3g.40gb") ":\"32\"",
      8, "" },
    { H100_80, MIG("1g.10gb.shared") ":\"112\"", 0, "nvidia.com/mig-1g.10gb.shared 112" },
    /* the memory that a product names may be the processor's */
    { "\"nvidia.com/gpu.product\":\"NVIDIA-GH200-480GB-MIG-1g.12gb\"", "\"nvidia.com/gpu\":\"7\"",
      1, "" },
    { "\"nvidia.com/gpu.product\":\"NVIDIA-GH200-480GB-MIG-3g.48gb\"", "\"nvidia.com/gpu\":\"2\"",
      1, "" },
};

static void the_gpus_of_a_node(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    snapshot.accelerators = &configured;
    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        struct node *node = node_of(nodes[i].labels, nodes[i].allocatable);
        owned(text) struct text *uncounted = text_new(200);
        int64_t gpus = gpus_of_node(&snapshot, node);

        gpus_uncounted(&snapshot, node, uncounted);
        if (gpus != nodes[i].gpus || !text_equal(uncounted->chars, nodes[i].uncounted))
            fail_msg("%s %s: %d GPUs, not counted: %s", nodes[i].labels, nodes[i].allocatable,
                     (int)gpus, uncounted->chars);
        node_free(node);
    }
    snapshot_clear(&snapshot);
}

/* What one unit takes of a GPU, on a node with these labels. */
static void the_gpus_of_a_pod(void **state)
{
    static const struct {
        const char *labels;
        const char *limits;
        int64_t parts;
        bool is_whole;
    } rows[] = {
        { "", "\"cpu\":\"8\",\"rdma/ib\":\"1\"", 0, false },
        { "", "\"nvidia.com/gpu\":\"2\",\"amd.com/gpu\":\"1\"", 3 * GPU_PARTS, false },
        { H100_80, MIG("1g.10gb") ":\"1\"", GPU_PARTS / 7, false },
        { A100_40, MIG("1g.10gb") ":\"1\"", GPU_PARTS / 4, false },
        { "", MIG("1g.10gb") ":\"1\"", GPU_PARTS / 4, false }, /* of either, the greater */
        { H100_80, MIG("3g.40gb") ":\"1\"", GPU_PARTS / 2, false },
        { H100_80, MIG("4g.40gb") ":\"1\"", GPU_PARTS / 7 * 4, false },
        { H100_80, MIG("1c.3g.40gb") ":\"1\"", GPU_PARTS / 2, false },
        { A30, MIG("1g.6gb") ":\"1\"", GPU_PARTS / 4, false },
        { SINGLE("1g.10gb"), "\"nvidia.com/gpu\":\"2\"", GPU_PARTS / 7 * 2, false },
        { "\"nvidia.com/gpu.replicas\":\"4\"", "\"nvidia.com/gpu\":\"1\"", GPU_PARTS / 4, false },
        { SINGLE("2g.20gb") "," REPLICAS("2"), "\"nvidia.com/gpu\":\"1\"", GPU_PARTS / 7, false },
        { H100_80 "," MIG_REPLICAS("3g.40gb", "4"), MIG("3g.40gb") ":\"1\"", GPU_PARTS / 8, false },
        { H100_80 "," MIG_REPLICAS("3g.40gb", "4"), MIG("1g.10gb") ":\"1\"", GPU_PARTS / 7, false },
        { H100_80 "," MIG_REPLICAS("3g.40gb", "4"), MIG("3g.40gb.shared") ":\"1\"", GPU_PARTS / 8,
          false },
        { H100_80, MIG("3g.40gb.shared") ":\"1\"", 0, true },
        { "\"nvidia.com/gpu.product\":\"NVIDIA-GH200-480GB-MIG-3g.48gb\"",
          "\"nvidia.com/gpu\":\"1\"", GPU_PARTS / 2, false },
        { "", "\"example.com/vgpu\":\"3\"", GPU_PARTS / 4 * 3, false },
        { "", "\"example.com/gpu-exporter\":\"3\"", 0, false },
        { "", "\"example.com/xgpu\":\"1\",\"nvidia.com/gpu\":\"1\"", GPU_PARTS, true },
        { "", "\"amd.com/gpu\":\"many\"", 0, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct snapshot snapshot = { 0 };
        struct pod *pod = pod_of(rows[i].limits);
        struct gpu_demand demand;

        snapshot_init(&snapshot);
        snapshot.accelerators = &configured;
        map_set(snapshot.nodes, "n", node_of(rows[i].labels, ""));
        demand = gpus_of_pod(&snapshot, pod);
        if (demand.parts != rows[i].parts || demand.is_whole != rows[i].is_whole)
            fail_msg("%s: %d parts, whole %d", rows[i].limits, (int)demand.parts, demand.is_whole);
        pod_free(pod);
        snapshot_clear(&snapshot);
    }
}

/* A quota is counted in its own resource; under a name that is no resource of GPUs, in GPUs. */
static void the_units_of_a_quota(void **state)
{
    static const struct {
        const char *resource;
        int units;
        int of_two_gpus;
    } rows[] = {
        { "nvidia.com/mig-1g.5gb", 28, 14 },
        { "nvidia.com/gpu", 4, 2 },
        { "amd.com/gpu", 0, 2 },
        { "gpus-of-the-team", 8, 2 },
        { NULL, 8, 2 },
    };
    struct snapshot snapshot;
    struct node *node = node_of("", "\"nvidia.com/gpu\":\"4\"," MIG("1g.5gb") ":\"28\"");

    (void)state;
    snapshot_init(&snapshot);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(gpus_units(&snapshot, node, rows[i].resource), rows[i].units);
        if (rows[i].resource)
            assert_int_equal(gpus_to_units(&snapshot, 2, rows[i].resource), rows[i].of_two_gpus);
    }
    node_free(node);
    snapshot_clear(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gpus_of_a_node),
        cmocka_unit_test(the_gpus_of_a_pod),
        cmocka_unit_test(the_units_of_a_quota),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
