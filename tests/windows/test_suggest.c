/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Proposed windows: the cut against every other cut, and whole weeks whose best windows are known.
 */
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/calendar/suggest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SMALL = 11 };

static double cost_of(const double *profile, size_t slots, const size_t *starts, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        size_t end = i + 1 < count ? starts[i + 1] : slots;
        double level = 0;

        for (size_t at = starts[i]; at < end; at++)
            level = fmax(level, profile[at]);
        sum += level * (double)(end - starts[i]);
    }
    return sum;
}

/* Every set of boundaries is one mask. */
static double best_by_trying(const double *profile, size_t count, size_t shortest)
{
    double best = HUGE_VAL;

    for (unsigned mask = 0; mask < 1u << (SMALL - 1); mask++) {
        size_t starts[SMALL] = { 0 };
        size_t found = 1;
        bool fits = true;

        for (size_t at = 1; at < SMALL; at++)
            if (mask >> (at - 1) & 1)
                starts[found++] = at;
        for (size_t i = 0; i < found; i++)
            fits = fits && (i + 1 < found ? starts[i + 1] : SMALL) - starts[i] >= shortest;
        if (fits && found == count)
            best = fmin(best, cost_of(profile, SMALL, starts, count));
    }
    return best;
}

static void the_cut_is_the_best_of_all(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 7);
    for (int round = 0; round < 200; round++) {
        double profile[SMALL];
        double costs[5];
        size_t shortest = 1 + (size_t)round % 3;

        for (size_t i = 0; i < SMALL; i++)
            profile[i] = (double)(random_next(&random) % (round % 2 ? 5 : 100));
        for (size_t count = 1; count <= 5; count++) {
            size_t starts[5];
            double want = best_by_trying(profile, count, shortest);

            suggest_cut(&(struct suggest_profile){ profile, SMALL, shortest }, count, costs,
                        starts);
            for (size_t k = 0; k < count; k++)
                assert_true(costs[k] == best_by_trying(profile, k + 1, shortest));
            if (isfinite(want))
                assert_true(cost_of(profile, SMALL, starts, count) == want);
        }
    }
}

/* The windows as YAML, read as the configuration would. */
static struct window_set *windows_of(const struct suggestion *found, struct error *err)
{
    owned(text) struct text *text = text_new(1 << 16);

    for (size_t i = 0; i < found->count; i++) {
        const struct suggest_window *window = &found->windows[i];
        const char *between = "";

        text_add(text, "w%zu: {days: [", i);
        for (int day = 0; day < 7; day++)
            if (window->days >> day & 1) {
                text_add(text, "%s%.3s", between, &"montuewedthufrisatsun"[3 * day]);
                between = ", ";
            }
        text_add(text, "], from: '%02d:%02d', to: '%02d:%02d'}\n", window->from_minute / 60,
                 window->from_minute % 60, window->to_minute / 60, window->to_minute % 60);
    }

    owned(yaml_document) struct yaml_document *document = yaml_parse(text->chars, text->length, "s",
                                                                     err);

    return document ? window_set_read(yaml_root(document), time_zone_open("UTC", NULL), err) : NULL;
}

/* A need per hour of weekday and weekend; `shift` moves the day's beginning. */
static void make_week(double need[SUGGEST_WEEK], int shift)
{
    for (int at = 0; at < SUGGEST_WEEK; at++) {
        int minute = (at * 5 - shift + 2 * WINDOW_MINUTES) % WINDOW_MINUTES;
        int day = minute / 1440;
        int of_day = minute % 1440;

        if (day < 5)
            need[at] = of_day < 30 ? 50 : of_day < 270 ? 100 : of_day < 720 ? 50 : 20;
        else
            need[at] = of_day < 720 ? 40 : 15;
    }
}

static void planted_windows_are_found(void **state)
{
    static const int shifts[] = { 0, 480, 510, 1435, 22 * 60 };
    double need[SUGGEST_WEEK];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shifts); i++) {
        struct error err = { 0 };

        make_week(need, shifts[i]);

        struct suggestion found = suggest_windows(need, 6, 6);
        owned(window_set) struct window_set *set = windows_of(&found, &err);

        if (!set)
            fail_msg("shift %d: %s", shifts[i], err.text);
        assert_int_equal(found.count, 6);
        assert_true(fabs(found.hours - found.floor_hours) < 1e-6);
        assert_true(fabs(suggest_hours_of(set, need) - found.hours) < 1e-6);
        assert_true(found.peak_hours == 100.0 * 168);
    }
}

/* With fewer windows than turns, with a shortest length, and with noise: what is proposed is a
   week that can be read, and costs what it says. */
static void what_is_proposed_costs_what_it_says(void **state)
{
    struct random random;
    double need[SUGGEST_WEEK];
    double last = HUGE_VAL;

    (void)state;
    random_seed(&random, 3);
    make_week(need, 495);
    for (size_t i = 0; i < SUGGEST_WEEK; i++)
        need[i] = i % 97 == 0 ? -1 : need[i] + (double)(random_next(&random) % 7);
    for (size_t count = 2; count <= 8; count += 2) {
        struct error err = { 0 };
        struct suggestion found = suggest_windows(need, count, 12);
        owned(window_set) struct window_set *set = windows_of(&found, &err);

        if (!set)
            fail_msg("%zu windows: %s", count, err.text);
        assert_true(found.count <= count);
        assert_true(fabs(suggest_hours_of(set, need) - found.hours) < 1e-6);
        assert_true(found.hours <= last && found.hours >= found.floor_hours &&
                    found.hours <= found.peak_hours);
        last = found.hours;
        for (size_t i = 0; i < found.count; i++) {
            const struct suggest_window *window = &found.windows[i];
            int length = (window->to_minute - window->from_minute + 1439) % 1440 + 1;

            assert_true(length >= 60);
        }
    }
}

static void rates_are_the_highest_of_their_slot_of_the_week(void **state)
{
    static const char *const steps[] = { "minute", "hour" };
    owned(window_set) struct window_set *set = window_set_read(NULL, time_zone_open("UTC", NULL),
                                                               NULL);

    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(steps); kind++) {
        int64_t step_ms = kind == 0 ? MINUTE_MS : HOUR_MS;
        owned(text) struct text *csv = text_new(4 << 20);
        struct demand_options options = { 0 };
        double rates[SUGGEST_WEEK];

        text_add(csv, "t,count\n");
        for (int64_t at = 0; at < 2 * WEEK_MS; at += step_ms) {
            char time[WALL_TEXT_SIZE];
            int64_t hour = at / HOUR_MS;

            if (hour == 30) /* nothing is known of it in one week, */
                continue;
            if (hour == 40 || hour == 40 + 168) /* or in both */
                continue;
            text_add(csv, "%s,%" PRId64 "\n",
                     wall_format((struct wall_time){ civil_day(2026, 11, 16) * DAY_MS + at }, time),
                     (hour == 50   ? 9
                      : hour < 168 ? 3
                                   : 6) *
                         step_ms / SECOND_MS);
        }

        owned(demand) struct demand *demand = demand_parse(csv->chars, csv->length, "q.csv",
                                                           &options, NULL);

        assert_non_null(demand);
        suggest_rates(&demand->series[0], set, NULL, rates);
        for (size_t i = 0; i < SUGGEST_WEEK; i++) {
            size_t hour = i / 12;
            double want = hour == 40 ? -1 : hour == 50 ? 9 : 6;

            assert_true(fabs(rates[i] - want) < 1e-9);
        }

        /* the second Monday was no Monday */
        owned(odd_days) struct odd_days odd = { 0 };

        *array_add(&odd.list) = (struct odd_day){ .day = civil_day(2026, 11, 23) };
        suggest_rates(&demand->series[0], set, &odd, rates);
        assert_true(fabs(rates[0] - 3) < 1e-9 && fabs(rates[SUGGEST_DAY - 1] - 3) < 1e-9);
        assert_true(fabs(rates[SUGGEST_DAY] - 6) < 1e-9);
    }
}

/* A need by day and a small one at night, in each hour of `days` but those from..to. */
static void make_holes(double rates[SUGGEST_WEEK], unsigned days, int from, int to)
{
    for (int at = 0; at < SUGGEST_WEEK; at++) {
        int hour = at % SUGGEST_DAY / 12;
        bool is_hole = (days >> at / SUGGEST_DAY & 1) && hour >= from && hour < to;

        rates[at] = is_hole ? -1 : hour >= 8 && hour < 18 ? 20 + hour % 3 : 4;
    }
}

/* The hours that nothing is known of are those of the day's peak: they need what the hours beside
   them need, and no window begins or ends within. */
static void unknown_hours_join_those_beside_them(void **state)
{
    static const struct {
        unsigned days;
        int from, to;
        double want; /* in the hole */
    } holes[] = {
        { 0x1f, 10, 15, 20 }, { 0x7f, 10, 15, 20 }, { 0x60, 22, 24, 4 },  { 0x7f, 0, 7, 4 },
        { 0x7f, 6, 8, 22 },   { 0x1f, 18, 24, 22 }, { 0x03, 10, 15, 22 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(holes); i++) {
        double rates[SUGGEST_WEEK];
        double joined[SUGGEST_WEEK];
        struct error err = { 0 };

        make_holes(rates, holes[i].days, holes[i].from, holes[i].to);
        memcpy(joined, rates, sizeof joined);
        suggest_join(joined);
        for (size_t at = 0; at < SUGGEST_WEEK; at++) {
            if (rates[at] >= 0)
                assert_true(joined[at] == rates[at]);
            else if (holes[i].days != 0x03 && joined[at] != holes[i].want)
                fail_msg("hole %zu, slot %zu: %g", i, at, joined[at]);
            assert_true(joined[at] >= 4);
        }
        assert_int_equal(suggest_check(joined, &err), 0);
        for (size_t count = 2; count <= 8; count++) {
            struct suggestion found = suggest_windows(joined, count, 1);

            for (size_t at = 0; at < found.count; at++) {
                const struct suggest_window *window = &found.windows[at];
                int begin = window->from_minute / 60;

                if ((window->days & holes[i].days) == window->days && begin > holes[i].from &&
                    begin < holes[i].to && holes[i].days != 0x03)
                    fail_msg("hole %zu, %zu windows: one begins at %d:00", i, count, begin);
                assert_true(window->level >= 4);
            }
        }
    }
}

/* A day of the other kind says nothing of these. */
static void days_that_nothing_is_known_of_are_refused(void **state)
{
    static const struct {
        unsigned days;
        const char *want;
    } unknown[] = {
        { 0x60, "the demand says nothing of Saturdays and Sundays" },
        { 0x1f, "the demand says nothing of Mondays to Fridays" },
        { 0x7f, "the demand says nothing of Mondays to Fridays" },
        { 0x40, NULL },
        { 0x0f, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        double rates[SUGGEST_WEEK];
        struct error err = { 0 };

        make_holes(rates, unknown[i].days, 0, 24);
        suggest_join(rates);
        assert_int_equal(suggest_check(rates, &err), unknown[i].want ? -1 : 0);
        if (unknown[i].want && !strstr(err.text, unknown[i].want))
            fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cut_is_the_best_of_all),
        cmocka_unit_test(planted_windows_are_found),
        cmocka_unit_test(what_is_proposed_costs_what_it_says),
        cmocka_unit_test(unknown_hours_join_those_beside_them),
        cmocka_unit_test(days_that_nothing_is_known_of_are_refused),
        cmocka_unit_test(rates_are_the_highest_of_their_slot_of_the_week),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
