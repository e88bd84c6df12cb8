/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reclaims: nodes to production at once, against the schedules.  A reclaim is a number of nodes
 * that its pool should have until a time.  It is journaled and ends by itself; plans include it.
 * Its records are in orders.c.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>
#include <string.h>

/* A wish for one pool, as part of a reclaim for its cluster. */
struct portion {
    const struct plan_pool *pool;
    int64_t nodes;
    int64_t free_nodes;   /* that research in its reservation can give, and the pool can take */
    struct error blocked; /* why no machine comes to the pool now; ERROR_NONE: nothing is known */
};

struct portions {
    struct portion *items; /* one per pool of the cluster */
    size_t count;
};

static void owned_portions(struct portions *portions)
{
    mem_free(portions->items);
}

static struct portions portions_of(const struct service *service, const struct survey *survey,
                                   const struct order_wish *wish)
{
    const struct config *config = survey->input.config;
    struct portions portions = { mem_new_array(config->pool_count, sizeof *portions.items), 0 };

    for (size_t i = 0; i < config->pool_count; i++) {
        struct portion *portion = &portions.items[portions.count];

        if (config->pools[i].cluster != wish->cluster)
            continue;
        portion->pool = &survey->pools[i];
        portion->free_nodes = plan_can_have(&survey->input, &survey->pools[i], wish->from);
        if (pool_gets_machines(service, &config->pools[i], &portion->blocked) == 0)
            portion->blocked.kind = ERROR_NONE;
        portions.count++;
    }
    return portions;
}

/* Whether a reclaim's next node goes to this portion (a pool, with its part of the nodes) rather
   than to the other: a pool that gets machines comes first, then the one with room for more nodes.
 */
static bool is_better(const struct portion *portion, const struct portion *other)
{
    bool is_open = portion->blocked.kind == ERROR_NONE;

    if (is_open != (other->blocked.kind == ERROR_NONE))
        return is_open;
    return portion->free_nodes - portion->nodes > other->free_nodes - other->nodes;
}

/* The level that gives the portion its nodes in addition to the pool's present ones. */
static int64_t level_of(const struct portion *portion)
{
    const struct plan_pool *pool = portion->pool;
    int64_t supply = pool->present + pool->incoming;

    return (plan_level(pool) > supply ? plan_level(pool) : supply) + portion->nodes;
}

/* Nodes that complete the pool's next group, if the pool already has the portion's nodes. */
static int64_t unit_of(const struct portion *portion)
{
    return plan_unit(portion->pool, level_of(portion));
}

/* Spreads the wanted nodes over the cluster's pools, in whole groups.  Returns the number found,
   which may exceed the wanted one: half a group serves nothing. */
static int64_t spread(struct portions *portions, int64_t nodes)
{
    int64_t found = 0;

    while (found < nodes) {
        struct portion *best = NULL;

        for (size_t i = 0; i < portions->count; i++) {
            struct portion *portion = &portions->items[i];

            if (portion->nodes + unit_of(portion) <= portion->free_nodes &&
                (!best || is_better(portion, best)))
                best = portion;
        }
        if (!best)
            break;

        int64_t unit = unit_of(best);

        best->nodes += unit;
        found += unit;
    }
    return found;
}

/* Gives the copy of a pool the reclaims that it has, and the portion's. */
static void add_reclaim(struct plan_pool *copy, const struct portion *portion, const char *from)
{
    const struct plan_pool *pool = portion->pool;

    memset(&copy->reclaims, 0, sizeof copy->reclaims);
    for (size_t i = 0; i < pool->reclaims.count; i++)
        *array_add(&copy->reclaims) = pool->reclaims.items[i];
    *array_add(&copy->reclaims) = (struct plan_reclaim){ level_of(portion), from, NULL };
}

/* The result if the portions were accepted: {bill, transfers}. Blockers are added only to a plan or
   a dry run, because a reclaim does not wait for them. */
static json_t *price(const struct service *service, const struct survey *survey,
                     const struct portions *portions, const struct order_wish *wish)
{
    struct plan_input input = survey->input;
    size_t count = input.config->pool_count;
    owned(plan) struct plan *plan = NULL;
    json_t *offer;

    input.pools = mem_new_array(count, sizeof *input.pools);
    memcpy(input.pools, survey->pools, count * sizeof *input.pools);
    for (size_t i = 0; i < portions->count; i++)
        if (portions->items[i].nodes > 0)
            add_reclaim(&input.pools[portions->items[i].pool - survey->pools], &portions->items[i],
                        wish->from);
    plan = plan_make(&input);
    offer = json_make("{so so}", "bill", bill_describe(&input, plan, BILL_EMERGENCIES), "transfers",
                      wish->is_dry_run ? moves_describe_blocked(service, plan, BILL_EMERGENCIES)
                                       : moves_describe(plan, BILL_EMERGENCIES));
    for (size_t i = 0; i < portions->count; i++)
        if (portions->items[i].nodes > 0)
            array_clear(&input.pools[portions->items[i].pool - survey->pools].reclaims);
    mem_free(input.pools);
    return offer;
}

/* When nodes that are reclaimed now are ready, 95 times in 100. */
static struct wall_time promise_of(const struct service *service,
                                   const struct config_cluster *cluster)
{
    return wall_whole_second(loop_wall(service->world->loop).ms +
                             runner_lead_ms(service->runner, cluster, 95));
}

static int64_t count_nodes(const struct portions *portions)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < portions->count; i++)
        nodes += portions->items[i].nodes;
    return nodes;
}

/* One order: a record for each portion, all or none. */
static int store_order(struct service *service, const struct portions *portions,
                       const struct order_wish *wish, char ret_id[12], struct error *err)
{
    struct reclaim **records = mem_new_array(portions->count, sizeof *records);
    struct journal_batch *batch = journal_batch_new(service->epoch);
    size_t first = service->reclaims.count;
    size_t count = 0;
    int result;

    text_copy(ret_id, 12, "r-");
    random_hex(service->world->random, ret_id + 2, 9);
    for (size_t i = 0; i < portions->count; i++) {
        const struct portion *portion = &portions->items[i];

        if (portion->nodes == 0)
            continue;
        *array_add(&service->reclaims) = (struct reclaim){
            .id = count == 0 ? mem_copy_chars(ret_id) : text_format("%s.%zu", ret_id, count),
            .order = mem_copy_chars(ret_id),
            .pool = portion->pool->config,
            .nodes = portion->nodes,
            .wanted_nodes = wish->nodes,
            .level = level_of(portion),
            .from = mem_copy_chars(wish->from),
            .created = order_time(service),
            .until = wish->until,
            .promised = promise_of(service, wish->cluster),
            .key = mem_copy_chars(wish->key),
            .reason = mem_copy_chars(wish->reason),
            .by = mem_copy_chars(wish->by),
            .approved_by = mem_copy_chars(wish->approver ?: ""),
            .ended_by = mem_copy_chars(""),
            .end_reason = mem_copy_chars(""),
        };
        count++;
    }
    require(service->reclaims.count == first + count && count > 0);
    require(!wish->approval == !wish->approver);
    for (size_t i = 0; i < count; i++)
        records[i] = &service->reclaims.items[first + i];
    if (wish->approval)
        approve_done(service, wish->approval, wish->approver, batch);
    else
        approve_count(service, wish->by, count_nodes(portions), batch);
    result = orders_store(service, batch, records, count, err);
    while (result < 0 && service->reclaims.count > first)
        reclaim_clear(&service->reclaims.items[--service->reclaims.count]);
    mem_free(records);
    require(service->reclaims.count == first + (result < 0 ? 0 : count));
    return result;
}

/* [{pool, text}] of the portions to whose pools no machine comes now. */
static json_t *describe_blocked(const struct portions *portions)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < portions->count; i++)
        if (portions->items[i].nodes > 0 && portions->items[i].blocked.kind != ERROR_NONE)
            json_array_append_new(rows, json_make("{ss ss}", "pool",
                                                  portions->items[i].pool->config->name, "text",
                                                  portions->items[i].blocked.text));
    return rows;
}

/* A promise; none while no machine comes. */
static json_t *describe_lead(const struct service *service, const struct config_cluster *cluster,
                             double percentile, const json_t *blocked)
{
    if (json_array_size(blocked) > 0)
        return json_null();
    return json_integer(
        (json_int_t)(runner_lead_ms(service->runner, cluster, percentile) / SECOND_MS));
}

/* The pools that are not known when the reclaim is accepted: those of the cluster's
 * reservations. */
static json_t *left_out(const struct service *service, const struct portions *portions)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < portions->count; i++) {
        const struct config_reservation *mine = portions->items[i].pool->config->reservation;
        bool is_repeated = false;
        owned(json) json_t *unknown = survey_unknown(service, mine);

        for (size_t k = 0; k < i; k++)
            is_repeated |= portions->items[k].pool->config->reservation == mine;
        if (!is_repeated)
            json_array_extend(rows, unknown);
    }
    return rows;
}

/* Whether the wish is for nodes of this cluster, too. */
static bool is_from(const struct order_wish *wish, const struct config_cluster *cluster)
{
    return cluster->role == ROLE_RESEARCH &&
           (wish->from[0] == '\0' || text_equal(cluster->name, wish->from));
}

/* Whether machines that the cluster's pools could get end too soon, with the times. */
static bool ends_too_soon(const struct service *service, const struct portions *portions,
                          const struct order_wish *wish, struct error *err)
{
    for (size_t i = 0; i < portions->count; i++) {
        const struct config_pool *mine = portions->items[i].pool->config;
        owned(chars) char *whose = text_format("reservation %s", mine->reservation->name);

        for (size_t k = 0; k < service->config->pool_count; k++) {
            const struct config_pool *giver = &service->config->pools[k];
            void *machine;

            if (giver->reservation != mine->reservation || !is_from(wish, giver->cluster))
                continue;
            for (size_t at = 0;
                 map_next(fleet_pool(service->fleet, giver)->instances, &at, NULL, &machine);)
                if (guard_allows_end(&service->guard, whose, fleet_ends(giver, machine),
                                     survey_pays_off_ms(service, NULL, true), err) < 0)
                    return true;
        }
    }
    return false;
}

/* Frozen nodes of research clusters that may give. */
static int64_t count_frozen(const struct service *service, const struct order_wish *wish)
{
    struct wall_time now = loop_wall(service->world->loop);
    int64_t count = 0;

    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];
        const struct config_cluster *cluster = config_cluster(service->config, freeze->cluster);

        count += freeze->node[0] != '\0' && freeze->until.ms > now.ms && cluster &&
                 is_from(wish, cluster);
    }
    return count;
}

static int64_t count_coming(const struct service *service, const struct config_cluster *cluster)
{
    const struct runner *runner = service->runner;
    int64_t count = 0;

    for (size_t i = 0; i < runner->transfers.count; i++)
        count += runner->transfers.items[i]->state == TRANSFER_LIVE &&
                 !runner->transfers.items[i]->is_undoing &&
                 runner->transfers.items[i]->target->cluster == cluster;
    return count;
}

/* Of the pools that are not known, one that the wish concerns, as why it is refused; NULL: none. */
static const char *why_unknown(const struct order_wish *wish, const json_t *unknown)
{
    const json_t *row;
    size_t i;

    json_array_foreach(unknown, i, row) {
        const char *cluster = json_text_or(row, "cluster", "");

        if (wish->from[0] == '\0' || text_equal(cluster, wish->from) ||
            text_equal(cluster, wish->cluster->name))
            return json_text_or(row, "reason", "");
    }
    return NULL;
}

/* What a wish for one cluster's nodes could ask for instead; "": it is for those of any, or no pool
   could take a group of nodes. */
static char *other_giver(const struct survey *survey, const struct order_wish *wish,
                         const struct portions *portions)
{
    bool has_room = false;

    for (size_t i = 0; i < portions->count && wish->from[0] != '\0'; i++) {
        const struct plan_pool *pool = portions->items[i].pool;
        const struct config_cluster *giver = plan_giver(&survey->input, pool, wish->from);

        has_room |= plan_room(pool) >= unit_of(&portions->items[i]);
        if (giver)
            return text_format("; `--from %s` can have %" PRId64 " nodes", giver->name,
                               plan_can_have(&survey->input, pool, giver->name));
    }
    return mem_copy_chars(has_room ? "; no other research cluster has one" : "");
}

/* The reason why no node can be given. */
static void refuse(const struct service *service, const struct survey *survey,
                   const struct order_wish *wish, const struct portions *portions,
                   struct error *err)
{
    const char *name = wish->cluster->name;
    owned(json) json_t *unknown = left_out(service, portions);
    owned(chars) char *what = wish->from[0] == '\0' ? mem_copy_chars("research node")
                                                    : text_format("node of %s", wish->from);
    owned(chars) char *other = other_giver(survey, wish, portions);
    int64_t frozen = count_frozen(service, wish);
    int64_t coming = count_coming(service, wish->cluster);

    if (why_unknown(wish, unknown))
        error_set(err, ERROR_DENIED, "%s%s", why_unknown(wish, unknown), other);
    else if (ends_too_soon(service, portions, wish, err))
        return;
    else if (frozen > 0)
        error_set(err, ERROR_DENIED,
                  "no movable %s shares a reservation with a pool of %s; %" PRId64
                  " research nodes are frozen (`sluice status` tells by whom, `sluice resume` "
                  "ends it)%s",
                  what, name, frozen, other);
    else if (coming > 0)
        error_set(err, ERROR_DENIED,
                  "no movable %s that shares a reservation with a pool of %s is left; "
                  "nodes on their way to it: %" PRId64 " (`sluice transfers`)%s",
                  what, name, coming, other);
    else
        error_set(err, ERROR_DENIED, "no movable %s shares a reservation with a pool of %s%s", what,
                  name, other);
}

static json_t *describe_portions(const struct portions *portions)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < portions->count; i++)
        if (portions->items[i].nodes > 0)
            json_array_append_new(rows, json_make("{ss sI}", "pool",
                                                  portions->items[i].pool->config->name, "nodes",
                                                  (json_int_t)portions->items[i].nodes));
    return rows;
}

/* The answer to an order that is there already. */
static json_t *repeat(struct service *service, const struct reclaim *order, bool is_dry_run)
{
    owned(survey) struct survey *survey = survey_make(service, service->book);
    json_t *answer = order_describe(service, survey, order);

    json_object_set_new(answer, "is_repeat", json_true());
    json_object_set_new(answer, "is_dry_run", json_boolean(is_dry_run));
    return answer;
}

/* Accepts as many nodes as are available; the answer shows how many of the wanted nodes these are,
   and what they cost. */
static json_t *reclaim_nodes(struct service *service, const struct order_wish *wish,
                             struct error *err)
{
    const struct config_cluster *cluster = wish->cluster;
    owned(survey) struct survey *survey = survey_make_for(service, cluster);
    owned(json) json_t *portions_json = NULL;
    char id[12] = "";

    survey_weigh(service, survey);

    owned(portions) struct portions portions = portions_of(service, survey, wish);
    owned(json) json_t *unknown = left_out(service, &portions);
    int64_t found = spread(&portions, wish->nodes);
    owned(json) json_t *offer = NULL;
    owned(json) json_t *blocked = describe_blocked(&portions);

    if (found == 0) {
        refuse(service, survey, wish, &portions, err);
        return NULL;
    }
    offer = price(service, survey, &portions, wish);
    if (!wish->is_dry_run) {
        const struct order_act act = { wish, count_nodes(&portions), describe_portions(&portions),
                                       json_number_value(json_at(offer, "bill/lost_gpu_hours")) };
        json_t *waiting = NULL;
        int may = approve_order(service, &act, &waiting, err);

        if (may <= 0)
            return waiting;
        if (store_order(service, &portions, wish, id, err) < 0)
            return NULL;
    }
    portions_json = describe_portions(&portions);
    return json_make(
        "{ss sb ss ss sI sI sO sO so sO sO sO so so sO sb}", "id", id, "is_repeat", 0, "cluster",
        cluster->name, "from", wish->from, "wanted_nodes", (json_int_t)wish->nodes,
        "accepted_nodes", (json_int_t)found, "pools", portions_json, "unknown", unknown, "until",
        json_wall(wish->until), "lost_gpu_hours", json_at(offer, "bill/lost_gpu_hours"), "bill",
        json_object_get(offer, "bill"), "transfers", json_object_get(offer, "transfers"),
        "lead_p50_s", describe_lead(service, cluster, 50, blocked), "lead_p95_s",
        describe_lead(service, cluster, 95, blocked), "blocked", blocked, "is_dry_run",
        (int)wish->is_dry_run);
}

json_t *service_reclaim(struct service *service, const json_t *request, const char *by,
                        struct error *err)
{
    struct order_wish wish = { .by = by };
    const struct reclaim *order;
    const struct approval *waiting;

    if (order_read_wish(service, request, &wish, err) < 0 ||
        order_find(service, &wish, &order, err) < 0)
        return NULL;
    if (order)
        return repeat(service, order, wish.is_dry_run);
    waiting = wish.is_dry_run
                  ? NULL
                  : approvals_like(service, &(struct approval_wish){
                                                .request = (json_t *)(uintptr_t)request });
    return waiting ? approve_describe_waiting(&wish, waiting, true)
                   : reclaim_nodes(service, &wish, err);
}

int reclaim_approved(struct service *service, struct approval *approval, const char *by,
                     struct error *err)
{
    owned(json) json_t *request = json_incref(approval->request);
    owned(json) json_t *answer = NULL;
    struct order_wish wish = { .by = approval->by, .approval = approval, .approver = by };

    if (order_read_wish(service, request, &wish, err) < 0)
        return -1;
    answer = reclaim_nodes(service, &wish, err);
    return answer ? 0 : -1;
}
