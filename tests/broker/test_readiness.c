/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a new machine's Node lacks, each in its words.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "broker/sides/kube/readiness.h"
#include "tests/support/unit.h"

#include <string.h>

static const char good_node[] =
    "{\"metadata\":{\"name\":\"m-1\",\"uid\":\"u-new\",\"resourceVersion\":\"1\","
    "\"creationTimestamp\":\"2026-11-17T08:10:00Z\","
    "\"labels\":{\"nvidia.com/gpu.product\":\"H100\"}},"
    "\"spec\":{\"providerID\":\"gce://p/z/m-1\",\"taints\":[{\"key\":\"sluice.dev/starting\","
    "\"effect\":\"NoSchedule\"}]},"
    "\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"8\"},"
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
    "{\"type\":\"DiskPressure\",\"status\":\"False\"}]}}";

/* A change of the good node, and what it lacks then. */
static const struct {
    const char *path;  /* of a member of the node; NULL: none is changed */
    const char *value; /* as JSON */
    const char *missing;
} rows[] = {
    { NULL, NULL, "" },
    { "metadata/uid", "\"u-old\"", "the old Node object m-1 (UID u-old) to go" },
    { "metadata/deletionTimestamp", "\"2026-11-17T08:12:00Z\"",
      "the old Node object m-1 (UID u-new) to go" },
    { "metadata/creationTimestamp", "\"2026-11-17T07:58:29Z\"",
      "the old Node object m-1 (UID u-new) to go" },
    { "metadata/creationTimestamp", "\"2026-11-17T07:58:31Z\"", "" }, /* clocks differ */
    { "status/conditions", "[{\"type\":\"Ready\",\"status\":\"Unknown\"}]",
      "Node m-1 to be Ready" },
    { "status/conditions", "[]", "Node m-1 to be Ready" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"7\"}", "7 of 8 GPUs allocatable" },
    { "status/allocatable", "{}", "0 of 8 GPUs allocatable" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"16\"}", "16 of 8 GPUs allocatable" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"8\",\"nvidia.com/mig-5g.17gb\":\"7\"}", "" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"8\",\"nvidia.com/mig-1g.5gb\":\"7\"}",
      "9 of 8 GPUs allocatable, but cut into nvidia.com/mig-1g.5gb 7: an operator must decide" },
    { "status/allocatable", "{\"amd.com/gpu\":\"8\"}", "" },
    { "status/allocatable", "{\"gpu.intel.com/xe\":\"8\",\"gpu.intel.com/xe_monitoring\":\"1\"}",
      "" },
    { "status/allocatable", "{\"nvidia.com/mig-1g.5gb\":\"56\"}", "" },
    { "status/allocatable", "{\"nvidia.com/mig-1g.5gb\":\"49\"}",
      "7 of 8 GPUs allocatable, but cut into nvidia.com/mig-1g.5gb 49: an operator must decide" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"6\",\"nvidia.com/mig-3g.40gb\":\"4\"}", "" },
    { "status/allocatable", "{\"nvidia.com/mig-5g.17gb\":\"8\"}",
      "0 of 8 GPUs allocatable, but nvidia.com/mig-5g.17gb 8, which sluice does not count: an "
      "operator must decide" },
    { "status/allocatable", "{\"nvidia.com/gpu\":\"0\",\"amd.com/gpu\":\"0\"}",
      "0 of 8 GPUs allocatable" },
    { "metadata/labels", "{}", "label nvidia.com/gpu.product" },
    { "spec/taints", "[{\"key\":\"node.kubernetes.io/not-ready\"}]",
      "taint node.kubernetes.io/not-ready to be lifted" },
    { "spec/taints", "[{\"key\":\"node.kubernetes.io/unreachable\"}]",
      "taint node.kubernetes.io/unreachable to be lifted" },
    { "spec/taints", "[{\"key\":\"node.kubernetes.io/network-unavailable\"}]",
      "taint node.kubernetes.io/network-unavailable to be lifted" },
    { "spec/taints", "[{\"key\":\"node.cloudprovider.kubernetes.io/uninitialized\"}]",
      "taint node.cloudprovider.kubernetes.io/uninitialized to be lifted" },
    { "spec/taints", "[{\"key\":\"cni/agent-not-ready\"},{\"key\":\"ours/too\"}]",
      "taint cni/agent-not-ready to be lifted; taint ours/too to be lifted" },
    { "spec/taints", "[{\"key\":\"somebody/elses\"}]", "" },
};

static const struct config_join wanted = {
    .startup_taints = (char *)(uintptr_t) "cni/agent-not-ready, ours/too",
    .labels = (char *)(uintptr_t) "nvidia.com/gpu.product",
};

static const struct config_join wanted_daemons = {
    .daemons = (char *)(uintptr_t) "gpu/driver,net/cni",
};

static struct node *node_with(const char *path, const char *value)
{
    struct error err = { 0 };
    owned(json) json_t *object = json_parse(good_node, strlen(good_node), "node", &err);
    struct node *node;

    if (path) {
        const char *slash = strchr(path, '/');
        owned(chars) char *outer = text_format("%.*s", (int)(slash - path), path);
        owned(chars) char *text = text_format("[%s]", value);
        owned(json) json_t *list = json_parse(text, strlen(text), "value", &err);

        json_object_set(json_at(object, outer), slash + 1, json_array_get(list, 0));
    }
    node = node_decode(object, &err);
    if (!node)
        fail_msg("%s", err.text);
    return node;
}

static void expect(struct readiness readiness, const char *missing)
{
    owned(text) struct text *text = text_new(1000);

    readiness.gpus = 8;
    readiness.machine = "m-1";
    readiness.old_uid = "u-old";
    readiness.not_before.ms = ((int64_t)civil_day(2026, 11, 17) * DAY_MS) + 8 * HOUR_MS;
    readiness_describe(&readiness, text);
    assert_string_equal(text->chars, missing);
}

static void each_lack_is_said_in_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct snapshot snapshot = { 0 };
        struct node *node = node_with(rows[i].path, rows[i].value);

        snapshot_init(&snapshot);
        snapshot.devices_are_known = true;
        expect((struct readiness){ .wanted = &wanted, .snapshot = &snapshot, .node = node },
               rows[i].missing);
        snapshot_clear(&snapshot);
        node_free(node);
    }
}

/* A count that lacks what cannot be read is no failure of the machine. */
static void devices_that_cannot_be_read_are_a_doubt(void **state)
{
    static const struct {
        const char *allocatable;
        bool are_known;
        const char *missing;
        bool is_other;
    } cases[] = {
        { "{}", false,
          "0 of 8 GPUs allocatable, but its devices of Dynamic Resource Allocation cannot be read: "
          "an operator must decide",
          true },
        { "{}", true, "0 of 8 GPUs allocatable", false },
        { "{\"nvidia.com/gpu\":\"8\"}", false, "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct snapshot snapshot = { 0 };
        struct node *node = node_with("status/allocatable", cases[i].allocatable);

        snapshot_init(&snapshot);
        snapshot.devices_are_known = cases[i].are_known;
        expect((struct readiness){ .wanted = &wanted, .snapshot = &snapshot, .node = node },
               cases[i].missing);
        assert_int_equal(readiness_is_other(&snapshot, node, 8), cases[i].is_other);
        snapshot_clear(&snapshot);
        node_free(node);
    }
}

static void a_node_of_that_name_is_told_from_the_machines_own(void **state)
{
    struct snapshot snapshot = { 0 };

    (void)state;
    snapshot_init(&snapshot);
    expect((struct readiness){ .wanted = &wanted, .snapshot = &snapshot },
           "the Node of machine m-1 to register");
    map_set(snapshot.nodes, "m-1", node_with("spec/providerID", "\"gce://p/z/m-0\""));
    expect((struct readiness){ .wanted = &wanted, .snapshot = &snapshot },
           "the Node of machine m-1 to register (a Node of that name has provider ID "
           "gce://p/z/m-0)");
    snapshot_clear(&snapshot);
}

static struct pod *pod_of(const char *namespace, const char *name, const char *kind,
                          const char *daemon, bool is_ready)
{
    struct error err = { 0 };
    owned(json) json_t *object = json_make(
        "{s{ss ss ss s[{ss ss sb}]} s{ss} s{s[{ss ss}]}}", "metadata", "namespace", namespace,
        "name", name, "uid", name, "ownerReferences", "kind", kind, "name", daemon, "controller", 1,
        "spec", "nodeName", "m-1", "status", "conditions", "type", "Ready", "status",
        is_ready ? "True" : "False");
    struct pod *pod = pod_decode(object, &err);

    if (!pod)
        fail_msg("%s", err.text);
    return pod;
}

static void a_daemons_pod_counts_by_its_owner_when_it_is_ready(void **state)
{
    static const struct {
        const char *namespace;
        const char *kind;
        const char *daemon;
        bool is_ready;
        const char *missing;
    } cases[] = {
        { "gpu", "DaemonSet", "driver", true, "a pod of DaemonSet net/cni" },
        { "gpu", "DaemonSet", "driver", false,
          "pod p-1 of DaemonSet gpu/driver to be Ready; a pod of DaemonSet net/cni" },
        { "gpus", "DaemonSet", "driver", true,
          "a pod of DaemonSet gpu/driver; a pod of DaemonSet net/cni" },
        { "gpu", "DaemonSet", "drivers", true,
          "a pod of DaemonSet gpu/driver; a pod of DaemonSet net/cni" },
        { "gpu", "ReplicaSet", "driver", true,
          "a pod of DaemonSet gpu/driver; a pod of DaemonSet net/cni" },
        { "net", "DaemonSet", "cni", true, "a pod of DaemonSet gpu/driver" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct snapshot snapshot = { 0 };
        struct node *node = node_with(NULL, NULL);
        struct pod *pod = pod_of(cases[i].namespace, "p-1", cases[i].kind, cases[i].daemon,
                                 cases[i].is_ready);

        snapshot_init(&snapshot);
        index_change(snapshot.pods_by_node, NULL, NULL, "m-1", pod);
        expect((struct readiness){ .wanted = &wanted_daemons, .snapshot = &snapshot, .node = node },
               cases[i].missing);
        snapshot_clear(&snapshot);
        pod_free(pod);
        node_free(node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lack_is_said_in_its_words),
        cmocka_unit_test(devices_that_cannot_be_read_are_a_doubt),
        cmocka_unit_test(a_node_of_that_name_is_told_from_the_machines_own),
        cmocka_unit_test(a_daemons_pod_counts_by_its_owner_when_it_is_ready),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
