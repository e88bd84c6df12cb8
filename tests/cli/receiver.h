/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Receivers of webhooks, in virtual time: they stand before the way out of a rehearsal's service,
 * check each request that comes to them, and keep it.
 */
#pragma once

#include "base/array.h"
#include "broker/service/service_parts.h"
#include "broker/webhooks/signature.h"
#include "tests/cli/small_world.h"

#include <sys/stat.h>

#define RECEIVER_PLACE "http://127.0.0.1:9/"
#define RECEIVER_SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define RECEIVER_TOKEN "Hunter2Hunter2"

enum { RECEIVER_MS = 50, RECEIVER_HANGS = -1, RECEIVER_IS_AWAY = -2 };

/* A request that arrived. */
struct arrival {
    char path[32];
    char id[64];
    json_t *body;
    int status; /* that was answered */
    int64_t at_ms;
};

struct receiver_call {
    struct http_exchange *passage; /* only its address counts */
    struct receiver *receiver;
    struct timer *timer;
    http_done_fn done;
    void *context;
    int status;
    bool is_over;
};

struct receiver {
    struct http http;
    struct http *door;
    struct rehearsal *rehearsal;
    const char *folder;
    int status;            /* of all answers; RECEIVER_HANGS, RECEIVER_IS_AWAY: none comes */
    const char *sick_path; /* NULL: none; the others are well, */
    int sick_status;       /* and it answers this */
    int64_t retry_after_ms;
    const char *answer; /* body; NULL: "" */
    ARRAY(struct arrival) arrivals;
    ARRAY(struct receiver_call *) calls;
};

static struct receiver *the_receiver;

static inline void receiver_answer(void *context)
{
    struct receiver_call *call = context;
    const char *body = call->receiver->answer ?: "";
    const struct http_answer answer = { .status = call->status,
                                        .body = body,
                                        .body_size = strlen(body),
                                        .retry_after_ms = call->receiver->retry_after_ms };
    struct error err;

    call->is_over = true;
    if (call->receiver->rehearsal->is_dead)
        return;
    if (call->status > 0) {
        call->done(call->context, &answer, NULL);
        return;
    }
    error_set(&err, call->status == RECEIVER_HANGS ? ERROR_UNKNOWN_OUTCOME : ERROR_TRANSIENT,
              call->status == RECEIVER_HANGS ? "http://127.0.0.1:9: Timeout was reached"
                                             : "http://127.0.0.1:9: Couldn't connect to server");
    call->done(call->context, NULL, &err);
}

/* By the book of the specification, and by what CloudEvents and Slack ask for. */
static inline void receiver_check(const struct receiver *receiver,
                                  const struct http_request *request, struct arrival *arrival)
{
    const char *type = http_header_find(request->headers, request->header_count, "Content-Type");
    const char *id = http_header_find(request->headers, request->header_count, "webhook-id");
    const char *at = http_header_find(request->headers, request->header_count, "webhook-timestamp");
    const char *sign = http_header_find(request->headers, request->header_count,
                                        "webhook-signature");
    owned(chars) char *path = text_format("%s/hook.secret", receiver->folder);
    const struct config_webhook hook = { .secret_file = path };
    owned(webhook_access) struct webhook_access access = { 0 };
    owned(chars) char *want = NULL;
    int64_t now_s = loop_wall(receiver->rehearsal->loop).ms / SECOND_MS;
    long long at_s = 0;
    struct error err;

    assert_int_equal(request->method, HTTP_POST);
    assert_true(request->timeout_ms > 0 && request->is_outward && request->is_mutation);
    assert_true(request->body_size < 64 << 10);
    if (text_starts_with(arrival->path, "slack")) {
        assert_null(id);
        assert_string_equal(type, "application/json");
        assert_int_equal(json_object_size(arrival->body), 1);
        assert_true(json_is_string(json_object_get(arrival->body, "text")));
        return;
    }
    assert_string_equal(type, "application/cloudevents+json; charset=UTF-8");
    assert_true(id && at && sign && text_to_int(at, now_s - 300, now_s + 300, &at_s));
    assert_int_equal(webhook_access_read(&hook, &access, &err), 0);
    want = webhook_signature(&access, id, (struct wall_time){ at_s * SECOND_MS }, request->body);
    assert_string_equal(sign, want);
    assert_string_equal(json_text_or(arrival->body, "specversion", ""), "1.0");
    assert_string_equal(json_text_or(arrival->body, "id", ""), id);
    assert_true(text_starts_with(json_text_or(arrival->body, "type", ""), "dev.sluice."));
    text_copy(arrival->id, sizeof arrival->id, id);
}

static inline struct http_exchange *receiver_send(struct http *http,
                                                  const struct http_request *request,
                                                  http_done_fn done, void *context)
{
    struct receiver *receiver = (struct receiver *)http;
    const char *path = request->url + strlen(RECEIVER_PLACE);
    struct receiver_call *call;
    struct arrival *arrival;
    struct error err;

    if (!text_starts_with(request->url, RECEIVER_PLACE))
        return http_send(receiver->door, request, done, context);
    if (receiver->rehearsal->is_dead)
        return NULL;
    call = mem_new(sizeof *call);
    *call = (struct receiver_call){ .receiver = receiver, .done = done, .context = context };
    call->status = receiver->sick_path && text_equal(path, receiver->sick_path)
                       ? receiver->sick_status
                       : receiver->status;
    call->timer = timer_new(receiver->rehearsal->loop, receiver_answer, call);
    timer_set(call->timer, call->status == RECEIVER_HANGS ? request->timeout_ms : RECEIVER_MS);
    *array_add(&receiver->calls) = call;
    if (call->status != RECEIVER_IS_AWAY) {
        arrival = array_add(&receiver->arrivals);
        text_copy(arrival->path, sizeof arrival->path, path);
        arrival->status = call->status;
        arrival->at_ms = loop_now(receiver->rehearsal->loop);
        arrival->body = json_parse(request->body, request->body_size, "body", &err);
        assert_non_null(arrival->body);
        receiver_check(receiver, request, arrival);
    }
    return (struct http_exchange *)call;
}

static inline void receiver_cancel(struct http_exchange *exchange)
{
    for (size_t i = 0; i < the_receiver->calls.count; i++)
        if ((void *)the_receiver->calls.items[i] == (void *)exchange) {
            the_receiver->calls.items[i]->is_over = true;
            timer_stop(the_receiver->calls.items[i]->timer);
            return;
        }
    http_cancel(the_receiver->door, exchange);
}

static inline void receiver_keep(struct http *http)
{
    (void)http;
}

static const struct http_verbs receiver_verbs = {
    .send = receiver_send,
    .cancel = receiver_cancel,
    .free = receiver_keep,
};

/* Two webhooks: "cloud" at /cloud with all topics, and "slack" at /slack-TOKEN. */
static const char receiver_settings[] =
    "webhooks:\n"
    "  cloud: {url: '" RECEIVER_PLACE "cloud', secret_file: hook.secret}\n"
    "  slack: {format: slack, url_file: slack.url, events: departures}\n";

/* A file that only its owner may read. */
static inline void receiver_write(const char *folder, const char *name, const char *text)
{
    owned(chars) char *path = test_folder_write(folder, name, text);

    assert_int_equal(chmod(path, 0600), 0);
}

/* A small world whose service has these webhooks, and asks by the receiver. */
static inline struct rehearsal *receiver_open(struct receiver *receiver, const char *folder,
                                              const char *settings, const char *faults)
{
    struct rehearsal *rehearsal;

    receiver_write(folder, "hook.secret", RECEIVER_SECRET "\n");
    receiver_write(folder, "slack.url", RECEIVER_PLACE "slack-" RECEIVER_TOKEN "\n");
    rehearsal = small_rehearsal_with(folder, 51, faults, settings, "");
    *receiver = (struct receiver){ .http = { .verbs = &receiver_verbs },
                                   .rehearsal = rehearsal,
                                   .folder = folder,
                                   .status = 204 };
    the_receiver = receiver;
    receiver->door = rehearsal->world.http;
    rehearsal->world.http = &receiver->http;
    return rehearsal;
}

static inline void receiver_close(struct receiver *receiver)
{
    for (size_t i = 0; i < receiver->arrivals.count; i++)
        json_decref(receiver->arrivals.items[i].body);
    array_clear(&receiver->arrivals);
    for (size_t i = 0; i < receiver->calls.count; i++) {
        timer_free(receiver->calls.items[i]->timer);
        mem_free(receiver->calls.items[i]);
    }
    array_clear(&receiver->calls);
    rehearsal_close(receiver->rehearsal);
}

static inline size_t receiver_count(const struct receiver *receiver, const char *path)
{
    size_t count = 0;

    for (size_t i = 0; i < receiver->arrivals.count; i++)
        count += text_starts_with(receiver->arrivals.items[i].path, path);
    return count;
}

/* The types that /cloud accepted, in their order, each ID once. */
static inline char *receiver_types(const struct receiver *receiver)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    for (size_t i = 0; i < receiver->arrivals.count; i++) {
        const struct arrival *arrival = &receiver->arrivals.items[i];
        bool is_known = arrival->id[0] == '\0' || arrival->status / 100 != 2;

        for (size_t k = 0; k < i && !is_known; k++)
            is_known = text_equal(receiver->arrivals.items[k].id, arrival->id) &&
                       receiver->arrivals.items[k].status / 100 == 2;
        if (!is_known)
            text_add(out, "%s%s", out->length > 0 ? " " : "",
                     json_text_or(arrival->body, "type", "") + strlen("dev.sluice."));
    }
    return text_take(out);
}

static inline const struct arrival *arrival_of(const struct receiver *receiver, const char *path,
                                               const char *type, size_t at)
{
    for (size_t i = 0; i < receiver->arrivals.count; i++) {
        const struct arrival *arrival = &receiver->arrivals.items[i];

        if (text_starts_with(arrival->path, path) &&
            (!type || strstr(json_text_or(arrival->body, "type", ""), type)) && at-- == 0)
            return arrival;
    }
    fail_msg("%s did not get %s", path, type ?: "so many");
    return NULL;
}

static inline json_t *row_of(struct rehearsal *rehearsal, size_t at)
{
    owned(json) json_t *rows = webhooks_describe(service_webhooks(rehearsal->service));

    return json_incref(json_array_get(rows, at));
}

static inline int64_t number(struct rehearsal *rehearsal, size_t hook, const char *member)
{
    owned(json) json_t *row = row_of(rehearsal, hook);

    return json_int_or(row, member, -1);
}

/* The production pool grows by three nodes at once. */
static inline void grow(struct rehearsal *rehearsal)
{
    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 9, 9);
}

static inline void expect_types(const struct receiver *receiver, const char *want)
{
    owned(chars) char *types = receiver_types(receiver);

    assert_string_equal(types, want);
}

static inline void take_test(void *context, json_t *answer)
{
    json_t **ret = context;

    *ret = answer;
}

static inline json_t *test_webhook(struct rehearsal *rehearsal, const char *name)
{
    struct webhooks *webhooks = service_webhooks(rehearsal->service);
    owned(json) json_t *request = json_make("{ss}", "webhook", name);
    struct error err = { 0 };
    json_t *asked = webhooks_ask_test(webhooks, request, "alice", &err);
    json_t *answer = NULL;

    if (!asked)
        fail_msg("%s", err.text);
    webhooks_test(webhooks, asked, take_test, &answer);
    rehearsal_run(rehearsal, 16 * SECOND_MS);
    assert_non_null(answer);
    return answer;
}
