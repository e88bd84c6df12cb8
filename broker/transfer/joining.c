/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Step join: from a machine that runs to a Node that may serve.  readiness.c says what is missing;
 * here it is waited for, and the start-up taint lifted last.  What misses the deadline goes with
 * its evidence, and takes its host into quarantine.
 */
#include "broker/transfer/effect.h"
#include "broker/transfer/host.h"
#include "broker/transfer/kube_effects.h"
#include "broker/transfer/look.h"
#include "broker/transfer/readiness.h"
#include "broker/transfer/runner.h"

enum {
    MISSING_MAX = 360,
    HIDDEN_MS = 30 * SECOND_MS, /* so long before the deadline a Node that is missed is read */
};

/* Pods on it that would have to be moved away: it serves, whoever let them in. */
static bool has_work(const struct snapshot *snapshot, const struct node *node)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node->name, &count);

    for (size_t i = 0; i < count; i++)
        if (pod_must_leave(pods[i]))
            return true;
    return false;
}

bool step_may_discard(const struct runner *runner, const struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    const struct node *node = transfer->step == STEP_JOIN
                                  ? fleet_node_of(runner->fleet, goal, transfer->new_instance)
                                  : NULL;

    if (!node)
        return true;
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, goal->cluster);

    return !readiness_is_other(snapshot, node, goal->reservation->gpus_per_node) &&
           !effect_may_have_happened(effect_find(transfer, &kube_effect_welcome, node->uid)) &&
           !has_work(snapshot, node);
}

bool step_is_hidden(struct runner *runner, struct transfer *transfer)
{
    int64_t since_ms = loop_now(runner->world->loop) - transfer->step_began_ms;

    if (transfer->step != STEP_JOIN || since_ms < runner->config->join.deadline_ms - HIDDEN_MS ||
        fleet_node_of(runner->fleet, transfer_goal(transfer), transfer->new_instance) ||
        look_at_new_node(runner, transfer) == PRESENCE_NO)
        return false;
    transfer_wait_for(transfer, "the list of nodes to show %s, which the server may have",
                      transfer->new_instance);
    return true;
}

bool step_is_kept(struct runner *runner, struct transfer *transfer)
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

static void describe_missing(const struct runner *runner, const struct transfer *transfer,
                             struct text *missing)
{
    const struct config_pool *goal = transfer_goal(transfer);
    struct readiness readiness = {
        .wanted = &runner->config->join,
        .gpus = goal->reservation->gpus_per_node,
        .snapshot = fleet_snapshot(runner->fleet, goal->cluster),
        .node = fleet_node_of(runner->fleet, goal, transfer->new_instance),
        .machine = transfer->new_instance,
        .old_uid = transfer->node_uid,
        .not_before = transfer->cordoned,
    };

    readiness_describe(&readiness, missing);
}

/* Whether the machine came to a host on which one failed before.  The last attempt, and the way
   back, take what there is. */
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
    const struct config_pool *goal = transfer_goal(transfer);
    const struct node *node = fleet_node_of(runner->fleet, goal, transfer->new_instance);
    const char *host = host_of(transfer);
    owned(text) struct text *missing = text_new(MISSING_MAX);
    char duration[DURATION_TEXT_SIZE];

    if (transfer->step != STEP_JOIN)
        return;
    describe_missing(runner, transfer, missing);
    transfer_wait_for(transfer, "machine %s%s%s never served, %s after it ran: %s%s%s",
                      transfer->new_instance, host[0] != '\0' ? " on host " : "", host,
                      duration_format(runner_now(runner).ms - transfer->step_began.ms, duration),
                      missing->length > 0 ? missing->chars : "its start-up taint was not lifted",
                      node && node->troubles[0] != '\0' ? "; conditions: " : "",
                      node ? node->troubles : "");
}

/* Lifts our taint and sets our label; whatever else keeps the node closed is somebody's word. */
static enum verdict welcome(struct runner *runner, struct transfer *transfer,
                            const struct node *node)
{
    const struct config_pool *goal = transfer_goal(transfer);
    struct effect_target target = { .node = node, .object = node->uid };
    bool is_starting = node_has_taint(node, SLUICE_TAINT_STARTING);

    text_copy(transfer->new_node, sizeof transfer->new_node, node->name);
    if (!is_starting && fleet_is_ephemeral(runner->config, node)) {
        if (!node->is_unschedulable)
            return STEP_DONE;
        transfer_wait_for(transfer, "somebody's cordon of %s to be lifted", node->name);
        return STEP_WAIT;
    }
    transfer_wait_for(transfer, "the start-up taint to be lifted");
    effect_ask(runner, transfer, &kube_effect_welcome, &target,
               fleet_snapshot(runner->fleet, goal->cluster)->nodes_seen_ms);
    return STEP_WAIT;
}

/* Notes, once, that a node was ready and not closed by us: the pool's node template lacks our
   taint, and pods came to it before all was there. */
static int note_taint(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    struct error err;

    if (transfer->came_untainted || node_has_taint(node, SLUICE_TAINT_STARTING) ||
        effect_may_have_happened(effect_find(transfer, &kube_effect_welcome, node->uid)))
        return 0;
    transfer->came_untainted = true;
    return runner_store(runner, transfer, "came_untainted", &err);
}

enum verdict step_join(struct runner *runner, struct transfer *transfer)
{
    int64_t now = loop_now(runner->world->loop);
    int64_t stable_ms = runner->config->join.stable_ms;
    owned(text) struct text *missing = text_new(MISSING_MAX);
    const struct node *node;
    char duration[DURATION_TEXT_SIZE];

    host_ask(runner, transfer);
    if (is_on_bad_host(runner, transfer))
        return STEP_BACK;
    describe_missing(runner, transfer, missing);
    if (missing->length > 0) {
        transfer->ready_ms = 0;
        transfer_wait_for(transfer, "%s", missing->chars);
        return STEP_WAIT;
    }
    node = fleet_node_of(runner->fleet, transfer_goal(transfer), transfer->new_instance);
    if (note_taint(runner, transfer, node) < 0)
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
    return welcome(runner, transfer, node);
}
