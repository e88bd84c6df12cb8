/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Step join: from a machine that runs to a Node that may serve.  The target's side says what is
 * missing; here it is waited for, and the node let serve last.  A machine that misses the deadline
 * is discarded, with its evidence in an event, and its host goes into quarantine.
 *
 * Meanwhile the cloud is asked to keep the machine when another writer makes the pool smaller.  The
 * node does not wait for that, because it serves without it, too.
 */
#include "broker/transfer/effect.h"
#include "broker/transfer/host.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

enum {
    MISSING_MAX = 360,
    HIDDEN_MS = 30 * SECOND_MS, /* so long before the deadline a Node that is missed is read */
};

bool step_may_discard(const struct runner *runner, const struct transfer *transfer)
{
    return side_target(runner, transfer)->may_discard(runner, transfer);
}

bool step_is_hidden(struct runner *runner, struct transfer *transfer)
{
    int64_t since_ms = loop_now(runner->world->loop) - transfer->step_began_ms;

    if (transfer->step != STEP_JOIN || since_ms < runner->config->join.deadline_ms - HIDDEN_MS ||
        acquire_node(runner, transfer) || side_target(runner, transfer)->is_lost(runner, transfer))
        return false;
    transfer_wait_for(transfer, "the list of nodes to show %s, which the server may have",
                      transfer->new_instance);
    return true;
}

/* Whether the machine is on a host on which one failed before.  The last attempt, and a return,
   accept any host. */
static bool is_on_bad_host(struct runner *runner, struct transfer *transfer)
{
    struct wall_time until = attempts_quarantine(runner->attempts, transfer_goal(transfer),
                                                 host_of(transfer), runner_now(runner));
    char text[WALL_TEXT_SIZE];

    if (until.ms == 0 || transfer->is_returning ||
        transfer->attempt >= runner->config->guard.attempts || !step_may_discard(runner, transfer))
        return false;
    transfer_wait_for(transfer, "machine %s is on host %s, which is in quarantine until %s",
                      transfer->new_instance, host_of(transfer), wall_format(until, text));
    return true;
}

void step_give_up(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);
    const char *host = host_of(transfer);
    owned(text) struct text *missing = text_new(MISSING_MAX);
    const struct side_target *side = side_target(runner, transfer);
    char duration[DURATION_TEXT_SIZE];

    if (transfer->step != STEP_JOIN)
        return;
    side->lacks(runner, transfer, missing);
    transfer_wait_for(transfer, "machine %s%s%s never served, %s after it ran: %s%s%s",
                      transfer->new_instance, host[0] != '\0' ? " on host " : "", host,
                      duration_format(runner_now(runner).ms - transfer->step_began.ms, duration),
                      missing->length > 0 ? missing->chars : "its start-up taint was not lifted",
                      node && node->troubles[0] != '\0' ? "; conditions: " : "",
                      node ? node->troubles : "");
}

/* Stores once that the cloud refuses to protect the machine, or that it is protected after all. */
static int note_exposed(struct runner *runner, struct transfer *transfer, bool is_exposed)
{
    struct error err;

    if (transfer->stays_exposed == is_exposed)
        return 0;
    transfer->stays_exposed = is_exposed;
    return runner_store(runner, transfer, is_exposed ? "stays_exposed" : "is_protected", &err);
}

/* Asks for as long as the list shows that the cloud may end the machine.  -1: the journal failed.
 */
static int protect(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct fleet_pool *pool = fleet_pool(runner->fleet, goal);
    const struct instance *instance = map_get(pool->instances, transfer->new_instance);
    const struct effect_target target = { .object = transfer->new_instance };
    const struct effect *effect;

    if (!provider_can_protect(fleet_provider(runner->fleet, goal)))
        return 0;
    if (!instance || instance->is_unlisted || instance->state != INSTANCE_RUNNING) {
        fleet_refresh(runner->fleet, goal);
        return 0;
    }
    if (!instance->is_exposed)
        return note_exposed(runner, transfer, false);
    effect = effect_ask(runner, transfer, &effect_protect, &target, pool->began_ms);
    if (effect->answered_ms == 0 || effect->is_in_flight)
        return 0;
    if (effect->outcome == ERROR_DENIED || effect->outcome == ERROR_INVALID)
        return note_exposed(runner, transfer, true);
    fleet_refresh(runner->fleet, goal);
    return 0;
}

enum verdict step_join(struct runner *runner, struct transfer *transfer)
{
    int64_t now = loop_now(runner->world->loop);
    int64_t stable_ms = runner->config->join.stable_ms;
    owned(text) struct text *missing = text_new(MISSING_MAX);
    const struct side_target *side = side_target(runner, transfer);
    char duration[DURATION_TEXT_SIZE];

    host_ask(runner, transfer);
    if (protect(runner, transfer) < 0)
        return STEP_WAIT;
    if (is_on_bad_host(runner, transfer))
        return STEP_BACK;
    side->lacks(runner, transfer, missing);
    if (missing->length > 0) {
        transfer->ready_ms = 0;
        transfer_wait_for(transfer, "%s", missing->chars);
        return STEP_WAIT;
    }
    if (side->note_ready(runner, transfer) < 0)
        return STEP_WAIT;
    if (transfer->ready_ms == 0)
        transfer->ready_ms = now;
    if (now - transfer->ready_ms < stable_ms) {
        transfer_wait_for(transfer, "all of it to stay so for %s",
                          duration_format(stable_ms, duration));
        return STEP_WAIT;
    }
    if (!host_is_settled(transfer)) {
        transfer_wait_for(transfer, "the cloud to say on which host %s is", transfer->new_instance);
        return STEP_WAIT;
    }
    return side->welcome(runner, transfer);
}

/* The node was accepted already; a process that starts now does not know this.  A failure after
   that belongs to the pool: at its deadline the step hands over in any case. */
enum verdict step_hand_over(struct runner *runner, struct transfer *transfer)
{
    owned(text) struct text *missing = text_new(MISSING_MAX);

    if (protect(runner, transfer) < 0)
        return STEP_WAIT;
    side_target(runner, transfer)->lacks(runner, transfer, missing);
    if (missing->length == 0)
        return step_settle(runner, transfer);
    transfer_wait_for(transfer, "%s", missing->chars);
    return STEP_WAIT;
}
