/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pair of clusters on real control planes, a pool in each, and the service that moves nodes from
 * the one to the other.  The cloud is the simulator's; a machine that it boots is registered in the
 * real API server, as a kubelet would do it, and is left there when the machine is gone.
 */
#pragma once

#include "base/input/json.h"
#include "base/world/loop.h"
#include "tests/conformance/ask.h"
#include "tests/real/mortal_service.h"
#include "tools/simulator/model/simulator.h"

#include <stdbool.h>

enum { CLUSTERS = 2, PROD = 0, RESEARCH = 1 };
enum { STATIC_NODES = 3, PODS_PER_NODE = 4 };
enum { MOVE_MS = 20 * MINUTE_MS }; /* a move that takes longer on a busy machine hangs */

struct pair {
    const char *kubeconfigs[CLUSTERS]; /* of who looks and changes: may do all */
    const char *brokers[CLUSTERS];     /* the service's: may do what clusters/role.yaml says */
    const char *name;                  /* of what this run makes, apart from other runs' */
    int movable;                       /* nodes of research that can leave; one more is static */
    const char *drain;                 /* settings; NULL: short ones */
    const char *join;                  /* likewise */
    const char *stops_in;              /* how long the Jobs' pods take; NULL: no time */
    bool is_indexed;                   /* the Jobs are gangs, which are stopped as a whole */
    int forgotten;                     /* of `moves`: a journal before this one has them */
    int moves;                         /* nodes that were ordered to production so far, */
    int moving;                        /* and with the last order */
    int spoiled;                       /* machines that were made in vain */

    /* The rest is made by pair_begin(). */
    char *folder;
    struct loop *loop;
    struct http *http;
    struct simulator *simulator;
    struct mortal_service *service;
    struct kube_config *access[CLUSTERS];
    struct asker askers[CLUSTERS];
    struct map *posted; /* name of a node -> GPUs that the real one shows */
};

/* Returns when the service runs, the nodes are there, and each is full of work. */
void pair_begin(struct pair *pair);
void pair_end(struct pair *pair);

/* Lets a moment pass; a service that died is started again, and that is told. */
bool pair_go_on(struct pair *pair);

/* So many more nodes are wanted in production: the next pair_apply() says so.  Returns how often
   the service died meanwhile. */
void pair_order(struct pair *pair, int nodes);
int pair_apply(struct pair *pair);

/* Applies, and goes on until the move has ended.  Returns how often the service died; where, is in
   step. */
int pair_follow(struct pair *pair, char step[24]);

/* What the service says of transfers that go on; NULL: it says nothing. */
json_t *pair_live(struct pair *pair) __attribute__((warn_unused_result));

/* How many transfers there are in that state, NULL: in any; -1: it says nothing.  The step is that
   of one that goes on. */
int pair_count(struct pair *pair, const char *state, char step[24]);

/* A list of the cluster's server.  The name of the pair stands between the two parts of its path.
 */
json_t *pair_items(struct pair *pair, size_t at, const char *before, const char *after)
    __attribute__((warn_unused_result));
