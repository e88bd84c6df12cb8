/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE route table, and the way from a call to an answer.
 */
#include "broker/api/api.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/api/metrics.h"
#include "broker/service/conditions.h"

#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* The input of a route: the decoded body (an object, maybe empty) and the caller. */
struct ask {
    struct service *service;
    const char *target;
    const char *id; /* the segment that stands for ":id"; NULL without one */
    const json_t *body;
    const char *by;
};

/* Returns new JSON, or NULL and an error. */
typedef json_t *(*route_fn)(const struct ask *ask, struct error *err);

enum role { ROLE_VIEWER, ROLE_OPERATOR };

static json_t *get_status(const struct ask *ask, struct error *err);
static json_t *get_transfers(const struct ask *ask, struct error *err);
static json_t *get_transfer(const struct ask *ask, struct error *err);
static json_t *get_events(const struct ask *ask, struct error *err);
static json_t *get_leads(const struct ask *ask, struct error *err);
static json_t *get_departures(const struct ask *ask, struct error *err);
static json_t *get_hosts(const struct ask *ask, struct error *err);
static json_t *get_version(const struct ask *ask, struct error *err);
static json_t *get_metrics(const struct ask *ask, struct error *err);
static json_t *get_healthz(const struct ask *ask, struct error *err);
static json_t *get_readyz(const struct ask *ask, struct error *err);
static json_t *post_plan(const struct ask *ask, struct error *err);
static json_t *post_apply(const struct ask *ask, struct error *err);
static json_t *post_reclaim(const struct ask *ask, struct error *err);
static json_t *get_reclaims(const struct ask *ask, struct error *err);
static json_t *post_end_reclaim(const struct ask *ask, struct error *err);
static json_t *post_freeze(const struct ask *ask, struct error *err);
static json_t *post_unfreeze(const struct ask *ask, struct error *err);
static json_t *post_hold(const struct ask *ask, struct error *err);
static json_t *post_release(const struct ask *ask, struct error *err);

enum route_flag {
    IS_TRIED = 1,   /* a read whose answer is completed by dry runs at the API servers */
    IS_KEPT = 2,    /* it reads the journal: it waits until that is at rest */
    IS_OPEN = 4,    /* also answered on the metrics port, to anyone who reaches it */
    IS_METRICS = 8, /* the answer is sent as metrics, not as JSON */
};

/* clang-format off */
static const struct route {
    enum http_method method;
    const char *path; /* ":id" stands for one segment */
    route_fn answer;
    enum role role;
    int flags; /* of enum route_flag */
} routes[] = {
    { HTTP_GET,  "/v1/status",        get_status,    ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/transfers",     get_transfers, ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/transfers/:id", get_transfer,  ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/events",        get_events,    ROLE_VIEWER, IS_KEPT },
    { HTTP_GET,  "/v1/leads",         get_leads,     ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/departures",    get_departures, ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/hosts",         get_hosts,     ROLE_VIEWER, 0 },
    { HTTP_GET,  "/v1/version",       get_version,   ROLE_VIEWER, 0 },
    { HTTP_GET,  "/metrics",          get_metrics,   ROLE_VIEWER, IS_OPEN | IS_METRICS },
    { HTTP_GET,  "/healthz",          get_healthz,   ROLE_VIEWER, IS_OPEN },
    { HTTP_GET,  "/readyz",           get_readyz,    ROLE_VIEWER, IS_OPEN },
    { HTTP_POST, "/v1/plan",          post_plan,     ROLE_VIEWER, IS_TRIED },
    { HTTP_POST, "/v1/apply",         post_apply,    ROLE_OPERATOR, 0 },
    { HTTP_POST, "/v1/reclaim",       post_reclaim,  ROLE_OPERATOR, IS_TRIED },
    { HTTP_GET,  "/v1/reclaims",      get_reclaims,  ROLE_VIEWER, 0 },
    { HTTP_POST, "/v1/reclaims/end",  post_end_reclaim, ROLE_OPERATOR, 0 },
    { HTTP_POST, "/v1/freeze",        post_freeze,   ROLE_OPERATOR, 0 },
    { HTTP_POST, "/v1/unfreeze",      post_unfreeze, ROLE_OPERATOR, 0 },
    { HTTP_POST, "/v1/hold",          post_hold,     ROLE_OPERATOR, 0 },
    { HTTP_POST, "/v1/hosts/release", post_release,  ROLE_OPERATOR, 0 },
};
/* clang-format on */

static json_t *get_status(const struct ask *ask, struct error *err)
{
    (void)err;
    return service_status(ask->service);
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
    long long count = 50;

    if (text && !text_to_int(text, 1, INT32_MAX, &count)) {
        error_set(err, ERROR_INVALID, "count: \"%s\" is not a number of events", text);
        return NULL;
    }
    return service_events(ask->service, count, err);
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

static json_t *get_metrics(const struct ask *ask, struct error *err)
{
    json_t *facts = service_status(ask->service);
    const json_t *health = json_object_get(facts, "health");
    owned(json) json_t *leads = service_leads(ask->service);

    (void)err;
    json_object_set_new(facts, "version", json_text(SLUICE_VERSION));
    json_object_set_new(facts, "is_broken", json_boolean(service_is_broken(ask->service)));
    json_object_set_new(facts, "severity", json_integer(conditions_severity(health)));
    json_object_set_new(facts, "condition_counts", conditions_counts(health));
    json_object_set(facts, "leads", json_object_get(leads, "leads"));
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

static json_t *post_freeze(const struct ask *ask, struct error *err)
{
    return service_freeze(ask->service, ask->body, ask->by, err);
}

static json_t *post_unfreeze(const struct ask *ask, struct error *err)
{
    return service_unfreeze(ask->service, ask->body, ask->by, err);
}

static json_t *post_hold(const struct ask *ask, struct error *err)
{
    return service_hold(ask->service, ask->body, ask->by, err);
}

static json_t *post_release(const struct ask *ask, struct error *err)
{
    return service_release_host(ask->service, ask->body, ask->by, err);
}

static int status_of(enum error_kind kind)
{
    switch (kind) {
    case ERROR_INVALID:
    case ERROR_CORRUPT: /* the readers' word for JSON of the wrong shape: the request's */
        return 400;
    case ERROR_DENIED:
        return 403;
    case ERROR_NOT_FOUND:
        return 404;
    case ERROR_CONFLICT:
        return 409;
    case ERROR_NONE:
    case ERROR_TRANSIENT:
    case ERROR_THROTTLED:
    case ERROR_NO_CAPACITY:
    case ERROR_UNKNOWN_OUTCOME:
        return 503;
    case ERROR_BUG:
    case ERROR_KIND_COUNT:
        return 500;
    }
    return 500;
}

static void answer_error(struct http_call *call, const struct error *err)
{
    require(err->kind != ERROR_NONE);

    owned(json) json_t *body = json_make("{s{ss ss}}", "error", "kind", error_kind_name(err->kind),
                                         "text", err->text);
    owned(chars) char *text = json_print(body);

    require(status_of(err->kind) >= 400);
    http_call_answer(call, &(struct http_reply){ .status = status_of(err->kind),
                                                 .body = text,
                                                 .body_size = strlen(text) });
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

static const struct route *find_route(struct http_call *call, const struct url_segments *segments,
                                      const char **ret_id)
{
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (routes[i].method == http_call_method(call) && fits(routes[i].path, segments, ret_id))
            return &routes[i];
    return NULL;
}

/* Operators are root and the user that runs the service; every user who may open the socket may
 * look. */
static bool is_operator(const struct http_peer *peer)
{
    return peer->is_local && (peer->uid == 0 || peer->uid == geteuid());
}

static void name_peer(const struct http_peer *peer, char *out, size_t size)
{
    char buffer[1024];
    struct passwd entry;
    struct passwd *found = NULL;

    if (getpwuid_r(peer->uid, &entry, buffer, sizeof buffer, &found) == 0 && found)
        text_print(out, size, "%s", found->pw_name);
    else
        text_print(out, size, "uid %u", (unsigned)peer->uid);
}

static json_t *read_body(struct http_call *call, struct error *err)
{
    size_t size;
    const char *bytes = http_call_body(call, &size);
    owned(json) json_t *body = NULL;

    if (size == 0)
        return json_object();
    body = json_parse(bytes, size, "request", err);
    if (body && !json_is_object(body)) {
        error_set(err, ERROR_INVALID, "request: expected an object");
        return NULL;
    }
    return steal(&body);
}

static json_t *run_route(const struct route *route, struct ask *ask, struct http_call *call,
                         struct error *err)
{
    struct http_peer peer = http_call_peer(call);
    owned(json) json_t *body = NULL;
    char by[64];

    if (route->role == ROLE_OPERATOR && !is_operator(&peer)) {
        error_set(err, ERROR_DENIED, "only root and the service's own user may do this");
        return NULL;
    }
    body = read_body(call, err);
    if (!body)
        return NULL;
    require(json_is_object(body));
    name_peer(&peer, by, sizeof by);
    ask->body = body;
    ask->by = by;
    if (route->role == ROLE_OPERATOR)
        log_info("request", FIELD_TEXT("path", route->path), FIELD_TEXT("by", by));
    require(ask->service && ask->body && ask->by);
    return route->answer(ask, err);
}

static void answer_well(void *context, json_t *answer)
{
    struct http_call *call = context;
    owned(chars) char *text = json_print(answer);

    require(json_is_object(answer));
    http_call_answer(
        call, &(struct http_reply){ .status = 200, .body = text, .body_size = strlen(text) });
    json_decref(answer);
}

static void answer_metrics(struct http_call *call, json_t *facts)
{
    enum metrics_form form = metrics_form_of(http_call_header(call, "Accept"));
    owned(chars) char *text = metrics_print(facts, form);

    http_call_answer(call, &(struct http_reply){ .status = 200,
                                                 .content_type = metrics_content_type(form),
                                                 .body = text,
                                                 .body_size = strlen(text) });
    json_decref(facts);
}

/* A call that is answered when the commits so far are on the disk. */
struct wait {
    struct service *service;
    struct http_call *call;
    json_t *answer; /* to a change; NULL: a read, still to be answered */
};

static void ask_and_answer(struct service *service, struct http_call *call);

static void after_wait(void *context, enum journal_fate fate)
{
    struct wait *wait = context;
    struct error err = { 0 };

    if (fate == JOURNAL_LOST) {
        error_set(&err, ERROR_UNKNOWN_OUTCOME,
                  "the journal failed while it was written: look before you repeat it");
        answer_error(wait->call, &err);
    } else if (fate == JOURNAL_KEPT && wait->answer) {
        answer_well(wait->call, steal(&wait->answer));
    } else if (fate == JOURNAL_KEPT) {
        ask_and_answer(wait->service, wait->call);
    }
    json_decref(wait->answer); /* of a call that ended with its server */
    mem_free(wait);
}

static void answer_after(struct service *service, struct http_call *call, json_t *answer)
{
    struct wait *wait = mem_new(sizeof *wait);

    *wait = (struct wait){ service, call, answer };
    service_after(service, after_wait, wait);
}

static void answer_route(struct service *service, const struct route *route, struct ask *ask,
                         struct http_call *call)
{
    struct error err = { 0 };
    json_t *answer = run_route(route, ask, call, &err);

    if (!answer)
        answer_error(call, &err);
    else if (route->flags & IS_METRICS)
        answer_metrics(call, answer);
    else if ((route->flags & IS_TRIED) && json_bool_or(answer, "is_dry_run", true))
        service_try(service, answer, answer_well, call);
    else if (route->role == ROLE_OPERATOR)
        answer_after(service, call, answer);
    else
        answer_well(call, answer);
}

/* Over TCP the routes that anyone may read, and no others.  A browser that was led here under
   another name (DNS rebinding) says that name in Host. */
static bool may_see(struct http_call *call, const struct route *route)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };
    const char *host = http_call_header(call, "Host");

    if (http_call_peer(call).is_local)
        return true;
    for (size_t i = 0; host && i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);

        if (text_starts_with(host, names[i]) && (host[length] == '\0' || host[length] == ':'))
            return (route->flags & IS_OPEN) != 0;
    }
    return false;
}

/* is_now: nothing has to be waited for any more. */
static void handle(struct service *service, struct http_call *call, bool is_now)
{
    struct ask ask = { .service = service, .target = http_call_target(call) };
    struct url_segments segments = url_split(ask.target);
    const struct route *route = find_route(call, &segments, &ask.id);
    struct error err = { 0 };

    if (route && !may_see(call, route))
        route = NULL;
    if (route && (is_now || !(route->flags & IS_KEPT))) {
        answer_route(service, route, &ask, call);
    } else if (route) {
        answer_after(service, call, NULL);
    } else {
        error_set(&err, ERROR_NOT_FOUND, "there is no %s %s",
                  http_method_name(http_call_method(call)), ask.target);
        answer_error(call, &err);
    }
    url_segments_free(&segments);
}

static void ask_and_answer(struct service *service, struct http_call *call)
{
    handle(service, call, true);
}

void api_handle(void *context, struct http_call *call)
{
    handle(context, call, false);
}
