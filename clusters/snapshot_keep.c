/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For the code that keeps a snapshot: where its objects are, and how they are freed.
 */
#include "base/index.h"
#include "base/memory.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "clusters/kube_kinds.h"
#include "clusters/snapshot.h"

void snapshot_init(struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){
        .nodes = map_new(kube_nodes.free),
        .pods = map_new(kube_pods.free),
        .budgets = map_new(kube_budgets.free),
        .slices = map_new(kube_slices_of("v1")->free),
        .claims = map_new(kube_claims_of("v1")->free),
        .pods_by_node = index_new(),
        .slices_by_node = index_new(),
        .claims_by_key = index_new(),
        .budgets_by_namespace = index_new(),
        .nodes_by_provider = index_new(),
        .texts = shared_pool_new(),
        .unreadable = map_new(mem_free),
        .slurm_pods = -1,
    };
}

void snapshot_node_replaced(void *context, const void *former, const void *object)
{
    struct snapshot *snapshot = context;
    const struct node *one = former;
    const struct node *other = object;

    if (!one || !other || one->is_ready != other->is_ready ||
        one->is_leaving != other->is_leaving || !text_equal(one->provider_id, other->provider_id))
        snapshot->node_changes++;
}

static int64_t count_slurm(const struct pod *pod)
{
    return pod && pod->slurm != POD_SLURM_NONE;
}

void snapshot_pod_replaced(void *context, const void *former, const void *object)
{
    struct snapshot *snapshot = context;
    void *pod;

    if (former || object) {
        require(snapshot->slurm_pods >= 0); /* a list came first */
        snapshot->slurm_pods += count_slurm(object) - count_slurm(former);
        return;
    }
    snapshot->slurm_pods = 0;
    for (size_t i = 0; map_next(snapshot->pods, &i, NULL, &pod);)
        snapshot->slurm_pods += count_slurm(pod);
}

void snapshot_clear(struct snapshot *snapshot)
{
    index_free(snapshot->pods_by_node);
    index_free(snapshot->slices_by_node);
    index_free(snapshot->claims_by_key);
    index_free(snapshot->budgets_by_namespace);
    index_free(snapshot->nodes_by_provider);
    map_free(snapshot->nodes);
    map_free(snapshot->pods);
    map_free(snapshot->budgets);
    map_free(snapshot->slices);
    map_free(snapshot->claims);
    map_free(snapshot->unreadable);
    shared_pool_free(snapshot->texts);
}
