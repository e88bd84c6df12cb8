/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The side of Kubernetes clusters.  The functions are rows of broker/transfer/side.h, which says
 * what each answers.  What the side keeps is in kube_state.h.
 */
#pragma once

#include "broker/transfer/side.h"

/* leave.c */
enum verdict kube_check(struct runner *runner, struct transfer *transfer);
void kube_announce(struct runner *runner, struct transfer *transfer, const struct node *node);
enum verdict kube_close(struct runner *runner, struct transfer *transfer);
enum verdict kube_undo(struct runner *runner, struct transfer *transfer);
/* Call before each further step of the drain.  STEP_UNDO when the node is not ours any more
   (another one under its name, its label gone, a rival's taint), with the reason set; STEP_WAIT
   while this is not known. */
enum verdict kube_keep_closed(struct runner *runner, struct transfer *transfer);

/* drain.c */
enum verdict kube_empty(struct runner *runner, struct transfer *transfer);
enum verdict kube_force(struct runner *runner, struct transfer *transfer);

/* clear.c */
enum verdict kube_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms);
bool kube_is_in_use(const struct runner *runner, const struct transfer *transfer, int64_t asked_ms);
enum verdict kube_clear(struct runner *runner, struct transfer *transfer);

/* join.c */
void kube_lacks(const struct runner *runner, const struct transfer *transfer, struct text *missing);
int kube_note_ready(struct runner *runner, struct transfer *transfer);
enum verdict kube_welcome(struct runner *runner, struct transfer *transfer);
bool kube_is_lost(struct runner *runner, struct transfer *transfer);
bool kube_may_discard(const struct runner *runner, const struct transfer *transfer);
bool kube_is_idle(struct runner *runner, struct transfer *transfer, int64_t since_ms);
bool kube_discard(struct runner *runner, struct transfer *transfer);

/* replicas.c, kueue_quota.c */
const struct side_number *kube_replicas(const struct config_workload *workload)
    __attribute__((returns_nonnull));
extern const struct side_number kube_quota;
