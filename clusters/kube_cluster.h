/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kind `kubernetes`: what it reads of `clusters.NAME`, and what it watches besides nodes and
 * pods.  What changes such a cluster is in kube_verbs.h.
 */
#pragma once

#include "clusters/cluster.h"
#include "clusters/kube/kube_login.h"

/* The memory of a cluster's objects, and as much again while they are listed again. 5,000 nodes and
   50,000 pods take less than a quarter of it. */
enum { KUBE_CLUSTER_MEMORY_MB = 256 };

struct kube_cluster_settings {
    char *kubeconfig;  /* path, or "in-cluster": the service account of sluice's own pod */
    char *context;     /* NULL: the file's current one */
    char *plugin;      /* the one program it may run for credentials; NULL: none */
    int64_t memory_mb; /* 0: KUBE_CLUSTER_MEMORY_MB */
    struct kube_login_settings login;
};

extern const struct cluster_kind cluster_kubernetes;

/* The two parts of cluster_watch_more().  Finds out which version of the policy API the server has,
   then lists and watches its disruption budgets.  A server that does not let us see them still
   evicts. */
void kube_cluster_watch_budgets(struct cluster *cluster);

/* Lists and watches the devices of Dynamic Resource Allocation and their claims, if the server has
   them.  Without them, or without the right to read them, a pod with claims takes a whole node, and
   a node has the GPUs of its device plugins.  The snapshot's `devices_are_known` tells the two
   cases apart, and the missing right is a trouble. */
void kube_cluster_watch_devices(struct cluster *cluster);
