/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the method, and refuses figures that the intervals cannot carry: too narrow a range of
 * batches is the usual reason, and gives slopes that are pure chance.
 */
#include "windows/servers/profile.h"

#include "base/array.h"
#include "base/text.h"
#include "windows/servers/profile_fit.h"
#include "windows/servers/profile_kin.h"

#include <math.h>
#include <string.h>

enum { GAPS_MIN = 20 };

static const double SPREAD_LEAST = 0.05; /* standard deviation of the batch over its mean */
static const double ERROR_MOST = 0.05;   /* standard error of a slope, and of an iteration's time */
static const double TOKENS_MOST = 1.2;   /* of a running request in one iteration */
static const double REACH_LEAST = 0.5;   /* of the slots, that ran in some interval */
static const double SHARE_MOST = 0.05;   /* of the seconds, that prefill may be left out of */

static const char *const method_names[PROFILE_METHODS] = {
    [PROFILE_BY_COUNTERS] = "counters",
    [PROFILE_BY_GAPS] = "gaps",
    [PROFILE_SAFE] = "safe",
};

const char *profile_method_name(enum profile_method method)
{
    return method_names[method];
}

/* What one try works on. */
struct trial {
    struct profile_intervals *intervals;
    const struct profile_hints *hints;
    enum profile_method method;
    struct profile_table table;
    struct profile_fit fit;
    struct profile_law law;
};

static void trial_clear(struct trial *trial)
{
    mem_free(trial->table.rows);
}

/* "used 3, restart 5, idle 200" */
static void list_drops(const struct profile_intervals *intervals, struct text *out)
{
    size_t counts[PROFILE_DROPS] = { 0 };

    for (size_t i = 0; i < intervals->count; i++)
        counts[intervals->items[i].drop]++;
    for (int drop = 0; drop < PROFILE_DROPS; drop++)
        if (counts[drop] > 0)
            text_add(out, "%s%s %zu", out->length > 0 ? ", " : "",
                     profile_drop_name((enum profile_drop)drop), counts[drop]);
}

static bool make_row(const struct trial *trial, const struct profile_interval *interval,
                     struct profile_row *row)
{
    const double *growth = interval->growth;

    if (trial->method == PROFILE_BY_COUNTERS) {
        *row = (struct profile_row){
            .x = { growth[PROFILE_ITERATIONS], growth[PROFILE_GENERATED], growth[PROFILE_PREFILL] },
            .y = interval->seconds,
            .weight = growth[PROFILE_ITERATIONS],
            .batch = growth[PROFILE_GENERATED] / growth[PROFILE_ITERATIONS],
        };
        return growth[PROFILE_ITERATIONS] > 0 && growth[PROFILE_GENERATED] >= 0;
    }

    double running = trial->hints->gaps_are_iterations
                         ? interval->running_mean
                         : growth[PROFILE_GAP_SECONDS] / interval->seconds;

    *row = (struct profile_row){
        .x = { 1, running },
        .y = growth[PROFILE_GAP_SECONDS] / growth[PROFILE_GAPS],
        .weight = 1,
        .batch = running,
    };
    return growth[PROFILE_GAPS] >= GAPS_MIN && growth[PROFILE_GAP_SECONDS] > 0 && running > 0;
}

/* The rows of the intervals that were not dropped, and whether prefill is a term. */
static void make_table(struct trial *trial)
{
    const struct profile_intervals *intervals = trial->intervals;
    struct profile_table *table = &trial->table;

    table->rows = mem_new_array(intervals->count, sizeof *table->rows);
    table->terms = trial->method == PROFILE_BY_COUNTERS ? 3 : 2;
    table->is_disturbed = trial->method == PROFILE_BY_COUNTERS;
    for (size_t i = 0; i < intervals->count; i++) {
        struct profile_row *row = &table->rows[table->count];

        if (intervals->items[i].drop != PROFILE_USED || !make_row(trial, &intervals->items[i], row))
            continue;
        row->interval = i;
        row->instance = intervals->items[i].instance;
        row->is_kept = true;
        table->count++;
    }
    for (size_t i = 0; i < table->count && table->terms == 3; i++)
        if (!(table->rows[i].x[PROFILE_PREFILL_S] >= 0))
            table->terms = 2;
}

static int check_count(const struct trial *trial, struct error *err)
{
    owned(text) struct text *drops = text_new(400);
    size_t restarts = 0;

    for (size_t i = 0; i < trial->intervals->count; i++)
        restarts += trial->intervals->items[i].drop == PROFILE_RESTART;
    if (profile_kept(&trial->table) >= PROFILE_INTERVALS_MIN)
        return 0;
    list_drops(trial->intervals, drops);
    if (restarts > 0 && restarts == trial->intervals->count)
        return error_set(err, ERROR_INVALID,
                         "a counter fell in each of the %zu intervals: the process restarts all "
                         "the time, or several are behind one instance",
                         restarts);
    return error_set(err, ERROR_INVALID,
                     "%zu of %zu intervals can be used, and %d are needed (%s): look at a longer "
                     "or a busier span",
                     profile_kept(&trial->table), trial->intervals->count, PROFILE_INTERVALS_MIN,
                     drops->chars);
}

/* Without speculation a running request gets one token in an iteration. */
static int check_tokens(const struct trial *trial, struct error *err)
{
    double tokens = 0;
    double iterations = 0;
    double running = 0;
    double seconds = 0;

    for (size_t i = 0; i < trial->table.count; i++) {
        const struct profile_interval *interval =
            &trial->intervals->items[trial->table.rows[i].interval];
        double mean = isnan(interval->running_mean)
                          ? interval->growth[PROFILE_GAP_SECONDS] / interval->seconds
                          : interval->running_mean;

        if (isnan(mean) || isnan(interval->growth[PROFILE_ITERATIONS]) ||
            isnan(interval->growth[PROFILE_GENERATED]))
            continue;
        tokens += interval->growth[PROFILE_GENERATED];
        iterations += interval->growth[PROFILE_ITERATIONS];
        running += mean * interval->seconds;
        seconds += interval->seconds;
    }
    if (trial->hints->is_speculative)
        return error_set(err, ERROR_INVALID,
                         "the engine decodes speculatively: several tokens of a request in one "
                         "iteration, which the law does not describe");
    if (seconds > 0 && tokens / iterations > TOKENS_MOST * running / seconds)
        return error_set(err, ERROR_INVALID,
                         "%.3g tokens in an iteration of %.3g running requests: speculative "
                         "decoding, which the law does not describe",
                         tokens / iterations, running / seconds);
    return 0;
}

static int check_spread(const struct profile_table *table, struct error *err)
{
    struct profile_spread spread = profile_batch_spread(table);

    if (spread.deviation >= SPREAD_LEAST * spread.mean)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "too little spread: %.4g to %.4g requests ran in the mean of an interval, and "
                     "what one more costs cannot be told; look at a span with quiet and busy hours",
                     spread.least, spread.most);
}

/* The time between tokens is not linear in prompts: its fit holds for batches such as the measured
   ones only. */
static int check_reach(const struct trial *trial, struct error *err)
{
    double most = profile_batch_spread(&trial->table).most;

    if (trial->method == PROFILE_BY_COUNTERS || most >= REACH_LEAST * trial->hints->slots)
        return 0;
    return error_set(
        err, ERROR_INVALID,
        "at most %.3g requests ran in the mean of an interval, of %.0f slots: the time "
        "between tokens does not tell how long a full batch takes; look at a busier "
        "span",
        most, trial->hints->slots);
}

/* Leaves out a prefill term that is not significant, if it could not matter. */
static int leave_prefill_out(struct trial *trial, struct error *err)
{
    const struct profile_fit *fit = &trial->fit;
    double error = sqrt(fit->covariance[PROFILE_PREFILL_S][PROFILE_PREFILL_S]);
    double most = fit->value[PROFILE_PREFILL_S] + 2 * error;
    double tokens = 0;
    double seconds = 0;

    if (fit->value[PROFILE_PREFILL_S] > 2 * error)
        return 0;
    for (size_t i = 0; i < trial->table.count; i++)
        if (trial->table.rows[i].is_kept) {
            tokens += trial->table.rows[i].x[PROFILE_PREFILL_S];
            seconds += trial->table.rows[i].y;
        }
    trial->law.prefill_share = fmax(most, 0) * tokens / seconds;
    if (trial->law.prefill_share > SHARE_MOST)
        return error_set(err, ERROR_INVALID,
                         "prompts and generated tokens grow together (collinear): a prompt's token "
                         "takes %.3g us +- %.2g, which may be %.0f %% of the time; look at a "
                         "longer span, or one with other prompts",
                         fit->value[PROFILE_PREFILL_S] * 1e6, error * 1e6,
                         100 * trial->law.prefill_share);
    trial->table.terms = 2;
    if (!profile_fit_solve(&trial->table, &trial->fit))
        return error_set(err, ERROR_INVALID, "iterations and tokens grow together (collinear)");
    return 0;
}

/* The standard error of the fit; or that between instances, if these differ by more. */
static double coefficient_error(const struct profile_fit *fit, const struct profile_kin *kin,
                                enum profile_coefficient at)
{
    return fmax(sqrt(fit->covariance[at][at]), kin->error[at]);
}

/* Each figure must be known to a twentieth, and be plausible for an engine. */
static int check_figures(const struct trial *trial, const struct profile_kin *kin,
                         struct error *err)
{
    const struct profile_fit *fit = &trial->fit;
    double batch = profile_batch_spread(&trial->table).mean;
    const double at[PROFILE_TERMS] = { 1, batch };
    double slope = fit->value[PROFILE_REQUEST_S];
    double slope_error = coefficient_error(fit, kin, PROFILE_REQUEST_S);
    double iteration = fit->value[PROFILE_BASE_S] + slope * batch;
    double iteration_error = sqrt(profile_fit_variance(fit, at));

    if (slope <= 0)
        return error_set(err, ERROR_INVALID,
                         "one more running request changes an iteration by %.3g ms +- %.2g: that "
                         "is no law of an engine; look at a span with quiet and busy hours",
                         slope * 1e3, slope_error * 1e3);
    if (slope_error > ERROR_MOST * slope || iteration_error > ERROR_MOST * iteration)
        return error_set(err, ERROR_INVALID,
                         "the batches tell too little: one more running request takes %.3g ms +- "
                         "%.2g (%.0f %%, at most %.0f %%), from %.3g requests to %.3g; look at a "
                         "longer span, or one with quiet and busy hours",
                         slope * 1e3, slope_error * 1e3, 100 * slope_error / slope,
                         100 * ERROR_MOST, profile_batch_spread(&trial->table).least,
                         profile_batch_spread(&trial->table).most);
    if (fit->value[PROFILE_BASE_S] < 0)
        return error_set(err, ERROR_INVALID,
                         "an iteration of no request takes %.3g ms +- %.2g: the time of an "
                         "iteration is no straight line over these batches",
                         fit->value[PROFILE_BASE_S] * 1e3,
                         sqrt(fit->covariance[PROFILE_BASE_S][PROFILE_BASE_S]) * 1e3);
    return 0;
}

static void keep_law(struct trial *trial, const struct profile_kin *kin)
{
    struct profile_law *law = &trial->law;
    const struct profile_table *table = &trial->table;

    law->method = trial->method;
    law->compared = kin->count;
    law->apart = kin->apart;
    law->has_prefill = table->terms == 3;
    law->used = trial->fit.used;
    law->batch = profile_batch_spread(table);
    law->residual = trial->fit.residual;
    law->explained = trial->fit.explained;
    memcpy(law->covariance, trial->fit.covariance, sizeof law->covariance);
    for (int term = 0; term < table->terms; term++) {
        law->value[term] = trial->fit.value[term];
        law->error[term] = coefficient_error(&trial->fit, kin, (enum profile_coefficient)term);
    }
    for (size_t i = 0; i < table->count; i++)
        if (!table->rows[i].is_kept)
            trial->intervals->items[table->rows[i].interval].drop = PROFILE_UNEXPLAINED;
    for (size_t i = 0; i < trial->intervals->instances; i++) {
        bool is_used = false;

        for (size_t at = 0; at < table->count && !is_used; at++)
            is_used = table->rows[at].is_kept && table->rows[at].instance == i;
        law->instances += is_used;
    }
}

static int fit_rows(struct trial *trial, struct error *err)
{
    struct profile_kin kin;

    if (check_count(trial, err) < 0 || check_tokens(trial, err) < 0 ||
        check_spread(&trial->table, err) < 0 || profile_kin_compare(&trial->table, &kin, err) < 0)
        return -1;
    if (!profile_fit_table(&trial->table, &trial->fit))
        return error_set(err, ERROR_INVALID,
                         "iterations, generated tokens and prompts grow together (collinear): no "
                         "interval tells them apart; look at a span with quiet and busy hours");
    if (check_count(trial, err) < 0 || check_spread(&trial->table, err) < 0 ||
        check_reach(trial, err) < 0 ||
        (trial->table.terms == 3 && leave_prefill_out(trial, err) < 0) ||
        check_figures(trial, &kin, err) < 0)
        return -1;
    keep_law(trial, &kin);
    return 0;
}

/* Whether any interval that is not dropped has both. */
static bool counts(const struct profile_intervals *intervals, enum profile_counter one,
                   enum profile_counter two)
{
    for (size_t i = 0; i < intervals->count; i++)
        if (!isnan(intervals->items[i].growth[one]) && !isnan(intervals->items[i].growth[two]))
            return true;
    return false;
}

static int attempt(enum profile_method method, struct profile_intervals *intervals,
                   const struct profile_hints *hints, struct profile_law *ret, struct error *err)
{
    struct trial trial = { .intervals = intervals, .hints = hints, .method = method };
    int result;

    make_table(&trial);
    result = fit_rows(&trial, err);
    if (result == 0) {
        memcpy(trial.law.why, ret->why, sizeof trial.law.why);
        *ret = trial.law;
    }
    trial_clear(&trial);
    return result;
}

/* The greatest mean time between tokens in any interval with enough tokens of one process. */
static void find_slowest(const struct profile_intervals *intervals,
                         const struct profile_hints *hints, struct profile_law *law)
{
    law->slowest_s = NAN;
    for (size_t i = 0; i < intervals->count; i++) {
        const struct profile_interval *interval = &intervals->items[i];
        const double *growth = interval->growth;
        double gap = growth[PROFILE_GAP_SECONDS] / growth[PROFILE_GAPS];

        if (interval->drop == PROFILE_UNKNOWN || interval->drop == PROFILE_RESTART ||
            interval->drop == PROFILE_COLD || !(growth[PROFILE_GAPS] >= GAPS_MIN) || !(gap > 0) ||
            gap <= law->slowest_s)
            continue;
        law->slowest_s = gap;
        law->slowest_at = hints->gaps_are_iterations
                              ? interval->running_mean
                              : growth[PROFILE_GAP_SECONDS] / interval->seconds;
    }
}

static void count_drops(const struct profile_intervals *intervals, struct profile_law *law)
{
    for (size_t i = 0; i < intervals->count; i++)
        law->dropped[intervals->items[i].drop]++;
}

/* The time between tokens cannot replace counters that were refused, only counters that were
   absent. */
static int try_methods(struct profile_intervals *intervals, const struct profile_hints *hints,
                       struct profile_law *law)
{
    struct error *why = law->why;
    bool has_counters = counts(intervals, PROFILE_ITERATIONS, PROFILE_GENERATED);

    if (!has_counters)
        error_set(&why[PROFILE_BY_COUNTERS], ERROR_NOT_FOUND,
                  "the engine counts no iterations, or no generated tokens");
    else if (hints->hides_prefill)
        error_set(&why[PROFILE_BY_COUNTERS], ERROR_NOT_FOUND,
                  "prompts come from a prefix cache, and nothing counts the computed ones");
    else if (attempt(PROFILE_BY_COUNTERS, intervals, hints, law, &why[PROFILE_BY_COUNTERS]) == 0)
        return 0;
    if (why[PROFILE_BY_COUNTERS].kind != ERROR_NOT_FOUND) {
        why[PROFILE_BY_GAPS] = why[PROFILE_BY_COUNTERS];
        return -1;
    }
    if (!counts(intervals, PROFILE_GAP_SECONDS, PROFILE_GAPS))
        return error_set(&why[PROFILE_BY_GAPS], ERROR_NOT_FOUND,
                         "the engine does not tell the time between tokens");
    return attempt(PROFILE_BY_GAPS, intervals, hints, law, &why[PROFILE_BY_GAPS]);
}

int profile_measure(struct profile_intervals *intervals, const struct profile_hints *hints,
                    struct profile_law *ret, struct error *err)
{
    struct profile_law law = { .slowest_s = NAN };

    if (intervals->count == 0)
        return error_set(err, ERROR_INVALID,
                         "no instance was scraped twice: no interval can be made");
    if (try_methods(intervals, hints, &law) < 0)
        law.method = PROFILE_SAFE;
    count_drops(intervals, &law);
    find_slowest(intervals, hints, &law);
    if (law.method == PROFILE_SAFE && isnan(law.slowest_s))
        return error_set(err, ERROR_INVALID, "%s", law.why[PROFILE_BY_GAPS].text);
    *ret = law;
    return 0;
}

int profile_quantile(const struct service_bucket *buckets, size_t count, double quantile,
                     double *ret_least, double *ret_most)
{
    double all = count > 0 ? buckets[count - 1].count : 0;

    if (!(all > 0) || !isinf(buckets[count - 1].upper_s))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!(buckets[i].count >= quantile * all))
            continue;
        *ret_least = i > 0 ? buckets[i - 1].upper_s : 0;
        *ret_most = buckets[i].upper_s;
        return 0;
    }
    return -1;
}
