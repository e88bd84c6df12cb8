/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A change of an object that is sent when all is on the disk that was promised until then.
 */
#pragma once

#include "clusters/kube_verbs.h"

struct config_cluster;
struct runner;

/* Patches the object at the path; never when the journal fails or the runner ends before.  done is
   called once if it was sent; its context outlives the runner's waiting. */
void kept_patch(struct runner *runner, const struct config_cluster *cluster, const char *path,
                json_t *patch, cluster_done_fn done, void *context);
