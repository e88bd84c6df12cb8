/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions that prepare and send, and the rows that choose among them.
 */
#include "broker/sides/kube/kube_effects.h"

#include "base/input/json.h"
#include "broker/sides/kube/gate.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/sides/kube/slurmd.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"

enum {
    QUEUE_BACKOFF_MS = SECOND_MS,       /* the gate knows better when its budget has room */
    UNSEEN_BACKOFF_MS = 10 * SECOND_MS, /* of a budget or rule that the gate cannot see */
    BUSY_BACKOFF_MS = 5 * SECOND_MS,
};

static struct cluster *cluster_of(const struct effect *effect)
{
    return fleet_cluster(effect->runner->fleet, effect_cluster(effect));
}

static void answered(void *context, const json_t *body, const struct error *err)
{
    struct effect *effect = context;

    (void)body;
    if (err)
        gate_slow(kube_side_of(effect->runner)->gate, effect_cluster(effect), err);
    effect_finish(effect, err);
}

/* ---- changes of nodes ---- */

static void prepare_patch(const struct effect_target *target, struct node_change *change,
                          struct intent *intent)
{
    if (!change->labels)
        change->labels = target->labels;
    change->annotations = target->annotations;
    require(target->node); /* as it was seen: its resourceVersion goes with the patch */
    intent->name = mem_copy_chars(target->node->name);
    intent->patch = node_change_patch(target->node, change);
}

static void prepare_announce(struct effect *effect, const struct effect_target *target,
                             struct intent *intent)
{
    struct node_change change = {
        .taint_key = SLUICE_TAINT_LEAVING,
        .taint_value = effect->transfer->id,
        .taint_effect = "PreferNoSchedule",
    };

    prepare_patch(target, &change, intent);
}

static void prepare_cordon(struct effect *effect, const struct effect_target *target,
                           struct intent *intent)
{
    struct node_change change = {
        .cordon = NODE_CORDON,
        .taint_key = SLUICE_TAINT_LEAVING,
        .taint_value = effect->transfer->id,
        .taint_effect = "NoSchedule",
    };

    prepare_patch(target, &change, intent);
}

/* Only our own cordon is removed: the annotation records the state before it. */
static void prepare_restore(struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    const char *was = node_annotation(target->node, SLUICE_NOTE_WAS_CORDONED);
    struct node_change change = {
        .cordon = text_equal(was, "false") ? NODE_UNCORDON : NODE_KEEP,
        .taint_key = SLUICE_TAINT_LEAVING,
    };

    (void)effect;
    prepare_patch(target, &change, intent);
}

static void prepare_welcome(struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    owned(json) json_t *movable = fleet_ephemeral_label(effect->runner->config);
    struct node_change change = { .taint_key = SLUICE_TAINT_STARTING, .labels = movable };

    prepare_patch(target, &change, intent);
}

static void prepare_fence(struct effect *effect, const struct effect_target *target,
                          struct intent *intent)
{
    struct node_change change = {
        .taint_key = NODE_TAINT_OUT_OF_SERVICE,
        .taint_value = "nodeshutdown",
        .taint_effect = "NoExecute",
    };

    (void)effect;
    prepare_patch(target, &change, intent);
}

static void send_patch(const struct intent *intent)
{
    cluster_patch_node(cluster_of(intent->effect), intent->name, intent->patch, answered,
                       intent->effect);
}

/* ---- deletes of nodes ---- */

static void prepare_node(struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    (void)effect;
    require(target->node && target->node->uid[0] != '\0'); /* never by name alone */
    intent->name = mem_copy_chars(target->node->name);
    intent->uid = mem_copy_chars(target->node->uid);
}

static void send_delete_node(const struct intent *intent)
{
    require(intent->uid && intent->uid[0] != '\0');
    cluster_delete_node(cluster_of(intent->effect), intent->name, intent->uid, answered,
                        intent->effect);
}

/* ---- pods ---- */

static void prepare_pod(struct effect *effect, const struct effect_target *target,
                        struct intent *intent)
{
    (void)effect;
    require(target->pod && target->pod->uid[0] != '\0'); /* never by name alone */
    intent->namespace = mem_copy_chars(target->pod->namespace);
    intent->name = mem_copy_chars(target->pod->name);
    intent->uid = mem_copy_chars(target->pod->uid);
    intent->grace_s = target->grace_s;
}

static struct pod_ref pod_of(const struct intent *intent)
{
    require(intent->uid && intent->uid[0] != '\0');
    return (
        struct pod_ref){ .namespace = intent->namespace, .name = intent->name, .uid = intent->uid };
}

/* From here on the pod's eviction has its place at the gate. */
static void prepare_evict(struct effect *effect, const struct effect_target *target,
                          struct intent *intent)
{
    effect->of_side = gate_enter(kube_side_of(effect->runner)->gate, effect_cluster(effect),
                                 target->pod);
    prepare_pod(effect, target, intent);
}

static void drop_evict(struct effect *effect, const struct error *err)
{
    gate_leave(kube_side_of(effect->runner)->gate, effect_cluster(effect), effect->of_side, err);
}

static void evict_answered(void *context, const json_t *body, const struct error *err)
{
    (void)body;
    drop_evict(context, err);
    effect_finish(context, err);
}

static void send_evict(const struct intent *intent)
{
    const struct pod_ref pod = pod_of(intent);

    require(intent->grace_s >= 0);
    cluster_evict_pod(cluster_of(intent->effect), &pod, intent->grace_s, evict_answered,
                      intent->effect);
}

static int64_t evict_busy_ms(const struct effect *effect, const struct error *err)
{
    if (effect->of_side)
        return QUEUE_BACKOFF_MS;
    return cluster_is_budget(err) ? UNSEEN_BACKOFF_MS : BUSY_BACKOFF_MS;
}

static bool evict_asks(const struct effect *effect, const struct pod *pod, bool *ret_is_ready)
{
    (void)effect;
    *ret_is_ready = wishes_to_leave(pod);
    return true;
}

static bool delete_asks(const struct effect *effect, const struct pod *pod, bool *ret_is_ready)
{
    *ret_is_ready = wishes_to_leave(pod);
    return !effect_find(effect->transfer, &kube_effect_evict, pod->uid);
}

/* A job may have started since, or the list may be another one. */
static bool is_at_work(const struct intent *intent, struct error *err)
{
    const struct effect *effect = intent->effect;
    const struct snapshot *snapshot = side_origin_snapshot(effect->runner, effect->transfer);
    const struct pod *pod = map_get(snapshot->pods, intent->uid);

    if (!pod || !pod_slurm_tool(pod) || slurmd_is_idle(effect->runner, effect->transfer))
        return false;
    (void)error_set(err, ERROR_TRANSIENT, "pod %s/%s is a node of Slurm, which is not idle",
                    intent->namespace, intent->name);
    return true;
}

static void send_mark(const struct intent *intent)
{
    const struct pod_ref pod = pod_of(intent);
    const struct transfer *transfer = intent->effect->transfer;
    owned(chars) char *message = text_format("node %s moves to pool %s (transfer %s)",
                                             transfer->node, transfer->target->name, transfer->id);

    cluster_mark_pod(cluster_of(intent->effect), &pod, message, answered, intent->effect);
}

/* Grace 0 is not a kill: only after the machine is gone. */
static void send_delete_pod(const struct intent *intent)
{
    const struct pod_ref pod = pod_of(intent);

    require(intent->grace_s >= 1);
    cluster_delete_pod(cluster_of(intent->effect), &pod, intent->grace_s, answered, intent->effect);
}

static void send_clear_pod(const struct intent *intent)
{
    const struct pod_ref pod = pod_of(intent);

    require(intent->effect->transfer->step == STEP_CLEAR);
    cluster_delete_pod(cluster_of(intent->effect), &pod, 0, answered, intent->effect);
}

/* ---- the rows ---- */

/* clang-format off */
const struct effect_kind kube_effect_announce = {
    EFFECT_ROW("announce", STEP_ANNOUNCE, STEP_NOTICE, true, EFFECT_GONE, prepare_announce, send_patch) };
const struct effect_kind kube_effect_cordon = {
    EFFECT_ROW("cordon", STEP_CORDON, STEP_FORCE, true, EFFECT_GONE, prepare_cordon, send_patch) };
const struct effect_kind kube_effect_evict = {
    EFFECT_ROW("evict", STEP_DRAIN, STEP_FORCE, true, EFFECT_REPLACED, prepare_evict, send_evict),
    .drop = drop_evict, .busy_ms = evict_busy_ms, .asks_to_leave = evict_asks,
    .is_overtaken = is_at_work };
const struct effect_kind kube_effect_mark = {
    EFFECT_ROW("mark", STEP_DRAIN, STEP_FORCE, true, EFFECT_REPLACED, prepare_pod, send_mark) };
const struct effect_kind kube_effect_delete_pod = {
    EFFECT_ROW("delete_pod", STEP_DRAIN, STEP_FORCE, true, EFFECT_REPLACED, prepare_pod, send_delete_pod),
    .asks_to_leave = delete_asks, .is_overtaken = is_at_work };
const struct effect_kind kube_effect_clear_pod = {
    EFFECT_ROW("clear_pod", STEP_CLEAR, STEP_CLEAR, false, EFFECT_REPLACED, prepare_pod, send_clear_pod) };
const struct effect_kind kube_effect_fence = {
    EFFECT_ROW("fence", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_fence, send_patch) };
const struct effect_kind kube_effect_clear_node = {
    EFFECT_ROW("clear_node", STEP_CLEAR, STEP_CLEAR, false, EFFECT_REPLACED, prepare_node, send_delete_node) };
const struct effect_kind kube_effect_discard_node = {
    EFFECT_ROW("discard_node", STEP_ACQUIRE, STEP_ACQUIRE, false, EFFECT_REPLACED, prepare_node,
        send_delete_node) };
const struct effect_kind kube_effect_welcome = {
    EFFECT_ROW("welcome", STEP_JOIN, STEP_HAND_OVER, false, EFFECT_GONE, prepare_welcome, send_patch) };
const struct effect_kind kube_effect_restore = {
    EFFECT_ROW("restore", STEP_ANNOUNCE, STEP_FORCE, false, EFFECT_GONE, prepare_restore, send_patch),
    .goes_back = true };
/* clang-format on */

const struct effect_kind *const kube_effects[] = {
    &kube_effect_announce, &kube_effect_cordon,     &kube_effect_evict,
    &kube_effect_mark,     &kube_effect_delete_pod, &kube_effect_clear_pod,
    &kube_effect_fence,    &kube_effect_clear_node, &kube_effect_discard_node,
    &kube_effect_welcome,  &kube_effect_restore,    NULL,
};
