/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How an order meets its machine: by its key in the list, or, with a cloud that names machines
 * itself and shows no key, by growth: it takes the first newcomer of the pool.
 */
#pragma once

#include <stdbool.h>

struct config_pool;
struct instance;
struct runner;
struct transfer;

/* Whether machines of the attempt's pool are found by growth (IDENTITY_BY_GROWTH). */
bool meeting_is_by_growth(const struct transfer *transfer);

/* Takes name and provider ID of the attempt's machine from the list, each once, because an effect
   under the name may be under way.  By growth the name is stored, because no list shows it again as
   ours.  -1: the journal failed. */
int meeting_look(struct runner *runner, struct transfer *transfer)
    __attribute__((warn_unused_result));

/* Whether the machine is a newcomer for which an order of the pool waits: the list already has it,
   and the order has not met it yet.  Who counts machines and orders counts it with its order. */
bool meeting_awaits(const struct runner *runner, const struct config_pool *pool,
                    const struct instance *machine);

/* Whether the order may be sent: by growth only after what the pool already has is stored.  False
   also when the journal failed. */
bool meeting_is_prepared(struct runner *runner, const struct transfer *transfer);
