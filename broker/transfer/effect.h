/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Effects: one HTTP exchange that changes something outside, journaled as an intent before it is
 * sent and with its answer after.  An intent without an answer, after a crash, is an effect whose
 * outcome is unknown: sluice first looks at the object, and then repeats the request under the same
 * key.
 *
 * A step asks for an effect whenever it does not see the effect's result.  Asking is cheap and safe
 * to repeat: while the exchange is under way, while the backoff runs, and while the step's
 * observation is older than the last answer, nothing is sent.
 */
#pragma once

#include "base/error.h"
#include "broker/transfer/effect_kind.h"
#include "clusters/snapshot.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct config_cluster;
struct runner;
struct transfer;

enum { EFFECT_PROGRESS_SIZE = 128 };

struct effect {
    struct runner *runner;
    struct transfer *transfer;
    void *of_side; /* the side's data of it, while it is under way or after; NULL: none */
    const struct effect_kind *kind;
    char object[254];    /* UID or machine name: the key within the transfer */
    char name[320];      /* the object's name for people: NODE, NAMESPACE/POD, MACHINE */
    char request_id[40]; /* UUID, the same until a definite failure */
    char progress[EFFECT_PROGRESS_SIZE]; /* of an effect of several exchanges: the progress after
                                            the answered ones */
    int generation;                      /* definite failures so far */
    int sent_count;
    int64_t grace_s; /* the grace that this process gave the pod; 0 for an eviction: the pod's
                        own */
    bool is_in_flight;
    enum error_kind outcome; /* of the last answer; ERROR_NONE: it was accepted */
    char text[256];
    int64_t answered_ms; /* loop time; 0: never */
    int64_t accepted_ms; /* since when this process knows that it was accepted; 0: it was not */
    int64_t not_before_ms;
    int64_t asked_ms; /* of that, what the server asked for */
    uint64_t rev;
};

/* The object of an effect.  The kind decides which members count. */
struct effect_target {
    const char *object;        /* the key: UID or machine name */
    const struct node *node;   /* node effects: from the snapshot */
    const struct pod *pod;     /* pod effects */
    int64_t grace_s;           /* of a pod that is to leave; 0: its own */
    const json_t *annotations; /* node effects */
    const json_t *labels;
};

/* An effect that was asked for, and is sent when its intent is on the disk: all intents of a turn
   are written together.  It has its own copy of its target, because the snapshot changes. */
struct intent {
    struct effect *effect;
    char *namespace; /* of the pod */
    char *name;      /* of the pod or node */
    char *uid;
    json_t *patch; /* of the node as it was seen; NULL: none */
    int64_t grace_s;
    int64_t asked_ms;
};

/* Writes the gathered intents of the turn, and sends their effects when they are on the disk; none
   when the journal fails. */
void effects_settle(struct runner *runner);

/* Asks for the effect and returns its present state (never NULL): the caller may read `outcome`.
   seen_ms: loop time of the observation that does not show the result yet. */
const struct effect *effect_ask(struct runner *runner, struct transfer *transfer,
                                const struct effect_kind *kind, const struct effect_target *target,
                                int64_t seen_ms) __attribute__((returns_nonnull));

/* The effect if it was ever asked for, or NULL. */
const struct effect *effect_find(const struct transfer *transfer, const struct effect_kind *kind,
                                 const char *object);

/* Whether the effect's result may still show up later than seen_ms: it is under way, or it was
   accepted or lost after that observation. */
bool effect_is_open(const struct transfer *transfer, const struct effect_kind *kind,
                    const char *object, int64_t seen_ms);

/* The cluster of the effect: the origin for effects before a machine is acquired, then the
   target. */
const struct config_cluster *effect_cluster(const struct effect *effect)
    __attribute__((returns_nonnull));

/* The loop time that an observation must be newer than, to decide about the effect: the step's
   begin, and the moment from which it may be sent again. effect may be NULL. */
int64_t effect_look_since(const struct transfer *transfer, const struct effect *effect);

/* Whether effect_ask() would send it now: no answer is awaited, no backoff runs, no freeze stops
   it.  Use it before a direct read whose result is valid for a moment only. */
bool effect_may_be_sent(const struct runner *runner, const struct transfer *transfer,
                        const struct effect_kind *kind, const char *object, int64_t seen_ms);

/* The effect was accepted but had no result: asked again, it is a new intent under a new key. */
void effect_renew(struct transfer *transfer, const struct effect_kind *kind, const char *object);

/* Whether it was sent and not every request was definitely refused; effect may be NULL. */
bool effect_may_have_happened(const struct effect *effect);

/* An effect that a server refused with a request to pause for minutes; NULL: none.  The one that
   the transfer waits for comes first. */
const struct effect *effect_pause(const struct transfer *transfer, int64_t now_ms);

/* Loads the journal's effects into their transfers: intents without an answer, and records that
   cannot be read, become unknown outcomes. */
int effect_load(struct runner *runner, struct error *err) __attribute__((warn_unused_result));
