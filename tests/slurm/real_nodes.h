/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The slurmds of machines that the simulator's cloud boots.  Dynamic nodes have their machine's
 * name.  Those of slurm.conf are n1, n2, ...: a new machine takes the first whose machine is gone,
 * and the boot script of such a site notes in the node's Extra which machine that is.
 */
#pragma once

#include "tests/slurm/real_server.h"
#include "tools/simulator/model/model.h"

struct real_nodes;

/* FIXED: how many nodes slurm.conf has, whose slurmds run already; 0: they are dynamic. */
struct real_nodes *real_nodes_new(const struct real_server *server, int fixed)
    __attribute__((returns_nonnull, warn_unused_result));
void real_nodes_free(struct real_nodes *nodes);

/* A machine that runs has a slurmd, and one that stops has none. */
void real_nodes_follow(struct real_nodes *nodes, const struct pool *pool);

/* The node of a machine; NULL: it has none. */
const char *real_nodes_of(const struct real_nodes *nodes, const struct machine *machine);

/* The first node of slurm.conf without a machine; the caller frees it.  It must be there. */
char *real_nodes_vacant(const struct real_nodes *nodes)
    __attribute__((returns_nonnull, warn_unused_result));
