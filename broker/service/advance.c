/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the plan to transfers: begins those that the guard allows, in moves.  A move is the set of
 * transfers between the same two pools for one reason at one time.
 */
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/notice.h"

#include <inttypes.h>
#include <string.h>

/* What of a plan may begin now. */
struct permits {
    struct service *service;
    struct survey *survey;
    const struct plan *plan;
    bool *is_seen;    /* per transfer: looked at in this pass */
    bool *is_allowed; /* it may begin, beside those that are allowed before it */
    bool *is_dropped; /* it may not, because its unit cannot begin whole */
    bool *is_queued;  /* it may as soon as others have ended */
};

static void permits_init(struct permits *permits, struct service *service, struct survey *survey,
                         const struct plan *plan)
{
    *permits = (struct permits){ .service = service, .survey = survey, .plan = plan };
    permits->is_seen = mem_new_array(plan->transfers.count, sizeof *permits->is_seen);
    permits->is_allowed = mem_new_array(plan->transfers.count, sizeof *permits->is_allowed);
    permits->is_dropped = mem_new_array(plan->transfers.count, sizeof *permits->is_dropped);
    permits->is_queued = mem_new_array(plan->transfers.count, sizeof *permits->is_queued);
}

static void permits_clear(struct permits *permits)
{
    mem_free(permits->is_seen);
    mem_free(permits->is_allowed);
    mem_free(permits->is_dropped);
    mem_free(permits->is_queued);
}

/* The load, with the transfers that are allowed so far. */
static struct guard_load load_of(const struct permits *permits, const struct config_pool *source)
{
    const struct service *service = permits->service;
    const struct plan_pool *pool = &permits->survey->pools[source - service->config->pools];
    struct guard_load load = { .nodes_left = pool->present - pool->unseen };
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        load.in_flight++;
        load.in_flight_of_cluster += transfer->source->cluster == source->cluster;
    }
    for (size_t i = 0; i < permits->plan->transfers.count; i++) {
        const struct plan_transfer *wish = &permits->plan->transfers.items[i];

        if (!permits->is_allowed[i])
            continue;
        load.in_flight++;
        load.in_flight_of_cluster += wish->source->cluster == source->cluster;
        load.nodes_left -= wish->source == source;
    }
    return load;
}

/* How many nodes may begin a scheduled move to the pool now, with the reason if the number is
   limited.  Nodes allowed in this turn of the loop belong to this wave. */
static int64_t room_of(const struct permits *permits, const struct config_pool *pool,
                       struct error *err)
{
    const struct service *service = permits->service;
    struct attempts *attempts = service->runner->attempts;
    struct wall_time now = loop_wall(service->world->loop);
    int64_t earlier = 0;
    int64_t of_this_wave = 0;
    const struct transfer *transfer;
    int64_t room;

    if (survey_allows_scheduled(service, pool->reservation, err) < 0 ||
        attempts_allow(attempts, pool, now, err) < 0)
        return 0;
    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        if (transfer_goal(transfer) != pool)
            continue;
        earlier += transfer->created.ms != now.ms;
        of_this_wave += transfer->created.ms == now.ms;
    }
    for (size_t i = 0; i < permits->plan->transfers.count; i++)
        of_this_wave += permits->is_allowed[i] && permits->plan->transfers.items[i].target == pool;
    room = lane_room(attempts_lane(attempts, pool), &service->config->guard, pool->group, earlier,
                     of_this_wave);
    if (room < INT64_MAX)
        error_set(
            err, ERROR_DENIED,
            "moves to pool %s grow by waves: the next begins when the nodes of this one serve",
            pool->name);
    return room;
}

/* Whether the plan that was applied last named nodes of the pool. */
static bool has_names(const struct service *service, const struct config_pool *pool)
{
    size_t length = strlen(pool->name);
    const char *name;

    if (pool->group > 1) /* names do not bind there */
        return false;
    for (size_t i = 0; map_next(service->named, &i, &name, NULL);)
        if (strncmp(name, pool->name, length) == 0 && name[length] == '/')
            return true;
    return false;
}

static struct transfer *new_transfer(struct service *service, const struct plan_transfer *wish,
                                     const char *move)
{
    struct transfer *transfer = transfer_new();
    struct wall_time now = loop_wall(service->world->loop);
    enum cluster_role role = wish->source->cluster->role;
    char hex[11];

    require(wish->source->reservation == wish->target->reservation);
    require(wish->source != wish->target && wish->node->uid[0] != '\0');
    random_hex(service->world->random, hex, sizeof hex);
    text_copy(transfer->id, sizeof transfer->id, "t-");
    text_copy(transfer->id + 2, sizeof transfer->id - 2, hex);
    text_copy(transfer->move, sizeof transfer->move, move);
    text_copy(transfer->node, sizeof transfer->node, wish->node->facts.name);
    text_copy(transfer->node_uid, sizeof transfer->node_uid, wish->node->uid);
    text_copy(transfer->instance, sizeof transfer->instance, wish->node->instance);
    transfer->source = wish->source;
    transfer->target = wish->target;
    transfer->is_emergency = wish->is_emergency;
    transfer->created = now;
    transfer->due = wish->due;
    transfer->departure = now;
    if (!wish->is_emergency)
        transfer->departure = wall_whole_second(now.ms + notice_ahead_ms(service->config, role));
    text_copy(transfer->reason, sizeof transfer->reason,
              wish->is_emergency      ? "reclaim"
              : role == ROLE_RESEARCH ? "production needs it"
              : has_names(service, wish->source) && wish->node->named == 0
                  ? "production can spare it; those that the plan named cannot go or have gone"
                  : "production can spare it");
    require(transfer->departure.ms >= now.ms); /* no notice was over before it was given */
    return transfer;
}

static bool is_one_move(const struct plan_transfer *left, const struct plan_transfer *right)
{
    return left->source == right->source && left->target == right->target &&
           left->is_emergency == right->is_emergency;
}

/* The guard's verdict on one move: the transfers from `first` on that belong together. */
static void decide_move(struct permits *permits, size_t first)
{
    struct service *service = permits->service;
    const struct plan_transfer *head = &permits->plan->transfers.items[first];
    struct guard_load load = load_of(permits, head->source);
    struct error err;
    struct error closed;
    int64_t room = head->is_emergency ? INT64_MAX : room_of(permits, head->target, &closed);

    for (size_t i = first; i < permits->plan->transfers.count; i++) {
        const struct plan_transfer *wish = &permits->plan->transfers.items[i];
        const struct node *node;

        if (permits->is_seen[i] || permits->is_dropped[i] || !is_one_move(head, wish))
            continue;
        permits->is_seen[i] = true;
        node = fleet_node_of_name(service->fleet, wish->source, wish->node->instance);
        require(node);
        if (room <= 0) {
            text_copy(service->held, sizeof service->held, closed.text);
            continue;
        }

        const struct instance *machine = map_get(
            fleet_pool(service->fleet, wish->source)->instances, wish->node->instance);

        require(machine);

        const struct guard_question question = {
            .source = wish->source,
            .target = wish->target,
            .node = node,
            .load = load,
            .ends = fleet_ends(wish->source, machine),
            .pays_off_ms = survey_pays_off_ms(service, wish->target->cluster, wish->is_emergency),
            .is_emergency = wish->is_emergency,
        };

        if (guard_allows_transfer(&service->guard, &question, &err) < 0 ||
            (!wish->is_emergency &&
             quotas_allow_leaving(service->quotas, wish->source, &err) < 0)) {
            text_copy(service->held, sizeof service->held, err.text);
            permits->is_queued[i] = err.cause == &guard_is_full;
            continue;
        }
        permits->is_allowed[i] = true;
        room--;
        load.in_flight++;
        load.in_flight_of_cluster++;
        load.nodes_left--;
        require(load.nodes_left >= head->source->static_nodes); /* the guard saw to it */
    }
}

/* Drops the units of which only a part may begin, because half a group serves nothing.  Returns
   whether there were any: other units may begin in their place. */
static bool drop_parts(struct permits *permits)
{
    const struct plan *plan = permits->plan;
    bool is_dropped = false;

    for (size_t i = 0; i < plan->transfers.count; i++)
        for (size_t k = 0; k < plan->transfers.count && !permits->is_allowed[i]; k++) {
            if (plan->transfers.items[k].unit != plan->transfers.items[i].unit)
                continue;
            is_dropped = is_dropped || permits->is_allowed[k];
            permits->is_dropped[k] = permits->is_dropped[k] || permits->is_allowed[k];
            permits->is_dropped[i] = permits->is_dropped[i] || permits->is_allowed[k];
        }
    return is_dropped;
}

static void decide(struct permits *permits)
{
    size_t count = permits->plan->transfers.count;

    do {
        memset(permits->is_seen, 0, count * sizeof *permits->is_seen);
        memset(permits->is_allowed, 0, count * sizeof *permits->is_allowed);
        for (size_t i = 0; i < count; i++)
            if (!permits->is_seen[i] && !permits->is_dropped[i])
                decide_move(permits, i);
    } while (drop_parts(permits));
}

/* With the others of their units, which wait for them. */
static void count_queued(const struct permits *permits)
{
    struct service *service = permits->service;
    const struct plan *plan = permits->plan;
    size_t units = 0;
    bool *is_queued;

    for (size_t i = 0; i < plan->transfers.count; i++)
        units = plan->transfers.items[i].unit >= units ? plan->transfers.items[i].unit + 1 : units;
    is_queued = mem_new_array(units, sizeof *is_queued);
    for (size_t i = 0; i < plan->transfers.count; i++)
        is_queued[plan->transfers.items[i].unit] |= permits->is_queued[i];
    memset(service->queued, 0, service->config->pool_count * sizeof *service->queued);
    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *wish = &plan->transfers.items[i];

        service->queued[wish->target - service->config->pools] += !permits->is_allowed[i] &&
                                                                  is_queued[wish->unit];
    }
    mem_free(is_queued);
}

/* Begins what is allowed of one move. */
static void begin_move(const struct permits *permits, size_t first, bool *is_done)
{
    struct service *service = permits->service;
    const struct plan_transfer *head = &permits->plan->transfers.items[first];
    ARRAY(struct transfer *) begun = { 0 };
    ARRAY(const struct plan_transfer *) wishes = { 0 };
    char move[TRANSFER_ID_SIZE] = "m-";
    struct error err;

    random_hex(service->world->random, move + 2, 9);
    for (size_t i = first; i < permits->plan->transfers.count; i++) {
        const struct plan_transfer *wish = &permits->plan->transfers.items[i];

        if (is_done[i] || !is_one_move(head, wish))
            continue;
        is_done[i] = true;
        if (!permits->is_allowed[i])
            continue;
        *array_add(&begun) = new_transfer(service, wish, move);
        *array_add(&wishes) = wish;
    }
    if (begun.count > 0) {
        log_info("move_begins", FIELD_TEXT("move", move), FIELD_TEXT("from", head->source->name),
                 FIELD_TEXT("to", head->target->name), FIELD_INT("nodes", (int64_t)begun.count),
                 FIELD_TEXT("kind", head->is_emergency ? "reclaim" : "scheduled"));
        if (runner_begin(service->runner, begun.items, begun.count, &err) < 0)
            log_warn("move_refused", FIELD_TEXT("move", move), FIELD_TEXT("text", err.text));
        else
            bills_charge(service, permits->survey, wishes.items, wishes.count);
    }
    array_clear(&begun);
    array_clear(&wishes);
}

/* Whether a move was begun. */
static bool begin_moves(const struct permits *permits)
{
    size_t count = permits->plan->transfers.count;
    bool *is_done = mem_new_array(count, sizeof *is_done);
    size_t known = permits->service->runner->transfers.count;

    for (size_t i = 0; i < count && !permits->service->runner->is_broken; i++)
        if (!is_done[i])
            begin_move(permits, i, is_done);
    mem_free(is_done);
    return permits->service->runner->transfers.count != known;
}

static void withdraw(struct service *service, const struct plan *plan)
{
    for (size_t i = 0; i < plan->withdrawn.count; i++) {
        struct transfer *transfer = runner_transfer(service->runner, plan->withdrawn.items[i]);

        if (transfer)
            runner_withdraw(service->runner, transfer, "the plan does not want it any more");
    }
}

/* A reclaim was ended by a person: its transfers are withdrawn.  The plan itself does not do this
   for a pool in which nothing else wants a number. */
static void withdraw_ended(struct service *service, const struct survey *survey)
{
    struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        const struct plan_pool *pool = &survey->pools[transfer->target - service->config->pools];

        if (pool->is_known && plan_wanted(pool) < 0 && orders_end_covers(service, transfer))
            runner_withdraw(service->runner, transfer, "its reclaim was ended");
    }
}

static struct reclaim *reclaim_of_id(struct service *service, const char *id)
{
    for (size_t i = 0; i < service->reclaims.count; i++)
        if (text_equal(service->reclaims.items[i].id, id))
            return &service->reclaims.items[i];
    require(false);
    return NULL;
}

/* Stores the order in which the plan serves the reclaims of a pool, before their transfers begin.
 */
static void order_reclaims(struct service *service, const struct survey *survey,
                           const struct plan *plan)
{
    struct journal_batch *batch = NULL;
    struct error err;

    for (size_t i = 0; i < service->config->pool_count && plan->passes.count > 0; i++) {
        const struct plan_pool *pool = &survey->pools[i];

        for (size_t k = 0; k < pool->reclaims.count; k++) {
            int64_t level = plan_level_after(plan, pool, &pool->reclaims.items[k]);
            struct reclaim *reclaim = reclaim_of_id(service, pool->reclaims.items[k].id);
            owned(json) json_t *value = NULL;

            require(level > 0 && reclaim->level == pool->reclaims.items[k].level);
            if (level == reclaim->level)
                continue;
            reclaim->level = level;
            value = reclaim_encode(reclaim);
            batch = batch ?: journal_batch_new(service->epoch);
            journal_put(batch, "reclaim", reclaim->id, reclaim->rev++, value);
        }
    }
    if (batch && journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}

void service_advance(struct service *service)
{
    owned(survey) struct survey *survey = NULL;
    owned(plan) struct plan *plan = NULL;
    struct permits permits;
    bool has_begun;

    orders_trim(service);
    approvals_advance(service);
    if (service->runner->is_broken)
        return;
    scaler_advance(service->scaler);
    service->held[0] = '\0';
    survey = survey_make(service, service->book);
    if (survey_wants_moves(survey))
        survey_weigh(service, survey);
    plan = plan_make(&survey->input);
    order_reclaims(service, survey, plan);
    if (service->runner->is_broken)
        return;
    withdraw(service, plan);
    withdraw_ended(service, survey);
    stays_withdraw(service);
    permits_init(&permits, service, survey, plan);
    decide(&permits);
    count_queued(&permits);
    has_begun = begin_moves(&permits);
    permits_clear(&permits);
    quotas_advance(service->quotas); /* without the nodes of moves that just began */
    if (has_begun) {
        survey_free(survey);
        survey = survey_make(service, service->book);
    }
    service_look(service, survey, true);
}
