/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The closed forms against reference.csv, whose values were computed with 50 digits from the direct
 * sums, and against the laws that hold for all of them.
 */
#include "tests/support/unit.h"
#include "windows/servers/erlang.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "c=3;lambda=0.1": the number after NAME=. */
static double number_of(const char *parameters, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = parameters; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return strtod(at + length + 1, NULL);
    }
    fail_msg("no %s in %s", name, parameters);
    return NAN;
}

static double class_mean_of(struct station station, const char *parameters)
{
    double lambdas[3];
    const char *at = strstr(parameters, "lambdas=") + 8;

    for (size_t i = 0; i < 3; i++) {
        char *end;

        lambdas[i] = strtod(at, &end);
        at = end + 1;
    }
    return erlang_class_mean(station, lambdas, 3, (size_t)number_of(parameters, "class") - 1);
}

static double two_class_value(const char *kind, struct station station, const char *parameters)
{
    double rates[2] = { number_of(parameters, "lambda1"), number_of(parameters, "lambda2") };

    if (strcmp(kind, "prio_mean_wait_high") == 0)
        return erlang_class_mean(station, rates, 2, 0);
    if (strcmp(kind, "prio_mean_wait_low") == 0)
        return erlang_class_mean(station, rates, 2, 1);
    if (strcmp(kind, "prio_wait_quantile_high") == 0)
        return erlang_high_quantile(station, rates[0], rates[1], number_of(parameters, "p"));
    if (strcmp(kind, "prio_wait_quantile_low") == 0)
        return erlang_low_quantile(station, rates[0], rates[1], number_of(parameters, "p"));
    assert_string_equal(kind, "prio_tail_low");
    return erlang_low_tail(station, rates[0], rates[1], number_of(parameters, "t"));
}

static double value_of(const char *kind, const char *parameters)
{
    if (strcmp(kind, "mmc_min_c_p98") == 0)
        return erlang_servers(number_of(parameters, "lambda"), number_of(parameters, "mu"), 0.98,
                              number_of(parameters, "T"));

    int servers = (int)number_of(parameters, "c");

    if (strcmp(kind, "erlang_b") == 0)
        return erlang_b(servers, number_of(parameters, "a"));
    if (strcmp(kind, "erlang_c") == 0)
        return erlang_c(servers, number_of(parameters, "a"));

    struct station station = { servers, number_of(parameters, "mu") };

    if (strcmp(kind, "mmc_mean_wait") == 0)
        return erlang_mean_wait(station, number_of(parameters, "lambda"));
    if (strcmp(kind, "mmc_wait_quantile") == 0)
        return erlang_quantile(station, number_of(parameters, "lambda"),
                               number_of(parameters, "p"));
    if (strcmp(kind, "mmc_tail") == 0)
        return erlang_tail(station, number_of(parameters, "lambda"), number_of(parameters, "t"));
    if (strcmp(kind, "prio3_mean_wait") == 0)
        return class_mean_of(station, parameters);
    return two_class_value(kind, station, parameters);
}

static void every_reference_value_holds(void **state)
{
    FILE *file = fopen(SLUICE_SOURCE "/tests/windows/reference.csv", "r");
    char line[512];
    int rows = 0;

    (void)state;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        char *parameters = strchr(line, ',') + 1;
        char *text = strchr(parameters, ',') + 1;

        parameters[-1] = text[-1] = '\0';

        double want = strtod(text, NULL);
        double found = value_of(line, parameters);
        bool is_low = strstr(line, "_low") && !strstr(line, "mean");
        double limit = is_low ? 1e-9 : 1e-12;

        rows++;
        if (!(fabs(found - want) <= limit * fabs(want)))
            fail_msg("%s %s: %.17g, not %.17g (off by %.2g)", line, parameters, found, want,
                     fabs(found - want) / fabs(want));
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rows, 172);
}

static void an_overloaded_station_waits_for_ever_and_never_yields_nan(void **state)
{
    struct station station = { 2, 1 };

    (void)state;
    for (double lambda = 2; lambda < 5; lambda += 0.5) {
        assert_true(erlang_c(2, lambda) == 1);
        assert_true(isinf(erlang_mean_wait(station, lambda)));
        assert_true(isinf(erlang_quantile(station, lambda, 0.98)));
        assert_true(erlang_tail(station, lambda, 10) == 1);
        assert_true(isinf(erlang_low_quantile(station, lambda / 2, lambda / 2, 0.98)));
        assert_true(erlang_low_tail(station, lambda / 2, lambda / 2, 3) == 1);
    }
}

static void a_wait_falls_with_servers_and_grows_with_load(void **state)
{
    (void)state;
    for (int servers = 1; servers < 60; servers++) {
        double previous = 0;

        for (double load = 0.05; load < servers; load += 0.35) {
            struct station station = { servers, 1 };
            struct station larger = { servers + 1, 1 };
            double wait = erlang_quantile(station, load, 0.98);

            assert_true(wait >= previous);
            assert_true(erlang_quantile(larger, load, 0.98) <= wait);
            previous = wait;
        }
    }
}

/* The pole meets the cut where high/speed = (total/speed)^2: both forms must agree around it. */
static void the_low_tail_is_smooth_where_its_pole_meets_the_cut(void **state)
{
    struct station station = { 10, 1 };
    double total = 8;
    double critical = total * total / 10;

    (void)state;
    for (double t = 0.25; t < 40; t *= 2) {
        double previous = erlang_low_tail(station, critical - 1, total - critical + 1, t);

        for (double shift = -1; shift <= 1; shift += 0.01) {
            double high = critical + shift;
            double tail = erlang_low_tail(station, high, total - high, t);

            assert_true(tail >= previous * (1 - 1e-12)); /* more high requests delay the low ones */
            assert_true(tail <= previous * (1.02 + 0.01 * t));
            previous = tail;
        }

        double at = erlang_low_tail(station, critical, total - critical, t);
        double near = erlang_low_tail(station, critical + 1e-9, total - critical - 1e-9, t);

        assert_true(fabs(at - near) <= 1e-7 * at);
    }
}

static void a_low_class_alone_waits_like_a_single_class(void **state)
{
    struct station station = { 5, 0.5 };

    (void)state;
    for (double lambda = 0.5; lambda < 2.5; lambda += 0.25) {
        double quantile = erlang_quantile(station, lambda, 0.98);

        assert_true(fabs(erlang_low_quantile(station, 0, lambda, 0.98) - quantile) <=
                    1e-12 * quantile);
        assert_true(fabs(erlang_low_quantile(station, 1e-9, lambda, 0.98) - quantile) <=
                    1e-6 * quantile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reference_value_holds),
        cmocka_unit_test(an_overloaded_station_waits_for_ever_and_never_yields_nan),
        cmocka_unit_test(a_wait_falls_with_servers_and_grows_with_load),
        cmocka_unit_test(the_low_tail_is_smooth_where_its_pole_meets_the_cut),
        cmocka_unit_test(a_low_class_alone_waits_like_a_single_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
