/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See wait_log.h.
 */
#include "tools/simulator/model/wait_log.h"

#include "base/array.h"
#include "base/input/json.h"

#include <math.h>
#include <stdint.h>

enum { LINEAR = 128, STEPS = 64, HISTOGRAM_SIZE = LINEAR + 34 * STEPS, HOUR_S = 3600 };

struct waits {
    uint64_t count, over;
    double sum_s, max_s;
    uint64_t buckets[HISTOGRAM_SIZE];
};

struct hour {
    int64_t number;
    uint64_t count, over;
    double p98_s, max_s;
};

struct wait_log {
    double target_s;
    double first_token_target_s;
    struct waits waits[2];
    struct waits hour;
    struct waits first_token;
    int64_t hour_number;
    ARRAY(struct hour) hours;
};

struct wait_log *wait_log_new(double target_s, double first_token_target_s)
{
    struct wait_log *log = mem_new(sizeof *log);

    log->target_s = target_s;
    log->first_token_target_s = first_token_target_s;
    return log;
}

void wait_log_free(struct wait_log *log)
{
    if (!log)
        return;
    array_clear(&log->hours);
    mem_free(log);
}

static size_t bucket_of(double wait_s)
{
    uint64_t ms = (uint64_t)(wait_s * 1000);

    if (ms < LINEAR)
        return (size_t)ms;

    unsigned exponent = 63u - (unsigned)__builtin_clzll(ms);
    size_t bucket = LINEAR + (exponent - 7) * STEPS + ((ms >> (exponent - 6)) & (STEPS - 1));

    return bucket < HISTOGRAM_SIZE ? bucket : HISTOGRAM_SIZE - 1;
}

/* The middle of a bucket, in seconds. */
static double bucket_s(size_t bucket)
{
    if (bucket < LINEAR)
        return (double)bucket / 1000;

    unsigned exponent = (unsigned)((bucket - LINEAR) / STEPS) + 7;
    uint64_t low = (STEPS + (bucket - LINEAR) % STEPS) << (exponent - 6);

    return ((double)low + (double)(UINT64_C(1) << (exponent - 6)) / 2) / 1000;
}

static double quantile(const struct waits *waits, double percent)
{
    uint64_t wanted = (uint64_t)ceil((double)waits->count * percent / 100), seen = 0;

    for (size_t i = 0; i < HISTOGRAM_SIZE; i++) {
        seen += waits->buckets[i];
        if (seen >= wanted && seen)
            return fmin(bucket_s(i), waits->max_s);
    }
    return waits->max_s;
}

static void add_wait(struct waits *waits, double wait_s, double target_s)
{
    waits->count++;
    waits->over += wait_s > target_s;
    waits->sum_s += wait_s;
    if (wait_s > waits->max_s)
        waits->max_s = wait_s;
    waits->buckets[bucket_of(wait_s)]++;
}

static void close_hour(struct wait_log *log, double now_s)
{
    if (log->hour.count) {
        struct hour *hour = array_add(&log->hours);

        *hour = (struct hour){ log->hour_number, log->hour.count, log->hour.over,
                               quantile(&log->hour, 98), log->hour.max_s };
        memset(&log->hour, 0, sizeof log->hour);
    }
    log->hour_number = (int64_t)(now_s / HOUR_S);
}

void wait_log_add(struct wait_log *log, double now_s, bool is_low, double wait_s)
{
    if (now_s >= (double)(log->hour_number + 1) * HOUR_S)
        close_hour(log, now_s);
    add_wait(&log->waits[is_low], wait_s, log->target_s);
    add_wait(&log->hour, wait_s, log->target_s);
}

void wait_log_first_token(struct wait_log *log, double wait_s)
{
    add_wait(&log->first_token, wait_s, log->first_token_target_s);
}

static json_t *waits_report(const struct waits *waits)
{
    return json_make("{s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)waits->count,
                     "over_target", (json_int_t)waits->over, "mean_s",
                     waits->count ? waits->sum_s / (double)waits->count : 0.0, "p50_s",
                     quantile(waits, 50), "p90_s", quantile(waits, 90), "p98_s",
                     quantile(waits, 98), "max_s", waits->max_s);
}

json_t *wait_log_report(const struct wait_log *log, size_t waiting, int servers)
{
    json_t *hours = json_array();
    struct waits *all = mem_new(sizeof *all);
    json_t *report;

    *all = log->waits[0];
    all->count += log->waits[1].count;
    all->over += log->waits[1].over;
    all->sum_s += log->waits[1].sum_s;
    all->max_s = fmax(all->max_s, log->waits[1].max_s);
    for (size_t i = 0; i < HISTOGRAM_SIZE; i++)
        all->buckets[i] += log->waits[1].buckets[i];
    for (size_t i = 0; i < log->hours.count; i++) {
        const struct hour *hour = &log->hours.items[i];

        json_array_append_new(
            hours, json_make("{s:I, s:I, s:I, s:f, s:f}", "hour", (json_int_t)hour->number, "count",
                             (json_int_t)hour->count, "over_target", (json_int_t)hour->over,
                             "p98_s", hour->p98_s, "max_s", hour->max_s));
    }
    report = json_make("{s:o, s:o, s:o, s:I, s:I, s:o}", "all", waits_report(all), "high",
                       waits_report(&log->waits[0]), "low", waits_report(&log->waits[1]), "waiting",
                       (json_int_t)waiting, "servers", (json_int_t)servers, "hours", hours);
    if (log->first_token.count)
        json_object_set_new(report, "first_token", waits_report(&log->first_token));
    mem_free(all);
    return report;
}
