/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers in cells: read quickly or not, they are those of the C library.
 */
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/demand/cells.h"

static void check(const char *text)
{
    struct packed_row row = { 0 };
    const char *why = NULL;
    double want;

    if (!text_to_double(text, &want) || want < 0 || want > INT32_MAX) {
        assert_false(cell_count(text, ',', &row, &why));
        assert_non_null(why);
        return;
    }
    if (!cell_count(text, ',', &row, &why))
        fail_msg("\"%s\": expected %s", text, why);
    if (row.value != want)
        fail_msg("\"%s\" is %.17g, not %.17g", text, row.value, want);
    assert_int_equal(row.kind, want == (double)(int64_t)want ? PACKED_COUNT : PACKED_REAL);
}

/* Of one to fourteen digits, with a point at any place. */
static void numbers_are_those_of_the_library(void **state)
{
    static const char *const more[] = { "",     ".",          "5.",         ".5",          "1e3",
                                        "1e",   "1.5e",       "1.5.5",      "+5",          "0.0",
                                        "00.5", "2147483648", "2147483647", "2147483647.5" };
    uint32_t random = 1;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(more); i++)
        check(more[i]);
    for (int i = 0; i < 20000; i++) {
        char text[32] = "";
        size_t digits = 1 + (random >> 8) % 17;
        size_t point = (random >> 16) % 20;

        for (size_t at = 0; at < digits; at++) {
            random = random * 1664525 + 1013904223;
            text[at] = at > 0 && at == point ? '.' : (char)('0' + (random >> 24) % 10);
        }
        check(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_the_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
