/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The departure board: which research nodes leave, when, to whom, and what runs on them.  First
 * the transfers that are under way or announced; then what the schedules in force will ask for: the
 * plan of every coming moment at which they ask for something else, made on the fleet as the
 * moments before leave it.  Such a node is the plan's choice as of now, and may become another.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/notice.h"

#include <stdlib.h>

static const char unnamed[] = ""; /* a node that is still to come */

struct board {
    const struct service *service;
    json_t *rows;
    int64_t unnamed; /* departures of nodes that are not there yet */
};

/* Adds what runs on the node, one entry a gang. */
static void add_jobs(json_t *jobs, const struct snapshot *snapshot, const char *node,
                     int64_t node_gpus)
{
    owned(map) struct map *seen = map_new(NULL); /* borrowed: of `jobs` */
    owned(map) struct map *shares = map_new(mem_free);
    size_t count = 0;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    for (size_t i = 0; i < count; i++) {
        const struct pod *pod = pods[i];
        owned(chars) char *key = text_format("%d %s", (int)pod->gang.kind, pod->gang.key);
        json_t *job = map_get(seen, key);

        if (!pod_must_leave(pod))
            continue;
        if (!job) {
            job = json_make("{ss ss ss sI so}", "kind", gang_kind_name(pod->gang.kind), "job",
                            pod->gang.key, "namespace", pod->namespace, "gpus", (json_int_t)0,
                            "started", json_wall(pod->started));
            json_array_append_new(jobs, job);
            map_set(seen, key, job);
            map_set(shares, key, mem_new(sizeof(struct gang_share)));
        }
        struct gang_share *share = map_get(shares, key);

        (void)gang_share_add(share, gpus_of_pod(snapshot, pod), node_gpus);
        json_object_set_new(job, "gpus", json_integer(gang_share_gpus(share, node_gpus)));
    }
}

/* On the node, and on the node of Slurm that is a pod there. */
static json_t *jobs_on(const struct service *service, const struct config_pool *pool,
                       const char *node)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    const struct config_cluster *slurm = pool->cluster->slurm;
    const struct pod *pod = slurm ? snapshot_slurm_pod(snapshot, node) : NULL;
    const char *tenant = pod ? pod_slurm_node(pod) : NULL;
    json_t *jobs = json_array();

    add_jobs(jobs, snapshot, node, pool->reservation->gpus_per_node);
    if (tenant)
        add_jobs(jobs, fleet_snapshot(service->fleet, slurm), tenant,
                 pool->reservation->gpus_per_node);
    return jobs;
}

/* A node that leaves. */
struct departure {
    const struct config_pool *source;
    const struct config_pool *target;
    const char *node;
    struct wall_time leaves;
    const char *certainty;
    struct wall_time due; /* when the target falls short without it; 0: it does not */
    const char *held;     /* what it waits for; "": nothing */
};

static void add_row(struct board *board, const struct departure *departure)
{
    const struct config_pool *source = departure->source;
    const struct window_set *windows = board->service->config->windows;
    const struct window *window = departure->due.ms > 0 ? window_at(windows, departure->due) : NULL;

    json_array_append_new(
        board->rows,
        json_make("{so ss ss ss ss ss so ss ss so}", "leaves", json_wall(departure->leaves), "node",
                  departure->node, "cluster", source->cluster->name, "pool", source->name, "to",
                  departure->target->cluster->name, "certainty", departure->certainty, "due",
                  json_wall(departure->due), "window", window ? window->name : "", "held",
                  departure->held, "jobs", jobs_on(board->service, source, departure->node)));
}

/* Transfers whose node is still a place to work on. */
static void add_live(struct board *board)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(board->service->runner, &i));) {
        if (transfer->is_undoing || transfer->wants_undo || transfer->step > STEP_FORCE ||
            transfer->source->cluster->role != ROLE_RESEARCH)
            continue;

        const char *certainty = transfer->is_emergency || transfer->step > STEP_NOTICE ? "leaving"
                                : transfer->announced.ms > 0                           ? "announced"
                                                                                       : "planned";
        const struct departure departure = {
            .source = transfer->source,
            .target = transfer->target,
            .node = transfer->node,
            .leaves = transfer->is_emergency ? transfer->created : transfer->departure,
            .certainty = certainty,
            .due = transfer->due,
            .held = transfer->held,
        };

        add_row(board, &departure);
    }
}

/* The plan of one moment, carried out on the survey's pools. */
static void play(struct board *board, struct survey *survey, const struct plan *plan,
                 struct wall_time at)
{
    const struct config *config = board->service->config;

    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];
        struct plan_pool *source = &survey->pools[transfer->source - config->pools];
        struct plan_pool *target = &survey->pools[transfer->target - config->pools];

        source->present--;
        target->present++;
        if (transfer->source->cluster->role != ROLE_RESEARCH)
            continue;
        if (transfer->node->facts.name == unnamed) {
            board->unnamed++;
            continue;
        }

        const struct departure departure = {
            .source = transfer->source,
            .target = transfer->target,
            .node = transfer->node->facts.name,
            .leaves = wall_whole_second(at.ms + notice_ahead_ms(config, ROLE_RESEARCH)),
            .certainty = "planned",
            .due = transfer->due,
            .held = "",
        };

        add_row(board, &departure);
    }
}

/* Moves nodes of transfers from their old pools to their new ones. */
static void settle(const struct config *config, struct survey *survey, const struct plan *plan)
{
    ARRAY(struct plan_transfer) moved = { 0 };

    for (size_t i = 0; i < plan->transfers.count; i++)
        *array_add(&moved) = plan->transfers.items[i];
    for (size_t i = 0; i < config->pool_count; i++) {
        struct plan_pool *pool = &survey->pools[i];

        for (size_t at = pool->nodes.count; at-- > 0;)
            for (size_t k = 0; k < moved.count; k++)
                if (moved.items[k].node == &pool->nodes.items[at]) {
                    array_remove(&pool->nodes, at);
                    break;
                }
    }
    for (size_t k = 0; k < moved.count; k++) {
        struct plan_pool *target = &survey->pools[moved.items[k].target - config->pools];
        struct plan_node *node = array_add(&target->nodes);

        node->facts.name = node->uid = node->instance = unnamed;
    }
    array_clear(&moved);
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The moments at which the schedules may ask for another number: a window's begin, and the reach of
   a move before it. */
static size_t moments_of(const struct service *service, struct wall_time now, struct wall_time end,
                         int64_t **ret_moments)
{
    const struct config *config = service->config;
    struct horizon horizon = survey_horizon(service, service->book, NULL);
    ARRAY(int64_t) moments = { 0 };
    struct wall_time edge = now;

    *array_add(&moments) = now.ms;
    for (;;) {
        int64_t ahead_ms;

        edge = window_next_change(config->windows, edge);
        if (edge.ms == 0)
            break;
        horizon.now.ms = edge.ms - 1; /* still in the window before */
        ahead_ms = reach_ms(&horizon, edge);
        if (edge.ms - ahead_ms > end.ms)
            break;
        if (edge.ms - ahead_ms > now.ms)
            *array_add(&moments) = edge.ms - ahead_ms;
        if (edge.ms <= end.ms)
            *array_add(&moments) = edge.ms;
    }
    qsort(moments.items, moments.count, sizeof moments.items[0], by_time);
    *ret_moments = moments.items;
    return moments.count;
}

static void wish(const struct service *service, struct survey *survey, struct wall_time at)
{
    const struct config *config = service->config;

    for (size_t i = 0; i < config->pool_count; i++) {
        struct plan_pool *pool = &survey->pools[i];
        struct horizon horizon = survey_horizon(service, service->book, pool->config->cluster);

        if (pool->config->cluster->role != ROLE_PRODUCTION || pool->wanted < 0)
            continue;
        horizon.now = at;
        pool->wanted = target_nodes(&horizon, pool->config).wanted;
        pool->due = target_due(&horizon, pool->config, pool->present);
    }
}

static void add_planned(struct board *board, struct service *service, struct wall_time now,
                        struct wall_time end)
{
    owned(survey) struct survey *survey = survey_make(service, service->book);
    int64_t *moments = NULL;
    size_t count = moments_of(service, now, end, &moments);

    for (size_t i = 0; i < service->config->pool_count; i++) {
        survey->pools[i].present += survey->pools[i].incoming;
        survey->pools[i].incoming = 0;
    }
    survey->input.live_count = 0;
    survey_weigh(service, survey);
    for (size_t i = 0; i < count; i++) {
        owned(plan) struct plan *plan = NULL;

        wish(service, survey, (struct wall_time){ moments[i] });
        plan = plan_make(&survey->input);
        play(board, survey, plan, (struct wall_time){ moments[i] });
        settle(service->config, survey, plan);
    }
    mem_free(moments);
}

static int by_leaving(const void *left, const void *right)
{
    const json_t *a = *(json_t *const *)left;
    const json_t *b = *(json_t *const *)right;
    int order = strcmp(json_text_or(a, "leaves", ""), json_text_or(b, "leaves", ""));

    return order ? order : strcmp(json_text_or(a, "node", ""), json_text_or(b, "node", ""));
}

/* Times are RFC 3339 in UTC to the second, so their texts sort by time. */
static json_t *sorted(json_t *rows, struct wall_time end)
{
    size_t count = json_array_size(rows);
    json_t **list = mem_new_array(count, sizeof(json_t *));
    char text[WALL_TEXT_SIZE];
    json_t *out = json_array();

    wall_format(end, text);
    for (size_t i = 0; i < count; i++)
        list[i] = json_array_get(rows, i);
    qsort(list, count, sizeof list[0], by_leaving);
    for (size_t i = 0; i < count; i++)
        if (strcmp(json_text_or(list[i], "leaves", ""), text) <= 0)
            json_array_append(out, list[i]);
    mem_free(list);
    json_decref(rows);
    return out;
}

/* For a pool that was not seen lately no departure is planned: `unknown` names the pool, because
   the board must not claim that no node leaves. */
json_t *service_departures(struct service *service, int64_t ahead_ms)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct wall_time end = { now.ms + ahead_ms };
    struct board board = { .service = service, .rows = json_array() };

    add_live(&board);
    add_planned(&board, service, now, end);
    return json_make("{ss so so so sI so sI}", "kind", "departures", "at", json_wall(now), "until",
                     json_wall(end), "departures", sorted(board.rows, end), "unnamed_nodes",
                     (json_int_t)board.unnamed, "unknown", survey_unknown(service, NULL),
                     "notice_s", (json_int_t)(service->config->drain.notice_ms / SECOND_MS));
}

int service_find_node(const struct service *service, const char *name, struct error *err)
{
    const struct config *config = service->config;
    struct error why;

    for (size_t i = 0; i < config->cluster_count; i++)
        if (map_get(fleet_snapshot(service->fleet, &config->clusters[i])->nodes, name))
            return 0;
    for (size_t i = 0; i < config->pool_count; i++)
        if (!survey_knows(service, &config->pools[i], &why))
            return error_set(err, ERROR_DENIED, "node %s is in no cluster that was seen lately; %s",
                             name, why.text);
    return error_set(err, ERROR_NOT_FOUND, "no cluster has a node %s", name);
}
