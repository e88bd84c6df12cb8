/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See attempts.h.
 */
#include "broker/transfer/attempts.h"

#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* One host on which a machine never came to serve. */
struct bad_host {
    json_t *value; /* as in the journal */
    struct wall_time until;
    uint64_t rev;
};

struct attempts {
    const struct config *config;
    struct lane *lanes; /* as config->pools */
    struct map *hosts;  /* "PROVIDER/HOST" -> struct bad_host */
};

static void free_host(void *context)
{
    struct bad_host *host = context;

    json_decref(host->value);
    mem_free(host);
}

struct attempts *attempts_new(const struct config *config)
{
    struct attempts *attempts = mem_new(sizeof *attempts);

    attempts->config = config;
    attempts->lanes = mem_new_array(config->pool_count, sizeof *attempts->lanes);
    attempts->hosts = map_new(free_host);
    return attempts;
}

void attempts_free(struct attempts *attempts)
{
    if (!attempts)
        return;
    map_free(attempts->hosts);
    mem_free(attempts->lanes);
    mem_free(attempts);
}

static struct lane *lane_of(const struct attempts *attempts, const struct config_pool *pool)
{
    require(pool >= attempts->config->pools &&
            pool < attempts->config->pools + attempts->config->pool_count);
    return &attempts->lanes[pool - attempts->config->pools];
}

const struct lane *attempts_lane(const struct attempts *attempts, const struct config_pool *pool)
{
    return lane_of(attempts, pool);
}

static int load_lane(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    struct attempts *attempts = context;
    const struct config_pool *pool = config_pool(attempts->config, id);
    struct lane read = { .rev = rev };
    const char *why;

    if (!pool)
        return 0;
    if (json_need_int(value, "failures", &read.failures, err) < 0 ||
        json_need_int(value, "served", &read.served, err) < 0 ||
        json_need_int(value, "failed", &read.failed.ms, err) < 0 ||
        json_need_text(value, "why", &why, err) < 0)
        return error_context(err, "lane %s", id);
    text_copy(read.why, sizeof read.why, why);
    *lane_of(attempts, pool) = read;
    return 0;
}

static int load_host(void *context, const char *id, uint64_t rev, const json_t *value,
                     struct error *err)
{
    struct attempts *attempts = context;
    struct bad_host *host;
    int64_t until_ms;

    if (json_need_int(value, "until", &until_ms, err) < 0)
        return error_context(err, "quarantine %s", id);
    host = mem_new(sizeof *host);
    host->value = json_deep_copy(value);
    host->until.ms = until_ms;
    host->rev = rev;
    map_set(attempts->hosts, id, host);
    return 0;
}

int attempts_load(struct attempts *attempts, struct journal *journal, struct error *err)
{
    if (journal_load(journal, "route", load_lane, attempts, err) < 0)
        return -1;
    return journal_load(journal, "quarantine", load_host, attempts, err);
}

static void put_lane(struct lane *lane, const struct config_pool *pool, struct journal_batch *batch)
{
    owned(json) json_t *value = json_make("{sI sI sI ss}", "failures", (json_int_t)lane->failures,
                                          "served", (json_int_t)lane->served, "failed",
                                          (json_int_t)lane->failed.ms, "why", lane->why);

    journal_put(batch, "route", pool->name, lane->rev++, value);
}

static char *host_id(const struct config_pool *pool, const char *host)
{
    return text_format("%s/%s", pool->provider_name, host);
}

/* Drops hosts whose quarantine has ended: they need no record any more. */
static void drop_ended(struct attempts *attempts, struct wall_time now, struct journal_batch *batch)
{
    const char *id;
    void *value;

    for (size_t i = 0; map_next(attempts->hosts, &i, &id, &value);) {
        const struct bad_host *host = value;

        if (host->until.ms > now.ms)
            continue;
        journal_remove(batch, "quarantine", id, host->rev);
        map_remove(attempts->hosts, id);
    }
}

static void put_host(struct attempts *attempts, const struct transfer *transfer, const char *name,
                     struct wall_time now, struct journal_batch *batch)
{
    const struct config_pool *pool = transfer_goal(transfer);
    owned(chars) char *id = host_id(pool, name);
    struct wall_time until = { now.ms + attempts->config->join.quarantine_ms };
    char until_text[WALL_TEXT_SIZE];
    struct bad_host *host;

    require(until.ms >= now.ms);
    drop_ended(attempts, now, batch);
    if (until.ms == now.ms || map_get(attempts->hosts, id))
        return;
    host = mem_new(sizeof *host);
    host->until = until;
    host->rev = 1;
    host->value = json_make("{ss ss ss sI ss}", "host", name, "pool", pool->name, "machine",
                            transfer->new_instance, "until", (json_int_t)until.ms, "text",
                            transfer->waiting);
    map_set(attempts->hosts, id, host);
    journal_put(batch, "quarantine", id, 0, host->value);

    owned(json) json_t *event = json_make(
        "{ss ss ss ss ss ss ss}", "event", "host_quarantined", "host", name, "transfer",
        transfer->id, "pool", pool->name, "machine", transfer->new_instance, "until",
        wall_format(until, until_text), "text", transfer->waiting);

    journal_event(batch, now, event);
}

/* Reports once that the pool is closed, at the failure that closes it. */
static void tell_closed(const struct lane *lane, const struct config_guard *guard,
                        const struct transfer *transfer, struct wall_time now,
                        struct journal_batch *batch)
{
    char until[WALL_TEXT_SIZE];

    if (guard->breaker == 0 || lane->failures != guard->breaker)
        return;

    owned(json) json_t *event = json_make(
        "{ss ss sI ss ss}", "event", "pool_closed", "pool", transfer_goal(transfer)->name,
        "failures", (json_int_t)lane->failures, "until",
        wall_format(lane_closed_until(lane, guard, now), until), "text", lane->why);

    journal_event(batch, now, event);
}

void attempts_failed(struct attempts *attempts, const struct transfer *transfer, const char *host,
                     struct wall_time now, struct journal_batch *batch)
{
    const struct config_pool *pool = transfer_goal(transfer);
    struct lane *lane = lane_of(attempts, pool);

    lane->failures++;
    lane->served = 0;
    lane->failed = now;
    text_copy(lane->why, sizeof lane->why, transfer->waiting);
    put_lane(lane, pool, batch);
    tell_closed(lane, &attempts->config->guard, transfer, now, batch);
    if (host[0] != '\0')
        put_host(attempts, transfer, host, now, batch);
}

void attempts_served(struct attempts *attempts, const struct transfer *transfer,
                     struct journal_batch *batch)
{
    const struct config_pool *pool = transfer_goal(transfer);
    struct lane *lane = lane_of(attempts, pool);

    lane->failures = 0;
    lane->served++;
    put_lane(lane, pool, batch);
}

void attempts_move_clock(struct attempts *attempts, int64_t by_ms, struct journal_batch *batch)
{
    const char *id;
    void *value;

    for (size_t i = 0; i < attempts->config->pool_count; i++) {
        struct lane *lane = &attempts->lanes[i];

        if (lane->failed.ms == 0)
            continue;
        lane->failed.ms += by_ms;
        put_lane(lane, &attempts->config->pools[i], batch);
    }
    for (size_t i = 0; map_next(attempts->hosts, &i, &id, &value);) {
        struct bad_host *host = value;
        json_t *renamed = json_deep_copy(host->value);

        host->until.ms += by_ms;
        json_object_set_new(renamed, "until", json_integer((json_int_t)host->until.ms));
        json_decref(host->value);
        host->value = renamed;
        journal_put(batch, "quarantine", id, host->rev++, renamed);
    }
}

struct wall_time lane_closed_until(const struct lane *lane, const struct config_guard *guard,
                                   struct wall_time now)
{
    struct wall_time until = { lane->failed.ms + guard->breaker_pause_ms };

    if (guard->breaker == 0 || lane->failures < guard->breaker || until.ms <= now.ms)
        until.ms = 0;
    return until;
}

int attempts_allow(const struct attempts *attempts, const struct config_pool *pool,
                   struct wall_time now, struct error *err)
{
    const struct lane *lane = attempts_lane(attempts, pool);
    struct wall_time until = lane_closed_until(lane, &attempts->config->guard, now);
    char text[WALL_TEXT_SIZE];

    if (until.ms == 0)
        return 0;
    return error_set(err, ERROR_DENIED,
                     "pool %s is closed until %s, or until an attempt succeeds: the last %" PRId64
                     " failed: %.80s",
                     pool->name, wall_format(until, text), lane->failures, lane->why);
}

int64_t lane_room(const struct lane *lane, const struct config_guard *guard, int64_t group,
                  int64_t earlier, int64_t of_this_wave)
{
    bool is_on_trial = guard->breaker > 0 && lane->failures >= guard->breaker;
    int64_t wave = 1; /* in groups */

    require(group >= 1);

    require(earlier >= 0 && of_this_wave >= 0 && lane->served >= 0);
    if (!guard->canary && !is_on_trial)
        return INT64_MAX;
    if (earlier > 0)
        return 0;
    /* Waves of 1, 2, 4 ... nodes: when all serve, 1, 3, 7 ... have served in all. */
    while (wave * 2 - 1 <= lane->served / group && wave < INT32_MAX)
        wave *= 2;
    wave *= group;
    return wave > of_this_wave ? wave - of_this_wave : 0;
}

struct wall_time attempts_quarantine(const struct attempts *attempts,
                                     const struct config_pool *pool, const char *host,
                                     struct wall_time now)
{
    owned(chars) char *id = host_id(pool, host);
    const struct bad_host *found = map_get(attempts->hosts, id);

    return found && found->until.ms > now.ms ? found->until : (struct wall_time){ 0 };
}

/* A host in quarantine, for people. */
static json_t *describe_host(const char *id, const struct bad_host *host)
{
    json_t *row = json_deep_copy(host->value);
    owned(chars) char *provider = text_format("%.*s", (int)strcspn(id, "/"), id);
    char until[WALL_TEXT_SIZE];

    json_object_set_new(row, "provider", json_text(provider));
    json_object_set_new(row, "until", json_text(wall_format(host->until, until)));
    return row;
}

const char *attempts_find_host(const struct attempts *attempts, const char *name,
                               struct wall_time now, struct error *err)
{
    const char *found = NULL;
    const char *id;
    void *value;

    for (size_t i = 0; map_next(attempts->hosts, &i, &id, &value);) {
        const struct bad_host *host = value;

        if (host->until.ms <= now.ms)
            continue;
        if (text_equal(id, name))
            return id;
        if (!text_equal(json_text_or(host->value, "host", ""), name))
            continue;
        if (found) {
            error_set(err, ERROR_CONFLICT, "two clouds have a host %.100s: say PROVIDER/HOST",
                      name);
            return NULL;
        }
        found = id;
    }
    if (!found)
        error_set(err, ERROR_NOT_FOUND, "host %.100s is not in quarantine", name);
    return found;
}

json_t *attempts_release(struct attempts *attempts, const char *key, const char *by,
                         struct wall_time now, struct journal_batch *batch)
{
    const struct bad_host *host = map_get(attempts->hosts, key);

    require(host); /* attempts_find_host() gave the key */

    json_t *row = describe_host(key, host);
    owned(json) json_t *event = json_deep_copy(row);

    json_object_set_new(event, "event", json_text("host_released"));
    json_object_set_new(event, "by", json_text(by));
    journal_remove(batch, "quarantine", key, host->rev);
    journal_event(batch, now, event);
    map_remove(attempts->hosts, key);
    return row;
}

json_t *attempts_hosts(const struct attempts *attempts, struct wall_time now)
{
    json_t *rows = json_array();
    const char *id;
    void *value;

    for (size_t i = 0; map_next(attempts->hosts, &i, &id, &value);) {
        const struct bad_host *host = value;

        if (host->until.ms > now.ms)
            json_array_append_new(rows, describe_host(id, host));
    }
    return rows;
}
