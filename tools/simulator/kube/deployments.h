/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Deployments and their controller; see deployments.c.
 */
#pragma once

#include "tools/simulator/model/deployment.h"
#include "tools/simulator/model/model.h"

void sim_deployments_new(struct simulator *sim, struct kube_cluster *cluster);
void sim_deployment_reconcile(struct simulator *sim, struct deployment *deployment);
struct deployment *sim_deployment_find(struct kube_cluster *cluster, const char *namespace,
                                       const char *name);

/* Adds one that a client posted; takes both.  Its pods come from the template of `written`. */
struct deployment *sim_deployment_post(struct simulator *sim, struct kube_cluster *cluster,
                                       struct scenario_workload *plan, json_t *written);
void sim_deployments_clear(struct kube_cluster *cluster);

/* The number of the Deployment's pods that were not told to stop. */
int sim_deployment_staying(const struct deployment *deployment);

/* kube_scale.c: as a client asks for. */
void sim_deployment_scale(struct simulator *sim, struct deployment *deployment, int replicas,
                          const char *manager);
