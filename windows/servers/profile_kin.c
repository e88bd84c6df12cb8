/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Different GPUs behind one selector: each has a law, and together they have none.  The trim of a
 * common fit would drop the slow ones as if they had been idle.
 */
#include "windows/servers/profile_kin.h"

#include "base/memory.h"

#include <math.h>

static const double ERROR_MOST = 0.05; /* of an iteration's time: the instance tells something */
static const double APART_MOST = 0.15; /* between instances of one kind */
static const double CHANCE = 4;        /* standard errors: not by chance */

/* An instance's iteration at the mean batch. */
struct pace {
    double iteration_s;
    double variance;
};

/* Fits one instance by itself; false: it has too few intervals, or no fit. */
static bool fit_instance(const struct profile_table *table, size_t instance,
                         struct profile_fit *ret)
{
    struct profile_table own = { .terms = table->terms, .is_disturbed = table->is_disturbed };
    bool is_good;

    own.rows = mem_new_array(table->count, sizeof *own.rows);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].instance == instance)
            own.rows[own.count++] = table->rows[i];
    is_good = own.count >= PROFILE_INTERVALS_MIN && profile_fit_table(&own, ret);
    mem_free(own.rows);
    return is_good;
}

/* Standard errors of the means, from sums and sums of squares. */
static void find_errors(struct profile_kin *kin, const double sums[PROFILE_TERMS],
                        const double squares[PROFILE_TERMS])
{
    double count = (double)kin->count;

    for (int term = 0; term < PROFILE_TERMS && kin->count > 1; term++) {
        double variance = (squares[term] - sums[term] * sums[term] / count) / (count - 1);

        kin->error[term] = sqrt(fmax(variance, 0) / count);
    }
}

static size_t instances_of(const struct profile_table *table)
{
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].instance >= count)
            count = table->rows[i].instance + 1;
    return count;
}

int profile_kin_compare(const struct profile_table *table, struct profile_kin *ret,
                        struct error *err)
{
    const double at[PROFILE_TERMS] = { 1, profile_batch_spread(table).mean };
    struct pace least = { INFINITY, 0 };
    struct pace most = { -INFINITY, 0 };
    double squares[PROFILE_TERMS] = { 0 };
    double sums[PROFILE_TERMS] = { 0 };

    *ret = (struct profile_kin){ 0 };
    for (size_t i = 0; i < instances_of(table); i++) {
        struct profile_fit fit = { 0 };
        struct pace pace;

        if (!fit_instance(table, i, &fit))
            continue;
        pace.iteration_s = fit.value[PROFILE_BASE_S] + fit.value[PROFILE_REQUEST_S] * at[1];
        pace.variance = profile_fit_variance(&fit, at);
        if (!(sqrt(pace.variance) <= ERROR_MOST * pace.iteration_s))
            continue;
        ret->count++;
        for (int term = 0; term < PROFILE_TERMS; term++) {
            sums[term] += fit.value[term];
            squares[term] += fit.value[term] * fit.value[term];
        }
        least = pace.iteration_s < least.iteration_s ? pace : least;
        most = pace.iteration_s > most.iteration_s ? pace : most;
    }
    find_errors(ret, sums, squares);
    ret->apart = ret->count > 1 ? most.iteration_s / least.iteration_s - 1 : 0;
    if (ret->apart <= APART_MOST ||
        most.iteration_s - least.iteration_s <= CHANCE * sqrt(least.variance + most.variance))
        return 0;
    return error_set(err, ERROR_INVALID,
                     "the instances are not of one kind: an iteration of %.3g requests takes %.3g "
                     "ms in one and %.3g ms in another; name one GPU type and one model in the "
                     "selector",
                     at[1], least.iteration_s * 1e3, most.iteration_s * 1e3);
}
