/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wiring and rhythm.  See service.h.
 */
#include "broker/service/service.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/sides/sides.h"

#include <inttypes.h>
#include <string.h>

enum { TICK_MS = 10 * SECOND_MS, NEWS_MS = 100, NEWS_MACHINES = 250 };
enum { EVENTS_VERIFIED = 10000 };

/* All that nodes may show of a transfer is on the disk. */
static void tell(void *context, enum journal_fate fate)
{
    struct service *service = context;

    if (fate == JOURNAL_KEPT)
        sides_tell_people(service->runner);
}

static void tell_webhooks(struct service *service)
{
    owned(json) json_t *health = NULL;
    owned(json) json_t *reclaims = NULL;

    if (!webhooks_want_look(service->webhooks))
        return;
    health = health_describe(service->health);
    reclaims = reclaims_describe(service);
    webhooks_look(service->webhooks, health, reclaims);
}

static void tick(void *context)
{
    struct service *service = context;

    service->has_turned = true;
    timer_set(service->timer, TICK_MS); /* first, because a part that is advanced may ask for an
                                           earlier turn */
    clock_look(service->clock);
    service_advance(service);
    story_look(service);
    meters_look(service);
    tell_webhooks(service);
    journal_after(service->world->journal, tell, service);
}

static void on_failure(void *context, const struct error *err)
{
    struct service *service = context;

    runner_break(service->runner, err);
}

/* The delay until changes are planned on.  A large fleet always changes, and each plan reads all
   machines: it waits a tenth of a second more for each so many. */
static int64_t news_delay_ms(const struct service *service)
{
    int64_t machines = 0;

    for (size_t i = 0; i < service->config->pool_count; i++)
        machines += (int64_t)map_count(
            fleet_pool(service->fleet, &service->config->pools[i])->instances);
    return NEWS_MS * (1 + machines / NEWS_MACHINES);
}

static void on_news(void *context)
{
    struct service *service = context;

    service->news++;
    runner_wake(service->runner);
    timer_set_sooner(service->timer, news_delay_ms(service));
}

static int may_drain(void *context, const struct transfer *transfer, struct error *err)
{
    const struct service *service = context;

    return quotas_allow_drain(service->quotas, transfer->source, err);
}

int service_load_records(struct service *service, struct error *err)
{
    const struct runner_setup setup = {
        .world = service->world,
        .config = service->config,
        .fleet = service->fleet,
        .guard = &service->guard,
        .epoch = service->epoch,
        .sides = sides_known,
    };

    service->guard.config = service->config;
    service->guard.fleet = service->fleet;
    service->runner = runner_open(&setup, err);
    if (!service->runner)
        return error_context(err, "journal");
    service->scaler = scaler_new(service);
    service->quotas = quotas_new(service);
    service->webhooks = webhooks_open(service->runner, err);
    if (!service->webhooks)
        return error_context(err, "journal");
    journal_on_failure(service->world->journal, on_failure, service);
    service->runner->may_drain = may_drain;
    service->runner->may_drain_context = service;
    if (scaler_load(service->scaler, err) < 0 || quotas_load(service->quotas, err) < 0 ||
        schedules_load(service, err) < 0 || freezes_load(service, err) < 0 ||
        reclaims_load(service, err) < 0 || approvals_load(service, err) < 0 ||
        approve_load(service, err) < 0 || bills_load(service, err) < 0 ||
        meters_load(service, err) < 0 || unreadable_load(service, err) < 0)
        return error_context(err, "journal");
    return 0;
}

static int load(struct service *service, struct error *err)
{
    struct world *world = service->world;
    struct error doubt;

    if (journal_begin_epoch(world->journal, &service->epoch, err) < 0)
        return error_context(err, "journal");
    service->clock = clock_open(service, err);
    if (!service->clock)
        return error_context(err, "journal");
    if (journal_verify(world->journal, EVENTS_VERIFIED, &doubt) < 0) {
        log_error("journal_doubt", FIELD_TEXT("text", doubt.text));
        text_copy(service->doubt, sizeof service->doubt, doubt.text);
    }
    service->fleet = fleet_open(world, service->config, err);
    if (!service->fleet || service_load_records(service, err) < 0)
        return -1;
    return clock_load(service->clock, err) == 0 ? 0 : error_context(err, "journal");
}

struct service *service_new(struct world *world, const struct config *config)
{
    struct service *service = mem_new(sizeof *service);

    service->world = world;
    service->config = config;
    service->book = targets_book_new();
    service->schedule_revs = map_new(mem_free);
    service->schedule_prints = map_new(mem_free);
    service->unfit = map_new(mem_free);
    service->named = map_new(NULL);
    service->queued = mem_new_array(config->pool_count, sizeof *service->queued);
    service->apply_success = -1;
    service->health = health_new();
    service->course = course_new(config->cluster_count);
    losses_init(&service->losses);
    unreadable_init(&service->unreadable);
    service->timer = timer_new(world->loop, tick, service);
    return service;
}

struct service *service_open(struct world *world, const struct config *config, struct error *err)
{
    owned(service) struct service *service = service_new(world, config);

    return load(service, err) == 0 ? steal(&service) : NULL;
}

void service_start(struct service *service)
{
    service->started_ms = loop_now(service->world->loop);
    fleet_watch(service->fleet, on_news, service);
    timer_set(service->timer, 0);
    webhooks_start(service->webhooks);
}

void service_close(struct service *service)
{
    if (!service)
        return;
    journal_forget(service->world->journal);
    timer_free(service->timer);
    fleet_close(service->fleet); /* first: it cancels what could still call back */
    scaler_free(service->scaler);
    quotas_free(service->quotas);
    dry_runs_clear(service);
    clock_free(service->clock);
    webhooks_free(service->webhooks);
    runner_close(service->runner);
    guard_clear(&service->guard);
    reclaims_clear(service);
    losses_clear(&service->losses);
    ledger_clear(&service->ledger);
    unreadable_clear(&service->unreadable);
    map_free(service->book);
    map_free(service->schedule_revs);
    map_free(service->schedule_prints);
    map_free(service->unfit);
    mem_free(service->queued);
    approvals_clear(service);
    approve_clear(service);
    forecast_file_free(service->forecast);
    map_free(service->named);
    health_free(service->health);
    course_free(service->course);
    mem_free(service);
}

void service_after(struct service *service, journal_after_fn fn, void *context)
{
    journal_after(service->world->journal, fn, context);
}

void service_set_face(struct service *service, enum service_face_place place,
                      const struct service_face *face)
{
    require(place >= 0 && place < FACE_PLACES);
    service->faces[place] = *face;
}

bool service_is_broken(const struct service *service)
{
    return service->runner->is_broken;
}

const char *service_time_zone(const struct service *service)
{
    return time_zone_name(service->config->windows->zone);
}

struct webhooks *service_webhooks(const struct service *service)
{
    return service->webhooks;
}

bool service_has_begun(const struct service *service)
{
    return service->has_turned;
}

uint64_t service_revision(const struct service *service)
{
    return service->news + journal_commits(service->world->journal);
}

/* The inputs of a plan: targets, supply, and the nodes that would be taken. */
static void fingerprint(const struct survey *survey, const struct plan *plan, char out[20])
{
    owned(text) struct text *basis = text_new(1 << 24);
    char hash[SHA256_TEXT_SIZE];

    for (size_t i = 0; i < survey->input.config->pool_count; i++) {
        const struct plan_pool *pool = &survey->pools[i];

        text_add(basis, "%s %" PRId64 " %" PRId64 " %" PRId64 " %d\n", pool->config->name,
                 pool->present, pool->incoming, plan_wanted(pool), (int)pool->is_known);
    }
    for (size_t i = 0; i < plan->transfers.count; i++)
        text_add(basis, "%s %s\n", plan->transfers.items[i].node->uid,
                 plan->transfers.items[i].target->name);
    crypto_sha256_text(basis->chars, basis->length, hash);
    text_copy(out, 20, hash);
    out[9] = '\0';
    memmove(out + 5, out + 4, 5);
    out[4] = '-';
}

/* The reach for the next change of window. */
static int64_t next_reach_ms(const struct service *service, const struct map *book,
                             struct wall_time now)
{
    struct wall_time edge = window_next_change(service->config->windows, now);
    const struct horizon horizon = survey_horizon(service, book, NULL);

    return reach_ms(&horizon, edge.ms > 0 ? edge : now);
}

static json_t *describe_pools(const struct service *service, const struct survey *survey,
                              const struct map *book)
{
    json_t *rows = json_array();
    const struct horizon present = {
        .config = service->config,
        .book = book,
        .now = loop_wall(service->world->loop),
        .reach = { .wave_nodes = 1 },
    };

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct plan_pool *pool = &survey->pools[i];
        const struct config_pool *config = pool->config;
        struct target target = target_nodes(&present, config);

        json_array_append_new(
            rows, json_make("{ss ss ss ss sb sI sI so so so}", "pool", config->name, "cluster",
                            config->cluster->name, "reservation", config->reservation->name, "zone",
                            config->reservation->zone, "is_known", (int)pool->is_known, "nodes",
                            (json_int_t)pool->present, "incoming_nodes", (json_int_t)pool->incoming,
                            "now_nodes",
                            target.now < 0 ? json_null() : json_integer((json_int_t)target.now),
                            "wanted_nodes",
                            plan_wanted(pool) < 0 || config->cluster->role == ROLE_RESEARCH
                                ? json_null()
                                : json_integer((json_int_t)plan_wanted(pool)),
                            "due", json_wall(pool->due)));
    }
    return rows;
}

/* Nodes of a pool that only Slurm can free, and those that people froze. */
static void add_kept(const struct plan_pool *pool, json_t *rows)
{
    const char *name = pool->config->name;

    for (size_t i = 0; i < pool->kept.count; i++)
        json_array_append_new(rows,
                              json_make("{ss ss ss sI}", "pool", name, "tool",
                                        pool->kept.items[i].tool, "why", pool->kept.items[i].why,
                                        "nodes", (json_int_t)pool->kept.items[i].nodes));
    if (pool->frozen > 0)
        json_array_append_new(rows, json_make("{ss ss sI}", "pool", name, "tool", "freeze", "nodes",
                                              (json_int_t)pool->frozen));
}

static json_t *describe_kept(const struct plan_input *input, const struct config_pool *pool)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < input->config->pool_count; i++)
        if (input->pools[i].config->reservation == pool->reservation &&
            input->pools[i].config != pool)
            add_kept(&input->pools[i], rows);
    return rows;
}

static json_t *describe_lacks(const struct plan_input *input, const struct plan *plan)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < plan->lack_count; i++) {
        const struct plan_lack *lack = &plan->lacks[i];

        json_array_append_new(rows, json_make("{ss sI so}", "pool", lack->pool->name, "nodes",
                                              (json_int_t)lack->nodes, "kept",
                                              describe_kept(input, lack->pool)));
    }
    return rows;
}

static json_t *describe_workloads(const struct service *service, const struct map *book)
{
    const struct config *config = service->config;
    json_t *rows = json_array();

    for (size_t i = 0; i < config->workload_count; i++) {
        for (size_t k = 0; k < config->workloads[i].share_count; k++) {
            const struct config_cluster *cluster = config->workloads[i].shares[k].cluster;
            const struct horizon today = survey_horizon(service, service->book, cluster);
            struct horizon planned = today;
            struct target before = target_replicas(&today, &config->workloads[i], cluster);
            struct target after;

            planned.book = book;
            after = target_replicas(&planned, &config->workloads[i], cluster);

            json_array_append_new(
                rows,
                json_make("{ss ss so so}", "workload", config->workloads[i].name, "cluster",
                          cluster->name, "replicas",
                          before.wanted < 0 ? json_null() : json_integer((json_int_t)before.wanted),
                          "wanted_replicas",
                          after.wanted < 0 ? json_null() : json_integer((json_int_t)after.wanted)));
        }
    }
    return rows;
}

/* The overrides in force, and the clusters from which no scheduled move can take a node of some
   pool. */
static json_t *describe_overrides(const struct service *service)
{
    json_t *holds = holds_describe(service);
    json_t *rows = json_array();
    char last[sizeof((struct error *)NULL)->text] = "";

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        struct error err;

        if (quotas_allow_leaving(service->quotas, pool, &err) == 0 || text_equal(err.text, last))
            continue;
        text_copy(last, sizeof last, err.text);
        json_array_append_new(
            rows, json_make("{ss ss}", "cluster", pool->cluster->name, "text", err.text));
    }
    json_object_set_new(holds, "quotas", rows);
    return holds;
}

/* A plan leaves out the pools that are not known; of none at all there is no plan. */
static bool is_any_known(const struct service *service, struct error *err)
{
    for (size_t i = 0; i < service->config->pool_count; i++)
        if (survey_knows(service, &service->config->pools[i], err))
            return true;
    return false;
}

json_t *service_plan(struct service *service, const json_t *schedules, struct error *err)
{
    owned(map) struct map *candidate = NULL;
    const struct map *book = service->book;
    owned(survey) struct survey *survey = NULL;
    owned(plan) struct plan *plan = NULL;
    struct wall_time now = loop_wall(service->world->loop);
    char print[20];

    if (schedules) {
        candidate = schedules_decode(service, schedules, err);
        if (!candidate)
            return NULL;
        book = candidate;
    }
    if (!is_any_known(service, err))
        return NULL;
    survey = survey_make_ahead(service, book);
    survey_weigh(service, survey);
    plan = plan_make(&survey->input);
    fingerprint(survey, plan, print);
    return json_make(
        "{ss ss so ss so so so so so so so so si sI sI}", "kind", "plan", "fingerprint", print,
        "at", json_wall(now), "window", window_at(service->config->windows, now)->name, "pools",
        describe_pools(service, survey, book), "unknown", survey_unknown(service, NULL), "warnings",
        service_guesses(service), "transfers", moves_describe_blocked(service, plan, BILL_ALL),
        "workloads", describe_workloads(service, book), "lacks",
        describe_lacks(&survey->input, plan), "bill", bill_describe(&survey->input, plan, BILL_ALL),
        "overrides", describe_overrides(service), "withdrawn_transfers", (int)plan->withdrawn.count,
        "reach_s", (json_int_t)(next_reach_ms(service, book, now) / SECOND_MS), "lead_p95_s",
        (json_int_t)(runner_lead_ms(service->runner, NULL, 95) / SECOND_MS));
}
