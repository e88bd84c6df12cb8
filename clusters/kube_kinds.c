/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collections that are watched, and how one object of each is read, shared and found.
 */
#include "clusters/kube_watch.h"
#include "clusters/snapshot.h"

static void *decode_node(const json_t *object, struct error *err)
{
    return node_decode(object, err);
}

static void *decode_pod(const json_t *object, struct error *err)
{
    return pod_decode(object, err);
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
    .decode = decode_node,
    .free = free_node,
    .share = share_node,
    .index_key = provider_of,
};
const struct kube_kind kube_pods = {
    .name = "pods",
    .path = "/api/v1/pods",
    .key_path = "metadata/uid",
    .decode = decode_pod,
    .free = free_pod,
    .share = share_pod,
    .index_key = node_of,
};
