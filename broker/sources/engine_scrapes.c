/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The walk through all questions about an engine, one after the other.
 */
#include "broker/sources/engine_scrapes.h"

#include "base/text.h"
#include "broker/sources/ask.h"
#include "broker/sources/engine_grid.h"
#include "broker/sources/prometheus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCRAPE_MS = 15 * SECOND_MS, POINTS_MAX = 10500 }; /* servers give 11,000 of a series */

struct walk;

/* One question, and the function that reads its answer. */
struct errand {
    enum engine_name name;
    enum engine_question question;
    int (*read)(struct walk *walk, const struct errand *errand, const json_t *series,
                struct error *err);
    enum engine_column column; /* where its counts stand among those of each instance */
};

struct walk {
    struct source_ask ask; /* first */
    struct engine_question_set set;
    engine_scrapes_fn done;
    void *context;
    size_t at; /* of the errands */
    struct engine_grid grid;
    struct engine_scrapes *scrapes;
};

static int read_column(struct walk *walk, const struct errand *errand, const json_t *series,
                       struct error *err)
{
    return engine_grid_add(&walk->grid, errand->column, series, err);
}

/* The greatest of all points; NAN of none. */
static int greatest(const json_t *series, double *ret, struct error *err)
{
    *ret = NAN;
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *values = json_object_get(json_array_get(series, i), "values");

        for (size_t at = 0; at < json_array_size(values); at++) {
            int64_t ms;
            double value;

            if (prometheus_point(json_array_get(values, at), &ms, &value, err) < 0)
                return -1;
            *ret = fmax(*ret, value);
        }
    }
    return 0;
}

static int read_total(struct walk *walk, const struct errand *errand, const json_t *series,
                      struct error *err)
{
    return greatest(series, &walk->scrapes->totals[errand->name], err);
}

static int read_series_count(struct walk *walk, const struct errand *errand, const json_t *series,
                             struct error *err)
{
    double most;

    (void)errand;
    if (greatest(series, &most, err) < 0)
        return -1;
    if (most > 1)
        return error_set(err, ERROR_INVALID,
                         "%.0f series have the same %s: several models, or several processes under "
                         "one name; name one model in the selector, or give each process its label",
                         most, walk->set.kind->by);
    return 0;
}

static int compare_buckets(const void *left, const void *right)
{
    const struct service_bucket *a = left;
    const struct service_bucket *b = right;

    return a->upper_s < b->upper_s ? -1 : a->upper_s > b->upper_s;
}

/* A series that is no histogram has no waits, and is no reason to stop. */
static int read_waits(struct walk *walk, const struct errand *errand, const json_t *series,
                      struct error *err)
{
    struct engine_scrapes *scrapes = walk->scrapes;
    size_t count = json_array_size(series);

    (void)errand;
    (void)err;
    mem_free(scrapes->waits); /* of an answer that was not read to its end */
    scrapes->wait_count = 0;
    scrapes->waits = mem_new_array(count + 1, sizeof *scrapes->waits);
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(series, i);
        const char *le = json_text_or(one, "metric/le", "");
        struct service_bucket *bucket = &scrapes->waits[scrapes->wait_count];
        owned(json) json_t *list = json_array();

        bucket->upper_s = INFINITY;
        json_array_append(list, (json_t *)(uintptr_t)one);
        if ((!text_equal(le, "+Inf") && !text_to_double(le, &bucket->upper_s)) ||
            greatest(list, &bucket->count, &(struct error){ 0 }) < 0 || isnan(bucket->count))
            continue;
        scrapes->wait_count++;
    }
    qsort(scrapes->waits, scrapes->wait_count, sizeof *scrapes->waits, compare_buckets);
    return 0;
}

/* Tokens from labels (number and size of blocks), or from the value; the least of all instances
   counts. */
static int read_cache(struct walk *walk, const struct errand *errand, const json_t *series,
                      struct error *err)
{
    struct engine_scrapes *scrapes = walk->scrapes;

    (void)errand;
    for (size_t i = 0; i < json_array_size(series); i++) {
        const json_t *one = json_array_get(series, i);
        owned(json) json_t *list = json_array();
        double tokens = NAN;
        double blocks;
        double size;

        json_array_append(list, (json_t *)(uintptr_t)one);
        if (text_to_double(json_text_or(one, "metric/num_gpu_blocks", ""), &blocks) &&
            text_to_double(json_text_or(one, "metric/block_size", ""), &size))
            tokens = blocks * size;
        else if (!json_object_get(json_object_get(one, "metric"), "block_size") &&
                 greatest(list, &tokens, err) < 0)
            return -1;
        if (tokens > 0)
            scrapes->cache_tokens = fmin(scrapes->cache_tokens, tokens); /* of NAN: the other */
        if (text_equal(json_text_or(one, "metric/enable_prefix_caching", ""), "False"))
            scrapes->has_cache_off = true;
    }
    return 0;
}

static const struct errand errands[] = {
    { NAME_ITERATIONS, ASK_SERIES, read_series_count, 0 },
    { NAME_GAPS, ASK_SERIES, read_series_count, 0 },
    { NAME_ITERATIONS, ASK_TIME, read_column, COLUMN_TIME },
    { NAME_GAPS, ASK_TIME, read_column, COLUMN_TIME },
    { NAME_ITERATIONS, ASK_VALUE, read_column, COLUMN_ITERATIONS },
    { NAME_GENERATED, ASK_VALUE, read_column, COLUMN_GENERATED },
    { NAME_COMPUTED, ASK_VALUE, read_column, COLUMN_COMPUTED },
    { NAME_PROMPTS, ASK_VALUE, read_column, COLUMN_PROMPTS },
    { NAME_GAP_SECONDS, ASK_VALUE, read_column, COLUMN_GAP_SECONDS },
    { NAME_GAPS, ASK_VALUE, read_column, COLUMN_GAPS },
    { NAME_RUNNING, ASK_GAUGE, read_column, COLUMN_RUNNING },
    { NAME_RUNNING, ASK_LEAST, read_column, COLUMN_RUNNING_LEAST },
    { NAME_RUNNING, ASK_MEAN, read_column, COLUMN_RUNNING_MEAN },
    { NAME_WAITING, ASK_GAUGE, read_column, COLUMN_WAITING },
    { NAME_FINISHED, ASK_GROWTH, read_total, 0 },
    { NAME_CACHED, ASK_GROWTH, read_total, 0 },
    { NAME_DRAFTED, ASK_GROWTH, read_total, 0 },
    { NAME_PREEMPTED, ASK_GROWTH, read_total, 0 },
    { NAME_KV_USAGE, ASK_MOST, read_total, 0 },
    { NAME_WAITS, ASK_BUCKETS, read_waits, 0 },
    { NAME_CACHE, ASK_VALUE, read_cache, 0 },
};

enum { LENGTHS_OUT = COUNT_OF(errands), LENGTHS_IN, WALK_END };

static bool is_over_the_span(enum engine_question question)
{
    return question == ASK_GROWTH || question == ASK_MOST || question == ASK_BUCKETS;
}

void engine_scrapes_free(struct engine_scrapes *scrapes)
{
    if (!scrapes)
        return;
    for (size_t i = 0; i < scrapes->instance_count; i++)
        mem_free(scrapes->instances[i]);
    service_shape_free(scrapes->out.shape);
    service_shape_free(scrapes->in.shape);
    mem_free(scrapes->instances);
    mem_free(scrapes->scrapes);
    mem_free(scrapes->waits);
    mem_free(scrapes);
}

static void walk_free(struct source_ask *ask)
{
    struct walk *walk = (struct walk *)ask;

    source_ask_clear(ask);
    engine_grid_clear(&walk->grid);
    engine_scrapes_free(walk->scrapes);
    mem_free(walk);
}

static void finish(struct walk *walk, const struct error *err)
{
    engine_scrapes_fn done = walk->done;
    void *context = walk->context;
    owned(engine_scrapes) struct engine_scrapes *scrapes = steal(&walk->scrapes);
    struct error why = err ? *err : (struct error){ 0 };

    if (!err)
        engine_grid_finish(&walk->grid, scrapes);
    if (!err && scrapes->count == 0 && !scrapes->out.shape && !scrapes->in.shape)
        error_set(&why, ERROR_NOT_FOUND,
                  "no series of %s with {%s} in that time: is it scraped, and does the selector "
                  "fit its labels?",
                  walk->set.kind->name, walk->set.selector);
    if (why.kind != ERROR_NONE)
        error_context(&why, "source %s", walk->ask.source->settings->name);
    walk_free(&walk->ask);
    if (why.kind != ERROR_NONE)
        done(context, NULL, &why);
    else
        done(context, steal(&scrapes), NULL);
}

/* NULL: the engine has no such name, or it needs not be asked. */
static char *errand_query(const struct walk *walk)
{
    require(walk->at < COUNT_OF(errands));

    const struct errand *errand = &errands[walk->at];
    const struct engine_kind *kind = walk->set.kind;
    int64_t step_ms = is_over_the_span(errand->question) ? walk->set.to.ms - walk->set.from.ms
                                                         : walk->set.step_ms;

    if (errand->name == NAME_CACHE)
        return engine_cache_query(kind, walk->set.selector);
    if ((errand->question == ASK_TIME || errand->question == ASK_SERIES) &&
        errand->name == NAME_GAPS && kind->names[NAME_ITERATIONS][0])
        return NULL; /* the iterations tell it */
    return engine_query(kind, errand->name, errand->question, walk->set.selector, step_ms);
}

static int walk_write(struct source_ask *ask, const struct source_access *access,
                      struct source_request *request, struct error *err)
{
    const struct walk *walk = (const struct walk *)ask;
    bool is_whole = is_over_the_span(errands[walk->at].question);
    owned(chars) char *query = errand_query(walk);
    const struct range_query range = {
        .query = query,
        .first = is_whole ? walk->set.to : walk->set.from,
        .last = walk->set.to,
        .step_ms = walk->set.step_ms,
    };

    (void)access;
    return prometheus_range(ask->source, &range, request, err);
}

static int walk_read(struct source_ask *ask, const struct http_answer *answer, struct error *err)
{
    struct walk *walk = (struct walk *)ask;
    const struct errand *errand = &errands[walk->at];
    owned(json) json_t *body = NULL;
    json_t *series = NULL;

    if (prometheus_series(answer, &body, &series, err) < 0 ||
        errand->read(walk, errand, series, err) < 0)
        return error_context(err, "%s", walk->set.kind->names[errand->name][0]);
    return 0;
}

static void go_on(struct walk *walk);

static void on_lengths(void *context, struct service_shape *shape, const struct error *err)
{
    struct walk *walk = context;
    struct engine_lengths *lengths = walk->at == LENGTHS_OUT ? &walk->scrapes->out
                                                             : &walk->scrapes->in;

    require(walk->at >= LENGTHS_OUT && walk->at < WALK_END && !lengths->shape);
    lengths->shape = shape;
    if (err)
        lengths->why = *err;
    if (err && err->kind != ERROR_INVALID) {
        finish(walk, err);
        return;
    }
    walk->at++;
    go_on(walk);
}

/* 1: it is asked; 0: the engine has no such histogram. */
static int ask_lengths(struct walk *walk, struct error *err)
{
    owned(chars) char *name = engine_histogram(
        walk->set.kind, walk->at == LENGTHS_OUT ? NAME_TOKENS_OUT : NAME_TOKENS_IN,
        walk->set.selector);
    const struct source_histogram histogram = {
        .name = name,
        .span = { walk->set.from, walk->set.to, walk->set.step_ms },
        .is_of_tokens = true,
    };

    if (!name)
        return 0;
    return source_measure(walk->ask.source, &histogram, on_lengths, walk, err) < 0 ? -1 : 1;
}

/* The next question that the engine has a name for, or the end. */
static void go_on(struct walk *walk)
{
    struct error err = { 0 };

    for (; walk->at < LENGTHS_OUT; walk->at++) {
        owned(chars) char *query = errand_query(walk);

        if (query) {
            source_ask_begin(&walk->ask);
            return;
        }
    }
    for (; walk->at < WALK_END; walk->at++) {
        int result = ask_lengths(walk, &err);

        if (result < 0)
            finish(walk, &err);
        if (result != 0)
            return;
    }
    finish(walk, NULL);
}

static void walk_done(struct source_ask *ask, const struct error *err)
{
    struct walk *walk = (struct walk *)ask;

    if (err) {
        finish(walk, err);
        return;
    }
    walk->at++;
    go_on(walk);
}

void engine_question_set_span(struct engine_question_set *questions, struct wall_time from,
                              struct wall_time to)
{
    int64_t to_ms = to.ms / SCRAPE_MS * SCRAPE_MS;
    int64_t step_ms = SCRAPE_MS * ((to_ms - from.ms) / SCRAPE_MS / POINTS_MAX + 1);

    require(from.ms <= to_ms && (to_ms - from.ms) / step_ms <= POINTS_MAX);
    questions->to.ms = to_ms;
    questions->from.ms = to_ms - (to_ms - from.ms) / step_ms * step_ms;
    questions->step_ms = step_ms;
}

int engine_scrapes_ask(struct source *source, const struct engine_question_set *questions,
                       engine_scrapes_fn done, void *context, struct error *err)
{
    static const struct source_ask_verbs verbs = { walk_write, walk_read, walk_done, walk_free };
    struct walk *walk;

    if (!source->kind->has_histograms)
        return error_set(err, ERROR_INVALID,
                         "source %s: is of the kind %s, and only prometheus knows what engines "
                         "count",
                         source->settings->name, source->settings->kind);
    walk = mem_new(sizeof *walk);
    source_ask_init(&walk->ask, source, &verbs);
    walk->set = *questions;
    walk->done = done;
    walk->context = context;
    walk->scrapes = mem_new(sizeof *walk->scrapes);
    walk->scrapes->cache_tokens = NAN;
    for (int i = 0; i < ENGINE_NAMES; i++)
        walk->scrapes->totals[i] = NAN;
    engine_grid_init(&walk->grid, questions->from, questions->to, questions->step_ms);
    go_on(walk);
    return 0;
}
