/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Deadlines of steps are in the table (steps.c); this file decides what happens past a deadline.
 */
#include "broker/transfer/lateness.h"

#include "base/log.h"
#include "broker/transfer/side.h"
#include "broker/transfer/tenant.h"

enum {
    UNHEARD_MS = 2 * MINUTE_MS,        /* a watch tells something every minute, a poll too */
    BLIND_MS = 2 * MINUTE_MS,          /* a watch tells something every minute */
    UNDO_DEADLINE_MS = 15 * MINUTE_MS, /* of one step back, before a person is called */
};

static enum verdict call_operator(struct transfer *transfer)
{
    if (!transfer->needs_operator)
        log_warn("transfer_needs_operator", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("node", transfer->node),
                 FIELD_TEXT("step", transfer_steps[transfer->step].name),
                 FIELD_TEXT("text", transfer->waiting));
    transfer->needs_operator = true;
    return STEP_WAIT;
}

/* Whether the state of the new machine is unknown: its cluster or its pool is stale, or its Node is
   missing in a list that cannot be right. */
static bool is_blind(struct runner *runner, struct transfer *transfer)
{
    struct error err;

    return !fleet_is_fresh(runner->fleet, transfer_goal(transfer),
                           BLIND_MS + runner->config->poll_ms, &err) ||
           step_is_hidden(runner, transfer);
}

/* The time that passed since the last turn counts for nothing. */
static void stop_the_clock(const struct runner *runner, struct transfer *transfer)
{
    int64_t now = loop_now(runner->world->loop);
    int64_t since_ms = runner->turned_ms > transfer->step_began_ms ? runner->turned_ms
                                                                   : transfer->step_began_ms;

    transfer->step_began_ms += now - since_ms;
}

/* The verdict for a step past its deadline.  The time counts from the moment when this process
   began to watch the step: downtime and changes of the clock do not count. */
enum verdict lateness_verdict(struct runner *runner, struct transfer *transfer)
{
    const struct step *step = &transfer_steps[transfer->step];
    int64_t deadline_ms = transfer->is_undoing          ? UNDO_DEADLINE_MS
                          : transfer->step == STEP_JOIN ? runner->config->join.deadline_ms
                                                        : step->deadline_ms;

    require(transfer->state == TRANSFER_LIVE);
    /* An unseen machine is not late: otherwise a healthy machine would be discarded. */
    if (step->late == LATE_BACK && !transfer->is_undoing && is_blind(runner, transfer))
        stop_the_clock(runner, transfer);
    if (deadline_ms == 0 || loop_now(runner->world->loop) - transfer->step_began_ms < deadline_ms)
        return STEP_WAIT;
    if (transfer->is_undoing)
        return call_operator(transfer);
    switch (step->late) {
    case LATE_OWN:
        return STEP_WAIT;
    case LATE_UNDO:
        return STEP_UNDO;
    case LATE_NEXT:
        log_warn("step_left_undone", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("node", transfer->node), FIELD_TEXT("step", step->name),
                 FIELD_TEXT("text", transfer->waiting));
        return STEP_DONE;
    case LATE_BACK:
        if (transfer->is_discarding || !step_may_discard(runner, transfer))
            return call_operator(transfer);
        step_give_up(runner, transfer);
        return STEP_BACK;
    case LATE_OPERATOR:
        return call_operator(transfer);
    }
    return STEP_WAIT;
}

/* ---- the drain's deadline ---- */

struct wall_time lateness_drain_due(const struct runner *runner, const struct transfer *transfer)
{
    int64_t paused_ms = transfer->paused_ms > 0
                            ? loop_now(runner->world->loop) - transfer->paused_ms
                            : 0;

    require(paused_ms >= 0);
    return (struct wall_time){ transfer->drain_due.ms + paused_ms };
}

bool lateness_is_drain_over(const struct runner *runner, const struct transfer *transfer)
{
    return runner_now(runner).ms >= lateness_drain_due(runner, transfer).ms;
}

/* Since when nothing is heard of what runs there, in loop time; 0: it is heard. */
static int64_t unheard_since(const struct runner *runner, const struct transfer *transfer,
                             const struct snapshot *snapshot)
{
    if (snapshot->is_known && loop_now(runner->world->loop) - snapshot->pods_seen_ms < UNHEARD_MS)
        return 0;
    return snapshot->pods_seen_ms > transfer->step_began_ms ? snapshot->pods_seen_ms
                                                            : transfer->step_began_ms;
}

/* Since when sluice cannot ask; 0: it can. */
static int64_t paused_since(const struct runner *runner, const struct transfer *transfer)
{
    int64_t since_ms = unheard_since(runner, transfer, side_origin_snapshot(runner, transfer));
    struct tenant tenant;

    if (transfer->is_emergency)
        return 0;
    if (since_ms == 0 && tenant_find(runner, transfer, &tenant))
        since_ms = unheard_since(runner, transfer, fleet_snapshot(runner->fleet, tenant.cluster));
    if (since_ms == 0 && runner_freeze(runner, transfer))
        since_ms = loop_now(runner->world->loop);
    return since_ms;
}

int lateness_follow_drain(struct runner *runner, struct transfer *transfer)
{
    int64_t since_ms = paused_since(runner, transfer);
    bool was_away = runner->turned_ms == 0 && transfer->step == STEP_DRAIN &&
                    !transfer->is_emergency && lateness_is_drain_over(runner, transfer);
    bool goes_on = since_ms == 0 && transfer->paused_ms > 0;
    struct error err;

    require(transfer->step >= STEP_DRAIN && transfer->step <= STEP_FORCE);
    require(since_ms >= 0);
    if (was_away)
        transfer->drain_due.ms = runner_now(runner).ms + runner->config->drain.deadline_ms;
    if (goes_on)
        transfer->drain_due = lateness_drain_due(runner, transfer);
    if (transfer->paused_ms == 0 || since_ms < transfer->paused_ms)
        transfer->paused_ms = since_ms;
    return was_away || goes_on ? runner_store(runner, transfer, "drain_goes_on", &err) : 0;
}
