/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See mortal_http.h.
 */
#include "tests/real/mortal_http.h"

#include "base/memory.h"

struct mortal {
    struct http http; /* first */
    struct http *inner;
    bool is_dead;
};

struct http_exchange {
    struct mortal *mortal;
    struct http_exchange *inner; /* NULL: answered, or never sent */
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
};

static void on_chunk(void *context, const char *bytes, size_t size)
{
    struct http_exchange *exchange = context;

    if (!exchange->mortal->is_dead)
        exchange->on_chunk(exchange->context, bytes, size);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct http_exchange *exchange = context;

    exchange->inner = NULL;
    if (exchange->mortal->is_dead)
        return; /* whoever sent it cancels it when it is closed */
    exchange->done(exchange->context, answer, err);
    mem_free(exchange);
}

static struct http_exchange *mortal_send(struct http *http, const struct http_request *request,
                                         http_done_fn done, void *context)
{
    struct mortal *mortal = (struct mortal *)http;
    struct http_exchange *exchange = mem_new(sizeof *exchange);
    struct http_request copy = *request;

    *exchange = (struct http_exchange){ mortal, NULL, request->on_chunk, done, context };
    if (mortal->is_dead)
        return exchange;
    if (request->on_chunk)
        copy.on_chunk = on_chunk;
    exchange->inner = http_send(mortal->inner, &copy, on_answer, exchange);
    return exchange;
}

static void mortal_cancel(struct http_exchange *exchange)
{
    http_cancel(exchange->mortal->inner, exchange->inner);
    mem_free(exchange);
}

static void mortal_free(struct http *http)
{
    mem_free(http);
}

static const struct http_verbs verbs = { mortal_send, mortal_cancel, mortal_free };

struct http *mortal_http_new(struct http *inner)
{
    struct mortal *mortal = mem_new(sizeof *mortal);

    mortal->http.verbs = &verbs;
    mortal->inner = inner;
    return &mortal->http;
}

void mortal_http_kill(struct http *http)
{
    ((struct mortal *)http)->is_dead = true;
}

void mortal_http_revive(struct http *http)
{
    ((struct mortal *)http)->is_dead = false;
}
