/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * With fewer than nine scores no rank reaches 90 %; then a t-margin on their mean and deviation
 * stands in, and says so.
 */
#include "windows/conformal.h"

#include <math.h>

static const double step = 0.05;     /* of alpha, for a miss */
static const double alpha_min = 0.1; /* of the target */
static const double alpha_max = 3;
static const double prior = 0.1823215567939546; /* ln 1.2 */

static const double cap = 0.4054651081081644; /* ln 1.5: the t-margin is no further than that from
                                                 the greatest score */

/* Student's t that a share of 0.9 does not exceed, by degrees of freedom from 1. */
static const double student[] = { 3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383 };

void conformal_init(struct conformal *conformal, double target)
{
    *conformal = (struct conformal){ .target = target, .alpha = target };
}

void conformal_clear(struct conformal *conformal)
{
    array_clear(&conformal->scores);
}

/* Mean and so many t of the deviation of a next score. */
static double t_margin(const struct conformal *conformal, double sign)
{
    size_t count = conformal->scores.count;
    size_t row = count - 2 < COUNT_OF(student) ? count - 2 : COUNT_OF(student) - 1;
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        sum += conformal->scores.items[i];

    double mean = sum / (double)count;

    for (size_t i = 0; i < count; i++)
        squares += (conformal->scores.items[i] - mean) * (conformal->scores.items[i] - mean);

    double margin = student[row] * sqrt(squares / (double)(count - 1) * (1 + 1 / (double)count));

    return sign > 0 ? fmin(mean + margin, conformal->scores.items[count - 1] + cap) : mean - margin;
}

double conformal_upper(const struct conformal *conformal, enum conformal_basis *ret_basis)
{
    size_t count = conformal->scores.count;
    double rank = ceil((double)(count + 1) * (1 - conformal->alpha));
    bool has_rank = (double)(count + 1) * conformal->target >= 1;

    *ret_basis = count < 2 ? CONFORMAL_PRIOR : has_rank ? CONFORMAL_RANK : CONFORMAL_NORMAL;
    if (count < 2)
        return prior;
    if (!has_rank)
        return t_margin(conformal, 1);
    /* Alpha went under what so many scores can give: the greatest stands for it. */
    return conformal->scores.items[rank > (double)count ? count - 1 : (size_t)rank - 1];
}

double conformal_lower(const struct conformal *conformal)
{
    size_t count = conformal->scores.count;
    double rank = floor((double)(count + 1) * conformal->target);

    if (count < 2)
        return -prior;
    return rank < 1 ? t_margin(conformal, -1) : conformal->scores.items[(size_t)rank - 1];
}

void conformal_add(struct conformal *conformal, double score, bool is_miss)
{
    size_t at = conformal->scores.count;

    *array_add(&conformal->scores) = score;
    for (; at > 0 && conformal->scores.items[at - 1] > score; at--)
        conformal->scores.items[at] = conformal->scores.items[at - 1];
    conformal->scores.items[at] = score;
    conformal->alpha += step * (conformal->target - (is_miss ? 1 : 0));
    conformal->alpha = fmin(fmax(conformal->alpha, alpha_min * conformal->target),
                            fmin(alpha_max * conformal->target, (1 + conformal->target) / 2));
}

const char *conformal_basis_name(enum conformal_basis basis)
{
    static const char *const names[] = { "prior", "normal", "rank" };

    return names[basis];
}

void conformal_share(size_t hits, size_t count, double *ret_low, double *ret_high)
{
    double z2 = 1.959963984540054 * 1.959963984540054;
    double n = (double)count;
    double share = count > 0 ? (double)hits / n : 0;
    double spread;

    *ret_low = 0;
    *ret_high = 1;
    if (count == 0)
        return;
    spread = sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)));
    *ret_low = fmax(0, (share + z2 / (2 * n) - spread) / (1 + z2 / n));
    *ret_high = fmin(1, (share + z2 / (2 * n) + spread) / (1 + z2 / n));
}
