/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only a law is kept.  The safe form depends on how busy the days happened to be: the configured
 * values stay, and the reason is listed.
 */
#include "broker/capacity/snapshot_engine.h"

#include "base/file.h"
#include "base/input/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

void snapshot_engine_clear(struct snapshot_engine *engine)
{
    mem_free(engine->selector);
}

/* Why the report is no law; NULL: it is. */
static const char *refusal(const struct profile_report *report)
{
    if (!report->has_law)
        return report->why.text;
    if (report->law.method == PROFILE_SAFE)
        return report->law.why[PROFILE_BY_GAPS].text;
    if (isnan(report->tokens_out))
        return report->scrapes->out.why.text;
    if (report->law.has_prefill && isnan(report->tokens_in))
        return report->scrapes->in.why.text;
    return NULL;
}

static void take_report(struct snapshot_engine *engine, const struct profile_report *report)
{
    const double *value = report->law.value;
    const char *why = refusal(report);

    if (why) {
        error_set(&engine->why, ERROR_INVALID, "%s", why);
        return;
    }
    require(value[PROFILE_BASE_S] >= 0 && value[PROFILE_REQUEST_S] >= 0);
    engine->is_measured = true;
    engine->method = report->law.method;
    engine->measure = (struct engine_measure){
        .iteration_s = value[PROFILE_BASE_S],
        .per_request_s = value[PROFILE_REQUEST_S],
        .prefill_s = value[PROFILE_PREFILL_S],
        .tokens_in = isnan(report->tokens_in) ? 0 : report->tokens_in,
        .tokens_out = fmax(report->tokens_out, 1),
        .tokens_cv = report->tokens_cv,
    };
}

static void on_scrapes(void *context, struct engine_scrapes *scrapes, const struct error *err)
{
    struct snapshot_engine *engine = context;
    require(!scrapes == !!err); /* one of them */

    bool is_listed = err && (err->kind == ERROR_INVALID || err->kind == ERROR_NOT_FOUND);
    struct profile_report report;

    if (err) {
        engine->why = *err;
    } else {
        profile_report_make(&report, &engine->ask, scrapes);
        take_report(engine, &report);
    }
    engine_scrapes_free(scrapes);
    engine->done(engine->context, is_listed ? NULL : err);
}

int snapshot_engine_ask(struct snapshot_engine *engine, struct source *source,
                        const struct source_span *span, struct error *err)
{
    struct engine_question_set set = { 0 };

    require(engine->queue && engine->done);
    if (engine_metrics_parse(engine->queue->engine.metrics, &engine->ask.kind, &engine->selector,
                             err) < 0)
        return error_context(err, "queue %s: engine.metrics", engine->queue->name);
    engine_question_set_span(&set, span->from, span->to);
    set.kind = engine->ask.kind;
    set.selector = engine->ask.selector = engine->selector;
    engine->ask.source = engine->queue->source_name;
    engine->ask.from = set.from;
    engine->ask.to = set.to;
    engine->ask.slots = engine->queue->engine.slots;
    return engine_scrapes_ask(source, &set, on_scrapes, engine, err);
}

int snapshot_engine_write(const struct snapshot_engine *engines, size_t count,
                          const char *demand_path, char **ret_path, struct error *err)
{
    owned(chars) char *path = engine_table_path(demand_path);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    bool is_empty = true;

    engine_table_begin(out);
    for (size_t i = 0; i < count; i++) {
        if (!engines[i].is_measured)
            continue;
        engine_table_add(out, engines[i].queue->name, &engines[i].measure);
        is_empty = false;
    }
    if (is_empty)
        return unlink(path) == 0 || errno == ENOENT ? 0
                                                    : error_errno(err, ERROR_INVALID, "%s", path);
    if (file_write(path, out->chars, out->length, 0666, err) < 0)
        return -1;
    *ret_path = steal(&path);
    return 0;
}

json_t *snapshot_engine_json(const struct snapshot_engine *engines, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct snapshot_engine *engine = &engines[i];
        const struct engine_measure *measure = &engine->measure;
        json_t *row = json_make(
            "{s:s, s:o, s:o}", "queue", engine->queue->name, "method",
            engine->is_measured ? json_text(profile_method_name(engine->method)) : json_null(),
            "error", engine->is_measured ? json_null() : json_text(engine->why.text));
        const struct {
            const char *name;
            double value;
        } numbers[] = {
            { "iteration_s", measure->iteration_s },
            { "iteration_per_request_s", measure->per_request_s },
            { "prefill_per_token_s", measure->prefill_s },
            { "tokens_in", measure->tokens_in },
            { "tokens_out", measure->tokens_out },
            { "tokens_cv", measure->tokens_cv },
        };

        for (size_t at = 0; at < COUNT_OF(numbers); at++)
            json_object_set_new(row, numbers[at].name,
                                engine->is_measured ? json_real(numbers[at].value) : json_null());
        json_array_append_new(list, row);
    }
    return list;
}

size_t snapshot_engine_missing(const struct snapshot_engine *engines, size_t count)
{
    size_t missing = 0;

    for (size_t i = 0; i < count; i++) {
        if (engines[i].is_measured)
            continue;
        fprintf(stderr, "missing: engine of %s: %s\n", engines[i].queue->name, engines[i].why.text);
        missing++;
    }
    return missing;
}
