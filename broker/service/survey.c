/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the fleet and the live transfers to the plan's input.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/service/supply.h"
#include "broker/transfer/held.h"
#include "broker/transfer/meeting.h"
#include "broker/transfer/notice.h"
#include "broker/transfer/tenant.h"

/* A transfer begins in the turn after the one that could have wanted it, and its node is cordoned
   some seconds after the notice is over. */
enum { BEGIN_MS = 15 * SECOND_MS };

/* From the plan that wants a transfer to the cordon, whichever pool gives the node. */
static int64_t longest_notice_ms(const struct config *config)
{
    int64_t of_research_ms = notice_ahead_ms(config, ROLE_RESEARCH);
    int64_t of_production_ms = notice_ahead_ms(config, ROLE_PRODUCTION);

    return (of_research_ms > of_production_ms ? of_research_ms : of_production_ms) + BEGIN_MS;
}

/* The most nodes that may move at once: departures from research have caps by cluster, too. */
static int64_t wave_nodes(const struct config *config)
{
    int64_t of_clusters = 0;

    for (size_t i = 0; i < config->cluster_count; i++)
        if (config->clusters[i].role == ROLE_RESEARCH)
            of_clusters += config->guard.in_flight_per_cluster;
    if (of_clusters == 0 || of_clusters > config->guard.in_flight)
        of_clusters = config->guard.in_flight;
    require(of_clusters > 0 && of_clusters <= config->guard.in_flight);
    return of_clusters;
}

static struct reach reach_to(const struct service *service, const struct config_cluster *cluster)
{
    const struct config *config = service->config;
    struct reach reach = { longest_notice_ms(config), 0, wave_nodes(config) };

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];
        int64_t nodes = pool->reservation->nodes;
        int64_t wave_ms;

        if (cluster ? pool->cluster != cluster : pool->cluster->role != ROLE_PRODUCTION)
            continue;
        wave_ms = runner_wave_ms(service->runner, pool,
                                 nodes < reach.wave_nodes ? nodes : reach.wave_nodes);
        if (wave_ms > reach.wave_ms)
            reach.wave_ms = wave_ms;
    }
    return reach;
}

struct horizon survey_horizon(const struct service *service, const struct map *book,
                              const struct config_cluster *cluster)
{
    return (struct horizon){ .config = service->config,
                             .book = book,
                             .now = loop_wall(service->world->loop),
                             .reach = reach_to(service, cluster) };
}

int64_t survey_pays_off_ms(const struct service *service, const struct config_cluster *cluster,
                           bool is_reclaim)
{
    const struct reach reach = reach_to(service, cluster);

    return 2 * (reach.wave_ms + (is_reclaim ? 0 : reach.notice_ms));
}

/* Whether a reclaim holds in the reservation, or is weighed: for the cluster `asking`, or NULL. */
static bool has_reclaim(const struct service *service, const struct config_reservation *reservation,
                        const struct config_cluster *asking)
{
    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (pool->reservation == reservation && pool->cluster->role == ROLE_PRODUCTION &&
            (pool->cluster == asking || reclaims_hold(service, pool)))
            return true;
    }
    return false;
}

/* Until when a machine of the pool must last to be counted.  If it lasts for a reclaim's move
   alone, the guard refuses any other move. */
static struct wall_time must_last(const struct service *service, const struct config_pool *pool,
                                  const struct config_cluster *asking)
{
    int64_t pays_off_ms = has_reclaim(service, pool->reservation, asking)
                              ? survey_pays_off_ms(service, NULL, true)
                              : survey_pays_off_ms(service, pool->cluster, false);

    return (struct wall_time){ loop_wall(service->world->loop).ms + pays_off_ms };
}

bool survey_knows(const struct service *service, const struct config_pool *pool, struct error *err)
{
    return fleet_is_fresh(service->fleet, pool, service->config->guard.fresh_ms, err);
}

bool survey_ever_saw(const struct service *service, const struct config_pool *pool)
{
    return fleet_snapshot(service->fleet, pool->cluster)->is_known &&
           fleet_pool(service->fleet, pool)->is_known;
}

/* Nothing went wrong when the cluster and the cloud were asked last. */
static bool is_heard(const struct service *service, const struct config_pool *pool)
{
    return cluster_is_heard(fleet_cluster(service->fleet, pool->cluster)) &&
           fleet_pool(service->fleet, pool)->trouble.kind == ERROR_NONE;
}

/* The loop's time of the pool's oldest fact: the list of machines, or the cluster's nodes or pods.
 */
static int64_t seen_of(const struct service *service, const struct config_pool *pool)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->cluster);
    int64_t seen_ms = fleet_pool(service->fleet, pool)->began_ms;

    if (snapshot->nodes_seen_ms < seen_ms)
        seen_ms = snapshot->nodes_seen_ms;
    if (snapshot->pods_seen_ms < seen_ms)
        seen_ms = snapshot->pods_seen_ms;
    return seen_ms;
}

static json_t *describe_unknown(const struct service *service, const struct config_pool *pool,
                                const char *why)
{
    const struct loop *loop = service->world->loop;
    int64_t age_ms = loop_now(loop) - seen_of(service, pool);
    bool is_seen = survey_ever_saw(service, pool);

    return json_make("{ss ss ss ss so so}", "pool", pool->name, "cluster", pool->cluster->name,
                     "reservation", pool->reservation->name, "reason", why, "age_s",
                     is_seen ? json_integer(age_ms / SECOND_MS) : json_null(), "seen",
                     is_seen ? json_wall((struct wall_time){ loop_wall(loop).ms - age_ms })
                             : json_null());
}

json_t *survey_unknown(const struct service *service, const struct config_reservation *reservation)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        struct error why;

        if ((reservation && pool->reservation != reservation) || survey_knows(service, pool, &why))
            continue;
        json_array_append_new(rows, describe_unknown(service, pool, why.text));
    }
    return rows;
}

int survey_allows_scheduled(const struct service *service,
                            const struct config_reservation *reservation, struct error *err)
{
    int64_t since_ms = loop_now(service->world->loop) - service->started_ms;

    if (since_ms >= service->config->guard.fresh_ms)
        return 0;
    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (pool->reservation == reservation && !survey_ever_saw(service, pool))
            return error_set(err, ERROR_DENIED,
                             "scheduled moves of reservation %s wait for pool %s, which was not "
                             "seen since the start",
                             reservation->name, pool->name);
    }
    return 0;
}

static struct map *survey_gangs(const struct service *service, struct survey *weighed,
                                const struct config_cluster *cluster)
{
    const struct config_cluster *slurm = cluster->slurm;
    const struct gang_survey survey = {
        .config = service->config,
        .cluster = cluster,
        .snapshot = fleet_snapshot(service->fleet, cluster),
        .losses = &service->losses,
        .now = loop_wall(service->world->loop),
        .slurm = slurm ? fleet_snapshot(service->fleet, slurm) : NULL,
        .is_hurried = plan_is_hurried(&weighed->input, cluster, weighed->asking)
    };

    return gangs_survey(&survey, &weighed->gangs);
}

/* A gang with a node in a transfer is lost: its other nodes cost nothing more. */
static void sink_gangs(const struct service *service, const struct config_cluster *cluster,
                       const struct map *work, struct gang_book *book)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        const struct node_work *mine;

        if (transfer->source->cluster != cluster || transfer->is_undoing || transfer->wants_undo)
            continue;
        mine = map_get(work, transfer->node);
        for (size_t k = 0; mine && k < mine->gangs.count; k++) {
            require(mine->gangs.items[k] < book->gangs.count);
            book->gangs.items[mine->gangs.items[k]].is_sunk = true;
        }
    }
}

static bool is_movable(const struct service *service, const struct node *node)
{
    /* A cordon that is not ours is an operator's decision; a mark without a transfer of ours is
       another broker's, or of a transfer that we cannot read. */
    return fleet_is_ephemeral(service->config, node) && !node_rival(node) &&
           !node_annotation(node, SLUICE_NOTE_TRANSFER) &&
           !node_has_taint(node, NODE_TAINT_CANDIDATE) && !node->is_unschedulable &&
           !node->is_leaving && node->uid[0] != '\0';
}

/* One node more that only Slurm can free. */
static void keep_for(struct plan_pool *pool, const char *tool, const char *why)
{
    for (size_t i = 0; i < pool->kept.count; i++)
        if (pool->kept.items[i].tool == tool && pool->kept.items[i].why == why) {
            pool->kept.items[i].nodes++;
            return;
        }
    *array_add(&pool->kept) = (struct plan_kept){ .tool = tool, .why = why, .nodes = 1 };
}

/* Whether a person froze it, or a pod on it is a node of a Slurm cluster that cannot be drained. */
static bool is_kept(const struct service *service, struct plan_pool *pool, const struct node *node)
{
    const char *cluster = pool->config->cluster->name;

    if (guard_freeze_of_node(&service->guard, cluster, node->name,
                             loop_wall(service->world->loop))) {
        pool->frozen++;
        return true;
    }

    const struct pod *pod = snapshot_slurm_pod(
        fleet_snapshot(service->fleet, pool->config->cluster), node->name);
    const char *why = pod ? tenant_keeps(service->fleet, pool->config->cluster, node->name,
                                         loop_now(service->world->loop) -
                                             service->config->guard.fresh_ms)
                          : NULL;

    if (why)
        keep_for(pool, pod_slurm_tool(pod), why);
    return why != NULL;
}

static int64_t named_rank(const struct service *service, const struct config_pool *pool,
                          const char *node)
{
    owned(chars) char *key = NULL;

    if (map_count(service->named) == 0)
        return 0;
    key = text_format("%s/%s", pool->name, node);
    return (int64_t)(uintptr_t)map_get(service->named, key);
}

/* Whether the machine is one of the pool's now, in no transfer (also in none that will meet it in
   its next turn), and lasts long enough: neither a window nor a reclaim may count on one whose
   capacity ends before paid_ms (wall clock). */
static bool is_present(const struct service *service, const struct held *held,
                       const struct config_pool *pool, const struct instance *instance,
                       int64_t paid_ms)
{
    struct wall_time ends = fleet_ends(pool, instance);

    return (ends.ms == 0 || ends.ms > paid_ms) && instance->state != INSTANCE_DELETING &&
           instance->state != INSTANCE_PARKED && !held_has(held, pool, instance) &&
           !meeting_awaits(service->runner, pool, instance);
}

static void survey_pool(const struct service *service, const struct survey *survey,
                        struct plan_pool *pool)
{
    int64_t paid_ms = must_last(service, pool->config, survey->asking).ms;
    void *value;

    for (size_t i = 0;
         map_next(fleet_pool(service->fleet, pool->config)->instances, &i, NULL, &value);) {
        enum presence here = fleet_has(service->fleet, pool->config, value);
        const struct node *node;

        if (!is_present(service, survey->held, pool->config, value, paid_ms))
            continue;
        pool->unplaced += here == PRESENCE_UNKNOWN;
        if (here != PRESENCE_YES)
            continue;
        node = fleet_node_of(service->fleet, pool->config, value);
        pool->present++;
        pool->unseen += !node;
        if (pool->config->cluster->role == ROLE_PRODUCTION)
            pool->useless += !node || !supply_serves(service, pool->config, node);
    }
}

/* The nodes that may leave the pool. */
static void survey_nodes(const struct service *service, const struct survey *survey,
                         struct plan_pool *pool)
{
    int64_t oldest_ms = loop_now(service->world->loop) - service->config->guard.fresh_ms;
    int64_t paid_ms = must_last(service, pool->config, survey->asking).ms;
    void *value;

    /* Replicas shrink first, so that the nodes that can be spared become free. */
    if (pool->config->cluster->role == ROLE_PRODUCTION && !survey->is_ahead &&
        !scaler_is_settled(service->scaler, pool->config->cluster))
        return;
    for (size_t i = 0;
         map_next(fleet_pool(service->fleet, pool->config)->instances, &i, NULL, &value);) {
        const struct instance *instance = value;
        const struct node *node;
        struct plan_node *candidate;

        if (!is_present(service, survey->held, pool->config, instance, paid_ms) ||
            instance->state != INSTANCE_RUNNING || instance->seen_ms < oldest_ms)
            continue;
        node = fleet_node_of(service->fleet, pool->config, instance);
        if (!node || !is_movable(service, node) ||
            unreadable_holds(service, pool->config, instance->name, node->uid) ||
            is_kept(service, pool, node))
            continue;
        require(node->uid[0] != '\0' && !node->is_leaving);
        candidate = array_add(&pool->nodes);
        candidate->uid = node->uid;
        candidate->instance = instance->name;
        candidate->named = named_rank(service, pool->config, node->name);
        candidate->facts = (struct victim_node){ .name = node->name, .created = node->created };
    }
    require((int64_t)pool->nodes.count <= pool->present);
}

static void survey_live(struct service *service, struct survey *survey)
{
    const struct config *config = service->config;
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        bool goes_back = transfer->is_undoing || transfer->wants_undo;
        struct plan_live *live;

        if (goes_back) {
            survey->pools[transfer->source - config->pools].present++;
            continue;
        }
        require(transfer_goal(transfer)->reservation == transfer->source->reservation);
        survey->pools[transfer_goal(transfer) - config->pools].incoming++;
        live = array_add(&survey->live);
        live->id = transfer->id;
        live->source = transfer->source;
        live->target = transfer->target;
        live->can_withdraw = transfer->is_emergency ? step_can_undo(transfer->step) &&
                                                          orders_end_covers(service, transfer)
                                                    : transfer->step <= STEP_NOTICE;
    }
}

/* The target of the pool; its `present` and `incoming` are known by now. */
static void survey_wish(struct service *service, const struct map *book, struct plan_pool *pool)
{
    const struct horizon horizon = survey_horizon(service, book, pool->config->cluster);
    struct target target;
    struct error err;

    pool->is_known = survey_knows(service, pool->config, &err);
    pool->is_heard = is_heard(service, pool->config);
    if (pool->config->cluster->role != ROLE_PRODUCTION)
        return;
    target = target_nodes(&horizon, pool->config);
    pool->wanted = target.wanted;
    pool->in_force = target.now;
    reclaims_list(service, pool);
    pool->due = target_due(&horizon, pool->config, pool->present + pool->incoming);
}

static struct survey *make(struct service *service, const struct map *book, bool is_ahead,
                           const struct config_cluster *asking)
{
    const struct config *config = service->config;
    struct survey *survey = mem_new(sizeof *survey);

    survey->is_ahead = is_ahead;
    survey->asking = asking;
    survey->held = held_new(service->runner);
    survey->pools = mem_new_array(config->pool_count, sizeof *survey->pools);
    survey->work = mem_new_array(config->cluster_count, sizeof *survey->work);
    for (size_t i = 0; i < config->pool_count; i++) {
        struct plan_pool *pool = &survey->pools[i];

        pool->config = &config->pools[i];
        survey_pool(service, survey, pool);
        require(pool->unseen <= pool->present);
    }
    survey_live(service, survey);
    for (size_t i = 0; i < config->pool_count; i++)
        survey_wish(service, book, &survey->pools[i]);
    survey->input = (struct plan_input){
        .config = config,
        .pools = survey->pools,
        .live = survey->live.items,
        .live_count = survey->live.count,
    };
    return survey;
}

struct survey *survey_make(struct service *service, const struct map *book)
{
    return make(service, book, false, NULL);
}

struct survey *survey_make_for(struct service *service, const struct config_cluster *cluster)
{
    return make(service, service->book, false, cluster);
}

struct survey *survey_make_ahead(struct service *service, const struct map *book)
{
    return make(service, book, true, NULL);
}

bool survey_wants_moves(const struct survey *survey)
{
    for (size_t i = 0; i < survey->input.config->pool_count; i++) {
        const struct plan_pool *pool = &survey->pools[i];
        int64_t wanted = plan_wanted(pool);

        if (pool->config->cluster->role == ROLE_PRODUCTION && pool->is_known && wanted >= 0 &&
            wanted != pool->present + pool->incoming)
            return true;
    }
    return false;
}

static void weigh_nodes(const struct service *service, struct plan_pool *pool,
                        const struct map *work)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, pool->config->cluster);

    for (size_t i = 0; i < pool->nodes.count; i++) {
        struct victim_node *facts = &pool->nodes.items[i].facts;
        const struct node_work *mine = map_get(work, facts->name);

        facts->gangs = mine ? mine->gangs.items : NULL;
        facts->gang_count = mine ? mine->gangs.count : 0;
        facts->rank = gangs_rank(mine);
        facts->block = gangs_block(service->config, map_get(snapshot->nodes, facts->name));
    }
}

void survey_weigh(const struct service *service, struct survey *survey)
{
    const struct config *config = service->config;

    for (size_t c = 0; c < config->cluster_count; c++) {
        const struct config_cluster *cluster = &config->clusters[c];
        struct map *work = survey_gangs(service, survey, cluster);

        require(!survey->work[c]); /* weighed once */
        survey->work[c] = work;
        sink_gangs(service, cluster, work, &survey->gangs);
        for (size_t i = 0; i < config->pool_count; i++)
            if (config->pools[i].cluster == cluster) {
                survey_nodes(service, survey, &survey->pools[i]);
                weigh_nodes(service, &survey->pools[i], work);
            }
    }
    survey->input.gangs = survey->gangs.gangs.items;
    survey->input.gang_count = survey->gangs.gangs.count;
}

void survey_free(struct survey *survey)
{
    if (!survey)
        return;
    held_free(survey->held);
    plan_pools_free(survey->pools, survey->input.config->pool_count);
    for (size_t c = 0; c < survey->input.config->cluster_count; c++)
        map_free(survey->work[c]);
    mem_free(survey->work);
    array_clear(&survey->gangs.gangs);
    array_clear(&survey->live);
    mem_free(survey);
}
