/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The controllers behind objects that own gangs; see kube_gangs.c.
 */
#pragma once

#include <jansson.h>

struct kube_cluster;
struct simulator;

/* Call after any change of an owner or of its pods: they are reviewed a little later. */
void sim_gangs_soon(struct simulator *sim, struct kube_cluster *cluster);

/* A pod as a controller writes it, which waits for a node; takes `written`. */
void sim_gang_pod(struct simulator *sim, struct kube_cluster *cluster, const char *name,
                  json_t *written);

/* kube_leader_workers.c: the pods of a LeaderWorkerSet, and its status. */
void sim_leader_workers_review(struct simulator *sim, struct kube_cluster *cluster, json_t *object);
