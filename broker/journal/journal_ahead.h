/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Revisions and claims in memory, and whether a batch fits them.  If the store writes later, they
 * are ahead of it: they include all accepted batches, so that a batch that does not fit is refused
 * at once.  Private to this folder.
 */
#pragma once

#include "broker/journal/journal_entry.h"

struct ahead;

struct ahead *ahead_new(void) __attribute__((returns_nonnull, warn_unused_result));
void ahead_free(struct ahead *ahead);

/* Adds what the other one holds. */
void ahead_copy(struct ahead *ahead, const struct ahead *other);

/* Adds a record or a claim that the store holds. */
void ahead_set_record(struct ahead *ahead, const char *kind, const char *id, uint64_t rev);
void ahead_set_claim(struct ahead *ahead, const char *name, const char *holder);

/* As journal_each_claim(). */
int ahead_each_claim(const struct ahead *ahead,
                     int (*fn)(void *context, const char *name, const char *holder,
                               struct error *err),
                     void *context, struct error *err) __attribute__((warn_unused_result));

/* Takes the entries of the batch, all or none; ERROR_CONFLICT names the first that does not fit. */
int ahead_take(struct ahead *ahead, const struct journal_batch *batch, struct error *err)
    __attribute__((warn_unused_result));
