/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of a Slurm cluster's side: its part of each step of a transfer.
 */
#include "broker/sides/slurm/slurm_side.h"

#include "base/input/json.h"
#include "broker/sides/slurm/slurm_effects.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "clusters/slurm_snapshot.h"

/* It keeps nothing of its own: what it must remember is in Slurm and in the effects. */
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

static void nothing(void *state)
{
    (void)state;
}

static bool is_under_way(const void *seen)
{
    (void)seen;
    return false;
}

static const char *trouble(const void *seen)
{
    (void)seen;
    return NULL;
}

static json_t *describe_stopped(const void *state)
{
    (void)state;
    return json_array();
}

static bool are_ready(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    return wishes_all_to_leave(slurm_origin_snapshot(runner, transfer),
                               slurm_place(runner, transfer).node, ret_count);
}

static struct wall_time wish(const struct runner *runner, const struct transfer *transfer,
                             char *ret_who, size_t size)
{
    const struct pod *job = NULL;
    struct wall_time until = wishes_to_stay(slurm_origin_snapshot(runner, transfer),
                                            slurm_place(runner, transfer).node, &job);

    if (job)
        text_print(ret_who, size, "job %.60s/%.80s", job->namespace, job->name);
    return until;
}

/* ---- blockers ---- */

static json_t *describe(const struct pod *job)
{
    owned(chars) char *name = text_format("%s/%s", job->namespace, job->name);
    bool is_shown = slurm_job_key(job) != NULL;

    return json_make("{ss ss ss ss ss ss sn ss sn}", "pod", name, "class", "Slurm job", "owner",
                     job->gang.key, "kind", is_shown ? "not requeued" : "not shown", "verdict",
                     is_shown ? "note" : "slow", "text",
                     is_shown ? "Slurm may not requeue it: it is cancelled last, and its work is "
                                "lost"
                              : "Slurm shows the node as busy, and no job on it",
                     "expected_s", "advice",
                     is_shown ? "submit it with --requeue, or move another node"
                              : "make sluice's user an operator of Slurm (PrivateData)",
                     "server");
}

static json_t *blockers_of(const struct snapshot *snapshot, const char *node)
{
    json_t *rows = json_array();
    size_t count;
    const struct pod *const *jobs = snapshot_pods_on(snapshot, node, &count);

    for (size_t i = 0; i < count; i++)
        if (!text_equal(jobs[i]->owner_kind, SLURM_OWNER_KIND) && jobs[i]->deletion.ms == 0)
            json_array_append_new(rows, describe(jobs[i]));
    return rows;
}

static json_t *blockers(const struct runner *runner, const struct config_cluster *cluster,
                        const char *const *nodes, size_t count, int64_t deadline_ms)
{
    const struct snapshot *snapshot = fleet_snapshot(runner->fleet, cluster);
    json_t *rows = json_array();

    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, blockers_of(snapshot, nodes[i]));
    return rows;
}

static void ask_dry_runs(void *state, json_t *answer, side_asked_fn done, void *context)
{
    (void)state;
    (void)answer;
    done(context);
}

const struct side side_slurm = {
    .kind = "slurm",
    .origin = {
        .check = slurm_check,
        .announce = slurm_announce,
        .close = slurm_close,
        .empty = slurm_empty,
        .force = slurm_force,
        .clear = slurm_clear,
        .undo = slurm_undo,
        .may_remove = slurm_may_remove,
        .is_in_use = slurm_is_in_use,
        .are_ready = are_ready,
        .wish = wish,
    },
    .target = {
        .lacks = slurm_lacks,
        .note_ready = slurm_note_ready,
        .welcome = slurm_welcome,
        .is_lost = slurm_is_lost,
        .may_discard = slurm_may_discard,
        .is_idle = slurm_is_idle,
        .discard = slurm_discard,
    },
    .effects = slurm_effects,
    .open = open_side,
    .load = load_side,
    .tick = tick_side,
    .close = nothing,
    .is_under_way = is_under_way,
    .trouble = trouble,
    .forget = nothing,
    .describe_stopped = describe_stopped,
    .tell_people = nothing,
    .blockers = blockers,
    .ask_dry_runs = ask_dry_runs,
};
