/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See meeting.h.
 */
#include "broker/transfer/meeting.h"

#include "base/text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/newcomers.h"
#include "broker/transfer/runner.h"

enum { SKEW_MS = 5 * MINUTE_MS }; /* by how much the clocks of two servers may differ */

bool meeting_is_by_growth(const struct transfer *transfer)
{
    return transfer_goal(transfer)->provider->kind->identity == IDENTITY_BY_GROWTH;
}

/* How surely the attempt's order was sent: from 3 (it was accepted) to 0 (it brings no machine:
   only planned, taken back or refused). */
static int certainty(const struct transfer *transfer)
{
    const struct effect *create = effect_find(transfer, &effect_create, transfer_order(transfer));
    const struct effect *cancel = effect_find(transfer, &effect_cancel, transfer_order(transfer));

    if (!effect_may_have_happened(create) || (cancel && cancel->accepted_ms > 0))
        return 0;
    if (create->accepted_ms > 0)
        return 3;
    if (!create->is_in_flight && create->outcome != ERROR_UNKNOWN_OUTCOME)
        return 0;
    return create->progress[0] != '\0' ? 2 : 1;
}

/* A live attempt in the pool whose order waits for a machine. */
static bool is_waiting(const struct transfer *transfer, const struct config_pool *pool)
{
    return transfer->step == STEP_ACQUIRE && transfer_goal(transfer) == pool &&
           transfer->new_key[0] != '\0' && transfer->new_instance[0] == '\0' &&
           certainty(transfer) > 0;
}

/* Of the orders that wait, the one that was most surely sent meets the first newcomer; of equal
   ones the oldest. */
static bool is_next(const struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *pool = transfer_goal(transfer);
    const struct transfer *other;
    bool is_older = true;

    if (!is_waiting(transfer, pool))
        return false;
    for (size_t i = 0; (other = runner_next_live(runner, &i));) {
        if (other == transfer)
            is_older = false;
        else if (is_waiting(other, pool) &&
                 certainty(other) >= certainty(transfer) + (is_older ? 0 : 1))
            return false;
    }
    return true;
}

/* Another transfer has it. */
static bool is_held(const struct runner *runner, const struct config_pool *pool, const char *name)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if ((transfer->source == pool && text_equal(transfer->instance, name)) ||
            (transfer_goal(transfer) == pool && text_equal(transfer->new_instance, name)))
            return true;
    return false;
}

/* Whether the machine's Node was there before the attempt: then a list without it was wrong. */
static bool is_old(const struct runner *runner, const struct transfer *transfer,
                   const struct instance *machine)
{
    const struct node *node = fleet_node_of_id(runner->fleet, transfer_goal(transfer),
                                               machine->provider_id, machine->name);

    return node && node->created.ms > 0 && node->created.ms < transfer->step_began.ms - SKEW_MS;
}

static bool is_newcomer(const struct runner *runner, const struct transfer *transfer,
                        const struct instance *machine)
{
    const struct config_pool *pool = transfer_goal(transfer);

    return machine->state != INSTANCE_DELETING && machine->state != INSTANCE_PARKED &&
           !machine->is_unlisted && !newcomers_has(runner->newcomers, pool, machine->name) &&
           !is_held(runner, pool, machine->name) && !is_old(runner, transfer, machine);
}

/* The first by name, so that a repeated run takes the same one. */
static const struct instance *first_newcomer(const struct runner *runner,
                                             const struct transfer *transfer)
{
    const struct fleet_pool *seen = fleet_pool(runner->fleet, transfer_goal(transfer));
    const struct instance *first = NULL;
    void *value;

    for (size_t i = 0; map_next(seen->instances, &i, NULL, &value);) {
        const struct instance *instance = value;

        if (is_newcomer(runner, transfer, instance) &&
            (!first || strcmp(instance->name, first->name) < 0))
            first = instance;
    }
    return first;
}

bool meeting_awaits(const struct runner *runner, const struct config_pool *pool,
                    const struct instance *machine)
{
    const struct transfer *first = NULL; /* that waits */
    const struct transfer *transfer;
    int64_t orders = 0;
    void *value;

    if (pool->provider->kind->identity != IDENTITY_BY_GROWTH ||
        !newcomers_are_known(runner->newcomers, pool) ||
        newcomers_has(runner->newcomers, pool, machine->name))
        return false;
    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if (is_waiting(transfer, pool)) {
            orders++;
            first = first ? first : transfer;
        }
    if (!first || !is_newcomer(runner, first, machine))
        return false;
    for (size_t i = 0; map_next(fleet_pool(runner->fleet, pool)->instances, &i, NULL, &value);)
        orders -= is_newcomer(runner, first, value) &&
                  strcmp(((const struct instance *)value)->name, machine->name) < 0;
    return orders > 0; /* each order meets one, the first by name */
}

static int meet_newcomer(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *pool = transfer_goal(transfer);
    const struct instance *machine;
    struct journal_batch *batch;
    struct error err;

    if (!newcomers_are_known(runner->newcomers, pool) || !is_next(runner, transfer))
        return 0;
    machine = first_newcomer(runner, transfer);
    if (!machine)
        return 0;
    text_copy(transfer->new_instance, sizeof transfer->new_instance, machine->name);
    text_copy(transfer->new_provider_id, sizeof transfer->new_provider_id, machine->provider_id);
    batch = journal_batch_new(runner->epoch);
    newcomers_met(runner->newcomers, pool, machine->name, batch);
    runner_put(runner, batch, transfer, "met");
    return runner_commit(runner, transfer, &batch, &err);
}

/* The machine in the list: by its key, or by the name that it was met under. */
static const struct instance *listed(const struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *pool = transfer_goal(transfer);

    return meeting_is_by_growth(transfer)
               ? map_get(fleet_pool(runner->fleet, pool)->instances, transfer->new_instance)
               : fleet_machine_of_key(runner->fleet, pool, transfer->new_key);
}

int meeting_look(struct runner *runner, struct transfer *transfer)
{
    const struct instance *machine;

    if (transfer->new_instance[0] != '\0' && transfer->new_provider_id[0] != '\0')
        return 0;
    if (transfer->new_instance[0] == '\0' && meeting_is_by_growth(transfer))
        return meet_newcomer(runner, transfer);
    machine = listed(runner, transfer);
    if (!machine)
        return 0;
    if (transfer->new_instance[0] == '\0')
        text_copy(transfer->new_instance, sizeof transfer->new_instance, machine->name);
    if (machine->provider_id[0] != '\0' && text_equal(machine->name, transfer->new_instance))
        text_copy(transfer->new_provider_id, sizeof transfer->new_provider_id,
                  machine->provider_id);
    return 0;
}

/* An order of the pool that may have brought a machine which no transfer has met. */
static bool has_open_order(const struct runner *runner, const struct config_pool *pool)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if (is_waiting(transfer, pool))
            return true;
    return false;
}

/* All that the list has, and the machines that transfers have met and a wrong list may lack. */
static int account(struct runner *runner, const struct config_pool *pool)
{
    struct journal_batch *batch = journal_batch_new(runner->epoch);
    const struct transfer *transfer;
    struct error err;

    newcomers_begin(runner->newcomers, pool, fleet_pool(runner->fleet, pool)->instances, batch);
    for (size_t i = 0; (transfer = runner_next_live(runner, &i));)
        if (transfer_goal(transfer) == pool && transfer->new_instance[0] != '\0' &&
            !newcomers_has(runner->newcomers, pool, transfer->new_instance))
            newcomers_met(runner->newcomers, pool, transfer->new_instance, batch);
    if (journal_commit(runner->world->journal, &batch, &err) == 0)
        return 0;
    runner_break(runner, &err);
    return -1;
}

bool meeting_is_prepared(struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *pool = transfer_goal(transfer);

    if (!meeting_is_by_growth(transfer))
        return true;
    if (has_open_order(runner, pool) && newcomers_are_known(runner->newcomers, pool))
        return true;
    return fleet_is_listed_since(runner->fleet, pool, transfer->step_began_ms) &&
           account(runner, pool) == 0;
}
