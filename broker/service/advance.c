/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the plan to transfers: what the guard allows begins, in moves.  A move is what goes from one
 * pool to another for one reason at one time.
 */
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>
#include <string.h>

enum {
    /* Time for a production pool's replicas to be gone before its nodes are closed. */
    PRODUCTION_NOTICE_MS = 2 * MINUTE_MS,
    /* Time for the announcement to reach its node: the notice counts from there. */
    ANNOUNCE_MS = 15 * SECOND_MS,
};

static struct guard_load load_of(const struct service *service, const struct plan_pool *pool)
{
    struct guard_load load = { .nodes_left = pool->present - pool->unseen };

    for (size_t i = 0; i < service->runner->transfers.count; i++) {
        const struct transfer *transfer = service->runner->transfers.items[i];

        if (transfer->state != TRANSFER_LIVE)
            continue;
        load.in_flight++;
        load.in_flight_of_cluster += transfer->source->cluster == pool->config->cluster;
    }
    return load;
}

/* How many nodes may begin a scheduled move to the pool now, with the reason when that is not any
   number.  What was created in this turn of the loop is of this wave. */
static int64_t room_of(const struct service *service, const struct config_pool *pool,
                       struct error *err)
{
    struct attempts *attempts = service->runner->attempts;
    struct wall_time now = loop_wall(service->world->loop);
    int64_t earlier = 0;
    int64_t of_this_wave = 0;
    int64_t room;

    if (survey_allows_scheduled(service, pool->reservation, err) < 0 ||
        attempts_allow(attempts, pool, now, err) < 0)
        return 0;
    for (size_t i = 0; i < service->runner->transfers.count; i++) {
        const struct transfer *transfer = service->runner->transfers.items[i];

        if (transfer->state != TRANSFER_LIVE || transfer_goal(transfer) != pool)
            continue;
        earlier += transfer->created.ms != now.ms;
        of_this_wave += transfer->created.ms == now.ms;
    }
    room = route_room(attempts_route(attempts, pool), &service->config->guard, earlier,
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
    bool is_research = wish->source->cluster->role == ROLE_RESEARCH;
    char hex[11];

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
        transfer->departure = wall_whole_second(
            now.ms +
            (is_research ? service->config->drain.notice_ms + ANNOUNCE_MS : PRODUCTION_NOTICE_MS));
    text_copy(transfer->reason, sizeof transfer->reason,
              wish->is_emergency ? "reclaim"
              : is_research      ? "production needs it"
              : has_names(service, wish->source) && wish->node->named == 0
                  ? "production can spare it; those that the plan named cannot go or have gone"
                  : "production can spare it");
    return transfer;
}

static bool is_one_move(const struct plan_transfer *left, const struct plan_transfer *right)
{
    return left->source == right->source && left->target == right->target &&
           left->is_emergency == right->is_emergency;
}

/* Begins what is allowed of one move: the transfers from `first` on that belong together. */
static void begin_move(struct service *service, struct survey *survey, const struct plan *plan,
                       size_t first, bool *is_done)
{
    const struct plan_transfer *head = &plan->transfers.items[first];
    struct plan_pool *pool = &survey->pools[head->source - service->config->pools];
    struct guard_load load = load_of(service, pool);
    ARRAY(struct transfer *) begun = { 0 };
    ARRAY(const struct plan_transfer *) wishes = { 0 };
    char move[TRANSFER_ID_SIZE] = "m-";
    struct error err;
    struct error closed;
    int64_t room = head->is_emergency ? INT64_MAX : room_of(service, head->target, &closed);

    random_hex(service->world->random, move + 2, 9);
    for (size_t i = first; i < plan->transfers.count; i++) {
        const struct plan_transfer *wish = &plan->transfers.items[i];
        const struct node *node;

        if (is_done[i] || !is_one_move(head, wish))
            continue;
        is_done[i] = true;
        node = fleet_node_of(service->fleet, wish->source, wish->node->instance);
        require(node);
        if ((int64_t)begun.count >= room) {
            text_copy(service->held, sizeof service->held, closed.text);
            continue;
        }
        if (guard_allows_transfer(&service->guard, wish->source, wish->target, node, &load,
                                  wish->is_emergency, &err) < 0 ||
            (!wish->is_emergency &&
             quotas_allow_leaving(service->quotas, wish->source, &err) < 0)) {
            text_copy(service->held, sizeof service->held, err.text);
            continue;
        }
        *array_add(&begun) = new_transfer(service, wish, move);
        *array_add(&wishes) = wish;
        load.in_flight++;
        load.in_flight_of_cluster++;
        load.nodes_left--;
    }
    pool->present = load.nodes_left + pool->unseen; /* the pool's next move counts from here */
    if (begun.count > 0) {
        log_info("move_begins", FIELD_TEXT("move", move), FIELD_TEXT("from", head->source->name),
                 FIELD_TEXT("to", head->target->name), FIELD_INT("nodes", (int64_t)begun.count),
                 FIELD_TEXT("kind", head->is_emergency ? "reclaim" : "scheduled"));
        if (runner_begin(service->runner, begun.items, begun.count, &err) < 0)
            log_warn("move_refused", FIELD_TEXT("move", move), FIELD_TEXT("text", err.text));
        else
            bills_charge(service, survey, wishes.items, wishes.count);
    }
    array_clear(&begun);
    array_clear(&wishes);
}

static void withdraw(struct service *service, const struct plan *plan)
{
    for (size_t i = 0; i < plan->withdrawn.count; i++)
        for (size_t k = 0; k < service->runner->transfers.count; k++)
            if (text_equal(service->runner->transfers.items[k]->id, plan->withdrawn.items[i]))
                runner_withdraw(service->runner, service->runner->transfers.items[k],
                                "the plan does not want it any more");
}

/* Of a pool that nothing else wants a number of the plan says nothing: what was reclaimed for an
   order that a person has ended goes back. */
static void withdraw_ended(struct service *service, const struct survey *survey)
{
    for (size_t i = 0; i < service->runner->transfers.count; i++) {
        struct transfer *transfer = service->runner->transfers.items[i];
        const struct plan_pool *pool = &survey->pools[transfer->target - service->config->pools];

        if (transfer->state == TRANSFER_LIVE && pool->is_known && plan_wanted(pool) < 0 &&
            orders_end_covers(service, transfer))
            runner_withdraw(service->runner, transfer, "its reclaim was ended");
    }
}

void service_advance(struct service *service)
{
    owned(survey) struct survey *survey = NULL;
    owned(plan) struct plan *plan = NULL;
    bool *is_done;

    orders_trim(service);
    if (service->runner->is_broken)
        return;
    scaler_advance(service->scaler);
    service->held[0] = '\0';
    survey = survey_make(service, service->book);
    if (survey_wants_moves(survey))
        survey_weigh(service, survey);
    plan = plan_make(&survey->input);
    withdraw(service, plan);
    withdraw_ended(service, survey);
    is_done = mem_new_array(plan->transfers.count, sizeof *is_done);
    for (size_t i = 0; i < plan->transfers.count && !service->runner->is_broken; i++)
        if (!is_done[i])
            begin_move(service, survey, plan, i, is_done);
    mem_free(is_done);
    quotas_advance(service->quotas); /* without the nodes of moves that just began */
}
