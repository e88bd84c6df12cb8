/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which pods lose their work together.  A gang is the largest unit that its owner starts, suspends
 * and loses as one: a Kueue Workload before the JobSet in it, the JobSet before its Jobs.  THE
 * table in gang.c finds a pod's gang from its labels, annotations and controller; a pod that
 * matches no row is a gang of one.
 */
#pragma once

#include "base/timestamp.h"

#include <jansson.h>
#include <stdbool.h>

enum gang_kind {
    GANG_POD, /* alone: unmanaged, or a replica that is rebuilt without the others */
    GANG_KUEUE_WORKLOAD,
    GANG_VOLCANO_GROUP,
    GANG_KAI_GROUP,
    GANG_SCHEDULER_GROUP, /* of the coscheduling plugin */
    GANG_RAY_CLUSTER,
    GANG_LEADER_WORKER_SET, /* one group of it */
    GANG_JOB_SET,           /* also a TrainJob's: it makes a JobSet of its own name */
    GANG_MPI_JOB,
    GANG_TRAINING_JOB, /* PyTorchJob and its kin */
    GANG_ARGO_WORKFLOW,
    GANG_JOB,
    GANG_OWNER, /* any other controller */
    GANG_SLURM_JOB,
    GANG_KIND_COUNT,
};

struct gang_ref {
    enum gang_kind kind;
    char *key;         /* "NAMESPACE/NAME": unique in its cluster with the kind; never NULL */
    json_t *times;     /* the pod's annotations that are RFC 3339 times; the configuration names the
                          one that is the checkpoint; NULL: none */
    bool is_protected; /* the pod asks autoscalers to leave it alone */
};

/* The gang of the pod.  Reads metadata only; anything unknown counts as absent. */
struct gang_ref gang_of_pod(const json_t *pod) __attribute__((warn_unused_result));

/* Those of the annotations that are RFC 3339 times, for gang_ref.times; NULL: none. */
json_t *gang_times(const json_t *annotations) __attribute__((warn_unused_result));
void gang_ref_clear(struct gang_ref *gang);

/* The time in this annotation of the pod; 0: none. */
struct wall_time gang_time(const struct gang_ref *gang, const char *annotation);

/* "Kueue Workload", "JobSet", ... for people. */
const char *gang_kind_name(enum gang_kind kind);
