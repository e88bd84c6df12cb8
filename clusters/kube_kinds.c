/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collections that are watched, and how one object of each is read, shared and found.
 */
#include "clusters/kube_kinds.h"

#include "base/memory.h"
#include "base/text.h"
#include "clusters/budget.h"
#include "clusters/devices.h"
#include "clusters/fields.h"
#include "clusters/snapshot.h"

static const struct kube_member condition[] = {
    { "type", NULL },
    { "status", NULL },
    { "reason", NULL },
    { NULL, NULL },
};
static const struct kube_member node_metadata[] = {
    { "name", NULL },
    { "uid", NULL },
    { "resourceVersion", NULL },
    { "labels", NULL },
    { "annotations", NULL },
    { "creationTimestamp", NULL },
    { "deletionTimestamp", NULL },
    { NULL, NULL },
};
static const struct kube_member node_spec[] = {
    { "providerID", NULL },
    { "taints", NULL },
    { "unschedulable", NULL },
    { NULL, NULL },
};
static const struct kube_member node_status[] = {
    { "conditions", condition },
    { "allocatable", NULL },
    { NULL, NULL },
};
static const struct kube_member node_members[] = {
    { "metadata", node_metadata },
    { "spec", node_spec },
    { "status", node_status },
    { NULL, NULL },
};

static const struct kube_member owner[] = {
    { "apiVersion", NULL }, { "kind", NULL }, { "name", NULL },
    { "controller", NULL }, { NULL, NULL },
};
static const struct kube_member pod_metadata[] = {
    { "namespace", NULL },
    { "name", NULL },
    { "uid", NULL },
    { "resourceVersion", NULL },
    { "labels", NULL },
    { "annotations", NULL },
    { "finalizers", NULL },
    { "ownerReferences", owner },
    { "creationTimestamp", NULL },
    { "deletionTimestamp", NULL },
    { "deletionGracePeriodSeconds", NULL },
    { NULL, NULL },
};
static const struct kube_member resources[] = {
    { "requests", NULL },
    { "limits", NULL },
    { NULL, NULL },
};
static const struct kube_member container[] = {
    { "resources", resources },
    { "restartPolicy", NULL },
    { NULL, NULL },
};
static const struct kube_member volume[] = {
    { "emptyDir", NULL },  { "hostPath", NULL }, { "persistentVolumeClaim", NULL },
    { "ephemeral", NULL }, { NULL, NULL },
};
static const struct kube_member pod_spec[] = {
    { "nodeName", NULL },
    { "hostname", NULL },
    { "hostNetwork", NULL },
    { "containers", container },
    { "initContainers", container },
    { "volumes", volume },
    { "resourceClaims", NULL },
    { "priority", NULL },
    { "priorityClassName", NULL },
    { "terminationGracePeriodSeconds", NULL },
    { NULL, NULL },
};
static const struct kube_member pod_status[] = {
    { "phase", NULL },     { "conditions", condition },
    { "startTime", NULL }, { "resourceClaimStatuses", NULL },
    { NULL, NULL },
};
static const struct kube_member pod_members[] = {
    { "metadata", pod_metadata },
    { "spec", pod_spec },
    { "status", pod_status },
    { NULL, NULL },
};

static void *decode_node(const json_t *object, struct error *err)
{
    return node_decode(object, err);
}

static void *decode_pod(const json_t *object, struct error *err)
{
    return pod_decode(object, err);
}

static void *stand_in_for_pod(const json_t *object, const void *former)
{
    return pod_stand_in(object, former);
}

static void free_node(void *node)
{
    node_free(node);
}

static void free_pod(void *pod)
{
    pod_free(pod);
}

static void share_node(void *node, struct shared_pool *texts)
{
    node_share(node, texts);
}

static void share_pod(void *pod, struct shared_pool *texts)
{
    pod_share(pod, texts);
}

static const char *provider_of(const void *node)
{
    return ((const struct node *)node)->provider_id;
}

static const char *node_of(const void *pod)
{
    return ((const struct pod *)pod)->node_name;
}

const struct kube_kind kube_nodes = {
    .name = "nodes",
    .path = "/api/v1/nodes",
    .key_path = "metadata/name",
    .members = node_members,
    .decode = decode_node,
    .free = free_node,
    .share = share_node,
    .index_key = provider_of,
};
const struct kube_kind kube_pods = {
    .name = "pods",
    .path = "/api/v1/pods",
    .key_path = "metadata/uid",
    .members = pod_members,
    .decode = decode_pod,
    .stand_in = stand_in_for_pod,
    .free = free_pod,
    .share = share_pod,
    .index_key = node_of,
};

static void *decode_budget(const json_t *object, struct error *err)
{
    return budget_decode_v1(object, err);
}

static void *decode_old_budget(const json_t *object, struct error *err)
{
    return budget_decode_v1beta1(object, err);
}

static void free_budget(void *budget)
{
    budget_free(budget);
}

static void share_budget(void *budget, struct shared_pool *texts)
{
    shared_pool_take(texts, &((struct budget *)budget)->namespace);
}

static const char *namespace_of(const void *budget)
{
    return ((const struct budget *)budget)->namespace;
}

const struct kube_kind kube_budgets = {
    .name = "poddisruptionbudgets",
    .path = "/apis/policy/v1/poddisruptionbudgets",
    .key_path = "metadata/uid",
    .decode = decode_budget,
    .free = free_budget,
    .share = share_budget,
    .index_key = namespace_of,
};
const struct kube_kind kube_old_budgets = {
    .name = "poddisruptionbudgets",
    .path = "/apis/policy/v1beta1/poddisruptionbudgets",
    .key_path = "metadata/uid",
    .decode = decode_old_budget,
    .free = free_budget,
    .share = share_budget,
    .index_key = namespace_of,
};

static const struct kube_member object_metadata[] = {
    { "namespace", NULL },       { "name", NULL }, { "uid", NULL },
    { "resourceVersion", NULL }, { NULL, NULL },
};
static const struct kube_member device_attributes[] = {
    { "type", NULL },        { "parentUUID", NULL }, { "profile", NULL },
    { "productName", NULL }, { NULL, NULL },
};
static const struct kube_member basic_device[] = {
    { "attributes", device_attributes },
    { "consumesCounters", NULL },
    { "taints", NULL },
    { NULL, NULL },
};
static const struct kube_member device[] = {
    { "name", NULL },
    { "basic", basic_device }, /* v1beta1 */
    { "attributes", device_attributes },
    { "consumesCounters", NULL },
    { "taints", NULL },
    { NULL, NULL },
};
static const struct kube_member slice_spec[] = {
    { "driver", NULL },    { "pool", NULL },           { "nodeName", NULL },
    { "devices", device }, { "sharedCounters", NULL }, { NULL, NULL },
};
static const struct kube_member slice_members[] = {
    { "metadata", object_metadata },
    { "spec", slice_spec },
    { NULL, NULL },
};
static const struct kube_member allocation_result[] = {
    { "driver", NULL },      { "pool", NULL }, { "device", NULL },
    { "adminAccess", NULL }, { NULL, NULL },
};
static const struct kube_member allocated_devices[] = {
    { "results", allocation_result },
    { NULL, NULL },
};
static const struct kube_member allocation[] = {
    { "devices", allocated_devices },
    { NULL, NULL },
};
static const struct kube_member claim_user[] = { { "resource", NULL }, { NULL, NULL } };
static const struct kube_member claim_status[] = {
    { "allocation", allocation },
    { "reservedFor", claim_user },
    { NULL, NULL },
};
static const struct kube_member claim_members[] = {
    { "metadata", object_metadata },
    { "status", claim_status },
    { NULL, NULL },
};

static void *decode_slice(const json_t *object, struct error *err)
{
    return device_slice_decode(object, err);
}

static void *decode_claim(const json_t *object, struct error *err)
{
    return device_claim_decode(object, err);
}

static void free_slice(void *slice)
{
    device_slice_free(slice);
}

static void free_claim(void *claim)
{
    device_claim_free(claim);
}

static void share_slice(void *slice, struct shared_pool *texts)
{
    device_slice_share(slice, texts);
}

static void share_claim(void *claim, struct shared_pool *texts)
{
    device_claim_share(claim, texts);
}

static const char *slice_node(const void *slice)
{
    return ((const struct device_slice *)slice)->node_name;
}

static const char *claim_key(const void *claim)
{
    return ((const struct device_claim *)claim)->key;
}

#define SLICES(version)                                                                            \
    {                                                                                              \
        .name = "resourceslices", .path = "/apis/resource.k8s.io/" version "/resourceslices",      \
        .key_path = "metadata/name", .members = slice_members, .decode = decode_slice,             \
        .free = free_slice, .share = share_slice, .index_key = slice_node,                         \
    }
#define CLAIMS(version)                                                                            \
    {                                                                                              \
        .name = "resourceclaims", .path = "/apis/resource.k8s.io/" version "/resourceclaims",      \
        .key_path = "metadata/uid", .members = claim_members, .decode = decode_claim,              \
        .free = free_claim, .share = share_claim, .index_key = claim_key,                          \
    }

/* The members have the same form in all versions, except devices of v1beta1. */
static const struct {
    const char *version;
    struct kube_kind slices;
    struct kube_kind claims;
} device_kinds[] = {
    { "v1", SLICES("v1"), CLAIMS("v1") },
    { "v1beta2", SLICES("v1beta2"), CLAIMS("v1beta2") },
    { "v1beta1", SLICES("v1beta1"), CLAIMS("v1beta1") },
};

static size_t device_row(const char *version)
{
    for (size_t i = 0; i < COUNT_OF(device_kinds); i++)
        if (text_equal(device_kinds[i].version, version))
            return i;
    require(false); /* served.c knows no other */
    return 0;
}

const struct kube_kind *kube_slices_of(const char *version)
{
    return &device_kinds[device_row(version)].slices;
}

const struct kube_kind *kube_claims_of(const char *version)
{
    return &device_kinds[device_row(version)].claims;
}
