/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Turns are drawn like numbers at a counter.  A question keeps its turn until it is answered or
 * given up, so one that waits for a busy source keeps the others waiting: they would be told the
 * same.
 */
#include "broker/sources/ask.h"

#include "base/log.h"
#include "base/secret.h"
#include "base/text.h"

#include <string.h>

enum {
    ATTEMPTS = 8,
    TIMEOUT_MS = 60 * SECOND_MS,
    BACKOFF_MS = SECOND_MS,
    BACKOFF_MAX_MS = 60 * SECOND_MS,
    ANSWER_LIMIT = 64 << 20,
};

static void ask_now(void *context);

static void forget_access(struct source_ask *ask)
{
    secret_free(steal(&ask->bearer));
    aws_keys_clear(&ask->keys);
    ask->has_word = false;
}

/* Whose turn it is; NULL when no fetch asks. */
static struct source_ask *next_ask(const struct source *source)
{
    struct source_ask *next = NULL;

    for (struct source_ask *ask = source->asks; ask; ask = ask->next)
        if (ask->turn > 0 && (!next || ask->turn < next->turn))
            next = ask;
    return next;
}

static void call_next(struct source *source)
{
    struct source_ask *next = next_ask(source);

    if (!next || next->is_begun)
        return;
    require(!next->exchange);
    next->is_begun = true;
    timer_set(next->timer, 0);
}

static void end_turn(struct source_ask *ask)
{
    ask->turn = 0;
    ask->is_begun = false;
    ask->attempts = 0;
    ask->is_renewed = false;
    ask->is_corrected = false;
    forget_access(ask);
    call_next(ask->source);
}

static void finish(struct source_ask *ask, const struct error *err)
{
    struct error why = err ? *err : (struct error){ 0 };

    require(ask->turn > 0 && ask->is_begun && !ask->exchange);
    end_turn(ask);
    ask->verbs->done(ask, err ? &why : NULL);
}

static bool is_worth_repeating(enum error_kind kind)
{
    return kind == ERROR_TRANSIENT || kind == ERROR_THROTTLED || kind == ERROR_UNKNOWN_OUTCOME ||
           kind == ERROR_CONFLICT;
}

/* The pause before the next attempt: with jitter, and at least as long as the source asked for. */
static int64_t rest_ms(const struct source_ask *ask, const struct error *err)
{
    int64_t most = BACKOFF_MS << ask->attempts;
    int64_t rest;

    require(ask->attempts > 0 && ask->attempts < ATTEMPTS);
    if (most > BACKOFF_MAX_MS)
        most = BACKOFF_MAX_MS;
    rest = most / 2 + (int64_t)random_below(ask->source->world->random, (uint64_t)most / 2);
    return err->retry_after_ms > 0 ? err->retry_after_ms + rest : rest;
}

static void repeat_or_finish(struct source_ask *ask, const struct error *err)
{
    struct error why = *err;

    if (!is_worth_repeating(err->kind)) {
        finish(ask, err);
        return;
    }
    if (++ask->attempts == ATTEMPTS) {
        error_context(&why, "given up after %d attempts", ATTEMPTS);
        finish(ask, &why);
        return;
    }
    ask->source->effort.repeats++;

    int64_t wait_ms = rest_ms(ask, err);

    log_info("source_waits", FIELD_TEXT("source", ask->source->settings->name),
             FIELD_INT("wait_ms", wait_ms), FIELD_TEXT("text", err->text));
    timer_set(ask->timer, wait_ms);
}

/* Whether the answer refuses expired keys, or a signature made with a wrong clock, and a retry can
   succeed. */
static bool renews_keys(struct source_ask *ask, const struct http_answer *answer)
{
    struct aws_login *login = ask->source->aws;
    struct wall_time now = loop_wall(ask->source->world->loop);

    if (!ask->is_corrected && aws_clock_correct(aws_login_clock(login), now, answer)) {
        ask->is_corrected = true;
        return true;
    }
    if (ask->is_renewed || answer->status == 200 || !strstr(answer->body, "ExpiredToken"))
        return false;
    ask->is_renewed = true;
    return aws_login_reject(login, ask->keys.id);
}

/* Whether the answer refuses our credentials, and new ones can be fetched.  Rejects the old ones
   then. */
static bool renews_access(struct source_ask *ask, const struct http_answer *answer)
{
    const struct source *source = ask->source;

    if (source->aws)
        return renews_keys(ask, answer);
    if (!source->google || answer->status != 401 || ask->is_renewed)
        return false;
    ask->is_renewed = true;
    gcp_token_reject(source->google, ask->bearer);
    return true;
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct source_ask *ask = context;
    struct error why = { 0 };

    ask->exchange = NULL;
    if (err)
        repeat_or_finish(ask, err);
    else if (renews_access(ask, answer))
        ask_now(ask);
    else if (ask->verbs->read(ask, answer, &why) < 0)
        repeat_or_finish(ask, &why);
    else
        finish(ask, NULL);
}

static int send(struct source_ask *ask, struct error *err)
{
    struct source *source = ask->source;
    struct wall_time now = loop_wall(source->world->loop);
    const struct source_access access = {
        .bearer = ask->bearer,
        .keys = source->aws ? &ask->keys : NULL,
        .now = source->aws ? aws_clock_now(aws_login_clock(source->aws), now) : now,
    };
    owned(source_request) struct source_request request = { 0 };
    struct http_header headers[SOURCE_HEADERS_MAX];

    if (ask->verbs->write(ask, &access, &request, err) < 0)
        return -1;
    for (size_t i = 0; i < request.header_count; i++)
        headers[i] = (struct http_header){ request.headers[i].name, request.headers[i].value };

    struct http_request http = {
        .method = request.method,
        .priority = HTTP_INVENTORY,
        .url = request.url,
        .headers = headers,
        .header_count = request.header_count,
        .body = request.body ? request.body->chars : NULL,
        .body_size = request.body ? request.body->length : 0,
        .tls = source->ca ? &source->tls : NULL,
        .timeout_ms = TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    require(!ask->exchange && request.url);
    source->effort.requests++;
    ask->exchange = http_send(source->world->http, &http, on_answer, ask);
    return 0;
}

/* The callback of the end may close the source, so it is not called from inside a call of the
   credentials code. */
static void take_word(struct source_ask *ask, const struct error *err)
{
    ask->access_error = err ? *err : (struct error){ 0 };
    ask->has_word = true;
    timer_set(ask->timer, 0);
}

static void on_token(struct gcp_waiter *waiter, const char *token, const struct error *err)
{
    struct source_ask *ask = (struct source_ask *)(void *)((char *)waiter -
                                                           offsetof(struct source_ask, google));

    forget_access(ask);
    ask->bearer = mem_copy_chars(token);
    take_word(ask, err);
}

static void on_keys(struct aws_waiter *waiter, const struct aws_keys *keys, const struct error *err)
{
    struct source_ask *ask = (struct source_ask *)(void *)((char *)waiter -
                                                           offsetof(struct source_ask, aws));

    forget_access(ask);
    if (keys)
        ask->keys = (struct aws_keys){ mem_copy_chars(keys->id), mem_copy_chars(keys->secret),
                                       mem_copy_chars(keys->token) };
    take_word(ask, err);
}

static int ask_for_access(struct source_ask *ask, struct error *err)
{
    if (ask->source->google)
        return gcp_token_ask(ask->source->google, &ask->google, err);
    aws_login_ask(ask->source->aws, &ask->aws);
    return 0;
}

static void ask_now(void *context)
{
    struct source_ask *ask = context;
    bool needs_access = ask->source->google || ask->source->aws;
    struct error err = ask->access_error;
    int result = -1;

    require(ask->turn > 0 && !ask->exchange);
    if (needs_access && !ask->has_word)
        result = ask_for_access(ask, &err);
    else if (err.kind == ERROR_NONE)
        result = send(ask, &err);
    ask->has_word = false;
    ask->access_error = (struct error){ 0 };
    if (result < 0)
        repeat_or_finish(ask, &err);
}

void source_ask_init(struct source_ask *ask, struct source *source,
                     const struct source_ask_verbs *verbs)
{
    require(verbs->write && verbs->read && verbs->done && verbs->free);
    ask->source = source;
    ask->verbs = verbs;
    ask->google.ready = on_token;
    ask->aws.ready = on_keys;
    ask->timer = timer_new(source->world->loop, ask_now, ask);
    ask->next = source->asks;
    source->asks = ask;
}

void source_ask_begin(struct source_ask *ask)
{
    require(ask->turn == 0);
    ask->turn = ++ask->source->turns;
    call_next(ask->source);
}

void source_ask_clear(struct source_ask *ask)
{
    struct source *source = ask->source;
    struct source_ask **at = &source->asks;

    http_cancel(source->world->http, ask->exchange);
    ask->exchange = NULL;
    if (source->google)
        gcp_token_forget(source->google, &ask->google);
    if (source->aws)
        aws_login_forget(source->aws, &ask->aws);
    end_turn(ask);
    timer_free(ask->timer);
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
}
