/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schedules in force: applied as a whole set, kept in the journal.
 */
#include "base/crypto.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/planning/schedule_check.h"
#include "broker/service/service_parts.h"

#include <string.h>

static struct schedule *decode_one(const struct config *config, const char *window,
                                   const char *text, const struct schedule_use *use,
                                   struct error *err)
{
    owned(schedule) struct schedule *schedule = NULL;
    owned(chars) char *source = text_format("%s.yaml", window);

    if (!window_find(config->windows, window)) {
        (void)window_refuse(config->windows, window, err);
        error_context(err, "%s.yaml", window);
        return NULL;
    }
    schedule = schedule_parse(text, strlen(text), source, err);
    if (!schedule)
        return NULL;
    return schedule_check(config, schedule, source, use, err) < 0 ? NULL : steal(&schedule);
}

struct map *schedules_decode(const struct service *service, const json_t *schedules,
                             struct error *err)
{
    const struct config *config = service->config;
    struct wall_time now = loop_wall(service->world->loop);
    owned(map) struct map *book = targets_book_new();
    owned(forecast_file) struct forecast_file *forecast = NULL;

    if (!json_is_object(schedules)) {
        error_set(err, ERROR_INVALID, "schedules: expected an object of window: text");
        return NULL;
    }
    if (forecast_decode(service, schedules, &forecast, err) < 0)
        return NULL;
    for (void *at = json_object_iter((json_t *)(uintptr_t)schedules); at;
         at = json_object_iter_next((json_t *)(uintptr_t)schedules, at)) {
        const char *window = json_object_iter_key(at);
        const char *text = json_string_value(json_object_iter_value(at));
        struct schedule *schedule;

        if (text_equal(window, FORECAST_FILE_NAME))
            continue; /* forecast_decode() */
        if (!text) {
            error_set(err, ERROR_INVALID, "schedules/%s: expected the text of a file", window);
            return NULL;
        }
        schedule = decode_one(config, window, text, &(struct schedule_use){ window, now }, err);
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

static char *print_of(const char *text)
{
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(text, strlen(text), hash);
    return mem_copy_chars(hash);
}

void schedules_fit(const struct schedules_fit *fit, const char *window, const char *text)
{
    const struct schedule_use in_force = { NULL, fit->now };
    struct error why;
    struct schedule *schedule = decode_one(fit->config, window, text, &in_force, &why);

    if (schedule)
        map_set(fit->book, window, schedule);
    else
        map_set(fit->unfit, window, mem_copy_chars(why.text));
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;
    const char *text, *why;
    uint64_t *stored;

    if (json_need_text(value, "text", &text, err) < 0)
        return -1;
    stored = mem_new(sizeof *stored);
    *stored = rev;
    map_set(service->schedule_revs, id, stored);
    map_set(service->schedule_prints, id, print_of(text));
    schedules_fit(&(struct schedules_fit){ service->config, service->book, service->unfit,
                                           loop_wall(service->world->loop) },
                  id, text);
    why = map_get(service->unfit, id);
    if (why)
        log_warn("schedule_ignored", FIELD_TEXT("window", id), FIELD_TEXT("text", why));
    return 0;
}

/* {nodes: ["POOL/NODE"], applied}: nodes of production, in the order of the applied plan, and the
   time.  Records of older releases have no time. */
static json_t *names_of(const struct service *service, const json_t *plan)
{
    struct wall_time now = wall_whole_second(loop_wall(service->world->loop).ms);
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
    return json_make("{so so}", "nodes", nodes, "applied", json_wall(now));
}

static void set_names(struct service *service, const json_t *names)
{
    struct error ignored;
    const json_t *name;
    size_t i;

    require(json_is_array(json_object_get(names, "nodes")));
    if (wall_parse(json_text_or(names, "applied", ""), false, &service->applied, &ignored) < 0)
        service->applied.ms = 0;
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
    if (journal_load(service->world->journal, "schedule", load_one, service, err) < 0 ||
        forecast_load(service, err) < 0)
        return -1;
    return journal_load(service->world->journal, "named", load_names, service, err);
}

/* ---- how much an apply changes ---- */

enum { CHANGES_SHOWN = 200 };

/* Nodes that come and go, reservation by reservation, in one window. */
struct wave {
    const char *window;
    int64_t *comes; /* as config->reservations */
    int64_t *goes;
};

static int64_t nodes_in(const struct schedule *schedule, const struct config_pool *pool)
{
    return schedule
               ? schedule_nodes_of(schedule, pool->reservation->machine, pool->reservation->region,
                                   pool->cluster->name, pool->reservation->zone_index)
               : -1;
}

/* What the pool has in that window without the new schedule: by the schedule in force, or what is
   there now.  A pool that was never listed counts as what makes the change greatest. */
static int64_t nodes_before(const struct service *service, const char *window,
                            const struct config_pool *pool, int64_t wanted)
{
    const struct fleet_pool *listed = fleet_pool(service->fleet, pool);
    int64_t before = nodes_in(map_get(service->book, window), pool);
    int64_t most = pool->reservation->nodes;

    if (before >= 0)
        return before;
    if (listed->is_known)
        return (int64_t)map_count(listed->instances);
    return wanted * 2 > most ? 0 : most;
}

static void add_change(const struct service *service, const struct wave *wave,
                       const struct config_pool *pool, int64_t wanted, json_t *changes)
{
    int64_t before = nodes_before(service, wave->window, pool, wanted);
    size_t at = (size_t)(pool->reservation - service->config->reservations);

    wave->comes[at] += wanted > before ? wanted - before : 0;
    wave->goes[at] += wanted < before ? before - wanted : 0;
    if (wanted != before && json_array_size(changes) < CHANGES_SHOWN)
        json_array_append_new(changes, json_make("{ss ss sI sI}", "window", wave->window, "pool",
                                                 pool->name, "nodes", (json_int_t)before,
                                                 "wanted_nodes", (json_int_t)wanted));
}

/* Nodes that change their pools in the window. */
static int64_t wave_size(const struct service *service, const char *window,
                         const struct schedule *schedule, json_t *changes)
{
    const struct config *config = service->config;
    struct wave wave = { window, mem_new_array(config->reservation_count, sizeof *wave.comes),
                         mem_new_array(config->reservation_count, sizeof *wave.goes) };
    int64_t size = 0;

    for (size_t i = 0; i < config->pool_count; i++) {
        int64_t wanted = nodes_in(schedule, &config->pools[i]);

        if (wanted >= 0)
            add_change(service, &wave, &config->pools[i], wanted, changes);
    }
    for (size_t i = 0; i < config->reservation_count; i++)
        size += wave.comes[i] > wave.goes[i] ? wave.comes[i] : wave.goes[i];
    mem_free(wave.comes);
    mem_free(wave.goes);
    return size;
}

int64_t schedules_size(const struct service *service, const struct map *book, json_t **ret_changes)
{
    const struct window_set *windows = service->config->windows;
    int64_t most = 0;

    *ret_changes = json_array();
    for (size_t i = 0; i < windows->count; i++) { /* in the order of the configuration */
        const struct schedule *schedule = map_get(book, windows->items[i].name);
        int64_t size = schedule ? wave_size(service, windows->items[i].name, schedule, *ret_changes)
                                : 0;

        most = size > most ? size : most;
    }
    return most;
}

void schedules_print(const struct service *service, char out[20])
{
    const struct window_set *windows = service->config->windows;
    owned(text) struct text *basis = text_new(TEXT_UNBOUNDED);
    owned(chars) char *hash = NULL;

    for (size_t i = 0; i < windows->count; i++) {
        const char *print = map_get(service->schedule_prints, windows->items[i].name);

        text_add(basis, "%s %s\n", windows->items[i].name, print ?: "-");
    }
    hash = print_of(basis->chars);
    text_print(out, 20, "%.16s", hash);
}

/* ---- putting them in force ---- */

/* A set that could be put in force now. */
struct apply_act {
    const json_t *schedules;
    struct map *book; /* taken when it is */
    const json_t *plan;
    const char *by;
    int64_t nodes;
    struct approval *approval; /* that `approver` just gave; NULL: it needs none */
    const char *approver;
};

static void put_schedules(struct service *service, const struct apply_act *act,
                          struct journal_batch *batch)
{
    const char *window;

    for (size_t i = 0; map_next(act->book, &i, &window, NULL);) {
        const uint64_t *rev = map_get(service->schedule_revs, window);
        owned(json)
            json_t *value = json_make("{sO}", "text", json_object_get(act->schedules, window));

        journal_put(batch, "schedule", window, rev ? *rev : 0, value);
    }
}

static void keep_schedules(struct service *service, const struct apply_act *act)
{
    const char *window;

    for (size_t i = 0; map_next(act->book, &i, &window, NULL);) {
        const uint64_t *rev = map_get(service->schedule_revs, window);
        uint64_t *next = mem_new(sizeof *next);

        *next = rev ? *rev + 1 : 1;
        map_set(service->schedule_revs, window, next);
        map_set(service->schedule_prints, window,
                print_of(json_string_value(json_object_get(act->schedules, window))));
    }
    map_free(service->unfit);
    service->unfit = map_new(mem_free);
    map_free(service->book);
    service->book = act->book;
}

/* Takes the act's book when it succeeds. */
static int put_in_force(struct service *service, const struct apply_act *act, struct error *err)
{
    owned(forecast_file) struct forecast_file *forecast = NULL;
    struct journal_batch *batch;
    owned(json) json_t *event = json_make("{ss ss ss* sI}", "event", "schedules_applied", "by",
                                          act->by, "approved_by", act->approver, "changed_nodes",
                                          (json_int_t)act->nodes);
    owned(json) json_t *names = names_of(service, act->plan);

    if (forecast_decode(service, act->schedules, &forecast, err) < 0)
        return -1;
    batch = journal_batch_new(service->epoch);
    put_schedules(service, act, batch);
    forecast_put(service, act->schedules, batch);
    journal_put(batch, "named", "leaving", service->named_rev, names);
    journal_event(batch, loop_wall(service->world->loop), event);
    if (act->approval)
        approve_done(service, act->approval, act->approver, batch);
    else
        approve_count(service, act->by, act->nodes, batch);
    if (journal_commit(service->world->journal, &batch, err) < 0) {
        runner_break(service->runner, err);
        return -1;
    }
    require(!service->runner->is_broken);
    service->apply_success = 1;
    service->named_rev++;
    set_names(service, names);
    keep_schedules(service, act);
    forecast_set(service, steal(&forecast));
    timer_set_sooner(service->timer, 0);
    return 0;
}

/* The act as people see it before it is approved. */
struct sight {
    struct approval_wish wish;
    json_t *request;
    json_t *seen;
    char *subject;
    char base[20];
};

static void owned_sight(struct sight *sight)
{
    json_decref(sight->request);
    json_decref(sight->seen);
    mem_free(sight->subject);
}

static void see(const struct service *service, struct apply_act *act, struct sight *sight)
{
    owned(chars) char *text = json_print(act->schedules);
    json_t *changes;

    schedules_print(service, sight->base);
    act->nodes = schedules_size(service, act->book, &changes);
    sight->subject = print_of(text);
    sight->request = json_make("{sO ss}", "schedules", act->schedules, "base", sight->base);
    sight->seen = json_make("{sI so}", "moves_now",
                            (json_int_t)json_array_size(json_object_get(act->plan, "transfers")),
                            "changes", changes);
    sight->wish = (struct approval_wish){
        .is_apply = true,
        .by = act->by,
        .reason = "",
        .cluster = "",
        .subject = sight->subject,
        .nodes = act->nodes,
        .lost_gpu_hours = json_number_value(json_at(act->plan, "bill/lost_gpu_hours")),
        .request = sight->request,
        .seen = sight->seen,
    };
}

/* 1: it may be put in force; 0: it waits for a second person, by *ret_approval. */
static int ask_for_approval(struct service *service, const struct sight *sight,
                            const struct approval **ret_approval, struct error *err)
{
    const struct approval *like = approvals_like(service, &sight->wish);
    char text[WALL_TEXT_SIZE];
    bool is_needed;

    *ret_approval = like;
    if (approve_needs(service, sight->wish.by, sight->wish.nodes, &is_needed, err) < 0)
        return -1;
    if (!is_needed)
        return 1;
    if (like && like->state == APPROVAL_REJECTED)
        return error_set(err, ERROR_DENIED, "%s rejected these schedules (%s, until %s): %.200s",
                         like->decided_by, like->id, wall_format(like->ends, text), like->why);
    *ret_approval = like ?: approve_ask(service, &sight->wish, err);
    return *ret_approval ? 0 : -1;
}

static json_t *apply(struct service *service, const json_t *schedules, const char *fingerprint,
                     const char *by, struct error *err)
{
    owned(map) struct map *book = schedules_decode(service, schedules, err);
    owned(json) json_t *plan = book ? service_plan(service, schedules, err) : NULL;
    struct apply_act act = { .schedules = schedules, .book = book, .plan = plan, .by = by };
    owned(sight) struct sight sight = { 0 };
    const struct approval *approval;
    int may;

    if (!plan)
        return NULL;
    if (fingerprint && !text_equal(fingerprint, json_text_or(plan, "fingerprint", ""))) {
        error_set(err, ERROR_CONFLICT,
                  "the world moved since the plan was made (fingerprint %s, now %s): plan again",
                  fingerprint, json_text_or(plan, "fingerprint", ""));
        return NULL;
    }
    see(service, &act, &sight);
    may = ask_for_approval(service, &sight, &approval, err);
    if (may < 0 || (may > 0 && put_in_force(service, &act, err) < 0))
        return NULL;
    if (may > 0)
        (void)steal(&book);
    else
        json_object_set_new(plan, "approval", approval_describe(approval));
    json_object_set_new(plan, "is_applied", json_boolean(may > 0));
    return steal(&plan);
}

json_t *service_apply(struct service *service, const json_t *schedules, const char *fingerprint,
                      const char *by, struct error *err)
{
    json_t *plan = apply(service, schedules, fingerprint, by, err);

    if (!plan) /* one that waits for approval is neither */
        service->apply_success = 0;
    return plan;
}

int schedules_approved(struct service *service, struct approval *approval, const char *by,
                       struct error *err)
{
    owned(json) json_t *schedules = json_incref(json_object_get(approval->request, "schedules"));
    owned(map) struct map *book = schedules_decode(service, schedules, err);
    owned(json) json_t *plan = book ? service_plan(service, schedules, err) : NULL;
    owned(chars) char *asker = mem_copy_chars(approval->by);
    struct apply_act act = { .schedules = schedules,
                             .book = book,
                             .plan = plan,
                             .by = asker,
                             .approval = approval,
                             .approver = by };
    owned(sight) struct sight sight = { 0 };

    if (!plan)
        return -1;
    see(service, &act, &sight);
    if (approve_check(service, approval, &sight.wish, err) < 0 ||
        put_in_force(service, &act, err) < 0)
        return -1;
    (void)steal(&book);
    return 0;
}
