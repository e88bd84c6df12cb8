/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters by their labels, and their buckets.
 */
#include "base/counters.h"
#include "base/input/json.h"
#include "tests/support/unit.h"

static const char *const labels[] = { "from", "to", NULL };
static const double bounds[] = { 1, 10, 60, 0 };

static void owned_counters(struct counters **counters)
{
    counters_free(*counters);
}

static void expect(const struct counters *counters, const char *wanted)
{
    owned(json) json_t *rows = counters_describe(counters);
    owned(chars) char *found = json_dumps(rows, JSON_COMPACT | JSON_REAL_PRECISION(6));

    assert_string_equal(found, wanted);
}

static void each_set_of_labels_has_its_own_count(void **state)
{
    owned(counters) struct counters *counters = counters_new(labels, NULL);

    (void)state;
    expect(counters, "[]");
    counters_begin(counters, (const char *[]){ "a", "b" });
    expect(counters, "[{\"from\":\"a\",\"to\":\"b\",\"count\":0.0}]");
    counters_add(counters, (const char *[]){ "ab", "" }, 7);
    counters_add(counters, (const char *[]){ "a", "b" }, 7);
    counters_add(counters, (const char *[]){ "a", "b" }, 7);
    counters_begin(counters, (const char *[]){ "a", "b" });
    expect(counters, "[{\"from\":\"a\",\"to\":\"b\",\"count\":2.0},"
                     "{\"from\":\"ab\",\"to\":\"\",\"count\":1.0}]");
}

/* A bucket counts what is at most its bound, those of lower buckets included; what is above the
   last bound is in the count alone. */
static void buckets_count_what_is_at_most_their_bound(void **state)
{
    static const double took[] = { 0, 1, 1.5, 10, 61 };
    owned(counters) struct counters *counters = counters_new(labels, bounds);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(took); i++)
        counters_add(counters, (const char *[]){ "a", "b" }, took[i]);
    expect(counters, "[{\"from\":\"a\",\"to\":\"b\",\"count\":5.0,\"sum\":73.5,"
                     "\"buckets\":[[1.0,2.0],[10.0,4.0],[60.0,4.0]]}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_set_of_labels_has_its_own_count),
        cmocka_unit_test(buckets_count_what_is_at_most_their_bound),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
