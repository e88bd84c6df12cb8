/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A row that stood still for a moment is explained too little by what all have in common, never too
 * much.  So the half of the rows above the median tells how far chance reaches, and rows below it
 * are dropped until none is left to drop.  Then all rows that chance explains come back.
 */
#include "windows/servers/profile_fit.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PIVOT_LEAST = 1e-9;      /* of a column of length one: else it is another's */
static const double EXPLAINED_LEAST = 0.8;   /* of the seconds; less was idle */
static const double DEVIATION = 1.4826;      /* standard deviation over the median distance */
static const double DEVIATION_LEAST = 1e-12; /* of figures without any noise */

/* The normal equations with columns scaled to length one. */
struct normal {
    double matrix[PROFILE_TERMS][PROFILE_TERMS];
    double right[PROFILE_TERMS];
    double length[PROFILE_TERMS];
};

static void add_up(const struct profile_table *table, struct normal *normal)
{
    memset(normal, 0, sizeof *normal);
    for (size_t i = 0; i < table->count; i++) {
        const struct profile_row *row = &table->rows[i];

        for (int a = 0; a < table->terms && row->is_kept; a++) {
            normal->right[a] += row->x[a] * row->y;
            for (int b = 0; b < table->terms; b++)
                normal->matrix[a][b] += row->x[a] * row->x[b];
        }
    }
    for (int a = 0; a < table->terms; a++)
        normal->length[a] = sqrt(normal->matrix[a][a]);
    for (int a = 0; a < table->terms; a++) {
        normal->right[a] /= normal->length[a];
        for (int b = 0; b < table->terms; b++)
            normal->matrix[a][b] /= normal->length[a] * normal->length[b];
    }
}

/* The inverse by Gauss and Jordan; false if the columns are linearly dependent. */
static bool invert(double matrix[PROFILE_TERMS][PROFILE_TERMS], int terms,
                   double inverse[PROFILE_TERMS][PROFILE_TERMS])
{
    for (int a = 0; a < PROFILE_TERMS; a++)
        for (int b = 0; b < PROFILE_TERMS; b++)
            inverse[a][b] = a == b;
    for (int pivot = 0; pivot < terms; pivot++) {
        double scale = matrix[pivot][pivot];

        if (!(scale > PIVOT_LEAST))
            return false;
        for (int b = 0; b < terms; b++) {
            matrix[pivot][b] /= scale;
            inverse[pivot][b] /= scale;
        }
        for (int a = 0; a < terms; a++) {
            double factor = matrix[a][pivot];

            for (int b = 0; b < terms && a != pivot; b++) {
                matrix[a][b] -= factor * matrix[pivot][b];
                inverse[a][b] -= factor * inverse[pivot][b];
            }
        }
    }
    return true;
}

static double predicted(const struct profile_fit *fit, const struct profile_row *row, int terms)
{
    double sum = 0;

    for (int a = 0; a < terms; a++)
        sum += fit->value[a] * row->x[a];
    return sum;
}

/* Computes the residuals; returns their variance. */
static double judge(const struct profile_table *table, struct profile_fit *fit)
{
    double squares = 0;
    double relative = 0;
    double weights = 0;
    double mean = 0;
    double left = 0;
    double all = 0;

    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].is_kept) {
            weights += table->rows[i].weight;
            mean += table->rows[i].y;
        }
    mean /= weights;
    for (size_t i = 0; i < table->count; i++) {
        const struct profile_row *row = &table->rows[i];
        double residual = row->y - predicted(fit, row, table->terms);
        double off = row->y / row->weight - mean;

        if (!row->is_kept)
            continue;
        squares += residual * residual;
        relative += residual * residual / (row->y * row->y);
        left += residual * residual / row->weight;
        all += row->weight * off * off;
    }
    fit->residual = sqrt(relative / (double)(fit->used - (size_t)table->terms));
    fit->explained = all > 0 ? 1 - left / all : 0;
    return squares / (double)(fit->used - (size_t)table->terms);
}

bool profile_fit_solve(const struct profile_table *table, struct profile_fit *ret)
{
    struct profile_fit fit = { 0 };
    struct normal normal;
    double inverse[PROFILE_TERMS][PROFILE_TERMS];
    double variance;

    for (size_t i = 0; i < table->count; i++)
        fit.used += table->rows[i].is_kept;
    add_up(table, &normal);
    if (fit.used < (size_t)table->terms + 2 || !invert(normal.matrix, table->terms, inverse))
        return false;
    for (int a = 0; a < table->terms; a++)
        for (int b = 0; b < table->terms; b++)
            fit.value[a] += inverse[a][b] * normal.right[b] / normal.length[a];
    variance = judge(table, &fit);
    for (int a = 0; a < table->terms; a++)
        for (int b = 0; b < table->terms; b++)
            fit.covariance[a][b] = variance * inverse[a][b] / normal.length[a] / normal.length[b];
    *ret = fit;
    return true;
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* The spread of y around the fit: the median of the kept rows, and the deviation above it. */
static void spread(const struct profile_table *table, const double *shares, double *sorted,
                   double *ret_median, double *ret_deviation)
{
    size_t count = 0;
    double median;

    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].is_kept)
            sorted[count++] = shares[i];
    qsort(sorted, count, sizeof *sorted, compare_numbers);
    median = sorted[count / 2];
    *ret_median = median;
    *ret_deviation = fmax(DEVIATION * (sorted[count / 2 + count / 4] - median), DEVIATION_LEAST);
}

/* Keeps the rows that reach the share; whether any row changed.  Without `may_return` dropped rows
   stay dropped. */
static bool keep(struct profile_table *table, const double *shares, double least, bool may_return)
{
    bool is_changed = false;

    for (size_t i = 0; i < table->count; i++) {
        struct profile_row *row = &table->rows[i];
        bool is_kept = (row->is_kept || may_return) && shares[i] >= least;

        is_changed = is_changed || is_kept != row->is_kept;
        row->is_kept = is_kept;
    }
    return is_changed;
}

/* Rows further below the median than `reach` deviations are dropped. */
struct trim {
    int passes; /* at most */
    double reach;
    bool may_return; /* a row that was dropped before, and is within reach now */
};

static const struct trim out = { 200, 1.5, false };
static const struct trim back = { 3, 3, true };

/* One pass: fits, and drops the rows that lie below. */
static bool pass(struct profile_table *table, double *shares, const struct trim *trim,
                 struct profile_fit *fit, bool *ret_changed)
{
    double median;
    double deviation;

    if (!profile_fit_solve(table, fit))
        return false;
    for (size_t i = 0; i < table->count; i++)
        shares[i] = predicted(fit, &table->rows[i], table->terms) / table->rows[i].y;
    spread(table, shares, shares + table->count, &median, &deviation);
    *ret_changed = keep(table, shares, fmax(EXPLAINED_LEAST, median - trim->reach * deviation),
                        trim->may_return);
    return true;
}

static bool repeat(struct profile_table *table, double *shares, const struct trim *trim,
                   struct profile_fit *fit)
{
    bool is_changed = true;
    bool is_good = true;

    for (int i = 0; i < trim->passes && is_good && is_changed; i++)
        is_good = pass(table, shares, trim, fit, &is_changed);
    return is_good;
}

/* Drops the rows that stay above the fit; all rows that chance explains stay. */
static bool fit_trimmed(struct profile_table *table, struct profile_fit *ret)
{
    double *shares = mem_new_array(2 * table->count + 1, sizeof *shares); /* and to be sorted */
    struct profile_fit fit;
    bool is_good = repeat(table, shares, &out, &fit) && repeat(table, shares, &back, &fit) &&
                   profile_fit_solve(table, &fit);

    mem_free(shares);
    if (is_good)
        *ret = fit;
    return is_good;
}

bool profile_fit_table(struct profile_table *table, struct profile_fit *ret)
{
    return table->is_disturbed ? fit_trimmed(table, ret) : profile_fit_solve(table, ret);
}

double profile_fit_variance(const struct profile_fit *fit, const double at[PROFILE_TERMS])
{
    double sum = 0;

    for (int a = 0; a < PROFILE_TERMS; a++)
        for (int b = 0; b < PROFILE_TERMS; b++)
            sum += at[a] * fit->covariance[a][b] * at[b];
    return sum;
}

size_t profile_kept(const struct profile_table *table)
{
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++)
        count += table->rows[i].is_kept;
    return count;
}

struct profile_spread profile_batch_spread(const struct profile_table *table)
{
    struct profile_spread spread = { INFINITY, 0, -INFINITY, 0 };
    double count = (double)profile_kept(table);

    for (size_t i = 0; i < table->count; i++) {
        double batch = table->rows[i].batch;

        if (!table->rows[i].is_kept)
            continue;
        spread.least = fmin(spread.least, batch);
        spread.most = fmax(spread.most, batch);
        spread.mean += batch / count;
    }
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].is_kept)
            spread.deviation += pow(table->rows[i].batch - spread.mean, 2) / count;
    spread.deviation = sqrt(spread.deviation);
    return spread;
}
