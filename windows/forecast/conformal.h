/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A bound on the next of a row of scores (logarithms of what came over what was predicted), from
 * the scores before it alone.  Split-conformal: the ceil((n + 1)(1 - alpha))-th smallest score
 * holds with probability 1 - alpha whatever the law of the scores, if they are exchangeable.
 * Those of one day are not, since a busy day is busy in all its windows.  n scores then count as
 * m = n / (1 + (w - 1) r), for w scores a day (their mean number) that are correlated by r (Kish's
 * design effect, "Survey Sampling", 1965), and the rank is ceil(n (m + 1) / m (1 - alpha)): with
 * r = 1, and as many scores each day, that is the one of whole days as groups (Lee, Barber and
 * Willett, "Distribution-free inference with hierarchical data", 2023).
 * Days are not quite exchangeable either, so alpha adapts: each miss lowers it, each hit raises it
 * a little, and in the long run the share of misses is what was asked for.
 *
 * While there are too few for a score to lie beyond the bound, Student's t of the m scores and of
 * what is taken for granted of queues (a deviation of 0.1 to 0.25, by the distances between the
 * known days, with the weight of three scores) stands in: wide at first, and soon as narrow as the
 * scores are.  After two weeks it also stands in where the rank is among the four greatest scores
 * and it is less: one bad day is no measure of the next.  What three days reached is: the bound is
 * not under that then.  How far days lay apart before any of them was scored may be said, too
 * (conformal_expect()).
 */
#pragma once

#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CONFORMAL_KEPT = 250
}; /* number of scores kept; older ones say little about today's
      spread */

enum conformal_basis {
    CONFORMAL_PRIOR,  /* fewer than two days: what is taken for granted */
    CONFORMAL_NORMAL, /* too few for a rank: Student's t */
    CONFORMAL_RANK,
    CONFORMAL_BASES
};

struct conformal_score {
    int64_t day;
    double score;
};

struct conformal {
    ARRAY(double) scores;                /* the newest of them, sorted */
    ARRAY(struct conformal_score) order; /* the same, oldest first */
    size_t days;                         /* days that they are of */
    size_t days_seen;                    /* days of all scores so far, forgotten ones included */
    double target;                       /* share of misses that is asked for, under a half */
    double alpha;                        /* in use */
    double expected;         /* days of conformal_expect(), known before there are scores */
    double expected_squares; /* variance of logarithms between those days */
};

void conformal_init(struct conformal *conformal, double target);
void conformal_clear(struct conformal *conformal);

/* Sets, before there are scores, the variance of logarithms between so many days. */
void conformal_expect(struct conformal *conformal, double days, double squares);

/* The upper bound of the next score, with probability 1 - alpha. */
double conformal_upper(const struct conformal *conformal, enum conformal_basis *ret_basis);

/* What the bounds from one row of scores have in common, whatever share of misses each is for.
   Computed once, and valid until the next score comes. */
struct conformal_sight {
    double worth; /* the effective number of scores, in independent days */
    double alike; /* the correlation of the scores of one day, from 0 to 1; few days: nearly 1 */
    double mean;  /* mean of the next score */
    double deviation; /* deviation of the next score, by Student's t */
    double freedom;   /* with so many degrees */
    double reached;   /* the greatest score that three days reached; -HUGE_VAL: of fewer days */
};

struct conformal_sight conformal_look(const struct conformal *conformal);

/* A share of misses that is asked for, and the one in use. */
struct conformal_misses {
    double target; /* under a half */
    double alpha;
};

/* As conformal_upper(), for another share than the row's own. */
double conformal_upper_at(const struct conformal *conformal, const struct conformal_sight *sight,
                          const struct conformal_misses *misses, enum conformal_basis *ret_basis);

/* The lower bound of the next score, with probability 1 - target. */
double conformal_lower(const struct conformal *conformal);

/* Adds the score of a day, which is not earlier than those before it.  Whether it was over the
   conformal_upper() of that time, without the cap. */
void conformal_add(struct conformal *conformal, int64_t day, double score, bool is_miss);

/* The two halves of that: the score is kept, and a share learns whether its own bound was missed.
   A row with several shares calls these two. */
void conformal_keep(struct conformal *conformal, int64_t day, double score);
void conformal_adapt(struct conformal_misses *misses, bool is_miss);

/* "prior", "normal", "rank" */
const char *conformal_basis_name(enum conformal_basis basis);

/* The quantile at p >= 0.5 of Student's t-distribution with so many degrees of freedom (3 or more),
   to two per cent. */
double conformal_student(double p, double freedom);

/* Wilson's interval of a share: 95 of 100 such intervals hold the true one. */
void conformal_share(size_t hits, size_t count, double *ret_low, double *ret_high);
