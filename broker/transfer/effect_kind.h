/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of effects: a row for each.  The core owns those on machines (effect_machine.c); what is
 * done to a cluster is its side's.  A record of the journal names its row.
 */
#pragma once

#include "base/error.h"
#include "broker/transfer/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effect;
struct effect_target;
struct intent;
struct pod;

struct effect_kind {
    const char *name; /* in the journal: it never changes */

    /* The steps in which it may happen: forced deletes not before step force, irreversible effects
       not before the point of no return. */
    enum transfer_step first;
    enum transfer_step last;
    bool stops_at_freeze; /* of the origin or the target */
    bool goes_back;       /* it may happen on the way back */
    /* A refusal of one sending says nothing of an earlier one with an unknown outcome: the order
       stays in doubt, and is repeated under its ID. */
    bool keeps_doubt;
    unsigned means_done; /* bits 1 << error kind: refusals that mean that it is done already */

    /* Copies what it will be done to, as it is seen now. */
    void (*prepare)(struct effect *effect, const struct effect_target *target,
                    struct intent *intent);

    /* Sends the exchange of a journaled intent; effect_finish() is called once, later. */
    void (*send)(const struct intent *intent);

    /* NULL, or: whether the object changed since the effect was asked for, so that it must not be
       sent; err gives the reason. */
    bool (*is_overtaken)(const struct intent *intent, struct error *err);

    /* NULL, or: releases what was prepared for an effect that is not sent. */
    void (*drop)(struct effect *effect, const struct error *err);

    /* NULL, or: how long it rests after an ERROR_THROTTLED, in ms. */
    int64_t (*busy_ms)(const struct effect *effect, const struct error *err);

    /* NULL: it does not ask pods to leave.  Otherwise: whether it is the first to ask this pod, and
       whether the pod has agreed that it needs no more time. */
    bool (*asks_to_leave)(const struct effect *effect, const struct pod *pod, bool *ret_is_ready);
};

/* The members that each row has.  EFFECT_GONE: a delete of an object that is gone counts as done.
   EFFECT_REPLACED: so does an eviction of a pod that was replaced.  For a patch, a conflict is no
   such success: the object has changed. */
#define EFFECT_GONE (1u << ERROR_NOT_FOUND)
#define EFFECT_REPLACED (EFFECT_GONE | 1u << ERROR_CONFLICT)
#define EFFECT_ROW(kind_name, from, to, freezes, done, prepares, sends)                            \
    .name = (kind_name), .first = (from), .last = (to), .stops_at_freeze = (freezes),              \
    .means_done = (done), .prepare = (prepares), .send = (sends)

/* effect_machine.c */
extern const struct effect_kind effect_remove;  /* the cloud deletes the machine and shrinks the
                                                   pool */
extern const struct effect_kind effect_create;  /* the cloud grows the pool by our machine */
extern const struct effect_kind effect_cancel;  /* the cloud takes back an order without a machine
                                                 */
extern const struct effect_kind effect_discard; /* the cloud deletes a machine of ours that never
                                                   served */
extern const struct effect_kind effect_protect; /* the cloud keeps our new machine when another
                                                   writer makes the pool smaller */
extern const struct effect_kind *const effect_machine_kinds[]; /* NULL at the end */

bool effect_fits_step(const struct effect_kind *kind, int step);

/* Takes the answer of the exchange; err NULL: it was accepted. */
void effect_finish(struct effect *effect, const struct error *err);

/* The exchange was answered, and the effect needs another one.  Stores `progress` in the journal;
   the step then asks for the effect again, under the same request ID.  False: `progress` is empty
   or too long to store; nothing was done. */
bool effect_go_on(struct effect *effect, const char *progress) __attribute__((warn_unused_result));
