/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A configuration that is read again while the service runs: whether it may take the place of the
 * present one, and what became of it, in the journal and for the status.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/tenant.h"

enum { CHANGES_TOLD = 50 }; /* in the event of a reload */

static bool is_same_pool(const struct config_pool *old, const struct config_pool *next)
{
    owned(chars) char *place = config_place_of_pool(old);
    owned(chars) char *next_place = config_place_of_pool(next);

    return text_equal(old->cluster->name, next->cluster->name) &&
           old->cluster->kind == next->cluster->kind &&
           text_equal(old->reservation->name, next->reservation->name) &&
           old->provider->kind == next->provider->kind && text_equal(place, next_place);
}

static int check_pool(const struct config *next, const struct config_pool *pool, const char *what,
                      const char *id, struct error *err)
{
    const struct config_pool *same = config_pool(next, pool->name);

    if (!same)
        return error_set(err, ERROR_DENIED,
                         "%s: pool %s is not in it any more, and %s %s still needs it: let that "
                         "end, or put the pool back",
                         next->path, pool->name, what, id);
    if (!is_same_pool(pool, same))
        return error_set(err, ERROR_DENIED,
                         "%s: pool %s is another one in it, and %s %s still needs the old one: "
                         "let that end, or give the new one another name",
                         next->path, pool->name, what, id);
    return 0;
}

static int check_freezes(const struct service *service, const struct config *next,
                         struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);

    for (size_t i = 0; i < service->guard.freezes.count; i++) {
        const struct freeze *freeze = &service->guard.freezes.items[i];

        if (freeze->until.ms > now.ms && freeze->cluster[0] != '\0' &&
            config_cluster(service->config, freeze->cluster) &&
            !config_cluster(next, freeze->cluster))
            return error_set(err, ERROR_DENIED,
                             "%s: cluster %s is not in it any more, and %s has frozen %s%s there: "
                             "end the freeze, or put the cluster back",
                             next->path, freeze->cluster, freeze->by,
                             freeze->node[0] != '\0' ? "node " : "it", freeze->node);
    }
    return 0;
}

/* Its tenant is closed by the transfer, which lifts that again. */
static int check_tenant(const struct service *service, const struct config *next,
                        const struct transfer *transfer, struct error *err)
{
    const struct config_cluster *same = config_pool(next, transfer->source->name)->cluster;
    struct tenant tenant;

    if (!tenant_find(service->runner, transfer, &tenant) ||
        (same->slurm && text_equal(same->slurm->name, tenant.cluster->name)))
        return 0;
    return error_set(
        err, ERROR_DENIED,
        "%s: cluster %s does not name %s any more (slurm), and transfer %s still needs "
        "it for node %s: let that end, or put it back",
        next->path, same->name, tenant.cluster->name, transfer->id, tenant.node);
}

/* The one cluster that gives a reclaim's nodes has to stay what it is. */
static int check_giver(const struct config *next, const struct reclaim *reclaim, struct error *err)
{
    const struct config_cluster *from = config_cluster(next, reclaim->from);
    const struct config_cluster *to = config_cluster(next, reclaim->pool->cluster->name);

    if (reclaim->from[0] == '\0' || config_can_give(next, from, to))
        return 0;
    return error_set(err, ERROR_DENIED,
                     "%s: cluster %s gives nodes to reclaim %s, and would be no research "
                     "cluster that shares a reservation with it: wait, or end the reclaim",
                     next->path, reclaim->from, reclaim->order);
}

static int check_uses(const struct service *service, const struct config *next, struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (check_pool(next, transfer->source, "transfer", transfer->id, err) < 0 ||
            check_pool(next, transfer->target, "transfer", transfer->id, err) < 0 ||
            check_tenant(service, next, transfer, err) < 0)
            return -1;
    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (reclaim->until.ms > now.ms &&
            (check_pool(next, reclaim->pool, "reclaim", reclaim->order, err) < 0 ||
             check_giver(next, reclaim, err) < 0))
            return -1;
    }
    return 0;
}

int service_may_become(const struct service *service, const struct config *next, struct error *err)
{
    struct fleet *trial;

    if (!text_equal(service->config->journal, next->journal) ||
        !text_equal(service->config->socket, next->socket))
        return error_set(err, ERROR_DENIED, "%s: journal and socket change with a restart alone",
                         next->path);
    if (check_uses(service, next, err) < 0 || check_freezes(service, next, err) < 0)
        return -1;
    trial = fleet_open(service->world, next, err); /* kubeconfigs and keys; nothing is sent */
    if (!trial)
        return -1;
    fleet_close(trial);
    return 0;
}

static json_t *describe_unplanned(const struct schedules_fit *fit)
{
    const struct window_set *windows = fit->config->windows;
    json_t *rows = json_array();

    for (size_t i = 0; i < windows->count; i++) {
        const struct window *window = &windows->items[i];
        const char *why = map_get(fit->unfit, window->name);
        bool is_lacking = !window->event && map_count(fit->book) > 0;
        owned(chars) char *text = NULL;

        if (map_get(fit->book, window->name) || window_is_over(window, fit->now) ||
            (!why && !is_lacking))
            continue;
        text = why ? text_format("the schedule of %s does not fit the configuration, so it is not "
                                 "in force: %s",
                                 window->name, why)
                   : text_format("window %s has no schedule, and other windows have one",
                                 window->name);
        json_array_append_new(rows, json_make("{ss ss}", "window", window->name, "text", text));
    }
    return rows;
}

json_t *service_unplanned(const struct service *service)
{
    return describe_unplanned(&(struct schedules_fit){
        service->config, service->book, service->unfit, loop_wall(service->world->loop) });
}

/* A start sets a record aside that it cannot read: its window has none then. */
static int fit_record(void *context, const char *id, uint64_t rev, const json_t *value,
                      struct error *err)
{
    const char *text = json_text_or(value, "text", NULL);

    (void)rev;
    (void)err;
    if (text)
        schedules_fit(context, id, text);
    return 0;
}

json_t *service_unplanned_with(const struct service *service, const struct config *next,
                               struct error *err)
{
    owned(map) struct map *book = targets_book_new();
    owned(map) struct map *unfit = map_new(mem_free);
    struct schedules_fit fit = { next, book, unfit, loop_wall(service->world->loop) };

    if (journal_each(service->world->journal, "schedule", fit_record, &fit, err) < 0)
        return NULL;
    return describe_unplanned(&fit);
}

/* The first changes; an event is no place for a whole file. */
static json_t *first_of(const json_t *changes)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < json_array_size(changes) && i < CHANGES_TOLD; i++)
        json_array_append(rows, json_array_get(changes, i));
    return rows;
}

void service_note_reload(struct service *service, const struct reload_note *note)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    const char *event = note->refusal ? "config_refused" : "config_reloaded";
    const char *text = note->refusal ? note->refusal->text : service->config->path;
    owned(json)
        json_t *story = json_make("{ss ss ss*}", "event", event, "text", text, "by", note->by);
    struct error err;

    if (note->changes) {
        json_object_set_new(story, "changed_settings",
                            json_integer((json_int_t)json_array_size(note->changes)));
        json_object_set_new(story, "changes", first_of(note->changes));
    }
    text_copy(service->refused, sizeof service->refused, note->refusal ? text : "");
    if (note->refusal)
        log_error(event, FIELD_TEXT("text", text), FIELD_TEXT("by", note->by ?: "SIGHUP"));
    else
        log_info(event, FIELD_TEXT("config", text), FIELD_TEXT("by", note->by ?: "SIGHUP"));
    journal_event(batch, loop_wall(service->world->loop), story);
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}

void service_on_reload(struct service *service, service_reload_fn fn, void *context)
{
    service->reload = fn;
    service->reload_context = context;
}

json_t *service_reload(struct service *service, const json_t *request, const char *by,
                       struct error *err)
{
    bool is_dry_run = false;
    json_t *answer;

    if (json_find_bool(request, "is_dry_run", &is_dry_run, err) < 0)
        return NULL;
    if (!service->reload) {
        error_set(err, ERROR_DENIED, "this service cannot read its configuration again");
        return NULL;
    }
    answer = service->reload(service->reload_context, by, is_dry_run, err);
    if (!answer)
        return NULL;
    json_object_set_new(answer, "config", json_text(service->config->path));
    json_object_set_new(answer, "is_dry_run", json_boolean(is_dry_run));
    json_object_set_new(answer, "start", json_integer((json_int_t)service->epoch));
    return answer;
}

json_t *service_reloaded(const struct service *service)
{
    return json_make("{ss ss sI ss so}", "kind", "reloaded", "config", service->config->path,
                     "start", (json_int_t)service->epoch, "refused", service->refused, "unplanned",
                     service_unplanned(service));
}
