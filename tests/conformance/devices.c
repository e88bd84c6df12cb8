/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dynamic Resource Allocation on a real server, with its scheduler: a node whose driver shows two
 * GPUs that can be cut, and pods that hold one of them and half of the other.
 */
#include "clusters/gpus.h"
#include "tests/conformance/conformance.h"

#include <string.h>

#define API "/apis/resource.k8s.io/v1"
#define FULL                                                                                       \
    "{\"memory\":{\"value\":\"80Gi\"},\"processors\":{\"value\":\"132\"},"                         \
    "\"place-0\":{\"value\":\"1\"},\"place-1\":{\"value\":\"1\"}}"
#define HALF                                                                                       \
    "{\"memory\":{\"value\":\"40Gi\"},\"processors\":{\"value\":\"60\"},"                          \
    "\"place-0\":{\"value\":\"1\"}}"
#define DEVICE(name, type, set, counters)                                                          \
    "{\"name\":\"" name "\",\"attributes\":{\"type\":{\"string\":\"" type "\"}},"                  \
    "\"consumesCounters\":[{\"counterSet\":\"" set "\",\"counters\":" counters "}]}"

static void post(struct stage *stage, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void post(struct stage *stage, const char *path, const char *format, ...)
{
    owned(text) struct text *chars = text_new(1 << 16);
    struct error err = { 0 };
    va_list arguments;
    json_t *body;

    va_start(arguments, format);
    text_add_arguments(chars, format, arguments);
    va_end(arguments);
    body = json_parse(chars->chars, chars->length, "body", &err);
    if (!body)
        fail_msg("%s: %s", err.text, chars->chars);
    stage_ask(stage, ASK_POST, body, "%s", path);
    stage_expect(stage, 201);
}

static void add_slice(struct stage *stage, const char *node, const char *name, const char *more)
{
    post(stage, API "/resourceslices",
         "{\"metadata\":{\"name\":\"%s-%s\"},\"spec\":{\"driver\":\"gpu.nvidia.com\","
         "\"nodeName\":\"%s\",\"pool\":{\"name\":\"%s\",\"generation\":1,"
         "\"resourceSliceCount\":2},%s}}",
         node, name, node, node, more);
}

/* A pod that claims one device of that type by a template, and has to go to the node. */
static void add_claimer(struct stage *stage, const char *node, const char *type)
{
    owned(chars) char *templates = text_format(API "/namespaces/%s/resourceclaimtemplates",
                                               stage->namespace);
    owned(chars) char *pods = text_format("/api/v1/namespaces/%s/pods", stage->namespace);

    post(stage, templates,
         "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"spec\":{\"devices\":{\"requests\":[{"
         "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"%s\",\"selectors\":[{\"cel\":{"
         "\"expression\":\"device.attributes['gpu.nvidia.com'].type == '%s'\"}}]}}]}}}}",
         type, stage->namespace, type);
    post(stage, pods,
         "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":\"main\","
         "\"image\":\"registry.example/main:1\",\"resources\":{\"claims\":[{\"name\":\"gpu\"}]}}],"
         "\"tolerations\":[{\"operator\":\"Exists\"}],\"resourceClaims\":[{\"name\":\"gpu\","
         "\"resourceClaimTemplateName\":\"%s\"}],\"affinity\":{\"nodeAffinity\":{"
         "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"
         "\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"%s\"]}]}]}"
         "}}}}",
         type, type, node);
}

struct count {
    const char *name; /* of a node, or of a pod */
    int64_t wanted;
};

static bool node_has(struct stage *stage, const void *context)
{
    const struct count *count = context;
    const struct node *node = stage_node(stage, count->name);

    return node && gpus_of_node(cluster_snapshot(stage->cluster), node) == count->wanted;
}

static bool pod_holds(struct stage *stage, const void *context)
{
    const struct count *count = context;
    const struct pod *pod = stage_pod(stage, count->name);
    struct gpu_demand demand;

    if (!pod || pod->node_name[0] == '\0')
        return false;
    demand = gpus_of_pod(cluster_snapshot(stage->cluster), pod);
    return !demand.is_whole && demand.parts == count->wanted;
}

void devices_are_counted_as_they_are_allocated(struct stage *stage)
{
    const char *node = stage_add_node(stage);

    kube_cluster_watch_devices(stage->cluster);
    stage_ask(stage, ASK_STRATEGIC_PATCH,
              json_make("{s:{s:{s:s}}}", "status", "allocatable", "nvidia.com/gpu", "0"),
              "/api/v1/nodes/%s/status", node);
    stage_expect(stage, 200);
    stage_await(stage, "no GPU", node_has, &(struct count){ node, 0 });
    post(stage, API "/deviceclasses",
         "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"selectors\":[{\"cel\":{\"expression\":"
         "\"device.driver == 'gpu.nvidia.com'\"}}]}}",
         stage->namespace);
    add_slice(
        stage, node, "devices",
        "\"devices\":[" DEVICE("gpu-0", "gpu", "set-0", FULL) "," DEVICE(
            "gpu-0-half", "mig", "set-0", HALF) "," DEVICE("gpu-1", "gpu", "set-1", FULL) "]");
    stage_run(stage, 2000); /* the pool is not complete: its devices do not count yet */
    assert_true(node_has(stage, &(struct count){ node, 0 }));
    add_slice(stage, node, "totals",
              "\"sharedCounters\":[{\"name\":\"set-0\",\"counters\":" FULL "},"
              "{\"name\":\"set-1\",\"counters\":" FULL "}]");
    stage_await(stage, "both GPUs", node_has, &(struct count){ node, 2 });
    add_claimer(stage, node, "mig");
    stage_await(stage, "half a GPU", pod_holds, &(struct count){ "mig", GPU_PARTS / 2 });
    add_claimer(stage, node, "gpu");
    stage_await(stage, "a GPU", pod_holds, &(struct count){ "gpu", GPU_PARTS });
    stage_ask(stage, ASK_DELETE, NULL, API "/resourceslices/%s-totals", node);
    stage_expect(stage, 200);
    stage_await(stage, "no GPU again", node_has, &(struct count){ node, 0 });
    stage_ask(stage, ASK_DELETE, NULL, API "/resourceslices/%s-devices", node);
    stage_ask(stage, ASK_DELETE, NULL, API "/deviceclasses/%s", stage->namespace);
}
