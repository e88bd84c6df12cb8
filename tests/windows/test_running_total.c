/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters in the place of counts are refused, and demand is not, however it grows.
 */
#include "base/text.h"
#include "tests/windows/parsed.h"

#include <math.h>

/* What a row holds; `i`: its number; *total: what it may add up. */
typedef double value_fn(int i, int minutes, double *total, uint32_t *random);

static double noise(uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    return (double)(*random >> 8) / (1 << 24);
}

/* Arrivals of a day with its night, by chance. */
static double busy(int i, int minutes, double *total, uint32_t *random)
{
    double hour = fmod((double)i * minutes / 60, 24);

    (void)total;
    return floor(minutes * (10 + 8 * sin((hour - 9) / 12 * 3.14159) + 4 * noise(random)));
}

static double counter(int i, int minutes, double *total, uint32_t *random)
{
    return *total += busy(i, minutes, total, random);
}

/* A counter that counted for long before the file begins. */
static double old_counter(int i, int minutes, double *total, uint32_t *random)
{
    return 1e8 + counter(i, minutes, total, random);
}

/* Its program starts again every three days. */
static double counter_with_resets(int i, int minutes, double *total, uint32_t *random)
{
    if (i % (3 * 24 * 60 / minutes) == 0)
        *total = 0;
    return counter(i, minutes, total, random);
}

/* "So far today", of a shop that is closed for six hours. */
static double so_far_today(int i, int minutes, double *total, uint32_t *random)
{
    int hour = i * minutes / 60 % 24;

    if (i % (24 * 60 / minutes) == 0)
        *total = 0;
    return hour < 6 ? *total : counter(i, minutes, total, random);
}

/* Demand that rises from hour to hour, until the shop closes. */
static double until_closed(int i, int minutes, double *total, uint32_t *random)
{
    int hour = i * minutes / 60 % 24;

    (void)total, (void)random;
    return hour < 8 || hour > 21 ? 0 : (hour - 7) * 10 * minutes;
}

/* The sum of ten programs' counters, of which one starts again now and then. */
static double summed_counters(int i, int minutes, double *total, uint32_t *random)
{
    if (i % 200 == 199)
        *total *= 0.9;
    return counter(i, minutes, total, random);
}

/* A counter that seldom grows: a request in ten steps. */
static double rare_counter(int i, int minutes, double *total, uint32_t *random)
{
    (void)i, (void)minutes;
    return *total += noise(random) < 0.1 ? 1 : 0;
}

static double fractions(int i, int minutes, double *total, uint32_t *random)
{
    return counter(i, minutes, total, random) / 7;
}

static double steady(int i, int minutes, double *total, uint32_t *random)
{
    (void)i, (void)total, (void)random;
    return 30 * minutes;
}

/* No chance at all: what a generator of tests writes. */
static double smooth(int i, int minutes, double *total, uint32_t *random)
{
    (void)total, (void)random;
    return floor(1000 * minutes * (2 + sin((double)i * minutes / 1440 * 6.28318)));
}

static double rare(int i, int minutes, double *total, uint32_t *random)
{
    (void)i, (void)minutes, (void)total;
    return noise(random) < 0.1 ? 1 : 0;
}

/* Nothing at night, one number by day. */
static double on_off(int i, int minutes, double *total, uint32_t *random)
{
    (void)total, (void)random;
    return i * minutes / 60 % 24 >= 8 ? 50 * minutes : 0;
}

/* Fivefold within the file. */
static double growing(int i, int minutes, double *total, uint32_t *random)
{
    return floor(busy(i, minutes, total, random) * (1 + (double)i * minutes / 5000));
}

/* A fleet of clients that ask once a minute each: a few more each day. */
static double clients(int i, int minutes, double *total, uint32_t *random)
{
    (void)total, (void)random;
    return minutes * (1000 + floor((double)i * minutes / 60));
}

/* Of a test of load, for an hour or ten. */
static double ramp(int i, int minutes, double *total, uint32_t *random)
{
    (void)minutes, (void)total, (void)random;
    return i;
}

static const struct {
    const char *name;
    value_fn *value;
    int minutes;
    int hours;
    const char *queue;
    bool is_total;
} courses[] = {
    { "a counter", counter, 5, 28 * 24, "chat", true },
    { "of hours", counter, 60, 4 * 24, "chat", true },
    { "of one day and an hour", counter, 5, 25, "chat", true },
    { "an old one", old_counter, 5, 7 * 24, "chat", true },
    { "with resets", counter_with_resets, 5, 28 * 24, "chat", true },
    { "of each day, by the hour", so_far_today, 60, 14 * 24, "chat", true },
    { "of each day, by the half hour", so_far_today, 30, 14 * 24, "chat", true },
    { "that rise until the shop closes", until_closed, 60, 28 * 24, "chat", false },
    { "of several programs", summed_counters, 5, 28 * 24, "chat", true },
    { "a rare one", rare_counter, 5, 28 * 24, "chat", true },
    { "with fractions", fractions, 5, 28 * 24, "chat", true },
    { "a short one with its name", counter, 5, 2, "requests_total", true },
    { "and with labels", counter, 5, 2, "requests_total{queue=\"\"chat\"\"}", true },
    { "arrivals", busy, 5, 28 * 24, "chat", false },
    { "of minutes", busy, 1, 3 * 24, "chat", false },
    { "of hours", busy, 60, 28 * 24, "chat", false },
    { "with a counter's name", busy, 5, 28 * 24, "requests_total", false },
    { "one number", steady, 5, 7 * 24, "requests_total", false },
    { "of a generator", smooth, 5, 7 * 24, "chat", false },
    { "and few", smooth, 60, 28 * 24, "chat", false },
    { "seldom any", rare, 5, 28 * 24, "chat", false },
    { "by day only", on_off, 5, 28 * 24, "chat", false },
    { "that grow", growing, 5, 28 * 24, "chat", false },
    { "of more and more clients", clients, 5, 14 * 24, "chat", false },
    { "a ramp of an hour", ramp, 1, 1, "chat", false },
    { "a ramp of ten", ramp, 5, 10, "chat", false },
    { "two rows with a counter's name", counter, 60, 2, "chat_total", false },
};

static void a_running_total_is_refused_and_demand_is_not(void **state)
{
    static const char want[] = "running total (a counter), and not the requests of each step";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(courses); i++)
        for (int form = 0; form < 3; form++) {
            owned(text) struct text *csv = text_new(4 << 20);
            struct error err = { 0 };
            uint32_t random = 7;
            double total = 0;

            if (form == 1)
                text_add(csv, "t,\"%s\"\n", courses[i].queue);
            else
                text_add(csv, "t,count,queue%s\n", form == 2 ? ",priority" : "");
            for (int at = 0; at * courses[i].minutes < courses[i].hours * 60; at++) {
                char time[WALL_TEXT_SIZE];

                wall_format((struct wall_time){ 1794787200000 +
                                                at * courses[i].minutes * (int64_t)MINUTE_MS },
                            time);
                text_add(csv, "%s,%.2f", time,
                         courses[i].value(at, courses[i].minutes, &total, &random));
                if (form != 1)
                    text_add(csv, ",\"%s\"", courses[i].queue);
                text_add(csv, "%s\n", form == 2 ? ",high" : "");
            }

            owned(demand) struct demand *demand = parse(csv->chars, NULL, false, &err);

            if ((demand == NULL) != courses[i].is_total || (!demand && !strstr(err.text, want)))
                fail_msg("%s (form %d): %s", courses[i].name, form, demand ? "accepted" : err.text);
        }
}

/* A rate may rise for as long as it likes: its unit says that it is none of a counter. */
static void a_rate_is_no_running_total(void **state)
{
    owned(text) struct text *csv = text_new(1 << 20);
    struct error err = { 0 };

    (void)state;
    text_add(csv, "t,count\n");
    for (int i = 0; i < 600; i++)
        text_add(csv, "2026-11-%02d %02d:%02d,%d/min\n", 2 + i / 288, i % 288 / 12, i % 12 * 5, i);

    owned(demand) struct demand *demand = parse(csv->chars, NULL, false, &err);

    if (!demand)
        fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_total_is_refused_and_demand_is_not),
        cmocka_unit_test(a_rate_is_no_running_total),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
