/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The level of hours: how much of it noise hides, and how long it lasts.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "tests/support/unit.h"
#include "windows/forecast/level_filter.h"

#include <math.h>

enum { MOST = 4000 };

/* A level that returns to zero, and noise: together of variance 0.04. */
struct process {
    const char *name;
    double share; /* of the variance, that is the level's */
    double left;  /* of the level after an hour */
};

static void play(const struct process *process, struct level_sample samples[MOST], size_t count)
{
    struct random random;
    double level = 0;

    random_seed(&random, random_mix(3, process->name, 0, 0));
    for (size_t i = 0; i < count; i++) {
        double step = sqrt(process->share * (1 - process->left * process->left));

        level = process->left * level + step * random_normal(&random);
        samples[i] = (struct level_sample){
            .end_ms = (int64_t)i * HOUR_MS,
            .value = 0.2 * (level + sqrt(1 - process->share) * random_normal(&random)),
            .weight = 1,
        };
    }
}

static void hours_tell_how_long_a_level_lasts(void **state)
{
    static const struct process rows[] = {
        { "lasting", 0.9, 0.97 },
        { "half noise", 0.5, 0.9 },
        { "short", 0.8, 0.6 },
    };
    static struct level_sample samples[MOST];

    (void)state;
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        double far = rows[row].share * pow(rows[row].left, 4);
        struct level_filter level;

        play(&rows[row], samples, MOST);
        level = level_filter(samples, MOST, samples[MOST - 1].end_ms);
        if (fabs(level.left - rows[row].left) > 0.06 || fabs(level.persistence - far) > 0.06)
            fail_msg("%s: %.3f left, correlation %.3f, and not %.3f", rows[row].name, level.left,
                     level.persistence, far);
    }
}

/* Its level is nearer to the next hour than the last hour is, and than nothing is. */
static void a_filter_foretells_better_than_the_last_hour(void **state)
{
    static const struct process half = { "half noise", 0.5, 0.9 };
    static struct level_sample samples[MOST];
    double by_filter = 0, by_last = 0, by_nothing = 0;

    (void)state;
    play(&half, samples, MOST);
    for (size_t i = 300; i + 1 < MOST; i += 7) {
        double next = samples[i + 1].value;
        struct level_filter level = level_filter(samples + i - 299, 300, samples[i + 1].end_ms);

        by_filter += pow(next - level.value, 2);
        by_last += pow(next - samples[i].value, 2);
        by_nothing += pow(next, 2);
    }
    if (by_filter > 0.73 * by_last || by_filter > 0.76 * by_nothing)
        fail_msg("errors: %.3f; last hour %.3f, nothing %.3f", by_filter, by_last, by_nothing);
}

static void odd_hours_have_an_answer(void **state)
{
    struct level_sample samples[MOST] = { 0 };
    struct level_filter level = level_filter(samples, 0, 0);

    (void)state;
    assert_true(level.value == 0 && level.persistence < LEVEL_LASTS);
    for (size_t i = 0; i < 100; i++)
        samples[i] = (struct level_sample){ (int64_t)i * HOUR_MS, 0, 1 };
    level = level_filter(samples, 100, 100 * (int64_t)HOUR_MS);
    assert_true(level.value == 0 && level.persistence < LEVEL_LASTS);
    for (size_t i = 0; i < 100; i++)
        samples[i].value = i % 2 ? 0.2 : -0.2; /* each hour is the contrary of the last one */
    level = level_filter(samples, 100, 100 * (int64_t)HOUR_MS);
    assert_true(fabs(level.value) < 0.05);
    for (size_t i = 0; i < 100; i++)
        samples[i].value = 0.2; /* all day, for days: a shift is a level */
    level = level_filter(samples, 100, 99 * (int64_t)HOUR_MS);
    assert_true(level.value > 0.15 && level.persistence > LEVEL_LASTS);
    assert_true(level_filter(samples, 100, 149 * (int64_t)HOUR_MS).value < 0.7 * level.value);
    for (size_t i = 90; i < 100; i++)
        samples[i] = (struct level_sample){ (int64_t)i * HOUR_MS, -0.6, 0 }; /* do not count */
    assert_true(level_filter(samples, 100, 99 * (int64_t)HOUR_MS).value > 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hours_tell_how_long_a_level_lasts),
        cmocka_unit_test(a_filter_foretells_better_than_the_last_hour),
        cmocka_unit_test(odd_hours_have_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
