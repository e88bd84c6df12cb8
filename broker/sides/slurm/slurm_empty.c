/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of the node that leaves.  They end by themselves until the drain's deadline.  A job that
 * can make a checkpoint is asked for one shortly before; then each is requeued under its own ID,
 * and none before it has had this time, however late it was asked.  The signal may stand in its
 * batch script, which is read a little earlier: until it is known the job is as one to be asked.
 * A job that Slurm may not requeue is cancelled when no other is left.
 *
 * A job on several leaving nodes is asked by one of their transfers only: the one that asks first.
 */
#include "base/log.h"
#include "base/text.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/sides/slurm/slurm_side.h"
#include "broker/transfer/lateness.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_cluster.h"
#include "clusters/slurm_snapshot.h"

enum { READ_AHEAD_MS = MINUTE_MS }; /* scripts before signals */

size_t slurm_jobs_on(const struct snapshot *snapshot, const char *node)
{
    size_t count;

    (void)snapshot_pods_on(snapshot, node, &count);
    return count;
}

static bool has_part(const struct snapshot *snapshot, const char *node, const char *key)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    for (size_t i = 0; i < count; i++)
        if (text_equal(slurm_job_key(pods[i]), key))
            return true;
    return false;
}

static int64_t checkpoint_ms(const struct runner *runner, const struct transfer *transfer)
{
    return slurm_cluster_checkpoint_ms(
        fleet_cluster(runner->fleet, slurm_place(runner, transfer).cluster));
}

/* When the jobs must go: at the drain's deadline; in a reclaim as soon as checkpoints are made. */
static int64_t requeue_ms(const struct runner *runner, const struct transfer *transfer)
{
    int64_t soon_ms = transfer->step_began.ms + checkpoint_ms(runner, transfer);
    int64_t due_ms = lateness_drain_due(runner, transfer).ms;

    return transfer->is_emergency && soon_ms < due_ms ? soon_ms : due_ms;
}

/* Whether `left` asks a job of both rather than `right`: a reclaim before a schedule, one that no
   freeze holds, and then who asks first. */
static bool asks_before(const struct runner *runner, const struct transfer *left,
                        const struct transfer *right)
{
    bool is_held = runner_freeze(runner, left) != NULL;
    int64_t left_ms = left->step == STEP_FORCE ? 0 : requeue_ms(runner, left);
    int64_t right_ms = right->step == STEP_FORCE ? 0 : requeue_ms(runner, right);

    if (left->is_emergency != right->is_emergency)
        return left->is_emergency;
    if (is_held != (runner_freeze(runner, right) != NULL))
        return !is_held;
    return left_ms < right_ms;
}

/* Whether another transfer, whose jobs leave too, asks this job; of two that ask at once the older.
 */
static bool is_asked_by_another(const struct runner *runner, const struct transfer *transfer,
                                const char *key)
{
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    const struct config_cluster *cluster = slurm_place(runner, transfer).cluster;
    const struct transfer *other;
    struct tenant place;
    bool is_older = true;

    for (size_t i = 0; (other = runner_next_live(runner, &i));) {
        if (other == transfer) {
            is_older = false;
            continue;
        }
        place = slurm_place(runner, other);
        if (!other->is_undoing && place.cluster == cluster &&
            (other->step == STEP_DRAIN || other->step == STEP_FORCE) &&
            has_part(snapshot, place.node, key) &&
            (is_older ? !asks_before(runner, transfer, other)
                      : asks_before(runner, other, transfer)))
            return true;
    }
    return false;
}

static const struct effect *ask_job(struct runner *runner, struct transfer *transfer,
                                    const struct effect_kind *kind, const struct pod *job)
{
    struct effect_target target = { .object = slurm_job_key(job), .pod = job };

    return effect_ask(runner, transfer, kind, &target,
                      slurm_origin_snapshot(runner, transfer)->pods_seen_ms);
}

/* As Slurm's list says.  A refusal of one requeue says nothing of this: no job is cancelled for it.
 */
static bool can_requeue(const struct pod *job)
{
    return text_equal(job->owner_kind, SLURM_OWNER_KIND);
}

static bool is_leaving(const struct pod *job)
{
    return job->deletion.ms != 0 || !slurm_job_key(job);
}

/* A signal that is under way must not find the job requeued: it is sent to a number, wherever that
   runs. */
static bool is_signalled_now(const struct runner *runner, const struct transfer *transfer,
                             const struct pod *job)
{
    return effect_is_open(transfer, &slurm_effect_signal, slurm_job_key(job),
                          slurm_origin_snapshot(runner, transfer)->pods_seen_ms);
}

static bool is_refused(const struct effect *effect)
{
    return effect && effect->answered_ms > 0 && effect->outcome != ERROR_NONE &&
           effect->outcome != ERROR_UNKNOWN_OUTCOME && effect->outcome != ERROR_TRANSIENT &&
           effect->outcome != ERROR_THROTTLED;
}

/* Of this process; of what the one before it sent the time is not known.  A script that saves its
   work twice loses less than one that was never asked. */
static bool is_in_doubt(const struct effect *signal)
{
    return signal && signal->answered_ms > 0 && signal->outcome == ERROR_UNKNOWN_OUTCOME;
}

/* Its batch script may name the signal: what Slurm's list shows of it is not all. */
static bool is_script_unread(const struct pod *job)
{
    return text_equal(pod_annotation(job, SLURM_NOTE_SCRIPT), SLURM_SCRIPT_UNREAD);
}

static void read_script(struct runner *runner, const struct transfer *transfer,
                        const struct pod *job)
{
    struct cluster *cluster = fleet_cluster(runner->fleet, slurm_place(runner, transfer).cluster);

    slurm_cluster_read_script(cluster, pod_annotation(job, SLURM_NOTE_JOB), slurm_job_key(job));
}

/* Whether the job is to be asked for a checkpoint yet, or has time for it left.  A signal that is
   refused, or cannot be sent for as long, keeps nothing. */
static bool has_checkpoint_ahead(struct runner *runner, struct transfer *transfer,
                                 const struct pod *job)
{
    const struct effect *signal = effect_find(transfer, &slurm_effect_signal, slurm_job_key(job));
    int64_t time_ms = checkpoint_ms(runner, transfer);
    int64_t due_ms = transfer->step == STEP_FORCE && transfer->is_emergency
                         ? transfer->step_began.ms
                         : requeue_ms(runner, transfer);
    int64_t left_ms = due_ms + time_ms - runner_now(runner).ms;

    if ((!pod_annotation(job, SLURM_NOTE_SIGNAL) && !is_script_unread(job)) || is_refused(signal))
        return false;
    if (effect_may_have_happened(signal) && !is_in_doubt(signal)) /* 0: by the last process */
        left_ms = signal->answered_ms == 0
                      ? 0
                      : signal->answered_ms + time_ms - loop_now(runner->world->loop);
    if (left_ms > 0)
        runner_wake_after(runner, left_ms);
    return left_ms > 0;
}

/* What is asked of the jobs now. */
enum request { READ_SCRIPT = 1, ASK_CHECKPOINT = 2, ASK_REQUEUE = 4, ASK_CANCEL = 8 };

/* Once; again if it may not have arrived, and a newer list shows the job in its place. */
static void ask_checkpoint(struct runner *runner, struct transfer *transfer, const struct pod *job)
{
    const struct effect *signal = effect_find(transfer, &slurm_effect_signal, slurm_job_key(job));
    int before = signal ? signal->sent_count : 0;
    char why[sizeof signal->text] = "";

    if (effect_may_have_happened(signal) && !is_in_doubt(signal))
        return;
    if (is_script_unread(job)) {
        read_script(runner, transfer, job);
        return;
    }
    if (!pod_annotation(job, SLURM_NOTE_SIGNAL))
        return;
    if (before > 0)
        text_copy(why, sizeof why, signal->text);
    signal = ask_job(runner, transfer, &slurm_effect_signal, job);
    if (before > 0 && signal->sent_count > before)
        log_warn("signal_repeated", FIELD_TEXT("transfer", transfer->id),
                 FIELD_TEXT("job", job->name), FIELD_TEXT("text", why));
}

static void ask_one(struct runner *runner, struct transfer *transfer, const struct pod *job,
                    unsigned requests)
{
    bool is_kept = can_requeue(job);

    if (is_leaving(job) || is_asked_by_another(runner, transfer, slurm_job_key(job)) ||
        is_signalled_now(runner, transfer, job))
        return;
    if (requests & ASK_REQUEUE && has_checkpoint_ahead(runner, transfer, job))
        requests = ASK_CHECKPOINT;
    if (wishes_to_leave(job))
        requests |= ASK_REQUEUE;
    if (is_kept && requests & ASK_REQUEUE && slurm_is_told(job, transfer))
        (void)ask_job(runner, transfer, &slurm_effect_untell, job);
    if (is_kept && requests & ASK_REQUEUE)
        (void)ask_job(runner, transfer, &slurm_effect_requeue, job);
    else if (!is_kept && requests & ASK_CANCEL)
        (void)ask_job(runner, transfer, &slurm_effect_cancel, job);
    else if (requests & ASK_CHECKPOINT)
        ask_checkpoint(runner, transfer, job);
    else if (requests & READ_SCRIPT && is_script_unread(job))
        read_script(runner, transfer, job);
}

/* Cancels last: while a job that can be requeued is there, the others may still end. */
static unsigned requests_now(const struct pod *const *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_leaving(jobs[i]) && can_requeue(jobs[i]))
            return ASK_REQUEUE;
    return ASK_REQUEUE | ASK_CANCEL;
}

static void say_jobs(struct transfer *transfer, const char *node, const struct pod *const *jobs,
                     size_t count)
{
    const char *why = pod_annotation(jobs[0], SLURM_NOTE_SCRIPT);
    bool is_unreadable = why && !is_script_unread(jobs[0]);

    transfer_wait_for(transfer, "%zu job%s to leave node %s, the first is %.60s/%.60s%s%.160s%s",
                      count, count == 1 ? "" : "s", node, jobs[0]->namespace, jobs[0]->name,
                      is_unreadable ? " (its batch script cannot be read: " : "",
                      is_unreadable ? why : "", is_unreadable ? ")" : "");
}

/* STEP_DONE: a round that began after the node was closed shows no job on it. */
static enum verdict let_leave(struct runner *runner, struct transfer *transfer, unsigned requests)
{
    const struct snapshot *snapshot = slurm_origin_snapshot(runner, transfer);
    const struct node *node = slurm_leaving_node(runner, transfer);
    struct tenant place = slurm_place(runner, transfer);
    int64_t since_ms = transfer->step_began_ms + runner->config->drain.settle_ms;
    enum verdict verdict;
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(snapshot, place.node, &count);

    if (!slurm_is_read(runner, transfer, place.cluster, since_ms))
        return STEP_WAIT;
    if (!node) /* of a pod: its tool has deleted it, and its jobs with it */
        return slurm_is_lodged(runner, transfer) ? STEP_DONE : slurm_check(runner, transfer);
    verdict = slurm_keep_closed(runner, transfer, node);
    if (verdict != STEP_DONE)
        return verdict;
    if (requests & ASK_CANCEL)
        requests &= requests_now(jobs, count) | ASK_CHECKPOINT;
    for (size_t i = 0; i < count; i++)
        ask_one(runner, transfer, jobs[i], requests);
    if (count == 0)
        return STEP_DONE;
    say_jobs(transfer, place.node, jobs, count);
    return STEP_WAIT;
}

/* In a reclaim the jobs go when their time is over, even if the step is not: other pods of a host
   may keep it there until the drain's deadline. */
static unsigned requests_of_drain(const struct runner *runner, const struct transfer *transfer)
{
    int64_t left_ms = requeue_ms(runner, transfer) - runner_now(runner).ms;
    int64_t lead_ms = checkpoint_ms(runner, transfer);
    unsigned requests = left_ms <= lead_ms                   ? ASK_CHECKPOINT
                        : left_ms <= lead_ms + READ_AHEAD_MS ? READ_SCRIPT
                                                             : 0;

    return transfer->is_emergency && left_ms <= 0 ? requests | ASK_REQUEUE | ASK_CANCEL : requests;
}

enum verdict slurm_empty(struct runner *runner, struct transfer *transfer)
{
    enum verdict verdict = lateness_follow_drain(runner, transfer) < 0 ? STEP_WAIT : STEP_DONE;
    int64_t left_ms = requeue_ms(runner, transfer) - runner_now(runner).ms;
    int64_t lead_ms = checkpoint_ms(runner, transfer);

    if (verdict == STEP_DONE)
        verdict = let_leave(runner, transfer, requests_of_drain(runner, transfer));
    if (verdict != STEP_WAIT)
        return verdict;
    if (left_ms <= 0)
        return STEP_DONE;
    runner_wake_after(runner, left_ms > lead_ms + READ_AHEAD_MS ? left_ms - lead_ms - READ_AHEAD_MS
                              : left_ms > lead_ms               ? left_ms - lead_ms
                                                                : left_ms);
    return STEP_WAIT;
}

enum verdict slurm_force(struct runner *runner, struct transfer *transfer)
{
    if (lateness_follow_drain(runner, transfer) < 0)
        return STEP_WAIT;
    return let_leave(runner, transfer,
                     transfer->is_emergency || lateness_is_drain_over(runner, transfer)
                         ? ASK_REQUEUE | ASK_CANCEL
                         : 0);
}
