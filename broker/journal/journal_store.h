/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an implementation of the journal gives, and the batch as it sees it.  Private to this
 * folder.
 */
#pragma once

#include "base/array.h"
#include "base/crypto.h"
#include "broker/journal/journal.h"

#include <stdbool.h>

enum journal_operation {
    JOURNAL_PUT,
    JOURNAL_REMOVE,
    JOURNAL_CLAIM,
    JOURNAL_RELEASE,
    JOURNAL_EVENT
};

struct journal_entry {
    enum journal_operation operation;
    char *name; /* record: kind; claim: its name */
    char *id;   /* record: id; claim: holder */
    uint64_t rev;
    struct wall_time at;
    json_t *value; /* record or event */
    char *text;    /* the value as it is written, where the store asks for that */
};

struct journal_batch {
    uint64_t epoch;
    ARRAY(struct journal_entry) entries;
};

struct ahead;
struct journal_queue;

struct journal_verbs {
    bool writes_text; /* entries have `text` instead of `value` */
    /* Maybe in another thread, but never two things at once. */
    int (*commit)(struct journal *journal, const struct journal_batch *batch, struct error *err);
    int (*begin_epoch)(struct journal *journal, uint64_t *ret_epoch, struct error *err);
    int (*list)(struct journal *journal, struct ahead *ahead, struct error *err); /* all it holds */
    int (*each)(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                struct error *err);
    int (*each_claim)(struct journal *journal, journal_claim_fn fn, void *context,
                      struct error *err);
    json_t *(*events)(struct journal *journal, size_t count, struct error *err);
    void (*close)(struct journal *journal);
};

/* Embedded as the first member of an implementation. */
struct journal {
    const struct journal_verbs *verbs;
    struct journal_batch *put_off; /* NULL: none */
    ARRAY(struct journal_aside) asides;
    bool is_gathering;
    uint64_t epoch;              /* the last one that was begun here */
    struct ahead *ahead;         /* NULL without a queue: the store says what does not fit */
    struct journal_queue *queue; /* NULL: a commit is written in its call */
    journal_failure_fn on_failure;
    void *failure_context;
    journal_gate_fn gate;
    void *gate_context;
};

/* Appends the batch to *whole (NULL: it becomes that), and frees it. */
void journal_batch_join(struct journal_batch **whole, struct journal_batch *batch);

/* Writes it to the store, if the gate lets it. */
int journal_write(struct journal *journal, const struct journal_batch *batch, struct error *err)
    __attribute__((warn_unused_result));

/* hash = SHA-256(hash before || its time in ms || compact JSON of the event), in hexadecimal. */
void journal_chain(const char *before, struct wall_time at, const char *event_text,
                   char out[SHA256_TEXT_SIZE]);

/* The hash before the first event. */
extern const char journal_chain_start[];
