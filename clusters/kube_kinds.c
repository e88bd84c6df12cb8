/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collections that are watched, and how one object of each is read, shared and found.
 */
#include "clusters/budget.h"
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
