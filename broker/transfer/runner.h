/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runner: owns the transfers, advances each after each event, and is the one place where a
 * transfer changes its step or its state (one transaction, with its event).
 */
#pragma once

#include "base/array.h"
#include "base/world/world.h"
#include "broker/fleet/fleet.h"
#include "broker/fleet/guard.h"
#include "broker/journal/journal.h"
#include "broker/transfer/attempts.h"
#include "broker/transfer/lead_book.h"
#include "broker/transfer/notice_counts.h"
#include "broker/transfer/steps.h"
#include "broker/transfer/transfer.h"

#include <stdbool.h>

struct effect;
struct index;
struct newcomers;
struct side;
struct tallies;
struct traces;

struct runner {
    struct world *world;
    const struct config *config;
    struct fleet *fleet;
    struct guard *guard;
    uint64_t epoch;
    ARRAY(struct transfer *) transfers; /* live ones, and those that ended lately; oldest first */
    struct index *by_node;              /* the same, by the UID of the node that leaves */
    struct lead_book *leads;
    struct attempts *attempts;
    struct newcomers *newcomers;
    struct tallies *tallies;
    struct traces *traces;        /* NULL: none are sent */
    ARRAY(struct intent) intents; /* of the turn under way */
    struct notice_counts notices;
    struct {
        const struct side *side;
        void *state;
    } * sides; /* the kinds of cluster that there are; side.h */
    size_t side_count;
    struct timer *timer;
    size_t live_count; /* transfers, at the last turn */
    int64_t turned_ms; /* when that was; 0: there was none yet */
    uint64_t turns;    /* so far */
    struct {
        size_t at;          /* in `transfers`: one of a move that did not leave early */
        uint64_t idle_turn; /* in that turn no pod of the move has agreed; 0: that one kept it */
    } last_unready;         /* so that a move of hundreds is not looked at by each of its nodes */

    /* NULL, or: whether the transfer's node may be cordoned, and drained when its move is cordoned;
       err says what it waits for.  A reclaim waits only a few seconds, and only for
       ERROR_TRANSIENT. */
    int (*may_drain)(void *context, const struct transfer *transfer, struct error *err);
    void *may_drain_context;
    bool is_broken; /* the journal failed: nothing more is sent or decided */
};

/* What a runner works with.  All of it is borrowed until the runner is closed. */
struct runner_setup {
    struct world *world;
    const struct config *config;
    struct fleet *fleet; /* NULL where records are only read: a repair of the journal */
    struct guard *guard;
    uint64_t epoch;                  /* of this process: each batch of the journal carries it */
    const struct side *const *sides; /* NULL at the end, one for each kind of cluster that the
                                        configuration knows */
};

/* Loads transfers, effects and lead times from the journal. */
struct runner *runner_open(const struct runner_setup *setup, struct error *err)
    __attribute__((warn_unused_result));
void runner_close(struct runner *runner);

/* Something changed: advances all live transfers, emergencies first, in a turn of its own. */
void runner_wake(struct runner *runner);

/* The same after a time; sooner if something happens before. */
void runner_wake_after(const struct runner *runner, int64_t wait_ms);

/* Begins transfers decided together, in one transaction: all or none.  Takes them. */
int runner_begin(struct runner *runner, struct transfer **transfers, size_t count,
                 struct error *err) __attribute__((warn_unused_result));

/* The transfer of this id, live or ended; NULL: none is known.  Borrowed until the next turn. */
struct transfer *runner_transfer(const struct runner *runner, const char *id);

/* The next live transfer, oldest first, and the next live one of a move (transfer.move).  *at is 0
   for the first; NULL after the last.  None may begin meanwhile. */
struct transfer *runner_next_live(const struct runner *runner, size_t *at);
struct transfer *runner_next_of_move(const struct runner *runner, const char *move, size_t *at);

/* The same for the live ones that take this node away. */
const struct transfer *runner_next_of_node(const struct runner *runner, const char *node_uid,
                                           size_t *at);

/* Whether the transfer can still go back: its removal was not accepted, as far as is known. */
bool runner_can_undo(const struct runner *runner, const struct transfer *transfer);

/* Asks a transfer to go back; it does so if it has not passed the point of no return. */
void runner_withdraw(struct runner *runner, struct transfer *transfer, const char *why);

/* For the steps. */
struct wall_time runner_now(const struct runner *runner);
void transfer_wait_for(struct transfer *transfer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Call right after transfer_wait_for(): its sentence then contains this effect's text, the reason
   of the refusal. */
void transfer_tells(struct transfer *transfer, const struct effect *effect);

/* Stores changed members of the transfer with an event; -1 when the journal failed. */
int runner_store(struct runner *runner, struct transfer *transfer, const char *event,
                 struct error *err) __attribute__((warn_unused_result));

/* Puts the transfer's record and an event into the batch; and commits it, which counts the record's
   revision on.  -1: the journal failed, and the runner is broken. */
void runner_put(const struct runner *runner, struct journal_batch *batch,
                const struct transfer *transfer, const char *event);
int runner_commit(struct runner *runner, struct transfer *transfer, struct journal_batch **batch,
                  struct error *err) __attribute__((warn_unused_result));

/* The claims of a live transfer in the journal: its node by UID, its machine by name.  The caller
   frees it. */
char *runner_claim_of_node(const struct transfer *transfer)
    __attribute__((returns_nonnull, warn_unused_result));
char *runner_claim_of_instance(const struct transfer *transfer)
    __attribute__((returns_nonnull, warn_unused_result));

/* When the transfer's GPUs can be used: a quantile of the learned lead times that exceed its
   elapsed time; never earlier than now for a live one. */
struct wall_time runner_expected(const struct runner *runner, const struct transfer *transfer,
                                 double percentile);

/* The Node of this attempt's machine, by the provider ID that a list gave it; NULL: none in the
   snapshot, or its machine has no name yet. */
const struct node *acquire_node(const struct runner *runner, const struct transfer *transfer);

/* Whether the transfer waits for a machine that the cloud reported as unavailable. */
bool acquire_is_out_of_stock(const struct runner *runner, const struct transfer *transfer);

/* The freeze that keeps the transfer from its next effect, or NULL. */
const struct freeze *runner_freeze(const struct runner *runner, const struct transfer *transfer);

/* The time until the last of so many nodes that start together for the pool is ready, 95 times in
   100: from learned lead times, and from the elapsed times of transfers under way. */
int64_t runner_wave_ms(const struct runner *runner, const struct config_pool *pool, int64_t nodes);

/* How long one node takes to the cluster's pools (NULL: to any production pool), by the slowest
   lead key. */
int64_t runner_lead_ms(const struct runner *runner, const struct config_cluster *cluster,
                       double percentile);

/* The journal failed in a way that leaves its state unknown: nothing is sent any more, and the
   process must end, so that the next one reads the stored state. */
void runner_break(struct runner *runner, const struct error *err);

static inline void owned_runner(struct runner **runner)
{
    runner_close(*runner);
}
