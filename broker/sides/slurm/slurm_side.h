/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a Slurm cluster does of a transfer, as a table of operations.  A round of questions is a
 * direct read: a step that needs one newer than some moment asks for it, and waits.
 */
#pragma once

#include "broker/transfer/side.h"
#include "broker/transfer/tenant.h"

extern const struct side side_slurm;

/* The steps; see side.h. */
enum verdict slurm_check(struct runner *runner, struct transfer *transfer);
void slurm_announce(struct runner *runner, struct transfer *transfer, const struct node *node);
enum verdict slurm_close(struct runner *runner, struct transfer *transfer);
enum verdict slurm_undo(struct runner *runner, struct transfer *transfer);
enum verdict slurm_empty(struct runner *runner, struct transfer *transfer);
enum verdict slurm_force(struct runner *runner, struct transfer *transfer);
enum verdict slurm_clear(struct runner *runner, struct transfer *transfer);
enum verdict slurm_may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms);
bool slurm_is_in_use(const struct runner *runner, const struct transfer *transfer,
                     int64_t asked_ms);
void slurm_lacks(const struct runner *runner, const struct transfer *transfer,
                 struct text *missing);
int slurm_note_ready(struct runner *runner, struct transfer *transfer);
enum verdict slurm_welcome(struct runner *runner, struct transfer *transfer);
bool slurm_is_lost(struct runner *runner, struct transfer *transfer);
bool slurm_may_discard(const struct runner *runner, const struct transfer *transfer);
bool slurm_is_idle(struct runner *runner, struct transfer *transfer, int64_t since_ms);
bool slurm_discard(struct runner *runner, struct transfer *transfer);

/* Where the node that leaves is in Slurm: the transfer's own cluster and node, or the tenant of a
   node of another cluster. */
struct tenant slurm_place(const struct runner *runner, const struct transfer *transfer);
bool slurm_is_lodged(const struct runner *runner, const struct transfer *transfer);
const struct snapshot *slurm_origin_snapshot(const struct runner *runner,
                                             const struct transfer *transfer);
const struct node *slurm_leaving_node(const struct runner *runner, const struct transfer *transfer);

/* Whether a complete round that began at or after since_ms was read of the cluster; asks for one if
   not, and says that the transfer waits for it. */
bool slurm_is_read(struct runner *runner, struct transfer *transfer,
                   const struct config_cluster *cluster, int64_t since_ms);

/* Asks for the effect on the node, as the snapshot of its cluster shows it. */
const struct effect *slurm_ask_node(struct runner *runner, struct transfer *transfer,
                                    const struct effect_kind *kind, const struct node *node,
                                    const char *key);

/* Keeps the node drained while its jobs leave: STEP_DONE, STEP_WAIT or STEP_UNDO. */
enum verdict slurm_keep_closed(struct runner *runner, struct transfer *transfer,
                               const struct node *node);

/* How many jobs have a part on the node, with those that end. */
size_t slurm_jobs_on(const struct snapshot *snapshot, const char *node);

/* Whether it is drained by sluice, or by another. */
bool slurm_is_drained_by(const struct node *node, const char *whom);

/* Whether a person set it DOWN and said why: then the transfer says so, and must turn back. */
bool slurm_is_out(struct transfer *transfer, const struct node *node);

/* Whether a reason of others keeps it out of service, a drain or DOWN: its record must stay. */
bool slurm_is_kept(const struct node *node);

/* slurm_tell.c: asks that the jobs on the node that leaves show its departure. */
void slurm_tell_jobs(struct runner *runner, struct transfer *transfer);

/* Asks that they do not any more; whether one does, or still may. */
bool slurm_untell_jobs(struct runner *runner, struct transfer *transfer);

/* Whether the job shows this transfer; and the words that it is to show, which the caller frees. */
bool slurm_is_told(const struct pod *job, const struct transfer *transfer);
char *slurm_words_for_job(const struct transfer *transfer, const struct pod *job)
    __attribute__((returns_nonnull, warn_unused_result));
