/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Owners of gangs: the objects that can be told to stop all their pods at once, and to go on later.
 * THE table in owner.c says which kinds can, by which member of their spec.  When sluice stops an
 * object, annotations record this and the member's value before.  So exactly that value is
 * restored, and an object that a person had stopped before stays stopped.
 *
 * An owner is named by its path ("/apis/batch/v1/namespaces/ml/jobs/train").
 */
#pragma once

#include "base/error.h"
#include "clusters/snapshot.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { OWNER_PATH_SIZE = 512 };

#define OWNER_NOTE_STOPPED_BY "sluice.dev/suspended-by" /* the transfer */
#define OWNER_NOTE_WAS "sluice.dev/suspended-was"       /* the member before: absent, true, false */

/* One object as it was read. */
struct owner {
    char uid[64];
    char version[32];
    bool can_stop;       /* there is a way to suspend it */
    bool is_bag;         /* its pods are of use without each other */
    int64_t spare;       /* so many of its pods may be evicted before it fails for good, as a Job
                            does; INT64_MAX: any number */
    bool is_stopped;     /* by sluice or by another client */
    char stopped_by[64]; /* the transfer in our note; "": none */
    char was[8];         /* the member's present value, in the form of the note */
    char before[8];      /* the value before, from the note */
    bool is_part;        /* something controls it; `above` names it, if we know its kind */
    char above[OWNER_PATH_SIZE];
};

/* The path of the pod's owner; NULL: the owner cannot be suspended, and is not part of something
   that can.  The caller frees it. */
char *owner_of_pod(const struct pod *pod) __attribute__((warn_unused_result));

/* The path of the Job that made the pod, whatever that Job is part of; NULL: none did.  The caller
   frees it. */
char *owner_job_of_pod(const struct pod *pod) __attribute__((warn_unused_result));

/* Whether its eviction will still count, or counts already, as a failure of its Job. */
bool owner_counts_pod(const struct pod *pod);

/* Whether a queueing controller has admitted the pod: then even a single pod belongs to a gang. */
bool owner_is_queued(const struct pod *pod);

/* "JobSet ml/train", for people.  The caller frees it. */
char *owner_name(const char *path) __attribute__((returns_nonnull, warn_unused_result));

/* Whether the owner deletes its pods when it is suspended; otherwise they run to their end. */
bool owner_deletes_pods(const char *path);

/* Whether the path is a Kueue Workload's. */
bool owner_is_workload(const char *path);

int owner_read(const char *path, const json_t *object, struct owner *ret_owner, struct error *err)
    __attribute__((warn_unused_result));

/* Where the Kueue Workloads of the object with this UID are listed, and the first in such a list
   that it owns (NULL: none).  The caller frees both. */
char *owner_workloads_path(const char *path, const char *uid)
    __attribute__((returns_nonnull, warn_unused_result));
char *owner_workload_in(const json_t *list, const char *path, const char *uid)
    __attribute__((warn_unused_result));

/* Merge patches that suspend it, and that restore the state before.  They have UID and
   resourceVersion: the server refuses them for an object that changed, or was made again. */
json_t *owner_stop_patch(const char *path, const struct owner *owner, const char *transfer)
    __attribute__((returns_nonnull, warn_unused_result));
json_t *owner_restore_patch(const char *path, const struct owner *owner)
    __attribute__((returns_nonnull, warn_unused_result));
