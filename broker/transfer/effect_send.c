/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One function a way of sending; the table says which kind goes which way.
 */
#include "broker/transfer/effect_send.h"

#include "base/json.h"
#include "broker/transfer/runner.h"

/* Deleting what is gone, or evicting a pod that was replaced, is what was wanted. */
static void cluster_answered(void *context, const json_t *body, const struct error *err)
{
    struct effect *effect = context;
    enum effect_kind kind = effect->kind;
    bool is_of_goal = kind == EFFECT_WELCOME || kind == EFFECT_DISCARD_NODE;
    const struct config_pool *pool = is_of_goal ? transfer_goal(effect->transfer)
                                                : effect->transfer->source;
    bool is_delete = kind == EFFECT_CLEAR_NODE || kind == EFFECT_DISCARD_NODE;
    bool is_pod = kind == EFFECT_EVICT || kind == EFFECT_MARK || kind == EFFECT_DELETE_POD ||
                  kind == EFFECT_CLEAR_POD;
    bool is_gone = err && (err->kind == ERROR_NOT_FOUND ||
                           (err->kind == ERROR_CONFLICT && (is_pod || is_delete)));

    (void)body;
    if (kind == EFFECT_EVICT)
        gate_leave(effect->runner->gate, pool->cluster, effect->line, err);
    else if (err)
        gate_slow(effect->runner->gate, pool->cluster, err);
    effect_answered(effect, is_gone ? NULL : err);
}

static void cloud_answered(void *context, const char *operation, const struct error *err)
{
    struct effect *effect = context;
    enum effect_kind kind = effect->kind;
    bool is_there = err && err->kind == ERROR_CONFLICT && kind == EFFECT_CREATE;
    bool is_gone = err && err->kind == ERROR_NOT_FOUND &&
                   (kind == EFFECT_REMOVE || kind == EFFECT_DISCARD);

    (void)operation;
    effect_answered(effect, is_there || is_gone ? NULL : err);
}

static void send_node_patch(struct cluster *cluster, const struct effect_target *target,
                            const struct node_change *change, struct effect *effect)
{
    owned(json) json_t *patch = node_change_patch(target->node, change);

    cluster_patch_node(cluster, target->node->name, patch, cluster_answered, effect);
}

static void send_node(struct effect *effect, const struct effect_target *target)
{
    const struct transfer *transfer = effect->transfer;
    struct fleet *fleet = effect->runner->fleet;
    struct cluster *source = fleet_cluster(fleet, transfer->source->cluster);
    struct cluster *goal = fleet_cluster(fleet, transfer_goal(transfer)->cluster);
    struct node_change change = { .annotations = target->annotations, .labels = target->labels };
    owned(json) json_t *movable = fleet_ephemeral_label(effect->runner->config);

    switch (effect->kind) {
    case EFFECT_ANNOUNCE:
        change.taint_key = SLUICE_TAINT_LEAVING;
        change.taint_value = transfer->id;
        change.taint_effect = "PreferNoSchedule";
        send_node_patch(source, target, &change, effect);
        break;
    case EFFECT_CORDON:
        change.cordon = NODE_CORDON;
        change.taint_key = SLUICE_TAINT_LEAVING;
        change.taint_value = transfer->id;
        change.taint_effect = "NoSchedule";
        send_node_patch(source, target, &change, effect);
        break;
    case EFFECT_RESTORE:
        /* Only our own cordon is lifted: the note says what stood there before it. */
        change.cordon = text_equal(node_annotation(target->node, SLUICE_NOTE_WAS_CORDONED), "false")
                            ? NODE_UNCORDON
                            : NODE_KEEP;
        change.taint_key = SLUICE_TAINT_LEAVING;
        send_node_patch(source, target, &change, effect);
        break;
    case EFFECT_WELCOME:
        change.taint_key = SLUICE_TAINT_STARTING;
        change.labels = movable;
        send_node_patch(goal, target, &change, effect);
        break;
    case EFFECT_FENCE:
        change.taint_key = NODE_TAINT_OUT_OF_SERVICE;
        change.taint_value = "nodeshutdown";
        change.taint_effect = "NoExecute";
        send_node_patch(source, target, &change, effect);
        break;
    case EFFECT_CLEAR_NODE:
        cluster_delete_node(source, transfer->node, transfer->node_uid, cluster_answered, effect);
        break;
    case EFFECT_DISCARD_NODE:
        cluster_delete_node(goal, target->node->name, target->node->uid, cluster_answered, effect);
        break;
    case EFFECT_EVICT:
    case EFFECT_MARK:
    case EFFECT_DELETE_POD:
    case EFFECT_CLEAR_POD:
    case EFFECT_REMOVE:
    case EFFECT_CREATE:
    case EFFECT_DISCARD:
    case EFFECT_KIND_COUNT:
        require(false); /* not an effect on a node */
    }
}

static void send_pod(struct effect *effect, const struct effect_target *target)
{
    const struct transfer *transfer = effect->transfer;
    const struct pod *pod = target->pod;
    struct cluster *cluster = fleet_cluster(effect->runner->fleet, transfer->source->cluster);
    owned(chars) char *message = NULL;

    switch (effect->kind) {
    case EFFECT_EVICT:
        cluster_evict_pod(cluster, pod->namespace, pod->name, pod->uid, target->grace_s,
                          cluster_answered, effect);
        break;
    case EFFECT_MARK:
        message = text_format("node %s moves to pool %s (transfer %s)", transfer->node,
                              transfer->target->name, transfer->id);
        cluster_mark_pod(cluster, pod->namespace, pod->name, pod->uid, message, cluster_answered,
                         effect);
        break;
    case EFFECT_DELETE_POD:
        require(target->grace_s >= 1); /* grace 0 is not a kill: only after the machine is gone */
        cluster_delete_pod(cluster, pod->namespace, pod->name, pod->uid, target->grace_s,
                           cluster_answered, effect);
        break;
    case EFFECT_CLEAR_POD:
        require(transfer->step == STEP_CLEAR);
        cluster_delete_pod(cluster, pod->namespace, pod->name, pod->uid, 0, cluster_answered,
                           effect);
        break;
    case EFFECT_ANNOUNCE:
    case EFFECT_CORDON:
    case EFFECT_RESTORE:
    case EFFECT_WELCOME:
    case EFFECT_FENCE:
    case EFFECT_CLEAR_NODE:
    case EFFECT_REMOVE:
    case EFFECT_CREATE:
    case EFFECT_DISCARD:
    case EFFECT_DISCARD_NODE:
    case EFFECT_KIND_COUNT:
        require(false); /* not an effect on a pod */
    }
}

static void send_cloud(struct effect *effect, const struct effect_target *target)
{
    const struct transfer *transfer = effect->transfer;
    enum effect_kind kind = effect->kind;
    const struct config_pool *pool = kind == EFFECT_REMOVE ? transfer->source
                                                           : transfer_goal(transfer);
    struct provider *provider = fleet_provider(effect->runner->fleet, pool);
    struct pool_address address = fleet_address(pool);

    if (kind == EFFECT_CREATE) {
        provider_create(provider, &address, target->object, effect->request_id, cloud_answered,
                        effect);
        return;
    }
    /* The machine bound at the start, or one that this transfer made: never any other. */
    require(text_equal(target->object,
                       kind == EFFECT_REMOVE ? transfer->instance : transfer->new_instance));
    provider_remove(provider, &address, target->object, effect->request_id, cloud_answered, effect);
}

/* Which way each kind goes, in which steps it may happen, and whether a freeze stops it. */
static const struct {
    void (*send)(struct effect *effect, const struct effect_target *target);
    enum transfer_step first;
    enum transfer_step last;
    bool stops_at_freeze;
} ways[EFFECT_KIND_COUNT] = {
    [EFFECT_ANNOUNCE] = { send_node, STEP_ANNOUNCE, STEP_HOLD, true },
    [EFFECT_CORDON] = { send_node, STEP_CORDON, STEP_FORCE, true },
    [EFFECT_EVICT] = { send_pod, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_MARK] = { send_pod, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_DELETE_POD] = { send_pod, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_REMOVE] = { send_cloud, STEP_RELEASE, STEP_RELEASE, true },
    [EFFECT_CLEAR_POD] = { send_pod, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_FENCE] = { send_node, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_CLEAR_NODE] = { send_node, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_CREATE] = { send_cloud, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_DISCARD] = { send_cloud, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_DISCARD_NODE] = { send_node, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_WELCOME] = { send_node, STEP_JOIN, STEP_HAND_OVER, false },
    [EFFECT_RESTORE] = { send_node, STEP_ANNOUNCE, STEP_FORCE, false },
};

bool effect_stops_at_freeze(enum effect_kind kind)
{
    return ways[kind].stops_at_freeze;
}

bool effect_fits_step(enum effect_kind kind, int step)
{
    return step >= (int)ways[kind].first && step <= (int)ways[kind].last;
}

void effect_send(struct effect *effect, const struct effect_target *target)
{
    require(!journal_is_gathering(effect->runner->world->journal));
    ways[effect->kind].send(effect, target);
}
