/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps acquire and hand over.  The request key is durable: the same transfer and attempt always
 * order under the same one, so however often creating is repeated there is one machine.  What the
 * machine is called, and which Node is its, the list says.  A machine that failed is provably gone
 * before the next attempt orders another.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/meeting.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

#include <string.h>

enum {
    PATIENCE_MS = 4 * MINUTE_MS, /* a slot just freed may take minutes to be seen */
    SHOWS_MS = 4 * MINUTE_MS,    /* so long a machine that was accepted may be in no list */
    GROWS_MS = 15 * MINUTE_MS,   /* likewise, of a cloud that is asked for a number of machines */
};

/* Whether the order was taken back, or there was none to take back. */
static bool is_cancelled(const struct transfer *transfer)
{
    const struct effect *cancel = effect_find(transfer, &effect_cancel, transfer_order(transfer));

    return cancel && !cancel->is_in_flight &&
           (cancel->accepted_ms > 0 ||
            (cancel->answered_ms > 0 && cancel->outcome == ERROR_CONFLICT));
}

/* Whether the cloud has no order any more that could still bring the machine.  A machine that was
   accepted but not made yet is missing in an old list, and cannot be read by its name. */
static bool is_order_over(const struct transfer *transfer)
{
    const struct effect *create = effect_find(transfer, &effect_create, transfer_order(transfer));
    const struct effect *discard = effect_find(transfer, &effect_discard, transfer->new_instance);

    return !effect_may_have_happened(create) || (discard && discard->accepted_ms > 0) ||
           is_cancelled(transfer);
}

/* As fleet_instance(), for the machine of this attempt, under the name that the cloud gave it. */
static enum presence find_machine(struct runner *runner, struct transfer *transfer,
                                  int64_t since_ms, const struct instance **ret_instance)
{
    const struct config_pool *goal = transfer_goal(transfer);

    if (meeting_look(runner, transfer) < 0)
        return PRESENCE_UNKNOWN;
    if (transfer->new_instance[0] != '\0')
        return fleet_instance(runner->fleet, goal, transfer->new_instance, since_ms, ret_instance);
    return fleet_is_listed_since(runner->fleet, goal, since_ms) ? PRESENCE_NO : PRESENCE_UNKNOWN;
}

const struct node *acquire_node(const struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct node *node;

    if (transfer->new_instance[0] == '\0')
        return NULL;
    node = fleet_node_of_id(runner->fleet, goal, transfer->new_provider_id, transfer->new_instance);
    return node ?: fleet_node_of_name(runner->fleet, goal, transfer->new_instance);
}

/* The cloud accepted the order, but minutes later it neither lists such a machine nor finds it by
   its name: the machine died, or was deleted.  A repeat under the same key gets the first answer
   again and creates nothing.  Only another attempt, with a key of its own, brings a machine. */
static bool is_lost(const struct runner *runner, const struct transfer *transfer,
                    const struct effect *create)
{
    int64_t seen_ms = fleet_pool(runner->fleet, transfer_goal(transfer))->began_ms;

    return create->accepted_ms > 0 &&
           seen_ms - create->accepted_ms >= (meeting_is_by_growth(transfer) ? GROWS_MS : SHOWS_MS);
}

/* An order whose machine never got a name cannot be cancelled by it: by then the cloud has dropped
   orders that it does not list (provider.h). */
static bool is_dropped(const struct runner *runner, const struct transfer *transfer,
                       const struct effect *create)
{
    int64_t seen_ms = fleet_pool(runner->fleet, transfer_goal(transfer))->began_ms;

    return transfer->new_instance[0] == '\0' && !meeting_is_by_growth(transfer) &&
           create->answered_ms > 0 && seen_ms - create->answered_ms >= SHOWS_MS;
}

/* Whether no work runs on the machine of a failed attempt, by a direct read right before its
   removal.  It never served; but pods may have been bound to its node in spite of the taint. */
static bool is_idle(struct runner *runner, struct transfer *transfer)
{
    const struct effect *effect = effect_find(transfer, &effect_discard, transfer->new_instance);
    int64_t since_ms = effect_look_since(transfer, effect);

    return side_target(runner, transfer)->is_idle(runner, transfer, since_ms);
}

/* When the machine of a failed attempt was last asked for or asked to go: only a later list tells
   whether it is there. */
static int64_t changed_ms(const struct transfer *transfer)
{
    const struct effect *effects[] = {
        effect_find(transfer, &effect_create, transfer_order(transfer)),
        effect_find(transfer, &effect_cancel, transfer_order(transfer)),
        effect_find(transfer, &effect_discard, transfer->new_instance),
    };
    int64_t since_ms = transfer->step_began_ms;

    for (size_t i = 0; i < COUNT_OF(effects); i++)
        if (effects[i] && effects[i]->answered_ms > since_ms)
            since_ms = effects[i]->answered_ms;
    return since_ms;
}

/* Takes the order back whose machine has no name: by growth nothing else ends it. */
static void cancel(struct runner *runner, struct transfer *transfer)
{
    const struct effect *create = effect_find(transfer, &effect_create, transfer_order(transfer));
    struct effect_target target = { .object = transfer_order(transfer) };

    if (meeting_is_by_growth(transfer) && effect_may_have_happened(create) && !create->is_in_flight)
        effect_ask(runner, transfer, &effect_cancel, &target,
                   fleet_pool(runner->fleet, transfer_goal(transfer))->began_ms);
}

/* Its removal may take minutes, in which a person may cure the reason. */
static void tell_failed(struct transfer *transfer, const struct effect *create)
{
    bool has_reason = create && create->answered_ms > 0 && create->outcome != ERROR_NONE;

    transfer_wait_for(transfer, "machine %s, which failed, to be gone%s%s",
                      transfer_machine(transfer), has_reason ? ": " : "",
                      has_reason ? create->text : "");
}

/* Removes the machine of a failed attempt; STEP_DONE when it is provably gone. */
static enum verdict discard(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct effect *create = effect_find(transfer, &effect_create, transfer_order(transfer));
    int64_t began_ms = fleet_pool(runner->fleet, goal)->began_ms;
    struct effect_target target = { .object = transfer->new_instance };
    enum presence presence;

    require(transfer->is_discarding);
    tell_failed(transfer, create);
    fleet_refresh(runner->fleet, goal);

    presence = find_machine(runner, transfer, changed_ms(transfer), NULL);
    if (presence == PRESENCE_UNKNOWN)
        return STEP_WAIT;
    if (presence == PRESENCE_NO && create && create->is_in_flight)
        return STEP_WAIT;
    if (presence == PRESENCE_NO &&
        (is_order_over(transfer) || is_dropped(runner, transfer, create)))
        return STEP_DONE;
    if (transfer->new_instance[0] == '\0')
        cancel(runner, transfer);
    else if (effect_may_be_sent(runner, transfer, &effect_discard, transfer->new_instance,
                                began_ms) &&
             is_idle(runner, transfer))
        effect_ask(runner, transfer, &effect_discard, &target, began_ms);
    return STEP_WAIT;
}

/* The next attempt; after the last one, back to where the node came from. */
static enum verdict try_again(struct runner *runner, struct transfer *transfer)
{
    struct error err;
    bool gives_back = !transfer->is_returning &&
                      transfer->attempt >= runner->config->guard.attempts;

    require(transfer->is_discarding && transfer->attempt > 0);
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

/* The verdict on a machine that exists but does not run. */
static enum verdict look_at_trouble(struct runner *runner, struct transfer *transfer,
                                    const struct error *trouble)
{
    int64_t since_ms = loop_now(runner->world->loop) - transfer->step_began_ms;

    if (trouble->kind == ERROR_NONE)
        return STEP_WAIT;
    transfer_wait_for(transfer, "machine %s, attempt %d: %s", transfer_machine(transfer),
                      transfer->attempt, trouble->text);
    /* When returning, there is no other pool to try: attempts follow each other slowly. */
    if ((trouble->kind == ERROR_NO_CAPACITY || transfer->is_returning) && since_ms < PATIENCE_MS)
        return STEP_WAIT;
    if (trouble->kind == ERROR_TRANSIENT || trouble->kind == ERROR_THROTTLED)
        return STEP_WAIT;
    return STEP_BACK;
}

/* Its Node is there and Ready: it runs, whatever lists show. */
static bool is_serving(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    return node && node->is_ready && !node->is_leaving;
}

/* Asks for the machine.  Twice the same number is one order only while nothing else changes the
   pool, so that by growth an order that was accepted is not repeated.  NULL: it may not be sent
   yet. */
static const struct effect *ask(struct runner *runner, struct transfer *transfer)
{
    struct effect_target target = { .object = transfer_order(transfer) };
    const struct effect *effect = effect_find(transfer, &effect_create, target.object);

    if (effect && effect->accepted_ms > 0 && meeting_is_by_growth(transfer))
        return effect;
    if (!meeting_is_prepared(runner, transfer))
        return NULL;
    return effect_ask(runner, transfer, &effect_create, &target,
                      fleet_pool(runner->fleet, transfer_goal(transfer))->began_ms);
}

/* Why the order brings no machine, as far as the cloud says. */
static struct error trouble_of(const struct runner *runner, const struct transfer *transfer,
                               const struct effect *effect)
{
    struct error trouble = { 0 };

    if (effect->outcome == ERROR_NONE)
        return meeting_is_by_growth(transfer)
                   ? fleet_pool(runner->fleet, transfer_goal(transfer))->shortfall
                   : trouble;
    error_set(&trouble,
              effect->outcome == ERROR_UNKNOWN_OUTCOME ? ERROR_TRANSIENT : effect->outcome, "%s",
              effect->text);
    return trouble;
}

/* Orders the machine, or continues an order of several exchanges. made: the progress so far; NULL:
   none. */
static enum verdict order(struct runner *runner, struct transfer *transfer,
                          const struct instance *made)
{
    const struct effect *effect = ask(runner, transfer);
    struct error trouble;
    enum verdict verdict;

    if (!effect || effect->is_in_flight || effect->answered_ms == 0)
        return STEP_WAIT;
    if (!made && is_lost(runner, transfer, effect)) {
        transfer_wait_for(transfer,
                          "machine %s, attempt %d: the cloud accepted it, and no list has it",
                          transfer_machine(transfer), transfer->attempt);
        return STEP_BACK;
    }
    trouble = trouble_of(runner, transfer, effect);
    verdict = look_at_trouble(runner, transfer, &trouble);
    if (effect->outcome != ERROR_NONE)
        transfer_tells(transfer, effect);
    return verdict;
}

enum verdict step_acquire(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct instance *instance = NULL;

    if (transfer->new_key[0] == '\0' || transfer_order(transfer)[0] == '\0')
        transfer_name_instance(transfer);
    require(transfer->step == STEP_ACQUIRE && !transfer->is_undoing); /* the old machine is gone */
    if (transfer->is_discarding)
        return discard(runner, transfer) == STEP_DONE &&
                       side_target(runner, transfer)->discard(runner, transfer)
                   ? try_again(runner, transfer)
                   : STEP_WAIT;

    transfer_wait_for(transfer, "machine %s to run in pool %s", transfer_machine(transfer),
                      goal->name);
    fleet_refresh(runner->fleet, goal);
    if (meeting_look(runner, transfer) < 0)
        return STEP_WAIT;
    if (is_serving(runner, transfer))
        return STEP_DONE;
    switch (find_machine(runner, transfer, transfer->step_began_ms, &instance)) {
    case PRESENCE_UNKNOWN:
        return STEP_WAIT;
    case PRESENCE_YES:
        if (instance->state == INSTANCE_RUNNING)
            return STEP_DONE;
        if (!instance->is_unfinished)
            return look_at_trouble(runner, transfer, &instance->trouble);
        break;
    case PRESENCE_NO:
        break;
    }
    return order(runner, transfer, instance);
}

bool acquire_is_out_of_stock(const struct runner *runner, const struct transfer *transfer)
{
    const struct fleet_pool *pool = fleet_pool(runner->fleet, transfer_goal(transfer));
    const struct instance *instance = map_get(pool->instances, transfer->new_instance);
    const struct effect *effect = effect_find(transfer, &effect_create, transfer_order(transfer));

    if (transfer->state != TRANSFER_LIVE || transfer->step != STEP_ACQUIRE)
        return false;
    return (instance && instance->trouble.kind == ERROR_NO_CAPACITY) ||
           (!instance && meeting_is_by_growth(transfer) &&
            pool->shortfall.kind == ERROR_NO_CAPACITY) ||
           (effect && effect->answered_ms > 0 && effect->outcome == ERROR_NO_CAPACITY);
}
