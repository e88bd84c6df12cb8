/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What has happened, for people: the journal's events (the last ones, or those about a node, a move
 * or a person), the course of the day, and the ledger of GPU-seconds.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/access/persons.h"
#include "broker/service/service_parts.h"
#include "broker/service/supply.h"

#include <inttypes.h>

enum { EVENTS_MOST = 10000 };

/* Since when: a duration before now, or a time; 0: any. */
static int read_since(const struct service *service, const char *text, int64_t *ret_ms,
                      struct error *err)
{
    struct wall_time wall = { 0 };
    struct error ignored;
    int64_t ago_ms;

    if (text && duration_parse(text, &ago_ms, &ignored) == 0)
        wall.ms = loop_wall(service->world->loop).ms - ago_ms;
    else if (text && wall_parse(text, false, &wall, &ignored) < 0)
        return error_set(err, ERROR_INVALID,
                         "since: \"%s\" is neither a duration (2h30m) nor a time with an offset "
                         "(2026-11-17T06:00:00Z)",
                         text);
    *ret_ms = wall.ms;
    return 0;
}

static bool is_one_of(const json_t *event, const char *const *members, const char *wanted)
{
    bool is_found = !wanted;

    for (; *members && !is_found; members++)
        is_found = text_equal(json_text_or(event, *members, ""), wanted);
    return is_found;
}

/* A person is the same as root (with a login), on the socket, and by mail address over TLS. */
static bool is_by(const json_t *event, const char *wanted)
{
    static const char *const actors[] = { "by", "ended_by", "asked_by", "approved_by" };
    bool is_found = !wanted;

    for (size_t i = 0; i < COUNT_OF(actors) && !is_found; i++)
        is_found = persons_agree(json_text_or(event, actors[i], ""), wanted);
    return is_found;
}

/* What people do, in distinction to what sluice does of itself. */
static bool is_act(const json_t *event)
{
    static const char *const acts[] = {
        "schedules_applied", "reclaim",        "reclaim_ended",  "freeze",
        "unfreeze",          "hold",           "host_released",  "config_reloaded",
        "config_refused",    "webhook_tested", "approval_asked", "approved",
        "approval_rejected",
    };

    for (size_t i = 0; i < COUNT_OF(acts); i++)
        if (text_equal(json_text_or(event, "event", ""), acts[i]))
            return true;
    return false;
}

static bool is_wanted(const struct event_wish *wish, int64_t since_ms, const json_t *row)
{
    static const char *const nodes[] = { "node", "new_node", "host", NULL };
    static const char *const moves[] = { "move", "transfer", NULL };
    const json_t *event = json_object_get(row, "event");

    return json_int_or(row, "at", 0) >= since_ms && (!wish->acts || is_act(event)) &&
           is_one_of(event, nodes, wish->node) && is_one_of(event, moves, wish->move) &&
           is_by(event, wish->actor);
}

static json_t *describe(const json_t *row)
{
    json_t *event = json_deep_copy(json_object_get(row, "event"));

    json_object_set(event, "seq", json_object_get(row, "seq"));
    json_object_set_new(event, "at", json_wall((struct wall_time){ json_int_or(row, "at", 0) }));
    return event;
}

static bool is_filtered(const struct event_wish *wish)
{
    return wish->acts || wish->since || wish->node || wish->move || wish->actor;
}

static json_t *read_rows(struct service *service, const struct event_wish *wish, struct error *err)
{
    size_t most = is_filtered(wish) ? EVENTS_MOST : (size_t)wish->count;

    return wish->before > 0
               ? journal_events_before(service->world->journal, wish->before, most, err)
               : journal_events(service->world->journal, most, err);
}

/* The number before which older events may be wanted, too; 0: none is.  Where the clock went back,
   an event may be older than those before it: only when all that were read are too old, so are the
   others. */
static int64_t older_than(int64_t since_ms, const json_t *rows)
{
    int64_t first = json_int_or(json_array_get(rows, 0), "seq", 0);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        if (json_int_or(row, "at", 0) >= since_ms)
            return first > 1 ? first : 0;
    return 0;
}

static int check_wish(const struct event_wish *wish, struct error *err)
{
    if (wish->count < 1 || wish->count > EVENTS_MOST)
        return error_set(err, ERROR_INVALID, "count: expected 1 to %d, found %" PRId64, EVENTS_MOST,
                         wish->count);
    if (wish->before < 0)
        return error_set(err, ERROR_INVALID, "before: expected the number of an event");
    return 0;
}

json_t *service_events_of(struct service *service, const struct event_wish *wish, struct error *err)
{
    owned(json) json_t *rows = NULL;
    json_t *events;
    const json_t *row;
    size_t i, found = 0, seen = 0;
    int64_t since_ms = 0, before;

    if (check_wish(wish, err) < 0 || read_since(service, wish->since, &since_ms, err) < 0)
        return NULL;
    rows = read_rows(service, wish, err);
    if (!rows)
        return NULL;
    before = older_than(since_ms, rows);
    events = json_array();
    json_array_foreach(rows, i, row)
        found += is_wanted(wish, since_ms, row);
    json_array_foreach(rows, i, row)
        if (is_wanted(wish, since_ms, row) && ++seen + (size_t)wish->count > found)
            json_array_append_new(events, describe(row));
    if (found > (size_t)wish->count)
        before = json_int_or(json_array_get(events, 0), "seq", 0);
    return json_make("{ss so so sb sI}", "kind", "events", "at",
                     json_wall(loop_wall(service->world->loop)), "events", events, "is_cut",
                     before > 0 && is_filtered(wish) && found < (size_t)wish->count, "before",
                     (json_int_t)before);
}

json_t *service_events(struct service *service, int64_t count, struct error *err)
{
    return service_events_of(service, &(struct event_wish){ .count = count }, err);
}

static bool is_any(const void *context, const struct node *node)
{
    (void)context;
    (void)node;
    return true;
}

/* A cluster with a pool that was not seen lately has an unknown number of nodes. */
static struct course_point look_at(const struct service *service, const struct horizon *present,
                                   const struct config_cluster *cluster)
{
    struct course_point point = { 0, -1, -1 };
    int64_t static_nodes = 0;
    struct error why;

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];

        if (pool->cluster != cluster)
            continue;
        static_nodes += pool->static_nodes;
        if (cluster->role == ROLE_PRODUCTION) {
            int64_t wanted = target_nodes(present, pool).now;

            if (wanted >= 0)
                point.wanted = (point.wanted < 0 ? 0 : point.wanted) + wanted;
        }
        if (!survey_knows(service, pool, &why))
            point.ready = -1;
        else if (point.ready >= 0)
            point.ready += supply_nodes(service, pool, is_any, NULL);
    }
    if (cluster->role == ROLE_RESEARCH && point.ready >= 0)
        point.lent = point.ready > static_nodes ? point.ready - static_nodes : 0;
    return point;
}

static struct horizon present_of(const struct service *service)
{
    return (struct horizon){ .config = service->config,
                             .book = service->book,
                             .now = loop_wall(service->world->loop),
                             .reach = { .wave_nodes = 1 } };
}

void story_look(struct service *service)
{
    const struct config *config = service->config;
    const struct horizon present = present_of(service);
    int64_t now_ms = loop_now(service->world->loop);
    struct course_point *points;
    bool is_any_known = false;

    if (!course_is_due(service->course, now_ms))
        return;
    points = mem_new_array(config->cluster_count, sizeof *points);
    for (size_t i = 0; i < config->cluster_count; i++) {
        points[i] = look_at(service, &present, &config->clusters[i]);
        is_any_known |= points[i].ready >= 0;
    }
    /* Before the first lists there is nothing to note; after them, what is not seen is a gap. */
    if (is_any_known || course_has_looks(service->course))
        course_add(service->course, now_ms, points);
    mem_free(points);
}

static int64_t static_nodes_of(const struct service *service, const struct config_cluster *cluster)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < service->config->pool_count; i++)
        if (service->config->pools[i].cluster == cluster)
            nodes += service->config->pools[i].static_nodes;
    return nodes;
}

json_t *service_day(const struct service *service)
{
    const struct config *config = service->config;
    const struct horizon present = present_of(service);
    int64_t now_ms = loop_now(service->world->loop);
    struct wall_time until = { present.now.ms + DAY_MS };
    json_t *clusters = json_array();
    json_t *oldest = NULL;

    for (size_t i = 0; i < config->cluster_count; i++) {
        const struct config_cluster *cluster = &config->clusters[i];
        json_t *course = course_describe(service->course, i, now_ms);
        json_t *row = json_make("{ss ss sI so}", "cluster", cluster->name, "role",
                                cluster->role_name, "static_nodes",
                                (json_int_t)static_nodes_of(service, cluster), "course", course);

        oldest = json_array_get(json_array_get(course, 0), 0);
        if (cluster->role == ROLE_PRODUCTION)
            json_object_set_new(row, "ahead", course_ahead(&present, cluster, until));
        json_array_append_new(clusters, row);
    }
    return json_make("{ss so ss so so s[ssss] so}", "kind", "day", "at", json_wall(present.now),
                     "time_zone", time_zone_name(config->windows->zone), "since",
                     oldest
                         ? json_wall((struct wall_time){
                               present.now.ms - (int64_t)json_integer_value(oldest) * SECOND_MS })
                         : json_null(),
                     "until", json_wall(until), "columns", "age_s", "ready_nodes", "wanted_nodes",
                     "lent_nodes", "clusters", clusters);
}

/* ---- the ledger: looks twice a minute, stored every five minutes and with each loss.  Time
   without a look, or in which a pool was not seen, counts as unseen: not as lent, and not as
   nothing. ---- */

enum {
    LOOK_MS = 30 * SECOND_MS,
    GAP_MS = 3 * MINUTE_MS, /* after a longer pause what was between is not known */
    STORE_MS = 5 * MINUTE_MS,
};

static const char ledger_id[] = "gpu_seconds";

static int load_ledger(void *context, const char *id, uint64_t rev, const json_t *value,
                       struct error *err)
{
    struct service *service = context;

    if (!text_equal(id, ledger_id))
        return 0;
    if (ledger_decode(&service->ledger, value, err) < 0)
        return -1;
    service->ledger_rev = rev;
    return 0;
}

int meters_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "ledger", load_ledger, service, err);
}

static void measure(struct service *service, const struct config_pool *pool, double seconds,
                    bool is_gap)
{
    double gpus = (double)pool->reservation->gpus_per_node;
    struct ledger_sums more = { 0 };
    struct error why;

    if (pool->cluster->role == ROLE_RESEARCH && (is_gap || !survey_knows(service, pool, &why))) {
        more.unseen_s = seconds;
    } else if (pool->cluster->role == ROLE_RESEARCH) {
        int64_t nodes = supply_nodes(service, pool, is_any, NULL) - pool->static_nodes;

        more.lent_gpu_s = nodes > 0 ? seconds * gpus * (double)nodes : 0;
    }
    ledger_add(&service->ledger, pool->name, &more);
}

static void measure_transfers(struct service *service, double seconds)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        const struct ledger_sums more = {
            .transit_gpu_s = seconds * (double)transfer->source->reservation->gpus_per_node
        };

        if (transfer->cordoned.ms > 0)
            ledger_add(&service->ledger, transfer->source->name, &more);
    }
}

static void on_stored(void *context, enum journal_fate fate)
{
    struct service *service = context;

    service->is_storing_ledger = false;
    if (fate == JOURNAL_KEPT)
        ledger_keep(&service->ledger);
}

/* One commit is under way at a time: what is kept is then what was sent last. */
static void store(struct service *service)
{
    struct journal_batch *batch;
    owned(json) json_t *value = NULL;
    struct error err;

    if (service->is_storing_ledger || !service->ledger.is_changed)
        return;
    value = ledger_encode(&service->ledger);
    batch = journal_batch_new(service->epoch);
    journal_put(batch, "ledger", ledger_id, service->ledger_rev, value);
    if (journal_commit(service->world->journal, &batch, &err) < 0) {
        runner_break(service->runner, &err);
        return;
    }
    service->ledger_rev++;
    service->is_storing_ledger = true;
    service->ledger_stored_ms = loop_now(service->world->loop);
    journal_after(service->world->journal, on_stored, service);
}

void meters_look(struct service *service)
{
    int64_t now_ms = loop_now(service->world->loop);
    int64_t since_ms = now_ms - service->ledger_looked_ms;
    double seconds = (double)since_ms / SECOND_MS;

    if (service->runner->is_broken)
        return;
    if (service->ledger_looked_ms == 0) { /* the first look: nothing was before */
        service->ledger_looked_ms = service->ledger_stored_ms = now_ms;
        return;
    }
    if (since_ms < LOOK_MS)
        return;
    service->ledger_looked_ms = now_ms;
    for (size_t i = 0; i < service->config->pool_count; i++)
        measure(service, &service->config->pools[i], seconds, since_ms > GAP_MS);
    if (since_ms <= GAP_MS)
        measure_transfers(service, seconds);
    if (now_ms - service->ledger_stored_ms >= STORE_MS)
        store(service);
}

void meters_charge(struct service *service, const struct config_pool *pool, double gpu_s)
{
    ledger_add(&service->ledger, pool->name, &(struct ledger_sums){ .lost_gpu_s = gpu_s });
}

void meters_store(struct service *service)
{
    store(service);
}

static json_t *describe_ledger(const struct service *service)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        const struct ledger_sums kept = ledger_kept(&service->ledger, pool->name);
        json_t *row = json_make("{ss ss ss sf sf}", "pool", pool->name, "cluster",
                                pool->cluster->name, "reservation", pool->reservation->name,
                                "transit_gpu_s", kept.transit_gpu_s, "lost_gpu_s", kept.lost_gpu_s);

        if (pool->cluster->role == ROLE_RESEARCH) {
            json_object_set_new(row, "lent_gpu_s", json_real(kept.lent_gpu_s));
            json_object_set_new(row, "unseen_s", json_real(kept.unseen_s));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *describe_prices(const struct config *config)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];

        if (reservation->price > 0)
            json_array_append_new(rows, json_make("{ss sf ss ss ss}", "reservation",
                                                  reservation->name, "price", reservation->price,
                                                  "currency", reservation->price_currency, "basis",
                                                  reservation->price_basis ?: "", "date",
                                                  reservation->price_date ?: ""));
    }
    return rows;
}

static json_t *describe_targets(const struct config *config)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        owned(chars) char *percentile = text_format("%.12g", queue->percentile);

        json_array_append_new(rows, json_make("{ss ss sf}", "queue", queue->name, "percentile",
                                              percentile, "wait_target_s",
                                              (double)queue->wait_target_ms / SECOND_MS));
    }
    return rows;
}

json_t *service_ledger(const struct service *service)
{
    return json_make("{so so so}", "pools", describe_ledger(service), "prices",
                     describe_prices(service->config), "queue_targets",
                     describe_targets(service->config));
}
