/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Machines that a pool has for the first time.  A cloud that names machines itself
 * (IDENTITY_BY_GROWTH) does not say which machine an order brought.  So the journal keeps, for each
 * such pool, the machines that are accounted for: those that were there before the first of the
 * open orders, and those that an order has met since.  Any other machine is a newcomer.
 *
 * The functions that take a journal batch change this at once, as if the batch were stored.  So
 * after a batch that fails, nothing may be committed any more.
 */
#pragma once

#include "base/map.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"

struct newcomers;

struct newcomers *newcomers_new(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
void newcomers_free(struct newcomers *newcomers);
int newcomers_load(struct newcomers *newcomers, struct journal *journal, struct error *err)
    __attribute__((warn_unused_result));

/* Whether the pool's machines are accounted for. */
bool newcomers_are_known(const struct newcomers *newcomers, const struct config_pool *pool);

/* No order is open in the pool: all that it has now is accounted for.  instances: name -> struct
   instance, of a complete list. */
void newcomers_begin(struct newcomers *newcomers, const struct config_pool *pool,
                     const struct map *instances, struct journal_batch *batch);

/* An order has met the machine. */
void newcomers_met(struct newcomers *newcomers, const struct config_pool *pool, const char *name,
                   struct journal_batch *batch);

bool newcomers_has(const struct newcomers *newcomers, const struct config_pool *pool,
                   const char *name);
