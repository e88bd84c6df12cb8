/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The entries of batches, as stores see them.  Private to this folder.
 */
#pragma once

#include "base/array.h"
#include "broker/journal/journal_batch.h"

#include <stdbool.h>

enum journal_operation {
    JOURNAL_PUT,
    JOURNAL_REMOVE,
    JOURNAL_ABSENT, /* only in a folded batch: the record must not exist, and stays absent */
    JOURNAL_CLAIM,
    JOURNAL_RELEASE,
    JOURNAL_EVENT
};

struct journal_entry {
    enum journal_operation operation;
    char *name;       /* record: kind; claim: its name */
    char *id;         /* record: id; claim: holder */
    uint64_t rev;     /* record: its revision before, 0: it must not exist */
    uint64_t becomes; /* record: its revision after, 0: it does not exist */
    struct wall_time at;
    json_t *value; /* record or event */
    char *text;    /* the value as it is written */
};

struct journal_batch {
    uint64_t epoch;
    ARRAY(struct journal_entry) entries;
    size_t bytes; /* of its names, ids and texts, when it is printed */
};

/* Batches, in order, each whole by itself. */
struct journal_batches {
    struct journal_batch **items;
    size_t count;
    size_t capacity;
};

/* What one transaction of a store may hold. */
struct journal_bound {
    size_t rows;  /* entries of a folded batch */
    size_t bytes; /* of their names, ids and texts */
};

/* The largest configuration has 100,000 nodes, and a move of them all begins in one batch: two
   claims, a record and an event for each. */
#define JOURNAL_BOUND_OF_DISK                                                                      \
    {                                                                                              \
        .rows = 500000, .bytes = (size_t)512 << 20                                                 \
    }

/* Folds all entries of one record into one, at the place of the first.  ERROR_CONFLICT when two
   entries of a record do not follow each other. */
int journal_batch_fold(struct journal_batch *batch, struct error *err)
    __attribute__((warn_unused_result));

/* Prints the values as they are now, and counts the bytes; drops the values unless they are kept.
   A later write may use another thread. */
void journal_batch_print(struct journal_batch *batch, bool keeps_values);

/* ERROR_INVALID when it is over the bound. */
int journal_batch_check(const struct journal_batch *batch, const struct journal_bound *bound,
                        struct error *err) __attribute__((warn_unused_result));

/* Takes from the front as many batches as one transaction holds, one at least, as one batch,
   owned.  They fit each other, or the writer folds (and refuses) them. ret_count may be NULL. */
struct journal_batch *journal_batches_take(struct journal_batches *batches,
                                           const struct journal_bound *bound, size_t *ret_count)
    __attribute__((returns_nonnull, warn_unused_result));

void journal_batches_clear(struct journal_batches *batches);
