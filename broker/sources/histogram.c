/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Service times out of a classic histogram of Prometheus: by how much each bucket, and the sum of
 * all times, grew on each day of the span.  Restarts of counters are made good by increase().  A
 * native histogram has no series called _bucket: it is not found, and said so.
 */
#include "base/text.h"
#include "broker/sources/ask.h"
#include "broker/sources/prometheus.h"

#include <math.h>
#include <string.h>

enum { BUCKETS_MAX = 1000 };

static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:"
                                   "0123456789";

struct measure {
    struct source_ask ask; /* first */
    char *name;
    double max_s;
    bool is_of_tokens;
    struct source_span span;
    source_measured_fn done;
    void *context;
    struct service_shape *shape;
};

static void measure_free(struct source_ask *ask)
{
    struct measure *measure = (struct measure *)ask;

    source_ask_clear(ask);
    service_shape_free(measure->shape);
    mem_free(measure->name);
    mem_free(measure);
}

/* name{labels} with the suffix where it belongs. */
static void add_selector(struct text *out, const char *name, const char *suffix)
{
    size_t length = strcspn(name, "{");

    text_add(out, "%.*s%s%s", (int)length, name, suffix, name + length);
}

static int64_t stretch_ms(const struct source_span *span)
{
    int64_t all_ms = span->to.ms - span->from.ms;

    return all_ms % DAY_MS == 0 ? DAY_MS : all_ms;
}

/* The buckets by their le, and the sum as one more with the le "sum". */
static int measure_write(struct source_ask *ask, const struct source_access *access,
                         struct source_request *request, struct error *err)
{
    const struct measure *measure = (const struct measure *)ask;
    int64_t step_ms = stretch_ms(&measure->span);
    long long step_s = step_ms / SECOND_MS;
    owned(text) struct text *query = text_new(TEXT_UNBOUNDED);

    (void)access;
    text_add(query, "sum by (le) (increase(");
    add_selector(query, measure->name, "_bucket");
    text_add(query, "[%llds])) or label_replace(sum(increase(", step_s);
    add_selector(query, measure->name, "_sum");
    text_add(query, "[%llds])), \"le\", \"sum\", \"\", \"\")", step_s);

    const struct range_query range = {
        .query = query->chars,
        .first = { measure->span.from.ms + step_ms },
        .last = measure->span.to,
        .step_ms = step_ms,
    };

    return prometheus_range(ask->source, &range, request, err);
}

/* The data of a series over all its points: one for each day, or for the whole span. */
struct told {
    double sum;
    size_t days;
    int64_t times; /* their sum: with as many days, other ones have another */
};

static int add_up(const json_t *series, struct told *ret, struct error *err)
{
    json_t *values = NULL;

    *ret = (struct told){ 0 };
    if (json_object_get(series, "histograms"))
        return error_set(err, ERROR_INVALID,
                         "is a native histogram, which is not read: keep the "
                         "classic buckets too");
    if (json_need_array(series, "values", &values, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(values); i++) {
        int64_t ms;
        double value;

        if (prometheus_point(json_array_get(values, i), &ms, &value, err) < 0)
            return -1;
        ret->sum += value;
        ret->times += ms;
        ret->days++;
    }
    return 0;
}

/* "0.5", "+Inf". */
static bool read_bound(const char *le, double *ret)
{
    if (text_equal(le, "+Inf")) {
        *ret = INFINITY;
        return true;
    }
    return text_to_double(le, ret);
}

/* If a series was missing for a day, its growth would count as zero, and the mean would be too
   small. */
static int check_days(const json_t *list, const struct told *told, struct error *err)
{
    const struct told *all = NULL;

    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_text_or(json_array_get(list, i), "metric/le", ""), "+Inf"))
            all = &told[i];
    for (size_t i = 0; i < json_array_size(list) && all; i++) {
        const char *le = json_text_or(json_array_get(list, i), "metric/le", "");

        if (told[i].days != all->days)
            return error_set(err, ERROR_INVALID,
                             "the series le=\"%.40s\" and le=\"+Inf\" have %zu and %zu points, "
                             "one a day: what is missing cannot be told",
                             le, told[i].days, all->days);
        if (told[i].times != all->times)
            return error_set(err, ERROR_INVALID,
                             "the series le=\"%.40s\" and le=\"+Inf\" tell of different days", le);
    }
    return 0;
}

static int read_buckets(struct measure *measure, const json_t *list, struct error *err)
{
    struct service_bucket buckets[BUCKETS_MAX];
    struct told told[BUCKETS_MAX];
    double sum_s = NAN;
    size_t count = 0;

    if (json_array_size(list) > BUCKETS_MAX)
        return error_set(err, ERROR_INVALID, "more than %d buckets", BUCKETS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *series = json_array_get(list, i);
        const char *le = json_text_or(series, "metric/le", "");
        double bound;

        if (add_up(series, &told[i], err) < 0)
            return -1;
        if (text_equal(le, "sum"))
            sum_s = told[i].sum;
        else if (read_bound(le, &bound))
            buckets[count++] = (struct service_bucket){ bound, told[i].sum };
        else
            return error_set(err, ERROR_INVALID, "a bucket has the bound le=\"%.40s\"", le);
    }
    if (count == 0)
        return error_set(err, ERROR_INVALID,
                         "there are no series called so with _bucket (of "
                         "native histograms there are none)");
    if (check_days(list, told, err) < 0)
        return -1;
    require(count <= json_array_size(list) && !measure->shape);

    const struct service_histogram histogram = { buckets, count, sum_s,
                                                 measure->is_of_tokens ? 0 : measure->max_s };

    measure->shape = measure->is_of_tokens
                         ? service_shape_of_lengths(&histogram, measure->name, err)
                         : service_shape_of_histogram(&histogram, measure->name, err);
    return measure->shape ? 0 : -1;
}

static int measure_read(struct source_ask *ask, const struct http_answer *answer, struct error *err)
{
    struct measure *measure = (struct measure *)ask;
    owned(json) json_t *body = NULL;
    json_t *series = NULL;

    if (prometheus_series(answer, &body, &series, err) < 0 ||
        read_buckets(measure, series, err) < 0)
        return error_context(err, "histogram %.80s", measure->name);
    return 0;
}

static void measure_done(struct source_ask *ask, const struct error *err)
{
    struct measure *measure = (struct measure *)ask;
    source_measured_fn done = measure->done;
    void *context = measure->context;
    struct service_shape *shape = steal(&measure->shape);
    struct error why = { 0 };

    if (err) {
        why = *err;
        error_context(&why, "source %s", ask->source->settings->name);
    }
    measure_free(ask);
    done(context, shape, err ? &why : NULL);
}

int source_measure(struct source *source, const struct source_histogram *histogram,
                   source_measured_fn done, void *context, struct error *err)
{
    static const struct source_ask_verbs verbs = { measure_write, measure_read, measure_done,
                                                   measure_free };
    const char *name = histogram->name;
    size_t length = strspn(name, name_letters);

    if (source->kind != &source_prometheus)
        return error_set(err, ERROR_INVALID, "source %s: only prometheus knows histograms",
                         source->settings->name);
    if (length == 0 ||
        (name[length] != '\0' && (name[length] != '{' || name[strlen(name) - 1] != '}')))
        return error_set(err, ERROR_INVALID,
                         "expected the name of a histogram, with its labels in braces, found "
                         "\"%.80s\"",
                         name);

    struct measure *measure = mem_new(sizeof *measure);

    require(histogram->span.from.ms < histogram->span.to.ms);
    measure->name = mem_copy_chars(name);
    measure->max_s = histogram->max_s;
    measure->is_of_tokens = histogram->is_of_tokens;
    measure->span = histogram->span;
    measure->done = done;
    measure->context = context;
    source_ask_init(&measure->ask, source, &verbs);
    source_ask_begin(&measure->ask);
    return 0;
}
