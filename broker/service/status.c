/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What people see: the state of the world, of the moves, and of the time that is left.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/margin.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>

json_t *json_wall(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall, text));
}

json_t *holds_describe(const struct service *service)
{
    return json_make("{so so so so}", "freezes", freezes_describe(service, false), "frozen_nodes",
                     freezes_describe(service, true), "reclaims", reclaims_describe(service),
                     "approvals", approvals_describe(service, false));
}

/* The blockers of the node's pods, with the time that is left for them. */
static json_t *describe_blockers(const struct service *service, const struct transfer *transfer)
{
    struct wall_time now = loop_wall(service->world->loop);
    int64_t left_ms = transfer->drain_due.ms > 0 ? transfer->drain_due.ms - now.ms
                                                 : service->config->drain.deadline_ms;

    const struct config_cluster *cluster = transfer->source->cluster;
    const char *const nodes[] = { transfer->node };
    owned(json) json_t *rows =
        side_of(service->runner, cluster)->blockers(service->runner, cluster, nodes, 1, left_ms);

    return json_incref(json_array_get(rows, 0));
}

/* During the notice an operator can still remove what would block evictions. */
static char *waits_for(const struct transfer *transfer, const json_t *blockers)
{
    const json_t *worst = json_array_get(blockers, 0);

    if (transfer->state != TRANSFER_LIVE)
        return mem_copy_chars("");
    if (transfer->waiting[0] == '\0') /* after a restart a step has not looked yet */
        return mem_copy_chars("the first look after a start");
    if (transfer->is_undoing || transfer->step >= STEP_DRAIN ||
        !text_equal(json_text_or(worst, "verdict", ""), "never"))
        return mem_copy_chars(transfer->waiting);
    return text_format("%s; pod %.160s will have to be forced: %s", transfer->waiting,
                       json_text_or(worst, "pod", ""), json_text_or(worst, "text", ""));
}

json_t *transfer_describe(const struct service *service, const struct transfer *transfer)
{
    const struct runner *runner = service->runner;
    bool is_live = transfer->state == TRANSFER_LIVE;
    owned(json) json_t *blockers = is_live && step_can_undo(transfer->step)
                                       ? describe_blockers(service, transfer)
                                       : NULL;
    owned(chars) char *waiting = waits_for(transfer, blockers);
    json_t *row = json_make(
        "{ss ss ss ss ss ss ss sb sb so so so so so ss sb}", "transfer", transfer->id, "move",
        transfer->move, "node", transfer->node, "from", transfer->source->name, "to",
        transfer->target->name, "state", transfer_state_name(transfer->state), "step",
        transfer_steps[transfer->step].name, "is_emergency", (int)transfer->is_emergency,
        "is_undoing", (int)transfer->is_undoing, "created", json_wall(transfer->created), "since",
        json_wall(transfer->step_began), "departure", json_wall(transfer->departure), "due",
        json_wall(transfer->due), "expected", json_wall(runner_expected(runner, transfer, 95)),
        "waits_for", waiting, "needs_operator", (int)transfer->needs_operator);

    json_object_set_new(row, "expected_p50", json_wall(runner_expected(runner, transfer, 50)));
    json_object_set_new(row, "reason", json_text(transfer->reason));
    json_object_set_new(row, "announced", json_wall(transfer->announced));
    json_object_set_new(row, "held", json_text(transfer->held));
    json_object_set_new(row, "instance", json_text(transfer->instance));
    json_object_set_new(row, "new_instance", json_text(transfer->new_instance));
    json_object_set_new(row, "new_node", json_text(transfer->new_node));
    json_object_set_new(row, "attempt", json_integer(transfer->attempt));
    json_object_set_new(row, "is_returning", json_boolean(transfer->is_returning));
    if (blockers)
        json_object_set(row, "blockers", blockers);
    if (transfer->cordoned.ms > 0 && !is_live)
        json_object_set_new(
            row, "lead_s",
            json_integer((json_int_t)((transfer->ended.ms - transfer->cordoned.ms) / SECOND_MS)));
    return row;
}

static json_t *describe_transfers(const struct service *service, bool all)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->runner->transfers.count; i++) {
        const struct transfer *transfer = service->runner->transfers.items[i];

        if (all || transfer->state == TRANSFER_LIVE)
            json_array_append_new(rows, transfer_describe(service, transfer));
    }
    return rows;
}

/* At most so many live ones. */
static json_t *describe_first(const struct service *service, size_t most)
{
    const struct runner *runner = service->runner;
    json_t *rows = json_array();

    for (int is_urgent = 1; is_urgent >= 0; is_urgent--)
        for (size_t i = 0; i < runner->transfers.count && json_array_size(rows) < most; i++) {
            const struct transfer *transfer = runner->transfers.items[i];

            if (transfer->state == TRANSFER_LIVE && transfer->needs_operator == (is_urgent == 1))
                json_array_append_new(rows, transfer_describe(service, transfer));
        }
    return rows;
}

json_t *service_transfers(struct service *service, bool all)
{
    return json_make("{ss so so}", "kind", "transfers", "at",
                     json_wall(loop_wall(service->world->loop)), "transfers",
                     describe_transfers(service, all));
}

/* The transfer of a node, the old one or the new one: a live one, else the last. */
static const struct transfer *transfer_of_node(const struct service *service, const char *node)
{
    const struct transfer *found = NULL;

    for (size_t i = 0; i < service->runner->transfers.count; i++) {
        const struct transfer *transfer = service->runner->transfers.items[i];
        bool is_live = transfer->state == TRANSFER_LIVE;

        if ((text_equal(transfer->node, node) || text_equal(transfer->new_node, node)) &&
            (!found || is_live || found->state != TRANSFER_LIVE))
            found = transfer;
    }
    return found;
}

json_t *service_transfer(struct service *service, const char *id, struct error *err)
{
    const struct transfer *transfer = runner_transfer(service->runner, id);

    if (!transfer && id[0] != '\0')
        transfer = transfer_of_node(service, id);
    if (transfer)
        return transfer_describe(service, transfer);
    error_set(err, ERROR_NOT_FOUND, "there is no transfer %s, and none of a node of that name", id);
    return NULL;
}

/* Numbers of one cluster over its pools. */
struct tally {
    int64_t present;
    int64_t wanted; /* -1: nothing wants a number */
    int64_t incoming;
    int64_t outgoing;
    int64_t leaving; /* of those, still here */
    int64_t static_nodes;
    int64_t gpus;   /* allocatable on Ready nodes */
    int64_t age_ms; /* of the oldest list of a pool */
    const char *trouble;
};

static void tally_pool(const struct service *service, const struct plan_pool *pool,
                       struct tally *tally)
{
    const struct fleet_pool *listed = fleet_pool(service->fleet, pool->config);
    int64_t age_ms = loop_now(service->world->loop) - listed->began_ms;
    const struct transfer *transfer;

    tally->present += pool->present;
    tally->incoming += pool->incoming;
    tally->static_nodes += pool->config->static_nodes;
    if (plan_wanted(pool) >= 0 && pool->config->cluster->role == ROLE_PRODUCTION)
        tally->wanted = (tally->wanted < 0 ? 0 : tally->wanted) + plan_wanted(pool);
    if (!listed->is_known || age_ms > tally->age_ms)
        tally->age_ms = listed->is_known ? age_ms : INT64_MAX;
    if (listed->trouble.kind != ERROR_NONE)
        tally->trouble = listed->trouble.text;
    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        if (transfer->is_undoing || transfer->is_returning || transfer->source != pool->config)
            continue;
        tally->outgoing++;
        tally->leaving += transfer->step <= STEP_RELEASE;
    }
}

/* The words of the problems, the worst first, and of a freeze; else what moves, or OK. */
static json_t *states_of(const struct service *service, const struct config_cluster *cluster,
                         const struct tally *tally, const json_t *health)
{
    json_t *states = conditions_words(health, cluster->name);
    const char *calm = tally->outgoing > 0 ? "LEAVING" : tally->incoming > 0 ? "GROWING" : "OK";

    if (guard_freeze(&service->guard, cluster, loop_wall(service->world->loop)))
        json_array_append_new(states, json_text("FROZEN"));
    if (json_array_size(states) == 0)
        json_array_append_new(states, json_text(calm));
    return states;
}

/* A pool that was never listed has an unknown number of nodes, not none. */
static json_t *known(const struct tally *tally, int64_t number)
{
    return tally->age_ms == INT64_MAX ? json_null() : json_integer((json_int_t)number);
}

static json_t *describe_cluster(const struct service *service, const struct survey *survey,
                                const struct config_cluster *cluster, const json_t *health)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);
    owned(json) json_t *states = NULL;
    struct tally tally = { .wanted = -1, .trouble = "" };
    const char *watch_trouble;
    int64_t here;
    owned(chars) char *trouble = NULL;
    void *value;

    for (size_t i = 0; i < service->config->pool_count; i++)
        if (service->config->pools[i].cluster == cluster)
            tally_pool(service, &survey->pools[i], &tally);
    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;

        if (node->is_ready && !node_has_taint(node, SLUICE_TAINT_STARTING))
            tally.gpus += gpus_of_node(snapshot, node);
    }
    here = tally.present + tally.leaving;
    watch_trouble = cluster_trouble(fleet_cluster(service->fleet, cluster));
    trouble = text_format("%s%s%s", watch_trouble, watch_trouble[0] && tally.trouble[0] ? "; " : "",
                          tally.trouble);
    states = states_of(service, cluster, &tally, health);
    return json_make("{ss ss so so sI so sI sI sI so ss sO ss}", "cluster", cluster->name, "role",
                     cluster->role_name, "nodes", known(&tally, here), "wanted_nodes",
                     tally.wanted < 0 ? json_null() : json_integer((json_int_t)tally.wanted),
                     "static_nodes", (json_int_t)tally.static_nodes, "ephemeral_nodes",
                     known(&tally, here > tally.static_nodes ? here - tally.static_nodes : 0),
                     "incoming_nodes", (json_int_t)tally.incoming, "outgoing_nodes",
                     (json_int_t)tally.outgoing, "ready_gpus", (json_int_t)tally.gpus, "age_s",
                     tally.age_ms == INT64_MAX
                         ? json_null()
                         : json_integer((json_int_t)(tally.age_ms / SECOND_MS)),
                     "state", json_string_value(json_array_get(states, 0)), "states", states,
                     "trouble", trouble);
}

static json_t *describe_pool(const struct service *service, const struct plan_pool *pool)
{
    const struct config_pool *config = pool->config;
    struct tally tally = { .wanted = -1, .trouble = "" };
    int64_t here, movable;

    tally_pool(service, pool, &tally);
    here = tally.present + tally.leaving;
    movable = here > tally.static_nodes ? here - tally.static_nodes : 0;
    return json_make(
        "{ss ss ss ss ss so sI so sI sI so so}", "pool", config->name, "cluster",
        config->cluster->name, "reservation", config->reservation->name, "machine",
        config->reservation->machine, "zone", config->reservation->zone, "nodes",
        known(&tally, here), "static_nodes", (json_int_t)tally.static_nodes, "ephemeral_nodes",
        known(&tally, movable), "incoming_nodes", (json_int_t)tally.incoming, "outgoing_nodes",
        (json_int_t)tally.outgoing, "wanted_nodes",
        tally.wanted < 0 ? json_null() : json_integer((json_int_t)tally.wanted), "age_s",
        tally.age_ms == INT64_MAX ? json_null()
                                  : json_integer((json_int_t)(tally.age_ms / SECOND_MS)));
}

static json_t *describe_pools(const struct service *service, const struct survey *survey)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->pool_count; i++)
        json_array_append_new(rows, describe_pool(service, &survey->pools[i]));
    return rows;
}

/* The number of live transfers at each step, and of those that need a person. */
static json_t *describe_steps(const struct service *service, int *ret_count)
{
    json_t *steps = json_object();
    int counts[STEP_COUNT] = { 0 };
    int operators = 0;
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        (*ret_count)++;
        counts[transfer->step]++;
        operators += transfer->needs_operator;
    }
    for (int i = 0; i < STEP_COUNT; i++)
        json_object_set_new(steps, i == STEP_HAND_OVER ? "hand_over" : transfer_steps[i].name,
                            json_integer(counts[i]));
    json_object_set_new(steps, "needs_operator",
                        json_integer(operators + unreadable_operators(service)));
    return steps;
}

static json_t *describe_reservations(const struct service *service, const struct survey *survey)
{
    const struct config *config = service->config;
    json_t *rows = json_array();

    for (size_t i = 0; i < config->reservation_count; i++) {
        int64_t present = 0;
        int64_t in_transit = 0;

        for (size_t k = 0; k < config->pool_count; k++) {
            if (config->pools[k].reservation != &config->reservations[i])
                continue;
            present += survey->pools[k].present;
            in_transit += survey->pools[k].incoming;
        }
        json_array_append_new(
            rows,
            json_make("{ss ss ss sI sI sI}", "reservation", config->reservations[i].name, "machine",
                      config->reservations[i].machine, "zone", config->reservations[i].zone,
                      "reserved_nodes", (json_int_t)config->reservations[i].nodes, "nodes",
                      (json_int_t)present, "moving_nodes", (json_int_t)in_transit));
    }
    return rows;
}

static const char *local_text(const struct service *service, struct wall_time wall, char *out,
                              size_t size)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    struct local_time local = time_zone_local(service->config->windows->zone, wall);

    text_print(out, size, "%s %04d-%02d-%02d %02d:%02d %s", days[local.weekday], local.date.year,
               local.date.month, local.date.day, local.minute_of_day / 60, local.minute_of_day % 60,
               local.abbreviation);
    return out;
}

static void add_margin(json_t *status, const struct service *service)
{
    struct margin margin = service_margin(service, NULL);
    int count = 0;
    json_t *steps = describe_steps(service, &count);

    json_object_set_new(status, "live_transfers", json_integer(count));
    json_object_set_new(status, "steps", steps);
    json_object_set_new(status, "margin_s",
                        margin.is_known ? json_integer((json_int_t)(margin.ms / SECOND_MS))
                                        : json_null());
    json_object_set_new(status, "margin_for", json_wall(margin.due));
}

/* Whether the lead times of every lead key to production are learned. */
static bool is_lead_learned(const struct service *service)
{
    bool is_learned = true;

    for (size_t i = 0; i < service->config->pool_count; i++)
        is_learned &=
            service->config->pools[i].cluster->role != ROLE_PRODUCTION ||
            lead_series_known(
                &lead_book_of(service->runner->leads, &service->config->pools[i])->whole) > 0;
    return is_learned;
}

json_t *service_leads(const struct service *service)
{
    return json_make("{so}", "leads", lead_book_describe(service->runner->leads));
}

json_t *service_status(struct service *service)
{
    json_t *status = service_status_of(service, 0);

    json_object_set_new(status, "transfers", describe_transfers(service, false));
    return status;
}

json_t *service_status_of(struct service *service, size_t most)
{
    const struct config *config = service->config;
    struct wall_time now = loop_wall(service->world->loop);
    struct wall_time change = window_next_change(config->windows, now);
    owned(survey) struct survey *survey = survey_make(service, service->book);
    json_t *health;
    json_t *clusters = json_array();
    json_t *status;
    char local[64];

    service_look(service, survey, false);
    health = health_describe(service->health);
    for (size_t i = 0; i < config->cluster_count; i++)
        json_array_append_new(clusters,
                              describe_cluster(service, survey, &config->clusters[i], health));
    status = json_make(
        "{ss so ss ss so ss so so so so so sI sI sb}", "kind", "status", "at", json_wall(now),
        "local", local_text(service, now, local, sizeof local), "window",
        window_at(config->windows, now)->name, "window_until", json_wall(change), "next_window",
        change.ms == 0 ? "" : window_at(config->windows, change)->name, "clusters", clusters,
        "reservations", describe_reservations(service, survey), "workloads",
        scaler_describe(service->scaler), "overrides", holds_describe(service), "warnings",
        conditions_texts(health), "lead_p50_s",
        (json_int_t)(runner_lead_ms(service->runner, NULL, 50) / SECOND_MS), "lead_p95_s",
        (json_int_t)(runner_lead_ms(service->runner, NULL, 95) / SECOND_MS), "is_lead_learned",
        (int)is_lead_learned(service));
    json_object_set_new(status, "health", health);
    json_object_set_new(status, "pools", describe_pools(service, survey));
    json_object_set_new(status, "quotas", quotas_describe(service->quotas));
    json_object_set_new(status, "unknown", survey_unknown(service, NULL));
    json_object_set_new(status, "webhooks", webhooks_describe(service->webhooks));
    add_margin(status, service);
    json_object_set_new(status, "notice_violations",
                        json_integer((json_int_t)service->runner->notices.violations));
    json_object_set_new(status, "emergency_evictions",
                        json_integer((json_int_t)service->runner->notices.emergencies));
    json_object_set_new(status, "transfers", describe_first(service, most));
    for (size_t i = 0; i < FACE_PLACES; i++)
        if (service->faces[i].describe)
            service->faces[i].describe(service->faces[i].context, status);
    return status;
}
