/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Alpha never goes under half of what is asked for; where its rank would be beyond the last score,
 * that one stands in.
 */
#include "windows/forecast/conformal.h"

#include <math.h>

enum {
    TOP_SCORES = 4,
    TOP_DAYS = 14,
    REACHED_DAYS = 3, /* what so many days reached is no accident */
    SPREAD_DAYS = 3,  /* known ones, whose distances tell something */
};

static const double step = 0.01;     /* of alpha, for a miss */
static const double alpha_min = 0.5; /* of the target */
static const double alpha_max = 2.5;

static const double prior_count = 1; /* scores, of mean 0 */
static const double prior_freedom = 3;
static const double prior_deviation = 0.25; /* at most, */
static const double prior_least = 0.1;
static const double prior_spreads = 2.5; /* and so many times the deviation between known days */
static const double expected_mean = 0.5; /* the weight of a day that is not scored, in scores */

void conformal_init(struct conformal *conformal, double target)
{
    *conformal = (struct conformal){ .target = target, .alpha = target };
}

void conformal_clear(struct conformal *conformal)
{
    array_clear(&conformal->scores);
    array_clear(&conformal->order);
    conformal->days = conformal->days_seen = 0;
}

void conformal_expect(struct conformal *conformal, double days, double squares)
{
    conformal->expected = days;
    conformal->expected_squares = squares;
}

/* By halving, which is fast enough for a few calls a day. */
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

/* The squares of the distances of a day's scores, of which the first is `from`, from their mean;
   where the next day begins. */
static double squares_of_day(const struct conformal *conformal, size_t from, size_t *ret_next)
{
    const struct conformal_score *order = conformal->order.items;
    double sum = 0;
    double squares = 0;
    size_t next = from;

    for (; next < conformal->order.count && order[next].day == order[from].day; next++)
        sum += order[next].score;
    for (size_t i = from; i < next; i++) {
        double distance = order[i].score - sum / (double)(next - from);

        squares += distance * distance;
    }
    *ret_next = next;
    return squares;
}

static double mean_of(const struct conformal *conformal)
{
    double sum = 0;

    for (size_t i = 0; i < conformal->scores.count; i++)
        sum += conformal->scores.items[i];
    return conformal->scores.count > 0 ? sum / (double)conformal->scores.count : 0;
}

static double squares_about(const struct conformal *conformal, double mean)
{
    double squares = 0;

    for (size_t i = 0; i < conformal->scores.count; i++)
        squares += (conformal->scores.items[i] - mean) * (conformal->scores.items[i] - mean);
    return squares;
}

/* The correlation of the scores of a day, from 0 to 1, by a one-way analysis of variance.  With few
   days it is taken to be 1, and with one score a day nothing is known of it. */
static double likeness(const struct conformal *conformal)
{
    double count = (double)conformal->order.count;
    double days = (double)conformal->days;
    double all;
    double inner = 0;

    if (conformal->days < 2 || conformal->days == conformal->order.count)
        return 1;
    all = squares_about(conformal, mean_of(conformal));
    for (size_t i = 0, next; i < conformal->order.count; i = next)
        inner += squares_of_day(conformal, i, &next);

    double within = inner / (count - days);
    double between = (all - inner) / (days - 1);
    double sum = between + (count / days - 1) * within;
    double alike = sum > 0 ? fmax(0, (between - within) / sum) : 1;

    return (days * alike + prior_freedom) / (days + prior_freedom);
}

/* The effective number of scores: as many independent days as they are worth. */
static double worth(const struct conformal *conformal, double alike)
{
    double count = (double)conformal->order.count;
    double days = (double)conformal->days;

    return conformal->days > 0 ? count / (1 + (count / days - 1) * alike) : 0;
}

/* The deviation that is taken for granted: less of a queue whose known days are much alike. */
static double granted(const struct conformal *conformal)
{
    if (conformal->expected < SPREAD_DAYS)
        return prior_deviation;
    return fmin(prior_deviation,
                fmax(prior_least, prior_spreads * sqrt(conformal->expected_squares)));
}

/* The greatest score that REACHED_DAYS days reached. */
static double reached(const struct conformal *conformal)
{
    const struct conformal_score *order = conformal->order.items;
    double highest[REACHED_DAYS]; /* of the days, the least of them first */

    for (size_t i = 0; i < REACHED_DAYS; i++)
        highest[i] = -HUGE_VAL;
    for (size_t i = 0, next; i < conformal->order.count; i = next) {
        double most = order[i].score;
        size_t at = 0;

        for (next = i + 1; next < conformal->order.count && order[next].day == order[i].day; next++)
            most = fmax(most, order[next].score);
        for (; at + 1 < REACHED_DAYS && highest[at + 1] < most; at++)
            highest[at] = highest[at + 1];
        highest[at] = fmax(highest[at], most);
    }
    return highest[0];
}

struct conformal_sight conformal_look(const struct conformal *conformal)
{
    double alike = likeness(conformal);
    double count = worth(conformal, alike);
    double part = count > 0 ? count / (double)conformal->scores.count : 0;
    double still = prior_count + expected_mean * conformal->expected; /* scores that count as 0 */
    double freedom = prior_freedom + conformal->expected;
    double mean = count * mean_of(conformal) / (still + count);
    double prior = granted(conformal);
    double squares = prior_freedom * prior * prior +
                     conformal->expected * conformal->expected_squares + still * mean * mean +
                     part * squares_about(conformal, mean);

    return (struct conformal_sight){
        .worth = count,
        .alike = alike,
        .mean = mean,
        .deviation = sqrt(squares / (freedom + count) * (1 + 1 / (still + count))),
        .freedom = freedom + count,
        .reached = reached(conformal),
    };
}

/* How far from its mean the next score may be. */
static double margin_of(const struct conformal_sight *sight, double p)
{
    return conformal_student(p, sight->freedom) * sight->deviation;
}

/* The rank of the smallest score that is not exceeded with probability 1 - alpha; over the count:
 * there is none.
 */
static size_t rank_of(const struct conformal *conformal, const struct conformal_sight *sight,
                      double alpha)
{
    double count = sight->worth;

    return (size_t)ceil((double)conformal->scores.count * (count + 1) / count * (1 - alpha) - 1e-9);
}

static bool has_rank(const struct conformal *conformal, const struct conformal_sight *sight,
                     double target)
{
    return conformal->days > 1 && rank_of(conformal, sight, target) < conformal->scores.count;
}

double conformal_upper_at(const struct conformal *conformal, const struct conformal_sight *sight,
                          const struct conformal_misses *misses, enum conformal_basis *ret_basis)
{
    size_t count = conformal->scores.count;
    size_t rank;
    double score;

    *ret_basis = conformal->days < 2                          ? CONFORMAL_PRIOR
                 : has_rank(conformal, sight, misses->target) ? CONFORMAL_RANK
                                                              : CONFORMAL_NORMAL;
    if (*ret_basis != CONFORMAL_RANK)
        return sight->mean + margin_of(sight, 1 - misses->alpha);
    rank = rank_of(conformal, sight, misses->alpha);
    score = conformal->scores.items[rank > count ? count - 1 : rank - 1];
    if (rank + TOP_SCORES > count && conformal->days_seen >= TOP_DAYS)
        return fmin(score, fmax(sight->reached, sight->mean + margin_of(sight, 1 - misses->alpha)));
    return score;
}

double conformal_upper(const struct conformal *conformal, enum conformal_basis *ret_basis)
{
    const struct conformal_sight sight = conformal_look(conformal);
    const struct conformal_misses misses = { conformal->target, conformal->alpha };

    return conformal_upper_at(conformal, &sight, &misses, ret_basis);
}

double conformal_lower(const struct conformal *conformal)
{
    const struct conformal_sight sight = conformal_look(conformal);
    size_t count = conformal->scores.count;

    if (has_rank(conformal, &sight, conformal->target))
        return conformal->scores.items[count - rank_of(conformal, &sight, conformal->target)];
    return sight.mean - margin_of(&sight, 1 - conformal->target);
}

/* One score, never the last of all. */
static void forget_oldest(struct conformal *conformal)
{
    struct conformal_score oldest = conformal->order.items[0];
    size_t at = 0;

    while (conformal->scores.items[at] < oldest.score)
        at++;
    array_remove(&conformal->scores, at);
    array_remove(&conformal->order, 0);
    conformal->days -= conformal->order.items[0].day != oldest.day;
}

void conformal_keep(struct conformal *conformal, int64_t day, double score)
{
    size_t at = conformal->order.count;
    bool is_new = at == 0 || conformal->order.items[at - 1].day != day;

    conformal->days += is_new;
    conformal->days_seen += is_new;
    if (at == CONFORMAL_KEPT)
        forget_oldest(conformal);
    at = conformal->scores.count;
    *array_add(&conformal->order) = (struct conformal_score){ day, score };
    *array_add(&conformal->scores) = score;
    for (; at > 0 && conformal->scores.items[at - 1] > score; at--)
        conformal->scores.items[at] = conformal->scores.items[at - 1];
    conformal->scores.items[at] = score;
}

void conformal_adapt(struct conformal_misses *misses, bool is_miss)
{
    misses->alpha += step * (misses->target - (is_miss ? 1 : 0));
    misses->alpha = fmin(fmax(misses->alpha, alpha_min * misses->target),
                         fmin(alpha_max * misses->target, 0.5));
}

void conformal_add(struct conformal *conformal, int64_t day, double score, bool is_miss)
{
    struct conformal_misses misses = { conformal->target, conformal->alpha };

    conformal_keep(conformal, day, score);
    conformal_adapt(&misses, is_miss);
    conformal->alpha = misses.alpha;
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
