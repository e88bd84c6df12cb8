/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Watches every effect on the simulated world and writes down each broken promise.  It never stops
 * a run and never changes the world.  Shares no code with the broker.
 */
#pragma once

#include "tools/simulator/model/simulator.h"

struct kube_node;
struct kube_pod;
struct machine;
struct pool;

struct referee *referee_new(void) __attribute__((returns_nonnull, warn_unused_result));
void referee_free(struct referee *referee);

/* Call before the effect, with what a request is about to do. */
void referee_patch_node(struct simulator *sim, const struct kube_node *node, bool cordons);
void referee_delete_node(struct simulator *sim, const struct kube_node *node, bool has_uid);
void referee_touch_pod(struct simulator *sim, const char *verb, const struct kube_pod *pod,
                       bool has_uid);
void referee_zero_grace(struct simulator *sim, const struct kube_pod *pod);
void referee_delete_instance(struct simulator *sim, const struct machine *machine,
                             const char *request_id);
void referee_protect_instance(struct simulator *sim, const struct machine *machine);
void referee_create_instance(struct simulator *sim, const struct pool *pool, const char *name,
                             const char *request_id);
/* The same of a cloud that is told only a number of machines. */
void referee_resize_pool(struct simulator *sim, const struct pool *pool, int wanted);
/* The same in a cluster of another kind; verb: the intent's own name. */
void referee_change_plain(struct simulator *sim, const char *verb, const struct kube_node *node,
                          const char *object);
void referee_scale(struct simulator *sim, const char *object);

/* For promises that are kept elsewhere (tools/simulator/slurm): writes one down; asks whether the
   journal has an intent; asks whether the node is in one live transfer. */
void referee_report(struct simulator *sim, const char *invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void referee_need_intent(struct simulator *sim, const char *verb, const char *object);
void referee_need_one_transfer(struct simulator *sim, const char *node);

/* Call after every event: checks the sizes of pools and reservations. */
void referee_check(struct simulator *sim);

/* Call when no transfer is live: no machine may be missing. */
void referee_check_end(struct simulator *sim);
