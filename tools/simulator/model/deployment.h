/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The state of a Deployment of a simulated cluster; kube/deployments.c is its controller.
 */
#pragma once

#include "tools/simulator/model/model.h"

struct deployment {
    const struct scenario_workload *plan;
    struct scenario_workload *own; /* the plan of one that a client posted; NULL: the scenario's */
    json_t *written; /* metadata and spec, as a client wrote them; NULL: as they were made */
    struct kube_cluster *cluster;
    char uid[SIM_UID_SIZE];
    char set_uid[SIM_UID_SIZE]; /* of its ReplicaSet */
    char hash[12];
    int replicas;
    char manager[64];   /* the field manager that set the replicas; "": none yet */
    int64_t managed_ms; /* when it did */
    uint64_t version;
    bool is_stalled; /* its controller does nothing */
    bool is_deleted; /* no client sees it; its pods leave */
    int outdated;    /* pods of the version before, in a rollout that does not end */
    ARRAY(struct kube_pod *) pods;
};
