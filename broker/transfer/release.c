/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Step release: the cloud deletes the machine.
 */
#include "base/log.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

enum {
    NOTHING_MS = 5 * MINUTE_MS, /* a removal that the list does not show after this time did not
                                   happen */
    REDRAINS_MAX = 3,           /* then the node stays where it is */
};

/* The last look before the point of no return. */
static enum verdict check_again(struct runner *runner, struct transfer *transfer,
                                const struct effect *effect)
{
    int64_t since_ms = effect_look_since(transfer, effect);
    enum verdict verdict = side_origin(runner, transfer)->may_remove(runner, transfer, since_ms);

    if (verdict != STEP_DRAIN_AGAIN)
        return verdict;
    /* An accepted removal continues by itself, though its list may show this late. */
    if (effect && effect->accepted_ms > 0 && step_may_be_released(runner, transfer))
        return STEP_WAIT;
    if (transfer->redrains >= REDRAINS_MAX) {
        log_warn("node_kept", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("text", transfer->waiting));
        return STEP_UNDO;
    }
    if (!step_may_be_released(runner, transfer))
        effect_renew(transfer, &effect_remove, transfer->instance);
    return STEP_DRAIN_AGAIN;
}

bool step_may_be_released(const struct runner *runner, const struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_remove, transfer->instance);
    const struct instance *instance = NULL;

    if (!effect_may_have_happened(effect))
        return false;
    return effect->is_in_flight ||
           fleet_instance(runner->fleet, transfer->source, transfer->instance,
                          effect->answered_ms + NOTHING_MS, &instance) != PRESENCE_YES ||
           instance->state != INSTANCE_RUNNING;
}

/* A list lacks the machine although sluice did not remove it, and its Node is alive.  One of the
   two is wrong, and believing the list would delete the pods of a running machine. */
static bool is_in_doubt(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = side_leaving_node(runner, transfer);

    if (effect_may_have_happened(effect_find(transfer, &effect_remove, transfer->instance)))
        return false;
    return !side_origin_snapshot(runner, transfer)->is_known || (node && node->is_ready);
}

/* The list may be old: a machine that it still shows long after an accepted removal is read by its
   name.  STEP_DONE: it is gone; STEP_BACK: it is there. */
static enum verdict read_machine(struct runner *runner, struct transfer *transfer,
                                 const struct effect *remove)
{
    const struct instance *instance = NULL;

    if (!effect_may_have_happened(remove) || step_may_be_released(runner, transfer))
        return STEP_BACK;
    transfer_wait_for(transfer, "machine %s, which is listed, to be read by its name",
                      transfer->instance);
    switch (fleet_read_instance(runner->fleet, transfer->source, transfer->instance,
                                remove->answered_ms, &instance)) {
    case PRESENCE_NO:
        return STEP_DONE;
    case PRESENCE_YES:
        return instance->state == INSTANCE_DELETING ? STEP_WAIT : STEP_BACK;
    case PRESENCE_UNKNOWN:
        break;
    }
    return STEP_WAIT;
}

/* Neither that the machine is there nor that it is gone is known. */
static enum verdict wait_for_list(struct runner *runner, struct transfer *transfer)
{
    const struct fleet_pool *pool = fleet_pool(runner->fleet, transfer->source);
    const struct instance *seen = pool->is_known ? map_get(pool->instances, transfer->instance)
                                                 : NULL;
    const char *name = transfer->source->name;

    fleet_refresh(runner->fleet, transfer->source);
    if (pool->trouble.kind != ERROR_NONE)
        transfer_wait_for(transfer, "pool %s to be listed: %s", name, pool->trouble.text);
    else if (seen && seen->trouble.kind != ERROR_NONE)
        transfer_wait_for(transfer, "machine %s to answer: %s", transfer->instance,
                          seen->trouble.text);
    else
        transfer_wait_for(transfer, "pool %s to be listed", name);
    return STEP_WAIT;
}

enum verdict step_release(struct runner *runner, struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_remove, transfer->instance);
    int64_t since_ms = effect && effect->answered_ms > transfer->step_began_ms
                           ? effect->answered_ms
                           : transfer->step_began_ms;
    int64_t began_ms = fleet_pool(runner->fleet, transfer->source)->began_ms;
    struct effect_target target = { .object = transfer->instance };
    const struct instance *instance = NULL;
    enum verdict verdict;

    require(transfer->step == STEP_RELEASE && transfer->instance[0] != '\0');
    switch (
        fleet_instance(runner->fleet, transfer->source, transfer->instance, since_ms, &instance)) {
    case PRESENCE_NO:
        if (!is_in_doubt(runner, transfer))
            return STEP_DONE;
        fleet_refresh(runner->fleet, transfer->source);
        transfer_wait_for(transfer, "node %s to stop: its machine is listed no more",
                          transfer->node);
        return STEP_WAIT;
    case PRESENCE_UNKNOWN:
        return wait_for_list(runner, transfer);
    case PRESENCE_YES:
        break;
    }
    fleet_refresh(runner->fleet, transfer->source);
    transfer_wait_for(transfer, "machine %s to be gone (it is %s)", transfer->instance,
                      instance_state_name(instance->state));
    if (instance->state == INSTANCE_DELETING)
        return STEP_WAIT;
    if (!effect_may_be_sent(runner, transfer, &effect_remove, transfer->instance, began_ms)) {
        if (effect && effect->outcome != ERROR_NONE) {
            transfer_wait_for(transfer, "the cloud to delete %s: %s", transfer->instance,
                              effect->text);
            transfer_tells(transfer, effect);
        }
        return STEP_WAIT;
    }
    verdict = read_machine(runner, transfer, effect);
    if (verdict != STEP_BACK)
        return verdict;
    verdict = check_again(runner, transfer, effect);
    if (verdict != STEP_DONE)
        return verdict;
    effect_ask(runner, transfer, &effect_remove, &target, began_ms);
    return STEP_WAIT;
}
