/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a plain cluster does of a transfer.  Its list is a direct read: it is asked every few
 * seconds, and is as new as its question.
 */
#include "base/input/json.h"
#include "base/shared_text.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"
#include "tests/plain/plain.h"

#include <string.h>

enum { CLOSE_SOON_S = 1 };

static const struct effect_kind note_it, close_it, open_it, stop_it, forget_it, serve_it,
    discard_it;

/* ---- effects: one POST each ---- */

static void answered(void *context, const json_t *body, const struct error *err)
{
    (void)body;
    effect_finish(context, err);
}

/* An effect's name says what the server is asked for: "plain_note". */
static void send_node(const struct intent *intent)
{
    const struct effect_kind *kind = intent->effect->kind;
    const char *verb = kind == &discard_it ? "forget" : strchr(kind->name, '_') + 1;
    owned(chars) char *path = text_format("nodes/%s/%s", intent->name, verb);

    plain_post(fleet_cluster(intent->effect->runner->fleet, effect_cluster(intent->effect)), path,
               json_incref(intent->patch), answered, intent->effect);
}

static void prepare_node(struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    char leaves[WALL_TEXT_SIZE];
    bool is_kept = effect->kind != &open_it;

    intent->name = mem_copy_chars(target->node->name);
    intent->patch = json_make("{ss ss ss}", "id", target->node->uid, "transfer",
                              is_kept ? transfer->id : "", "leaves",
                              is_kept ? wall_format(transfer->departure, leaves) : "");
}

static void prepare_job(struct effect *effect, const struct effect_target *target,
                        struct intent *intent)
{
    (void)effect;
    intent->name = mem_copy_chars(target->pod->name);
    intent->patch = json_make("{ss sI}", "id", target->pod->uid, "grace_s",
                              (json_int_t)target->grace_s);
}

static void send_stop(const struct intent *intent)
{
    owned(chars) char *path = text_format("jobs/%s/stop", intent->name);

    plain_post(fleet_cluster(intent->effect->runner->fleet, effect_cluster(intent->effect)), path,
               json_incref(intent->patch), answered, intent->effect);
}

static bool asks_to_leave(const struct effect *effect, const struct pod *pod, bool *ret_is_ready)
{
    (void)effect;
    (void)pod;
    *ret_is_ready = false;
    return true;
}

static const struct effect_kind note_it = { EFFECT_ROW(
    "plain_note", STEP_ANNOUNCE, STEP_NOTICE, true, EFFECT_GONE, prepare_node, send_node) };
static const struct effect_kind close_it = { EFFECT_ROW(
    "plain_close", STEP_CORDON, STEP_FORCE, true, EFFECT_GONE, prepare_node, send_node) };
static const struct effect_kind open_it = { EFFECT_ROW("plain_open", STEP_ANNOUNCE, STEP_FORCE,
                                                       false, EFFECT_GONE, prepare_node, send_node),
                                            .goes_back = true };
static const struct effect_kind stop_it = { EFFECT_ROW("plain_stop", STEP_DRAIN, STEP_FORCE, true,
                                                       EFFECT_REPLACED, prepare_job, send_stop),
                                            .asks_to_leave = asks_to_leave };
static const struct effect_kind forget_it = { EFFECT_ROW(
    "plain_forget", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_node, send_node) };
static const struct effect_kind serve_it = { EFFECT_ROW(
    "plain_serve", STEP_JOIN, STEP_HAND_OVER, false, EFFECT_GONE, prepare_node, send_node) };
static const struct effect_kind discard_it = { EFFECT_ROW(
    "plain_discard", STEP_ACQUIRE, STEP_ACQUIRE, false, EFFECT_GONE, prepare_node, send_node) };
static const struct effect_kind *const kinds[] = { &note_it,   &close_it, &open_it,    &stop_it,
                                                   &forget_it, &serve_it, &discard_it, NULL };

/* ---- the origin ---- */

/* Whether a list that was asked for since then has come. */
static bool is_listed(const struct snapshot *snapshot, struct transfer *transfer, int64_t since_ms)
{
    transfer_wait_for(transfer, "a list of the nodes and their jobs");
    return snapshot->is_known && snapshot->nodes_seen_ms >= since_ms;
}

static void ask_node(struct runner *runner, struct transfer *transfer,
                     const struct effect_kind *kind, const struct node *node)
{
    struct effect_target target = { .object = node->uid, .node = node };

    const struct snapshot *snapshot = kind->first < STEP_ACQUIRE
                                          ? side_origin_snapshot(runner, transfer)
                                          : side_target_snapshot(runner, transfer);

    effect_ask(runner, transfer, kind, &target, snapshot->nodes_seen_ms);
}

static enum verdict check(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = side_leaving_node(runner, transfer);
    const char *mark = node ? node_annotation(node, SLUICE_NOTE_TRANSFER) : NULL;

    if (!node)
        return is_listed(side_origin_snapshot(runner, transfer), transfer, transfer->step_began_ms)
                   ? STEP_UNDO
                   : STEP_WAIT;
    return fleet_is_ephemeral(runner->config, node) && (!mark || text_equal(mark, transfer->id))
               ? STEP_DONE
               : STEP_UNDO;
}

static void announce(struct runner *runner, struct transfer *transfer, const struct node *node)
{
    ask_node(runner, transfer, &note_it, node);
}

static enum verdict close_node(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = check(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);

    if (verdict != STEP_DONE || (node->is_unschedulable && side_is_marked(node, transfer)))
        return verdict;
    if (loop_now(runner->world->loop) - transfer->step_began_ms >= STEP_CLOSE_MS)
        return STEP_UNDO;
    transfer_wait_for(transfer, "the node to be closed");
    ask_node(runner, transfer, &close_it, node);
    return STEP_WAIT;
}

/* Asks each job to stop; STEP_DONE when a list shows none. */
static enum verdict stop_jobs(struct runner *runner, struct transfer *transfer, int64_t grace_s)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(snapshot, transfer->node, &count);

    if (!is_listed(snapshot, transfer, transfer->step_began_ms + runner->config->drain.settle_ms))
        return STEP_WAIT;
    for (size_t i = 0; i < count; i++) {
        struct effect_target target = { .object = jobs[i]->uid,
                                        .pod = jobs[i],
                                        .grace_s = grace_s };

        if (jobs[i]->deletion.ms == 0 || grace_s == CLOSE_SOON_S)
            effect_ask(runner, transfer, &stop_it, &target, snapshot->pods_seen_ms);
    }
    transfer_wait_for(transfer, "%zu jobs to stop", count);
    return count == 0 ? STEP_DONE : STEP_WAIT;
}

static enum verdict empty(struct runner *runner, struct transfer *transfer)
{
    if (runner_now(runner).ms >= transfer->drain_due.ms)
        return STEP_DONE;
    return stop_jobs(runner, transfer, 30);
}

static enum verdict force(struct runner *runner, struct transfer *transfer)
{
    return stop_jobs(runner, transfer, CLOSE_SOON_S);
}

static enum verdict may_remove(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct node *node = side_leaving_node(runner, transfer);
    size_t count;

    if (!is_listed(side_origin_snapshot(runner, transfer), transfer, since_ms))
        return STEP_WAIT;
    if (!node || !side_is_marked(node, transfer))
        return STEP_UNDO;
    (void)snapshot_pods_on(side_origin_snapshot(runner, transfer), transfer->node, &count);
    return node->is_unschedulable && count == 0 ? STEP_DONE : STEP_DRAIN_AGAIN;
}

static bool is_in_use(const struct runner *runner, const struct transfer *transfer,
                      int64_t asked_ms)
{
    const struct node *node = side_leaving_node(runner, transfer);
    size_t count;

    (void)asked_ms;
    (void)snapshot_pods_on(side_origin_snapshot(runner, transfer), transfer->node, &count);
    return node && (count > 0 || !node->is_unschedulable);
}

static enum verdict clear(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = side_leaving_node(runner, transfer);

    if (!node)
        return is_listed(side_origin_snapshot(runner, transfer), transfer, transfer->step_began_ms)
                   ? STEP_DONE
                   : STEP_WAIT;
    transfer_wait_for(transfer, "the node to be forgotten");
    ask_node(runner, transfer, &forget_it, node);
    return STEP_WAIT;
}

static enum verdict undo(struct runner *runner, struct transfer *transfer)
{
    const struct snapshot *snapshot = side_origin_snapshot(runner, transfer);
    const struct node *node = side_leaving_node(runner, transfer);

    if (!is_listed(snapshot, transfer, transfer->step_began_ms))
        return STEP_WAIT;
    if (!node)
        return STEP_DONE;
    if (effect_is_open(transfer, &note_it, node->uid, snapshot->nodes_seen_ms) ||
        effect_is_open(transfer, &close_it, node->uid, snapshot->nodes_seen_ms))
        return STEP_WAIT;
    if (!side_is_marked(node, transfer))
        return STEP_DONE;
    ask_node(runner, transfer, &open_it, node);
    return STEP_WAIT;
}

static bool are_ready(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    size_t count;

    (void)snapshot_pods_on(side_origin_snapshot(runner, transfer), transfer->node, &count);
    *ret_count = (int)count;
    return count == 0;
}

static struct wall_time wish(const struct runner *runner, const struct transfer *transfer,
                             char *ret_who, size_t size)
{
    (void)runner;
    (void)transfer;
    (void)ret_who;
    (void)size;
    return (struct wall_time){ 0 };
}

/* ---- the target ---- */

static void lacks(const struct runner *runner, const struct transfer *transfer,
                  struct text *missing)
{
    const struct node *node = acquire_node(runner, transfer);

    if (!node)
        text_add(missing, "the node of machine %s to register", transfer->new_instance);
    else if (!node->is_ready || text_equal(packed_map_get(node->devices, "nvidia.com/gpu"), "0"))
        text_add(missing, "node %s to be ready, with its GPUs", node->name);
}

static int note_ready(struct runner *runner, struct transfer *transfer)
{
    (void)runner;
    (void)transfer;
    return 0;
}

static enum verdict welcome(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    text_copy(transfer->new_node, sizeof transfer->new_node, node->name);
    if (!node_has_taint(node, SLUICE_TAINT_STARTING))
        return STEP_DONE;
    ask_node(runner, transfer, &serve_it, node);
    return STEP_WAIT;
}

static bool is_lost(struct runner *runner, struct transfer *transfer)
{
    return !acquire_node(runner, transfer);
}

static bool may_discard(const struct runner *runner, const struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    return !node || node_has_taint(node, SLUICE_TAINT_STARTING);
}

static bool is_idle(struct runner *runner, struct transfer *transfer, int64_t since_ms)
{
    const struct node *node = acquire_node(runner, transfer);
    size_t count = 0;

    if (node)
        (void)snapshot_pods_on(side_target_snapshot(runner, transfer), node->name, &count);
    return is_listed(side_target_snapshot(runner, transfer), transfer, since_ms) && count == 0;
}

static bool discard(struct runner *runner, struct transfer *transfer)
{
    const struct node *node = acquire_node(runner, transfer);

    if (node)
        ask_node(runner, transfer, &discard_it, node);
    return !node;
}

/* ---- the rest of the table ---- */

static void *open_side(struct runner *runner)
{
    return runner;
}

static int load_side(void *state, struct error *err)
{
    (void)state;
    (void)err;
    return 0;
}

static bool tick_side(void *state)
{
    (void)state;
    return false;
}

static void close_side(void *state)
{
    (void)state;
}

static bool is_under_way(const void *told)
{
    (void)told;
    return false;
}

static const char *trouble(const void *told)
{
    (void)told;
    return NULL;
}

static json_t *describe_stopped(const void *state)
{
    (void)state;
    return json_array();
}

static json_t *blockers(const struct runner *runner, const struct config_cluster *cluster,
                        const char *const *nodes, size_t count, int64_t deadline_ms)
{
    json_t *rows = json_array();

    (void)runner;
    (void)cluster;
    (void)nodes;
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, json_array());
    return rows;
}

static void ask_dry_runs(void *state, json_t *answer, side_asked_fn done, void *context)
{
    (void)state;
    (void)answer;
    done(context);
}

const struct side plain_side = {
    .kind = "plain",
    .origin = {
        .check = check,
        .announce = announce,
        .close = close_node,
        .empty = empty,
        .force = force,
        .clear = clear,
        .undo = undo,
        .may_remove = may_remove,
        .is_in_use = is_in_use,
        .are_ready = are_ready,
        .wish = wish,
    },
    .target = {
        .lacks = lacks,
        .note_ready = note_ready,
        .welcome = welcome,
        .is_lost = is_lost,
        .may_discard = may_discard,
        .is_idle = is_idle,
        .discard = discard,
    },
    .effects = kinds,
    .open = open_side,
    .load = load_side,
    .tick = tick_side,
    .close = close_side,
    .is_under_way = is_under_way,
    .trouble = trouble,
    .forget = close_side,
    .describe_stopped = describe_stopped,
    .tell_people = close_side,
    .blockers = blockers,
    .ask_dry_runs = ask_dry_runs,
};
