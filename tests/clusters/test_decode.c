/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API objects -> struct node and struct pod, the classes of pods, and the patch of a node.
 */
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "clusters/gpus.h"
#include "clusters/kube_kinds.h"
#include "clusters/snapshot.h"
#include "tests/support/unit.h"

#include <string.h>

/* The object as a watch hands it on: with the members that its kind says are read. */
static json_t *parse(const struct kube_kind *kind, const char *chars)
{
    struct error err = { 0 };
    struct kube_extract *extract = kube_extract_new("case", kind->members);
    const char *end = kube_extract_add(extract, chars, chars + strlen(chars), &err);
    const struct text *text = end ? kube_extract_result(extract) : NULL;
    json_t *json = text ? json_parse(text->chars, text->length, "case", &err) : NULL;
    if (!json)
        fail_msg("%s", err.text);
    kube_extract_free(extract);
    return json;
}

#define NODE_META "\"metadata\":{\"name\":\"n\",\"uid\":\"U\",\"resourceVersion\":\"9\""

/* Counted without a configuration that says more; -1: something of them cannot be read. */
static int64_t node_gpus(const struct node *node)
{
    owned(text) struct text *uncounted = text_new(TEXT_UNBOUNDED);
    struct snapshot nothing;
    int64_t gpus;

    snapshot_init(&nothing);
    gpus = gpus_of_node(&nothing, node);
    gpus_uncounted(&nothing, node, uncounted);
    gpus = uncounted->length > 0 ? -1 : gpus;
    snapshot_clear(&nothing);
    return gpus;
}

static struct gpu_demand gpus_of(const struct pod *pod)
{
    struct snapshot nothing;
    struct gpu_demand demand;

    snapshot_init(&nothing);
    demand = gpus_of_pod(&nothing, pod);
    snapshot_clear(&nothing);
    return demand;
}

static void a_whole_node_is_read(void **state)
{
    (void)state;
    struct error err = { 0 };
    owned(json) json_t *object = parse(
        &kube_nodes, "{" NODE_META ",\"labels\":{\"pool\":\"a\"},\"annotations\":{\"k/x\":\"y\"},"
                     "\"creationTimestamp\":\"2026-11-17T12:12:05Z\","
                     "\"deletionTimestamp\":\"2026-11-18T00:00:00Z\"},"
                     "\"spec\":{\"providerID\":\"gce://p/z/n\",\"unschedulable\":true,"
                     "\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}]},"
                     "\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"8\",\"cpu\":\"208\","
                     "\"nvidia.com/mig-1g.10gb\":\"7\",\"amd.com/gpu\":\"0\"},"
                     "\"conditions\":[{\"type\":\"Other\",\"status\":\"False\"},"
                     "{\"type\":\"Hot\",\"status\":\"True\",\"reason\":\"Sun\",\"message\":\"m\"},"
                     "{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    struct node *node = node_decode(object, &err);
    assert_non_null(node);
    assert_string_equal(node->name, "n");
    assert_string_equal(node->uid, "U");
    assert_string_equal(node->resource_version, "9");
    assert_string_equal(node->provider_id, "gce://p/z/n");
    assert_true(node->is_unschedulable);
    assert_true(node->is_ready);
    assert_string_equal(node->troubles, "Hot is True (Sun)");
    assert_true(node->is_leaving);
    assert_string_equal(packed_map_get(node->devices, "nvidia.com/gpu"), "8");
    assert_string_equal(packed_map_get(node->devices, "nvidia.com/mig-1g.10gb"), "7");
    assert_null(packed_map_get(node->devices, "amd.com/gpu"));
    assert_null(packed_map_get(node->devices, "cpu"));
    assert_int_equal(node->created.ms, 1794917525000);
    assert_string_equal(node_label(node, "pool"), "a");
    assert_string_equal(node_annotation(node, "k/x"), "y");
    assert_null(node_label(node, "absent"));
    assert_true(node_has_taint(node, "t"));
    assert_false(node_has_taint(node, "u"));
    node_free(node);
}

static void gpu_quantities_are_read_or_refused(void **state)
{
    static const struct {
        const char *quantity;
        int want; /* -1: refused */
    } cases[] = {
        { "\"8\"", 8 },
        { "8", 8 },
        { "\"0\"", 0 },
        { "\"1k\"", 1000 },
        { "\"4000m\"", 4 },
        { "\"4500m\"", -1 },
        { "\"\"", -1 },
        { "\"eight\"", -1 },
        { "-1", -1 },
        { "\"-1\"", -1 },
        { "\"99999999999\"", -1 },
        { "[8]", -1 },
        { "\"9999999k\"", -1 },
        { "8.5", -1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            "{" NODE_META "},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":%s}}}",
            cases[i].quantity);
        owned(json) json_t *object = parse(&kube_nodes, chars);
        struct node *node = node_decode(object, &err);
        if (!node || node_gpus(node) != cases[i].want)
            fail_msg("%s: %s", cases[i].quantity, err.text);
        node_free(node);
    }
}

static void a_node_that_lacks_something_is_refused_by_path(void **state)
{
    static const struct {
        const char *object;
        const char *path;
    } cases[] = {
        { "{}", "metadata/name" },
        { "{\"metadata\":{\"name\":\"n\"}}", "metadata/uid" },
        { "{\"metadata\":{\"name\":\"\",\"uid\":\"U\"}}", "metadata/name" },
        { "{\"metadata\":{\"name\":\"n\",\"uid\":\"U\"}}", "metadata/resourceVersion" },
        { "{" NODE_META ",\"labels\":{\"a\":1}}}", "metadata/labels" },
        { "{" NODE_META ",\"labels\":[]}}", "metadata/labels" },
        { "{" NODE_META ",\"creationTimestamp\":\"noon\"}}", "metadata/creationTimestamp" },
        { "{" NODE_META "},\"spec\":{\"unschedulable\":\"yes\"}}", "spec/unschedulable" },
        { "{" NODE_META "},\"spec\":{\"taints\":[{}]}}", "spec/taints" },
        { "{" NODE_META "},\"status\":{\"conditions\":{}}}", "status/conditions" },
        { "{" NODE_META "},\"status\":{\"allocatable\":7}}", "status/allocatable" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(json) json_t *object = parse(&kube_nodes, cases[i].object);
        assert_null(node_decode(object, &err));
        assert_int_equal(err.kind, ERROR_CORRUPT);
        if (!strstr(err.text, cases[i].path) || !strstr(err.text, "nodes/"))
            fail_msg("%s: %s", cases[i].object, err.text);
    }
}

#define POD(meta, rest)                                                                            \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\",\"uid\":\"U\"" meta "}" rest "}"
#define OWNER(kind)                                                                                \
    ",\"ownerReferences\":[{\"apiVersion\":\"g/v\",\"kind\":\"" kind "\",\"name\":\"o\","          \
    "\"controller\":true}]"

#define LEAVING(grace_s)                                                                           \
    ",\"deletionTimestamp\":\"2026-11-17T12:12:05Z\",\"deletionGracePeriodSeconds\":" grace_s
#define HELD(finalizers) ",\"finalizers\":[" finalizers "]"

static void pods_fall_into_their_classes(void **state)
{
    static const struct {
        const char *object;
        enum pod_class class;
        bool must_leave;
    } cases[] = {
        { POD(",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}", ""), POD_CLASS_MIRROR,
          false },
        { POD(OWNER("Node"), ""), POD_CLASS_MIRROR, false },
        { POD(OWNER("DaemonSet"), ""), POD_CLASS_DAEMON, false },
        { POD(OWNER("DaemonSet"), ",\"status\":{\"phase\":\"Failed\"}"), POD_CLASS_DAEMON, false },
        { POD(OWNER("Job"), ",\"status\":{\"phase\":\"Succeeded\"}"), POD_CLASS_FINISHED, false },
        { POD("", ",\"status\":{\"phase\":\"Failed\"}"), POD_CLASS_FINISHED, false },
        { POD(OWNER("ReplicaSet"), ",\"status\":{\"phase\":\"Running\"}"), POD_CLASS_WORK, true },
        { POD(OWNER("Job"), ",\"status\":{\"phase\":\"Unknown\"}"), POD_CLASS_WORK, true },
        { POD("", ",\"status\":{\"phase\":\"Pending\"}"), POD_CLASS_UNMANAGED, true },
        { POD(",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"o\"}]", ""),
          POD_CLASS_UNMANAGED, true }, /* owned, but not by a controller */
        /* stopped, and only to be counted by its Job's controller */
        { POD(OWNER("Job") LEAVING("0") HELD("\"" POD_JOB_FINALIZER "\""), ""), POD_CLASS_FINISHED,
          false },
        { POD(OWNER("Job") LEAVING("1") HELD("\"" POD_JOB_FINALIZER "\""), ""), POD_CLASS_WORK,
          true },
        { POD(OWNER("Job") LEAVING("0") HELD("\"" POD_JOB_FINALIZER "\",\"x/y\""), ""),
          POD_CLASS_WORK, true },
        { POD(OWNER("Job") ",\"deletionGracePeriodSeconds\":0" HELD("\"" POD_JOB_FINALIZER "\""),
              ""),
          POD_CLASS_WORK, true },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(json) json_t *object = parse(&kube_pods, cases[i].object);
        struct pod *pod = pod_decode(object, &err);
        if (!pod)
            fail_msg("%zu: %s", i, err.text);
        if (pod_class_of(pod) != cases[i].class || pod_must_leave(pod) != cases[i].must_leave)
            fail_msg("%s: class %d", cases[i].object, (int)pod_class_of(pod));
        pod_free(pod);
    }
}

static void a_whole_pod_is_read(void **state)
{
    (void)state;
    struct error err = { 0 };
    owned(json) json_t *object = parse(
        &kube_pods,
        POD(OWNER("Job") ",\"finalizers\":[\"batch.kubernetes.io/job-tracking\"],"
                         "\"creationTimestamp\":\"2026-11-17T12:12:05Z\","
                         "\"deletionTimestamp\":\"2026-11-17T12:13:05Z\",\"labels\":{\"l\":\"v\"}",
            ",\"spec\":{\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":0,"
            "\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"2\"}}},"
            "{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}},{}]},"
            "\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-11-17T12:12:06Z\","
            "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}"));
    struct pod *pod = pod_decode(object, &err);
    assert_non_null(pod);
    assert_string_equal(pod->namespace, "s");
    assert_string_equal(pod->node_name, "n");
    assert_string_equal(pod->owner_kind, "Job");
    assert_string_equal(pod->owner_name, "o");
    assert_string_equal(pod->owner_version, "g/v");
    assert_string_equal(pod_label(pod, "l"), "v");
    assert_int_equal(pod->phase, POD_RUNNING);
    assert_int_equal(pod->grace_s, 0);
    assert_int_equal(gpus_of(pod).parts, 3 * GPU_PARTS);
    assert_true(pod->is_ready);
    assert_string_equal(pod->finalizers, "batch.kubernetes.io/job-tracking");
    assert_int_equal(pod->started.ms - pod->created.ms, 1000);
    assert_int_equal(pod->deletion.ms - pod->created.ms, 60000);
    pod_free(pod);
}

static void nodes_of_slurm_are_told_from_plain_pods(void **state)
{
#define MADE_BY(api, kind)                                                                         \
    "\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind                            \
    "\",\"name\":\"o\",\"controller\":true}]"
    static const struct {
        const char *metadata;
        const char *tool; /* NULL: none */
    } rows[] = {
        { MADE_BY("slinky.slurm.net/v1beta1", "NodeSet"), "Slinky" },
        { MADE_BY("slinky.slurm.net/v1beta1", "Controller"), NULL },
        { MADE_BY("apps/v1", "StatefulSet") ",\"labels\":{\"nodeset.slinky.slurm.net/"
                                            "pod-name\":\"slurm-worker-0\"}",
          "Slinky" },
        { "\"labels\":{\"app.kubernetes.io/name\":\"slurmd\"}", "Slinky" },
        { "\"labels\":{\"app.kubernetes.io/name\":\"slurmctld\"}", NULL },
        { MADE_BY("sunk.coreweave.com/v1alpha1", "NodeSet"), "SUNK" },
        { MADE_BY("apps/v1",
                  "ReplicaSet") ",\"annotations\":{\"sunk.coreweave.com/account\":\"root\"}",
          NULL }, /* a pod that SUNK's scheduler places */
        { "\"labels\":{\"slurm.nebius.ai/worker\":\"true\"}", "Soperator" },
        { "\"labels\":{\"app.kubernetes.io/name\":\"SlurmCluster\","
          "\"app.kubernetes.io/component\":\"worker\"}",
          "Soperator" },
        { "\"labels\":{\"app.kubernetes.io/name\":\"SlurmCluster\","
          "\"app.kubernetes.io/component\":\"login\"}",
          NULL },
        { "\"labels\":{\"app.kubernetes.io/component\":\"worker\"}", NULL },
        { MADE_BY("example.com/v1", "NodeSet"), NULL },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            "{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\",\"uid\":\"U\",%s}}",
            rows[i].metadata);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);
        assert_non_null(pod);
        if (!text_equal(pod_slurm_tool(pod), rows[i].tool))
            fail_msg("%s: %s", rows[i].metadata, pod_slurm_tool(pod) ?: "no tool");
        pod_free(pod);
    }
}

/* The name that Slurm has for the pod, by its tool's rules. */
static void the_name_of_a_slurm_node_is_read(void **state)
{
#define SLINKY_POD "\"labels\":{\"nodeset.slinky.slurm.net/pod-name\":\"p\""
#define SLINKY_HOSTNAME ",\"nodeset.slinky.slurm.net/pod-hostname\":"
    static const struct {
        const char *metadata, *spec, *name;
    } rows[] = {
        { SLINKY_POD SLINKY_HOSTNAME "\"gpu-7\"}", "\"hostname\":\"gpu-7\"", "gpu-7" },
        { SLINKY_POD "}", "\"hostname\":\"gpu-7\"", "gpu-7" }, /* as slurm-operator 0.4 writes it */
        { SLINKY_POD "}", "\"nodeName\":\"n\"", "p" },
        { SLINKY_POD SLINKY_HOSTNAME "\"\"}", "\"hostNetwork\":true,\"nodeName\":\"n\"", "n" },
        { SLINKY_POD SLINKY_HOSTNAME "\"\"}", "\"hostNetwork\":true,\"hostname\":\"p\"", NULL },
        { MADE_BY("slinky.slurm.net/v1beta1", "NodeSet"), "", "p" },
        { MADE_BY("sunk.coreweave.com/v1alpha1", "NodeSet"), "\"hostname\":\"h\"", "p" },
        { "\"labels\":{\"slurm.nebius.ai/worker\":\"true\"}", "", "p" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            "{\"metadata\":{\"namespace\":\"s\",\"name\":\"p\",\"uid\":\"U\",%s},\"spec\":{%s}}",
            rows[i].metadata, rows[i].spec);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);

        assert_non_null(pod);
        if (!text_equal(pod_slurm_node(pod), rows[i].name))
            fail_msg("%s: %s", rows[i].metadata, pod_slurm_node(pod) ?: "no name");
        pod_free(pod);
    }
}

static void the_priority_of_a_pod_is_read_or_refused(void **state)
{
    static const struct {
        const char *spec;
        int priority;
        const char *class; /* NULL: refused */
    } rows[] = {
        { "{}", 0, "" },
        { "{\"priority\":-7,\"priorityClassName\":\"low\"}", -7, "low" },
        { "{\"priority\":2000001000}", 2000001000, "" },
        { "{\"priority\":9000000000}", 0, NULL },
        { "{\"priority\":\"high\"}", 0, NULL },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(POD("", ",\"spec\":%s"), rows[i].spec);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);
        if (!pod != !rows[i].class || (pod && (pod->priority != rows[i].priority ||
                                               !text_equal(pod->priority_class, rows[i].class))))
            fail_msg("%s: %s", rows[i].spec, err.text);
        pod_free(pod);
    }
}

static void what_is_on_the_disk_of_a_pod(void **state)
{
    static const struct {
        const char *volume;
        bool is_local;
        int claims;
    } cases[] = {
        { "{\"name\":\"v\",\"emptyDir\":{}}", true, 0 },
        { "{\"name\":\"v\",\"emptyDir\":{\"medium\":\"Memory\"}}", false, 0 },
        { "{\"hostPath\":{\"path\":\"/data\"}}", true, 0 },
        { "{\"persistentVolumeClaim\":{\"claimName\":\"c\"}}", false, 1 },
        { "{\"ephemeral\":{\"volumeClaimTemplate\":{\"spec\":{}}}}", false, 1 },
        { "{\"configMap\":{}},{\"projected\":{\"sources\":[{}]}}", false, 0 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(POD("", ",\"spec\":{\"volumes\":[%s]}"),
                                               cases[i].volume);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);
        assert_non_null(pod);
        if (pod->has_local_storage != cases[i].is_local || pod->claims != cases[i].claims)
            fail_msg("%s: local %d, claims %d", chars, pod->has_local_storage, (int)pod->claims);
        pod_free(pod);
    }
}

static void gpus_of_a_pod_are_counted_as_the_scheduler_does(void **state)
{
#define GPUS(count) "{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"" count "\"}}}"
#define SIDECAR(count)                                                                             \
    "{\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"" count "\"}}}"
    static const struct {
        const char *spec;
        int want;
    } cases[] = {
        { "{}", 0 },
        { "{\"containers\":[" GPUS("4") "," GPUS("4") "]}", 8 },
        { "{\"containers\":[" GPUS("1") "],\"initContainers\":[" GPUS("4") "," GPUS("2") "]}", 4 },
        { "{\"containers\":[" GPUS("2") "],\"initContainers\":[" SIDECAR("1") "]}", 3 },
        { "{\"containers\":[" GPUS("1") "],\"initContainers\":[" SIDECAR("1") "," GPUS("4") "]}",
          5 },
        { "{\"containers\":{}}", -1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(POD("", ",\"spec\":%s"), cases[i].spec);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);
        if (pod ? gpus_of(pod).parts != cases[i].want * GPU_PARTS : cases[i].want != -1)
            fail_msg("%s: %s", cases[i].spec, err.text);
        pod_free(pod);
    }
}

static void accelerators_that_are_not_counted_are_noticed(void **state)
{
#define LIMIT(name, count)                                                                         \
    "{\"resources\":{\"limits\":{\"" name "\":\"" count "\",\"memory\":\"8\"}}}"
    static const struct {
        const char *spec;
        int64_t parts;
        bool others;
    } cases[] = {
        { "{}", 0, false },
        { "{\"containers\":[" LIMIT("cpu", "2") "]}", 0, false },
        { "{\"containers\":[" LIMIT("nvidia.com/gpu", "8") "]}", 8 * GPU_PARTS, false },
        { "{\"containers\":[" LIMIT("rdma/hca", "1") "]}", 0, false },
        { "{\"containers\":[" LIMIT("example.com/input-device", "1") "]}", 0, false },
        { "{\"containers\":[" LIMIT("nvidia.com/mig-1g.10gb", "1") "]}", GPU_PARTS / 4, false },
        { "{\"containers\":[" LIMIT("nvidia.com/mig-3g.20gb", "x") "]}", 0, true },
        { "{\"containers\":[" LIMIT("nvidia.com/mig-9g.90gb", "1") "]}", 0, true },
        { "{\"containers\":[" LIMIT("nvidia.com/mig-1g.10gb", "0") "]}", 0, false },
        { "{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":true}}}]}", 0, true },
        { "{\"containers\":[" LIMIT("x.y/z", "2147483647") "," LIMIT("x.y/z", "2147483647") "]}", 0,
          false },
        { "{\"containers\":[" LIMIT("nvidia.com/gpu", "2147483647") "," LIMIT("nvidia.com/gpu",
                                                                              "1") "]}",
          0, true },
        { "{\"initContainers\":[" LIMIT("nvidia.com/gpu", "2147483647") "],\"containers\":[" LIMIT(
              "nvidia.com/gpu", "9999999999") "]}",
          0, true },
        { "{\"containers\":[" LIMIT("nvidia.com/gpu", "2147483647") "]}", 0, true },
        { "{\"containers\":[" LIMIT("amd.com/gpu", "8") "]}", 8 * GPU_PARTS, false },
        { "{\"containers\":[" LIMIT("nvidia.com/gpu.shared", "1") "]}", 0, true },
        { "{\"containers\":[" LIMIT("gpu.intel.com/i915", "1") "]}", GPU_PARTS, false },
        { "{\"containers\":[" LIMIT("aws.amazon.com/neuroncore", "2") "]}", 0, true },
        { "{\"containers\":[" LIMIT("huawei.com/Ascend910", "2") "]}", 0, true },
        { "{\"containers\":[" LIMIT("nvidia.com/gpu", "4") "," LIMIT("google.com/tpu", "1") "]}",
          4 * GPU_PARTS, true },
        { "{\"containers\":[{\"resources\":{\"requests\":{\"amd.com/gpu\":2}}}]}", 2 * GPU_PARTS,
          false },
        { "{\"initContainers\":[" LIMIT("amd.com/gpu", "1") "]}", GPU_PARTS, false },
        { "{\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimTemplateName\":\"t\"}]}", 0,
          true },
        { "{\"resourceClaims\":[]}", 0, false },
        { "{\"resourceClaims\":null}", 0, false },
        { "{\"resourceClaims\":{}}", 0, true },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(POD("", ",\"spec\":%s"), cases[i].spec);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);
        if (!pod || gpus_of(pod).parts != cases[i].parts ||
            gpus_of(pod).is_whole != cases[i].others)
            fail_msg("%s: %s", cases[i].spec, err.text);
        pod_free(pod);
    }
}

static void defaults_of_a_pod(void **state)
{
    (void)state;
    struct error err = { 0 };
    owned(json) json_t *object = parse(&kube_pods, POD("", ""));
    struct pod *pod = pod_decode(object, &err);
    assert_non_null(pod);
    assert_int_equal(pod->grace_s, 30);
    assert_int_equal(pod->phase, POD_PENDING);
    assert_string_equal(pod->node_name, "");
    assert_string_equal(pod->owner_kind, "");
    assert_int_equal(pod->deletion.ms, 0);
    pod_free(pod);

    owned(json) json_t *odd = parse(&kube_pods, POD("", ",\"status\":{\"phase\":\"Dreaming\"}"));
    assert_null(pod_decode(odd, &err));
    assert_non_null(strstr(err.text, "pods/s/p"));
}

/* Whatever its owner wrote, sums of it with times stay in range. */
static void the_grace_of_a_pod_is_bounded(void **state)
{
    static const struct {
        const char *grace;
        int64_t want_s;
    } cases[] = {
        { "0", 0 },
        { "600", 600 },
        { "-1", 1 },
        { "-9223372036854775807", 1 },
        { "1000000000", 1000000000 },
        { "9223372036854775807", 1000000000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(chars) char *chars = text_format(
            POD("", ",\"spec\":{\"terminationGracePeriodSeconds\":%s}"), cases[i].grace);
        owned(json) json_t *object = parse(&kube_pods, chars);
        struct pod *pod = pod_decode(object, &err);

        assert_non_null(pod);
        if (pod->grace_s != cases[i].want_s)
            fail_msg("%s: %lld", cases[i].grace, (long long)pod->grace_s);
        pod_free(pod);
    }
}

static void what_can_be_read_of_a_pod_stands_in_for_it(void **state)
{
    static const struct {
        const char *object;
        const char *facts; /* "NAMESPACE/NAME UID NODE OWNER LABEL FINALIZERS" */
        enum pod_class class;
    } cases[] = {
        { "7", "?/? ?    ", POD_CLASS_UNMANAGED },
        { "{}", "?/? ?    ", POD_CLASS_UNMANAGED },
        { POD("", ",\"spec\":{\"nodeName\":\"n\",\"containers\":7}"), "s/p U n   ",
          POD_CLASS_UNMANAGED },
        { POD(",\"labels\":7,\"finalizers\":[\"a/b\"]", ",\"spec\":{\"nodeName\":\"n\"}"),
          "s/p U n   a/b", POD_CLASS_UNMANAGED },
        { POD(OWNER("DaemonSet") ",\"labels\":{\"l\":\"v\"}",
              ",\"spec\":{\"nodeName\":\"n\",\"priority\":\"x\"}"),
          "s/p U n DaemonSet v ", POD_CLASS_DAEMON },
        { POD(",\"ownerReferences\":[{\"controller\":true}]", ",\"spec\":{\"nodeName\":7}"),
          "s/p U    ", POD_CLASS_UNMANAGED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(json)
            json_t *object = json_parse(cases[i].object, strlen(cases[i].object), "pod", &err);
        struct pod *pod = pod_stand_in(object, NULL);
        owned(chars) char *facts = text_format("%s/%s %s %s %s %s %s", pod->namespace, pod->name,
                                               pod->uid, pod->node_name, pod->owner_kind,
                                               pod_label(pod, "l") ?: "", pod->finalizers);

        if (!text_equal(facts, cases[i].facts) || pod_class_of(pod) != cases[i].class)
            fail_msg("%s: %s, class %d", cases[i].object, facts, pod_class_of(pod));
        assert_true(pod->is_unread && gpus_of(pod).is_whole);
        pod_free(pod);
    }
}

static void a_change_is_one_locked_patch(void **state)
{
    static const char lock[] = "\"metadata\":{\"uid\":\"U\",\"resourceVersion\":\"9\"";
    struct error err = { 0 };
    (void)state;
    owned(json) json_t *object = parse(
        &kube_nodes, "{" NODE_META "},\"spec\":{\"taints\":[{\"key\":\"other\",\"value\":\"1\","
                     "\"effect\":\"NoExecute\",\"timeAdded\":\"t\"},"
                     "{\"key\":\"ours\",\"effect\":\"PreferNoSchedule\"}]}}");
    owned(json) json_t *annotations = json_make("{s:s, s:n}", "a", "1", "b");
    owned(json) json_t *labels = json_make("{s:s}", "l", "v");
    struct node *node = node_decode(object, &err);
    assert_non_null(node);
    const struct {
        struct node_change change;
        const char *want; /* after the lock */
    } cases[] = {
        { { .cordon = NODE_KEEP }, "}}" },
        { { .cordon = NODE_CORDON }, "},\"spec\":{\"unschedulable\":true}}" },
        { { .cordon = NODE_UNCORDON }, "},\"spec\":{\"unschedulable\":false}}" },
        { { .annotations = annotations, .labels = labels },
          ",\"annotations\":{\"a\":\"1\",\"b\":null},\"labels\":{\"l\":\"v\"}}}" },
        { { .taint_key = "ours", .taint_value = "x", .taint_effect = "NoSchedule" },
          "},\"spec\":{\"taints\":[{\"key\":\"other\",\"value\":\"1\",\"effect\":\"NoExecute\","
          "\"timeAdded\":\"t\"},{\"key\":\"ours\",\"value\":\"x\",\"effect\":\"NoSchedule\"}]}}" },
        { { .cordon = NODE_UNCORDON, .taint_key = "ours" },
          "},\"spec\":{\"unschedulable\":false,\"taints\":[{\"key\":\"other\",\"value\":\"1\","
          "\"effect\":\"NoExecute\",\"timeAdded\":\"t\"}]}}" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *patch = node_change_patch(node, &cases[i].change);
        owned(chars) char *chars = json_print(patch);
        owned(chars) char *want = text_format("{%s%s", lock, cases[i].want);
        assert_string_equal(chars, want);
    }
    assert_int_equal(json_array_size(node->taints), 2); /* the snapshot itself stays */
    node_free(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_node_is_read),
        cmocka_unit_test(gpu_quantities_are_read_or_refused),
        cmocka_unit_test(a_node_that_lacks_something_is_refused_by_path),
        cmocka_unit_test(pods_fall_into_their_classes),
        cmocka_unit_test(a_whole_pod_is_read),
        cmocka_unit_test(nodes_of_slurm_are_told_from_plain_pods),
        cmocka_unit_test(the_name_of_a_slurm_node_is_read),
        cmocka_unit_test(the_priority_of_a_pod_is_read_or_refused),
        cmocka_unit_test(what_is_on_the_disk_of_a_pod),
        cmocka_unit_test(gpus_of_a_pod_are_counted_as_the_scheduler_does),
        cmocka_unit_test(accelerators_that_are_not_counted_are_noticed),
        cmocka_unit_test(defaults_of_a_pod),
        cmocka_unit_test(the_grace_of_a_pod_is_bounded),
        cmocka_unit_test(what_can_be_read_of_a_pod_stands_in_for_it),
        cmocka_unit_test(a_change_is_one_locked_patch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
