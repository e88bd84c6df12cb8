/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an implementation of the journal gives.  Private to this folder.
 */
#pragma once

#include "base/crypto.h"
#include "base/world/loop.h"
#include "broker/journal/journal.h"
#include "broker/journal/journal_entry.h"

#include <stdbool.h>

struct ahead;
struct journal_queue;

/* The result of a batch that was given to send(): 0, or -1 with the reason. */
typedef void (*journal_written_fn)(void *context, int result, const struct error *err);

/* A store writes a batch whole or not at all, and only if no other handle has written since its own
   began its epoch.  It compares this itself, within its transaction, because a lock may be lost.  A
   written batch names each record once (journal_batch_fold()); entries of one claim are applied in
   their order. */
struct journal_verbs {
    bool keeps_values; /* entries have their `value` beside their `text` */
    /* One of the two.  commit() blocks: in the call, or in a thread, but never two at once. */
    int (*commit)(struct journal *journal, const struct journal_batch *batch, struct error *err);
    /* send() does not block: for a store over the network.  It calls done once, in a later turn of
       the loop, with the result of the batch.  The caller owns the batch and keeps it until then.
       send() repeats lost requests by itself, and calls journal_pass_gate() before it writes.  One
       batch at a time; a store of this kind calls journal_write_by_store() when it is opened. */
    void (*send)(struct journal *journal, const struct journal_batch *batch,
                 journal_written_fn done, void *context);
    /* The caller that waits for the answer is gone: done must not be called any more. */
    void (*abandon)(struct journal *journal);
    /* Greater than any before.  Keeps it at once, or with the first commit in it. */
    int (*begin_epoch)(struct journal *journal, uint64_t *ret_epoch, struct error *err);
    int (*list)(struct journal *journal, struct ahead *ahead, struct error *err); /* all it holds */
    int (*each)(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                struct error *err);
    int (*each_claim)(struct journal *journal, journal_claim_fn fn, void *context,
                      struct error *err);
    json_t *(*events)(struct journal *journal, size_t count, struct error *err);
    json_t *(*events_after)(struct journal *journal, int64_t seq, size_t count, struct error *err);
    void (*close)(struct journal *journal);
};

/* Embedded as the first member of an implementation. */
struct journal {
    const struct journal_verbs *verbs;
    struct journal_bound bound;
    struct journal_batches put_off;
    ARRAY(struct journal_aside) asides;
    bool is_gathering;
    uint64_t commits;            /* accepted since it was opened */
    uint64_t epoch;              /* the last one that was begun here */
    struct ahead *ahead;         /* NULL without a queue: the store then refuses batches that do not
                                    fit */
    struct journal_queue *queue; /* NULL: a commit is written in its call */
    journal_failure_fn on_failure;
    void *failure_context;
    journal_gate_fn gate;
    void *gate_context;
};

/* A store refuses with this a batch whose epoch is not the latest: ERROR_DENIED. */
int journal_refuse_old_epoch(struct error *err);

/* Asks the gate; -1: it is shut. */
int journal_pass_gate(struct journal *journal, struct error *err)
    __attribute__((warn_unused_result));

/* From its opening on: the store sends, and does not block. */
int journal_write_by_store(struct journal *journal, struct loop *loop, struct error *err)
    __attribute__((warn_unused_result));

/* Writes it to the store, if the gate lets it. */
int journal_write(struct journal *journal, const struct journal_batch *batch, struct error *err)
    __attribute__((warn_unused_result));

/* hash = SHA-256(hash before || its time in ms || compact JSON of the event), in hexadecimal. */
void journal_chain(const char *before, struct wall_time at, const char *event_text,
                   char out[SHA256_TEXT_SIZE]);

/* The hash before the first event. */
extern const char journal_chain_start[];
