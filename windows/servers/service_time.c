/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logarithm, exponential and normal quantile are computed here from basic operations, whose results
 * IEEE 754 fixes to the bit; those of the C library differ between machines in the last place.
 */
#include "windows/servers/service_time.h"

#include "base/memory.h"
#include "windows/servers/engine_periods.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static const double ln2 = 0x1.62e42fefa39efp-1;
static const double root_of_two_pi = 0x1.40d931ff62706p+1;

/* 2 artanh((m - 1) / (m + 1)) for a mantissa near 1. */
static double table_log(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);

    if (mantissa < 0x1.6a09e667f3bcdp-1) {
        mantissa *= 2;
        exponent--;
    }

    double s = (mantissa - 1) / (mantissa + 1);
    double sum = 0;
    double power = s;

    for (int k = 1; k < 30; k += 2) {
        sum += power / k;
        power *= s * s;
    }
    return exponent * ln2 + 2 * sum;
}

static double table_exp(double x)
{
    double whole = floor(x / ln2 + 0.5);
    double rest = x - whole * ln2;
    double sum = 1;
    double term = 1;

    for (int k = 1; k < 20; k++) {
        term *= rest / k;
        sum += term;
    }
    return ldexp(sum, (int)whole);
}

/* The share of a normal distribution between 0 and z, and its density at z. */
static double normal_share(double z, double *ret_density)
{
    double term = z;
    double sum = z;

    for (int k = 3; k < 200 && term > 1e-18 * sum; k += 2) {
        term *= z * z / k;
        sum += term;
    }
    *ret_density = table_exp(-z * z / 2) / root_of_two_pi;
    return sum * *ret_density;
}

/* The upper half of the normal quantiles, each by Newton's method from the one before. */
static void fill_lognormal(double *times, double sigma)
{
    double z = 0;

    for (int i = 0; i < SERVICE_TIMES / 2; i++) {
        double share = (i + 0.5) / SERVICE_TIMES;

        for (int turn = 0; turn < 4; turn++) {
            double density;

            z -= (normal_share(z, &density) - share) / density;
        }
        times[SERVICE_TIMES / 2 + i] = table_exp(sigma * z);
        times[SERVICE_TIMES / 2 - 1 - i] = table_exp(-sigma * z);
    }
}

void service_law_quantiles(enum service_law law, double cv, double quantiles[SERVICE_TIMES])
{
    bool is_exponential = law == SERVICE_BY_CV ? cv == 1 : law == SERVICE_EXPONENTIAL;

    if (cv != 0 && !is_exponential) {
        fill_lognormal(quantiles, sqrt(table_log(1 + cv * cv)));
        return;
    }
    for (int i = 0; i < SERVICE_TIMES; i++)
        quantiles[i] = is_exponential ? -table_log(1 - (i + 0.5) / SERVICE_TIMES) : 1;
}

/* The quantiles of what was measured; its parts ascend. */
static void fill_parts(double *times, const struct service_shape *shape)
{
    size_t at = 0;
    double before = 0;

    for (int i = 0; i < SERVICE_TIMES; i++) {
        double due = (i + 0.5) / SERVICE_TIMES * shape->requests;

        while (at + 1 < shape->count && before + shape->parts[at].count <= due)
            before += shape->parts[at++].count;

        const struct service_part *part = &shape->parts[at];
        double share = (due - before) / part->count;

        times[i] = part->from_s + (part->to_s - part->from_s) * (share < 1 ? share : 1);
    }
}

/* Scaled to the mean; the rounding error of one entry is carried to the next. */
static void fill_ticks(struct service_time *service, const double *times)
{
    double sum = 0;
    double due = 0;
    double given = 0;

    for (int i = 0; i < SERVICE_TIMES; i++)
        sum += times[i];

    double scale = service->mean_s * TICKS_PER_SECOND * SERVICE_TIMES / sum;

    for (int i = 0; i < SERVICE_TIMES; i++) {
        due += times[i] * scale;

        double ticks = floor(due - given + 0.5);

        ticks = ticks < 0 ? 0 : ticks;
        given += ticks;
        service->ticks[i] = (uint64_t)ticks;
        service->longest = ticks > (double)service->longest ? service->ticks[i] : service->longest;
    }
}

/* The times at a full batch, as tokens in multiples of their mean: the mean is one. */
static void fill_short_form(struct service_time *service)
{
    double mean = service->mean_s * TICKS_PER_SECOND;

    for (int i = 0; i < SERVICE_TIMES; i++)
        service->engine->out[i] = (float)((double)service->ticks[i] / mean);
}

struct service_time *service_time_outline(const struct service_shape *shape)
{
    struct service_time *service = mem_new(sizeof *service);

    service->mean_s = shape->mean_s;
    service->cv = shape->cv;
    if (service_shape_engine(shape))
        service->engine = engine_copy(shape->engine);
    return service;
}

struct service_time *service_time_shaped(const struct service_shape *shape)
{
    struct service_time *service = service_time_outline(shape);
    double *times = mem_new_array(SERVICE_TIMES, sizeof *times);

    if (shape->law == SERVICE_MEASURED)
        fill_parts(times, shape);
    else if (shape->law != SERVICE_TOKENS)
        service_law_quantiles(shape->law, shape->cv, times);
    for (int i = 0; i < SERVICE_TIMES && shape->law == SERVICE_TOKENS; i++)
        times[i] = engine_alone_s(shape->engine, i);
    fill_ticks(service, times);
    if (service->engine && service->engine->is_short)
        fill_short_form(service);
    mem_free(times);
    return service;
}

struct service_time *service_time_new(double mean_s, double cv)
{
    const struct service_shape shape = { .law = SERVICE_BY_CV, .mean_s = mean_s, .cv = cv };

    return service_time_shaped(&shape);
}

struct service_time *service_time_of(const struct service_shape *shape, double mean_s, double cv)
{
    return shape ? service_time_shaped(shape) : service_time_new(mean_s, cv);
}

void service_time_free(struct service_time *service)
{
    if (service)
        engine_free(service->engine);
    mem_free(service);
}
