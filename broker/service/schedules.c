/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schedules in force: applied as a whole set, kept in the journal.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/planning/schedule_check.h"
#include "broker/service/service_parts.h"

#include <string.h>

static struct schedule *decode_one(const struct service *service, const char *window,
                                   const char *text, bool is_in_force, struct error *err)
{
    const struct config *config = service->config;
    const struct schedule_use use = { is_in_force ? NULL : window,
                                      loop_wall(service->world->loop) };
    owned(schedule) struct schedule *schedule = NULL;
    owned(chars) char *source = text_format("schedule %s", window);

    if (!window_find(config->windows, window)) {
        error_set(err, ERROR_INVALID, "there is no window %s in %s", window, config->path);
        return NULL;
    }
    schedule = schedule_parse(text, strlen(text), source, err);
    if (!schedule)
        return NULL;
    return schedule_check(config, schedule, source, &use, err) < 0 ? NULL : steal(&schedule);
}

struct map *schedules_decode(const struct service *service, const json_t *schedules,
                             struct error *err)
{
    const struct config *config = service->config;
    struct wall_time now = loop_wall(service->world->loop);
    owned(map) struct map *book = targets_book_new();

    if (!json_is_object(schedules)) {
        error_set(err, ERROR_INVALID, "schedules: expected an object of window: text");
        return NULL;
    }
    for (void *at = json_object_iter((json_t *)(uintptr_t)schedules); at;
         at = json_object_iter_next((json_t *)(uintptr_t)schedules, at)) {
        const char *window = json_object_iter_key(at);
        const char *text = json_string_value(json_object_iter_value(at));
        struct schedule *schedule;

        if (!text) {
            error_set(err, ERROR_INVALID, "schedules/%s: expected the text of a file", window);
            return NULL;
        }
        schedule = decode_one(service, window, text, false, err);
        if (!schedule)
            return NULL;
        map_set(book, window, schedule);
    }
    for (size_t i = 0; i < config->windows->count; i++) {
        const struct window *window = &config->windows->items[i];

        if (map_get(book, window->name) || window_is_over(window, now))
            continue;
        error_set(err, ERROR_INVALID, "window %s has no schedule: all are applied together",
                  window->name);
        return NULL;
    }
    return steal(&book);
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;
    const char *text;
    struct schedule *schedule;
    uint64_t *stored;
    struct error why;

    if (json_need_text(value, "text", &text, err) < 0)
        return -1;
    stored = mem_new(sizeof *stored);
    *stored = rev;
    map_set(service->schedule_revs, id, stored);

    /* The configuration may have changed since: such a schedule is not in force, and the status
       says so. */
    schedule = decode_one(service, id, text, true, &why);
    if (schedule)
        map_set(service->book, id, schedule);
    else
        log_warn("schedule_ignored", FIELD_TEXT("window", id), FIELD_TEXT("text", why.text));
    return 0;
}

/* {nodes: ["POOL/NODE"]}: nodes of production, in the order of the applied plan. */
static json_t *names_of(const struct service *service, const json_t *plan)
{
    json_t *nodes = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(plan, "transfers"), i, row) {
        const char *from = json_text_or(row, "from", "");
        const struct config_pool *pool = config_pool(service->config, from);
        owned(chars) char *name = text_format("%s/%s", from, json_text_or(row, "node", ""));

        if (pool && pool->cluster->role == ROLE_PRODUCTION)
            json_array_append_new(nodes, json_text(name));
    }
    return json_make("{so}", "nodes", nodes);
}

static void set_names(struct service *service, const json_t *names)
{
    const json_t *name;
    size_t i;

    require(json_is_array(json_object_get(names, "nodes")));
    map_free(service->named);
    service->named = map_new(NULL);
    json_array_foreach(json_object_get(names, "nodes"), i, name) {
        if (json_is_string(name))
            map_set(service->named, json_string_value(name), (void *)(uintptr_t)(i + 1));
    }
}

static int load_names(void *context, const char *id, uint64_t rev, const json_t *value,
                      struct error *err)
{
    struct service *service = context;
    json_t *nodes;

    (void)id;
    if (json_need_array(value, "nodes", &nodes, err) < 0)
        return -1;
    service->named_rev = rev;
    set_names(service, value);
    return 0;
}

int schedules_load(struct service *service, struct error *err)
{
    if (journal_load(service->world->journal, "schedule", load_one, service, err) < 0)
        return -1;
    return journal_load(service->world->journal, "named", load_names, service, err);
}

json_t *service_apply(struct service *service, const json_t *schedules, const char *fingerprint,
                      const char *by, struct error *err)
{
    owned(map) struct map *book = schedules_decode(service, schedules, err);
    owned(json) json_t *plan = book ? service_plan(service, schedules, err) : NULL;
    struct journal_batch *batch;
    owned(json) json_t *event = json_make("{ssss}", "event", "schedules_applied", "by", by);
    owned(json) json_t *names = NULL;
    const char *window;

    if (!plan)
        return NULL;
    if (fingerprint && !text_equal(fingerprint, json_text_or(plan, "fingerprint", ""))) {
        error_set(err, ERROR_CONFLICT,
                  "the world moved since the plan was made (fingerprint %s, now %s): plan again",
                  fingerprint, json_text_or(plan, "fingerprint", ""));
        return NULL;
    }

    batch = journal_batch_new(service->epoch);
    for (size_t i = 0; map_next(book, &i, &window, NULL);) {
        const uint64_t *rev = map_get(service->schedule_revs, window);
        owned(json) json_t *value = json_make("{sO}", "text", json_object_get(schedules, window));

        journal_put(batch, "schedule", window, rev ? *rev : 0, value);
    }
    names = names_of(service, plan);
    journal_put(batch, "named", "leaving", service->named_rev, names);
    journal_event(batch, loop_wall(service->world->loop), event);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return NULL;
    }
    for (size_t i = 0; map_next(book, &i, &window, NULL);) {
        const uint64_t *rev = map_get(service->schedule_revs, window);
        uint64_t *next = mem_new(sizeof *next);

        *next = rev ? *rev + 1 : 1;
        map_set(service->schedule_revs, window, next);
    }
    require(!service->runner->is_broken);
    service->named_rev++;
    set_names(service, names);
    map_free(service->book);
    service->book = steal(&book);
    timer_set_sooner(service->timer, 0);
    return steal(&plan);
}
