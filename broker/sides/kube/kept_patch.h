/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A change of an object.  It is sent when all commits so far are on the disk.
 */
#pragma once

#include "clusters/kube_verbs.h"

struct config_cluster;
struct runner;

/* A merge patch of one object. */
struct object_patch {
    const struct config_cluster *cluster;
    const char *path; /* of the object, as cluster_patch_at() has it; copied */
    json_t *change;   /* shared: it does not change any more */
};

/* Sends the patch; never when the journal fails or the runner ends before.  done is called once if
   it was sent; its context outlives the runner's waiting. */
void kept_patch(struct runner *runner, const struct object_patch *patch, cluster_done_fn done,
                void *context);
