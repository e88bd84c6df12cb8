/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dynamic Resource Allocation: the GPUs that slices show, and what a pod's claims hold of them.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/devices.h"
#include "clusters/gpus.h"
#include "clusters/kube_kinds.h"
#include "tests/support/unit.h"

#include <string.h>

/* The object as a watch hands it on: with the members that its kind says are read. */
static json_t *read(const struct kube_kind *kind, const char *chars)
{
    struct error err = { 0 };
    struct kube_extract *extract = kube_extract_new("case", kind->members);
    const char *end = kube_extract_add(extract, chars, chars + strlen(chars), &err);
    const struct text *text = end ? kube_extract_result(extract) : NULL;
    json_t *json = text ? json_parse(text->chars, text->length, "case", &err) : NULL;

    if (!json)
        fail_msg("%s: %s", chars, err.text);
    kube_extract_free(extract);
    return json;
}

/* As the watch stores what it decoded. */
static void put(struct map *objects, struct index *index, const struct kube_kind *kind,
                const char *chars)
{
    struct error err = { 0 };
    owned(json) json_t *object = read(kind, chars);
    void *decoded = kind->decode(object, &err);

    if (!decoded)
        fail_msg("%s: %s", chars, err.text);
    index_change(index, "", NULL, kind->index_key(decoded), decoded);
    map_set(objects, json_text_or(object, kind->key_path, "?"), decoded);
}

/* ---- slices ---- */

#define SLICE(name, driver, pool, generation, count, more)                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{"     \
    "\"nodeName\":\"n\",\"driver\":\"" driver "\",\"pool\":{\"name\":\"" pool                      \
    "\",\"generation\":" #generation ",\"resourceSliceCount\":" #count "}," more "}}"
#define NVIDIA(name, generation, count, more)                                                      \
    SLICE(name, "gpu.nvidia.com", "n", generation, count, more)
#define DEVICES(list) "\"devices\":[" list "]"
#define PLAIN(name)                                                                                \
    "{\"name\":\"" name "\",\"attributes\":{\"type\":{\"string\":\"gpu\"},\"uuid\":{\"string\":"   \
    "\"GPU-1\"}},\"capacity\":{\"memory\":{\"value\":\"80Gi\"}}}"
#define OLD(name) "{\"name\":\"" name "\",\"basic\":{\"attributes\":{}}}"
#define TAINTED(name, effect)                                                                      \
    "{\"name\":\"" name "\",\"taints\":[{\"key\":\"xid\",\"effect\":\"" effect "\"}]}"
#define VFIO(name) "{\"name\":\"" name "\",\"attributes\":{\"type\":{\"string\":\"vfio\"}}}"
#define CUT(name, parent, profile, product)                                                        \
    "{\"name\":\"" name                                                                            \
    "\",\"attributes\":{\"type\":{\"string\":\"mig\"},\"parentUUID\":{\"string\":"                 \
    "\"GPU-" parent "\"},\"profile\":{\"string\":\"" profile                                       \
    "\"},\"productName\":{\"string\":\"" product                                                   \
    "\"}},\"capacity\":{\"memory\":{\"value\":\"9728Mi\"},\"memorySlice0\":{\"value\":\"1\"}}}"
#define H100 "NVIDIA H100 80GB HBM3"
#define SEVEN(gpu)                                                                                 \
    CUT("gpu-" gpu "-mig-19-0-1", gpu, "1g.10gb", H100)                                            \
    "," CUT("gpu-" gpu "-mig-19-1-1", gpu, "1g.10gb", H100) "," CUT(                               \
        "gpu-" gpu "-mig-19-2-1", gpu, "1g.10gb",                                                  \
        H100) "," CUT("gpu-" gpu "-mig-19-3-1", gpu, "1g.10gb",                                    \
                      H100) "," CUT("gpu-" gpu "-mig-19-4-1", gpu, "1g.10gb",                      \
                                    H100) "," CUT("gpu-" gpu "-mig-19-5-1", gpu, "1g.10gb",        \
                                                  H100) "," CUT("gpu-" gpu "-mig-19-6-1", gpu,     \
                                                                "1g.10gb", H100)
#define NO_PARENT(name)                                                                            \
    "{\"name\":\"" name                                                                            \
    "\",\"attributes\":{\"type\":{\"string\":\"mig\"},\"profile\":{\"string\":"                    \
    "\"1g.10gb\"}}}"
#define USES(set, counters) "{\"counterSet\":\"" set "\",\"counters\":{" counters "}}"
#define PART(name, uses) "{\"name\":\"" name "\",\"consumesCounters\":[" uses "]}"
#define OLD_PART(name, uses) "{\"name\":\"" name "\",\"basic\":{\"consumesCounters\":[" uses "]}}"
#define COUNTER(name, value) "\"" name "\":{\"value\":\"" value "\"}"
#define ALL                                                                                        \
    COUNTER("memory", "80Gi")                                                                      \
    "," COUNTER("processors", "132") "," COUNTER("place-0", "1") "," COUNTER("place-1", "1")
#define HALF COUNTER("memory", "40Gi") "," COUNTER("processors", "60") "," COUNTER("place-0", "1")
#define SMALL COUNTER("memory", "10240Mi") "," COUNTER("processors", "16")
#define TOTALS                                                                                     \
    "\"sharedCounters\":[{\"name\":\"set-0\",\"counters\":{" ALL "}},"                             \
    "{\"name\":\"set-1\",\"counters\":{" ALL "}}]"
#define WHOLE_0 PART("gpu-0", USES("set-0", ALL)) ","
#define HALF_0 PART("gpu-0-half", USES("set-0", HALF)) ","
#define SMALL_0 PART("gpu-0-small", USES("set-0", SMALL)) ","
#define WHOLE_1 PART("gpu-1", USES("set-1", ALL)) ","
#define HALF_1 PART("gpu-1-half", USES("set-1", HALF)) ","
#define PAIR PART("pair", USES("set-0", ALL) "," USES("set-1", ALL)) ","
#define ODD PART("odd", USES("set-0", COUNTER("memory", "many"))) ","
#define EVIL PART("evil", USES("set-0", COUNTER("memory", "1Gi,x"))) ","
#define HUGE_ONE PART("huge", USES("set-0", COUNTER("memory", "9e307"))) ","
#define LOST PART("lost", USES("set-9", SMALL)) ","
#define NAMELESS PART("nameless", USES("set-0", COUNTER("", "5")))
#define PARTS WHOLE_0 HALF_0 SMALL_0 WHOLE_1 HALF_1 PAIR ODD EVIL HUGE_ONE LOST NAMELESS

enum { SLICES_MOST = 3 };

static const struct {
    const char *slices[SLICES_MOST];
    const char *allocatable;
    int gpus;
    const char *uncounted;
    const char *version;
} nodes[] = {
    { { NULL }, "", 0, "", "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))) }, "", 2, "", "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(OLD("gpu-0") "," OLD("gpu-1"))) }, "", 2, "", "v1beta1" },
    { { SLICE("a", "gpu.amd.com", "n", 1, 1, DEVICES(PLAIN("gpu-0"))) }, "", 1, "", "v1" },
    /* a pool is not complete, and is */
    { { NVIDIA("a", 1, 2, DEVICES(PLAIN("gpu-0"))) }, "", 0, "", "v1" },
    { { NVIDIA("a", 1, 2, DEVICES(PLAIN("gpu-0"))), NVIDIA("b", 1, 2, DEVICES(PLAIN("gpu-1"))) },
      "",
      2,
      "",
      "v1" },
    /* of two generations the newer counts */
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))),
        NVIDIA("b", 2, 1, DEVICES(PLAIN("gpu-0"))) },
      "",
      1,
      "",
      "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))),
        NVIDIA("b", 2, 2, DEVICES(PLAIN("gpu-0"))) },
      "",
      0,
      "",
      "v1" },
    /* devices that no pod gets, and other faces of one */
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," TAINTED("gpu-1", "NoSchedule"))) },
      "",
      1,
      "",
      "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," TAINTED("gpu-1", "None"))) },
      "",
      2,
      "",
      "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," VFIO("gpu-vfio-0"))) }, "", 1, "", "v1" },
    /* GPUs that can be cut; the totals are in a slice of their own, or beside the devices */
    { { NVIDIA("a", 1, 2, DEVICES(PARTS)), NVIDIA("b", 1, 2, TOTALS) }, "", 3, "", "v1" },
    { { NVIDIA("a", 1, 1,
               DEVICES(OLD_PART("gpu-0", USES("set-0", ALL)) "," OLD_PART(
                   "half", USES("set-0", HALF))) "," TOTALS) },
      "",
      1,
      "",
      "v1beta2" },
    /* GPUs that are cut already: a driver shows each slice, and its GPU once in each */
    { { NVIDIA("a", 1, 1, DEVICES(SEVEN("0") "," SEVEN("1"))) }, "", 2, "", "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(SEVEN("0") "," PLAIN("gpu-1"))) }, "", 2, "", "v1" },
    { { NVIDIA("a", 1, 1, DEVICES(NO_PARENT("x") "," NO_PARENT("y"))) }, "", 1, "", "v1" },
    /* drivers of other things, and of unknown ones */
    { { SLICE("a", "compute-domain.nvidia.com", "n", 1, 1, DEVICES(PLAIN("channel-0"))) },
      "",
      0,
      "",
      "v1" },
    { { SLICE("a", "tpu.google.com", "n", 1, 1, DEVICES(PLAIN("0"))) },
      "",
      0,
      "devices of tpu.google.com",
      "v1" },
    { { SLICE("a", "npu.example.com", "n", 1, 1, DEVICES(PLAIN("0") "," PLAIN("1"))) },
      "",
      2,
      "",
      "v1" },
    /* a plugin and a driver show the same GPUs */
    { { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))) },
      "\"nvidia.com/gpu\":\"2\"",
      2,
      "",
      "v1" },
};

static const struct accelerators configured = {
    .rows = { .items = (struct accelerator[]){ { "npu.example.com", GPU_PARTS } }, .count = 1 },
};

static void scene_init(struct snapshot *snapshot, const char *const *slices, const char *version,
                       const char *allocatable)
{
    struct error err = { 0 };
    owned(chars) char *chars = text_format("{\"metadata\":{\"name\":\"n\",\"uid\":\"u\","
                                           "\"resourceVersion\":\"1\"},\"status\":{"
                                           "\"allocatable\":{%s}}}",
                                           allocatable);
    owned(json) json_t *object = json_parse(chars, strlen(chars), "node", &err);

    snapshot_init(snapshot);
    snapshot->accelerators = &configured;
    map_set(snapshot->nodes, "n", node_decode(object, &err));
    for (size_t i = 0; i < SLICES_MOST && slices[i]; i++)
        put(snapshot->slices, snapshot->slices_by_node, kube_slices_of(version), slices[i]);
}

static void slices_show_the_gpus_of_a_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        struct snapshot snapshot;
        owned(text) struct text *uncounted = text_new(100);
        const struct node *node;

        scene_init(&snapshot, nodes[i].slices, nodes[i].version, nodes[i].allocatable);
        node = map_get(snapshot.nodes, "n");
        gpus_uncounted(&snapshot, node, uncounted);
        if (gpus_of_node(&snapshot, node) != nodes[i].gpus ||
            !text_equal(uncounted->chars, nodes[i].uncounted))
            fail_msg("row %zu: %d GPUs, not counted: %s", i, (int)gpus_of_node(&snapshot, node),
                     uncounted->chars);
        snapshot_clear(&snapshot);
    }
}

/* A quota of nvidia.com/gpu grows by GPUs that pods get from NVIDIA's driver, and by no other's. */
static void quotas_count_what_a_driver_gives_under_their_name(void **state)
{
    static const char *const slices[SLICES_MOST] = { NVIDIA(
        "a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))) };
    struct snapshot snapshot;
    const struct node *node;

    (void)state;
    scene_init(&snapshot, slices, "v1", "");
    node = map_get(snapshot.nodes, "n");
    assert_int_equal(gpus_units(&snapshot, node, "nvidia.com/gpu"), 2);
    assert_int_equal(gpus_units(&snapshot, node, "amd.com/gpu"), 0);
    assert_int_equal(gpus_units(&snapshot, node, "nvidia.com/mig-1g.5gb"), 0);
    assert_int_equal(gpus_units(&snapshot, node, "whole-gpus"), 2);
    snapshot_clear(&snapshot);
}

/* A GPU that is not among those that are cut may be missing, or as its owner wants it. */
static void slices_of_a_driver_are_slices(void **state)
{
    static const struct {
        const char *devices;
        const char *slices;
    } rows[] = {
        { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," PLAIN("gpu-1"))), "" },
        { NVIDIA("a", 1, 1, DEVICES(PLAIN("gpu-0") "," SEVEN("1"))),
          "MIG devices of gpu.nvidia.com 7" },
        { NVIDIA("a", 1, 1, DEVICES(NO_PARENT("x"))), "MIG devices of gpu.nvidia.com 1" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const slices[SLICES_MOST] = { rows[i].devices };
        owned(text) struct text *names = text_new(100);
        struct snapshot snapshot;

        scene_init(&snapshot, slices, "v1", "");
        gpus_slices(&snapshot, map_get(snapshot.nodes, "n"), names);
        assert_string_equal(names->chars, rows[i].slices);
        snapshot_clear(&snapshot);
    }
}

/* ---- claims ---- */

#define CLAIM(status)                                                                              \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"c\",\"uid\":\"u-c\",\"resourceVersion\":\"1\"}" \
    ","                                                                                            \
    "\"spec\":{\"devices\":{\"requests\":[]}},\"status\":{" status "}}"
#define GIVEN(results) "\"allocation\":{\"devices\":{\"results\":[" results "]}}"
#define DEVICE_OF(driver, name)                                                                    \
    "{\"request\":\"r\",\"driver\":\"" driver "\",\"pool\":\"n\",\"device\":\"" name "\"}"
#define GPU(name) DEVICE_OF("gpu.nvidia.com", name)
#define SLICE_OF(name)                                                                             \
    "{\"request\":\"r\",\"driver\":\"gpu.nvidia.com\",\"pool\":\"cut\",\"device\":\"" name "\"}"
#define WATCHED(name)                                                                              \
    "{\"request\":\"r\",\"driver\":\"gpu.nvidia.com\",\"pool\":\"n\",\"device\":\"" name           \
    "\",\"adminAccess\":true}"
#define TWO_PODS                                                                                   \
    ",\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"1\"},"                      \
    "{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"2\"}]"
#define A_GROUP ",\"reservedFor\":[{\"apiGroup\":\"scheduling.k8s.io\",\"resource\":\"podgroups\"}]"
#define NAMED "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"c\"}]"
#define TEMPLATE "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t\"}]"
#define MADE(more) "\"resourceClaimStatuses\":[{\"name\":\"gpu\"" more "}]"

static const char *const claimed_slices[SLICES_MOST] = {
    NVIDIA("a", 1, 2, DEVICES(PARTS)),
    NVIDIA("b", 1, 2, TOTALS),
    SLICE(
        "c", "gpu.nvidia.com", "cut", 1, 1,
        DEVICES(CUT("small", "0", "1g.10gb", H100) "," CUT("middle", "0", "3g.40gb", H100) "," CUT(
            "other", "1", "1g.10gb",
            "NVIDIA A100-SXM4-40GB") "," CUT("grace", "2", "3g.48gb",
                                             "NVIDIA GH200 480GB") "," CUT("new", "3", "9g.10gb",
                                                                           H100) "," CUT("secre"
                                                                                         "t",
                                                                                         "3",
                                                                                         "1g."
                                                                                         "10gb",
                                                                                         "?"))),
};

static const struct {
    const char *spec;
    const char *status;
    const char *claim; /* NULL: none is known */
    int64_t parts;
    bool is_whole;
} claimed[] = {
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0") "," GPU("gpu-1"))), 2 * GPU_PARTS, false },
    { TEMPLATE, MADE(",\"resourceClaimName\":\"c\""), CLAIM(GIVEN(GPU("gpu-0"))), GPU_PARTS,
      false },
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0-half"))), GPU_PARTS / 2, false },
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0-small"))), GPU_PARTS / 8, false },
    { NAMED, "", CLAIM(GIVEN(GPU("pair"))), 2 * GPU_PARTS, false },
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0")) TWO_PODS), GPU_PARTS / 2, false },
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0")) A_GROUP), GPU_PARTS, false },
    { NAMED, "", CLAIM(GIVEN(WATCHED("gpu-0"))), 0, false },
    { NAMED, "", CLAIM(GIVEN(DEVICE_OF("compute-domain.nvidia.com", "channel-0"))), 0, false },
    { NAMED, "", CLAIM(GIVEN(DEVICE_OF("npu.example.com", "x"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(DEVICE_OF("tpu.google.com", "x"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(GPU("gpu-0") "," GPU("gpu-7"))), GPU_PARTS, true },
    { NAMED, "", CLAIM(GIVEN(GPU("odd"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(GPU("lost"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(GPU("evil"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(GPU("nameless"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(GPU("huge"))), 0, true },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("small"))), GPU_PARTS / 7, false },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("middle"))), GPU_PARTS / 2, false },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("other"))), GPU_PARTS / 4, false },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("grace"))), GPU_PARTS / 2, false },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("secret"))), GPU_PARTS / 4, false },
    { NAMED, "", CLAIM(GIVEN(SLICE_OF("new"))), 0, true },
    { NAMED, "", CLAIM(""), 0, true },
    { NAMED, "", NULL, 0, true },
    { TEMPLATE, "", CLAIM(GIVEN(GPU("gpu-0"))), 0, true },
    { TEMPLATE, MADE(""), NULL, 0, false }, /* it needed none */
    { "\"resourceClaims\":[]", "", NULL, 0, false },
};

static void claims_are_what_a_pod_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(claimed); i++) {
        struct snapshot snapshot;
        owned(chars) char *chars = text_format(
            "{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\",\"uid\":\"1\"},"
            "\"spec\":{\"nodeName\":\"n\",%s},\"status\":{%s}}",
            claimed[i].spec, claimed[i].status);
        owned(json) json_t *object = read(&kube_pods, chars);
        struct error err = { 0 };
        struct pod *pod = pod_decode(object, &err);
        struct gpu_demand demand;

        scene_init(&snapshot, claimed_slices, "v1", "");
        if (claimed[i].claim)
            put(snapshot.claims, snapshot.claims_by_key, kube_claims_of("v1"), claimed[i].claim);
        assert_non_null(pod);
        demand = gpus_of_pod(&snapshot, pod);
        if (demand.parts != claimed[i].parts || demand.is_whole != claimed[i].is_whole)
            fail_msg("row %zu: %d parts, whole %d", i, (int)demand.parts, demand.is_whole);
        pod_free(pod);
        snapshot_clear(&snapshot);
    }
}

static void what_cannot_be_read_is_refused_by_path(void **state)
{
    static const struct {
        const char *object;
        const char *words;
    } rows[] = {
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"pool\":{\"name\":\"p\"}}}",
          "resourceslices/a: spec/driver" },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\"}}",
          "resourceslices/a: spec/pool/name" },
        { "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\"},"
          "\"devices\":{}}}",
          "resourceslices/a: spec/devices" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(json) json_t *object = read(kube_slices_of("v1"), rows[i].object);

        assert_null(device_slice_decode(object, &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
        if (!text_starts_with(err.text, rows[i].words))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_show_the_gpus_of_a_node),
        cmocka_unit_test(quotas_count_what_a_driver_gives_under_their_name),
        cmocka_unit_test(slices_of_a_driver_are_slices),
        cmocka_unit_test(claims_are_what_a_pod_holds),
        cmocka_unit_test(what_cannot_be_read_is_refused_by_path),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
