/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The nodes that replicas and quotas may count on, which can be used and do not leave; and what
 * production lacks.
 */
#include "broker/service/supply.h"

#include "base/text.h"
#include "clusters/gpus.h"

#include <inttypes.h>

/* A transfer that takes this node away, and will not give it back. */
static bool is_leaving(const struct service *service, const struct config_cluster *cluster,
                       const struct node *node)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_of_node(service->runner, node->uid, &i));)
        if (!transfer->is_undoing && !transfer->wants_undo && transfer->source->cluster == cluster)
            return true;
    return false;
}

bool supply_counts(const struct service *service, const struct config_cluster *cluster,
                   const struct node *node)
{
    return node->is_ready && !node->is_unschedulable && !node->is_leaving &&
           !node_has_taint(node, SLUICE_TAINT_STARTING) && !is_leaving(service, cluster, node);
}

/* The pool's next node that counts and is wanted; *at begins as 0.  NULL: there are no more. */
static const struct node *next_node(const struct service *service, const struct config_pool *pool,
                                    supply_filter_fn is_wanted, const void *context, size_t *at)
{
    void *value;

    while (map_next(fleet_pool(service->fleet, pool)->instances, at, NULL, &value)) {
        const struct instance *instance = value;
        const struct node *node = fleet_node_of(service->fleet, pool, instance);

        if (node && supply_counts(service, pool->cluster, node) && is_wanted(context, node))
            return node;
    }
    return NULL;
}

int64_t supply_units(const struct service *service, const struct config_pool *pool,
                     const char *resource, supply_filter_fn is_wanted, const void *context)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    const struct node *node;
    int64_t units = 0;

    for (size_t i = 0; (node = next_node(service, pool, is_wanted, context, &i));)
        units += gpus_units(snapshot, node, resource);
    return units;
}

int64_t supply_nodes(const struct service *service, const struct config_pool *pool,
                     supply_filter_fn is_wanted, const void *context)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    const struct node *node;
    int64_t nodes = 0;

    for (size_t i = 0; (node = next_node(service, pool, is_wanted, context, &i));)
        nodes += gpus_units(snapshot, node, NULL) >= pool->reservation->gpus_per_node;
    return nodes;
}

bool supply_serves(const struct service *service, const struct config_pool *pool,
                   const struct node *node)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);

    /* GPUs that a driver publishes as devices are not all seen without the right to read those. */
    return node->is_ready && !node_has_taint(node, SLUICE_TAINT_STARTING) &&
           (!snapshot->devices_are_known ||
            gpus_of_node(snapshot, node) >= pool->reservation->gpus_per_node);
}

/* A node that restarts is Ready again by then.  An apply begins its transfers well before. */
enum { FLAP_MS = 2 * MINUTE_MS, BEGIN_MS = 5 * MINUTE_MS };

/* Until the transfers of a move exist that is due: its victims are chosen, and evictions tried. */
enum { STARTS_MS = 30 * SECOND_MS };

/* A production pool that has less than it wants, and what comes. */
struct lack {
    const struct plan_pool *pool;
    int64_t wanted;              /* by the window in force and by reclaims; -1: nothing */
    int64_t missing;             /* machines that the window in force wants; 0: none */
    int64_t moving;              /* transfers to it that no freeze holds */
    int64_t queued;              /* that begin as soon as others have ended */
    const struct freeze *freeze; /* that holds one of the others, or all to come; NULL: none */
    struct wall_time first;      /* when the oldest transfer to it began; 0: there is none */
};

/* Whole groups of nodes that are wanted now, and not for a window to come. */
static int64_t wanted_now(const struct plan_pool *pool, bool with_reclaims)
{
    struct plan_pool now = *pool;

    now.wanted = pool->in_force;
    if (!with_reclaims)
        now.reclaims.count = 0;
    return plan_wanted(&now);
}

static struct lack lack_of(const struct service *service, const struct plan_pool *pool)
{
    struct lack lack = { .pool = pool, .wanted = wanted_now(pool, true) };
    const struct transfer *transfer;
    int64_t missing = wanted_now(pool, false) - pool->present;
    const struct freeze *freeze;

    lack.missing = missing > 0 ? missing : 0;
    lack.queued = service->queued[pool->config - service->config->pools];
    lack.freeze = guard_freeze(&service->guard, pool->config->cluster,
                               loop_wall(service->world->loop));
    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        if (transfer->is_undoing || transfer->wants_undo || transfer_goal(transfer) != pool->config)
            continue;
        freeze = runner_freeze(service->runner, transfer);
        lack.moving += !freeze;
        lack.freeze = lack.freeze ?: freeze;
        if (lack.first.ms == 0 || transfer->created.ms < lack.first.ms)
            lack.first = transfer->created;
    }
    return lack;
}

/* Nodes that are wanted and there, and that no pod can use. */
static int64_t useless_of(const struct lack *lack)
{
    const struct plan_pool *pool = lack->pool;
    int64_t serving = pool->present - pool->useless;
    int64_t wanted = lack->wanted < pool->present ? lack->wanted : pool->present;

    return wanted > serving ? wanted - serving : 0;
}

/* The nodes that came to a pool (NULL: to production) since a time. */
struct arrivals {
    int64_t nodes;          /* at least: the runner forgets the oldest of many */
    struct wall_time first; /* when the oldest of these transfers began; 0: there is none */
    struct wall_time last;  /* when the last one ended; 0: there is none */
};

static struct arrivals arrivals_of(const struct service *service, const struct config_pool *pool,
                                   struct wall_time since)
{
    const struct runner *runner = service->runner;
    struct arrivals found = { 0 };

    for (size_t i = 0; i < runner->transfers.count; i++) {
        const struct transfer *transfer = runner->transfers.items[i];

        if (transfer->state != TRANSFER_DONE || transfer->created.ms < since.ms ||
            (pool ? transfer->target != pool : transfer->target->cluster->role != ROLE_PRODUCTION))
            continue;
        found.nodes++;
        if (found.first.ms == 0 || transfer->created.ms < found.first.ms)
            found.first = transfer->created;
        if (transfer->ended.ms > found.last.ms)
            found.last = transfer->ended;
    }
    return found;
}

/* The most nodes that can be on their way to the pool at once. */
static int64_t wave_nodes(const struct service *service, const struct config_pool *pool)
{
    const struct config *config = service->config;
    int64_t nodes = 0;

    for (size_t i = 0; i < config->cluster_count; i++)
        if (config_can_give(config, &config->clusters[i], pool->cluster))
            nodes += config->guard.in_flight_per_cluster;
    return nodes > 0 && nodes < config->guard.in_flight ? nodes : config->guard.in_flight;
}

/* Since when the pool has lacked nodes, and by when they were to be there, by what the journal
   keeps: the begin of the window, the last apply, and the transfers. */
struct course_of_lack {
    struct wall_time since;
    struct wall_time until; /* 95 times in 100 */
    bool is_late;           /* they were to be there at `since` */
    int64_t waves;          /* in which they come */
    struct wall_time last;  /* when a node came to production last, or `since` */
    bool is_stuck;          /* none has come for as long as a wave takes */
};

/* Nodes of an apply that cannot all move at once: each wave has its notice and its lead time. */
static void look_at_waves(const struct service *service, const struct lack *lack,
                          const struct reach *reach, struct course_of_lack *course)
{
    const struct config_pool *pool = lack->pool->config;
    struct arrivals mine = arrivals_of(service, pool, course->since);
    int64_t at_once = wave_nodes(service, pool);
    int64_t wave_ms = reach->notice_ms + reach->wave_ms;

    course->last = arrivals_of(service, NULL, course->since).last;
    if (course->last.ms < course->since.ms)
        course->last = course->since;
    course->waves = (lack->missing + mine.nodes + at_once - 1) / at_once;
    if (course->waves <= 1)
        return;
    if (mine.first.ms > 0 && mine.first.ms <= course->since.ms + BEGIN_MS)
        course->is_late = false;
    course->until.ms = course->since.ms + course->waves * wave_ms;
    course->is_stuck = loop_wall(service->world->loop).ms >= course->last.ms + wave_ms;
}

static struct course_of_lack course_of(const struct service *service, const struct lack *lack)
{
    const struct config_pool *pool = lack->pool->config;
    const struct horizon horizon = survey_horizon(service, service->book, pool->cluster);
    struct wall_time window = target_since(&horizon, pool, lack->pool->present);
    struct course_of_lack course = { .since = window, .is_late = true };

    if (service->applied.ms > window.ms) {
        course.since = service->applied;
        if (lack->first.ms > 0 && lack->first.ms < course.since.ms)
            course.since.ms = lack->first.ms > window.ms ? lack->first.ms : window.ms;
        course.is_late = course.since.ms == window.ms || lack->first.ms == 0 ||
                         lack->first.ms > course.since.ms + BEGIN_MS;
    }
    course.until.ms = course.since.ms + horizon.reach.notice_ms +
                      leads_quantile(lead_book_of(service->runner->leads, pool), 95, 0);
    if (course.since.ms > window.ms) /* by an apply; a window has its nodes at its begin */
        look_at_waves(service, lack, &horizon.reach, &course);
    return course;
}

static bool has_other_pools(const struct service *service, const struct config_pool *pool)
{
    for (size_t i = 0; i < service->config->pool_count; i++)
        if (&service->config->pools[i] != pool &&
            service->config->pools[i].cluster == pool->cluster)
            return true;
    return false;
}

/* "prod-a has 6 nodes and wants 9, 3 are on their way". */
static char *tell_lack(const struct service *service, const struct lack *lack, int64_t wanted)
{
    const struct config_pool *pool = lack->pool->config;
    bool is_one_of = has_other_pools(service, pool);
    owned(chars) char *useless = useless_of(lack) > 0
                                     ? text_format(", of which %" PRId64 " cannot be used,",
                                                   lack->pool->useless)
                                     : mem_copy_chars("");

    return text_format("%s%s%s has %" PRId64 " nodes%s and wants %" PRId64 ", %" PRId64
                       " are on their way",
                       is_one_of ? pool->name : "", is_one_of ? " of " : "", pool->cluster->name,
                       lack->pool->present, useless, wanted, lack->pool->incoming);
}

/* Why no machines come, as far as it is known; *ret_advice: what ends that, if it is special. */
static char *why_short(const struct service *service, const struct lack *lack,
                       const struct course_of_lack *course, const char **ret_advice)
{
    char until[WALL_TEXT_SIZE];
    bool is_over;

    if (lack->freeze) {
        *ret_advice = "`sluice unfreeze` ends the freeze, and `sluice reclaim` passes it";
        return text_format(": a freeze by %s holds all moves until %s", lack->freeze->by,
                           wall_format(lack->freeze->until, until));
    }
    if (service->held[0] != '\0' &&
        (lack->missing == 0 || lack->missing > lack->moving + lack->queued))
        return text_format(": %s", service->held);
    is_over = course->until.ms > 0 && course->until.ms <= loop_wall(service->world->loop).ms;
    if (!is_over && !course->is_stuck)
        return mem_copy_chars("");
    *ret_advice = "`sluice transfers` shows what the nodes wait for";
    return is_over ? text_format("; all were to be there by %s (p95)",
                                 wall_format(wall_whole_second(course->until.ms), until))
                   : text_format("; none has come since %s",
                                 wall_format(wall_whole_second(course->last.ms), until));
}

/* Whether the pool lacks nodes that nothing brings.  Before a window, and for a reclaim, nodes that
   are on their way to the cluster are enough; a reclaim and a late move have conditions of their
   own. */
static bool is_unserved(const struct service *service, const struct lack *lack,
                        int64_t incoming_of_cluster)
{
    const struct plan_pool *pool = lack->pool;
    int64_t wanted = plan_wanted(pool);

    if (lack->missing > lack->moving)
        return true;
    if (wanted <= pool->present)
        return false;
    return incoming_of_cluster == 0 || (wanted > pool->present + pool->incoming &&
                                        pool->due.ms <= loop_wall(service->world->loop).ms);
}

/* Whether all nodes that an apply asked for come in time, in waves. */
static bool is_filling(const struct service *service, const struct lack *lack,
                       const struct course_of_lack *course)
{
    return lack->missing > 0 && lack->missing <= lack->moving + lack->queued && !lack->freeze &&
           course->waves > 1 && !course->is_late && !course->is_stuck &&
           course->until.ms > loop_wall(service->world->loop).ms;
}

static char *tell_waves(const struct service *service, const struct lack *lack,
                        const struct course_of_lack *course)
{
    char until[WALL_TEXT_SIZE];

    return text_format(", %" PRId64 " at once; all are to be there by %s (p95)",
                       wave_nodes(service, lack->pool->config),
                       wall_format(wall_whole_second(course->until.ms), until));
}

static void look_at_pool(const struct service *service, const struct lack *lack,
                         int64_t incoming_of_cluster, struct health *health)
{
    const struct config_pool *pool = lack->pool->config;
    struct course_of_lack course = { 0 };
    bool nothing_comes = is_unserved(service, lack, incoming_of_cluster);
    bool is_ahead = nothing_comes && lack->missing == 0; /* a window to come, or a reclaim */
    struct condition condition = { .kind = CONDITION_PRODUCTION_SHORT,
                                   .what = has_other_pools(service, pool) ? pool->name
                                                                          : pool->cluster->name,
                                   .cluster = pool->cluster->name };
    owned(chars) char *text = tell_lack(service, lack,
                                        is_ahead ? plan_wanted(lack->pool) : lack->wanted);
    owned(chars) char *why = NULL;
    bool is_due, is_in_waves;

    if (lack->missing > 0)
        course = course_of(service, lack);
    is_in_waves = is_filling(service, lack, &course);
    is_due = lack->missing > 0 &&
             (course.is_stuck || course.until.ms <= loop_wall(service->world->loop).ms);
    /* Of a node that was lost only now, the begin of the window is no date. */
    if (lack->first.ms > 0 && lack->first.ms <= course.since.ms + BEGIN_MS)
        condition.since = course.since;
    if (!is_in_waves && (nothing_comes || is_due)) {
        condition.quiet_ms = is_ahead ? STARTS_MS : 0;
        why = why_short(service, lack, &course, &condition.advice);
    } else if (useless_of(lack) > 0) {
        condition.early_ms = FLAP_MS;
        condition.since.ms = 0;
        condition.advice =
            "`kubectl get nodes` (in Slurm: `sinfo -R`) shows what is wrong with them";
        why = mem_copy_chars("");
    } else if (is_in_waves) {
        condition.kind = CONDITION_PRODUCTION_FILLS;
        condition.since = course.since;
        why = tell_waves(service, lack, &course);
    } else if (lack->missing > 0 && course.is_late &&
               !health_holds(health, CONDITION_MOVE_LATE, pool->cluster->name)) {
        char since[WALL_TEXT_SIZE];

        condition.kind = CONDITION_MOVE_LATE;
        why = text_format("; they are wanted since %s",
                          wall_format(wall_whole_second(course.since.ms), since));
    }
    if (why)
        health_add(health, &condition, text_format("%s%s", text, why));
}

void supply_look(const struct service *service, const struct survey *survey, struct health *health)
{
    const struct config *config = service->config;

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct plan_pool *pool = &survey->pools[i];
        struct lack lack;
        int64_t incoming = 0;

        if (pool->config->cluster->role != ROLE_PRODUCTION || plan_wanted(pool) < 0 ||
            !survey_ever_saw(service, pool->config))
            continue;
        for (size_t k = 0; k < config->pool_count; k++)
            if (survey->pools[k].config->cluster == pool->config->cluster)
                incoming += survey->pools[k].incoming;
        lack = lack_of(service, pool);
        look_at_pool(service, &lack, incoming, health);
    }
}
