/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A batch: what one commit writes (journal.h).
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"

#include <jansson.h>
#include <stdint.h>

struct journal_batch;

/* Values are referenced, not copied: do not change them afterwards. */
struct journal_batch *journal_batch_new(uint64_t epoch)
    __attribute__((returns_nonnull, warn_unused_result));
void journal_batch_free(struct journal_batch *batch);

/* rev: the revision that it replaces, 0 when the record must not exist yet.  The new revision is
   rev + 1.  A batch may put a record twice: the second put has rev + 1, and only it is written. */
void journal_put(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev,
                 json_t *value);
void journal_remove(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev);

/* Claiming a name that another holder has fails the batch with ERROR_CONFLICT; claiming it again
   for the same holder is fine.  Releasing what the holder does not have is fine too. */
void journal_claim(struct journal_batch *batch, const char *name, const char *holder);
void journal_release(struct journal_batch *batch, const char *name, const char *holder);

void journal_event(struct journal_batch *batch, struct wall_time at, json_t *event);

static inline void owned_journal_batch(struct journal_batch **batch)
{
    journal_batch_free(*batch);
}
