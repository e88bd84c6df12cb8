/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Devices of clusters with a driver of Dynamic Resource Allocation; see kube_devices.c.
 */
#pragma once

#include "tools/simulator/model/model.h"

void sim_devices_clear(struct kube_cluster *cluster);

/* From now on the cluster's nodes show their GPUs in slices of this driver, and no pod that is made
   asks for SIM_GPU. */
void sim_cluster_use_driver(struct simulator *sim, const char *name, const char *driver);

/* The node changed: its slice follows. */
void sim_devices_follow(struct simulator *sim, struct kube_node *node, bool is_gone);

/* A pod was made: in such a cluster its GPUs are claimed. */
void sim_devices_expect(struct kube_pod *pod);

/* Allocates the pod's devices, before the pod is seen bound to its node; and frees them when it is
   over or gone. */
void sim_devices_allocate(struct simulator *sim, struct kube_pod *pod);
void sim_devices_release(struct simulator *sim, struct kube_pod *pod, bool is_gone);

/* The part of a pod that names its claim; NULL: it has none. */
json_t *sim_claims_of_spec(const struct kube_pod *pod);
json_t *sim_claims_of_status(const struct kube_pod *pod);

/* The objects of that kind (OBJECT_SLICE, OBJECT_CLAIM), NULL without a driver; and of an item. */
const struct map *sim_devices_of(const struct kube_cluster *cluster, enum object_kind kind);
const struct blob *sim_device_blob(const void *object);
