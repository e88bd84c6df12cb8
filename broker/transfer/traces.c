/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See traces.h.
 */
#include "broker/transfer/traces.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/transfer/steps.h"

#include <inttypes.h>

enum {
    GATHER_MS = 5 * SECOND_MS, /* so that steps which end together are one request */
    WAIT_MAX_MS = 5 * MINUTE_MS,
    TIMEOUT_MS = 10 * SECOND_MS,
    BATCH = 512, /* spans of a request */
};

enum { TRACE_ID_SIZE = 33, SPAN_ID_SIZE = 17 };

/* Of opentelemetry/proto/trace/v1/trace.proto. */
enum { KIND_INTERNAL = 1, STATUS_OK = 1, STATUS_ERROR = 2 };

struct traces {
    struct world *world;
    const char *endpoint;
    struct timer *timer;
    struct http_exchange *exchange; /* NULL: none is under way */
    json_t *spans;                  /* that wait, oldest first */
    size_t sent;                    /* of them, with the exchange */
    int64_t dropped;                /* since the queue was full */
    int failures;                   /* in a row */
};

static void send(void *context);

struct traces *traces_new(struct world *world, const char *endpoint)
{
    struct traces *traces;

    if (!endpoint)
        return NULL;
    traces = mem_new(sizeof *traces);
    traces->world = world;
    traces->endpoint = endpoint;
    traces->spans = json_array();
    traces->timer = timer_new(world->loop, send, traces);
    return traces;
}

void traces_free(struct traces *traces)
{
    if (!traces)
        return;
    if (traces->exchange)
        http_cancel(traces->world->http, traces->exchange);
    timer_free(traces->timer);
    json_decref(traces->spans);
    mem_free(traces);
}

/* The first digits of a hash of the name: as good as random, and the same each time. */
static void name_id(const char *name, char *out, size_t size)
{
    char hash[SHA256_TEXT_SIZE];

    crypto_sha256_text(name, strlen(name), hash);
    text_print(out, size, "%.*s", (int)size - 1, hash);
}

static void add_text(json_t *attributes, const char *key, const char *value)
{
    json_t *row = json_make("{ss s{}}", "key", key, "value");

    json_object_set_new(json_object_get(row, "value"), "stringValue", json_text(value));
    json_array_append_new(attributes, row);
}

static void add_bool(json_t *attributes, const char *key, bool value)
{
    json_array_append_new(attributes,
                          json_make("{ss s{sb}}", "key", key, "value", "boolValue", (int)value));
}

/* 64 bits are texts in protobuf's JSON. */
static json_t *nanoseconds(struct wall_time wall)
{
    owned(chars) char *text = text_format("%" PRId64 "000000", wall.ms);

    return json_text(text);
}

/* Takes the attributes. */
static json_t *span_new(const struct transfer *transfer, const char *name, struct wall_time began,
                        struct wall_time ended, json_t *attributes)
{
    owned(chars) char *trace_name = text_format("sluice transfer %s", transfer->id);
    char trace_id[TRACE_ID_SIZE];
    json_t *span;

    name_id(trace_name, trace_id, sizeof trace_id);
    /* A clock that was set back must not make a span end before it begins. */
    span = json_make("{ss ss si so so so}", "traceId", trace_id, "name", name, "kind",
                     KIND_INTERNAL, "startTimeUnixNano",
                     nanoseconds(began.ms < ended.ms ? began : ended), "endTimeUnixNano",
                     nanoseconds(ended), "attributes", attributes);
    return span;
}

static void set_id(json_t *span, const char *member, const char *name)
{
    char id[SPAN_ID_SIZE];

    name_id(name, id, sizeof id);
    json_object_set_new(span, member, json_text(id));
}

static json_t *span_of_step(const struct transfer *transfer, const struct trace_step *ended)
{
    const char *name = transfer_steps[ended->step].name;
    owned(chars) char *root = text_format("sluice transfer %s", transfer->id);
    owned(chars) char *own = text_format("%s %s %d %d %" PRId64, root, name, ended->is_undoing,
                                         transfer->attempt, ended->began.ms);
    json_t *attributes = json_array();
    json_t *span;

    add_text(attributes, "sluice.transfer", transfer->id);
    add_bool(attributes, "sluice.undo", ended->is_undoing);
    if (ended->waited_for[0] != '\0')
        add_text(attributes, "sluice.waited_for", ended->waited_for);
    span = span_new(transfer, name, ended->began, transfer->step_began, attributes);
    set_id(span, "spanId", own);
    set_id(span, "parentSpanId", root);
    return span;
}

static json_t *span_of_transfer(const struct transfer *transfer)
{
    owned(chars) char *root = text_format("sluice transfer %s", transfer->id);
    bool is_done = transfer->state == TRANSFER_DONE;
    json_t *attributes = json_array();
    json_t *span;

    add_text(attributes, "sluice.transfer", transfer->id);
    add_text(attributes, "sluice.move", transfer->move);
    add_text(attributes, "sluice.node", transfer->node);
    add_text(attributes, "sluice.from", transfer->source->name);
    add_text(attributes, "sluice.to", transfer->target->name);
    add_text(attributes, "sluice.reason", transfer->reason);
    add_text(attributes, "sluice.state", transfer_state_name(transfer->state));
    add_bool(attributes, "sluice.emergency", transfer->is_emergency);
    span = span_new(transfer, "transfer", transfer->created, transfer->ended, attributes);
    set_id(span, "spanId", root);
    if (is_done)
        json_object_set_new(span, "status", json_make("{si}", "code", STATUS_OK));
    else if (transfer->state == TRANSFER_RETURNED)
        json_object_set_new(span, "status",
                            json_make("{si ss}", "code", STATUS_ERROR, "message",
                                      "the target pool got no machine"));
    return span;
}

static void queue(struct traces *traces, json_t *span)
{
    if (json_array_size(traces->spans) < TRACES_QUEUED) {
        json_array_append_new(traces->spans, span);
        return;
    }
    if (traces->dropped++ == 0)
        log_warn("traces_dropped", FIELD_TEXT("endpoint", traces->endpoint));
    json_decref(span);
}

void traces_add(struct traces *traces, const struct transfer *transfer,
                const struct trace_step *ended)
{
    if (!traces)
        return;
    queue(traces, span_of_step(transfer, ended));
    if (transfer->state != TRANSFER_LIVE)
        queue(traces, span_of_transfer(transfer));
    if (!traces->exchange && !timer_is_set(traces->timer))
        timer_set(traces->timer, GATHER_MS);
}

static char *print_batch(const struct traces *traces)
{
    owned(json) json_t *body = json_make(
        "{s[{s{s[{ss s{ss}} {ss s{ss}}]} s[{s{ss ss} s[]}]}]}", "resourceSpans", "resource",
        "attributes", "key", "service.name", "value", "stringValue", "sluice", "key",
        "service.version", "value", "stringValue", SLUICE_VERSION, "scopeSpans", "scope", "name",
        "sluice.transfer", "version", SLUICE_VERSION, "spans");
    json_t *spans = json_object_get(
        json_array_get(json_object_get(json_array_get(json_object_get(body, "resourceSpans"), 0),
                                       "scopeSpans"),
                       0),
        "spans");

    for (size_t i = 0; i < traces->sent; i++)
        json_array_append(spans, json_array_get(traces->spans, i));
    return json_print(body);
}

/* What the specification lets a client send again; after any other refusal the batch is lost. */
static bool may_repeat(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

static void forget_sent(struct traces *traces)
{
    for (; traces->sent > 0; traces->sent--)
        json_array_remove(traces->spans, 0);
    traces->dropped = 0;
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct traces *traces = context;
    int64_t wait_ms = GATHER_MS;

    traces->exchange = NULL;
    if (answer && answer->status / 100 == 2) {
        forget_sent(traces);
        traces->failures = 0;
    } else if (answer && !may_repeat(answer->status)) {
        log_warn("traces_refused", FIELD_TEXT("endpoint", traces->endpoint),
                 FIELD_INT("status", answer->status));
        forget_sent(traces);
    } else {
        if (traces->failures++ == 0)
            log_warn("traces_unsent", FIELD_TEXT("endpoint", traces->endpoint),
                     FIELD_TEXT("text", err ? err->text : "the collector is busy"));
        for (int i = 0; i < traces->failures && wait_ms < WAIT_MAX_MS; i++)
            wait_ms *= 2;
        if (answer && answer->retry_after_ms > wait_ms)
            wait_ms = answer->retry_after_ms;
        wait_ms = wait_ms < WAIT_MAX_MS ? wait_ms : WAIT_MAX_MS;
    }
    if (json_array_size(traces->spans) > 0)
        timer_set(traces->timer, wait_ms);
}

static void send(void *context)
{
    static const struct http_header headers[] = { { "Content-Type", "application/json" } };
    struct traces *traces = context;
    size_t count = json_array_size(traces->spans);
    owned(chars) char *body = NULL;

    require(!traces->exchange && count > 0);
    traces->sent = count < BATCH ? count : BATCH;
    body = print_batch(traces);
    traces->exchange = http_send(traces->world->http,
                                 &(struct http_request){ .method = HTTP_POST,
                                                         .priority = HTTP_INVENTORY,
                                                         .url = traces->endpoint,
                                                         .headers = headers,
                                                         .header_count = COUNT_OF(headers),
                                                         .body = body,
                                                         .body_size = strlen(body),
                                                         .is_mutation = true,
                                                         .is_repeatable = true,
                                                         .timeout_ms = TIMEOUT_MS },
                                 on_answer, traces);
}
