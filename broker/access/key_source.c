/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See key_source.h.
 */
#include "broker/access/key_source.h"

#include "base/crypto.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    TIMEOUT_MS = 10 * SECOND_MS,
    RETRY_LEAST_MS = 5 * SECOND_MS,
    RETRY_MOST_MS = 5 * MINUTE_MS,
};

struct key_source {
    const struct world *world;
    char *url;
    struct timer *timer;
    struct http_exchange *exchange; /* under way; NULL: none */
    struct web_keys *keys;          /* NULL: none have come */
    struct wall_time since;
    struct error trouble; /* ERROR_NONE: the last answer gave the keys */
    int64_t asked_ms;
    int64_t retry_ms;            /* 0: after a success */
    char hash[SHA256_TEXT_SIZE]; /* of the key set in use; "": none */
    void (*changed)(void *context);
    void *context;
};

static void take(struct key_source *source, struct web_keys *keys, const struct http_answer *answer)
{
    char hash[SHA256_TEXT_SIZE];
    bool is_other;

    crypto_sha256_text(answer->body, answer->body_size, hash);
    is_other = !text_equal(hash, source->hash);
    text_copy(source->hash, sizeof source->hash, hash);
    web_keys_free(source->keys);
    source->keys = keys;
    source->since = loop_wall(source->world->loop);
    source->trouble = (struct error){ 0 };
    source->retry_ms = 0;
    timer_set(source->timer, KEY_SOURCE_AGE_MS);
    if (is_other && source->changed)
        source->changed(source->context);
}

void key_source_watch(struct key_source *source, void (*changed)(void *context), void *context)
{
    source->changed = changed;
    source->context = context;
}

static void fail(struct key_source *source, const struct error *err)
{
    if (source->trouble.kind == ERROR_NONE || source->retry_ms == 0)
        log_warn("keys_not_fetched", FIELD_TEXT("url", source->url), FIELD_TEXT("text", err->text));
    source->trouble = *err;
    source->retry_ms = source->retry_ms == 0 ? RETRY_LEAST_MS : 2 * source->retry_ms;
    if (source->retry_ms > RETRY_MOST_MS)
        source->retry_ms = RETRY_MOST_MS;
    timer_set(source->timer, source->retry_ms);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *failure)
{
    struct key_source *source = context;
    struct web_keys *keys = NULL;
    struct error err = { 0 };

    source->exchange = NULL;
    if (failure)
        err = *failure;
    else if (answer->status != 200)
        error_set(&err, ERROR_TRANSIENT, "%s answers with status %d", source->url, answer->status);
    else
        keys = web_keys_parse(answer->body, answer->body_size, source->url, &err);
    if (keys)
        take(source, keys, answer);
    else
        fail(source, &err);
}

static void ask(void *context)
{
    struct key_source *source = context;
    const struct http_request request = { .url = source->url,
                                          .priority = HTTP_INVENTORY,
                                          .timeout_ms = TIMEOUT_MS,
                                          .answer_limit = WEB_KEYS_SIZE_MOST };

    if (source->exchange)
        return;
    source->asked_ms = loop_now(source->world->loop);
    source->exchange = http_send(source->world->http, &request, on_answer, source);
}

struct key_source *key_source_new(const struct world *world, const char *url)
{
    struct key_source *source = mem_new(sizeof *source);

    source->world = world;
    source->url = mem_copy_chars(url);
    error_set(&source->trouble, ERROR_TRANSIENT, "%s has not answered yet", url);
    source->timer = timer_new(world->loop, ask, source);
    timer_set(source->timer, 0);
    return source;
}

void key_source_free(struct key_source *source)
{
    if (!source)
        return;
    http_cancel(source->world->http, source->exchange);
    timer_free(source->timer);
    web_keys_free(source->keys);
    mem_free(source->url);
    mem_free(source);
}

const struct web_keys *key_source_keys(const struct key_source *source)
{
    return source->keys;
}

void key_source_miss(struct key_source *source)
{
    if (!source->exchange && loop_now(source->world->loop) - source->asked_ms >= KEY_SOURCE_MISS_MS)
        timer_set_sooner(source->timer, 0);
}

int key_source_check(const struct key_source *source, struct wall_time *ret_since,
                     struct error *err)
{
    *ret_since = source->since;
    if (source->trouble.kind == ERROR_NONE)
        return 0;
    *err = source->trouble;
    return -1;
}
