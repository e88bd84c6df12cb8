/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Alpha never goes under half of what is asked for, so that a rank, where one is used at all, is
 * that of a score.
 */
#include "windows/conformal.h"

#include <math.h>

static const double step = 0.01;     /* of alpha, for a miss */
static const double alpha_min = 0.5; /* of the target */
static const double alpha_max = 2.5;

static const double prior_count = 1; /* scores, of mean 0 */
static const double prior_freedom = 3;
static const double prior_deviation = 0.35;

void conformal_init(struct conformal *conformal, double target)
{
    *conformal = (struct conformal){ .target = target, .alpha = target };
}

void conformal_clear(struct conformal *conformal)
{
    array_clear(&conformal->scores);
    array_clear(&conformal->order);
}

/* By halving: it is asked for a few times a day. */
static double normal_quantile(double p)
{
    double low = 0;
    double high = 10;

    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;

        if (0.5 * erfc(middle / sqrt(2)) > 1 - p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Cornish and Fisher's expansion about the normal law. */
double conformal_student(double p, double freedom)
{
    double z = normal_quantile(p);
    double z2 = z * z;

    return z * (1 + (z2 + 1) / (4 * freedom) + ((5 * z2 + 16) * z2 + 3) / (96 * freedom * freedom) +
                (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * freedom * freedom * freedom));
}

/* Where a next score lies, and how far from there so many t are. */
static void predict(const struct conformal *conformal, double p, double *ret_mean,
                    double *ret_margin)
{
    double count = (double)conformal->scores.count;
    double sum = 0;
    double squares = prior_freedom * prior_deviation * prior_deviation;

    for (size_t i = 0; i < conformal->scores.count; i++)
        sum += conformal->scores.items[i];

    double mean = sum / (prior_count + count);

    squares += prior_count * mean * mean;
    for (size_t i = 0; i < conformal->scores.count; i++)
        squares += (conformal->scores.items[i] - mean) * (conformal->scores.items[i] - mean);
    *ret_mean = mean;
    *ret_margin = conformal_student(p, prior_freedom + count) *
                  sqrt(squares / (prior_freedom + count) * (1 + 1 / (prior_count + count)));
}

static bool has_rank(const struct conformal *conformal)
{
    return (double)(conformal->scores.count + 1) * conformal->target >= 2 - 1e-9;
}

double conformal_upper(const struct conformal *conformal, enum conformal_basis *ret_basis)
{
    size_t count = conformal->scores.count;
    double mean;
    double margin;

    *ret_basis = count < 2             ? CONFORMAL_PRIOR
                 : has_rank(conformal) ? CONFORMAL_RANK
                                       : CONFORMAL_NORMAL;
    if (*ret_basis == CONFORMAL_RANK) {
        double rank = ceil((double)(count + 1) * (1 - conformal->alpha) - 1e-9);

        return conformal->scores.items[rank > (double)count ? count - 1 : (size_t)rank - 1];
    }
    predict(conformal, 1 - conformal->alpha, &mean, &margin);
    return mean + margin;
}

double conformal_lower(const struct conformal *conformal)
{
    size_t count = conformal->scores.count;
    double mean;
    double margin;

    if (has_rank(conformal))
        return conformal->scores.items[(size_t)((double)(count + 1) * conformal->target) - 1];
    predict(conformal, 1 - conformal->target, &mean, &margin);
    return mean - margin;
}

static void forget_oldest(struct conformal *conformal)
{
    size_t at = 0;

    while (conformal->scores.items[at] < conformal->order.items[0])
        at++;
    array_remove(&conformal->scores, at);
    array_remove(&conformal->order, 0);
}

void conformal_add(struct conformal *conformal, double score, bool is_miss)
{
    size_t at;

    if (conformal->scores.count == CONFORMAL_KEPT)
        forget_oldest(conformal);
    at = conformal->scores.count;
    *array_add(&conformal->order) = score;
    *array_add(&conformal->scores) = score;
    for (; at > 0 && conformal->scores.items[at - 1] > score; at--)
        conformal->scores.items[at] = conformal->scores.items[at - 1];
    conformal->scores.items[at] = score;
    conformal->alpha += step * (conformal->target - (is_miss ? 1 : 0));
    conformal->alpha = fmin(fmax(conformal->alpha, alpha_min * conformal->target),
                            fmin(alpha_max * conformal->target, 0.5));
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
