/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From Slurm's lists to a snapshot: a node of Slurm is a struct node, the part of a job on one node
 * is a struct pod, and the job is the gang of its parts.  Pure.
 *
 * How a node shows a transfer:
 *   - a reservation "sluice_TRANSFER": the transfer, and the departure (its start time);
 *   - a drain with the reason "sluice-leaving TRANSFER ...": the taint SLUICE_TAINT_LEAVING;
 *   - a drain with the reason "sluice-parked ...": its machine left, and it keeps its place in
 *     Slurm's configuration.  While it does not respond it is no node; once it does, it has the
 *     taint SLUICE_TAINT_STARTING, also if Slurm keeps it DOWN (ReturnToService).
 */
#pragma once

#include "base/error.h"
#include "clusters/slurm/slurm_node.h"
#include "clusters/snapshot.h"

#include <jansson.h>

#define SLURM_RESERVATION_START "sluice_"

/* Annotations of a node of Slurm. */
#define SLURM_NOTE_STATE "slurm/state"         /* "MIXED+DRAIN" */
#define SLURM_NOTE_REASON "slurm/reason"       /* of its drain, or of DOWN */
#define SLURM_NOTE_REASON_BY "slurm/reason-by" /* its user, if Slurm tells */
#define SLURM_NOTE_COMMENT "slurm/comment"
#define SLURM_NOTE_RESERVATION "slurm/reservation" /* of sluice */
#define SLURM_NOTE_DYNAMIC "slurm/dynamic"         /* "true": its record may be deleted */
#define SLURM_NOTE_DRAIN "slurm/drain"             /* "ours" or "other" */
#define SLURM_NOTE_OUT "slurm/out"                 /* DOWN or silent, with a reason of others */
#define SLURM_NOTE_HELD_DOWN "slurm/held-down"     /* "true": parked, responds, and is DOWN */

/* Annotations of a job's part. */
#define SLURM_NOTE_JOB "slurm/job"                     /* what commands call it: "12", "12_3" */
#define SLURM_NOTE_RESTARTS "slurm/key"                /* "12.1": the job and its restarts */
#define SLURM_NOTE_NODES "slurm/nodes"                 /* how many nodes it has */
#define SLURM_NOTE_HOST "slurm/host"                   /* where its batch script runs */
#define SLURM_NOTE_ADMIN_COMMENT "slurm/admin-comment" /* if there is one */
#define SLURM_NOTE_SIGNAL "sluice.dev/checkpoint-signal"
#define SLURM_NOTE_STEPS "slurm/signal-for-steps" /* "true": the batch script does not get it */
#define SLURM_NOTE_SCRIPT "slurm/script"          /* why its signal is not that of its script */
#define SLURM_SCRIPT_UNREAD "unread"              /* that: it may ask for another one */

/* The owner of a job that Slurm can start again; one without it is lost when it ends. */
#define SLURM_OWNER_KIND "SlurmJob"

struct slurm_lists {
    const json_t *nodes;
    const json_t *jobs;
    const json_t *reservations;
    const json_t *partitions;
};

struct slurm_view {
    const char *cluster;
    const char *machine;       /* provider ID with blanks: "gce://p/z/{name}" */
    const char *signal;        /* of jobs that name none; "" or NULL: none */
    const char *preempts;      /* Slurm's PreemptType; NULL: it is not known */
    const struct map *scripts; /* slurm_scripts_read(); NULL: none can be read */
};

/* Replaces nodes and pods.  ERROR_CORRUPT: a list cannot be read; the snapshot stays as it was. */
int slurm_snapshot_fill(struct snapshot *snapshot, const struct slurm_lists *lists,
                        const struct slurm_view *view, struct error *err)
    __attribute__((warn_unused_result));
