/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bounds against their own law: ranks, margins of few scores, and the share of misses of rows of
 * scores that were made so that it is known.
 */
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/forecast/conformal.h"

#include <math.h>

/* The bound is that score, over which there are so many; of the four greatest it may be less. */
static void check_rank(double upper, double score, size_t over)
{
    if (over >= 4)
        assert_true(fabs(upper - score) < 1e-12);
    else
        assert_true(upper < score + 1e-12 && upper > 0.5 * score);
}

static void the_rank_is_that_of_split_conformal(void **state)
{
    static const struct {
        size_t count; /* each of a day of its own */
        double target;
        size_t rank; /* 1 is the smallest score; 0: none is used */
        enum conformal_basis basis;
    } rows[] = {
        { 0, 0.1, 0, CONFORMAL_PRIOR },    { 1, 0.1, 0, CONFORMAL_PRIOR },
        { 2, 0.1, 0, CONFORMAL_NORMAL },   { 18, 0.1, 0, CONFORMAL_NORMAL },
        { 19, 0.1, 18, CONFORMAL_RANK },   { 29, 0.1, 27, CONFORMAL_RANK },
        { 30, 0.1, 28, CONFORMAL_RANK },   { 99, 0.1, 90, CONFORMAL_RANK },
        { 98, 0.02, 0, CONFORMAL_NORMAL }, { 99, 0.02, 98, CONFORMAL_RANK },
        { 5, 0.3, 0, CONFORMAL_NORMAL },   { 6, 0.3, 5, CONFORMAL_RANK },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct conformal conformal;
        enum conformal_basis basis;
        size_t count = rows[row].count;

        conformal_init(&conformal, rows[row].target);
        for (size_t i = 0; i < count; i++)
            conformal_add(&conformal, (int64_t)i, (double)((i * 37) % count), false);
        conformal.alpha = rows[row].target;

        double upper = conformal_upper(&conformal, &basis);

        assert_int_equal(basis, rows[row].basis);
        if (rows[row].rank > 0) {
            check_rank(upper, (double)(rows[row].rank - 1), count - rows[row].rank);
            assert_true(fabs(conformal_lower(&conformal) - (double)(count - rows[row].rank)) <
                        1e-12);
        }
        conformal_clear(&conformal);
    }
}

/* Five scores a day, which are all the same, or of which nothing but the time of day says what they
   are. */
static void alike_scores_count_for_less(void **state)
{
    static const struct {
        bool are_alike;
        size_t days;
        size_t rank;
        enum conformal_basis basis;
    } rows[] = {
        { true, 1, 0, CONFORMAL_PRIOR },   { true, 10, 0, CONFORMAL_NORMAL },
        { true, 11, 54, CONFORMAL_RANK },  { true, 50, 230, CONFORMAL_RANK },
        { false, 1, 0, CONFORMAL_PRIOR },  { false, 4, 0, CONFORMAL_NORMAL },
        { false, 11, 52, CONFORMAL_RANK }, { false, 50, 227, CONFORMAL_RANK },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct conformal conformal;
        enum conformal_basis basis;
        double upper;

        conformal_init(&conformal, 0.1);
        for (size_t i = 0; i < 5 * rows[row].days; i++)
            conformal_add(&conformal, (int64_t)i / 5, (double)(rows[row].are_alike ? i / 5 : i % 5),
                          false);
        conformal.alpha = 0.1;
        upper = conformal_upper(&conformal, &basis);
        assert_int_equal(basis, rows[row].basis);
        if (rows[row].rank > 0)
            check_rank(upper, conformal.scores.items[rows[row].rank - 1],
                       conformal.scores.count - rows[row].rank);
        if (rows[row].rank > 0)
            assert_true(fabs(conformal_lower(&conformal) -
                             conformal.scores.items[5 * rows[row].days - rows[row].rank]) < 1e-12);
        conformal_clear(&conformal);
    }
}

/* Of a hundred and twenty days two were mad: that is no measure of the next one in fifty.  What
   three days reached is one. */
static void what_three_days_reached_is_a_measure_of_the_next(void **state)
{
    static const struct {
        int64_t every; /* days, from one mad day to the next */
        double least;
        double most;
    } rows[] = { { 60, 0, 1 }, { 40, 3, 3 }, { 24, 3, 3 } };
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        struct conformal conformal;
        enum conformal_basis basis;
        double upper;

        conformal_init(&conformal, 0.02);
        for (int64_t day = 0; day < 120; day++) {
            bool is_mad = day % rows[row].every == 20;

            conformal_add(&conformal, day, is_mad ? 3 : 0.1 * random_normal(&random), false);
        }
        conformal.alpha = 0.02;
        upper = conformal_upper(&conformal, &basis);
        assert_true(upper >= rows[row].least && upper <= rows[row].most);
        assert_int_equal(basis, CONFORMAL_RANK);
        conformal_clear(&conformal);
    }
}

/* The same with twenty windows a day, of which fewer than fourteen days are kept. */
static void one_window_is_no_measure_of_the_next_however_many_a_day(void **state)
{
    struct conformal conformal;
    struct random random;
    enum conformal_basis basis;

    (void)state;
    random_seed(&random, 3);
    conformal_init(&conformal, 0.05);
    for (int64_t at = 0; at < 60 * 20; at++)
        conformal_add(&conformal, at / 20, at % 125 == 60 ? 3 : 0.1 * random_normal(&random),
                      false);
    conformal.alpha = 0.025;
    assert_true(conformal.days < 14);
    assert_true(conformal_upper(&conformal, &basis) < 1);
    assert_int_equal(basis, CONFORMAL_RANK);
    conformal_clear(&conformal);
}

/* Before a day was scored, those that were seen tell how far days lie apart. */
static void what_was_seen_stands_in_for_scores(void **state)
{
    struct conformal conformal;
    enum conformal_basis basis;
    double usual;

    (void)state;
    conformal_init(&conformal, 0.1);
    usual = conformal_upper(&conformal, &basis);
    conformal_expect(&conformal, 7, 0.05 * 0.05);
    /* squares 3 * 0.125^2 + 7 * 0.05^2 over 10; t(10) and sqrt(1 + 1/4.5) */
    assert_true(fabs(conformal_upper(&conformal, &basis) - 1.3722 * 0.080234 * 1.105542) < 2e-3);
    assert_int_equal(basis, CONFORMAL_PRIOR);
    conformal_expect(&conformal, 7, 0.01 * 0.01); /* 0.1 at least */
    assert_true(fabs(conformal_upper(&conformal, &basis) - 1.3722 * 0.055408 * 1.105542) < 2e-3);
    conformal_expect(&conformal, 2, 0); /* two days may be alike by chance: 0.25, over five */
    assert_true(conformal_upper(&conformal, &basis) > 1.4759 * 0.193649);
    conformal_expect(&conformal, 7, 1);
    assert_true(conformal_upper(&conformal, &basis) > usual);
    conformal_clear(&conformal);
}

static void what_is_forgotten_takes_its_days_along(void **state)
{
    struct conformal conformal;
    enum conformal_basis basis;

    (void)state;
    conformal_init(&conformal, 0.1);
    for (int64_t i = 0; i < 3 * CONFORMAL_KEPT; i++)
        conformal_add(&conformal, i / 5, i < 2 * CONFORMAL_KEPT ? 1000 : 1, false);
    assert_int_equal(conformal.scores.count, CONFORMAL_KEPT);
    assert_int_equal(conformal.order.count, CONFORMAL_KEPT);
    assert_int_equal(conformal.days, CONFORMAL_KEPT / 5);
    assert_true(conformal_upper(&conformal, &basis) < 2);
    conformal_clear(&conformal);
}

static void students_law_is_met(void **state)
{
    static const struct {
        double p;
        double freedom;
        double want;
    } rows[] = {
        { 0.9, 3, 1.6377 },  { 0.9, 10, 1.3722 },   { 0.95, 4, 2.1318 },
        { 0.75, 3, 0.7649 }, { 0.975, 20, 2.0860 }, { 0.9, 1e9, 1.2816 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++)
        assert_true(fabs(conformal_student(rows[row].p, rows[row].freedom) / rows[row].want - 1) <
                    0.02);
}

static void few_scores_get_a_margin_that_stays_sane(void **state)
{
    static const double negligible[] = { 0.01, -0.02, 0.03, 0.0, 0.02, -0.01, 0.04 };
    struct conformal conformal;
    enum conformal_basis basis;
    double first;

    (void)state;
    conformal_init(&conformal, 0.1);
    /* without a score: 0.25 t(3) sqrt(2) */
    first = conformal_upper(&conformal, &basis);
    assert_int_equal(basis, CONFORMAL_PRIOR);
    assert_true(fabs(first / (0.25 * 1.6377 * sqrt(2)) - 1) < 0.01);
    assert_true(fabs(conformal_lower(&conformal) + first) < 1e-12);
    for (size_t i = 0; i < COUNT_OF(negligible); i++)
        conformal_add(&conformal, (int64_t)i, negligible[i], false);
    conformal.alpha = 0.1;
    /* mean 0.07/8; squares 3 * 0.25^2 + 0.0028875 + ..., over 10; t(10) and sqrt(9/8) */
    assert_true(fabs(conformal_upper(&conformal, &basis) - 0.20957) < 2e-3);
    assert_true(fabs(conformal_lower(&conformal) - (2 * 0.07 / 8 - 0.20957)) < 2e-3);
    assert_int_equal(basis, CONFORMAL_NORMAL);
    conformal_clear(&conformal);
    conformal_init(&conformal, 0.1);
    conformal_add(&conformal, 1, -3, false);
    conformal_add(&conformal, 2, 3, true);
    assert_true(conformal_upper(&conformal, &basis) < 4);
    conformal_clear(&conformal);
}

/* A row of scores: so many, correlated with the one before, and from half-way on another spread and
   place. */
struct row {
    const char *name;
    int count;
    double correlation;
    double spread;
    double shift;
    int low; /* misses */
    int high;
};

static int misses_of(const struct row *row)
{
    struct conformal conformal;
    struct random random;
    double score = 0;
    int misses = 0;

    random_seed(&random, 5);
    conformal_init(&conformal, 0.1);
    for (int i = 0; i < row->count; i++) {
        bool is_late = 2 * i >= row->count;
        enum conformal_basis basis;
        double noise = random_normal(&random) * (is_late ? row->spread : 1);

        score = row->correlation * score + sqrt(1 - row->correlation * row->correlation) * noise;

        double shifted = score + (is_late ? row->shift : 0);
        bool is_miss = shifted > conformal_upper(&conformal, &basis);

        misses += is_miss;
        conformal_add(&conformal, i, shifted, is_miss);
    }
    conformal_clear(&conformal);
    return misses;
}

static void the_share_of_misses_is_what_was_asked_for(void **state)
{
    /* 200 are asked for; three deviations of a binomial are 40. */
    static const struct row rows[] = {
        { "exchangeable", 2000, 0, 1, 0, 160, 240 },
        { "each like the one before", 2000, 0.8, 1, 0, 150, 250 },
        { "spread doubles", 2000, 0, 2, 0, 170, 250 },
        { "level shifts by three deviations", 2000, 0, 1, 3, 180, 280 },
    };

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        int misses = misses_of(&rows[row]);

        if (misses < rows[row].low || misses > rows[row].high)
            fail_msg("%s: %d misses of %d", rows[row].name, misses, rows[row].count);
    }
}

/* Of `weeks` weeks of five windows a day, the share of the second week's that were over their
   bound: a day is busy or quiet as a whole, and each window has a little of its own.  spread: a
   deviation, of which `shared` is the day's. */
static double share_missed(int weeks, double spread, double shared)
{
    enum { DAYS = 14, WINDOWS = 5 };
    struct random random;
    int misses = 0;
    int count = 0;

    random_seed(&random, 7);
    for (int week = 0; week < weeks; week++) {
        struct conformal conformal;

        conformal_init(&conformal, 0.1);
        for (int day = 0; day < DAYS; day++) {
            double level = random_normal(&random);
            double scores[WINDOWS];
            bool are_missed[WINDOWS];

            /* All are predicted before the first of them is known. */
            for (int i = 0; i < WINDOWS; i++) {
                enum conformal_basis basis;

                scores[i] = spread *
                            (sqrt(shared) * level + sqrt(1 - shared) * random_normal(&random));
                are_missed[i] = scores[i] > conformal_upper(&conformal, &basis);
                misses += day >= DAYS / 2 && are_missed[i];
                count += day >= DAYS / 2;
            }
            for (int i = 0; i < WINDOWS; i++)
                conformal_add(&conformal, day, scores[i], are_missed[i]);
        }
        conformal_clear(&conformal);
    }
    return (double)misses / count;
}

static void few_days_of_many_windows_are_few(void **state)
{
    (void)state;
    for (int row = 0; row < 3; row++) {
        double shared = 0.4 * row;
        double missed = share_missed(2000, 0.25, shared);

        if (missed < 0.05 || missed > 0.1)
            fail_msg("%.3f of the second week missed, of a day's own %.1f", missed, shared);
    }
}

static void a_share_has_wilsons_interval(void **state)
{
    double low;
    double high;

    (void)state;
    conformal_share(9, 10, &low, &high);
    assert_true(fabs(low - 0.5958500) < 1e-6 && fabs(high - 0.9821238) < 1e-6);
    conformal_share(0, 0, &low, &high);
    assert_true(low <= 0 && high >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_is_that_of_split_conformal),
        cmocka_unit_test(what_three_days_reached_is_a_measure_of_the_next),
        cmocka_unit_test(one_window_is_no_measure_of_the_next_however_many_a_day),
        cmocka_unit_test(what_was_seen_stands_in_for_scores),
        cmocka_unit_test(students_law_is_met),
        cmocka_unit_test(few_scores_get_a_margin_that_stays_sane),
        cmocka_unit_test(alike_scores_count_for_less),
        cmocka_unit_test(what_is_forgotten_takes_its_days_along),
        cmocka_unit_test(few_days_of_many_windows_are_few),
        cmocka_unit_test(the_share_of_misses_is_what_was_asked_for),
        cmocka_unit_test(a_share_has_wilsons_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
