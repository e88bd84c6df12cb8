/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The conditions that an operator should see first: why nothing moves, which transfers need help,
 * and marks of an earlier broker.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/service/supply.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SLOW_WRITE_MS = 5 * SECOND_MS, PLAN_GRACE_MS = 6 * HOUR_MS };
enum { FIRST_ANSWERS_MS = 10 * SECOND_MS };

static void add(struct health *health, enum condition_kind kind, const char *what,
                const char *cluster, char *text)
{
    const struct condition condition = { .kind = kind, .what = what, .cluster = cluster };

    health_add(health, &condition, text);
}

/* Decisions wait for the journal's disk. */
static void add_disk(const struct service *service, struct health *health)
{
    const struct condition condition = {
        .kind = CONDITION_JOURNAL_DOUBT,
        .what = "disk",
        .advice =
            "look at the disk of the setting `journal`: is it overloaded, or its server gone? "
            "sluice goes on by itself when the disk answers",
    };
    int64_t write_ms = journal_write_ms(service->world->journal);
    char duration[DURATION_TEXT_SIZE];

    if (write_ms >= SLOW_WRITE_MS)
        health_add(health, &condition,
                   text_format("the journal's disk has been writing for %s: until it has, nothing "
                               "that was decided since is done",
                               duration_format(write_ms, duration)));
}

/* Whether the pool's cluster or cloud may still bring its first answer. */
static bool awaits_answer(const struct service *service, const struct config_pool *pool)
{
    return loop_now(service->world->loop) - service->started_ms < FIRST_ANSWERS_MS &&
           cluster_is_heard(fleet_cluster(service->fleet, pool->cluster)) &&
           fleet_pool(service->fleet, pool)->trouble.kind == ERROR_NONE;
}

static void add_freezes(const struct service *service, struct health *health)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];
        const struct condition condition = { .kind = CONDITION_FROZEN, .what = freeze->cluster };
        char until[WALL_TEXT_SIZE];

        if (freeze->node[0] == '\0' && freeze->until.ms > loop_wall(service->world->loop).ms)
            health_add(health, &condition,
                       text_format("%s: frozen until %s by %s: %s",
                                   freeze->cluster[0] ? freeze->cluster : "all clusters",
                                   wall_format(freeze->until, until), freeze->by, freeze->reason));
    }
}

/* Learned lead times that recent transfers exceed: what was promised by them may not hold. */
static void add_drifts(const struct service *service, struct health *health)
{
    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        const struct condition condition = { .kind = CONDITION_LEAD_TIME_DRIFTS,
                                             .what = pool->reservation->name };
        struct lead_drift drift;
        char usual[DURATION_TEXT_SIZE];

        if (lead_series_drifts(&lead_book_of(service->runner->leads, pool)->whole, &drift))
            health_add(health, &condition,
                       text_format("of the last %zu nodes to %s in %s, %zu took longer than the %s "
                                   "that plans count on (p95)",
                                   drift.looked, pool->cluster->role_name, pool->reservation->name,
                                   drift.late, duration_format(drift.usual_ms, usual)));
    }
}

/* Pools that no plan counts on. */
static void add_unknown(const struct service *service, struct health *health)
{
    owned(json) json_t *unknown = survey_unknown(service, NULL);
    const json_t *row;
    size_t i;

    json_array_foreach(unknown, i, row) {
        const char *seen = json_text_or(row, "seen", NULL);
        const struct config_pool *pool = config_pool(service->config,
                                                     json_text_or(row, "pool", ""));
        struct condition condition = { .kind = CONDITION_POOL_STALE,
                                       .what = pool->name,
                                       .cluster = pool->cluster->name };

        if (seen)
            require(wall_parse(seen, false, &condition.since, NULL) == 0);
        condition.is_early = !seen && awaits_answer(service, pool);
        health_add(health, &condition,
                   text_format("pool %s neither gives nor takes nodes, %s%s: %s", pool->name,
                               seen ? "last seen at " : "never seen", seen ?: "",
                               json_text_or(row, "reason", "")));
    }
}

/* Capacity that ends within a day, pool by pool; no plan counts on it near its end. */
static void add_ends(const struct service *service, struct health *health)
{
    int64_t soon_ms = loop_wall(service->world->loop).ms + DAY_MS;

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        struct wall_time first = { INT64_MAX };
        char time[WALL_TEXT_SIZE];
        int64_t count = 0;
        void *value;

        for (size_t at = 0;
             map_next(fleet_pool(service->fleet, pool)->instances, &at, NULL, &value);) {
            struct wall_time ends = fleet_ends(pool, value);

            count += ends.ms > 0 && ends.ms <= soon_ms;
            if (ends.ms > 0 && ends.ms < first.ms)
                first = ends;
        }
        if (count > 0)
            add(health, CONDITION_CAPACITY_ENDS, pool->name, pool->cluster->name,
                text_format("the capacity of %" PRId64 " machines of pool %s ends from %s on: "
                            "nothing is planned on them",
                            count, pool->name, wall_format(first, time)));
    }
}

/* Times on the cluster's objects are read by its own clock. */
static void add_clocks(const struct service *service, struct health *health)
{
    for (size_t i = 0; i < service->config->cluster_count; i++) {
        const struct config_cluster *cluster = &service->config->clusters[i];
        int64_t ahead_ms = fleet_snapshot(service->fleet, cluster)->ahead_ms;
        char duration[DURATION_TEXT_SIZE];

        if (ahead_ms == 0)
            continue;
        add(health, CONDITION_CLOCK_OFF, cluster->name, NULL,
            text_format("the clock of %s's API server is %s %s ours", cluster->name,
                        duration_format(llabs(ahead_ms), duration),
                        ahead_ms > 0 ? "ahead of" : "behind"));
    }
}

static void add_operators(const struct service *service, struct health *health)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        const struct condition condition = { .kind = CONDITION_OPERATOR_NEEDED,
                                             .since = transfer->step_began,
                                             .what = transfer->id,
                                             .cluster = transfer->source->cluster->name };

        if (transfer->needs_operator)
            health_add(health, &condition,
                       text_format("transfer %s of %s needs a person at step %s: %s", transfer->id,
                                   transfer->node, transfer_steps[transfer->step].name,
                                   transfer->waiting));
    }
}

/* For a day, so that who comes to work sees it; the counter and the events keep it. */
static void add_notices(const struct service *service, struct health *health)
{
    const struct notice_counts *notices = &service->runner->notices;
    int64_t age_ms = loop_wall(service->world->loop).ms - notices->violated.ms;
    const struct condition condition = { .kind = CONDITION_NOTICE_BROKEN,
                                         .since = notices->violated };

    if (notices->violated.ms > 0 && age_ms < DAY_MS)
        health_add(health, &condition,
                   text_format("a pod had to leave with less notice than was promised, %" PRId64
                               " so far",
                               notices->violations));
}

/* Hosts that are not used for a while, each with what happened there. */
static void add_hosts(const struct service *service, struct health *health)
{
    struct wall_time now = loop_wall(service->world->loop);
    owned(json) json_t *hosts = attempts_hosts(service->runner->attempts, now);
    const json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host) {
        add(health, CONDITION_HOST_QUARANTINED, json_text_or(host, "host", ""), NULL,
            text_format("host %s is in quarantine until %s: %s", json_text_or(host, "host", ""),
                        json_text_or(host, "until", ""), json_text_or(host, "text", "")));
    }
}

/* The mark stayed on a node that was the transfer's tenant: Slurm was silent until the transfer
   ended. Its own node has gone with the machine. */
static bool was_tenant_of(const struct transfer *transfer, const struct config_cluster *cluster)
{
    return transfer && transfer->state != TRANSFER_LIVE && transfer->source->cluster != cluster &&
           transfer->target->cluster != cluster;
}

/* Nodes that carry the mark of a transfer that the journal does not know: another broker's, or of a
   journal that was lost; or of one that has ended.  No service will restore them. */
static void add_strays(const struct service *service, const struct config_cluster *cluster,
                       struct health *health)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);
    void *value;

    for (size_t i = 0; map_next(snapshot->nodes, &i, NULL, &value);) {
        const struct node *node = value;
        const char *id = node_annotation(node, SLUICE_NOTE_TRANSFER);

        const struct transfer *transfer = id ? runner_transfer(service->runner, id) : NULL;

        if (id && (!transfer || was_tenant_of(transfer, cluster)))
            add(health, CONDITION_NODE_STRAY, node->name, cluster->name,
                text_format("node %s of %s is marked%s by transfer %s, which %s", node->name,
                            cluster->name, node->is_unschedulable ? " and cordoned" : "", id,
                            transfer ? "has ended" : "this journal does not know"));
    }
}

/* Objects of the cluster that no decoder understands, the first by name. */
static void add_unreadable(const struct service *service, const struct config_cluster *cluster,
                           struct health *health)
{
    const struct map *unreadable = fleet_snapshot(service->fleet, cluster)->unreadable;
    const char *first = NULL;
    const char *key;

    for (size_t i = 0; map_next(unreadable, &i, &key, NULL);)
        first = !first || strcmp(key, first) < 0 ? key : first;
    if (first)
        add(health, CONDITION_OBJECT_UNREADABLE, cluster->name, NULL,
            text_format(
                "sluice cannot read %zu object%s of %s, and takes pods among them for whole "
                "nodes; the first: %s",
                map_count(unreadable), map_count(unreadable) == 1 ? "" : "s", cluster->name,
                (const char *)map_get(unreadable, first)));
}

/* Devices of a driver that the cluster's server does not let us read. */
static void add_devices(const struct service *service, const struct config_cluster *cluster,
                        struct health *health)
{
    const struct snapshot *snapshot = fleet_snapshot(service->fleet, cluster);
    const char *trouble = cluster_trouble(fleet_cluster(service->fleet, cluster));

    if (snapshot->is_known && !snapshot->devices_are_known && trouble[0] != '\0')
        add(health, CONDITION_DEVICES_UNKNOWN, cluster->name, NULL,
            text_format("%s does not show its devices of Dynamic Resource Allocation: a pod with "
                        "claims counts as a whole node, and a new node whose GPUs do not add up "
                        "waits for an operator: %s",
                        cluster->name, trouble));
}

/* Objects that cannot be read, and are therefore counted cautiously. */
static void add_guesses(const struct service *service, struct health *health)
{
    for (size_t i = 0; i < service->config->cluster_count; i++) {
        add_unreadable(service, &service->config->clusters[i], health);
        add_devices(service, &service->config->clusters[i], health);
    }
}

/* The transfer whose machine came to the pool last; NULL: none is known. */
static const struct transfer *newest_to(const struct service *service,
                                        const struct config_pool *pool)
{
    for (size_t i = service->runner->transfers.count; i-- > 0;) {
        const struct transfer *transfer = service->runner->transfers.items[i];

        if (transfer_goal(transfer) == pool &&
            (transfer->new_node[0] != '\0' || transfer->came_untainted || transfer->stays_exposed))
            return transfer;
    }
    return NULL;
}

/* What is wrong with new machines of a pool, by the newest. */
static void add_newest(const struct service *service, const struct config_pool *pool,
                       struct health *health)
{
    const struct transfer *newest = newest_to(service, pool);

    if (newest && newest->came_untainted)
        add(health, CONDITION_NODE_UNTAINTED, pool->name, NULL,
            text_format(
                "new machines of pool %s come without the taint %s (NoSchedule), so pods land "
                "on them before all their GPUs are there",
                pool->name, SLUICE_TAINT_STARTING));
    if (newest && newest->stays_exposed)
        add(health, CONDITION_NODE_EXPOSED, pool->name, NULL,
            text_format("the cloud refused to protect machine %s of pool %s, so another writer who "
                        "makes the pool smaller may end it",
                        newest->new_instance, pool->name));
}

/* Numbers that could not be set in a cluster, or that another controller sets. */
static void add_troubles(json_t *list, const char *what, struct health *health)
{
    const json_t *row;
    size_t i;

    json_array_foreach(list, i, row) {
        const char *trouble = json_text_or(row, "trouble", "");

        if (trouble[0] != '\0')
            add(health, CONDITION_VALUE_CONTESTED, json_text_or(row, what, "?"),
                json_text_or(row, "cluster", ""),
                text_format("%s %s of %s: %s", what, json_text_or(row, what, "?"),
                            json_text_or(row, "cluster", "?"), trouble));
    }
    json_decref(list);
}

/* Gangs that stay suspended although no transfer needs it, because their owner could not be
   changed. */
static void add_gangs(const struct service *service, struct health *health)
{
    owned(json) json_t *gangs = sides_describe_stopped(service->runner);
    const json_t *gang;
    size_t i;

    json_array_foreach(gangs, i, gang) {
        const char *text = json_text_or(gang, "text", "");

        if (json_bool_or(gang, "is_ending", false) && text[0] != '\0')
            add(health, CONDITION_GANG_SUSPENDED, json_text_or(gang, "owner", "?"), NULL,
                text_format("%s of %s is suspended and cannot be resumed: %s",
                            json_text_or(gang, "owner", "?"), json_text_or(gang, "cluster", "?"),
                            text));
    }
}

/* Schedules that were to be planned again: perhaps the job that plans them fails.  A plan that is
   some hours late is not reported. */
static void add_outdated(const struct service *service, struct health *health)
{
    const struct forecast_file *file = service->forecast;
    struct wall_time now = loop_wall(service->world->loop);
    const struct forecast_file_window *first = file ? forecast_file_first(file) : NULL;
    struct condition condition = { .kind = CONDITION_FORECAST_OUTDATED };
    char until[WALL_TEXT_SIZE];

    if (!first || now.ms < first->until.ms + PLAN_GRACE_MS)
        return;
    condition.what = first->window;
    condition.since = first->until;
    health_add(health, &condition,
               text_format("the schedule of %s was to be planned again by %s", first->window,
                           wall_format(first->until, until)));
}

static void add_unplanned(const struct service *service, struct health *health)
{
    owned(json) json_t *rows = service_unplanned(service);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        add(health, CONDITION_WINDOW_UNPLANNED, json_text_or(row, "window", ""), NULL,
            mem_copy_chars(json_text_or(row, "text", "")));
    }
}

/* What holds by now. */
static void look(const struct service *service, struct survey *survey, struct health *health)
{
    if (map_count(service->book) == 0)
        add(health, CONDITION_NO_SCHEDULES, "", NULL,
            mem_copy_chars("no schedules are in force: only reclaims move nodes"));
    if (service->doubt[0] != '\0')
        add(health, CONDITION_JOURNAL_DOUBT, "", NULL, mem_copy_chars(service->doubt));
    add_unplanned(service, health);
    add_outdated(service, health);
    unreadable_warn(service, health);
    add_disk(service, health);
    if (service->refused[0] != '\0')
        add(health, CONDITION_CONFIG_REFUSED, service->config->path, NULL,
            text_format("the configuration was read again and is not in force: %s",
                        service->refused));
    add_unknown(service, health);
    approvals_look(service, health);
    progress_look(service, survey, health);
    add_drifts(service, health);
    add_freezes(service, health);
    supply_look(service, survey, health);
    if (service->held[0] != '\0')
        add(health, CONDITION_MOVES_HELD, "", NULL, mem_copy_chars(service->held));
    add_notices(service, health);
    add_operators(service, health);
    add_hosts(service, health);
    clock_describe(service->clock, health);
    add_clocks(service, health);
    add_ends(service, health);
    add_gangs(service, health);
    add_troubles(scaler_describe(service->scaler), "workload", health);
    add_troubles(quotas_describe(service->quotas), "quota", health);
    for (size_t i = 0; i < service->config->cluster_count; i++)
        add_strays(service, &service->config->clusters[i], health);
    add_guesses(service, health);
    for (size_t i = 0; i < service->config->pool_count; i++)
        add_newest(service, &service->config->pools[i], health);
    webhooks_add_conditions(service->webhooks, health);
    for (size_t i = 0; i < FACE_PLACES; i++)
        if (service->faces[i].look)
            service->faces[i].look(service->faces[i].context, health);
}

static void tell(void *context, const struct condition *condition, const char *text, bool holds)
{
    const struct condition_row *row = condition_row(condition->kind);
    const char *event = holds ? "condition_begins" : "condition_ends";

    (void)context;
    if (holds && row->severity > SEVERITY_NOTE)
        log_warn(event, FIELD_TEXT("id", row->id), FIELD_TEXT("what", condition->what),
                 FIELD_TEXT("severity", severity_name(row->severity)), FIELD_TEXT("text", text),
                 FIELD_TEXT("advice", condition->advice));
    else
        log_info(event, FIELD_TEXT("id", row->id), FIELD_TEXT("what", condition->what),
                 FIELD_TEXT("severity", severity_name(row->severity)), FIELD_TEXT("text", text));
}

/* An answer may be asked for in the middle of things, such as between a new schedule and the turn
   that begins its transfers: what is true only then is shown, and not logged. */
void service_look(struct service *service, struct survey *survey, bool is_turn)
{
    health_begin(service->health);
    look(service, survey, service->health);
    health_end(service->health, loop_wall(service->world->loop), is_turn ? tell : NULL, NULL);
}

json_t *service_guesses(const struct service *service)
{
    owned(health) struct health *health = health_new();
    owned(json) json_t *guesses = NULL;

    health_begin(health);
    add_guesses(service, health);
    health_end(health, loop_wall(service->world->loop), NULL, NULL);
    guesses = health_describe(health);
    return conditions_texts(guesses);
}
