/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The entries of a batch as statements, within a transaction of SQLite.  Private to this folder.
 */
#pragma once

#include "base/database.h"
#include "broker/journal/journal_store.h"

/* Entries that do not fit are ERROR_CONFLICT, and the transaction must be rolled back. *seq and
   hash are the end of the chain of events, before and after. */
int entries_write(struct database *database, const struct journal_batch *batch, int64_t *seq,
                  char hash[SHA256_TEXT_SIZE], struct error *err)
    __attribute__((warn_unused_result));
