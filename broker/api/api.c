/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE route table, and what each route asks the service.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/api/metrics.h"
#include "broker/api/routes.h"
#include "broker/health/conditions.h"
#include "broker/webhooks/webhooks.h"

static json_t *get_status(const struct ask *ask, struct error *err);
static json_t *get_transfers(const struct ask *ask, struct error *err);
static json_t *get_transfer(const struct ask *ask, struct error *err);
static json_t *get_events(const struct ask *ask, struct error *err);
static json_t *get_leads(const struct ask *ask, struct error *err);
static json_t *get_departures(const struct ask *ask, struct error *err);
static json_t *get_hosts(const struct ask *ask, struct error *err);
static json_t *get_version(const struct ask *ask, struct error *err);
static json_t *get_whoami(const struct ask *ask, struct error *err);
static json_t *get_day(const struct ask *ask, struct error *err);
static json_t *get_forecast(const struct ask *ask, struct error *err);
static json_t *get_changes(const struct ask *ask, struct error *err);
static json_t *get_metrics(const struct ask *ask, struct error *err);
static json_t *get_healthz(const struct ask *ask, struct error *err);
static json_t *get_readyz(const struct ask *ask, struct error *err);
static json_t *post_plan(const struct ask *ask, struct error *err);
static json_t *post_apply(const struct ask *ask, struct error *err);
static json_t *post_reclaim(const struct ask *ask, struct error *err);
static json_t *get_reclaims(const struct ask *ask, struct error *err);
static json_t *post_end_reclaim(const struct ask *ask, struct error *err);
static json_t *get_approvals(const struct ask *ask, struct error *err);
static json_t *post_approve(const struct ask *ask, struct error *err);
static json_t *post_freeze(const struct ask *ask, struct error *err);
static json_t *post_unfreeze(const struct ask *ask, struct error *err);
static json_t *post_abort(const struct ask *ask, struct error *err);
static json_t *post_resume(const struct ask *ask, struct error *err);
static json_t *post_hold(const struct ask *ask, struct error *err);
static json_t *post_release(const struct ask *ask, struct error *err);
static json_t *get_reload(const struct ask *ask, struct error *err);
static json_t *post_reload(const struct ask *ask, struct error *err);
static json_t *get_webhooks(const struct ask *ask, struct error *err);
static json_t *post_webhook_test(const struct ask *ask, struct error *err);

/* clang-format off */
static const struct route routes[] = {
    { HTTP_GET,  "/v1/status",        get_status,    ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/transfers",     get_transfers, ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/transfers/:id", get_transfer,  ACCESS_VIEWER, 0, RATE_FREE },
    { HTTP_GET,  "/v1/events",        get_events,    ACCESS_VIEWER, IS_KEPT | IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/leads",         get_leads,     ACCESS_VIEWER, IS_SHARED, RATE_FREE },
    { HTTP_GET,  "/v1/departures",    get_departures, ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/departures.ics", get_departures, ACCESS_VIEWER, IS_CALENDAR | IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/day",           get_day,       ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/forecast",      get_forecast,  ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_GET,  "/v1/changes",       get_changes,   ACCESS_VIEWER, IS_STREAM, RATE_READ },
    { HTTP_GET,  "/v1/whoami",        get_whoami,    ACCESS_NONE, IS_NAMED, RATE_FREE },
    { HTTP_GET,  "/v1/hosts",         get_hosts,     ACCESS_VIEWER, IS_SHARED, RATE_FREE },
    { HTTP_GET,  "/v1/version",       get_version,   ACCESS_VIEWER, 0, RATE_FREE },
    { HTTP_GET,  "/metrics",          get_metrics,   ACCESS_VIEWER, IS_OPEN | IS_METRICS | IS_SHARED, RATE_READ },
    { HTTP_GET,  "/healthz",          get_healthz,   ACCESS_VIEWER, IS_OPEN, RATE_FREE },
    { HTTP_GET,  "/readyz",           get_readyz,    ACCESS_VIEWER, IS_OPEN, RATE_FREE },
    { HTTP_POST, "/v1/plan",          post_plan,     ACCESS_VIEWER, IS_TRIED, RATE_PLAN },
    { HTTP_POST, "/v1/apply",         post_apply,    ACCESS_DISPATCHER, 0, RATE_ACT },
    { HTTP_POST, "/v1/reclaim",       post_reclaim,  ACCESS_DISPATCHER, IS_TRIED, RATE_ACT },
    { HTTP_GET,  "/v1/reclaims",      get_reclaims,  ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_POST, "/v1/reclaims/end",  post_end_reclaim, ACCESS_DISPATCHER, 0, RATE_ACT },
    { HTTP_GET,  "/v1/approvals",     get_approvals, ACCESS_VIEWER, IS_SHARED, RATE_READ },
    { HTTP_POST, "/v1/approve",       post_approve,  ACCESS_DISPATCHER, 0, RATE_ACT },
    { HTTP_POST, "/v1/freeze",        post_freeze,   ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_POST, "/v1/unfreeze",      post_unfreeze, ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_POST, "/v1/abort",         post_abort,    ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_POST, "/v1/resume",        post_resume,   ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_POST, "/v1/hold",          post_hold,     ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_POST, "/v1/hosts/release", post_release,  ACCESS_OPERATOR, 0, RATE_ACT },
    { HTTP_GET,  "/v1/reload",        get_reload,    ACCESS_VIEWER, 0, RATE_READ },
    { HTTP_POST, "/v1/reload",        post_reload,   ACCESS_ADMIN, IS_KEPT, RATE_ACT },
    { HTTP_GET,  "/v1/webhooks",      get_webhooks,  ACCESS_VIEWER, 0, RATE_FREE },
    { HTTP_POST, "/v1/webhooks/test", post_webhook_test, ACCESS_OPERATOR, IS_SENT, RATE_ACT },
    { HTTP_GET,  "/",                 NULL,          ACCESS_NONE, IS_PAGE, RATE_FREE },
    { HTTP_GET,  "/page/:id",         NULL,          ACCESS_NONE, IS_PAGE, RATE_FREE },
};
/* clang-format on */

static json_t *get_status(const struct ask *ask, struct error *err)
{
    owned(chars) char *text = url_query(ask->target, "transfers");
    long long most = 0;

    if (!text)
        return service_status(ask->service);
    if (!text_to_int(text, 0, INT32_MAX, &most)) {
        error_set(err, ERROR_INVALID, "transfers: \"%s\" is not a number of transfers", text);
        return NULL;
    }
    return service_status_of(ask->service, (size_t)most);
}

static json_t *get_transfers(const struct ask *ask, struct error *err)
{
    owned(chars) char *all = url_query(ask->target, "all");

    (void)err;
    return service_transfers(ask->service, text_equal(all, "true"));
}

static json_t *get_transfer(const struct ask *ask, struct error *err)
{
    return service_transfer(ask->service, ask->id, err);
}

static json_t *get_events(const struct ask *ask, struct error *err)
{
    owned(chars) char *text = url_query(ask->target, "count");
    owned(chars) char *since = url_query(ask->target, "since");
    owned(chars) char *node = url_query(ask->target, "node");
    owned(chars) char *move = url_query(ask->target, "move");
    owned(chars) char *actor = url_query(ask->target, "actor");
    owned(chars) char *acts = url_query(ask->target, "acts");
    owned(chars) char *older = url_query(ask->target, "before");
    struct event_wish wish = {
        .since = since, .node = node, .move = move, .actor = actor, .acts = text_equal(acts, "true")
    };
    long long count = 50, before = 0;

    if (text && !text_to_int(text, 1, INT32_MAX, &count)) {
        error_set(err, ERROR_INVALID, "count: \"%s\" is not a number of events", text);
        return NULL;
    }
    if (older && !text_to_int(older, 1, INT64_MAX, &before)) {
        error_set(err, ERROR_INVALID, "before: \"%s\" is not the number of an event", older);
        return NULL;
    }
    wish.count = count;
    wish.before = before;
    return service_events_of(ask->service, &wish, err);
}

static json_t *get_leads(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_leads(ask->service);
}

static json_t *get_departures(const struct ask *ask, struct error *err)
{
    owned(chars) char *text = url_query(ask->target, "seconds");
    owned(chars) char *node = url_query(ask->target, "node");
    long long seconds = DAY_MS / SECOND_MS;

    if (text && !text_to_int(text, 60, 7 * DAY_MS / SECOND_MS, &seconds)) {
        error_set(err, ERROR_INVALID, "seconds: \"%s\" is not from 60 to 604800", text);
        return NULL;
    }
    if (node && service_find_node(ask->service, node, err) < 0)
        return NULL;
    return service_departures(ask->service, seconds * SECOND_MS);
}

static json_t *get_hosts(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_hosts(ask->service);
}

static json_t *get_version(const struct ask *ask, struct error *err)
{
    (void)ask;
    (void)err;
    return json_make("{ss ss}", "kind", "version", "version", SLUICE_VERSION);
}

static json_t *get_day(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_day(ask->service);
}

static json_t *get_forecast(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_forecast(ask->service);
}

static json_t *get_changes(const struct ask *ask, struct error *err)
{
    (void)ask;
    (void)err;
    return json_object();
}

/* `may`: the requests beyond looking that the person's role allows. */
static json_t *get_whoami(const struct ask *ask, struct error *err)
{
    json_t *may = json_array();
    const struct route *route;

    (void)err;
    for (size_t at = 0; (route = route_next(&at));) {
        owned(chars) char *request = text_format("%s %s", http_method_name(route->method),
                                                 route->path);

        if (route->role > ACCESS_VIEWER && route->role <= ask->person.role)
            json_array_append_new(may, json_text(request));
    }
    return json_make("{ss ss ss so}", "kind", "whoami", "person", ask->person.name, "role",
                     access_role_name(ask->person.role), "may", may);
}

static json_t *get_metrics(const struct ask *ask, struct error *err)
{
    json_t *facts = service_status(ask->service);
    const json_t *health = json_object_get(facts, "health");
    owned(json) json_t *leads = service_leads(ask->service);
    owned(json) json_t *ledger = service_ledger(ask->service);
    owned(json) json_t *numbers = service_numbers(ask->service);

    (void)err;
    json_object_set(facts, "ledger", ledger);
    json_object_set(facts, "numbers", numbers);
    json_object_set_new(facts, "version", json_text(SLUICE_VERSION));
    json_object_set_new(facts, "is_broken", json_boolean(service_is_broken(ask->service)));
    json_object_set_new(facts, "severity", json_integer(conditions_severity(health)));
    json_object_set_new(facts, "condition_counts", conditions_counts(health));
    json_object_set_new(facts, "condition_dates", conditions_dates(health));
    json_object_set_new(facts, "condition_table", conditions_table());
    json_object_set(facts, "leads", json_object_get(leads, "leads"));
    json_object_set_new(facts, "lead_steps", metrics_steps(json_object_get(leads, "leads")));
    return facts;
}

static json_t *get_healthz(const struct ask *ask, struct error *err)
{
    if (!service_is_broken(ask->service))
        return json_make("{ss sb}", "kind", "healthz", "is_healthy", 1);
    error_set(err, ERROR_TRANSIENT, "the journal failed: the service changes nothing any more");
    return NULL;
}

/* A cluster or a cloud that is out of reach makes a condition; the service is still ready. */
static json_t *get_readyz(const struct ask *ask, struct error *err)
{
    if (service_is_broken(ask->service) || !service_has_begun(ask->service)) {
        error_set(err, ERROR_TRANSIENT, "the service has not made its first turn, or has failed");
        return NULL;
    }
    return json_make("{ss sb}", "kind", "readyz", "is_ready", 1);
}

static json_t *post_plan(const struct ask *ask, struct error *err)
{
    json_t *schedules = NULL;

    if (json_find_object(ask->body, "schedules", &schedules, err) < 0)
        return NULL;
    return service_plan(ask->service, schedules, err);
}

static json_t *post_apply(const struct ask *ask, struct error *err)
{
    json_t *schedules;
    const char *fingerprint = NULL;

    if (json_need_object(ask->body, "schedules", &schedules, err) < 0 ||
        json_find_text(ask->body, "fingerprint", &fingerprint, err) < 0)
        return NULL;
    return service_apply(ask->service, schedules, fingerprint, ask->by, err);
}

static json_t *post_reclaim(const struct ask *ask, struct error *err)
{
    return service_reclaim(ask->service, ask->body, ask->by, err);
}

static json_t *get_reclaims(const struct ask *ask, struct error *err)
{
    owned(chars) char *all = url_query(ask->target, "all");

    (void)err;
    return service_reclaims(ask->service, text_equal(all, "true"));
}

static json_t *post_end_reclaim(const struct ask *ask, struct error *err)
{
    return service_end_reclaim(ask->service, ask->body, ask->by, err);
}

static json_t *get_approvals(const struct ask *ask, struct error *err)
{
    owned(chars) char *all = url_query(ask->target, "all");

    (void)err;
    return service_approvals(ask->service, text_equal(all, "true"));
}

static json_t *post_approve(const struct ask *ask, struct error *err)
{
    return service_approve(ask->service, ask->body, ask->by, err);
}

static json_t *post_freeze(const struct ask *ask, struct error *err)
{
    return service_freeze(ask->service, ask->body, ask->by, err);
}

static json_t *post_unfreeze(const struct ask *ask, struct error *err)
{
    return service_unfreeze(ask->service, ask->body, ask->by, err);
}

static json_t *post_abort(const struct ask *ask, struct error *err)
{
    return service_abort(ask->service, ask->body, ask->by, err);
}

static json_t *post_resume(const struct ask *ask, struct error *err)
{
    return service_resume(ask->service, ask->body, ask->by, err);
}

static json_t *post_hold(const struct ask *ask, struct error *err)
{
    return service_hold(ask->service, ask->body, ask->by, err);
}

static json_t *post_release(const struct ask *ask, struct error *err)
{
    return service_release_host(ask->service, ask->body, ask->by, err);
}

static json_t *get_reload(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_reloaded(ask->service);
}

static json_t *post_reload(const struct ask *ask, struct error *err)
{
    return service_reload(ask->service, ask->body, ask->by, err);
}

static json_t *get_webhooks(const struct ask *ask, struct error *err)
{
    (void)err;
    return json_make("{ss so}", "kind", "webhooks", "webhooks",
                     webhooks_describe(service_webhooks(ask->service)));
}

static json_t *post_webhook_test(const struct ask *ask, struct error *err)
{
    return webhooks_ask_test(service_webhooks(ask->service), ask->body, ask->by, err);
}

/* Whether the segments fit the path; *ret_id is the segment in the place of ":id". */
static bool fits(const char *path, const struct url_segments *segments, const char **ret_id)
{
    struct url_segments wanted = url_split(path);
    bool is_fit = wanted.count == segments->count;

    *ret_id = NULL;
    for (size_t i = 0; is_fit && i < wanted.count; i++) {
        if (text_equal(wanted.items[i], ":id"))
            *ret_id = segments->items[i];
        else
            is_fit = text_equal(wanted.items[i], segments->items[i]);
    }
    url_segments_free(&wanted);
    return is_fit;
}

const struct route *route_find(enum http_method method, const struct url_segments *segments,
                               const char **ret_id)
{
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (routes[i].method == method && fits(routes[i].path, segments, ret_id))
            return &routes[i];
    return NULL;
}

const struct route *route_next(size_t *at)
{
    return *at < COUNT_OF(routes) ? &routes[(*at)++] : NULL;
}
