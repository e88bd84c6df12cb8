/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The walk through all requests of a fetch: one at a time, repeated while the source is busy or
 * out of reach, ended by the first thing that waiting does not heal.
 */
#include "base/log.h"
#include "base/text.h"
#include "broker/sources/source_parts.h"

#include <math.h>
#include <string.h>

enum {
    ATTEMPTS = 8,
    PAGES_MAX = 10000,
    STEPS_MAX = 1000 * 1000,
    TIMEOUT_MS = 60 * SECOND_MS,
    BACKOFF_MS = SECOND_MS,
    BACKOFF_MAX_MS = 60 * SECOND_MS,
    RETRY_AFTER_MAX_MS = 10 * MINUTE_MS,
    ANSWER_LIMIT = 64 << 20,
};

struct source_fetch {
    struct source *source;
    struct source_queue *queues;
    char **queue_names; /* what queues[].queue points to */
    size_t queue_count;
    struct source_span span;
    struct source_line *lines;
    size_t line_count;
    source_done_fn done;
    void *context;

    struct source_part part;
    size_t pages;        /* of the part, so far */
    int attempts;        /* at the present page that failed */
    bool is_renewed;     /* a refused access token was replaced once */
    struct timer *timer; /* a turn of its own for the first request and for each repeat */
    struct http_exchange *exchange;
    struct gcp_waiter waiter;
    bool has_word; /* about the access token: there is one, or why not */
    char *bearer;
    struct error token_error;
};

static void forget_bearer(struct source_fetch *fetch)
{
    if (fetch->bearer)
        explicit_bzero(fetch->bearer, strlen(fetch->bearer));
    mem_free(fetch->bearer);
    fetch->bearer = NULL;
}

void source_fetch_free(struct source_fetch *fetch)
{
    if (!fetch)
        return;
    http_cancel(fetch->source->world->http, fetch->exchange);
    if (fetch->source->google)
        gcp_token_forget(fetch->source->google, &fetch->waiter);
    timer_free(fetch->timer);
    forget_bearer(fetch);
    for (size_t i = 0; i < fetch->line_count; i++) {
        mem_free(fetch->lines[i].name);
        mem_free(fetch->lines[i].points);
    }
    for (size_t i = 0; i < fetch->queue_count; i++)
        mem_free(fetch->queue_names[i]);
    mem_free(fetch->part.page);
    mem_free(fetch->lines);
    mem_free(fetch->queues);
    mem_free(fetch->queue_names);
    mem_free(fetch);
}

static void finish(struct source_fetch *fetch, const struct error *err)
{
    struct source *source = fetch->source;
    source_done_fn done = fetch->done;
    void *context = fetch->context;
    struct demand *demand = NULL;
    struct error why = { 0 };

    if (err) {
        const struct source_line *line = fetch->part.lines;
        size_t more = fetch->part.line_count - 1;
        owned(chars) char *others = more > 0 ? text_format(" and %zu more", more) : NULL;

        why = *err;
        error_context(&why, "source %s, queue %s%s", source->settings->name,
                      fetch->queues[line->queue].queue, others ?: "");
    } else {
        demand = source_make_demand(fetch->lines, fetch->line_count, fetch->queues,
                                    fetch->queue_count, &fetch->span,
                                    source->settings->missing_zero);
    }
    source->fetch = NULL;
    source_fetch_free(fetch);
    done(context, demand, err ? &why : NULL);
}

/* Whatever earlier pages of the part told is forgotten. */
static void begin_part(struct source_fetch *fetch)
{
    struct source_part *part = &fetch->part;
    size_t steps = source_steps(&part->span);

    mem_free(part->page);
    part->page = NULL;
    fetch->pages = 0;
    for (size_t i = 0; i < part->line_count; i++) {
        part->lines[i].state = LINE_UNHEARD;
        for (size_t at = 0; at < steps; at++)
            part->lines[i].points[part->first_step + at] = NAN;
    }
}

/* The part at these lines and this step; false when there is none. */
static bool set_part(struct source_fetch *fetch, size_t line, size_t step)
{
    const struct source_kind *kind = fetch->source->kind;
    size_t all = source_steps(&fetch->span);
    size_t most = kind->steps_max > 0 && kind->steps_max < all ? kind->steps_max : all;
    size_t lines_max = kind->lines_max;
    struct source_part *part = &fetch->part;

    if (line == fetch->line_count)
        return false;
    if (kind->points_max > 0 && kind->points_max / most < lines_max)
        lines_max = kind->points_max / most;

    size_t lines = fetch->line_count - line < lines_max ? fetch->line_count - line : lines_max;
    size_t steps = all - step < most ? all - step : most;

    part->lines = &fetch->lines[line];
    part->line_count = lines;
    part->first_step = step;
    part->span.step_ms = fetch->span.step_ms;
    part->span.from.ms = fetch->span.from.ms + (int64_t)step * fetch->span.step_ms;
    part->span.to.ms = part->span.from.ms + (int64_t)steps * fetch->span.step_ms;
    begin_part(fetch);
    return true;
}

static bool next_part(struct source_fetch *fetch)
{
    const struct source_part *part = &fetch->part;
    size_t line = (size_t)(part->lines - fetch->lines);
    size_t step = part->first_step + source_steps(&part->span);

    if (step < source_steps(&fetch->span))
        return set_part(fetch, line, step);
    return set_part(fetch, line + part->line_count, 0);
}

static bool is_worth_repeating(enum error_kind kind)
{
    return kind == ERROR_TRANSIENT || kind == ERROR_THROTTLED || kind == ERROR_UNKNOWN_OUTCOME ||
           kind == ERROR_CONFLICT;
}

/* With jitter; a source that says how long gets at least that. */
static int64_t rest_ms(struct source_fetch *fetch, const struct error *err)
{
    int64_t most = BACKOFF_MS << fetch->attempts;
    int64_t rest;

    if (most > BACKOFF_MAX_MS)
        most = BACKOFF_MAX_MS;
    rest = most / 2 + (int64_t)random_below(fetch->source->world->random, (uint64_t)most / 2);
    return err->retry_after_ms > 0 ? err->retry_after_ms + rest : rest;
}

static void repeat_or_finish(struct source_fetch *fetch, const struct error *err)
{
    struct error why = *err;

    if (!is_worth_repeating(err->kind) || err->retry_after_ms > RETRY_AFTER_MAX_MS) {
        finish(fetch, err);
        return;
    }
    if (++fetch->attempts == ATTEMPTS) {
        error_context(&why, "given up after %d attempts", ATTEMPTS);
        finish(fetch, &why);
        return;
    }
    if (err->kind == ERROR_CONFLICT)
        begin_part(fetch);
    fetch->source->effort.repeats++;

    int64_t wait_ms = rest_ms(fetch, err);

    log_info("source_waits", FIELD_TEXT("source", fetch->source->settings->name),
             FIELD_INT("wait_ms", wait_ms), FIELD_TEXT("text", err->text));
    timer_set(fetch->timer, wait_ms);
}

static int go_on(struct source_fetch *fetch, char *next, struct error *err)
{
    struct source_part *part = &fetch->part;
    bool is_same = next && text_equal(next, part->page);

    mem_free(part->page);
    part->page = next;
    if (is_same || ++fetch->pages > PAGES_MAX)
        return error_set(err, ERROR_CORRUPT, "the pages have no end");
    return 0;
}

static void ask(void *context);

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct source_fetch *fetch = context;
    const struct source *source = fetch->source;
    struct error why = { 0 };
    char *next = NULL;

    fetch->exchange = NULL;
    if (err) {
        repeat_or_finish(fetch, err);
        return;
    }
    if (source->google && answer->status == 401 && !fetch->is_renewed) {
        fetch->is_renewed = true;
        gcp_token_reject(source->google, fetch->bearer);
        ask(fetch);
        return;
    }
    if (source->kind->read(source, &fetch->part, answer, &next, &why) < 0) {
        mem_free(next);
        repeat_or_finish(fetch, &why);
        return;
    }
    fetch->attempts = 0;
    fetch->is_renewed = false;
    if (go_on(fetch, next, &why) < 0)
        finish(fetch, &why);
    else if (next || next_part(fetch))
        ask(fetch);
    else
        finish(fetch, NULL);
}

static int send(struct source_fetch *fetch, struct error *err)
{
    struct source *source = fetch->source;
    owned(source_request) struct source_request request = { 0 };
    struct http_header headers[SOURCE_HEADERS_MAX];

    if (source->kind->write(source, &fetch->part, fetch->bearer, &request, err) < 0)
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

    source->effort.requests++;
    fetch->exchange = http_send(source->world->http, &http, on_answer, fetch);
    return 0;
}

static void on_token(struct gcp_waiter *waiter, const char *token, const struct error *err)
{
    struct source_fetch *fetch =
        (struct source_fetch *)(void *)((char *)waiter - offsetof(struct source_fetch, waiter));

    forget_bearer(fetch);
    fetch->bearer = mem_copy_chars(token);
    fetch->token_error = err ? *err : (struct error){ 0 };
    fetch->has_word = true;
    timer_set(fetch->timer, 0); /* whoever hears of the end may close the source */
}

static void ask(void *context)
{
    struct source_fetch *fetch = context;
    struct error err = fetch->token_error;
    int result = -1;

    if (fetch->source->google && !fetch->has_word)
        result = gcp_token_ask(fetch->source->google, &fetch->waiter, &err);
    else if (err.kind == ERROR_NONE)
        result = send(fetch, &err);
    fetch->has_word = false;
    fetch->token_error = (struct error){ 0 };
    if (result < 0)
        repeat_or_finish(fetch, &err);
}

static void make_lines(struct source_fetch *fetch, const struct source_queue *queues)
{
    size_t steps = source_steps(&fetch->span);

    fetch->lines = mem_new_array(fetch->queue_count * DEMAND_CLASSES, sizeof *fetch->lines);
    for (size_t i = 0; i < fetch->queue_count; i++) {
        fetch->queues[i] = queues[i];
        fetch->queues[i].queue = fetch->queue_names[i] = mem_copy_chars(queues[i].queue);
        for (int class = 0; class < DEMAND_CLASSES; class ++) {
            struct source_line *line = &fetch->lines[fetch->line_count];

            if (!queues[i].names[class])
                continue;
            line->queue = i;
            line->class = (enum demand_class) class;
            line->name = mem_copy_chars(queues[i].names[class]);
            line->points = mem_new_array(steps, sizeof *line->points);
            fetch->line_count++;
        }
    }
}

int source_fetch(struct source *source, const struct source_queue *queues, size_t count,
                 const struct source_span *span, source_done_fn done, void *context,
                 struct error *err)
{
    require(!source->fetch && count > 0);
    if (span->step_ms < SECOND_MS || span->step_ms > HOUR_MS || span->step_ms % SECOND_MS != 0 ||
        span->from.ms % span->step_ms != 0 || span->to.ms % span->step_ms != 0 ||
        span->to.ms <= span->from.ms || source_steps(span) > STEPS_MAX)
        return error_set(err, ERROR_INVALID, "expected a span of whole steps, at most %d",
                         STEPS_MAX);
    if (source->kind->check && source->kind->check(source, span, err) < 0)
        return error_context(err, "source %s", source->settings->name);

    struct source_fetch *fetch = mem_new(sizeof *fetch);

    fetch->source = source;
    fetch->queues = mem_new_array(count, sizeof *fetch->queues);
    fetch->queue_names = mem_new_array(count, sizeof *fetch->queue_names);
    fetch->queue_count = count;
    fetch->span = *span;
    fetch->done = done;
    fetch->context = context;
    fetch->waiter.ready = on_token;
    fetch->timer = timer_new(source->world->loop, ask, fetch);
    make_lines(fetch, queues);
    source->effort = (struct source_effort){ 0 };
    source->fetch = fetch;
    require(set_part(fetch, 0, 0));
    timer_set(fetch->timer, 0);
    return 0;
}
