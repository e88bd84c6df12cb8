/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See slurm_effects.h.  An intent's patch has the blanks of its action.
 */
#include "broker/sides/slurm/slurm_effects.h"

#include "base/input/json.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_cluster.h"
#include "clusters/slurm_snapshot.h"

#include <string.h>

/* ---- sending ---- */

/* The action of each kind of effect. */
static enum slurm_action action_of(const struct effect_kind *kind)
{
    static const struct {
        const struct effect_kind *kind;
        enum slurm_action action;
    } rows[] = {
        { &slurm_effect_reserve, SLURM_CREATE_RESERVATION },
        { &slurm_effect_postpone, SLURM_MOVE_RESERVATION },
        { &slurm_effect_withdraw, SLURM_DELETE_RESERVATION },
        { &slurm_effect_comment, SLURM_CHANGE_NODE },
        { &slurm_effect_uncomment, SLURM_CHANGE_NODE },
        { &slurm_effect_tell, SLURM_COMMENT_JOB },
        { &slurm_effect_untell, SLURM_COMMENT_JOB },
        { &slurm_effect_drain, SLURM_CHANGE_NODE },
        { &slurm_effect_signal, SLURM_SIGNAL_JOB },
        { &slurm_effect_requeue, SLURM_REQUEUE_JOB },
        { &slurm_effect_cancel, SLURM_CANCEL_JOB },
        { &slurm_effect_undrain, SLURM_CHANGE_NODE },
        { &slurm_effect_unreserve, SLURM_DELETE_RESERVATION },
        { &slurm_effect_lift, SLURM_DELETE_RESERVATION },
        { &slurm_effect_forget, SLURM_DELETE_NODE },
        { &slurm_effect_keep, SLURM_CHANGE_NODE },
        { &slurm_effect_tidy, SLURM_CHANGE_NODE },
        { &slurm_effect_park, SLURM_CHANGE_NODE },
        { &slurm_effect_admit, SLURM_DELETE_RESERVATION },
        { &slurm_effect_resume, SLURM_CHANGE_NODE },
        { &slurm_effect_discard, SLURM_DELETE_NODE },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].kind == kind)
            return rows[i].action;
    require(!"an effect of this side");
    return SLURM_ACTION_COUNT;
}

/* Of an effect on a tenant: the tenant's. */
static struct cluster *cluster_of(const struct effect *effect)
{
    const struct config_cluster *cluster = effect_cluster(effect);

    return fleet_cluster(effect->runner->fleet, cluster->slurm ?: cluster);
}

/* The next round of questions shows what came of it. */
static void answered(void *context, const struct slurm_answer *answer, const struct error *err)
{
    struct effect *effect = context;

    (void)answer;
    slurm_cluster_hurry(cluster_of(effect), loop_now(effect->runner->world->loop));
    effect_finish(effect, err);
}

static const char *blank(const struct intent *intent, const char *key)
{
    return json_string_value(json_object_get(intent->patch, key));
}

static void send(const struct intent *intent)
{
    struct effect *effect = intent->effect;
    const struct slurm_blanks blanks = {
        .node = blank(intent, "node"),
        .state = blank(intent, "state"),
        .reason = blank(intent, "reason"),
        .comment = blank(intent, "comment"),
        .job = blank(intent, "job"),
        .signal = blank(intent, "signal"),
        .whom = blank(intent, "whom"),
        .reservation = blank(intent, "reservation"),
        .starts_s = json_int_or(intent->patch, "starts_s", 0),
    };

    slurm_ask(slurm_cluster_client(cluster_of(effect)), action_of(effect->kind), &blanks, answered,
              effect);
}

/* ---- preparing ---- */

const char *slurm_reservation_name(const struct transfer *transfer,
                                   char out[SLURM_RESERVATION_SIZE])
{
    text_print(out, SLURM_RESERVATION_SIZE, "%s%s", SLURM_RESERVATION_START, transfer->id);
    return out;
}

const char *slurm_job_key(const struct pod *pod)
{
    return pod_annotation(pod, SLURM_NOTE_RESTARTS);
}

static void prepare_node(const struct effect_target *target, struct intent *intent)
{
    require(target->node && target->node->uid[0] != '\0');
    intent->name = mem_copy_chars(target->node->name);
    intent->uid = mem_copy_chars(target->node->uid);
    intent->patch = json_make("{ss}", "node", target->node->name);
}

/* The reservation begins when the node leaves; in a reclaim: now. */
static void prepare_reserve(struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    char name[SLURM_RESERVATION_SIZE];

    prepare_node(target, intent);
    json_put(intent->patch, "reservation", json_text(slurm_reservation_name(transfer, name)));
    if (!transfer->is_emergency && transfer->departure.ms > runner_now(effect->runner).ms)
        json_put(intent->patch, "starts_s",
                 json_integer(wall_whole_second(transfer->departure.ms).ms / SECOND_MS));
}

static void put_state(struct intent *intent, const char *state, const char *start,
                      const struct effect *effect)
{
    const struct transfer *transfer = effect->transfer;
    owned(chars) char *reason = start ? text_format("%s%s (to pool %s)", start, transfer->id,
                                                    transfer->target->name)
                                      : NULL;

    json_put(intent->patch, "state", json_text(state));
    if (reason)
        json_put(intent->patch, "reason", json_text(reason));
}

static void prepare_drain(struct effect *effect, const struct effect_target *target,
                          struct intent *intent)
{
    prepare_node(target, intent);
    put_state(intent, "DRAIN", SLURM_REASON_LEAVING, effect);
}

/* For people who look at the node before it is drained. */
static void prepare_comment(struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    const struct transfer *transfer = effect->transfer;
    char departure[WALL_TEXT_SIZE];
    owned(chars) char *comment = text_format("%sleaves at %s to pool %s (%s)", SLURM_COMMENT_START,
                                             wall_format(transfer->departure, departure),
                                             transfer->target->name, transfer->id);

    prepare_node(target, intent);
    json_put(intent->patch, "comment", json_text(comment));
}

char *slurm_words_for_record(const struct transfer *transfer)
{
    return text_format("%sits machine left to pool %s (%s), and the drain stays",
                       SLURM_COMMENT_START, transfer->target->name, transfer->id);
}

static void prepare_keep(struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    owned(chars) char *words = slurm_words_for_record(effect->transfer);

    prepare_node(target, intent);
    json_put(intent->patch, "comment", json_text(words));
}

bool slurm_has_our_comment(const struct node *node)
{
    return text_starts_with(node_annotation(node, SLURM_NOTE_COMMENT) ?: "", SLURM_COMMENT_START);
}

static void drop_comment(const struct effect_target *target, struct intent *intent)
{
    if (slurm_has_our_comment(target->node))
        json_put(intent->patch, "comment", json_text(""));
}

static void prepare_uncomment(struct effect *effect, const struct effect_target *target,
                              struct intent *intent)
{
    (void)effect;
    prepare_node(target, intent);
    drop_comment(target, intent);
}

static void prepare_park(struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    prepare_node(target, intent);
    put_state(intent, "DRAIN", SLURM_REASON_PARKED, effect);
}

static void prepare_undrain(struct effect *effect, const struct effect_target *target,
                            struct intent *intent)
{
    prepare_node(target, intent);
    put_state(intent, "UNDRAIN", NULL, effect);
    drop_comment(target, intent);
}

static void prepare_resume(struct effect *effect, const struct effect_target *target,
                           struct intent *intent)
{
    prepare_node(target, intent);
    put_state(intent, "RESUME", NULL, effect);
    drop_comment(target, intent);
}

static void prepare_plain(struct effect *effect, const struct effect_target *target,
                          struct intent *intent)
{
    (void)effect;
    prepare_node(target, intent);
}

/* The reservation that the node shows: of a new node, that of the transfer by which it once left.
   A node that Slurm hides shows none: then the transfer's own. */
static void prepare_unreserve(struct effect *effect, const struct effect_target *target,
                              struct intent *intent)
{
    char own[SLURM_RESERVATION_SIZE];
    const char *name = target->node->annotations
                           ? node_annotation(target->node, SLURM_NOTE_RESERVATION)
                           : slurm_reservation_name(effect->transfer, own);

    require(name);
    prepare_node(target, intent);
    json_put(intent->patch, "reservation", json_text(name));
}

static void prepare_job(struct effect *effect, const struct effect_target *target,
                        struct intent *intent)
{
    const char *job = pod_annotation(target->pod, SLURM_NOTE_JOB);
    const char *signal = pod_annotation(target->pod, SLURM_NOTE_SIGNAL);

    (void)effect;
    require(job && slurm_job_key(target->pod));
    intent->name = mem_copy_chars(target->pod->node_name);
    intent->uid = mem_copy_chars(slurm_job_key(target->pod));
    intent->patch = json_make("{ss ss}", "job", job, "node", target->pod->node_name);
    if (signal)
        json_put(intent->patch, "signal", json_text(signal));
}

/* scancel passes over a job that has nothing on the node it is given, and says nothing of it: so it
   is given the one where the batch script runs. */
static void prepare_signal(struct effect *effect, const struct effect_target *target,
                           struct intent *intent)
{
    const char *host = pod_annotation(target->pod, SLURM_NOTE_HOST);

    require(host);
    prepare_job(effect, target, intent);
    json_put(intent->patch, "node", json_text(host));
    if (!pod_annotation(target->pod, SLURM_NOTE_STEPS))
        json_put(intent->patch, "whom", json_text("--batch"));
}

static void prepare_tell(struct effect *effect, const struct effect_target *target,
                         struct intent *intent)
{
    owned(chars) char *words = slurm_words_for_job(effect->transfer, target->pod);

    prepare_job(effect, target, intent);
    json_put(intent->patch, "comment", json_text(words));
}

static void prepare_untell(struct effect *effect, const struct effect_target *target,
                           struct intent *intent)
{
    prepare_job(effect, target, intent);
    json_put(intent->patch, "comment", json_text(""));
}

/* ---- once more before it is sent ---- */

static bool is_node_changed(const struct intent *intent, struct error *err)
{
    const struct snapshot *snapshot = cluster_snapshot(cluster_of(intent->effect));
    const struct node *node = map_get(snapshot->nodes, intent->name);

    if (node && text_equal(node->uid, intent->uid))
        return false;
    (void)error_set(err, ERROR_TRANSIENT, "node %s changed meanwhile", intent->name);
    return true;
}

/* A person may have drained the node since, or set it DOWN: that reason must stay. */
static bool is_drained_by_another(const struct intent *intent, struct error *err)
{
    const struct snapshot *snapshot = cluster_snapshot(cluster_of(intent->effect));
    const struct node *node = map_get(snapshot->nodes, intent->name);

    if (is_node_changed(intent, err))
        return true;
    if (!text_equal(node_annotation(node, SLURM_NOTE_DRAIN), "other") &&
        !node_annotation(node, SLURM_NOTE_OUT))
        return false;
    (void)error_set(err, ERROR_TRANSIENT, "node %s was drained by another", intent->name);
    return true;
}

/* With a record its reason would go. */
static bool is_record_kept(const struct intent *intent, struct error *err)
{
    const struct snapshot *snapshot = cluster_snapshot(cluster_of(intent->effect));

    if (is_node_changed(intent, err))
        return true;
    if (!slurm_is_kept(map_get(snapshot->nodes, intent->name)))
        return false;
    (void)error_set(err, ERROR_TRANSIENT, "node %s was drained by another", intent->name);
    return true;
}

/* A job that started again elsewhere is another one: requeueing it would lose work for nothing. */
static bool is_job_changed(const struct intent *intent, struct error *err)
{
    const struct snapshot *snapshot = cluster_snapshot(cluster_of(intent->effect));
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, intent->name, &count);

    for (size_t i = 0; i < count; i++)
        if (text_equal(slurm_job_key(pods[i]), intent->uid) && pods[i]->deletion.ms == 0)
            return false;
    (void)error_set(err, ERROR_TRANSIENT, "job %s is not on node %s any more", intent->uid,
                    intent->name);
    return true;
}

static bool job_asks(const struct effect *effect, const struct pod *pod, bool *ret_is_ready)
{
    (void)effect;
    *ret_is_ready = wishes_to_leave(pod);
    return true;
}

/* ---- the rows ---- */

/* A job that is gone, ends already, or waits already. */
#define JOB_IS_GONE EFFECT_GONE
#define IS_THERE (1u << ERROR_CONFLICT)

/* clang-format off */
const struct effect_kind slurm_effect_reserve = {
    EFFECT_ROW("slurm_reserve", STEP_ANNOUNCE, STEP_FORCE, true, IS_THERE, prepare_reserve, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_postpone = {
    EFFECT_ROW("slurm_postpone", STEP_ANNOUNCE, STEP_NOTICE, true, 0, prepare_reserve, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_withdraw = {
    EFFECT_ROW("slurm_withdraw", STEP_ANNOUNCE, STEP_NOTICE, true, EFFECT_GONE, prepare_unreserve, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_comment = {
    EFFECT_ROW("slurm_comment", STEP_ANNOUNCE, STEP_NOTICE, true, EFFECT_GONE, prepare_comment, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_tell = {
    EFFECT_ROW("slurm_tell", STEP_ANNOUNCE, STEP_NOTICE, true, EFFECT_GONE, prepare_tell, send),
    .is_overtaken = is_job_changed };
const struct effect_kind slurm_effect_untell = {
    EFFECT_ROW("slurm_untell", STEP_ANNOUNCE, STEP_HAND_OVER, false, EFFECT_GONE, prepare_untell, send),
    .is_overtaken = is_job_changed, .goes_back = true };
const struct effect_kind slurm_effect_uncomment = {
    EFFECT_ROW("slurm_uncomment", STEP_ANNOUNCE, STEP_HAND_OVER, false, EFFECT_GONE, prepare_uncomment, send),
    .is_overtaken = is_node_changed, .goes_back = true };
const struct effect_kind slurm_effect_drain = {
    EFFECT_ROW("slurm_drain", STEP_CORDON, STEP_FORCE, true, EFFECT_GONE, prepare_drain, send),
    .is_overtaken = is_drained_by_another };
const struct effect_kind slurm_effect_signal = {
    EFFECT_ROW("slurm_signal", STEP_DRAIN, STEP_FORCE, true, JOB_IS_GONE, prepare_signal, send),
    .is_overtaken = is_job_changed };
const struct effect_kind slurm_effect_requeue = {
    EFFECT_ROW("slurm_requeue", STEP_DRAIN, STEP_FORCE, true, JOB_IS_GONE, prepare_job, send),
    .is_overtaken = is_job_changed, .asks_to_leave = job_asks };
const struct effect_kind slurm_effect_cancel = {
    EFFECT_ROW("slurm_cancel", STEP_DRAIN, STEP_FORCE, true, JOB_IS_GONE, prepare_job, send),
    .is_overtaken = is_job_changed, .asks_to_leave = job_asks };
const struct effect_kind slurm_effect_undrain = {
    EFFECT_ROW("slurm_undrain", STEP_ANNOUNCE, STEP_HAND_OVER, false, EFFECT_GONE, prepare_undrain, send),
    .is_overtaken = is_drained_by_another, .goes_back = true };
const struct effect_kind slurm_effect_unreserve = {
    EFFECT_ROW("slurm_unreserve", STEP_ANNOUNCE, STEP_HAND_OVER, false, EFFECT_GONE, prepare_unreserve, send),
    .goes_back = true };
const struct effect_kind slurm_effect_lift = {
    EFFECT_ROW("slurm_lift", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_unreserve, send) };
const struct effect_kind slurm_effect_forget = {
    EFFECT_ROW("slurm_forget", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_plain, send),
    .is_overtaken = is_record_kept };
const struct effect_kind slurm_effect_keep = {
    EFFECT_ROW("slurm_keep", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_keep, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_tidy = {
    EFFECT_ROW("slurm_tidy", STEP_JOIN, STEP_HAND_OVER, false, EFFECT_GONE, prepare_uncomment, send),
    .is_overtaken = is_node_changed };
const struct effect_kind slurm_effect_park = {
    EFFECT_ROW("slurm_park", STEP_CLEAR, STEP_CLEAR, false, EFFECT_GONE, prepare_park, send),
    .is_overtaken = is_drained_by_another };
const struct effect_kind slurm_effect_admit = {
    EFFECT_ROW("slurm_admit", STEP_JOIN, STEP_HAND_OVER, false, EFFECT_GONE, prepare_unreserve, send) };
const struct effect_kind slurm_effect_resume = {
    EFFECT_ROW("slurm_resume", STEP_JOIN, STEP_HAND_OVER, false, EFFECT_GONE, prepare_resume, send),
    .is_overtaken = is_drained_by_another };
const struct effect_kind slurm_effect_discard = {
    EFFECT_ROW("slurm_discard", STEP_ACQUIRE, STEP_ACQUIRE, false, EFFECT_GONE, prepare_plain, send),
    .is_overtaken = is_node_changed };

const struct effect_kind *const slurm_effects[] = {
    &slurm_effect_comment,
    &slurm_effect_uncomment,
    &slurm_effect_tell,
    &slurm_effect_untell,
    &slurm_effect_reserve,
    &slurm_effect_postpone,
    &slurm_effect_withdraw,
    &slurm_effect_drain,
    &slurm_effect_signal,
    &slurm_effect_requeue,
    &slurm_effect_cancel,
    &slurm_effect_undrain,
    &slurm_effect_unreserve,
    &slurm_effect_lift,
    &slurm_effect_forget,
    &slurm_effect_keep,
    &slurm_effect_tidy,
    &slurm_effect_park,
    &slurm_effect_admit,
    &slurm_effect_resume,
    &slurm_effect_discard,
    NULL,
};
/* clang-format on */
