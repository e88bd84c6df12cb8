/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The effects on machines: what a cloud is asked for.
 */
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

#include <string.h>

/* The progress must be stored before the next exchange is sent; if this is impossible, the order
   has failed. */
static void answered(void *context, const char *operation, const struct error *err)
{
    struct error corrupt = { 0 };

    if (!err || err->cause != &provider_goes_on) {
        effect_finish(context, err);
        return;
    }
    if (effect_go_on(context, operation ?: ""))
        return;
    error_set(&corrupt, ERROR_CORRUPT,
              "the cloud's answer does not say, in 1 to %d bytes, how the order goes on",
              EFFECT_PROGRESS_SIZE - 1);
    effect_finish(context, &corrupt);
}

/* The effect's key is the machine's name. */
static void prepare(struct effect *effect, const struct effect_target *target,
                    struct intent *intent)
{
    (void)effect;
    (void)target;
    (void)intent;
}

/* The order's key is copied, because the transfer may go on to its next attempt. */
static void prepare_create(struct effect *effect, const struct effect_target *target,
                           struct intent *intent)
{
    (void)target;
    intent->name = mem_copy_chars(effect->transfer->new_key);
}

static void create(const struct intent *intent)
{
    struct effect *effect = intent->effect;
    const struct config_pool *goal = transfer_goal(effect->transfer);
    const struct provider_order order = { .request_key = intent->name,
                                          .request_id = effect->request_id,
                                          .progress = effect->progress };

    /* Another length would be another order, which makes another machine. */
    require(strlen(order.request_key) == REQUEST_KEY_SIZE - 1);
    provider_create(fleet_provider(effect->runner->fleet, goal), goal->own.settings, &order,
                    answered, effect);
}

static void cancel(const struct intent *intent)
{
    struct effect *effect = intent->effect;
    const struct config_pool *goal = transfer_goal(effect->transfer);
    const struct provider_order order = { .request_key = intent->name,
                                          .request_id = effect->request_id,
                                          .progress = effect->progress };

    provider_cancel(fleet_provider(effect->runner->fleet, goal), goal->own.settings, &order,
                    answered, effect);
}

static void removed(void *context, const char *operation, const struct error *err)
{
    struct effect *effect = context;
    const struct transfer *transfer = effect->transfer;

    if (!err)
        fleet_expect_end(effect->runner->fleet,
                         effect->kind == &effect_remove ? transfer->source
                                                        : transfer_goal(transfer),
                         effect->object);
    answered(effect, operation, err);
}

static void delete_machine(struct effect *effect, const struct config_pool *pool, const char *bound)
{
    const struct provider_order order = { .instance = effect->object,
                                          .request_id = effect->request_id,
                                          .progress = effect->progress };

    /* The machine bound at the start, or one that this transfer made: never any other. */
    require(text_equal(effect->object, bound));
    provider_remove(fleet_provider(effect->runner->fleet, pool), pool->own.settings, &order,
                    removed, effect);
}

static void remove_machine(const struct intent *intent)
{
    const struct transfer *transfer = intent->effect->transfer;

    delete_machine(intent->effect, transfer->source, transfer->instance);
}

static void discard_machine(const struct intent *intent)
{
    const struct transfer *transfer = intent->effect->transfer;

    delete_machine(intent->effect, transfer_goal(transfer), transfer->new_instance);
}

static void protect_machine(const struct intent *intent)
{
    struct effect *effect = intent->effect;
    const struct config_pool *goal = transfer_goal(effect->transfer);
    const struct provider_order order = { .instance = effect->object,
                                          .request_id = effect->request_id,
                                          .progress = effect->progress };

    provider_protect(fleet_provider(effect->runner->fleet, goal), goal->own.settings, &order,
                     answered, effect);
}

/* The look before its intent holds no more. */
static bool is_in_use(const struct intent *intent, struct error *err)
{
    const struct runner *runner = intent->effect->runner;
    const struct transfer *transfer = intent->effect->transfer;

    if (!side_origin(runner, transfer)->is_in_use(runner, transfer, intent->asked_ms))
        return false;
    error_set(err, ERROR_TRANSIENT, "not sent: node %s is in use again", transfer->node);
    return true;
}

/* Another attempt has begun, or met another machine. */
static bool is_of_another(const struct intent *intent, struct error *err)
{
    const struct effect *effect = intent->effect;

    if (text_equal(effect->object, effect->transfer->new_instance))
        return false;
    error_set(err, ERROR_TRANSIENT, "not sent: the machine has another name now");
    return true;
}

/* The order has met its machine. */
static bool has_come(const struct intent *intent, struct error *err)
{
    if (intent->effect->transfer->new_instance[0] == '\0')
        return false;
    error_set(err, ERROR_TRANSIENT, "not sent: the machine has come");
    return true;
}

const struct effect_kind effect_remove = {
    .name = "remove",
    .first = STEP_RELEASE,
    .last = STEP_RELEASE,
    .stops_at_freeze = true,
    .means_done = 1u << ERROR_NOT_FOUND,
    .prepare = prepare,
    .send = remove_machine,
    .is_overtaken = is_in_use,
};

const struct effect_kind effect_create = {
    .name = "create",
    .first = STEP_ACQUIRE,
    .last = STEP_ACQUIRE,
    .means_done = 1u << ERROR_CONFLICT,
    .keeps_doubt = true,
    .prepare = prepare_create,
    .send = create,
};

/* ERROR_CONFLICT does not count as done: the pool wants no more machines than it has, so there is
   nothing to take back.  The machine may have come. */
const struct effect_kind effect_cancel = {
    .name = "cancel",
    .first = STEP_ACQUIRE,
    .last = STEP_ACQUIRE,
    .keeps_doubt = true,
    .prepare = prepare_create,
    .send = cancel,
    .is_overtaken = has_come,
};

const struct effect_kind effect_discard = {
    .name = "discard",
    .first = STEP_ACQUIRE,
    .last = STEP_ACQUIRE,
    .means_done = 1u << ERROR_NOT_FOUND,
    .prepare = prepare,
    .send = discard_machine,
    .is_overtaken = is_of_another,
};

const struct effect_kind effect_protect = {
    .name = "protect",
    .first = STEP_JOIN,
    .last = STEP_HAND_OVER,
    .prepare = prepare,
    .send = protect_machine,
    .is_overtaken = is_of_another,
};

const struct effect_kind *const effect_machine_kinds[] = {
    &effect_remove, &effect_create, &effect_cancel, &effect_discard, &effect_protect, NULL,
};
