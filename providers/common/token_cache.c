/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See token_cache.h.
 */
#include "providers/common/token_cache.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/secret.h"

#include <string.h>

enum {
    WAITER_LIMIT = 1024,
    FRESH_MS = 5 * MINUTE_MS,
    USABLE_MS = 30 * SECOND_MS,
    RETRY_MS = 10 * SECOND_MS, /* time between attempts to replace a token that can still be used */
    FETCH_TIMEOUT_MS = 10 * SECOND_MS,
    ANSWER_LIMIT = 256 * 1024,
    LIFE_LIMIT_S = 7 * 24 * 3600,
};

struct token_cache {
    struct world *world;
    struct token_source source;

    char *access; /* NULL: none yet */
    int64_t ends_ms;
    int64_t next_try_ms;

    struct http_exchange *fetch;
    int64_t fetch_began_ms;
    struct timer *deliver;
    struct token_waiter *first;
    struct token_waiter **last;
    int waiting;
};

static int64_t left_ms(const struct token_cache *cache)
{
    return cache->access ? cache->ends_ms - loop_now(cache->world->loop) : 0;
}

/* Calls all present waiters; a caller that asks from inside `ready` waits for the next token. */
static void deliver_to_all(struct token_cache *cache, const struct error *err)
{
    char *access = err ? NULL : mem_copy_chars(cache->access);

    for (int left = cache->waiting; left > 0 && cache->first; left--) {
        struct token_waiter *waiter = cache->first;

        token_cache_forget(cache, waiter);
        waiter->ready(waiter, access, err);
    }
    secret_free(access);
}

static void fail(struct token_cache *cache, struct error *why)
{
    error_context(why, "token");
    if (why->kind == ERROR_NOT_FOUND || why->kind == ERROR_CONFLICT) /* a file of credentials */
        why->kind = ERROR_DENIED;
    cache->next_try_ms = loop_now(cache->world->loop) + RETRY_MS;
    deliver_to_all(cache, left_ms(cache) > USABLE_MS ? NULL : why);
}

static int take(struct token_cache *cache, struct token_lease *lease, struct error *err)
{
    if (lease->access[0] == '\0' || strpbrk(lease->access, "\r\n") || lease->life_s <= 0 ||
        lease->life_s > LIFE_LIMIT_S) {
        secret_free(steal(&lease->access));
        return error_set(err, ERROR_CORRUPT, "the answer makes no sense");
    }
    secret_free(steal(&cache->access));
    cache->access = lease->access;
    cache->ends_ms = cache->fetch_began_ms + lease->life_s * SECOND_MS;
    cache->next_try_ms = loop_now(cache->world->loop) + RETRY_MS;
    return 0;
}

static void on_fetched(void *context, const struct http_answer *answer, const struct error *err)
{
    struct token_cache *cache = context;
    struct token_lease lease = { 0 };
    struct error why = { 0 };

    cache->fetch = NULL;
    if (err) {
        why = *err;
        if (why.kind == ERROR_UNKNOWN_OUTCOME) /* asking for a token changes nothing */
            why.kind = ERROR_TRANSIENT;
        fail(cache, &why);
    } else if (cache->source.read(cache->source.context, answer, &lease, &why) < 0 ||
               take(cache, &lease, &why) < 0) {
        fail(cache, &why);
    } else {
        deliver_to_all(cache, NULL);
    }
}

static void fetch(struct token_cache *cache)
{
    struct token_request asked = { 0 };
    struct http_header headers[2] = { { "Content-Type", "application/x-www-form-urlencoded" } };
    struct http_request request = {
        .priority = HTTP_RECLAIM,
        .headers = headers,
        .timeout_ms = FETCH_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };
    struct error err = { 0 };

    if (cache->source.ask(cache->source.context, &asked, &err) < 0) {
        fail(cache, &err);
        return;
    }
    require(asked.url);
    request.method = asked.form ? HTTP_POST : HTTP_GET;
    request.url = asked.url;
    request.header_count = asked.form ? 1 : 0;
    if (asked.form) {
        request.body = asked.form->chars;
        request.body_size = asked.form->length;
    }
    if (asked.header.name)
        headers[request.header_count++] = asked.header;
    cache->fetch_began_ms = loop_now(cache->world->loop);
    cache->fetch = http_send(cache->world->http, &request, on_fetched, cache);
    secret_free(asked.url);
    if (asked.form)
        explicit_bzero(asked.form->chars, asked.form->length);
    text_free(asked.form);
}

static void on_deliver(void *context)
{
    struct token_cache *cache = context;
    bool is_early = loop_now(cache->world->loop) < cache->next_try_ms;

    if (cache->fetch || !cache->first)
        return;
    if (left_ms(cache) > FRESH_MS || (left_ms(cache) > USABLE_MS && is_early))
        deliver_to_all(cache, NULL);
    else
        fetch(cache);
}

struct token_cache *token_cache_new(struct world *world, const struct token_source *source)
{
    struct token_cache *cache = mem_new(sizeof *cache);

    cache->world = world;
    cache->source = *source;
    cache->last = &cache->first;
    cache->deliver = timer_new(world->loop, on_deliver, cache);
    return cache;
}

void token_cache_free(struct token_cache *cache)
{
    if (!cache)
        return;
    http_cancel(cache->world->http, cache->fetch);
    timer_free(cache->deliver);
    secret_free(steal(&cache->access));
    mem_free(cache);
}

int token_cache_ask(struct token_cache *cache, struct token_waiter *waiter, struct error *err)
{
    if (cache->waiting >= WAITER_LIMIT)
        return error_set(err, ERROR_TRANSIENT, "token: %d calls wait for one already",
                         WAITER_LIMIT);
    waiter->next = NULL;
    *cache->last = waiter;
    cache->last = &waiter->next;
    cache->waiting++;
    timer_set_sooner(cache->deliver, 0);
    return 0;
}

void token_cache_forget(struct token_cache *cache, struct token_waiter *waiter)
{
    for (struct token_waiter **at = &cache->first; *at; at = &(*at)->next) {
        if (*at != waiter)
            continue;
        *at = waiter->next;
        if (cache->last == &waiter->next)
            cache->last = at;
        cache->waiting--;
        return;
    }
}

void token_cache_reject(struct token_cache *cache, const char *refused)
{
    if (text_equal(cache->access, refused))
        secret_free(steal(&cache->access));
}

static int refused(const struct http_answer *answer, const json_t *body, struct error *err)
{
    const char *said = json_text_or(body, "error_description", "");
    enum error_kind kind = ERROR_DENIED;

    if (said[0] == '\0')
        said = json_text_or(body, "error", answer->body);
    if (answer->status == 429)
        kind = ERROR_THROTTLED;
    else if (answer->status == 408 || answer->status >= 500)
        kind = ERROR_TRANSIENT;
    error_set(err, kind, "refused: %d %.200s", answer->status, said);
    error_wait(err, answer->retry_after_ms);
    return -1;
}

/* Azure's metadata server writes the number as a text. */
static int read_life(const json_t *body, int64_t *ret_life_s, struct error *err)
{
    const json_t *life = json_at(body, "expires_in");
    long long digits;

    if (!json_is_string(life))
        return json_need_int(body, "expires_in", ret_life_s, err);
    if (!text_to_int(json_string_value(life), 0, LIFE_LIMIT_S, &digits))
        return error_set(err, ERROR_CORRUPT, "expires_in: expected seconds");
    *ret_life_s = digits;
    return 0;
}

int token_read_oauth(const struct http_answer *answer, struct token_lease *ret_lease,
                     struct error *err)
{
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", err);
    const char *access = NULL;
    int64_t life_s = 0;

    if (answer->status != 200)
        return refused(answer, body, err);
    if (!body || json_need_text(body, "access_token", &access, err) < 0 ||
        read_life(body, &life_s, err) < 0)
        return -1;
    *ret_lease = (struct token_lease){ mem_copy_chars(access), life_s };
    return 0;
}
