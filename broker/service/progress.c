/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Work that is stalled: reclaims that wait for machines, pools that get none, clusters that are not
 * heard, moves that come late.  Reads facts, changes nothing.
 */
#include "base/text.h"
#include "broker/service/margin.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>

/* A watch that breaks for a moment is no trouble yet. */
enum { UNHEARD_MS = 30 * SECOND_MS };

enum { STOCK_MS = MINUTE_MS };

int pool_gets_machines(const struct service *service, const struct config_pool *pool,
                       struct error *err)
{
    const struct runner *runner = service->runner;
    const struct lane *lane = attempts_lane(runner->attempts, pool);
    const struct transfer *transfer;

    if (attempts_allow(runner->attempts, pool, loop_wall(service->world->loop), err) < 0) {
        err->kind = ERROR_NO_CAPACITY;
        return -1;
    }
    for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
        if (transfer->step != STEP_ACQUIRE || transfer_goal(transfer) != pool)
            continue;
        if (acquire_is_out_of_stock(runner, transfer))
            return error_set(err, ERROR_NO_CAPACITY, "pool %s gets no machine: %.400s", pool->name,
                             transfer->waiting);
        if (lane->failures > 0)
            return error_set(err, ERROR_NO_CAPACITY,
                             "pool %s: the last %" PRId64 " attempts at a machine failed: %.150s",
                             pool->name, lane->failures, lane->why);
    }
    return 0;
}

static void look_at_pool(const struct service *service, const struct config_pool *pool,
                         struct health *health)
{
    const struct attempts *attempts = service->runner->attempts;
    const struct condition condition = { .kind = CONDITION_POOL_CLOSED,
                                         .since = attempts_lane(attempts, pool)->failed,
                                         .what = pool->name,
                                         .cluster = pool->cluster->name };
    struct error err;

    if (attempts_allow(attempts, pool, loop_wall(service->world->loop), &err) < 0)
        health_add(health, &condition, text_format("%s", err.text));
}

int64_t reclaim_missing(const struct survey *survey, const struct reclaim *reclaim)
{
    const struct plan_pool *pool = &survey->pools[reclaim->pool - survey->input.config->pools];
    int64_t wanted = plan_wanted(pool);
    int64_t missing = (reclaim->level < wanted ? reclaim->level : wanted) - pool->present;

    require(reclaim->pool == pool->config);
    /* Those below are what other reclaims lack.  0: an old record. */
    return reclaim->nodes > 0 && reclaim->nodes < missing ? reclaim->nodes : missing;
}

/* Whether the cluster gives nodes to the reclaim. */
static bool gives_to(const struct config_cluster *cluster, const struct reclaim *reclaim)
{
    return cluster && cluster->role == ROLE_RESEARCH &&
           (reclaim->from[0] == '\0' || text_equal(cluster->name, reclaim->from));
}

/* Which nodes may leave is known of a survey that was weighed, and that takes a while: only where
   advice needs it. */
static void weigh(const struct service *service, struct survey *survey)
{
    if (!survey->work[0])
        survey_weigh(service, survey);
}

/* What can be done about a reclaim from one cluster, which gives it no node. */
static char *advise_giver(const struct service *service, struct survey *survey,
                          const struct reclaim *reclaim, int64_t missing)
{
    const struct plan_pool *pool = &survey->pools[reclaim->pool - survey->input.config->pools];
    const struct config_cluster *giver;
    int64_t own, most;

    weigh(service, survey);
    giver = plan_giver(&survey->input, pool, reclaim->from);
    own = plan_can_have(&survey->input, pool, reclaim->from);
    most = giver ? plan_can_have(&survey->input, pool, giver->name) : 0;
    if (own > 0)
        return text_format("wait: %s has %" PRId64 " nodes to give, and `sluice plan` shows what "
                           "comes next; `sluice reclaim end %s --reason TEXT` ends this reclaim",
                           reclaim->from, own, reclaim->order);
    if (!giver)
        return text_format("wait until %s has nodes to give; `sluice reclaim end %s --reason TEXT` "
                           "ends this reclaim",
                           reclaim->from, reclaim->order);
    return text_format("`sluice reclaim --to %s --from %s --nodes %" PRId64 " --reason TEXT` takes "
                       "nodes of %s instead; `sluice reclaim end %s --reason TEXT` ends this one",
                       reclaim->pool->cluster->name, giver->name, missing < most ? missing : most,
                       giver->name, reclaim->order);
}

/* What the oldest of the reclaim's transfers to the pool waits for, and what can be done. */
static char *cause_of(const struct service *service, struct survey *survey,
                      const struct reclaim *reclaim, char **ret_advice)
{
    const struct config_pool *pool = reclaim->pool;
    const struct transfer *oldest = NULL;
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (transfer->is_emergency && transfer_goal(transfer) == pool &&
            (transfer->source->cluster->role == ROLE_PRODUCTION ||
             gives_to(transfer->source->cluster, reclaim)) &&
            (!oldest || transfer->created.ms < oldest->created.ms))
            oldest = transfer;
    if (!oldest && reclaim->from[0] != '\0')
        *ret_advice = advise_giver(service, survey, reclaim, reclaim_missing(survey, reclaim));
    if (!oldest)
        return reclaim->from[0] != '\0' ? text_format("no node of %s is on its way", reclaim->from)
                                        : mem_copy_chars("no node is on its way");
    if (runner_can_undo(service->runner, oldest))
        *ret_advice = text_format("`sluice transfers %s` shows it whole; `sluice abort %s --reason "
                                  "TEXT` keeps its node, and another one goes if there is one",
                                  oldest->id, oldest->id);
    else
        *ret_advice = text_format("`sluice transfers %s` shows it whole; it is beyond its point of "
                                  "no return, and sluice keeps trying",
                                  oldest->id);
    return text_format("node %s waits longest, in step %s: %s", oldest->node,
                       transfer_steps[oldest->step].name,
                       oldest->waiting[0] ? oldest->waiting : "the first look after a start");
}

/* Another pool of its cluster that gets machines, and whose research has nodes to give; NULL: there
   is none. */
static const struct config_pool *other_way(const struct service *service,
                                           const struct survey *survey,
                                           const struct config_pool *stuck)
{
    struct error ignored;

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (pool->cluster == stuck->cluster && pool->reservation != stuck->reservation &&
            plan_can_have(&survey->input, &survey->pools[i], "") > 0 &&
            pool_gets_machines(service, pool, &ignored) == 0)
            return pool;
    }
    return NULL;
}

/* What a person can do about a pool that gets no machines.  option: of the reclaim from another
   reservation, or "". */
static char *advise_stock(const struct service *service, struct survey *survey,
                          const struct config_pool *pool, int64_t missing, const char *option)
{
    const struct config_pool *other = NULL;

    if (pool->cluster->role == ROLE_PRODUCTION) {
        weigh(service, survey);
        other = other_way(service, survey, pool);
    }
    if (other) {
        int64_t most = plan_can_have(&survey->input, &survey->pools[other - service->config->pools],
                                     "");

        return text_format("`sluice reclaim --to %s --nodes %" PRId64 "%s --reason TEXT` takes "
                           "nodes of reservation %s instead",
                           other->cluster->name, missing < most ? missing : most, option,
                           other->reservation->name);
    }
    return text_format("wait, or ask the cloud for machines in %s (no other reservation of %s has "
                       "nodes to give)",
                       pool->reservation->zone, pool->cluster->name);
}

/* Whether the cluster that a reclaim names can give at all, by the configuration in force. */
static bool may_give(const struct service *service, const struct reclaim *reclaim)
{
    return reclaim->from[0] == '\0' ||
           config_can_give(service->config, config_cluster(service->config, reclaim->from),
                           reclaim->pool->cluster);
}

static void look_at_reclaim(const struct service *service, struct survey *survey,
                            const struct reclaim *reclaim, struct health *health)
{
    struct wall_time now = loop_wall(service->world->loop);
    int64_t missing = reclaim_missing(survey, reclaim);
    int64_t incoming = survey->pools[reclaim->pool - survey->input.config->pools].incoming;
    struct condition condition = { .kind = CONDITION_RECLAIM_BLOCKED,
                                   .what = reclaim->order,
                                   .cluster = reclaim->pool->cluster->name };
    owned(chars) char *advice = NULL;
    char promised[WALL_TEXT_SIZE];
    struct error err;

    if (reclaim->until.ms <= now.ms || missing <= 0)
        return;
    if (missing > incoming && !may_give(service, reclaim)) {
        condition.since = reclaim->created;
        condition.advice = advice = advise_giver(service, survey, reclaim, missing);
        health_add(health, &condition,
                   text_format("reclaim %s for %s still lacks %" PRId64
                               " node%s and does not get on: %s, which alone gives its nodes, is "
                               "no research cluster of %s any more that shares a reservation",
                               reclaim->order, condition.cluster, missing, missing == 1 ? "" : "s",
                               reclaim->from, service->config->path));
    } else if (pool_gets_machines(service, reclaim->pool, &err) < 0) {
        owned(chars) char *options = advise_stock(service, survey, reclaim->pool, missing,
                                                  " --new");

        condition.since = attempts_lane(service->runner->attempts, reclaim->pool)->failed;
        condition.advice = advice = text_format("%s; `sluice reclaim end %s --reason TEXT` ends "
                                                "this one",
                                                options, reclaim->order);
        health_add(health, &condition,
                   text_format("reclaim %s for %s still lacks %" PRId64
                               " node%s and does not get on: %s",
                               reclaim->order, condition.cluster, missing, missing == 1 ? "" : "s",
                               err.text));
    } else if (reclaim->promised.ms > 0 && now.ms > reclaim->promised.ms) {
        owned(chars) char *cause = cause_of(service, survey, reclaim, &advice);

        condition.advice = advice;
        condition.kind = CONDITION_RECLAIM_BEHIND;
        condition.since = reclaim->promised;
        health_add(health, &condition,
                   text_format("reclaim %s for %s still lacks %" PRId64
                               " node%s, promised by %s; %s",
                               reclaim->order, condition.cluster, missing, missing == 1 ? "" : "s",
                               wall_format(reclaim->promised, promised), cause));
    }
}

/* A cluster that still counts, and has said nothing for longer than it takes if it is well. */
static void look_at_silence(const struct service *service, const struct config_cluster *cluster,
                            const struct condition *outage, int64_t age_ms, struct health *health)
{
    struct condition condition = *outage;
    struct wall_time until = { outage->since.ms + service->config->guard.fresh_ms };
    char since[WALL_TEXT_SIZE], end[WALL_TEXT_SIZE];

    condition.is_early = true;
    if (age_ms < cluster_silent_ms(fleet_cluster(service->fleet, cluster)))
        return;
    health_add(health, &condition,
               text_format("cluster %s has said nothing since %s, and may hang; from %s on its "
                           "nodes neither come nor go",
                           outage->what, wall_format(wall_whole_second(outage->since.ms), since),
                           wall_format(wall_whole_second(until.ms), end)));
}

static void look_at_cluster(const struct service *service, const struct config_cluster *cluster,
                            struct health *health)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);
    const char *trouble = cluster_trouble(fleet_cluster(service->fleet, cluster));
    int64_t seen_ms = snapshot->nodes_seen_ms < snapshot->pods_seen_ms ? snapshot->nodes_seen_ms
                                                                       : snapshot->pods_seen_ms;
    int64_t age_ms = loop_now(service->world->loop) - seen_ms;
    struct condition condition = { .kind = CONDITION_CLUSTER_UNREACHABLE,
                                   .what = cluster->name,
                                   .cluster = cluster->name };

    if (snapshot->is_known)
        condition.since.ms = loop_wall(service->world->loop).ms - age_ms;
    if (trouble[0] == '\0' && snapshot->is_known)
        look_at_silence(service, cluster, &condition, age_ms, health);
    if (trouble[0] == '\0' || (snapshot->is_known && age_ms < UNHEARD_MS))
        return;
    health_add(health, &condition,
               text_format("cluster %s is not heard: %s; its nodes neither come nor go until it "
                           "is",
                           cluster->name, trouble));
}

/* A pool that still counts, though its lists have failed for a while, or its cloud hangs.  A list
   of many pages may take as long as it wants. */
static void look_at_lists(const struct service *service, const struct config_pool *pool,
                          struct health *health)
{
    const struct fleet_pool *listed = fleet_pool(service->fleet, pool);
    int64_t now_ms = loop_now(service->world->loop);
    int64_t age_ms = now_ms - listed->began_ms;
    int64_t fresh_ms = service->config->guard.fresh_ms;
    int64_t poll_ms = service->config->poll_ms;
    bool hangs = now_ms - listed->heard_ms >= poll_ms + UNHEARD_MS;
    struct condition condition = { .kind = CONDITION_POOL_STALE,
                                   .since.ms = loop_wall(service->world->loop).ms - age_ms,
                                   .what = pool->name,
                                   .cluster = pool->cluster->name,
                                   .is_early = true };
    char seen[WALL_TEXT_SIZE], until[WALL_TEXT_SIZE];
    struct error why;

    if (age_ms < fresh_ms / 2 || age_ms < 2 * poll_ms ||
        (listed->trouble.kind == ERROR_NONE && !hangs) || !survey_knows(service, pool, &why))
        return;
    health_add(health, &condition,
               text_format("pool %s was listed last at %s, and from %s on neither gives nor takes "
                           "nodes: %s",
                           pool->name, wall_format(wall_whole_second(condition.since.ms), seen),
                           wall_format(wall_whole_second(condition.since.ms + fresh_ms), until),
                           listed->trouble.kind != ERROR_NONE ? listed->trouble.text
                                                              : "its cloud does not answer"));
}

/* Whether its pool brings it no machine, now or by the attempt before this one.  A freed slot may
   take a moment to be seen, so that a move that goes as planned is not told. */
static bool gets_none(const struct service *service, const struct transfer *transfer)
{
    const struct runner *runner = service->runner;
    bool is_again = transfer->is_discarding || transfer->attempt > 1;

    if (transfer->step != STEP_ACQUIRE)
        return false;
    if (is_again && attempts_lane(runner->attempts, transfer_goal(transfer))->failures > 0)
        return true;
    return acquire_is_out_of_stock(runner, transfer) &&
           loop_now(service->world->loop) - transfer->step_began_ms >= STOCK_MS;
}

/* What it waits for, and why: the reason of the attempt before, while its machine goes. */
static char *tell_wait(const struct service *service, const struct transfer *transfer)
{
    const struct lane *lane = attempts_lane(service->runner->attempts, transfer_goal(transfer));
    bool is_told = acquire_is_out_of_stock(service->runner, transfer) || lane->failures == 0;

    return text_format("%s%s%s%s", transfer->waiting[0] ? transfer->waiting : "the first look",
                       is_told ? "" : " (the last attempt failed: ", is_told ? "" : lane->why,
                       is_told ? "" : ")");
}

/* Scheduled moves to the pool that wait for a machine in vain; *ret_first: one of them. */
static int64_t count_failing(const struct service *service, const struct config_pool *pool,
                             const struct transfer **ret_first)
{
    const struct transfer *transfer;
    int64_t nodes = 0;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (!transfer->is_emergency && transfer_goal(transfer) == pool &&
            gets_none(service, transfer) && nodes++ == 0)
            *ret_first = transfer;
    return nodes;
}

static void look_at_failing(const struct service *service, struct survey *survey,
                            const struct config_pool *pool, struct health *health)
{
    struct condition condition = { .kind = CONDITION_POOL_FAILING,
                                   .what = pool->name,
                                   .cluster = pool->cluster->name };
    const struct transfer *first = NULL;
    int64_t nodes = count_failing(service, pool, &first);
    owned(chars) char *advice = NULL;
    owned(chars) char *waiting = NULL;

    if (!first)
        return;
    waiting = tell_wait(service, first);
    condition.advice = advice = advise_stock(service, survey, pool, nodes, "");
    health_add(health, &condition,
               text_format("pool %s gets no machine for %" PRId64 " node%s: %s", pool->name, nodes,
                           nodes == 1 ? "" : "s", waiting));
}

/* When it ends is not known of a transfer that is past all lead times that are known, or that gets
   no machine: what was expected of it is that it ends this moment. */
static struct margin margin_of(const struct service *service, const struct transfer *transfer)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct wall_time expected = runner_expected(service->runner, transfer, 95);
    bool is_past = transfer->cordoned.ms > 0 && expected.ms <= now.ms;
    bool is_failing = gets_none(service, transfer);

    return (struct margin){ .tightest = transfer,
                            .due = transfer->due,
                            .is_failing = is_failing,
                            .is_known = transfer->due.ms <= now.ms || (!is_past && !is_failing),
                            .ms = transfer->due.ms - expected.ms };
}

static bool is_tighter(const struct margin *margin, const struct margin *other)
{
    bool is_late = margin->is_known && margin->ms < 0;
    bool is_other_late = other->is_known && other->ms < 0;

    if (is_late != is_other_late)
        return is_late;
    if (margin->is_known != other->is_known)
        return !margin->is_known;
    if (!margin->is_known && margin->is_failing != other->is_failing)
        return !margin->is_failing;
    return margin->ms < other->ms;
}

struct margin service_margin(const struct service *service, const struct config_cluster *cluster)
{
    struct margin found = { 0 };
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        struct margin margin;

        if (transfer->due.ms == 0 || transfer->is_undoing ||
            (cluster && transfer_goal(transfer)->cluster != cluster))
            continue;
        margin = margin_of(service, transfer);
        if (!found.tightest || is_tighter(&margin, &found))
            found = margin;
    }
    return found;
}

static char *tell_margin(const struct config_cluster *cluster, const struct margin *margin,
                         struct wall_time now)
{
    int64_t late_ms = -margin->ms / SECOND_MS * SECOND_MS;
    char due[WALL_TEXT_SIZE], text[DURATION_TEXT_SIZE];

    wall_format(margin->due, due);
    if (!margin->is_known)
        return text_format("nodes of %s that are due at %s take longer than their lead time "
                           "(p95), and may come late",
                           cluster->name, due);
    duration_format(late_ms, text);
    return margin->due.ms - margin->ms <= now.ms
               ? text_format("nodes of %s that were due at %s are late by %s", cluster->name, due,
                             text)
               : text_format("nodes of %s that are due at %s come about %s late (p95)",
                             cluster->name, due, text);
}

static void look_at_margin(const struct service *service, struct survey *survey,
                           const struct config_cluster *cluster, struct health *health)
{
    struct condition condition = { .kind = CONDITION_MOVE_LATE,
                                   .what = cluster->name,
                                   .cluster = cluster->name };
    struct margin margin = service_margin(service, cluster);
    const struct transfer *tightest = margin.tightest;
    bool is_late = margin.is_known && margin.ms <= -SECOND_MS;
    const struct transfer *first = NULL;
    owned(chars) char *text = NULL;
    owned(chars) char *advice = NULL;
    owned(chars) char *waiting = NULL;

    if (!tightest || (margin.is_known ? !is_late : margin.is_failing))
        return; /* a pool that fails is told by itself, until it makes the move late */
    text = tell_margin(cluster, &margin, loop_wall(service->world->loop));
    waiting = tell_wait(service, tightest);
    advice = margin.is_failing
                 ? advise_stock(service, survey, transfer_goal(tightest),
                                count_failing(service, transfer_goal(tightest), &first), "")
                 : text_format("`sluice transfers %s` shows it whole", tightest->id);
    condition.advice = advice;
    health_add(health, &condition,
               text_format("%s: node %s waits in step %s: %s", text, tightest->node,
                           transfer_steps[tightest->step].name, waiting));
}

void progress_look(const struct service *service, struct survey *survey, struct health *health)
{
    const struct config *config = service->config;

    for (size_t i = 0; i < service->reclaims.count; i++)
        look_at_reclaim(service, survey, &service->reclaims.items[i], health);
    for (size_t i = 0; i < config->pool_count; i++) {
        look_at_pool(service, &config->pools[i], health);
        look_at_failing(service, survey, &config->pools[i], health);
        look_at_lists(service, &config->pools[i], health);
    }
    for (size_t i = 0; i < config->cluster_count; i++) {
        look_at_cluster(service, &config->clusters[i], health);
        look_at_margin(service, survey, &config->clusters[i], health);
    }
}
