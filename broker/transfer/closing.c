/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps announce, notice and cordon: the waits before a node is closed, and before it is emptied.
 * The node's side announces and closes it.
 */
#include "broker/transfer/notice.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"

enum {
    RECLAIM_QUOTA_MS = 10 * SECOND_MS
}; /* how long a reclaim waits for quotas, from its cordon */

static void wait_for_notice(const struct runner *runner, struct transfer *transfer)
{
    char departure[WALL_TEXT_SIZE];

    transfer_wait_for(transfer, "the notice to pass, at %s",
                      wall_format(notice_end(runner, transfer), departure));
}

static bool is_over(const struct runner *runner, const struct transfer *transfer)
{
    return runner_now(runner).ms >= notice_end(runner, transfer).ms;
}

/* Whether a node of the move keeps the others from leaving early; *ret_count: pods on it that have
   agreed. */
static bool is_blocker(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    *ret_count = 0;
    if (transfer->is_undoing || transfer->step > STEP_NOTICE)
        return false;
    return transfer->step < STEP_NOTICE || !notice_is_waived(runner, transfer, ret_count);
}

/* Whether the last look already says that this move does not leave early. */
static bool is_known_unready(const struct runner *runner, const struct transfer *transfer)
{
    size_t at = runner->last_unready.at;
    const struct transfer *last = at < runner->transfers.count ? runner->transfers.items[at] : NULL;
    int count;

    if (!last || !text_equal(last->move, transfer->move))
        return false;
    return runner->last_unready.idle_turn > 0
               ? runner->last_unready.idle_turn == runner->turns
               : last->state == TRANSFER_LIVE && is_blocker(runner, last, &count);
}

/* A move is cordoned as a whole.  It leaves early when each pod on its nodes has agreed, and there
   is at least one. */
static bool move_is_ready(struct runner *runner, const struct transfer *transfer)
{
    const struct transfer *other;
    size_t at = 0;
    int ready = 0, count;

    if (is_known_unready(runner, transfer))
        return false;
    for (size_t i = 0; (other = runner_next_of_move(runner, transfer->move, &i)); ready += count) {
        at = i - 1;
        if (is_blocker(runner, other, &count)) {
            runner->last_unready.at = at;
            runner->last_unready.idle_turn = 0;
            return false;
        }
    }
    if (ready > 0)
        return true;
    runner->last_unready.at = at;
    runner->last_unready.idle_turn = runner->turns; /* pods do not change within a turn */
    return false;
}

/* Jobs admitted on a quota that is still too large would start on the remaining nodes.  A reclaim
   cordons its node at once, and waits a few seconds for the quota. */
static bool waits_for_quotas(const struct runner *runner, struct transfer *transfer)
{
    struct error err;

    if (!runner->may_drain || runner->may_drain(runner->may_drain_context, transfer, &err) == 0)
        return false;
    if (transfer->is_emergency &&
        (err.kind != ERROR_TRANSIENT ||
         runner_now(runner).ms >= transfer->cordoned.ms + RECLAIM_QUOTA_MS))
        return false;
    transfer_wait_for(transfer, "%s", err.text);
    return true;
}

/* Whether an announced node must not be cordoned yet: the target pool is closed, or the facts of
   one of its two pools are old or in doubt.  If so, says what the transfer waits for. */
static bool is_kept(struct runner *runner, struct transfer *transfer)
{
    int64_t fresh_ms = runner->config->guard.fresh_ms;
    struct error why;

    if (transfer->is_emergency ||
        (attempts_allow(runner->attempts, transfer->target, runner_now(runner), &why) == 0 &&
         fleet_is_fresh(runner->fleet, transfer->source, fresh_ms, &why) &&
         fleet_is_fresh(runner->fleet, transfer->target, fresh_ms, &why)))
        return false;
    transfer_wait_for(transfer, "%s", why.text);
    return true;
}

enum verdict step_announce(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *side = side_origin(runner, transfer);
    enum verdict verdict = side->check(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);

    if (verdict != STEP_DONE || transfer->is_emergency)
        return verdict;
    require(node);
    if (side_is_marked(node, transfer) && notice_begin(runner, transfer) < 0)
        return STEP_WAIT;
    if (side_is_told(node, transfer) ||
        (side_is_marked(node, transfer) && is_over(runner, transfer)))
        return STEP_DONE; /* a later departure that passed unseen was notice all the same */
    transfer_wait_for(transfer, "the announcement to show on the node");
    side->announce(runner, transfer, node);
    return STEP_WAIT;
}

enum verdict step_notice(struct runner *runner, struct transfer *transfer)
{
    const struct side_origin *side = side_origin(runner, transfer);
    enum verdict verdict = side->check(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);

    if (verdict != STEP_DONE)
        return verdict;
    require(node);
    if (notice_follow(runner, transfer) < 0)
        return STEP_WAIT;
    if (transfer->is_emergency || is_over(runner, transfer) || move_is_ready(runner, transfer))
        return is_kept(runner, transfer) || waits_for_quotas(runner, transfer) ? STEP_WAIT
                                                                               : STEP_DONE;
    if (!side_is_told(node, transfer)) /* the departure has changed */
        side->announce(runner, transfer, node);
    wait_for_notice(runner, transfer);
    return STEP_WAIT;
}

/* Pods that are evicted before the whole move is cordoned would start on its next node. */
static bool move_is_closed(const struct runner *runner, const struct transfer *transfer)
{
    const struct transfer *other;

    for (size_t i = 0; (other = runner_next_of_move(runner, transfer->move, &i));)
        if (other != transfer && !other->is_undoing && other->step <= STEP_CORDON &&
            other->cordoned.ms == 0)
            return false;
    return true;
}

static int store_cordoned(struct runner *runner, struct transfer *transfer, const char *event)
{
    struct error err;

    transfer->cordoned = runner_now(runner);
    return runner_store(runner, transfer, event, &err);
}

/* A quota that grew again since the node was closed. */
static enum verdict quotas_let_go(const struct runner *runner, struct transfer *transfer)
{
    if (!waits_for_quotas(runner, transfer))
        return STEP_DONE;
    return !transfer->is_emergency &&
                   loop_now(runner->world->loop) - transfer->step_began_ms >= STEP_CLOSE_MS
               ? STEP_UNDO
               : STEP_WAIT;
}

/* A node that was cordoned early, because all its pods were ready, still waits for pods that came
   at the last moment: they were promised the whole notice. */
static enum verdict may_drain(struct runner *runner, struct transfer *transfer)
{
    int count;

    if (transfer->is_emergency)
        return quotas_let_go(runner, transfer);
    if (notice_is_waived(runner, transfer, &count))
        return quotas_let_go(runner, transfer);
    if (!is_over(runner, transfer)) {
        wait_for_notice(runner, transfer);
        return STEP_WAIT;
    }
    if (transfer->cordoned.ms < notice_end(runner, transfer).ms &&
        store_cordoned(runner, transfer, "notice_passed") < 0)
        return STEP_WAIT;
    return quotas_let_go(runner, transfer);
}

enum verdict step_cordon(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = side_origin(runner, transfer)->close(runner, transfer);

    if (verdict != STEP_DONE)
        return verdict;
    if (transfer->cordoned.ms == 0 && store_cordoned(runner, transfer, "cordoned") < 0)
        return STEP_WAIT;
    transfer_wait_for(transfer, "the other nodes of move %s to be cordoned", transfer->move);
    verdict = move_is_closed(runner, transfer) ? may_drain(runner, transfer) : STEP_WAIT;
    if (verdict == STEP_DONE) /* stored with the step */
        transfer->drain_due.ms = runner_now(runner).ms + runner->config->drain.deadline_ms;
    return verdict;
}
