/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Freezes: no voluntary work on a cluster, or on all, until a time.  Journaled; they end by
 * themselves.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <string.h>

enum { REASON_MAX = 200, LONGEST_S = 366 * 24 * 3600 };

static json_t *freeze_encode(const struct freeze *freeze)
{
    return json_make("{ss ss ss so}", "cluster", freeze->cluster, "reason", freeze->reason, "by",
                     freeze->by, "until", json_wall(freeze->until));
}

json_t *freezes_describe(const struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);
    json_t *rows = json_array();

    for (size_t i = 0; i < service->guard.freezes.count; i++)
        if (service->guard.freezes.items[i].until.ms > now.ms)
            json_array_append_new(rows, freeze_encode(&service->guard.freezes.items[i]));
    return rows;
}

/* A freeze's key in the journal: one per cluster. */
static const char *freeze_id(const char *cluster)
{
    return cluster[0] != '\0' ? cluster : "*";
}

static struct freeze *find_freeze(struct service *service, const char *cluster)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++)
        if (text_equal(service->guard.freezes.items[i].cluster, cluster))
            return &service->guard.freezes.items[i];
    return NULL;
}

/* The content of an unreadable freeze is unknown: it holds until a person ends it. */
static void add_stand_in(struct service *service, const char *id)
{
    struct freeze *freeze = array_add(&service->guard.freezes);
    struct error err;

    freeze->cluster = mem_copy_chars(text_equal(id, freeze_id("")) ? "" : id);
    freeze->reason = mem_copy_chars("its record in the journal cannot be read");
    freeze->by = mem_copy_chars("sluice");
    require(wall_parse("9999-12-31T00:00:00Z", false, &freeze->until, &err) == 0);
}

void freezes_put_stand_ins(struct service *service, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        struct freeze *freeze = &service->guard.freezes.items[i];
        owned(json) json_t *value = freeze_encode(freeze);

        if (freeze->rev > 0)
            continue;
        journal_put(batch, "freeze", freeze_id(freeze->cluster), 0, value);
        freeze->rev = 1;
    }
}

static int load_freeze(void *context, const char *id, uint64_t rev, const json_t *value,
                       struct error *err)
{
    struct service *service = context;
    struct freeze *freeze;
    struct wall_time until;
    const char *texts[4];

    if (json_need_text(value, "cluster", &texts[0], err) < 0 ||
        json_need_text(value, "reason", &texts[1], err) < 0 ||
        json_need_text(value, "by", &texts[2], err) < 0 ||
        json_need_text(value, "until", &texts[3], err) < 0 ||
        wall_parse(texts[3], false, &until, err) < 0) {
        err->kind = ERROR_CORRUPT;
        add_stand_in(service, id);
        return -1;
    }
    freeze = array_add(&service->guard.freezes);
    freeze->cluster = mem_copy_chars(texts[0]);
    freeze->reason = mem_copy_chars(texts[1]);
    freeze->by = mem_copy_chars(texts[2]);
    freeze->until = until;
    freeze->rev = rev;
    return 0;
}

int freezes_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "freeze", load_freeze, service, err);
}

void freezes_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch)
{
    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        struct freeze *freeze = &service->guard.freezes.items[i];
        owned(json) json_t *value = NULL;

        require(freeze->rev > 0);
        freeze->until.ms += by_ms;
        value = freeze_encode(freeze);
        journal_put(batch, "freeze", freeze_id(freeze->cluster), freeze->rev++, value);
    }
}

static int check_cluster(const struct service *service, const char *cluster, struct error *err)
{
    if (cluster[0] != '\0' && !config_cluster(service->config, cluster))
        return error_set(err, ERROR_INVALID, "there is no cluster %s in %s", cluster,
                         service->config->path);
    return 0;
}

/* Writes the freeze with its event; the plan is made again at once. */
static int store_freeze(struct service *service, const struct freeze *freeze, json_t *value,
                        struct error *err)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    struct wall_time now = loop_wall(service->world->loop);
    owned(json) json_t *story = json_make("{ss ss sO}", "event",
                                          freeze->until.ms > now.ms ? "freeze" : "unfreeze", "by",
                                          freeze->by, "freeze", value);

    journal_put(batch, "freeze", freeze_id(freeze->cluster), freeze->rev, value);
    journal_event(batch, now, story);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    timer_set_sooner(service->timer, 0);
    return 0;
}

/* Replaces the freeze of the same cluster (or of all).  Takes what `next` owns. */
static json_t *set_freeze(struct service *service, struct freeze next, struct error *err)
{
    struct freeze *freeze = find_freeze(service, next.cluster);
    json_t *value = freeze_encode(&next);

    next.rev = freeze ? freeze->rev : 0;
    require(text_equal(next.cluster, "") || config_cluster(service->config, next.cluster));
    if (store_freeze(service, &next, value, err) < 0) {
        freeze_clear(&next);
        json_decref(value);
        return NULL;
    }
    next.rev++;
    if (freeze)
        freeze_clear(freeze);
    else
        freeze = array_add(&service->guard.freezes);
    *freeze = next;
    return value;
}

int reason_read(const json_t *request, const char **ret_reason, struct error *err)
{
    if (json_need_text(request, "reason", ret_reason, err) < 0)
        return -1;
    if ((*ret_reason)[0] == '\0' || strlen(*ret_reason) > REASON_MAX)
        return error_set(err, ERROR_INVALID, "reason: from 1 to %d bytes", REASON_MAX);
    for (const char *at = *ret_reason; *at; at++)
        if ((unsigned char)*at < ' ')
            return error_set(err, ERROR_INVALID, "reason: one line without control characters");
    return 0;
}

/* `until`, or `for_s` from now: a caller that gives it needs no clock. */
static int read_until(const struct service *service, const json_t *request,
                      struct wall_time *ret_until, struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);
    const char *text;
    int64_t for_s;

    if (json_object_get(request, "for_s")) {
        if (json_need_int(request, "for_s", &for_s, err) < 0)
            return -1;
        if (for_s < 1 || for_s > LONGEST_S)
            return error_set(err, ERROR_INVALID, "for_s: from 1 to %d", LONGEST_S);
        *ret_until = wall_whole_second(now.ms + for_s * SECOND_MS);
        return 0;
    }
    if (json_need_text(request, "until", &text, err) < 0 ||
        wall_parse(text, false, ret_until, err) < 0)
        return -1;
    return ret_until->ms > now.ms ? 0 : error_set(err, ERROR_INVALID, "until: %s has passed", text);
}

json_t *service_freeze(struct service *service, const json_t *request, const char *by,
                       struct error *err)
{
    const char *cluster = json_text_or(request, "cluster", "");
    const char *reason;
    struct wall_time until;

    if (reason_read(request, &reason, err) < 0 || check_cluster(service, cluster, err) < 0 ||
        read_until(service, request, &until, err) < 0)
        return NULL;
    return set_freeze(service,
                      (struct freeze){
                          .cluster = mem_copy_chars(cluster),
                          .reason = mem_copy_chars(reason),
                          .by = mem_copy_chars(by),
                          .until = until,
                      },
                      err);
}

json_t *service_unfreeze(struct service *service, const json_t *request, const char *by,
                         struct error *err)
{
    const char *cluster = json_text_or(request, "cluster", "");
    struct wall_time now = loop_wall(service->world->loop);
    const struct freeze *freeze;

    if (check_cluster(service, cluster, err) < 0)
        return NULL;
    freeze = find_freeze(service, cluster);
    if (!freeze || freeze->until.ms <= now.ms) {
        error_set(err, ERROR_NOT_FOUND,
                  cluster[0] ? "cluster %s has no freeze of its own"
                             : "there is no freeze of all%s",
                  cluster);
        return NULL;
    }
    return set_freeze(service,
                      (struct freeze){
                          .cluster = mem_copy_chars(cluster),
                          .reason = mem_copy_chars("unfreeze"),
                          .by = mem_copy_chars(by),
                          .until = now,
                      },
                      err);
}
