/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An HTTP client that plays a script on the virtual loop: each request takes the first step not
 * yet taken of its method and URL, and what that step says comes back after its delay.  A request
 * that is not in the script fails the test.  All that was asked is in `transcript`.
 */
#pragma once

#include "base/memory.h"
#include "base/text.h"
#include "base/world/http.h"
#include "base/world/loop.h"
#include "tests/support/unit.h"

#include <string.h>

struct script_step {
    enum http_method method;
    const char *url;
    int status;            /* 0: no answer, but `fails` */
    const char *answer;    /* of a stream: pieces with '|' between them */
    enum error_kind fails; /* after the answer, when status is 200 and the body is streamed */
    const char *retry_after;
    const char *header;    /* value of Metadata-Flavor in the answer */
    const char *date;      /* Date of the answer; NULL: none */
    const char *operation; /* Azure-AsyncOperation of the answer; NULL: none */
    int64_t delay_ms;      /* before the answer, and before each further piece */
    bool hangs;            /* never ends */
};

struct scripted_http {
    struct http http; /* first */
    struct loop *loop;
    const struct script_step *steps;
    size_t count;
    bool is_taken[64];
    struct text *transcript;
    int in_flight;
    char authorization[512]; /* of the last request */
    char content_type[64];
    char aws_time[32]; /* X-Amz-Date */
    char if_match[64];
    char body[4096];
    bool is_mutation;
};

struct http_exchange {
    struct scripted_http *owner;
    const struct script_step *step;
    http_done_fn done;
    http_chunk_fn on_chunk;
    void *context;
    struct timer *timer;
    const char *rest; /* of the stream */
    bool is_in_chunk;
    bool is_cancelled;
};

static inline void script_exchange_free(struct http_exchange *exchange)
{
    exchange->owner->in_flight--;
    timer_free(exchange->timer);
    mem_free(exchange);
}

static inline void script_finish(struct http_exchange *exchange)
{
    const struct script_step *step = exchange->step;
    http_done_fn done = exchange->done;
    void *context = exchange->context;
    struct wall_time now = loop_wall(exchange->owner->loop);
    bool is_streamed = exchange->on_chunk && step->status == 200;
    script_exchange_free(exchange);

    struct error err = { 0 };
    struct http_header headers[4];
    size_t header_count = 0;

    if (step->operation)
        headers[header_count++] = (struct http_header){ "Azure-AsyncOperation", step->operation };
    if (step->header)
        headers[header_count++] = (struct http_header){ "Metadata-Flavor", step->header };
    if (step->date)
        headers[header_count++] = (struct http_header){ "Date", step->date };
    if (step->retry_after)
        headers[header_count++] = (struct http_header){ "Retry-After", step->retry_after };

    struct http_answer answer = {
        .status = step->status,
        .body = is_streamed ? "" : step->answer ?: "",
        .retry_after_ms = http_retry_after_ms(headers, header_count, now),
        .headers = headers,
        .header_count = header_count,
    };
    answer.body_size = strlen(answer.body);
    if (step->fails != ERROR_NONE)
        error_set(&err, step->fails, "connection lost");
    done(context, err.kind == ERROR_NONE ? &answer : NULL, err.kind == ERROR_NONE ? NULL : &err);
}

static inline void script_fire(void *context)
{
    struct http_exchange *exchange = context;
    const char *rest = exchange->rest;
    if (rest && rest[0] != '\0') {
        size_t length = strcspn(rest, "|");
        exchange->rest = rest[length] == '|' ? rest + length + 1 : rest + length;
        exchange->is_in_chunk = true;
        exchange->on_chunk(exchange->context, rest, length);
        exchange->is_in_chunk = false;
        if (exchange->is_cancelled)
            script_exchange_free(exchange);
        else
            timer_set(exchange->timer, exchange->step->delay_ms);
        return;
    }
    if (!exchange->step->hangs)
        script_finish(exchange);
}

static inline const struct script_step *script_take(struct scripted_http *script,
                                                    const struct http_request *request)
{
    for (size_t i = 0; i < script->count; i++) {
        const struct script_step *step = &script->steps[i];
        if (script->is_taken[i] || step->method != request->method ||
            strcmp(step->url, request->url) != 0)
            continue;
        script->is_taken[i] = true;
        return step;
    }
    return NULL;
}

static inline struct http_exchange *
script_send(struct http *http, const struct http_request *request, http_done_fn done, void *context)
{
    struct scripted_http *script = (struct scripted_http *)http;
    const struct http_header *headers = request->headers;
    const char *authorization = http_header_find(headers, request->header_count, "Authorization");
    const char *type = http_header_find(headers, request->header_count, "Content-Type");
    text_copy(script->authorization, sizeof script->authorization, authorization ?: "");
    text_copy(script->content_type, sizeof script->content_type, type ?: "");
    text_copy(script->aws_time, sizeof script->aws_time,
              http_header_find(headers, request->header_count, "X-Amz-Date") ?: "");
    text_copy(script->if_match, sizeof script->if_match,
              http_header_find(headers, request->header_count, "If-Match") ?: "");
    text_copy(script->body, sizeof script->body, request->body ?: "");
    script->is_mutation = request->is_mutation;
    text_add(script->transcript, "%06d %s %s%s%s\n", (int)loop_now(script->loop),
             http_method_name(request->method), request->url, request->body_size > 0 ? " " : "",
             request->body ?: "");

    const struct script_step *step = script_take(script, request);
    if (!step)
        fail_msg("not in the script: %s %s\n%s", http_method_name(request->method), request->url,
                 script->transcript->chars);

    struct http_exchange *exchange = mem_new(sizeof *exchange);
    exchange->owner = script;
    exchange->step = step;
    exchange->done = done;
    exchange->on_chunk = request->on_chunk;
    exchange->context = context;
    exchange->rest = request->on_chunk && step->status == 200 ? step->answer : NULL;
    exchange->timer = timer_new(script->loop, script_fire, exchange);
    timer_set(exchange->timer, step->delay_ms);
    script->in_flight++;
    return exchange;
}

static inline void script_cancel(struct http_exchange *exchange)
{
    if (exchange->is_in_chunk)
        exchange->is_cancelled = true;
    else
        script_exchange_free(exchange);
}

static inline void script_free(struct http *http)
{
    struct scripted_http *script = (struct scripted_http *)http;
    text_free(script->transcript);
    mem_free(script);
}

static inline struct scripted_http *scripted_http_new(struct loop *loop,
                                                      const struct script_step *steps, size_t count)
{
    static const struct http_verbs verbs = {
        .send = script_send,
        .cancel = script_cancel,
        .free = script_free,
    };
    struct scripted_http *script = mem_new(sizeof *script);
    require(count <= COUNT_OF(script->is_taken));
    script->http.verbs = &verbs;
    script->loop = loop;
    script->steps = steps;
    script->count = count;
    script->transcript = text_new(64 * 1024);
    return script;
}

/* Every step was taken. */
static inline bool script_is_played(const struct scripted_http *script)
{
    for (size_t i = 0; i < script->count; i++) {
        if (!script->is_taken[i])
            return false;
    }
    return true;
}
