/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The budget queues of a cluster's evictions.  A limited number of evictions is under way at once,
 * and one at a time for each disruption budget.  While a budget's status allows none, one a minute
 * is sent all the same.
 *
 * A refusal by a budget delays the pods that it selects; an overloaded server delays its cluster;
 * no refusal delays another cluster.  The queues are not stored: after a restart a lost entry costs
 * one refused request.
 */
#pragma once

#include "base/world/world.h"
#include "broker/fleet/fleet.h"

#include <stdbool.h>
#include <stddef.h>

struct gate;
struct budget_queue; /* evictions waiting for one budget; lives as long as the gate */

struct gate *gate_new(struct world *world, const struct fleet *fleet, const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
void gate_free(struct gate *gate);

enum gate_answer {
    GATE_OPEN,
    GATE_WAIT,  /* ask again after the next event */
    GATE_NEVER, /* the server can never evict this pod: only its deadline makes it leave */
};

/* Whether any eviction may be sent to the cluster now; if not, *ret_why as below. */
bool gate_is_free(struct gate *gate, const struct config_cluster *cluster, const char **ret_why);

/* Whether an eviction of the pod may be sent now.  If not, *ret_why says what it waits for, and is
   valid until the next call. */
enum gate_answer gate_ask(struct gate *gate, const struct config_cluster *cluster,
                          const struct pod *pod, const char **ret_why);

/* Reports that an eviction of the pod is under way; returns its budget queue, NULL when no budget
   selects it. */
struct budget_queue *gate_enter(struct gate *gate, const struct config_cluster *cluster,
                                const struct pod *pod);

/* Reports the eviction's answer; err NULL: the pod is leaving. */
void gate_leave(struct gate *gate, const struct config_cluster *cluster, struct budget_queue *queue,
                const struct error *err);

/* Reports that an overloaded server refused any other request about pods. */
void gate_slow(struct gate *gate, const struct config_cluster *cluster, const struct error *err);
