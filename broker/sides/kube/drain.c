/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Steps drain and force.  A pod may use its own grace period to the full even when a budget holds
 * it: the last moment for its delete is the move's deadline less that grace.  The deadline is moved
 * by the time in which nothing could be asked.
 */
#include "base/log.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/sides/kube/gate.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_side.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/sides/kube/look.h"
#include "broker/sides/kube/slurmd.h"
#include "broker/sides/kube/suspend.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/lateness.h"
#include "broker/transfer/runner.h"

enum { FORCE_WAIT_MS = 30 * SECOND_MS, VOLUMES_MS = 3 * MINUTE_MS };
/* Time before a pod's last moment: enough for a retry after THROTTLED, and for the suspension of
   its gang. */
enum { MARK_AHEAD_MS = 20 * SECOND_MS, TELL_AHEAD_MS = 40 * SECOND_MS };
/* The time reserved for an eviction, for a pod whose grace is longer than the whole drain. */
enum { ASK_FIRST_MS = MINUTE_MS };

/* The pods that the node still holds, for the verdict and for people. */
struct rest {
    int count;
    int refused;             /* deletes of this step that were not accepted yet */
    int granted;             /* pods within the grace that our delete gave them */
    const struct pod *first; /* one of them, to be named */
    const struct effect *blocker;
    int lost;                /* pods whose grace is over on a node that does not answer */
    const struct pod *stuck; /* one whose grace is over */
    char why[512];           /* why a pod was not asked to leave yet; "" when all were asked */
};

static bool wants_too_much(const struct runner *runner, const struct pod *pod)
{
    return pod->grace_s * SECOND_MS >= runner->config->drain.deadline_ms;
}

/* How long before the deadline the pod is deleted at the latest.  A pod whose grace is as long
   as the whole drain cannot have all of it: for the first minute sluice only asks for its eviction,
   within the budget, then it deletes the pod. */
static int64_t last_call_ms(const struct runner *runner, const struct pod *pod)
{
    int64_t whole_ms = runner->config->drain.deadline_ms;
    int64_t first_ms = whole_ms / 2 < ASK_FIRST_MS ? whole_ms / 2 : ASK_FIRST_MS;

    return wants_too_much(runner, pod) ? whole_ms - first_ms : pod->grace_s * SECOND_MS;
}

/* Seconds of grace that a forced delete grants, at least one.  A pod that was not asked in time (a
   freeze, a broker that was down) still has its own grace, up to the length of a whole drain. */
static int64_t grace_s(const struct runner *runner, const struct pod *pod, int64_t left_ms)
{
    bool has_left = pod->deletion.ms > 0 || (left_ms > 0 && wants_too_much(runner, pod));
    int64_t left_s = (has_left ? left_ms : runner->config->drain.deadline_ms) / SECOND_MS;

    require(pod->grace_s >= 0);
    if (left_s > pod->grace_s)
        left_s = pod->grace_s;
    return left_s < 1 ? 1 : left_s;
}

/* When the node's pods were last known to be as the snapshot has them, in loop time. */
static int64_t pods_seen_ms(const struct runner *runner, const struct transfer *transfer)
{
    return side_origin_snapshot(runner, transfer)->pods_seen_ms;
}

/* Tells the pod's owner that it is disrupted: its accounting would take a delete alone for a
   failure.  NULL when that has been accepted. */
static const struct effect *mark_pod(struct runner *runner, struct transfer *transfer,
                                     const struct pod *pod)
{
    const struct effect_target target = { .object = pod->uid, .pod = pod };
    const struct effect *mark = effect_find(transfer, &kube_effect_mark, pod->uid);

    if (mark && mark->answered_ms > 0 && mark->outcome == ERROR_NONE)
        return NULL;
    return effect_ask(runner, transfer, &kube_effect_mark, &target, pods_seen_ms(runner, transfer));
}

/* The condition is optional and the deadline is binding: any answer to it is enough to go on. */
static const struct effect *delete_pod(struct runner *runner, struct transfer *transfer,
                                       const struct pod *pod, int64_t left_ms)
{
    const struct effect_target target = {
        .object = pod->uid,
        .pod = pod,
        .grace_s = grace_s(runner, pod, left_ms),
    };
    const struct effect *mark = mark_pod(runner, transfer, pod);

    require(target.grace_s >= 1); /* grace 0 is a kill */
    if (mark && mark->answered_ms == 0)
        return mark;
    return effect_ask(runner, transfer, &kube_effect_delete_pod, &target,
                      pods_seen_ms(runner, transfer));
}

/* Whether the end of its grace has come. */
static bool is_over(const struct runner *runner, const struct transfer *transfer,
                    const struct pod *pod)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);

    return pod->deletion.ms > 0 &&
           snapshot_wall(snapshot, pod->deletion).ms <= runner_now(runner).ms;
}

static void note_why(struct rest *rest, const char *why)
{
    if (rest->why[0] == '\0')
        text_copy(rest->why, sizeof rest->why, why);
}

/* Whether the pod is within the grace of our delete, or the watch will show this soon. */
static bool has_time(const struct runner *runner, const struct transfer *transfer,
                     const struct pod *pod)
{
    const struct effect *effect = effect_find(transfer, &kube_effect_delete_pod, pod->uid);

    if (!effect || effect->answered_ms == 0 || effect->outcome != ERROR_NONE)
        return false;
    return pod->deletion.ms > 0 ? !is_over(runner, transfer, pod)
                                : pods_seen_ms(runner, transfer) <= effect->answered_ms;
}

/* Whether the pod was made when the node should have been empty. */
static bool is_latecomer(const struct runner *runner, const struct transfer *transfer,
                         const struct pod *pod)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);

    return snapshot_wall(snapshot, pod->created).ms > lateness_drain_due(runner, transfer).ms;
}

/* Evicts the pod, or notes what that waits for. */
static const struct effect *evict_pod(struct runner *runner, struct transfer *transfer,
                                      const struct pod *pod, int64_t left_ms, struct rest *rest)
{
    int64_t seen_ms = pods_seen_ms(runner, transfer);
    struct effect_target target = {
        .object = pod->uid,
        .pod = pod,
        .grace_s = wants_too_much(runner, pod) ? left_ms / SECOND_MS : 0,
    };
    const struct effect *effect;
    const char *why = "";

    require(pod_must_leave(pod) && pod->deletion.ms == 0);
    if (!gate_is_free(kube_side_of(runner)->gate, transfer->source->cluster, &why)) {
        note_why(rest, why);
        return NULL;
    }
    effect = effect_find(transfer, &kube_effect_evict, pod->uid);
    if (effect && effect_is_open(transfer, &kube_effect_evict, pod->uid, seen_ms))
        return effect;
    if (pod_is_protected(pod)) {
        owned(chars) char *text = text_format(
            "pod %.100s/%.100s asks not to be disrupted: it is deleted at its own deadline",
            pod->namespace, pod->name);

        note_why(rest, text);
        return NULL;
    }
    /* Before the first pod of a gang is evicted, the whole gang is suspended. */
    if (suspend_is_settled(kube_side_of(runner)->suspensions, transfer, pod, &why) &&
        gate_ask(kube_side_of(runner)->gate, transfer->source->cluster, pod, &why) == GATE_OPEN)
        return effect_ask(runner, transfer, &kube_effect_evict, &target, seen_ms);
    note_why(rest, why);
    return NULL;
}

/* The pod's jobs belong to Slurm: neither an eviction nor the deadline ends them.  Until Slurm
   shows none there, the pod blocks the transfer. */
static bool is_left_to_slurm(struct runner *runner, struct transfer *transfer,
                             const struct pod *pod, struct rest *rest)
{
    if (!pod_slurm_tool(pod) || slurmd_may_go(runner, transfer, pod))
        return false;
    note_why(rest, transfer->waiting);
    rest->refused++;
    return true;
}

/* Evicts the pod before its last moment, deletes it after that; a gang is suspended before either.
   A pod that was made after the deadline delays nothing: the node had to be empty by then. */
static const struct effect *ask_pod(struct runner *runner, struct transfer *transfer,
                                    const struct pod *pod, int64_t left_ms, struct rest *rest)
{
    int64_t call_ms = last_call_ms(runner, pod);
    const struct effect *effect;
    const char *why = "";

    require(pod_must_leave(pod) && call_ms >= 0);
    if (pod->deletion.ms > 0 && left_ms > 0)
        return NULL;
    if (is_left_to_slurm(runner, transfer, pod, rest))
        return NULL;
    if (left_ms > call_ms) {
        if (left_ms <= call_ms + TELL_AHEAD_MS)
            (void)suspend_is_settled(kube_side_of(runner)->suspensions, transfer, pod, &why);
        if (left_ms <= call_ms + MARK_AHEAD_MS)
            (void)mark_pod(runner, transfer, pod);
        return evict_pod(runner, transfer, pod, left_ms, rest);
    }
    if (pod->deletion.ms == 0 &&
        !suspend_is_settled(kube_side_of(runner)->suspensions, transfer, pod, &why)) {
        note_why(rest, why);
        rest->refused += !is_latecomer(runner, transfer, pod);
        return NULL;
    }
    effect = delete_pod(runner, transfer, pod, left_ms);
    if ((effect->kind != &kube_effect_delete_pod || effect->outcome != ERROR_NONE ||
         effect->answered_ms <= transfer->step_began_ms) &&
        !is_latecomer(runner, transfer, pod))
        rest->refused++;
    return effect;
}

/* Whether the node's kubelet is silent, so that it will not report that pods have ended. */
static bool is_silent(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = side_leaving_node(runner, transfer);

    return node && node->is_silent;
}

/* Notes, once and for good, that volumes will have to be waited for. */
static void note_volumes(struct runner *runner, struct transfer *transfer, const struct pod *pod)
{
    struct error err;

    if (pod->claims == 0 || transfer->has_volumes)
        return;
    transfer->has_volumes = true;
    if (runner_store(runner, transfer, "volumes", &err) < 0)
        transfer->has_volumes = false; /* the runner is broken, and says so */
}

/* Asks each pod to leave. */
static struct rest ask_pods_to_leave(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    int64_t left_ms = lateness_drain_due(runner, transfer).ms - runner_now(runner).ms;
    struct rest rest = { 0 };
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, transfer->node, &count);

    for (size_t i = 0; i < count; i++) {
        const struct pod *pod = pods[i];
        const struct effect *effect;

        if (!pod_must_leave(pod))
            continue;
        rest.count++;
        rest.first = pod;
        note_volumes(runner, transfer, pod);
        if (is_over(runner, transfer, pod)) {
            rest.stuck = pod;
            rest.lost += is_silent(runner, transfer);
        }
        if (has_time(runner, transfer, pod)) {
            rest.granted += !is_latecomer(runner, transfer, pod);
            continue;
        }
        effect = ask_pod(runner, transfer, pod, left_ms, &rest);
        if (effect && effect->outcome != ERROR_NONE)
            rest.blocker = effect;
    }
    require(rest.granted + rest.refused <= rest.count && (rest.count > 0) == (rest.first != NULL));
    return rest;
}

/* A pod that should have ended, and the known reason why it has not. */
static void explain_stuck(const struct runner *runner, struct transfer *transfer,
                          const struct rest *rest)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    const struct pod *pod = rest->stuck;
    char end[WALL_TEXT_SIZE];

    transfer_wait_for(transfer, "%d pod%s to leave; %.120s/%.120s was to end at %s: %s%s",
                      rest->count, rest->count == 1 ? "" : "s", pod->namespace, pod->name,
                      wall_format(snapshot_wall(snapshot, pod->deletion), end),
                      rest->lost > 0               ? "its node does not answer"
                      : pod->finalizers[0] != '\0' ? "it is held by the finalizers "
                                                   : "its processes do not stop",
                      rest->lost > 0 ? "" : pod->finalizers);
}

static void explain(const struct runner *runner, struct transfer *transfer, const struct rest *rest)
{
    const char *plural = rest->count == 1 ? "" : "s";

    if (rest->stuck)
        explain_stuck(runner, transfer, rest);
    else if (rest->blocker && rest->blocker->text[0] != '\0') {
        transfer_wait_for(transfer, "%d pod%s to leave; %s", rest->count, plural,
                          rest->blocker->text);
        transfer_tells(transfer, rest->blocker);
    } else if (rest->why[0] != '\0')
        transfer_wait_for(transfer, "%d pod%s to leave; %s", rest->count, plural, rest->why);
    else
        transfer_wait_for(transfer, "%d pod%s to leave: %s/%s%s", rest->count, plural,
                          rest->first->namespace, rest->first->name,
                          rest->count == 1 ? "" : " and others");
}

/* The snapshot shows no pod: a direct read must confirm this, after the scheduler has had time to
   see the cordon. */
static bool is_empty(struct runner *runner, struct transfer *transfer)
{
    int64_t settled_ms = transfer->cordoned.ms + runner->config->drain.settle_ms;
    int64_t wait_ms = settled_ms - runner_now(runner).ms;
    int count = 0;

    transfer_wait_for(transfer, "a direct list of the node's pods");
    if (wait_ms > 0 || !look_at_pods(runner, transfer, transfer->step_began_ms, &count))
        return false;
    if (count > 0)
        transfer_wait_for(transfer, "%d pod%s that the server lists and the watch does not show",
                          count, count == 1 ? "" : "s");
    return count == 0;
}

/* Whether the volumes of the pods that left are detached, or the wait was long enough.  If a
   machine dies with a volume attached, that volume's next user waits for minutes. */
static bool is_detached(struct runner *runner, struct transfer *transfer)
{
    int64_t now = loop_now(runner->world->loop);
    int count = 0;

    if (!transfer->has_volumes || is_silent(runner, transfer))
        return true;
    if (transfer->emptied_ms == 0)
        transfer->emptied_ms = now;
    transfer_wait_for(transfer, "a list of the attached volumes");
    if (look_at_left_volumes(runner, transfer, transfer->emptied_ms, &count) && count == 0)
        return true;
    if (count > 0)
        transfer_wait_for(transfer, "%d volume%s to be detached", count, count == 1 ? "" : "s");
    if (now - transfer->emptied_ms < VOLUMES_MS)
        return false;
    log_warn("volumes_left", FIELD_TEXT("transfer", transfer->id),
             FIELD_TEXT("node", transfer->node),
             FIELD_TEXT("text", "volumes are still attached: going on without them"));
    return true;
}

enum verdict kube_empty(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = lateness_follow_drain(runner, transfer) < 0
                               ? STEP_WAIT
                               : kube_keep_closed(runner, transfer);
    struct rest rest;

    if (verdict != STEP_DONE)
        return verdict;
    if (lateness_is_drain_over(runner, transfer))
        return STEP_DONE;
    verdict = slurmd_empty(runner, transfer);
    if (verdict == STEP_UNDO)
        return STEP_UNDO;
    rest = ask_pods_to_leave(runner, transfer);
    if (rest.count == 0 && verdict != STEP_DONE)
        return STEP_WAIT;
    if (rest.count == 0)
        return is_empty(runner, transfer) && is_detached(runner, transfer) ? STEP_DONE : STEP_WAIT;
    explain(runner, transfer, &rest);
    return rest.lost == rest.count ? STEP_DONE : STEP_WAIT;
}

enum verdict kube_force(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = lateness_follow_drain(runner, transfer) < 0
                               ? STEP_WAIT
                               : kube_keep_closed(runner, transfer);
    struct rest rest;

    if (verdict != STEP_DONE)
        return verdict;
    verdict = slurmd_force(runner, transfer);
    if (verdict == STEP_UNDO)
        return STEP_UNDO;
    rest = ask_pods_to_leave(runner, transfer);
    if (rest.count == 0 && verdict != STEP_DONE)
        return STEP_WAIT;
    if (rest.count == 0)
        return is_empty(runner, transfer) && is_detached(runner, transfer) ? STEP_DONE : STEP_WAIT;
    explain(runner, transfer, &rest);
    /* A silent kubelet received no delete: waiting longer than the grace does not help. */
    if (rest.lost == rest.count)
        return STEP_DONE;

    /* Every delete was accepted and its last second has passed.  The remaining pods cannot stop by
       themselves (a dead kubelet, a process that hangs).  Only the removal of the machine ends
       them. */
    if (rest.refused == 0 && rest.granted == 0 &&
        loop_now(runner->world->loop) - transfer->step_began_ms >= FORCE_WAIT_MS &&
        lateness_is_drain_over(runner, transfer))
        return STEP_DONE;
    return STEP_WAIT;
}
