/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Dynamic Resource Allocation of a cluster that has a driver: each node's ResourceSlice, as the
 * kubelet's plugin publishes it, and for each pod with GPUs the ResourceClaim that is made from a
 * template, allocated when the pod is bound, and gone with it.
 */
#include "tools/simulator/kube/kube_devices.h"

#include "tools/simulator/kube/kube_routes.h"

#include <inttypes.h>

static const char claim_name[] = "gpu"; /* in the pod */

struct sim_devices {
    const char *driver;
    struct map *slices; /* name -> struct object */
    struct map *claims; /* "namespace/name" -> struct object */
    struct map *shown;  /* node name -> struct shown */
    struct map *held;   /* UID of a pod -> struct held */
};

struct object {
    json_t *json;
    struct blob *blob;
};

/* What a node's slice shows. */
struct shown {
    int gpus;
    int64_t generation;
};

/* The claim of a pod, and the devices that it got. */
struct held {
    uint64_t devices; /* of its node, a bit each */
    char claim[254];  /* "": not made yet */
};

static void free_object(void *value)
{
    struct object *object = value;

    json_decref(object->json);
    sim_blob_drop(object->blob);
    mem_free(object);
}

void sim_devices_clear(struct kube_cluster *cluster)
{
    if (!cluster->devices)
        return;
    map_free(cluster->devices->slices);
    map_free(cluster->devices->claims);
    map_free(cluster->devices->shown);
    map_free(cluster->devices->held);
    mem_free(cluster->devices);
}

const struct map *sim_devices_of(const struct kube_cluster *cluster, enum object_kind kind)
{
    if (!cluster->devices)
        return NULL;
    return kind == OBJECT_SLICE ? cluster->devices->slices : cluster->devices->claims;
}

const struct blob *sim_device_blob(const void *object)
{
    return ((const struct object *)object)->blob;
}

/* The object as it is now, under a version of its own.  NULL: it is deleted. */
static void change_object(struct simulator *sim, struct kube_cluster *cluster,
                          enum object_kind kind, const char *key, json_t *json)
{
    struct map *objects = kind == OBJECT_SLICE ? cluster->devices->slices
                                               : cluster->devices->claims;
    struct object *object = map_get(objects, key);
    struct change change = { .kind = kind, .type = CHANGE_DELETED, .version = ++cluster->version };
    owned(chars) char *version = text_format("%" PRIu64, change.version);

    if (!object && !json) {
        cluster->version--;
        return;
    }
    if (json) {
        change.type = object ? CHANGE_MODIFIED : CHANGE_ADDED;
        object = mem_new(sizeof *object);
        object->json = json;
        map_set(objects, key, object);
    }
    json_object_set_new(json_object_get(object->json, "metadata"), "resourceVersion",
                        json_string(version));
    sim_blob_drop(object->blob);
    object->blob = change.blob = sim_blob_of(json_deep_copy(object->json));
    text_copy(change.name, sizeof change.name, json_text_or(object->json, "metadata/name", ""));
    sim_history_add(sim, cluster, &change);
    if (!json)
        map_remove(objects, key);
}

/* ---- slices ---- */

static json_t *devices_of(int count)
{
    json_t *devices = json_array();

    for (int i = 0; i < count; i++) {
        owned(chars) char *name = text_format("gpu-%d", i);

        json_array_append_new(devices,
                              json_make("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:i}}, s:{s:{s:s}}}", "name",
                                        name, "attributes", "type", "string", "gpu", "productName",
                                        "string", "NVIDIA H100 80GB HBM3", "index", "int", i,
                                        "capacity", "memory", "value", "81559Mi"));
    }
    return devices;
}

static json_t *slice_of(const struct simulator *sim, const struct kube_node *node,
                        const struct shown *shown, const char *name, const char *uid)
{
    char created[WALL_TEXT_SIZE];

    return json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:I, s:s, s:[{s:s, s:s, s:s, s:s, s:b}]},"
                     " s:{s:s, s:{s:s, s:I, s:i}, s:s, s:o}}",
                     "apiVersion", "resource.k8s.io/v1", "kind", "ResourceSlice", "metadata",
                     "name", name, "generateName", node->name, "uid", uid, "generation",
                     (json_int_t)shown->generation, "creationTimestamp",
                     sim_time(sim, sim_now(sim), created), "ownerReferences", "apiVersion", "v1",
                     "kind", "Node", "name", node->name, "uid", node->uid, "controller", 1, "spec",
                     "driver", node->cluster->devices->driver, "pool", "name", node->name,
                     "generation", (json_int_t)shown->generation, "resourceSliceCount", 1,
                     "nodeName", node->name, "devices", devices_of(node->gpus));
}

void sim_devices_follow(struct simulator *sim, struct kube_node *node, bool is_gone)
{
    struct sim_devices *devices = node->cluster->devices;
    int count = is_gone || !node->is_alive ? 0 : node->gpus;
    char uid[SIM_UID_SIZE];
    struct shown *shown;

    if (!devices)
        return;
    shown = map_get(devices->shown, node->name);
    if (!shown) {
        shown = mem_new(sizeof *shown);
        map_set(devices->shown, node->name, shown);
    }
    if (shown->gpus == count)
        return;
    owned(chars) char *name = text_format("%s-%s", node->name, devices->driver);
    const struct object *former = map_get(devices->slices, name);

    shown->gpus = count;
    shown->generation++;
    if (former)
        text_copy(uid, sizeof uid, json_text_or(former->json, "metadata/uid", ""));
    else
        sim_uuid(sim, uid);
    change_object(sim, node->cluster, OBJECT_SLICE, name,
                  count > 0 ? slice_of(sim, node, shown, name, uid) : NULL);
}

void sim_cluster_use_driver(struct simulator *sim, const char *name, const char *driver)
{
    struct kube_cluster *cluster = sim_cluster(sim, name);
    void *value;

    require(!cluster->devices);
    cluster->devices = mem_new(sizeof *cluster->devices);
    *cluster->devices = (struct sim_devices){
        .driver = driver,
        .slices = map_new(free_object),
        .claims = map_new(free_object),
        .shown = map_new(mem_free),
        .held = map_new(mem_free),
    };
    for (size_t i = 0; map_next(cluster->nodes, &i, NULL, &value);)
        sim_node_changed(sim, value, CHANGE_MODIFIED);
}

/* ---- claims ---- */

static struct held *held_by(const struct kube_pod *pod)
{
    return pod->cluster->devices ? map_get(pod->cluster->devices->held, pod->uid) : NULL;
}

void sim_devices_expect(struct kube_pod *pod)
{
    if (pod->cluster->devices)
        map_set(pod->cluster->devices->held, pod->uid, mem_new(sizeof(struct held)));
}

json_t *sim_claims_of_spec(const struct kube_pod *pod)
{
    return held_by(pod)
               ? json_make("[{s:s, s:s}]", "name", claim_name, "resourceClaimTemplateName", "gpus")
               : NULL;
}

json_t *sim_claims_of_status(const struct kube_pod *pod)
{
    const struct held *held = held_by(pod);

    return held && held->claim[0]
               ? json_make("[{s:s, s:s}]", "name", claim_name, "resourceClaimName", held->claim)
               : NULL;
}

/* Places of the node that no other pod has. */
static json_t *allocate(const struct simulator *sim, const struct kube_pod *pod, struct held *held)
{
    const struct kube_node *node = pod->node;
    uint64_t taken = 0;
    json_t *results = json_array();
    int left = pod->gpus;
    char since[WALL_TEXT_SIZE];

    for (size_t i = 0; i < node->pods.count; i++) {
        const struct held *other = held_by(node->pods.items[i]);

        taken |= other ? other->devices : 0;
    }
    for (int at = 0; at < 64 && left > 0; at++) {
        owned(chars) char *device = text_format("gpu-%d", at);

        if (taken >> at & 1)
            continue;
        held->devices |= (uint64_t)1 << at;
        left--;
        json_array_append_new(results, json_make("{s:s, s:s, s:s, s:s}", "request", claim_name,
                                                 "driver", node->cluster->devices->driver, "pool",
                                                 node->name, "device", device));
    }
    return json_make("{s:s, s:{s:o}, s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}", "allocationTimestamp",
                     sim_time(sim, sim_now(sim), since), "devices", "results", results,
                     "nodeSelector", "nodeSelectorTerms", "matchFields", "key", "metadata.name",
                     "operator", "In", "values", node->name);
}

static json_t *claim_of(const struct simulator *sim, const struct kube_pod *pod, const char *uid)
{
    char created[WALL_TEXT_SIZE];

    return json_make("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:s, s:b}]},"
                     " s:{s:{s:[{s:s, s:{s:s, s:s, s:i}}]}}}",
                     "apiVersion", "resource.k8s.io/v1", "kind", "ResourceClaim", "metadata",
                     "name", held_by(pod)->claim, "namespace", pod->namespace, "uid", uid,
                     "creationTimestamp", sim_time(sim, sim_now(sim), created), "annotations",
                     "resource.kubernetes.io/pod-claim-name", claim_name, "ownerReferences",
                     "apiVersion", "v1", "kind", "Pod", "name", pod->name, "uid", pod->uid,
                     "controller", 1, "spec", "devices", "requests", "name", claim_name, "exactly",
                     "deviceClassName", pod->cluster->devices->driver, "allocationMode",
                     "ExactCount", "count", pod->gpus);
}

/* The claim's controller makes it, and the scheduler allocates it before it binds the pod. */
void sim_devices_allocate(struct simulator *sim, struct kube_pod *pod)
{
    struct held *held = held_by(pod);
    owned(chars) char *key = NULL;
    char uid[SIM_UID_SIZE];
    json_t *claim;

    if (!held || pod->gpus == 0)
        return;
    snprintf(held->claim, sizeof held->claim, "%.200s-%s-%" PRIu64, pod->name, claim_name,
             pod->cluster->version);
    key = text_format("%s/%s", pod->namespace, held->claim);
    sim_uuid(sim, uid);
    claim = claim_of(sim, pod, uid);
    change_object(sim, pod->cluster, OBJECT_CLAIM, key, json_deep_copy(claim));
    json_object_set_new(claim, "status",
                        json_make("{s:o, s:[{s:s, s:s, s:s}]}", "allocation",
                                  allocate(sim, pod, held), "reservedFor", "resource", "pods",
                                  "name", pod->name, "uid", pod->uid));
    json_object_set_new(json_object_get(claim, "metadata"), "finalizers",
                        json_make("[s]", "resource.kubernetes.io/delete-protection"));
    change_object(sim, pod->cluster, OBJECT_CLAIM, key, claim);
}

/* A pod that is over holds no device, and one that is gone has no claim any more. */
void sim_devices_release(struct simulator *sim, struct kube_pod *pod, bool is_gone)
{
    struct held *held = held_by(pod);
    owned(chars) char *key = NULL;
    const struct object *object;
    json_t *claim;

    if (!held)
        return;
    key = text_format("%s/%s", pod->namespace, held->claim);
    object = map_get(pod->cluster->devices->claims, key);
    held->devices = 0;
    claim = object && !is_gone ? json_deep_copy(object->json) : NULL;
    if (claim)
        json_object_del(claim, "status");
    if (object)
        change_object(sim, pod->cluster, OBJECT_CLAIM, key, claim);
    if (is_gone)
        map_remove(pod->cluster->devices->held, pod->uid);
}

/* ---- routes ---- */

static void list_kind(struct sim_call *call, enum object_kind kind)
{
    if (call->cluster->devices)
        sim_kube_list(call, kind, NULL);
    else
        sim_kube_status(call->answer, 404, "NotFound",
                        "the server could not find the requested resource");
}

static void list_slices(struct sim_call *call, char **parts)
{
    (void)parts;
    list_kind(call, OBJECT_SLICE);
}

static void list_claims(struct sim_call *call, char **parts)
{
    (void)parts;
    list_kind(call, OBJECT_CLAIM);
}

const struct kube_route kube_device_routes[] = {
    { ON(GET), "apis/resource.k8s.io/v1/resourceslices", NULL, list_slices },
    { ON(GET), "apis/resource.k8s.io/v1/resourceclaims", NULL, list_claims },
    { 0 },
};
