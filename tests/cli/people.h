/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people and other controllers do to a cluster of the small world, straight to its state: no
 * intent of the broker stands behind it, and the referee does not take it for the broker's.
 */
#pragma once

#include "tests/cli/stepwise.h"

/* The cluster's Node of that name; NULL: there is none. */
static inline struct kube_node *people_node(struct rehearsal *rehearsal, const char *cluster,
                                            const char *name)
{
    return map_get(sim_cluster(rehearsal->simulator, cluster)->nodes, name);
}

static inline void people_changed(struct rehearsal *rehearsal, struct kube_node *node)
{
    sim_node_changed(rehearsal->simulator, node, CHANGE_MODIFIED);
    sim_node_review(rehearsal->simulator, node);
}

static inline void people_untaint(struct rehearsal *rehearsal, struct kube_node *node,
                                  const char *key)
{
    size_t i = json_array_size(node->taints);

    while (i-- > 0)
        if (text_equal(json_text_or(json_array_get(node->taints, i), "key", ""), key))
            json_array_remove(node->taints, i);
    people_changed(rehearsal, node);
}

/* kubectl uncordon, and our taint taken off. */
static inline void people_open(struct rehearsal *rehearsal, struct kube_node *node)
{
    node->is_unschedulable = false;
    people_untaint(rehearsal, node, SLUICE_TAINT_LEAVING);
}

/* A pod with an owner and these containers (taken), bound straight to the node: it passes cordons
   and taints. */
static inline struct kube_pod *people_bind_with(struct rehearsal *rehearsal, struct kube_node *node,
                                                const char *name, bool tolerates,
                                                json_t *containers)
{
    struct simulator *sim = rehearsal->simulator;
    json_t *tolerations = tolerates ? json_make("[{s:s}]", "operator", "Exists") : json_array();
    struct kube_pod *pod = sim_pod_new(sim, node->cluster, "ml", name);

    pod->written = json_make("{s:{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:b}]}, s:{s:s, s:i, s:o, s:o}}",
                             "metadata", "namespace", "ml", "name", name, "annotations",
                             "test.sluice.dev/stops-in", "5s", "ownerReferences", "kind",
                             "ReplicaSet", "name", "owner", "controller", 1, "spec", "nodeName",
                             node->name, "terminationGracePeriodSeconds", 30, "tolerations",
                             tolerations, "containers", containers);
    pod->grace_s = 30;
    sim_pod_changed(sim, pod, CHANGE_ADDED);
    sim_pod_bind(sim, pod, node);
    return pod;
}

static inline struct kube_pod *people_bind(struct rehearsal *rehearsal, struct kube_node *node,
                                           const char *name, bool tolerates)
{
    return people_bind_with(rehearsal, node, name, tolerates, json_make("[{s:s}]", "name", "main"));
}
