/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One function a way of sending; the table says which kind goes which way.
 */
#include "broker/transfer/effect_send.h"

#include "base/json.h"
#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"

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

/* How the node is to look; the taint's value points into the transfer. */
static struct node_change change_of(const struct effect *effect, const struct effect_target *target,
                                    const json_t *movable)
{
    const struct transfer *transfer = effect->transfer;
    struct node_change change = { .annotations = target->annotations, .labels = target->labels };

    switch (effect->kind) {
    case EFFECT_ANNOUNCE:
        change.taint_key = SLUICE_TAINT_LEAVING;
        change.taint_value = transfer->id;
        change.taint_effect = "PreferNoSchedule";
        break;
    case EFFECT_CORDON:
        change.cordon = NODE_CORDON;
        change.taint_key = SLUICE_TAINT_LEAVING;
        change.taint_value = transfer->id;
        change.taint_effect = "NoSchedule";
        break;
    case EFFECT_RESTORE:
        /* Only our own cordon is lifted: the note says what stood there before it. */
        change.cordon = text_equal(node_annotation(target->node, SLUICE_NOTE_WAS_CORDONED), "false")
                            ? NODE_UNCORDON
                            : NODE_KEEP;
        change.taint_key = SLUICE_TAINT_LEAVING;
        break;
    case EFFECT_WELCOME:
        change.taint_key = SLUICE_TAINT_STARTING;
        change.labels = movable;
        break;
    case EFFECT_FENCE:
        change.taint_key = NODE_TAINT_OUT_OF_SERVICE;
        change.taint_value = "nodeshutdown";
        change.taint_effect = "NoExecute";
        break;
    case EFFECT_CLEAR_NODE:
    case EFFECT_DISCARD_NODE:
    case EFFECT_EVICT:
    case EFFECT_MARK:
    case EFFECT_DELETE_POD:
    case EFFECT_CLEAR_POD:
    case EFFECT_REMOVE:
    case EFFECT_CREATE:
    case EFFECT_DISCARD:
    case EFFECT_KIND_COUNT:
        require(false); /* not a change of a node */
    }
    return change;
}

static void prepare_patch(const struct effect *effect, const struct effect_target *target,
                          struct intent *intent)
{
    owned(json) json_t *movable = fleet_ephemeral_label(effect->runner->config);
    struct node_change change = change_of(effect, target, movable);

    intent->name = mem_copy_chars(target->node->name);
    intent->patch = node_change_patch(target->node, &change);
}

static void send_patch(struct effect *effect, const struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    bool is_of_goal = effect->kind == EFFECT_WELCOME;
    const struct config_pool *pool = is_of_goal ? transfer_goal(transfer) : transfer->source;

    cluster_patch_node(fleet_cluster(effect->runner->fleet, pool->cluster), intent->name,
                       intent->patch, cluster_answered, effect);
}

static void prepare_node(const struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    bool is_ours = effect->kind == EFFECT_CLEAR_NODE; /* the one that the transfer began with */

    intent->name = mem_copy_chars(is_ours ? transfer->node : target->node->name);
    intent->uid = mem_copy_chars(is_ours ? transfer->node_uid : target->node->uid);
}

static void send_node(struct effect *effect, const struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    bool is_of_goal = effect->kind == EFFECT_DISCARD_NODE;
    const struct config_pool *pool = is_of_goal ? transfer_goal(transfer) : transfer->source;

    cluster_delete_node(fleet_cluster(effect->runner->fleet, pool->cluster), intent->name,
                        intent->uid, cluster_answered, effect);
}

static void prepare_pod(const struct effect *effect, const struct effect_target *target,
                        struct intent *intent)
{
    (void)effect;
    intent->namespace = mem_copy_chars(target->pod->namespace);
    intent->name = mem_copy_chars(target->pod->name);
    intent->uid = mem_copy_chars(target->pod->uid);
    intent->grace_s = target->grace_s;
}

static void send_pod(struct effect *effect, const struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    struct cluster *cluster = fleet_cluster(effect->runner->fleet, transfer->source->cluster);
    owned(chars) char *message = NULL;

    switch (effect->kind) {
    case EFFECT_EVICT:
        cluster_evict_pod(cluster, intent->namespace, intent->name, intent->uid, intent->grace_s,
                          cluster_answered, effect);
        break;
    case EFFECT_MARK:
        message = text_format("node %s moves to pool %s (transfer %s)", transfer->node,
                              transfer->target->name, transfer->id);
        cluster_mark_pod(cluster, intent->namespace, intent->name, intent->uid, message,
                         cluster_answered, effect);
        break;
    case EFFECT_DELETE_POD:
        require(intent->grace_s >= 1); /* grace 0 is not a kill: only after the machine is gone */
        cluster_delete_pod(cluster, intent->namespace, intent->name, intent->uid, intent->grace_s,
                           cluster_answered, effect);
        break;
    case EFFECT_CLEAR_POD:
        require(transfer->step == STEP_CLEAR);
        cluster_delete_pod(cluster, intent->namespace, intent->name, intent->uid, 0,
                           cluster_answered, effect);
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

/* The effect's key is the machine's name. */
static void prepare_machine(const struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    (void)effect;
    (void)target;
    (void)intent;
}

static void send_machine(struct effect *effect, const struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    enum effect_kind kind = effect->kind;
    const struct config_pool *pool = kind == EFFECT_REMOVE ? transfer->source
                                                           : transfer_goal(transfer);
    struct provider *provider = fleet_provider(effect->runner->fleet, pool);
    struct pool_address address = fleet_address(pool);

    (void)intent;
    if (kind == EFFECT_CREATE) {
        provider_create(provider, &address, effect->object, effect->request_id, cloud_answered,
                        effect);
        return;
    }
    /* The machine bound at the start, or one that this transfer made: never any other. */
    require(text_equal(effect->object,
                       kind == EFFECT_REMOVE ? transfer->instance : transfer->new_instance));
    provider_remove(provider, &address, effect->object, effect->request_id, cloud_answered, effect);
}

/* What is copied of the target when the effect is asked for, and how it is sent later. */
struct way {
    void (*prepare)(const struct effect *effect, const struct effect_target *target,
                    struct intent *intent);
    void (*send)(struct effect *effect, const struct intent *intent);
};

static const struct way patching = { prepare_patch, send_patch };
static const struct way deleting = { prepare_node, send_node };
static const struct way on_pods = { prepare_pod, send_pod };
static const struct way on_machines = { prepare_machine, send_machine };

/* Which way each kind goes, in which steps it may happen, and whether a freeze stops it. */
static const struct {
    const struct way *way;
    enum transfer_step first;
    enum transfer_step last;
    bool stops_at_freeze;
} ways[EFFECT_KIND_COUNT] = {
    [EFFECT_ANNOUNCE] = { &patching, STEP_ANNOUNCE, STEP_HOLD, true },
    [EFFECT_CORDON] = { &patching, STEP_CORDON, STEP_FORCE, true },
    [EFFECT_EVICT] = { &on_pods, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_MARK] = { &on_pods, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_DELETE_POD] = { &on_pods, STEP_DRAIN, STEP_FORCE, true },
    [EFFECT_REMOVE] = { &on_machines, STEP_RELEASE, STEP_RELEASE, true },
    [EFFECT_CLEAR_POD] = { &on_pods, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_FENCE] = { &patching, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_CLEAR_NODE] = { &deleting, STEP_CLEAR, STEP_CLEAR, false },
    [EFFECT_CREATE] = { &on_machines, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_DISCARD] = { &on_machines, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_DISCARD_NODE] = { &deleting, STEP_ACQUIRE, STEP_ACQUIRE, false },
    [EFFECT_WELCOME] = { &patching, STEP_JOIN, STEP_HAND_OVER, false },
    [EFFECT_RESTORE] = { &patching, STEP_ANNOUNCE, STEP_FORCE, false },
};

bool effect_stops_at_freeze(enum effect_kind kind)
{
    return ways[kind].stops_at_freeze;
}

bool effect_fits_step(enum effect_kind kind, int step)
{
    return step >= (int)ways[kind].first && step <= (int)ways[kind].last;
}

void effect_prepare(struct effect *effect, const struct effect_target *target,
                    struct intent *intent)
{
    intent->effect = effect;
    ways[effect->kind].way->prepare(effect, target, intent);
}

void effect_send(const struct intent *intent)
{
    struct effect *effect = intent->effect;

    require(!journal_is_gathering(effect->runner->world->journal));
    ways[effect->kind].way->send(effect, intent);
}
