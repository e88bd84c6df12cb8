/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The effects on a Slurm cluster: one action each (clusters/slurm/slurm_actions.h).  The journal
 * has their names.  Slurm knows no preconditions, so each is compared with the snapshot once more
 * right before it is sent.
 */
#pragma once

#include "broker/transfer/effect.h"

extern const struct effect_kind slurm_effect_reserve;   /* a maintenance reservation */
extern const struct effect_kind slurm_effect_postpone;  /* the departure changed */
extern const struct effect_kind slurm_effect_withdraw;  /* and the reservation has begun */
extern const struct effect_kind slurm_effect_comment;   /* tells people of it; not waited for */
extern const struct effect_kind slurm_effect_uncomment; /* on the way back */
extern const struct effect_kind slurm_effect_tell;      /* tells a job of it; not waited for */
extern const struct effect_kind slurm_effect_untell;    /* on the way back, and with its requeue */
extern const struct effect_kind slurm_effect_drain;     /* nothing new starts there */
extern const struct effect_kind slurm_effect_signal;    /* asks for a checkpoint */
extern const struct effect_kind slurm_effect_requeue;   /* the job waits under its own ID */
extern const struct effect_kind slurm_effect_cancel;    /* a job that cannot be requeued */
extern const struct effect_kind slurm_effect_undrain;   /* on the way back */
extern const struct effect_kind slurm_effect_unreserve; /* on the way back */
extern const struct effect_kind slurm_effect_lift;      /* the reservation of a node that left */
extern const struct effect_kind slurm_effect_forget;    /* deletes a dynamic node */
extern const struct effect_kind slurm_effect_keep;      /* tells why a record stays */
extern const struct effect_kind slurm_effect_tidy;      /* and does not any more */
extern const struct effect_kind slurm_effect_park;      /* a static node without its machine */
extern const struct effect_kind slurm_effect_admit;     /* lifts the reservation of a new node */
extern const struct effect_kind slurm_effect_resume;    /* lets the new node serve */
extern const struct effect_kind slurm_effect_discard;   /* deletes a dynamic node that failed */
extern const struct effect_kind *const slurm_effects[]; /* NULL at the end */

/* "sluice_t-4f1c09ab2e" */
enum { SLURM_RESERVATION_SIZE = 64 };
const char *slurm_reservation_name(const struct transfer *transfer,
                                   char out[SLURM_RESERVATION_SIZE]);

/* Whether the node's comment is sluice's, so that it may be replaced. */
#define SLURM_COMMENT_START "sluice: "
bool slurm_has_our_comment(const struct node *node);

/* What the record of a node says that stays without its machine.  The caller frees it. */
char *slurm_words_for_record(const struct transfer *transfer)
    __attribute__((returns_nonnull, warn_unused_result));

/* The key of a job's effects within a transfer: the job and its restarts, so that a job that
   started again is another one.  NULL: the pod is a stand-in for jobs that are not shown. */
const char *slurm_job_key(const struct pod *pod);
