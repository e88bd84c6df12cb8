/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients of a simulated API server that are not sluice: people with kubectl, programs with the
 * clients for Python.  Their token is admin-CLUSTER.  They may do everything, meet no fault, and
 * the referee does not watch them (tools/simulator/apiserver).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct follow;
struct kube_cluster;
struct kube_namespace;
struct sim_call;
struct simulator;
struct text;

/* Whether another client than sluice asks. */
bool sim_is_other_client(const struct sim_call *call);
void sim_other_client_answer(struct sim_call *call, size_t at);

/* What the API server's front remembers of other clients' requests. */
void sim_other_clients_forget(struct kube_cluster *cluster);

/* A watch of another client: what changed since its last frames. */
void sim_follow_frames(struct simulator *sim, struct follow *follow, struct text *frames);
void sim_follow_bookmark(struct simulator *sim, struct follow *follow, struct text *frames);
void sim_follow_free(struct follow *follow);

/* kube_api.c: what sluice would be answered, without the question who asks. */
void sim_kube_serve(struct sim_call *call, size_t at);

/* kube_create.c: the namespace, which is made unless it exists. */
struct kube_namespace *sim_namespace_add(struct kube_cluster *cluster, const char *name);

/* kube_watch.c: after a change that no history has. */
void sim_watches_stir(struct simulator *sim, struct kube_cluster *cluster);
