/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a MachineDeployment or a MachinePool says of itself, in v1beta2 and in v1beta1.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { CAPI_VERSION_SIZE = 64, CAPI_BUSY_SIZE = 128 };

struct capi_group {
    int64_t wanted;                  /* spec.replicas */
    int64_t present;                 /* status.replicas: machines that it had when it last looked */
    char version[CAPI_VERSION_SIZE]; /* metadata.resourceVersion: a write names it */
    char generation[24];             /* changes with each change of its spec */
    char busy[CAPI_BUSY_SIZE];       /* why its size must not be changed now; "": it may be */
    bool is_lagging;                 /* its controller has not seen its last change */
};

extern const char capi_lags[]; /* what is_lagging means, for people */

/* ERROR_CORRUPT: it lacks what each of them has. */
int capi_read_group(const json_t *object, struct capi_group *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Machines of the pool, as a complete list has them. */
struct capi_count {
    int64_t staying; /* not told to go; marked ones too */
    int64_t leaving; /* told to go: Cluster API counts them until they are gone */
    char marked[64]; /* one that stays and is marked, but for the one in question; "": none */
};

enum capi_removal {
    CAPI_REMOVAL_WRITE, /* make the pool smaller by one */
    CAPI_REMOVAL_DONE,  /* it is small enough already: the marked Machine goes by itself */
    CAPI_REMOVAL_WAIT,  /* ret_why: read again later */
};

/* Decides by counting whether the pool must still be made smaller for a Machine that leaves. */
enum capi_removal capi_leaving_step(const struct capi_group *group, const struct capi_count *count,
                                    char ret_why[CAPI_BUSY_SIZE]);

/* Decides by counting whether one more must go, so that the marked Machine does, and no other.  The
   pool deletes what it has too much: first what is leaving already, then what is marked. */
enum capi_removal capi_removal_step(const struct capi_group *group, const struct capi_count *count,
                                    bool is_marked, char ret_why[CAPI_BUSY_SIZE]);
