/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For the code that keeps a snapshot: where its objects are, and how they are freed.
 */
#include "base/index.h"
#include "base/memory.h"
#include "base/shared_text.h"
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
    };
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
