/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The generators against their published outputs; the shape of the distributions.
 */
#include "base/memory.h"
#include "base/random.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 200000 };

static void agrees_with_the_published_sequences(void **state)
{
    static const uint64_t want[] = { 41943041u, 58720359u, 3588806011781223u, 3591011842654386u,
                                     9228616714210784205u };
    struct random random = { { 1, 2, 3, 4 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_true(random_next(&random) == want[i]);
    random_seed(&random, 1234567);
    assert_true(random.state[0] == 6457827717110365317u);
    assert_true(random.state[1] == 3203168211198807973u);
}

static void bounds_hold_and_every_value_comes(void **state)
{
    struct random random;
    int seen[7] = { 0 };

    (void)state;
    random_seed(&random, 1);
    for (int i = 0; i < DRAWS; i++) {
        double between = random_between(&random, -2.0, 3.0);

        seen[random_below(&random, 7)]++;
        assert_true(between >= -2.0 && between < 3.0);
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], DRAWS / 7 - 800, DRAWS / 7 + 800);
    assert_int_equal(random_below(&random, 1), 0);
}

static void distributions_have_their_moments(void **state)
{
    struct random random;
    double unit = 0, exponential = 0, normal = 0, squares = 0;

    (void)state;
    random_seed(&random, 2);
    for (int i = 0; i < DRAWS; i++) {
        double value = random_normal(&random);

        unit += random_unit(&random);
        exponential += random_exponential(&random, 5.0);
        normal += value;
        squares += value * value;
    }
    assert_true(fabs(unit / DRAWS - 0.5) < 0.005);
    assert_true(fabs(exponential / DRAWS - 5.0) < 0.05);
    assert_true(fabs(normal / DRAWS) < 0.01);
    assert_true(fabs(squares / DRAWS - 1.0) < 0.02);
}

static void mixing_depends_on_every_part(void **state)
{
    const uint64_t mixed[] = {
        random_mix(1, "queue", 1, 2), random_mix(2, "queue", 1, 2), random_mix(1, "queuf", 1, 2),
        random_mix(1, "queue", 2, 1), random_mix(1, "queue", 1, 3), random_mix(1, "", 1, 2),
    };

    (void)state;
    assert_true(random_mix(1, "queue", 1, 2) == mixed[0]);
    for (size_t i = 0; i < COUNT_OF(mixed); i++)
        for (size_t j = 0; j < i; j++)
            assert_true(mixed[i] != mixed[j]);
}

static void ids_are_hexadecimal_and_repeatable(void **state)
{
    struct random left, right;
    char first[33], second[33];

    (void)state;
    random_seed(&left, 3);
    random_seed(&right, 3);
    random_hex(&left, first, sizeof first);
    random_hex(&right, second, sizeof second);
    assert_string_equal(first, second);
    assert_int_equal(strspn(first, "0123456789abcdef"), 32);
    random_seed_system(&right);
    random_hex(&right, second, sizeof second);
    assert_string_not_equal(first, second);
    random_hex(&right, second, 1);
    assert_string_equal(second, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_published_sequences),
        cmocka_unit_test(bounds_hold_and_every_value_comes),
        cmocka_unit_test(distributions_have_their_moments),
        cmocka_unit_test(mixing_depends_on_every_part),
        cmocka_unit_test(ids_are_hexadecimal_and_repeatable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
