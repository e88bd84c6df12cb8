/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fetching and keeping the token.  A token that lasts five minutes more is handed out at once;
 * one that does not is replaced first, and still used when the replacement cannot be had.
 */
#include "providers/gcp/gcp_token.h"

#include "base/secret.h"
#include "base/text.h"
#include "providers/gcp/gcp_exchange.h"

#include <string.h>

enum {
    WAITER_LIMIT = 1024,
    FRESH_MS = 5 * MINUTE_MS,
    USABLE_MS = 30 * SECOND_MS,
    RETRY_MS = 10 * SECOND_MS, /* time between attempts to replace a token that can still be used */
    FETCH_TIMEOUT_MS = 10 * SECOND_MS,
};

struct gcp_token {
    struct world *world;
    struct gcp_credentials credentials;

    char *access; /* NULL: none yet */
    int64_t ends_ms;
    int64_t next_try_ms;

    struct gcp_talk talk; /* how far the fetch has come */
    struct http_exchange *fetch;
    int64_t asked_ms; /* loop time of its last exchange */
    struct timer *deliver;
    struct gcp_waiter *first;
    struct gcp_waiter **last;
    int waiting;
};

static void send(struct gcp_token *token);

static int64_t left_ms(const struct gcp_token *token)
{
    return token->access ? token->ends_ms - loop_now(token->world->loop) : 0;
}

static void set_access(struct gcp_token *token, const char *access)
{
    secret_free(token->access);
    token->access = mem_copy_chars(access);
}

/* Calls all present waiters; a caller that asks from inside `ready` waits for the next token. */
static void deliver_to_all(struct gcp_token *token, const struct error *err)
{
    owned(chars) char *access = err ? NULL : mem_copy_chars(token->access);
    for (int left = token->waiting; left > 0 && token->first; left--) {
        struct gcp_waiter *waiter = token->first;
        gcp_token_forget(token, waiter);
        waiter->ready(waiter, access, err);
    }
}

static void fail(struct gcp_token *token, const struct error *err)
{
    struct error why = *err;

    /* A subject token that is missing says nothing about what the token is for. */
    if (why.kind == ERROR_NOT_FOUND || why.kind == ERROR_CONFLICT)
        why.kind = ERROR_TRANSIENT;
    error_context(&why, "%s", gcp_talk_name(&token->talk));
    gcp_talk_clear(&token->talk);
    token->next_try_ms = loop_now(token->world->loop) + RETRY_MS;
    deliver_to_all(token, left_ms(token) > USABLE_MS ? NULL : &why);
}

static void take(struct gcp_token *token, struct gcp_grant *grant)
{
    set_access(token, grant->access);
    secret_free(grant->access);
    token->ends_ms = token->asked_ms + grant->life_ms;
    token->next_try_ms = loop_now(token->world->loop) + RETRY_MS;
    gcp_talk_clear(&token->talk);
    deliver_to_all(token, NULL);
}

static void on_fetched(void *context, const struct http_answer *answer, const struct error *err)
{
    struct gcp_token *token = context;
    struct gcp_grant grant = { 0 };
    struct error why = { 0 };
    int result = -1;

    token->fetch = NULL;
    if (err) {
        why = *err;
        if (why.kind == ERROR_UNKNOWN_OUTCOME) /* asking for a token changes nothing */
            why.kind = ERROR_TRANSIENT;
    } else {
        result = gcp_exchange_read(&token->credentials, answer, &token->talk, &grant, &why);
    }
    if (result < 0)
        fail(token, &why);
    else if (result == 0)
        send(token);
    else
        take(token, &grant);
}

static void send(struct gcp_token *token)
{
    owned(gcp_exchange) struct gcp_exchange exchange = { 0 };
    struct http_header headers[GCP_EXCHANGE_HEADERS];
    struct error err = { 0 };

    token->asked_ms = loop_now(token->world->loop);
    if (gcp_exchange_write(&token->credentials, loop_wall(token->world->loop), &token->talk,
                           &exchange, &err) < 0) {
        fail(token, &err);
        return;
    }
    for (size_t i = 0; i < exchange.header_count; i++)
        headers[i] = (struct http_header){ exchange.headers[i].name, exchange.headers[i].value };

    struct http_request request = {
        .method = exchange.method,
        .priority = HTTP_RECLAIM,
        .url = exchange.url,
        .headers = headers,
        .header_count = exchange.header_count,
        .body = exchange.body ? exchange.body->chars : NULL,
        .body_size = exchange.body ? exchange.body->length : 0,
        .timeout_ms = FETCH_TIMEOUT_MS,
    };

    token->fetch = http_send(token->world->http, &request, on_fetched, token);
}

static void fetch(struct gcp_token *token)
{
    gcp_talk_begin(&token->credentials, &token->talk);
    send(token);
}

static void on_deliver(void *context)
{
    struct gcp_token *token = context;
    if (token->fetch || !token->first)
        return;
    bool is_early = loop_now(token->world->loop) < token->next_try_ms;
    if (left_ms(token) > FRESH_MS || (left_ms(token) > USABLE_MS && is_early))
        deliver_to_all(token, NULL);
    else
        fetch(token);
}

struct gcp_token *gcp_token_new(struct world *world, const struct gcp_identity *whose,
                                struct error *err)
{
    struct gcp_token *token = mem_new(sizeof *token);
    token->world = world;
    token->last = &token->first;
    if (gcp_credentials_read(whose, &token->credentials, err) < 0) {
        gcp_token_free(token);
        return NULL;
    }
    token->deliver = timer_new(world->loop, on_deliver, token);
    return token;
}

void gcp_token_free(struct gcp_token *token)
{
    if (!token)
        return;
    http_cancel(token->world->http, token->fetch);
    timer_free(token->deliver);
    set_access(token, NULL);
    gcp_talk_clear(&token->talk);
    gcp_credentials_clear(&token->credentials);
    mem_free(token);
}

int gcp_token_ask(struct gcp_token *token, struct gcp_waiter *waiter, struct error *err)
{
    if (token->waiting >= WAITER_LIMIT)
        return error_set(err, ERROR_TRANSIENT, "token: %d calls wait for one already",
                         WAITER_LIMIT);
    waiter->next = NULL;
    *token->last = waiter;
    token->last = &waiter->next;
    token->waiting++;
    timer_set_sooner(token->deliver, 0);
    return 0;
}

void gcp_token_forget(struct gcp_token *token, struct gcp_waiter *waiter)
{
    for (struct gcp_waiter **at = &token->first; *at; at = &(*at)->next) {
        if (*at != waiter)
            continue;
        *at = waiter->next;
        if (token->last == &waiter->next)
            token->last = at;
        token->waiting--;
        return;
    }
}

void gcp_token_reject(struct gcp_token *token, const char *refused_token)
{
    if (text_equal(token->access, refused_token))
        set_access(token, NULL);
}

const char *gcp_token_quota_project(const struct gcp_token *token)
{
    return token->credentials.quota_project;
}
