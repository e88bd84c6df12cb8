/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reclaims as people order them: one order has a portion for each pool of its cluster.  A repeated
 * order is the same order; orders can be listed, and ended early.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <inttypes.h>
#include <string.h>

enum { KEY_MAX = 64, RECLAIM_FOR_S = 2 * 3600, RECLAIM_FOR_MAX_S = 7 * 24 * 3600 };

static bool is_live(const struct service *service, const struct reclaim *reclaim)
{
    return reclaim->until.ms > loop_wall(service->world->loop).ms;
}

struct wall_time order_time(const struct service *service)
{
    return (struct wall_time){ loop_wall(service->world->loop).ms / SECOND_MS * SECOND_MS };
}

json_t *reclaim_encode(const struct reclaim *reclaim)
{
    return json_make("{ss ss sI sI sI ss ss ss ss so so so ss so ss ss}", "id", reclaim->order,
                     "pool", reclaim->pool->name, "nodes", (json_int_t)reclaim->nodes,
                     "wanted_nodes", (json_int_t)reclaim->wanted_nodes, "level_nodes",
                     (json_int_t)reclaim->level, "from", reclaim->from, "reason", reclaim->reason,
                     "by", reclaim->by, "approved_by", reclaim->approved_by, "created",
                     json_wall(reclaim->created), "until", json_wall(reclaim->until), "promised",
                     json_wall(reclaim->promised), "key", reclaim->key, "ended",
                     json_wall(reclaim->ended), "ended_by", reclaim->ended_by, "end_reason",
                     reclaim->end_reason);
}

/* 0: absent or null, as in records of an older version. */
static int read_wall(const json_t *value, const char *name, struct wall_time *ret,
                     struct error *err)
{
    const char *text;

    *ret = (struct wall_time){ 0 };
    if (!json_at(value, name))
        return 0;
    return json_need_text(value, name, &text, err) == 0 ? wall_parse(text, false, ret, err) : -1;
}

int reclaim_decode(struct reclaim *reclaim, const char *id, const json_t *value, struct error *err)
{
    const char *until;

    require(!reclaim->id);
    reclaim->id = mem_copy_chars(id);
    reclaim->order = mem_copy_chars(json_text_or(value, "id", id));
    reclaim->nodes = json_int_or(value, "nodes", 0);
    reclaim->wanted_nodes = json_int_or(value, "wanted_nodes", 0);
    reclaim->from = mem_copy_chars(json_text_or(value, "from", "")); /* older records have none */
    reclaim->reason = mem_copy_chars(json_text_or(value, "reason", ""));
    reclaim->by = mem_copy_chars(json_text_or(value, "by", ""));
    reclaim->approved_by = mem_copy_chars(json_text_or(value, "approved_by", ""));
    reclaim->key = mem_copy_chars(json_text_or(value, "key", ""));
    reclaim->ended_by = mem_copy_chars(json_text_or(value, "ended_by", ""));
    reclaim->end_reason = mem_copy_chars(json_text_or(value, "end_reason", ""));
    if (read_wall(value, "created", &reclaim->created, err) < 0 ||
        read_wall(value, "promised", &reclaim->promised, err) < 0 ||
        read_wall(value, "ended", &reclaim->ended, err) < 0)
        return -1;
    if (json_need_int(value, "level_nodes", &reclaim->level, err) < 0 ||
        json_need_text(value, "until", &until, err) < 0)
        return -1;
    return wall_parse(until, false, &reclaim->until, err);
}

void reclaim_clear(struct reclaim *reclaim)
{
    mem_free(reclaim->id);
    mem_free(reclaim->order);
    mem_free(reclaim->from);
    mem_free(reclaim->reason);
    mem_free(reclaim->by);
    mem_free(reclaim->approved_by);
    mem_free(reclaim->key);
    mem_free(reclaim->ended_by);
    mem_free(reclaim->end_reason);
}

void reclaims_clear(struct service *service)
{
    for (size_t i = 0; i < service->reclaims.count; i++)
        reclaim_clear(&service->reclaims.items[i]);
    array_clear(&service->reclaims);
    for (size_t i = 0; i < service->lost_reclaims.count; i++)
        reclaim_clear(&service->lost_reclaims.items[i]);
    array_clear(&service->lost_reclaims);
}

bool reclaims_hold(const struct service *service, const struct config_pool *pool)
{
    for (size_t i = 0; i < service->reclaims.count; i++)
        if (service->reclaims.items[i].pool == pool &&
            is_live(service, &service->reclaims.items[i]))
            return true;
    return false;
}

void reclaims_list(const struct service *service, struct plan_pool *pool)
{
    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (reclaim->pool == pool->config && is_live(service, reclaim) && reclaim->level > 0)
            *array_add(&pool->reclaims) = (struct plan_reclaim){ reclaim->level, reclaim->from,
                                                                 reclaim->id };
    }
}

json_t *reclaims_describe(const struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->reclaims.count; i++)
        if (service->reclaims.items[i].until.ms > now.ms)
            json_array_append_new(rows, reclaim_encode(&service->reclaims.items[i]));
    return rows;
}

static int load_reclaim(void *context, const char *id, uint64_t rev, const json_t *value,
                        struct error *err)
{
    struct service *service = context;
    struct reclaim read = { .rev = rev };
    const char *name;

    if (json_need_text(value, "pool", &name, err) < 0 ||
        reclaim_decode(&read, id, value, err) < 0) {
        reclaim_clear(&read);
        err->kind = ERROR_CORRUPT;
        return -1;
    }
    read.pool = config_pool(service->config, name);
    if (!read.pool) {
        log_warn("reclaim_ignored", FIELD_TEXT("reclaim", id),
                 FIELD_TEXT("text", "its pool is not configured any more"));
        *array_add(&service->lost_reclaims) = read;
        return 0;
    }
    *array_add(&service->reclaims) = read;
    return 0;
}

int reclaims_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "reclaim", load_reclaim, service, err);
}

/* All of its times: an order covers the transfers that began between two of them, and those are
   shifted, too. */
void reclaims_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->reclaims.count; i++) {
        struct reclaim *reclaim = &service->reclaims.items[i];
        struct wall_time *times[] = { &reclaim->created, &reclaim->promised, &reclaim->until,
                                      &reclaim->ended };
        owned(json) json_t *value = NULL;

        require(reclaim->rev > 0);
        for (size_t k = 0; k < COUNT_OF(times); k++)
            if (times[k]->ms != 0)
                times[k]->ms += by_ms;
        value = reclaim_encode(reclaim);
        journal_put(batch, "reclaim", reclaim->id, reclaim->rev++, value);
    }
}

int orders_store(struct service *service, struct journal_batch *batch,
                 struct reclaim *const *portions, size_t count, struct error *err)
{
    require(count > 0);
    for (size_t i = 0; i < count; i++) {
        bool is_ended = portions[i]->ended.ms > 0;
        owned(json) json_t *value = reclaim_encode(portions[i]);
        owned(json) json_t *story = json_make(
            "{ss ss sO}", "event", is_ended ? "reclaim_ended" : "reclaim", "by",
            is_ended ? portions[i]->ended_by : portions[i]->by, "reclaim", value);

        if (!is_ended && portions[i]->approved_by[0] != '\0')
            json_object_set_new(story, "approved_by", json_text(portions[i]->approved_by));

        journal_put(batch, "reclaim", portions[i]->id, portions[i]->rev, value);
        journal_event(batch, loop_wall(service->world->loop), story);
    }
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        portions[i]->rev++;
    timer_set_sooner(service->timer, 0);
    return 0;
}

/* ---- the wish ---- */

/* The cluster that alone gives nodes has to be one that can. */
static int check_from(const struct config *config, const struct order_wish *wish, struct error *err)
{
    const struct config_cluster *from = config_cluster(config, wish->from);
    owned(text) struct text *can = text_new(ERROR_TEXT_SIZE / 4);

    if (wish->from[0] == '\0')
        return 0;
    if (!from)
        return config_refuse_cluster(config, wish->from, err);
    for (size_t i = 0; i < config->cluster_count; i++)
        if (config_can_give(config, &config->clusters[i], wish->cluster))
            text_add(can, "%s%s", can->length > 0 ? ", " : "", config->clusters[i].name);
    if (config_can_give(config, from, wish->cluster))
        return 0;
    return error_set(err, ERROR_INVALID, "%s cannot give nodes to %s: %s; those that can: %s",
                     from->name, wish->cluster->name,
                     from->role != ROLE_RESEARCH ? "it is not a research cluster"
                                                 : "no reservation has pools of both",
                     can->length > 0 ? can->chars : "none");
}

/* The client's request key, under which it may ask again after a lost answer; "" without one. */
static int read_key(const json_t *request, const char **ret_key, struct error *err)
{
    *ret_key = NULL;
    if (json_find_text(request, "key", ret_key, err) < 0)
        return -1;
    *ret_key = *ret_key ?: "";
    for (const char *at = *ret_key; *at; at++)
        if (*at <= ' ' || *at > '~' || at - *ret_key >= KEY_MAX)
            return error_set(err, ERROR_INVALID, "key: at most %d printable ASCII characters",
                             KEY_MAX);
    return 0;
}

int order_read_wish(const struct service *service, const json_t *request, struct order_wish *wish,
                    struct error *err)
{
    const char *name;

    wish->for_s = RECLAIM_FOR_S;
    wish->from = "";
    if (json_find_bool(request, "is_new", &wish->is_new, err) < 0 ||
        json_find_bool(request, "is_dry_run", &wish->is_dry_run, err) < 0 ||
        json_find_text(request, "from", &wish->from, err) < 0 ||
        json_need_text(request, "cluster", &name, err) < 0 ||
        json_need_int(request, "nodes", &wish->nodes, err) < 0 ||
        reason_read(request, &wish->reason, err) < 0 || read_key(request, &wish->key, err) < 0 ||
        json_find_int(request, "for_s", &wish->for_s, err) < 0)
        return -1;
    wish->cluster = config_cluster(service->config, name);
    if (!wish->cluster)
        return config_refuse_cluster(service->config, name, err);
    if (wish->cluster->role != ROLE_PRODUCTION)
        return error_set(err, ERROR_INVALID, "%s is not a production cluster of %s", name,
                         service->config->path);
    if (wish->nodes < 1 || wish->nodes > 100000 || wish->for_s < 60 ||
        wish->for_s > RECLAIM_FOR_MAX_S)
        return error_set(err, ERROR_INVALID,
                         "nodes must be at least 1, and the time between 1 minute and 7 days");
    wish->until.ms = order_time(service).ms + wish->for_s * SECOND_MS;
    return check_from(service->config, wish, err);
}

/* ---- an order is given twice ---- */

int order_find(const struct service *service, const struct order_wish *wish,
               const struct reclaim **ret_order, struct error *err)
{
    *ret_order = NULL;
    for (size_t i = 0; i < service->reclaims.count && !*ret_order; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];
        bool is_same = reclaim->pool->cluster == wish->cluster &&
                       reclaim->wanted_nodes == wish->nodes &&
                       text_equal(reclaim->from, wish->from) &&
                       text_equal(reclaim->reason, wish->reason);
        bool has_key = wish->key[0] != '\0' && text_equal(reclaim->key, wish->key);

        if (has_key && !is_same)
            return error_set(err, ERROR_CONFLICT,
                             "key %s was given with another reclaim, %s: use a key once", wish->key,
                             reclaim->order);
        if (has_key || (is_same && !wish->is_new && is_live(service, reclaim)))
            *ret_order = reclaim;
    }
    return 0;
}

/* ---- orders for people ---- */

static const char *state_of(const struct service *service, const struct reclaim *reclaim)
{
    if (reclaim->ended.ms > 0)
        return "ended";
    return is_live(service, reclaim) ? "live" : "over";
}

json_t *order_describe(const struct service *service, const struct survey *survey,
                       const struct reclaim *order)
{
    json_t *pools = json_array();
    int64_t nodes = 0;
    int64_t lacking = 0;

    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *portion = &service->reclaims.items[i];
        int64_t missing = is_live(service, portion) ? reclaim_missing(survey, portion) : 0;

        if (!text_equal(portion->order, order->order))
            continue;
        nodes += portion->nodes;
        lacking += missing > 0 ? missing : 0;
        json_array_append_new(pools, json_make("{ss sI}", "pool", portion->pool->name, "nodes",
                                               (json_int_t)portion->nodes));
    }
    return json_make(
        "{ss ss ss ss sI sI sI so ss ss ss so so so so ss ss}", "id", order->order, "state",
        state_of(service, order), "cluster", order->pool->cluster->name, "from", order->from,
        "wanted_nodes", (json_int_t)order->wanted_nodes, "accepted_nodes", (json_int_t)nodes,
        "lacking_nodes", (json_int_t)lacking, "pools", pools, "reason", order->reason, "by",
        order->by, "approved_by", order->approved_by, "created", json_wall(order->created), "until",
        json_wall(order->until), "promised", json_wall(order->promised), "ended",
        json_wall(order->ended), "ended_by", order->ended_by, "end_reason", order->end_reason);
}

static bool is_first_portion(const struct service *service, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (text_equal(service->reclaims.items[i].order, service->reclaims.items[at].order))
            return false;
    return true;
}

json_t *service_reclaims(struct service *service, bool all)
{
    owned(survey) struct survey *survey = survey_make(service, service->book);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (is_first_portion(service, i) && (all || is_live(service, reclaim)))
            json_array_append_new(rows, order_describe(service, survey, reclaim));
    }
    return json_make("{ss so so}", "kind", "reclaims", "at",
                     json_wall(loop_wall(service->world->loop)), "reclaims", rows);
}

/* ---- before its time ---- */

bool orders_end_covers(const struct service *service, const struct transfer *transfer)
{
    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (reclaim->ended.ms > 0 && reclaim->pool == transfer->target && transfer->is_emergency &&
            transfer->created.ms >= reclaim->created.ms &&
            transfer->created.ms < reclaim->ended.ms + SECOND_MS)
            return true;
    }
    return false;
}

static void mark_ended(struct service *service, struct reclaim *reclaim, const char *by,
                       const char *reason)
{
    require(is_live(service, reclaim) && reclaim->ended.ms == 0); /* ended once */
    mem_free(reclaim->ended_by);
    mem_free(reclaim->end_reason);
    reclaim->ended = reclaim->until = order_time(service);
    reclaim->ended_by = mem_copy_chars(by);
    reclaim->end_reason = mem_copy_chars(reason);
}

json_t *service_end_reclaim(struct service *service, const json_t *request, const char *by,
                            struct error *err)
{
    owned(survey) struct survey *survey = survey_make(service, service->book);
    ARRAY(struct reclaim *) portions = { 0 };
    const struct reclaim *found = NULL;
    const char *id;
    const char *reason;
    json_t *answer = NULL;

    if (json_need_text(request, "id", &id, err) < 0 || reason_read(request, &reason, err) < 0)
        return NULL;
    for (size_t i = 0; i < service->reclaims.count; i++) {
        struct reclaim *reclaim = &service->reclaims.items[i];

        if (!text_equal(reclaim->order, id))
            continue;
        found = reclaim;
        if (is_live(service, reclaim))
            *array_add(&portions) = reclaim;
    }
    if (!found)
        error_set(err, ERROR_NOT_FOUND, "there is no reclaim %.40s: `sluice reclaim list`", id);
    else if (portions.count == 0)
        error_set(err, ERROR_CONFLICT, "reclaim %s is %s already", found->order,
                  state_of(service, found));
    for (size_t i = 0; i < portions.count; i++)
        mark_ended(service, portions.items[i], by, reason);
    if (portions.count > 0 && orders_store(service, journal_batch_new(service->epoch),
                                           portions.items, portions.count, err) == 0)
        answer = order_describe(service, survey, found);
    array_clear(&portions);
    return answer;
}

/* ---- long over ---- */

static void forget_order(struct service *service, const char *order)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    struct error err;

    for (size_t i = service->reclaims.count; i-- > 0;) {
        struct reclaim *portion = &service->reclaims.items[i];

        if (!text_equal(portion->order, order))
            continue;
        require(!is_live(service, portion)); /* all portions of an order end at one time */
        journal_remove(batch, "reclaim", portion->id, portion->rev);
        reclaim_clear(portion);
        array_remove(&service->reclaims, i);
    }
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}

/* The oldest of more orders than are kept; NULL: they are not more. */
static const struct reclaim *one_too_many(const struct service *service)
{
    const struct reclaim *oldest = NULL;
    size_t over = 0;

    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (is_live(service, reclaim) || !is_first_portion(service, i))
            continue;
        over++;
        if (!oldest || reclaim->until.ms < oldest->until.ms)
            oldest = reclaim;
    }
    return over > ORDERS_KEPT ? oldest : NULL;
}

/* Forgets orders without a pool that are over. */
static void forget_lost(struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct journal_batch *batch = NULL;
    struct error err;

    for (size_t i = service->lost_reclaims.count; i-- > 0;) {
        struct reclaim *reclaim = &service->lost_reclaims.items[i];

        if (reclaim->until.ms > now.ms)
            continue;
        batch = batch ?: journal_batch_new(service->epoch);
        journal_remove(batch, "reclaim", reclaim->id, reclaim->rev);
        reclaim_clear(reclaim);
        array_remove(&service->lost_reclaims, i);
    }
    if (batch && journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}

void orders_trim(struct service *service)
{
    const struct reclaim *oldest;

    if (!service->runner->is_broken)
        forget_lost(service);

    while (!service->runner->is_broken && (oldest = one_too_many(service))) {
        owned(chars) char *order = mem_copy_chars(oldest->order);

        forget_order(service, order);
    }
}
