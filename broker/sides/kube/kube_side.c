/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of a Kubernetes cluster's side: its part of each step of a transfer.
 */
#include "broker/sides/kube/kube_side.h"

#include "broker/sides/kube/announcements.h"
#include "broker/sides/kube/blockers.h"
#include "broker/sides/kube/dry_runs.h"
#include "broker/sides/kube/gate.h"
#include "broker/sides/kube/kube_effects.h"
#include "broker/sides/kube/kube_state.h"
#include "broker/sides/kube/look.h"
#include "broker/sides/kube/slurmd.h"
#include "broker/sides/kube/suspend.h"
#include "broker/transfer/pod_wishes.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/tenant.h"

enum { WHO_SIZE = 160 };

struct kube_side *kube_side_of(const struct runner *runner)
{
    return side_state(runner, &side_kube);
}

static void *open_side(struct runner *runner)
{
    struct kube_side *side = mem_new(sizeof *side);

    side->gate = gate_new(runner->world, runner->fleet, runner->config);
    side->suspensions = suspensions_new(runner);
    side->announcements = announcements_new(runner);
    side->dry_runs = dry_runs_new(runner);
    return side;
}

static int load_side(void *state, struct error *err)
{
    struct kube_side *side = state;

    return suspensions_load(side->suspensions, err);
}

static bool tick_side(void *state)
{
    struct kube_side *side = state;

    return suspensions_tick(side->suspensions);
}

static void close_side(void *state)
{
    struct kube_side *side = state;

    gate_free(side->gate);
    suspensions_free(side->suspensions);
    announcements_free(side->announcements);
    dry_runs_free(side->dry_runs);
    mem_free(side);
}

static json_t *describe_stopped(const void *state)
{
    const struct kube_side *side = state;

    return suspensions_describe(side->suspensions);
}

static void tell_people(void *state)
{
    struct kube_side *side = state;

    announcements_advance(side->announcements);
}

static json_t *blockers(const struct runner *runner, const struct config_cluster *cluster,
                        const char *const *nodes, size_t count, int64_t deadline_ms)
{
    owned(leaving) struct leaving *leaving = leaving_new(fleet_snapshot(runner->fleet, cluster),
                                                         deadline_ms, runner_now(runner));
    json_t *rows = json_array();

    if (cluster->slurm)
        leaving_drains_slurm(leaving);
    for (size_t i = 0; i < count; i++)
        leaving_add(leaving, nodes[i]);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, blockers_of_node(leaving, nodes[i]));
    return rows;
}

static void ask_dry_runs(void *state, json_t *answer, side_asked_fn done, void *context)
{
    struct kube_side *side = state;

    dry_runs_ask(side->dry_runs, answer, done, context);
}

static bool is_under_way(const void *seen)
{
    return look_is_under_way(seen);
}

static const char *trouble(const void *seen)
{
    return look_trouble(seen);
}

static void forget(void *seen)
{
    look_free(seen);
}

static bool are_ready(const struct runner *runner, const struct transfer *transfer, int *ret_count)
{
    return wishes_all_to_leave(side_origin_snapshot(runner, transfer), transfer->node, ret_count);
}

static struct wall_time wish(const struct runner *runner, const struct transfer *transfer,
                             char *ret_who, size_t size)
{
    const struct pod *pod = NULL;
    struct wall_time until = wishes_to_stay(side_origin_snapshot(runner, transfer), transfer->node,
                                            &pod);

    const struct side_origin *tenant = tenant_side(runner, transfer);
    char who[WHO_SIZE] = "";
    struct wall_time other = tenant ? tenant->wish(runner, transfer, who, sizeof who)
                                    : (struct wall_time){ 0 };

    if (pod)
        text_print(ret_who, size, "pod %.60s/%.80s", pod->namespace, pod->name);
    if (other.ms <= until.ms)
        return until;
    text_copy(ret_who, size, who);
    return other;
}

const struct side side_kube = {
    .kind = "kubernetes",
    .origin = {
        .check = kube_check,
        .announce = kube_announce,
        .close = kube_close,
        .empty = kube_empty,
        .force = kube_force,
        .clear = kube_clear,
        .undo = kube_undo,
        .settle = slurmd_clear,
        .may_remove = kube_may_remove,
        .is_in_use = kube_is_in_use,
        .are_ready = are_ready,
        .wish = wish,
    },
    .target = {
        .lacks = kube_lacks,
        .note_ready = kube_note_ready,
        .welcome = kube_welcome,
        .is_lost = kube_is_lost,
        .may_discard = kube_may_discard,
        .is_idle = kube_is_idle,
        .discard = kube_discard,
    },
    .effects = kube_effects,
    .open = open_side,
    .load = load_side,
    .tick = tick_side,
    .close = close_side,
    .is_under_way = is_under_way,
    .trouble = trouble,
    .forget = forget,
    .describe_stopped = describe_stopped,
    .tell_people = tell_people,
    .blockers = blockers,
    .ask_dry_runs = ask_dry_runs,
    .replicas = kube_replicas,
    .quota = &kube_quota,
};
