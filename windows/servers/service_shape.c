/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks measurements before they are used: a histogram whose buckets contradict each other, or its
 * sum, was not read correctly.
 */
#include "windows/servers/service_shape.h"

#include "base/memory.h"
#include "base/text.h"
#include "windows/servers/engine_lengths.h"
#include "windows/servers/engine_periods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHARE_LET_GO = 0.01; /* of all requests */
static const double MEAN_MIN_S = 0.001;

/* The measured unit, and its words in errors. */
struct unit {
    const char *name;
    const char *noun;
    double mean_min;
    double most;
    const char *over_most; /* ends "a time of 90000 s is ..." */
    const char *means;     /* ends "a mean of 90000 s is not ..." */
    const char *none;      /* ends "3 requests ..." */
    const char *longer;    /* ends "10 of 100 requests ..." */
    const char *remedy;    /* where too many lie above the last bucket */
};

static const struct unit seconds = {
    .name = "s",
    .noun = "time",
    .mean_min = MEAN_MIN_S,
    .most = SERVICE_SECONDS_MAX,
    .over_most = "over a day",
    .means = "between 1 ms and a day",
    .none = "took no time",
    .longer = "took longer",
    .remedy = "set service_max",
};

static const struct unit tokens = {
    .name = "tokens",
    .noun = "length",
    .mean_min = 0,
    .most = TOKENS_MAX,
    .over_most = "over 1e+07",
    .means = "between 0 and 1e+07",
    .none = "have no tokens",
    .longer = "are longer",
    .remedy = "give measured lengths as tokens_file",
};

static const char *const law_names[SERVICE_LAWS] = {
    [SERVICE_CONSTANT] = "constant",   [SERVICE_EXPONENTIAL] = "exponential",
    [SERVICE_LOGNORMAL] = "lognormal", [SERVICE_MEASURED] = "measured",
    [SERVICE_TOKENS] = "tokens",
};

struct service_shape *service_shape_new(enum service_law law, double mean_s, double cv,
                                        const char *origin)
{
    struct service_shape *shape = mem_new(sizeof *shape);

    shape->law = law;
    shape->mean_s = mean_s;
    shape->cv = cv;
    shape->origin = mem_copy_chars(origin);
    return shape;
}

void service_shape_free(struct service_shape *shape)
{
    if (!shape)
        return;
    mem_free(shape->parts);
    mem_free(shape->origin);
    engine_free(shape->engine);
    mem_free(shape);
}

static int compare_parts(const void *left, const void *right)
{
    const struct service_part *a = left;
    const struct service_part *b = right;

    if (a->from_s != b->from_s)
        return a->from_s < b->from_s ? -1 : 1;
    return a->to_s < b->to_s ? -1 : a->to_s > b->to_s;
}

static int check_parts(const struct unit *unit, const struct service_part *parts, size_t count,
                       struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct service_part *part = &parts[i];

        if (!(part->from_s >= 0 && part->to_s >= part->from_s && part->count >= 0) ||
            !(part->count <= 1e15))
            return error_set(err, ERROR_INVALID, "%g requests between %g and %g %s", part->count,
                             part->from_s, part->to_s, unit->name);
        if (part->to_s > unit->most)
            return error_set(err, ERROR_INVALID, "a %s of %g %s is %s", unit->noun, part->to_s,
                             unit->name, unit->over_most);
        if (i > 0 && part->from_s < parts[i - 1].to_s)
            return error_set(err, ERROR_INVALID, "the %ss from %g and from %g %s overlap",
                             unit->noun, parts[i - 1].from_s, part->from_s, unit->name);
    }
    return 0;
}

/* Mean and cv by the parts; the least and the greatest mean that they allow. */
struct moments {
    double count;
    double mean_s;
    double least_s;
    double most_s;
    double cv;
};

static struct moments moments_of(const struct service_part *parts, size_t count)
{
    struct moments sums = { 0 };
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        double a = parts[i].from_s;
        double b = parts[i].to_s;

        sums.count += parts[i].count;
        sums.least_s += parts[i].count * a;
        sums.most_s += parts[i].count * b;
        squares += parts[i].count * (a * a + a * b + b * b) / 3;
    }
    sums.least_s /= sums.count;
    sums.most_s /= sums.count;
    sums.mean_s = (sums.least_s + sums.most_s) / 2;
    squares = squares / sums.count / (sums.mean_s * sums.mean_s) - 1;
    sums.cv = squares > 1e-12 ? sqrt(squares) : 0;
    return sums;
}

static int check_mean(const struct unit *unit, const struct moments *moments, double mean_s,
                      struct error *err)
{
    double slack_s = SHARE_LET_GO * moments->most_s;

    if (!(mean_s >= unit->mean_min) || mean_s > unit->most)
        return error_set(err, ERROR_INVALID, "a mean of %g %s is not %s", mean_s, unit->name,
                         unit->means);
    if (mean_s < moments->least_s - slack_s || mean_s > moments->most_s + slack_s)
        return error_set(err, ERROR_INVALID,
                         "the mean of %g %s is not one of %ss whose mean is between %g and %g %s",
                         mean_s, unit->name, unit->noun, moments->least_s, moments->most_s,
                         unit->name);
    return 0;
}

/* Makes a shape of the parts that have requests; nothing is checked yet. */
static struct service_shape *shape_of_parts(const struct service_part *parts, size_t count,
                                            const char *origin)
{
    struct service_shape *shape = service_shape_new(SERVICE_MEASURED, 0, 0, origin);

    shape->parts = mem_new_array(count ?: 1, sizeof *shape->parts);
    for (size_t i = 0; i < count; i++)
        if (parts[i].count != 0)
            shape->parts[shape->count++] = parts[i];
    qsort(shape->parts, shape->count, sizeof *shape->parts, compare_parts);
    return shape;
}

/* Checks the parts, and sets what follows from them.  mean_s 0: their own mean. */
static int measure(const struct unit *unit, struct service_shape *shape, double mean_s,
                   struct error *err)
{
    struct moments moments;

    if (check_parts(unit, shape->parts, shape->count, err) < 0)
        return -1;
    for (size_t i = 0; i < shape->count; i++)
        shape->requests += shape->parts[i].count;
    if (shape->requests < SERVICE_REQUESTS_MIN)
        return error_set(err, ERROR_INVALID, "%.0f requests were measured, and %d are needed",
                         shape->requests, SERVICE_REQUESTS_MIN);
    moments = moments_of(shape->parts, shape->count);
    shape->mean_s = mean_s != 0 ? mean_s : moments.mean_s;
    shape->cv = moments.cv;
    return check_mean(unit, &moments, shape->mean_s, err);
}

struct service_shape *service_shape_measured(const struct service_part *parts, size_t count,
                                             double mean_s, const char *origin, struct error *err)
{
    owned(service_shape) struct service_shape *shape = shape_of_parts(parts, count, origin);

    return measure(&seconds, shape, mean_s, err) < 0 ? NULL : steal(&shape);
}

static int compare_buckets(const void *left, const void *right)
{
    const struct service_bucket *a = left;
    const struct service_bucket *b = right;

    return a->upper_s < b->upper_s ? -1 : a->upper_s > b->upper_s;
}

/* Sorts them, and evens out what extrapolation made fall. */
static int check_buckets(const struct unit *unit, struct service_bucket *buckets, size_t count,
                         struct error *err)
{
    if (count < 2)
        return error_set(err, ERROR_INVALID, "%zu buckets are no histogram", count);
    for (size_t i = 0; i < count; i++) {
        if (isnan(buckets[i].upper_s) || !isfinite(buckets[i].count) || buckets[i].count < 0)
            return error_set(err, ERROR_INVALID, "%g requests up to %g %s", buckets[i].count,
                             buckets[i].upper_s, unit->name);
        if (buckets[i].upper_s <= 0 && buckets[i].count > 0)
            return error_set(err, ERROR_INVALID, "%g requests %s (up to %g %s)", buckets[i].count,
                             unit->none, buckets[i].upper_s, unit->name);
    }
    qsort(buckets, count, sizeof *buckets, compare_buckets);
    if (!isinf(buckets[count - 1].upper_s) || isinf(buckets[0].upper_s))
        return error_set(err, ERROR_INVALID, "the bucket le=\"+Inf\" is missing");

    double all = buckets[count - 1].count;

    for (size_t i = 1; i < count; i++) {
        struct service_bucket *bucket = &buckets[i];
        double before = buckets[i - 1].count;

        if (bucket->upper_s == buckets[i - 1].upper_s)
            return error_set(err, ERROR_INVALID, "two buckets end at %g %s", bucket->upper_s,
                             unit->name);
        if (before - bucket->count > SHARE_LET_GO * all)
            return error_set(err, ERROR_INVALID,
                             "%g requests up to %g %s, and only %g up to %g %s: no histogram",
                             before, buckets[i - 1].upper_s, unit->name, bucket->count,
                             bucket->upper_s, unit->name);
        if (bucket->count < before)
            bucket->count = before;
    }
    return 0;
}

/* The part above the last bound. */
static int set_tail(const struct unit *unit, struct service_part *tail, double all, double max_s,
                    struct error *err)
{
    if (max_s == 0 && tail->count > SHARE_LET_GO * all)
        return error_set(
            err, ERROR_INVALID,
            "%.1f of 100 requests %s than the last bucket, %g %s: add buckets above it, "
            "or %s",
            100 * tail->count / all, unit->longer, tail->from_s, unit->name, unit->remedy);
    if (max_s != 0 && max_s < tail->from_s)
        return error_set(err, ERROR_INVALID,
                         "service_max (%g s) is less than the last bucket, %g s", max_s,
                         tail->from_s);
    tail->to_s = max_s != 0 ? max_s : tail->from_s;
    return 0;
}

static struct service_shape *of_histogram(const struct unit *unit,
                                          const struct service_histogram *histogram,
                                          const char *origin, struct error *err)
{
    struct service_bucket *buckets = histogram->buckets;
    size_t count = histogram->count;
    double sum_s = histogram->sum_s;

    if (check_buckets(unit, buckets, count, err) < 0)
        return NULL;

    struct service_part *parts = mem_new_array(count, sizeof *parts);
    double all = buckets[count - 1].count;
    double before = 0;
    owned(service_shape) struct service_shape *shape = NULL;
    int result = -1;

    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct service_part){
            .from_s = i > 0 && buckets[i - 1].upper_s > 0 ? buckets[i - 1].upper_s : 0,
            .to_s = buckets[i].upper_s > 0 ? buckets[i].upper_s : 0,
            .count = buckets[i].count - before,
        };
        before = buckets[i].count;
    }
    if (all < SERVICE_REQUESTS_MIN) {
        error_set(err, ERROR_INVALID, "%.0f requests were measured, and %d are needed", all,
                  SERVICE_REQUESTS_MIN);
    } else if (!(sum_s > 0) || isinf(sum_s)) {
        error_set(err, ERROR_INVALID, "the sum of the %ss is %g %s", unit->noun, sum_s, unit->name);
    } else if (set_tail(unit, &parts[count - 1], all, histogram->max_s, err) == 0) {
        shape = shape_of_parts(parts, count, origin);
        result = measure(unit, shape, sum_s / all, err);
    }
    mem_free(parts);
    return result < 0 ? NULL : steal(&shape);
}

struct service_shape *service_shape_of_histogram(const struct service_histogram *histogram,
                                                 const char *origin, struct error *err)
{
    return of_histogram(&seconds, histogram, origin, err);
}

struct service_shape *service_shape_of_lengths(const struct service_histogram *histogram,
                                               const char *origin, struct error *err)
{
    return of_histogram(&tokens, histogram, origin, err);
}

struct service_shape *service_shape_of_engine(struct engine *engine, const char *origin,
                                              struct error *err)
{
    owned(service_shape) struct service_shape *shape = service_shape_new(SERVICE_TOKENS, 0, 0,
                                                                         origin);
    double squares = 0;
    double longest_s = 0;

    shape->engine = engine;
    for (int i = 0; i < ENGINE_LENGTHS; i++) {
        double alone_s = engine_alone_s(engine, i);

        shape->mean_s += alone_s / ENGINE_LENGTHS;
        squares += alone_s * alone_s / ENGINE_LENGTHS;
        longest_s = alone_s > longest_s ? alone_s : longest_s;
    }
    if (longest_s > SERVICE_SECONDS_MAX || shape->mean_s < MEAN_MIN_S) {
        error_set(err, ERROR_INVALID,
                  "a request that is alone takes %g s on average, and %g s at most: expected 1 ms "
                  "at least, and a day at most",
                  shape->mean_s, longest_s);
        return NULL;
    }
    squares = squares / (shape->mean_s * shape->mean_s) - 1;
    shape->cv = squares > 1e-12 ? sqrt(squares) : 0;
    return steal(&shape);
}

void service_shape_scale(struct service_shape *shape, double factor)
{
    shape->mean_s *= factor;
    for (size_t i = 0; i < shape->count; i++) {
        shape->parts[i].from_s *= factor;
        shape->parts[i].to_s *= factor;
    }
    if (shape->engine)
        shape->engine->law.iteration_s = shape->mean_s;
}

void service_shape_set_slots(struct service_shape *shape, int slots, enum engine_router router)
{
    if (!shape->engine)
        shape->engine = mem_new(sizeof *shape->engine);
    shape->engine->law =
        (struct engine_law){ .slots = slots, .iteration_s = shape->mean_s, .router = router };
    shape->engine->mean_out = 1;
    shape->engine->slots_asked = slots;
    shape->engine->cv_out = shape->cv;
    shape->engine->is_short = true;
}

const char *service_law_name(enum service_law law, double cv)
{
    if (law == SERVICE_BY_CV)
        law = cv == 0 ? SERVICE_CONSTANT : cv == 1 ? SERVICE_EXPONENTIAL : SERVICE_LOGNORMAL;
    return law_names[law];
}

enum service_law service_law_parse(const char *name)
{
    for (enum service_law law = SERVICE_CONSTANT; law < SERVICE_MEASURED; law++)
        if (text_equal(law_names[law], name))
            return law;
    return SERVICE_LAWS;
}
