/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lead times of all lead keys, in either direction.  A transfer adds the time of each step that
 * ends, and the whole time when its GPUs are handed over.  A failed or withdrawn transfer counts as
 * censored.
 */
#pragma once

#include "broker/journal/journal.h"
#include "broker/transfer/leads.h"
#include "broker/transfer/transfer.h"

struct lead_book;

/* Two entries per lead key of the configuration's pools: to production, and to research.  Free with
 * lead_book_free(). */
struct lead_book *lead_book_new(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
void lead_book_free(struct lead_book *book);

/* The lead times of nodes that come to the pool, by its lead key. */
const struct leads *lead_book_of(const struct lead_book *book, const struct config_pool *pool)
    __attribute__((returns_nonnull));

/* The transfer leaves its step after this time; is_censored: without having completed it. */
void lead_book_add_step(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                        bool is_censored);

/* The transfer is handed over, or goes back (is_censored), this long after its cordon. */
void lead_book_add_whole(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                         bool is_censored);

/* Puts the lead key's record, and after the commit counts it as stored. */
void lead_book_put(const struct lead_book *book, const struct transfer *transfer,
                   struct journal_batch *batch);
void lead_book_was_put(struct lead_book *book, const struct transfer *transfer);

/* [leads_describe(), `key`, and `direction`: "to_production" or "to_research"] */
json_t *lead_book_describe(const struct lead_book *book)
    __attribute__((returns_nonnull, warn_unused_result));

/* Lead keys that the configuration no longer has stay in the journal. */
int lead_book_load(struct lead_book *book, struct journal *journal, struct error *err)
    __attribute__((warn_unused_result));
