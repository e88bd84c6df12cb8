/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The way from a call to an answer: the route, the person's role, the body, the answer.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/api/answers.h"
#include "broker/api/api.h"
#include "broker/api/browser.h"
#include "broker/api/changes.h"
#include "broker/api/metrics.h"
#include "broker/api/page.h"
#include "broker/api/routes.h"
#include "broker/api/stream.h"
#include "broker/webhooks/webhooks.h"

#include <inttypes.h>
#include <string.h>

struct api {
    struct service *service;
    const struct access *access;
    struct rates *rates;
    struct refusals *refusals;
    struct loop *loop;
    struct changes *changes;
    struct answers *answers;
};

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
    case ERROR_THROTTLED:
        return 429;
    case ERROR_NONE:
    case ERROR_TRANSIENT:
    case ERROR_NO_CAPACITY:
    case ERROR_UNKNOWN_OUTCOME:
        return 503;
    case ERROR_BUG:
    case ERROR_KIND_COUNT:
        return 500;
    }
    return 500;
}

/* Who is not known must show something first (RFC 6750, section 3). */
static int status_of_error(const struct error *err)
{
    return err->cause == &access_not_known ? 401 : status_of(err->kind);
}

enum { HEADERS_MOST = BROWSER_HEADERS + 2 };

/* Who is not known asks again on a connection of its own, and handshakes are limited: so tokens
   cannot be tried in large numbers, and no ended certificate keeps a connection. */
static size_t add_headers(struct http_header headers[HEADERS_MOST], bool is_unknown,
                          const char *wait)
{
    size_t count = 0;

    for (size_t i = 0; i < BROWSER_HEADERS; i++)
        headers[count++] = browser_headers[i];
    if (is_unknown) {
        headers[count++] = (struct http_header){ "WWW-Authenticate", "Bearer" };
        headers[count++] = (struct http_header){ "Connection", "close" };
    } else if (wait) {
        headers[count++] = (struct http_header){ "Retry-After", wait };
    }
    return count;
}

static void answer_error(struct http_call *call, const struct error *err)
{
    require(err->kind != ERROR_NONE);

    bool is_unknown = err->cause == &access_not_known;
    const char *cause = is_unknown || err->cause == &access_not_allowed ? err->cause->name : NULL;
    int64_t wait_ms = err->retry_after_ms;
    owned(json) json_t *why = json_make("{ss ss ss*}", "kind", error_kind_name(err->kind), "text",
                                        err->text, "cause", cause);
    owned(json) json_t *body = json_make("{sO}", "error", why);
    owned(chars) char *wait = text_format("%" PRId64, (wait_ms + SECOND_MS - 1) / SECOND_MS);
    struct http_header headers[HEADERS_MOST];
    size_t count = add_headers(headers, is_unknown, wait_ms > 0 ? wait : NULL);
    owned(chars) char *text = NULL;

    if (wait_ms > 0)
        json_object_set_new(why, "retry_after_ms", json_integer(wait_ms));
    text = answers_print(body);
    require(status_of_error(err) >= 400);
    http_call_answer(call, &(struct http_reply){ .status = status_of_error(err),
                                                 .headers = headers,
                                                 .header_count = count,
                                                 .body = text,
                                                 .body_size = strlen(text) });
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

static bool is_act(const struct route *route)
{
    return route->role > ACCESS_VIEWER;
}

static int check_rate(const struct api *api, const struct route *route, const struct person *person,
                      struct error *err)
{
    int64_t wait_ms = rates_take(api->rates, person->key, route->rate, loop_now(api->loop));

    if (wait_ms == 0)
        return 0;
    error_set(err, ERROR_THROTTLED, "too many requests of %s: %s", person->name,
              rate_text(route->rate));
    error_wait(err, wait_ms);
    return -1;
}

/* person NULL: it is not known who asks. */
static void note_refusal(const struct api *api, const struct http_call *call,
                         const struct route *route, const struct person *person,
                         const struct error *err)
{
    struct http_peer peer = http_call_peer(call);
    struct refusal refusal = { .reason = REFUSAL_ORIGIN,
                               .who = person ? person->key : peer.from,
                               .by = person ? person->name : peer.from,
                               .path = route ? route->path : "",
                               .why = err->text };

    if (err->cause == &access_not_known)
        refusal.reason = REFUSAL_IDENTITY;
    else if (err->cause == &access_not_allowed)
        refusal.reason = REFUSAL_PERMISSION;
    else if (err->kind == ERROR_THROTTLED)
        refusal.reason = REFUSAL_RATE;
    refusals_add(api->refusals, &refusal);
}

/* What a call has behind it when handle() is called again. */
enum { HAS_WAITED = 1, IS_COUNTED = 2 };

static void handle(const struct api *api, struct http_call *call, int behind);

/* A call that waits for the name of its user. */
struct naming {
    const struct api *api;
    struct http_call *call;
};

/* Without its client a call has no headers any more, so nothing is done for it.  When all is over,
   so is the call, with its server.  By then the journal may be busy again, so HAS_WAITED ends. */
static void on_named(void *context, bool is_over)
{
    struct naming *naming = context;

    if (!is_over && http_call_has_client(naming->call))
        handle(naming->api, naming->call, IS_COUNTED);
    else if (!is_over)
        http_call_drop(naming->call);
    mem_free(naming);
}

static bool waits_for_name(const struct api *api, struct http_call *call)
{
    struct naming *naming = mem_new(sizeof *naming);

    *naming = (struct naming){ api, call };
    if (access_learn(api->access, call, api->loop, on_named, naming))
        return true;
    mem_free(naming);
    return false;
}

/* Who asks, and whether that person may ask so often.  The name of a user may be asked of a
   directory server, so a flood is refused before that. */
static int count(const struct api *api, const struct route *route, const struct http_call *call,
                 struct person *person, struct error *err)
{
    int result;

    if (access_see(api->access, call, loop_wall(api->loop), person, err) < 0) {
        note_refusal(api, call, route, NULL, err);
        return -1;
    }
    result = check_rate(api, route, person, err);
    if (result < 0)
        note_refusal(api, call, route, person, err);
    return result;
}

/* Whether a name is worth a wait: it is recorded, shown, or stands in a refusal. */
static bool needs_name(const struct route *route, const struct person *person)
{
    return is_act(route) || (route->flags & IS_NAMED) || person->role < route->role;
}

/* Whether the person, who is counted, may ask this. */
static int admit(const struct api *api, const struct route *route, const struct http_call *call,
                 struct person *person, struct error *err)
{
    struct wall_time now = loop_wall(api->loop);
    int result = 0;

    if (person->key[0] == '\0' && access_see(api->access, call, now, person, err) < 0)
        return -1;
    access_name(api->access, call, now, person);
    if (person->door != DOOR_METRICS)
        result = access_check(api->access, person, route->role, err);
    if (result == 0 && (route->flags & IS_STREAM))
        result = changes_check(api->changes, person->key, err);
    if (result < 0)
        note_refusal(api, call, route, person, err);
    return result;
}

static json_t *run_route(const struct api *api, const struct route *route, struct ask *ask,
                         struct http_call *call, struct error *err)
{
    owned(json) json_t *body = read_body(call, err);
    json_t *answer;

    if (!body)
        return NULL;
    ask->body = body; /* an object */
    ask->by = ask->person.name;
    if (is_act(route))
        answers_forget(api->answers);
    if (is_act(route))
        log_info("request", FIELD_TEXT("path", route->path), FIELD_TEXT("by", ask->by));
    require(ask->service && ask->body && ask->by);
    answer = route->answer(ask, err);
    if (answer)
        json_object_set_new(answer, "time_zone", json_text(service_time_zone(api->service)));
    return answer;
}

static void begin_stream(const struct api *api, struct http_call *call, const struct person *person,
                         json_t *answer)
{
    json_decref(answer); /* it only allowed the stream */
    stream_begin(api->changes, call, person);
}

static void answer_well(void *context, json_t *answer)
{
    answers_send(context, ANSWER_JSON, answer);
}

/* A call that is answered when the commits so far are on the disk. */
struct wait {
    const struct api *api;
    struct http_call *call;
    json_t *answer; /* to a change; NULL: a read, still to be answered */
    bool is_sent;   /* it is a message for a receiver, whose answer it waits for then */
    int behind;     /* the call, before */
};

static void after_wait(void *context, enum journal_fate fate)
{
    struct wait *wait = context;
    struct error err = { 0 };

    if (fate == JOURNAL_LOST) {
        error_set(&err, ERROR_UNKNOWN_OUTCOME,
                  "the journal failed while it was written: look before you repeat it");
        answer_error(wait->call, &err);
    } else if (fate == JOURNAL_KEPT && wait->is_sent) {
        webhooks_test(service_webhooks(wait->api->service), steal(&wait->answer), answer_well,
                      wait->call);
    } else if (fate == JOURNAL_KEPT && wait->answer) {
        answer_well(wait->call, steal(&wait->answer));
    } else if (fate == JOURNAL_KEPT) {
        handle(wait->api, wait->call, wait->behind | HAS_WAITED);
    }
    json_decref(wait->answer); /* of a call that ended with its server */
    mem_free(wait);
}

static void answer_after(const struct api *api, struct http_call *call, json_t *answer,
                         bool is_sent, int behind)
{
    struct wait *wait = mem_new(sizeof *wait);

    *wait = (struct wait){ api, call, answer, is_sent, behind };
    service_after(api->service, after_wait, wait);
}

static enum answer_form form_of(const struct route *route, const struct http_call *call)
{
    if (route->flags & IS_CALENDAR)
        return ANSWER_CALENDAR;
    if (!(route->flags & IS_METRICS))
        return ANSWER_JSON;
    return metrics_form_of(http_call_header(call, "Accept")) == METRICS_OPEN ? ANSWER_METRICS_OPEN
                                                                             : ANSWER_METRICS;
}

static void answer_route(const struct api *api, const struct route *route, struct ask *ask,
                         struct http_call *call, int behind)
{
    enum answer_form form = form_of(route, call);
    bool is_shared = route->flags & IS_SHARED;
    struct error err = { 0 };
    json_t *answer;

    if (!(behind & IS_COUNTED) && count(api, route, call, &ask->person, &err) < 0) {
        answer_error(call, &err);
        return;
    }
    if (((behind & IS_COUNTED) || needs_name(route, &ask->person)) && waits_for_name(api, call))
        return;
    if (admit(api, route, call, &ask->person, &err) < 0) {
        answer_error(call, &err);
        return;
    }
    if (is_shared && answers_repeat(api->answers, call, form))
        return;
    answer = run_route(api, route, ask, call, &err);
    if (!answer)
        answer_error(call, &err);
    else if (is_shared)
        answers_share(api->answers, call, form, answer);
    else if (route->flags & IS_STREAM)
        begin_stream(api, call, &ask->person, answer);
    else if ((route->flags & IS_TRIED) && json_bool_or(answer, "is_dry_run", true))
        service_try(api->service, answer, answer_well, call);
    else if (is_act(route))
        answer_after(api, call, answer, (route->flags & IS_SENT) != 0, behind);
    else
        answer_well(call, answer);
}

/* On the metrics port only the routes that anyone may read.  A browser that was led here under
   another name (DNS rebinding) says that name in Host. */
static bool is_hidden(const struct http_call *call, const struct route *route)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };
    const struct http_peer peer = http_call_peer(call);
    const char *host = http_call_header(call, "Host");

    if (peer.is_local || peer.is_encrypted)
        return false;
    for (size_t i = 0; host && i < COUNT_OF(names); i++) {
        size_t length = strlen(names[i]);

        if (text_starts_with(host, names[i]) && (host[length] == '\0' || host[length] == ':'))
            return (route->flags & IS_OPEN) == 0;
    }
    return true;
}

static void handle(const struct api *api, struct http_call *call, int behind)
{
    struct ask ask = { .service = api->service, .target = http_call_target(call) };
    struct url_segments segments = url_split(ask.target);
    const struct route *route = route_find(http_call_method(call), &segments, &ask.id);
    struct error err = { 0 };

    if (route && is_hidden(call, route))
        route = NULL;
    if (browser_check(call, route && (route->flags & IS_PAGE), &err) < 0) {
        note_refusal(api, call, route, NULL, &err);
        answer_error(call, &err);
    } else if (route && (route->flags & IS_PAGE) && page_answer(call, ask.id)) {
        /* answered: everyone who reaches the door may read it */
    } else if (route && route->answer && ((behind & HAS_WAITED) || !(route->flags & IS_KEPT))) {
        answer_route(api, route, &ask, call, behind);
    } else if (route && route->answer) {
        answer_after(api, call, NULL, false, behind);
    } else {
        error_set(&err, ERROR_NOT_FOUND, "there is no %s %s",
                  http_method_name(http_call_method(call)), ask.target);
        answer_error(call, &err);
    }
    url_segments_free(&segments);
}

/* Readers are told what it returns, and ask then. */
static uint64_t revision_of(const void *context)
{
    const struct api *api = context;
    uint64_t revision = service_revision(api->service);

    answers_follow(api->answers, revision);
    return revision;
}

struct api *api_new(struct service *service, const struct access *access, struct loop *loop)
{
    struct api *api = mem_new(sizeof *api);

    *api = (struct api){ service, access, rates_new(), refusals_new(loop), loop, NULL, NULL };
    api->answers = answers_new(loop);
    api->changes = changes_new(loop, revision_of, api);
    return api;
}

void api_end_streams(struct api *api)
{
    if (api)
        changes_free(steal(&api->changes));
}

void api_free(struct api *api)
{
    if (!api)
        return;
    api_end_streams(api);
    answers_free(api->answers);
    rates_free(api->rates);
    refusals_free(api->refusals);
    mem_free(api);
}

void api_restart_streams(struct api *api)
{
    api_end_streams(api);
    api->changes = changes_new(api->loop, revision_of, api);
}

int64_t api_refused(const struct api *api, enum refusal_reason reason)
{
    return refusals_count(api->refusals, reason);
}

void api_handle(void *context, struct http_call *call)
{
    handle(context, call, 0);
}

void api_document(struct text *out)
{
    const struct route *route;

    text_add(out, "| request | least role | how often |\n|---|---|---|\n");
    for (size_t at = 0; (route = route_next(&at));)
        text_add(out, "| `%s %s` | %s%s | %s |\n", http_method_name(route->method), route->path,
                 access_role_name(route->role),
                 route->flags & IS_OPEN ? "; on the metrics port: none" : "",
                 rate_text(route->rate));
}
