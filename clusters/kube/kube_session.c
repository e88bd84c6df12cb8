/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests to one API server.
 */
#include "clusters/kube/kube_session.h"

#include "base/input/json.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/text.h"
#include "clusters/kube/kube_config.h"
#include "clusters/kube/kube_error.h"
#include "clusters/kube/kube_login.h"
#include "clusters/kube/kube_token.h"

#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_LIMIT = 64 * 1024 * 1024,
    AHEAD_LEAST_MS = 3 * SECOND_MS, /* smaller differences come from the way of the answer, and from
                                       Date's whole seconds */
    AHEAD_END_MS = 2 * SECOND_MS,   /* a difference that was there is over */
    CONFIG_PAUSE_MS = 5 * SECOND_MS, /* between two looks at the kubeconfig */
    YOUNG_MS = 2 * SECOND_MS,        /* since the request: Date is when the answer began */
};

struct kube_session {
    struct world *world;
    const char *name;
    struct kube_config *config;
    struct kube_login *login; /* NULL: none */
    struct kube_token *token;
    int config_number;           /* how often it was replaced */
    int64_t config_read_ms;      /* when it was last looked at because something failed */
    struct error config_failure; /* of that look; ERROR_NONE */
    struct kube_exchange *first; /* all in flight */
    int64_t theirs_ms;           /* the server's clock when loop_now() was 0 */
    int64_t heard_ms;            /* when it was last heard of; 0: never */
};

struct kube_exchange {
    struct kube_session *session;
    struct kube_exchange *previous;
    struct kube_exchange *next;
    enum kube_verb verb;
    enum http_priority priority;
    char *url;
    char *content_type;
    char *body;
    char *label; /* "PATCH /api/v1/nodes/a" for errors */
    char *used_token;
    int used_config; /* its number */
    int64_t timeout_ms;
    bool is_long;
    http_chunk_fn on_chunk;
    kube_done_fn done;
    void *context;
    struct http_exchange *http; /* NULL: not sent; `late` brings the failure, if there is one */
    bool waits_for_token;
    struct timer *late;
    struct error failure;
    bool has_asked_again;
    int64_t sent_ms;
};

static void exchange_free(struct kube_exchange *exchange)
{
    struct kube_session *session = exchange->session;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        session->first = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;

    timer_free(exchange->late);
    mem_free(exchange->url);
    mem_free(exchange->content_type);
    mem_free(exchange->body);
    mem_free(exchange->label);
    secret_free(exchange->used_token);
    mem_free(exchange);
}

/* Frees first: `done` may close the whole cluster. */
static void finish(struct kube_exchange *exchange, const json_t *body, const struct error *err)
{
    kube_done_fn done = exchange->done;
    void *context = exchange->context;
    exchange_free(exchange);
    done(context, body, err);
}

static void finish_failed(struct kube_exchange *exchange, struct error *err)
{
    error_context(err, "cluster %s: %s", exchange->session->name, exchange->label);
    finish(exchange, NULL, err);
}

static bool is_mutation(enum kube_verb verb)
{
    return verb == KUBE_PATCH || verb == KUBE_EVICT || verb == KUBE_CREATE || verb == KUBE_DELETE;
}

static enum http_method method_of(enum kube_verb verb)
{
    switch (verb) {
    case KUBE_PATCH:
        return HTTP_PATCH;
    case KUBE_EVICT:
    case KUBE_CREATE:
        return HTTP_POST;
    case KUBE_DELETE:
        return HTTP_DELETE;
    case KUBE_READ:
    case KUBE_STREAM:
        break;
    }
    return HTTP_GET;
}

static void submit(struct kube_exchange *exchange);

static void on_token(void *context);

static void take_config(struct kube_session *session, struct kube_config *config)
{
    log_info("kubeconfig_renewed", FIELD_TEXT("cluster", session->name));
    kube_token_free(session->token);
    kube_config_free(session->config);
    session->config = config;
    session->config_number++;
    session->token = kube_token_new(session->world, config, session->login, on_token, session);
}

/* Reads the kubeconfig again, and uses it if it has changed.  A running plugin belongs to the old
   one: it ends first. */
static void renew_config(struct kube_session *session)
{
    int64_t now = loop_now(session->world->loop);
    struct error err = { 0 };
    struct kube_config *config;

    if (now - session->config_read_ms < CONFIG_PAUSE_MS || kube_token_is_coming(session->token))
        return;
    session->config_read_ms = now;
    config = kube_config_again(session->config, &err);
    if (!config && !text_equal(err.text, session->config_failure.text))
        log_warn("kubeconfig_unreadable", FIELD_TEXT("cluster", session->name),
                 FIELD_TEXT("text", err.text));
    session->config_failure = err;
    if (config && !kube_config_equals(config, session->config))
        take_config(session, config);
    else
        kube_config_free(config);
}

/* Whether a second try is under way, with new credentials.  A new token is only requested after one
   was refused. */
static bool ask_again(struct kube_exchange *exchange, bool may_be_done, bool is_refused)
{
    struct kube_session *session = exchange->session;

    renew_config(session);
    if (exchange->has_asked_again || may_be_done ||
        (exchange->used_config == session->config_number &&
         !(is_refused && kube_token_renew(session->token, exchange->used_token))))
        return false;
    exchange->has_asked_again = true;
    submit(exchange);
    return true;
}

/* The server refused us, and the kubeconfig, which may have new credentials, cannot be read. */
static void tell_of_config(const struct kube_session *session, struct error *err)
{
    const struct error *why = &session->config_failure;

    if (why->kind != ERROR_NONE)
        error_context(err, "its kubeconfig cannot be read again (%.200s)", why->text);
}

/* There is no token: its file is gone, or the plugin failed. */
static void on_late(void *context)
{
    struct kube_exchange *exchange = context;
    struct error failure = exchange->failure;

    if (ask_again(exchange, false, false))
        return;
    tell_of_config(exchange->session, &failure);
    finish_failed(exchange, &failure);
}

static void on_transport_failure(struct kube_exchange *exchange, const struct error *err)
{
    struct error failure = *err;
    bool may_be_done = err->kind != ERROR_TRANSIENT && err->kind != ERROR_INVALID;

    if (ask_again(exchange, may_be_done, false))
        return;
    /* A certificate and its key are two files: one of them may have been renewed already. */
    if (failure.kind == ERROR_INVALID)
        failure.kind = ERROR_TRANSIENT;
    if (is_mutation(exchange->verb)) {
        if (failure.kind == ERROR_CORRUPT)
            failure.kind = ERROR_UNKNOWN_OUTCOME;
    } else if (failure.kind == ERROR_UNKNOWN_OUTCOME) {
        failure.kind = ERROR_TRANSIENT;
    }
    tell_of_config(exchange->session, &failure);
    finish_failed(exchange, &failure);
}

/* Our clock when loop_now() was 0. */
static int64_t ours_ms(const struct kube_session *session)
{
    return loop_wall(session->world->loop).ms - loop_now(session->world->loop);
}

/* Compares the clocks by the Date of an answer that arrived quickly: the Date of a watch is minutes
   old when it ends.  Small differences are ignored: results must not depend on single seconds. */
static void compare_clocks(const struct kube_exchange *exchange, const struct http_answer *answer)
{
    struct kube_session *session = exchange->session;
    const char *date = http_header_find(answer->headers, answer->header_count, "Date");
    struct wall_time theirs;
    int64_t before_ms = kube_ahead_ms(session);
    int64_t ahead_ms;

    if (loop_now(session->world->loop) - exchange->sent_ms > YOUNG_MS || !date ||
        !wall_parse_http(date, &theirs))
        return;
    ahead_ms = theirs.ms + SECOND_MS / 2 - loop_wall(session->world->loop).ms;
    session->heard_ms = loop_now(session->world->loop);
    if (llabs(ahead_ms) < (before_ms == 0 ? AHEAD_LEAST_MS : AHEAD_END_MS))
        ahead_ms = 0;
    else if (llabs(ahead_ms - before_ms) < AHEAD_LEAST_MS)
        return;
    session->theirs_ms = ours_ms(session) + ahead_ms;
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct kube_exchange *exchange = context;
    exchange->http = NULL;
    if (err) {
        on_transport_failure(exchange, err);
        return;
    }
    compare_clocks(exchange, answer);
    if (answer->status == 401 && ask_again(exchange, false, true))
        return;
    if (exchange->verb == KUBE_STREAM && answer->status == 200) {
        finish(exchange, NULL, NULL);
        return;
    }
    struct error why = { 0 };
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL);
    struct kube_answer meaning = {
        .status = answer->status,
        .body = body,
        .text = answer->body,
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = is_mutation(exchange->verb),
        .is_eviction = exchange->verb == KUBE_EVICT,
    };
    if ((exchange->verb == KUBE_DELETE && kube_error_is_gone(&meaning)) ||
        kube_error_of_answer(&meaning, &why) == 0)
        return finish(exchange, body, NULL);
    if (answer->status == 401)
        tell_of_config(exchange->session, &why);
    finish_failed(exchange, &why);
}

static void on_chunk(void *context, const char *bytes, size_t size)
{
    struct kube_exchange *exchange = context;
    exchange->on_chunk(exchange->context, bytes, size);
}

static void submit(struct kube_exchange *exchange)
{
    struct kube_session *session = exchange->session;
    struct http_header headers[4];
    size_t count = 0;
    headers[count++] = (struct http_header){ "Accept", "application/json" };
    headers[count++] = (struct http_header){ "User-Agent", "sluice/" SLUICE_VERSION };
    if (exchange->body)
        headers[count++] = (struct http_header){ "Content-Type", exchange->content_type };

    const char *token = NULL;
    exchange->used_config = session->config_number;
    enum kube_token_state state = kube_token_get(session->token, &token, &exchange->failure);
    exchange->waits_for_token = state == KUBE_TOKEN_COMING;
    if (state == KUBE_TOKEN_COMING)
        return;
    if (state == KUBE_TOKEN_FAILED) {
        timer_free(exchange->late);
        exchange->late = timer_new(session->world->loop, on_late, exchange);
        timer_set(exchange->late, 0);
        return;
    }
    owned(chars) char *bearer = token ? text_format("Bearer %s", token) : NULL;
    if (token) {
        headers[count++] = (struct http_header){ "Authorization", bearer };
        mem_free(exchange->used_token);
        exchange->used_token = mem_copy_chars(token);
    }
    struct http_request request = {
        .method = method_of(exchange->verb),
        .priority = exchange->priority,
        .url = exchange->url,
        .headers = headers,
        .header_count = count,
        .body = exchange->body,
        .body_size = exchange->body ? strlen(exchange->body) : 0,
        .tls = &session->config->tls,
        .is_mutation = is_mutation(exchange->verb),
        .is_repeatable = exchange->verb == KUBE_EVICT, /* of a UID: no other pod is evicted */
        .timeout_ms = exchange->timeout_ms,
        .answer_limit = ANSWER_LIMIT,
        .accepts_gzip = exchange->is_long,
        .on_chunk = exchange->on_chunk ? on_chunk : NULL,
    };
    exchange->sent_ms = loop_now(session->world->loop);
    exchange->http = http_send(session->world->http, &request, on_answer, exchange);
    if (bearer)
        explicit_bzero(bearer, strlen(bearer));
}

/* The plugin has ended: waiting requests continue, with a token or with its error. */
static void on_token(void *context)
{
    struct kube_session *session = context;
    for (struct kube_exchange *exchange = session->first; exchange; exchange = exchange->next)
        if (exchange->waits_for_token)
            submit(exchange);
}

struct kube_exchange *kube_send(struct kube_session *session, const struct kube_call *call,
                                kube_done_fn done, void *context)
{
    struct kube_exchange *exchange = mem_new(sizeof *exchange);
    const char *query = strchr(call->target, '?');
    int path_length = query ? (int)(query - call->target) : (int)strlen(call->target);

    exchange->session = session;
    exchange->verb = call->verb;
    exchange->priority = call->priority;
    exchange->url = text_format("%s%s", session->config->server, call->target);
    exchange->label = text_format("%s %.*s", http_method_name(method_of(call->verb)), path_length,
                                  call->target);
    exchange->content_type = mem_copy_chars(call->content_type ?: "application/json");
    exchange->body = call->body ? json_print(call->body) : NULL;
    exchange->timeout_ms = call->timeout_ms;
    exchange->is_long = call->is_long;
    exchange->on_chunk = call->on_chunk;
    exchange->done = done;
    exchange->context = context;
    exchange->next = session->first;
    if (session->first)
        session->first->previous = exchange;
    session->first = exchange;
    submit(exchange);
    return exchange;
}

void kube_cancel(struct kube_exchange *exchange)
{
    if (!exchange)
        return;
    http_cancel(exchange->session->world->http, exchange->http);
    exchange_free(exchange);
}

struct kube_session *kube_session_new(struct world *world, const char *name,
                                      struct kube_config *config)
{
    struct kube_session *session = mem_new(sizeof *session);
    session->world = world;
    session->name = name;
    session->config = config;
    session->config_read_ms = INT64_MIN / 2;
    session->token = kube_token_new(world, config, NULL, on_token, session);
    session->theirs_ms = ours_ms(session); /* until it is heard of */
    return session;
}

void kube_session_log_in(struct kube_session *session, struct kube_login *login)
{
    require(!session->first && !session->login);
    kube_token_free(session->token);
    session->login = login;
    session->token = kube_token_new(session->world, session->config, login, on_token, session);
}

void kube_session_free(struct kube_session *session)
{
    if (!session)
        return;
    while (session->first)
        kube_cancel(session->first);
    kube_token_free(session->token);
    if (session->login)
        session->login->free(session->login);
    kube_config_free(session->config);
    mem_free(session);
}

struct world *kube_world(const struct kube_session *session)
{
    return session->world;
}

const char *kube_name(const struct kube_session *session)
{
    return session->name;
}

int64_t kube_ahead_ms(const struct kube_session *session)
{
    int64_t ahead_ms = session->theirs_ms - ours_ms(session);

    /* Our clock follows the system clock in small steps: a difference of their size is none. */
    return llabs(ahead_ms) < AHEAD_END_MS ? 0 : ahead_ms;
}

int64_t kube_clock_heard_ms(const struct kube_session *session)
{
    return session->heard_ms;
}
