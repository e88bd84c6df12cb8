/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two pools of Cluster API's own controllers, of one workload cluster each, and two real API
 * servers in the place of these clusters'.  A machine of the in-memory provider has no kubelet:
 * while the farm is looked at, each Machine that has a Node in memory gets one in the real server,
 * and the Node of a Machine that is gone is deleted, as Cluster API does it.
 *
 * The Machines are read from the management cluster's API server, with an administrator's rights.
 */
#pragma once

#include "base/input/json.h"
#include "tests/conformance/ask.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROD, RESEARCH, CLUSTERS };

struct farm {
    const char *name; /* its pools are MachineDeployments, NAME-prod and NAME-research */
    struct asker askers[CLUSTERS]; /* the management cluster is that of PROD */
    bool are_new;                  /* a Node that registers from now on has the start-up taint */
    size_t least, most;            /* Machines that do not leave; all Machines: at each look */

    /* What was seen. */
    json_t *machines[CLUSTERS]; /* UID -> Machine, of the last look */
    json_t *ever;               /* UID -> name, of each Machine that was ever there */
    json_t *nodes[CLUSTERS];    /* name of a Machine -> name of the Node that it got */
};

/* Makes the namespace NAME in both clusters, and the Deployments whose pods are on the nodes. */
void farm_begin(struct farm *farm);
void farm_end(struct farm *farm);

/* Fails the test when there are more or fewer Machines than there may be. */
void farm_look(struct farm *farm);

/* Whether so many run in the pool, no others are there, and each has its Node. */
bool farm_is_at(const struct farm *farm, size_t at, size_t wanted);

/* What must not change but for the order. */
struct farm_picture {
    json_t *uids[CLUSTERS];        /* of Machines -> name */
    json_t *nodes[CLUSTERS];       /* name -> untouched_of() */
    int64_t generations[CLUSTERS]; /* of the pools: how often their spec was written */
    int64_t replicas[CLUSTERS];    /* spec.replicas */
    size_t ever;                   /* Machines that were ever there */
};

void farm_picture_take(struct farm *farm, struct farm_picture *ret_picture);
void farm_picture_clear(struct farm_picture *picture);

/* The move of one node out of `from`, as the service tells it. */
struct farm_move {
    size_t from;
    const char *left; /* names of Machines */
    const char *came;
};

/* Fails the test unless that was done since, and nothing else: each pool's size was written once,
   the Machine that left was the one that sluice chose, one other came, and all others are the same,
   unmarked, and with the same Nodes. */
void farm_picture_check(struct farm *farm, const struct farm_picture *before,
                        const struct farm_move *move);
