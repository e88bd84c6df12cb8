/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps acquire, join and hand over.  The name of the machine is the durable key: the same transfer
 * and attempt always name the same one, so however often creating is repeated there is one machine.
 * A machine that failed is provably gone before the next attempt names another.
 */
#include "base/json.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/runner.h"

#include <string.h>

enum {
    PATIENCE_MS = 4 * MINUTE_MS, /* a slot just freed may take minutes to be seen */
    GPUS_STABLE_MS = 10 * SECOND_MS,
};

/* Removes the machine of a failed attempt; STEP_DONE when it is provably gone. */
static enum verdict discard(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct effect *create = effect_find(transfer, EFFECT_CREATE, transfer->new_instance);
    const struct effect *effect = effect_find(transfer, EFFECT_DISCARD, transfer->new_instance);
    struct effect_target target = { .object = transfer->new_instance };
    int64_t since_ms = transfer->step_began_ms;

    if (create && create->answered_ms > since_ms)
        since_ms = create->answered_ms;
    if (effect && effect->answered_ms > since_ms)
        since_ms = effect->answered_ms;
    transfer_wait_for(transfer, "machine %s, which failed, to be gone", transfer->new_instance);
    fleet_refresh(runner->fleet, goal);

    switch (fleet_instance(runner->fleet, goal, transfer->new_instance, since_ms, NULL)) {
    case PRESENCE_NO:
        return create && create->is_in_flight ? STEP_WAIT : STEP_DONE;
    case PRESENCE_UNKNOWN:
        return STEP_WAIT;
    case PRESENCE_YES:
        effect_ask(runner, transfer, EFFECT_DISCARD, &target,
                   fleet_pool(runner->fleet, goal)->began_ms);
        return STEP_WAIT;
    }
    return STEP_WAIT;
}

/* The next attempt; after the last one, back to where the node came from. */
static enum verdict try_again(struct runner *runner, struct transfer *transfer)
{
    struct error err;
    bool gives_back = !transfer->is_returning &&
                      transfer->attempt >= runner->config->guard.attempts;

    if (gives_back)
        lead_book_add_whole(runner->leads, transfer, runner_now(runner).ms - transfer->cordoned.ms,
                            true);
    transfer->is_discarding = false;
    transfer->attempt++;
    if (gives_back)
        transfer->is_returning = true;
    else if (transfer->is_returning)
        transfer->needs_operator = true;
    transfer_name_instance(transfer);
    transfer->step_began = runner_now(runner);
    if (runner_store(runner, transfer, gives_back ? "gives_back" : "attempt", &err) < 0)
        return STEP_WAIT;
    transfer->step_began_ms = loop_now(runner->world->loop);
    return STEP_WAIT;
}

/* What to do about a machine that exists but does not run. */
static enum verdict look_at_trouble(struct runner *runner, struct transfer *transfer,
                                    const struct error *trouble)
{
    int64_t since_ms = loop_now(runner->world->loop) - transfer->step_began_ms;

    if (trouble->kind == ERROR_NONE)
        return STEP_WAIT;
    transfer_wait_for(transfer, "machine %s, attempt %d: %s", transfer->new_instance,
                      transfer->attempt, trouble->text);
    /* On the way back there is no other pool to try: attempts follow each other slowly. */
    if ((trouble->kind == ERROR_NO_CAPACITY || transfer->is_returning) && since_ms < PATIENCE_MS)
        return STEP_WAIT;
    if (trouble->kind == ERROR_TRANSIENT || trouble->kind == ERROR_THROTTLED)
        return STEP_WAIT;
    return STEP_BACK;
}

enum verdict step_acquire(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    struct effect_target target = { .object = transfer->new_instance };
    const struct instance *instance = NULL;
    const struct effect *effect;
    struct error trouble = { 0 };

    if (transfer->new_instance[0] == '\0')
        transfer_name_instance(transfer);
    if (transfer->is_discarding)
        return discard(runner, transfer) == STEP_DONE ? try_again(runner, transfer) : STEP_WAIT;

    transfer_wait_for(transfer, "machine %s to run in pool %s", transfer->new_instance, goal->name);
    fleet_refresh(runner->fleet, goal);
    switch (fleet_instance(runner->fleet, goal, transfer->new_instance, transfer->step_began_ms,
                           &instance)) {
    case PRESENCE_UNKNOWN:
        return STEP_WAIT;
    case PRESENCE_YES:
        if (instance->state == INSTANCE_RUNNING)
            return STEP_DONE;
        return look_at_trouble(runner, transfer, &instance->trouble);
    case PRESENCE_NO:
        break;
    }
    effect = effect_ask(runner, transfer, EFFECT_CREATE, &target,
                        fleet_pool(runner->fleet, goal)->began_ms);
    if (effect->is_in_flight || effect->answered_ms == 0)
        return STEP_WAIT;
    if (effect->outcome != ERROR_NONE)
        error_set(&trouble,
                  effect->outcome == ERROR_UNKNOWN_OUTCOME ? ERROR_TRANSIENT : effect->outcome,
                  "%s", effect->text);
    return look_at_trouble(runner, transfer, &trouble);
}

bool step_may_discard(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = transfer->step == STEP_JOIN
                                  ? fleet_node_of(runner->fleet, transfer_goal(transfer),
                                                  transfer->new_instance)
                                  : NULL;

    return !node || !effect_may_have_happened(effect_find(transfer, EFFECT_WELCOME, node->uid));
}

static const char *what_is_missing(const struct node *node, const struct config_pool *goal)
{
    if (!node)
        return "the Node to register";
    if (!node->is_ready)
        return "the Node to be Ready";
    if (node->gpus != goal->reservation->gpus_per_node)
        return "all GPUs to be allocatable";
    return NULL;
}

enum verdict step_join(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, goal->cluster);
    const struct node *node = fleet_node_of(runner->fleet, goal, transfer->new_instance);
    const char *missing = what_is_missing(node, goal);
    int64_t now = loop_now(runner->world->loop);
    struct effect_target target = { .node = node };

    if (missing || text_equal(node->uid, transfer->node_uid)) {
        transfer->gpus_good_ms = 0;
        transfer_wait_for(transfer, "%s", missing ?: "the old Node object to go");
        return STEP_WAIT;
    }
    if (transfer->gpus_good_ms == 0)
        transfer->gpus_good_ms = now;
    transfer_wait_for(transfer, "the GPUs to stay for %d s", GPUS_STABLE_MS / SECOND_MS);
    if (now - transfer->gpus_good_ms < GPUS_STABLE_MS)
        return STEP_WAIT;

    text_copy(transfer->new_node, sizeof transfer->new_node, node->name);
    if (!node_has_taint(node, SLUICE_TAINT_STARTING) && !node->is_unschedulable &&
        fleet_is_ephemeral(runner->config, node))
        return STEP_DONE;
    if (!node_has_taint(node, SLUICE_TAINT_STARTING) && fleet_is_ephemeral(runner->config, node)) {
        transfer_wait_for(transfer, "somebody's cordon of %s to be lifted", node->name);
        return STEP_WAIT;
    }
    target.object = node->uid;
    transfer_wait_for(transfer, "the start-up taint to be lifted");
    effect_ask(runner, transfer, EFFECT_WELCOME, &target, snapshot->nodes_seen_ms);
    return STEP_WAIT;
}

enum verdict step_hand_over(struct runner *runner, struct transfer *transfer)
{
    (void)runner;
    (void)transfer;
    return STEP_DONE;
}
