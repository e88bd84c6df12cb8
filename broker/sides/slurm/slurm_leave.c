/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The node that leaves: a maintenance reservation from its departure on, so that Slurm's scheduler
 * starts nothing there that would not end in time; then a drain.
 *
 * If a person drained the node, that drain and its reason stay: sluice never writes over a reason
 * that is not its own, and an undo lifts only sluice's drain.  The reservation is then the mark.
 * A node that a person set DOWN does not move.
 */
#include "base/log.h"
#include "base/text.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_cluster.h"
#include "clusters/slurm_snapshot.h"

enum { AGAIN_SIZE = 80 };

struct tenant slurm_place(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant place = { transfer->source->cluster, transfer->node, true };

    (void)tenant_find(runner, transfer, &place);
    return place;
}

bool slurm_is_lodged(const struct runner *runner, const struct transfer *transfer)
{
    return slurm_place(runner, transfer).cluster != transfer->source->cluster;
}

const struct snapshot *slurm_origin_snapshot(const struct runner *runner,
                                             const struct transfer *transfer)
{
    return fleet_snapshot(runner->fleet, slurm_place(runner, transfer).cluster);
}

/* Slurm's nodes have no UID: a node of the same name is the same one. */
const struct node *slurm_leaving_node(const struct runner *runner, const struct transfer *transfer)
{
    struct tenant place = slurm_place(runner, transfer);

    return slurm_is_lodged(runner, transfer)
               ? map_get(fleet_snapshot(runner->fleet, place.cluster)->nodes, place.node)
               : side_leaving_node(runner, transfer);
}

bool slurm_is_read(struct runner *runner, struct transfer *transfer,
                   const struct config_cluster *cluster, int64_t since_ms)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, cluster);

    if (snapshot->is_known && snapshot->nodes_seen_ms >= since_ms)
        return true;
    transfer_wait_for(transfer, "cluster %s to be read", cluster->name);
    slurm_cluster_hurry(fleet_cluster(runner->fleet, cluster), since_ms);
    return false;
}

const struct effect *slurm_ask_node(struct runner *runner, struct transfer *transfer,
                                    const struct effect_kind *kind, const struct node *node,
                                    const char *key)
{
    struct effect_target target = { .object = key, .node = node };
    const struct snapshot *snapshot = kind->first < STEP_ACQUIRE
                                          ? slurm_origin_snapshot(runner, transfer)
                                          : side_target_snapshot(runner, transfer);

    return effect_ask(runner, transfer, kind, &target, snapshot->nodes_seen_ms);
}

bool slurm_is_drained_by(const struct node *node, const char *whom)
{
    return text_equal(node_annotation(node, SLURM_NOTE_DRAIN), whom);
}

static bool is_reserved(const struct node *node, const struct transfer *transfer)
{
    char name[SLURM_RESERVATION_SIZE];

    return text_equal(node_annotation(node, SLURM_NOTE_RESERVATION),
                      slurm_reservation_name(transfer, name));
}

bool slurm_is_out(struct transfer *transfer, const struct node *node)
{
    if (!text_equal(node_annotation(node, SLURM_NOTE_OUT), "down"))
        return false;
    transfer_wait_for(transfer, "node %s was taken out of service by %.32s: it is %s, %.100s",
                      node->name, node_annotation(node, SLURM_NOTE_REASON_BY) ?: "another",
                      node_annotation(node, SLURM_NOTE_STATE) ?: "?",
                      node_annotation(node, SLURM_NOTE_REASON) ?: "");
    return true;
}

bool slurm_is_kept(const struct node *node)
{
    return slurm_is_drained_by(node, "other") ||
           text_equal(node_annotation(node, SLURM_NOTE_OUT), "down");
}

/* STEP_DONE: the node is there, and may be moved. */
enum verdict slurm_check(struct runner *runner, struct transfer *transfer)
{
    struct tenant place = slurm_place(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);
    const char *mark = node ? node_annotation(node, SLUICE_NOTE_TRANSFER) : NULL;

    if (!slurm_is_read(runner, transfer, place.cluster, node ? 0 : transfer->step_began_ms))
        return STEP_WAIT;
    if (!node)
        transfer_wait_for(transfer, "node %s is not in Slurm any more", place.node);
    else if (!slurm_is_lodged(runner, transfer) && !fleet_is_ephemeral(runner->config, node))
        transfer_wait_for(transfer, "node %s lost its feature %s", place.node,
                          runner->config->ephemeral_label);
    else if (mark && !text_equal(mark, transfer->id))
        transfer_wait_for(transfer, "node %s is another broker's: it is marked by transfer %.100s",
                          place.node, mark);
    else if (!slurm_is_out(transfer, node))
        return STEP_DONE;
    return STEP_UNDO;
}

/* Slurm moves no reservation that began. */
static bool has_begun(const struct runner *runner, const struct node *node)
{
    const char *chars = node_annotation(node, SLUICE_NOTE_DEPARTURE);
    struct wall_time start;

    return chars && wall_parse(chars, false, &start, NULL) == 0 &&
           start.ms <= runner_now(runner).ms;
}

void slurm_announce(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    bool is_there = is_reserved(node, transfer);
    char departure[WALL_TEXT_SIZE];
    owned(chars) char *key = text_format("%s/%s", node->uid,
                                         wall_format(transfer->departure, departure));

    if (text_equal(node_annotation(node, SLURM_NOTE_COMMENT) ?: "", "") ||
        slurm_has_our_comment(node))
        (void)slurm_ask_node(runner, transfer, &slurm_effect_comment, node, key);
    slurm_tell_jobs(runner, transfer);
    if (!is_there)
        (void)slurm_ask_node(runner, transfer, &slurm_effect_reserve, node, node->uid);
    else if (has_begun(runner, node)) /* each departure is an effect of its own */
        (void)slurm_ask_node(runner, transfer, &slurm_effect_withdraw, node, key);
    else
        (void)slurm_ask_node(runner, transfer, &slurm_effect_postpone, node, key);
}

/* Asks for what is missing: the drain, and the mark. */
static bool is_closed(struct runner *runner, struct transfer *transfer, const struct node *node,
                      const char *key)
{
    if (!slurm_is_drained_by(node, "ours") && !slurm_is_drained_by(node, "other")) {
        /* Our drain would replace the reason of one that is not seen yet. */
        if (!slurm_is_read(runner, transfer, slurm_place(runner, transfer).cluster,
                           transfer->step_began_ms))
            return false;
        transfer_wait_for(transfer, "the drain to show on node %s", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_drain, node, key);
        return false;
    }
    if (!side_is_marked(node, transfer)) {
        transfer_wait_for(transfer, "the reservation to show on node %s", node->name);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_reserve, node, node->uid);
        return false;
    }
    return true;
}

enum verdict slurm_close(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = slurm_check(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);

    if (verdict != STEP_DONE || is_closed(runner, transfer, node, node->uid))
        return verdict;
    return loop_now(runner->world->loop) - transfer->step_began_ms >= STEP_CLOSE_MS ? STEP_UNDO
                                                                                    : STEP_WAIT;
}

/* A person who resumes the node once may be mistaken; twice is meant. */
enum verdict slurm_keep_closed(struct runner *runner, struct transfer *transfer,
                               const struct node *node)
{
    char key[AGAIN_SIZE];
    const struct effect *again;

    if (slurm_is_out(transfer, node))
        return STEP_UNDO;
    text_print(key, sizeof key, "%s/again", node->uid);
    again = effect_find(transfer, &slurm_effect_drain, key);
    if (again && again->accepted_ms > 0 && !slurm_is_drained_by(node, "ours") &&
        !slurm_is_drained_by(node, "other") &&
        slurm_origin_snapshot(runner, transfer)->nodes_seen_ms > again->accepted_ms) {
        transfer_wait_for(transfer, "the drain of node %s was taken away twice", node->name);
        log_warn("drain_taken", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("text", transfer->waiting));
        return STEP_UNDO;
    }
    return is_closed(runner, transfer, node, key) ? STEP_DONE : STEP_WAIT;
}

/* An effect that was sent, and may still show. */
static bool is_in_doubt(const struct transfer *transfer, const struct snapshot *snapshot,
                        const char *uid)
{
    const struct effect_kind *const kinds[] = { &slurm_effect_reserve, &slurm_effect_drain };
    char key[AGAIN_SIZE];
    char departure[WALL_TEXT_SIZE];
    owned(chars) char *told = text_format("%s/%s", uid,
                                          wall_format(transfer->departure, departure));

    if (effect_is_open(transfer, &slurm_effect_comment, told, snapshot->nodes_seen_ms) ||
        effect_is_open(transfer, &slurm_effect_postpone, told, snapshot->nodes_seen_ms) ||
        effect_is_open(transfer, &slurm_effect_withdraw, told, snapshot->nodes_seen_ms))
        return true;
    text_print(key, sizeof key, "%s/again", uid);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (effect_is_open(transfer, kinds[i], uid, snapshot->nodes_seen_ms))
            return true;
    return effect_is_open(transfer, &slurm_effect_drain, key, snapshot->nodes_seen_ms);
}

/* One that the transfer asked for, and that no answer rules out. */
static bool is_drained_unseen(const struct transfer *transfer, const char *uid)
{
    char key[AGAIN_SIZE];

    text_print(key, sizeof key, "%s/again", uid);
    return effect_may_have_happened(effect_find(transfer, &slurm_effect_drain, uid)) ||
           effect_may_have_happened(effect_find(transfer, &slurm_effect_drain, key));
}

/* Slurm lists no node that is FUTURE, and 22.05 none that power saving has switched off.  The
   reservation is in its own list.  A drain is not lifted unseen: it may be a person's by now. */
static enum verdict undo_hidden(struct runner *runner, struct transfer *transfer, const char *uid)
{
    struct tenant place = slurm_place(runner, transfer);
    const struct node hidden = { .name = place.node, .uid = uid };
    char name[SLURM_RESERVATION_SIZE];

    if (slurm_cluster_has_reservation(fleet_cluster(runner->fleet, place.cluster),
                                      slurm_reservation_name(transfer, name))) {
        transfer_wait_for(transfer, "reservation %s of node %s, which Slurm does not show, to go",
                          name, place.node);
        (void)slurm_ask_node(runner, transfer, &slurm_effect_unreserve, &hidden, uid);
        return STEP_WAIT;
    }
    /* With its tool's pod, or with its machine, a node goes for good. */
    if (slurm_is_lodged(runner, transfer) || !is_drained_unseen(transfer, uid) ||
        fleet_instance(runner->fleet, transfer->source, transfer->instance, transfer->step_began_ms,
                       NULL) == PRESENCE_NO)
        return STEP_DONE;
    transfer_wait_for(transfer,
                      "node %s to show in Slurm again (it is off, FUTURE or deleted): sluice's "
                      "drain is to be lifted",
                      place.node);
    return STEP_WAIT;
}

enum verdict slurm_undo(struct runner *runner, struct transfer *transfer)
{
    const struct config_cluster *cluster = slurm_place(runner, transfer).cluster;
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);
    owned(chars) char *uid = text_format("%s/%s", cluster->name,
                                         slurm_place(runner, transfer).node);

    if (!slurm_is_read(runner, transfer, cluster, transfer->step_began_ms))
        return STEP_WAIT;
    if (is_in_doubt(transfer, snapshot, uid)) {
        transfer_wait_for(transfer, "the outcome of an earlier change of the node");
        slurm_cluster_hurry(fleet_cluster(runner->fleet, cluster), loop_now(runner->world->loop));
        return STEP_WAIT;
    }
    if (!node)
        return undo_hidden(runner, transfer, uid);
    transfer_wait_for(transfer, "node %s to be as it was", node->name);
    if (slurm_is_drained_by(node, "ours") && side_is_marked(node, transfer)) {
        (void)slurm_ask_node(runner, transfer, &slurm_effect_undrain, node, node->uid);
        return STEP_WAIT;
    }
    if (is_reserved(node, transfer)) {
        (void)slurm_ask_node(runner, transfer, &slurm_effect_unreserve, node, node->uid);
        return STEP_WAIT;
    }
    if (slurm_has_our_comment(node)) {
        (void)slurm_ask_node(runner, transfer, &slurm_effect_uncomment, node, node->uid);
        return STEP_WAIT;
    }
    return slurm_untell_jobs(runner, transfer) ? STEP_WAIT : STEP_DONE;
}
