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

static int check_uses(const struct service *service, const struct config *next, struct error *err)
{
    struct wall_time now = loop_wall(service->world->loop);
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));)
        if (check_pool(next, transfer->source, "transfer", transfer->id, err) < 0 ||
            check_pool(next, transfer->target, "transfer", transfer->id, err) < 0)
            return -1;
    for (size_t i = 0; i < service->reclaims.count; i++) {
        const struct reclaim *reclaim = &service->reclaims.items[i];

        if (reclaim->until.ms > now.ms &&
            check_pool(next, reclaim->pool, "reclaim", reclaim->order, err) < 0)
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

void service_note_reload(struct service *service, const struct error *refusal)
{
    struct journal_batch *batch = journal_batch_new(service->epoch);
    const char *event = refusal ? "config_refused" : "config_reloaded";
    const char *text = refusal ? refusal->text : service->config->path;
    owned(json) json_t *story = json_make("{ss ss}", "event", event, "text", text);
    struct error err;

    text_copy(service->refused, sizeof service->refused, refusal ? refusal->text : "");
    if (refusal)
        log_error(event, FIELD_TEXT("text", text));
    else
        log_info(event, FIELD_TEXT("config", text));
    journal_event(batch, loop_wall(service->world->loop), story);
    if (journal_commit(service->world->journal, &batch, &err) < 0)
        runner_break(service->runner, &err);
}
