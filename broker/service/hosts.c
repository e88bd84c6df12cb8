/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A host is in quarantine if a machine that came to it never served.  A quarantine ends by itself,
 * or when a person says that the host is mended.
 */
#include "base/input/json.h"
#include "broker/service/service_parts.h"

json_t *service_hosts(const struct service *service)
{
    struct wall_time now = loop_wall(service->world->loop);

    return json_make("{ss so so}", "kind", "hosts", "at", json_wall(now), "hosts",
                     attempts_hosts(service->runner->attempts, now));
}

json_t *service_release_host(struct service *service, const json_t *request, const char *by,
                             struct error *err)
{
    struct attempts *attempts = service->runner->attempts;
    struct wall_time now = loop_wall(service->world->loop);
    struct journal_batch *batch;
    const char *name;
    const char *key;
    json_t *row;

    if (json_need_text(request, "host", &name, err) < 0)
        return NULL;
    key = attempts_find_host(attempts, name, now, err);
    if (!key)
        return NULL;
    batch = journal_batch_new(service->epoch);
    row = attempts_release(attempts, key, by, now, batch);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        json_decref(row);
        return NULL;
    }
    runner_wake(service->runner);
    json_object_set_new(row, "by", json_text(by));
    return row;
}
