/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The walk through all requests of a fetch: part after part, page after page.
 */
#include "base/text.h"
#include "base/world/pages.h"
#include "broker/sources/ask.h"

#include <math.h>
#include <string.h>

enum { PAGES_MAX = 10000, RESTARTS_MAX = 8, STEPS_MAX = 1000 * 1000 };

struct source_fetch {
    struct source_ask ask; /* first */
    struct source_queue *queues;
    char **queue_names; /* what queues[].queue points to */
    size_t queue_count;
    struct source_span span;
    struct source_line *lines;
    size_t line_count;
    source_done_fn done;
    void *context;

    struct source_part part;
    struct pages pages; /* of the part */
    int restarts;       /* likewise */
};

static void fetch_free(struct source_ask *ask)
{
    struct source_fetch *fetch = (struct source_fetch *)ask;

    source_ask_clear(ask);
    for (size_t i = 0; i < fetch->line_count; i++) {
        mem_free(fetch->lines[i].name);
        mem_free(fetch->lines[i].points);
    }
    for (size_t i = 0; i < fetch->queue_count; i++)
        mem_free(fetch->queue_names[i]);
    mem_free(fetch->part.page);
    pages_clear(&fetch->pages);
    mem_free(fetch->lines);
    mem_free(fetch->queues);
    mem_free(fetch->queue_names);
    mem_free(fetch);
}

static void finish(struct source_fetch *fetch, const struct error *err)
{
    const struct source *source = fetch->ask.source;
    source_done_fn done = fetch->done;
    void *context = fetch->context;
    struct demand *demand = NULL;
    struct error why = { 0 };

    require(err || !fetch->part.page); /* no page is left out */
    if (err) {
        const struct source_line *line = fetch->part.lines;
        size_t more = fetch->part.line_count - 1;
        owned(chars) char *others = more > 0 ? text_format(" and %zu more", more) : NULL;

        why = *err;
        error_context(&why, "source %s, queue %s%s", source->settings->name,
                      fetch->queues[line->queue].queue, others ?: "");
    } else {
        demand = source_make_demand(&(struct source_points){
            .lines = fetch->lines,
            .line_count = fetch->line_count,
            .queues = fetch->queues,
            .queue_count = fetch->queue_count,
            .span = fetch->span,
            .missing_zero = source->settings->missing_zero,
        });
    }
    fetch_free(&fetch->ask);
    done(context, demand, err ? &why : NULL);
}

/* Forgets what earlier pages of the part told. */
static void begin_part(struct source_fetch *fetch)
{
    struct source_part *part = &fetch->part;
    size_t steps = source_steps(&part->span);

    mem_free(part->page);
    part->page = NULL;
    part->points = 0;
    pages_start(&fetch->pages, PAGES_MAX);
    for (size_t i = 0; i < part->line_count; i++) {
        part->lines[i].state = LINE_UNHEARD;
        for (size_t at = 0; at < steps; at++)
            part->lines[i].points[part->first_step + at] = NAN;
    }
}

/* The part at these lines and this step; false when there is none. */
static bool set_part(struct source_fetch *fetch, size_t line, size_t step)
{
    const struct source_kind *kind = fetch->ask.source->kind;
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

    require(lines > 0 && steps > 0 && step + steps <= all);
    part->lines = &fetch->lines[line];
    part->line_count = lines;
    part->first_step = step;
    part->span.step_ms = fetch->span.step_ms;
    part->span.from.ms = fetch->span.from.ms + (int64_t)step * fetch->span.step_ms;
    part->span.to.ms = part->span.from.ms + (int64_t)steps * fetch->span.step_ms;
    fetch->restarts = 0;
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

static int go_on(struct source_fetch *fetch, char *next, struct error *err)
{
    struct source_part *part = &fetch->part;

    require(next != part->page || !next);
    mem_free(part->page);
    part->page = next;
    pages_brought(&fetch->pages, part->points);
    part->points = 0;
    return next ? pages_next(&fetch->pages, next, err) : 0;
}

static int fetch_write(struct source_ask *ask, const struct source_access *access,
                       struct source_request *request, struct error *err)
{
    const struct source_fetch *fetch = (const struct source_fetch *)ask;

    return ask->source->kind->write(ask->source, &fetch->part, access, request, err);
}

static int fetch_read(struct source_ask *ask, const struct http_answer *answer, struct error *err)
{
    struct source_fetch *fetch = (struct source_fetch *)ask;
    struct error why = { 0 };
    char *next = NULL;

    if (ask->source->kind->read(ask->source, &fetch->part, answer, &next, &why) == 0)
        return go_on(fetch, next, err);
    mem_free(next);
    if (why.kind == ERROR_CONFLICT && ++fetch->restarts > RESTARTS_MAX)
        return error_set(err, ERROR_CORRUPT, "given up after %d beginnings: %s", RESTARTS_MAX + 1,
                         why.text);
    if (why.kind == ERROR_CONFLICT)
        begin_part(fetch);
    *err = why;
    return -1;
}

static void fetch_done(struct source_ask *ask, const struct error *err)
{
    struct source_fetch *fetch = (struct source_fetch *)ask;

    if (err || (!fetch->part.page && !next_part(fetch)))
        finish(fetch, err);
    else
        source_ask_begin(ask);
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

int source_fetch(struct source *source, const struct source_query *query, source_done_fn done,
                 void *context, struct error *err)
{
    static const struct source_ask_verbs verbs = { fetch_write, fetch_read, fetch_done,
                                                   fetch_free };

    const struct source_span *span = &query->span;
    size_t count = query->queue_count;

    require(count > 0);
    if (span->step_ms < SECOND_MS || span->step_ms > HOUR_MS || span->step_ms % SECOND_MS != 0 ||
        span->from.ms % span->step_ms != 0 || span->to.ms % span->step_ms != 0 ||
        span->to.ms <= span->from.ms || source_steps(span) > STEPS_MAX)
        return error_set(err, ERROR_INVALID, "expected a span of whole steps, at most %d",
                         STEPS_MAX);
    if (source->kind->check && source->kind->check(source, span, err) < 0)
        return error_context(err, "source %s", source->settings->name);

    struct source_fetch *fetch = mem_new(sizeof *fetch);

    source_ask_init(&fetch->ask, source, &verbs);
    fetch->queues = mem_new_array(count, sizeof *fetch->queues);
    fetch->queue_names = mem_new_array(count, sizeof *fetch->queue_names);
    fetch->queue_count = count;
    fetch->span = *span;
    fetch->done = done;
    fetch->context = context;
    make_lines(fetch, query->queues);
    require(fetch->line_count >= count); /* each queue has a name of its arrivals at least */
    require(set_part(fetch, 0, 0));
    source_ask_begin(&fetch->ask);
    return 0;
}
