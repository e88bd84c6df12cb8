/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A second kind of cluster, for tests: nodes and jobs, asked by a list every three seconds and
 * changed by one POST each (tools/simulator/plain_api.c).  It has no object of Kubernetes.
 */
#pragma once

#include "broker/transfer/side.h"
#include "clusters/cluster.h"

extern const struct cluster_kind plain_cluster;
extern const struct side plain_side;

/* One exchange with its server; takes the body.  done is not called once the cluster is closed. */
void plain_post(struct cluster *cluster, const char *path, json_t *body, side_done_fn done,
                void *context);
