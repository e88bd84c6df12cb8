/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Volumes as the API server knows them: their attachments to nodes, and the claims that stand for
 * them.
 */
#pragma once

#include "tools/simulator/model/model.h"

/* Attaches a volume to a node, under an attachment of the volume's name. */
void sim_volume_attach(struct kube_cluster *cluster, const char *name, const char *node);

/* Detaches all of the node's. */
void sim_volumes_let_go(struct kube_cluster *cluster, const char *node);

/* The claim stands for the volume. */
void sim_claim_bind(struct kube_cluster *cluster, const char *namespace, const char *name,
                    const char *volume);
