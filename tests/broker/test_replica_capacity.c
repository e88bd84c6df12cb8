/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many replicas larger than a node fit: whole nodes of one pool.
 */
#include "base/memory.h"
#include "broker/planning/replica_capacity.h"
#include "tests/support/unit.h"

static void only_whole_groups_of_one_pool_count(void **state)
{
    static const struct {
        int64_t nodes[2]; /* of two pools, 8 GPUs a node */
        int64_t large;    /* replicas of 16 GPUs */
        int64_t larger;   /* of 32 */
        int64_t small;    /* of 4 */
        int64_t left;     /* large ones that still fit */
    } rows[] = {
        { { 4, 0 }, 0, 0, 0, 2 }, { { 5, 0 }, 0, 0, 0, 2 }, { { 3, 3 }, 0, 0, 0, 2 },
        { { 1, 1 }, 0, 0, 0, 0 }, { { 4, 0 }, 1, 0, 0, 1 }, { { 4, 0 }, 2, 0, 0, 0 },
        { { 4, 0 }, 3, 0, 0, 0 }, { { 8, 0 }, 1, 1, 0, 1 }, { { 4, 0 }, 0, 0, 1, 1 },
        { { 5, 0 }, 0, 0, 2, 2 }, { { 5, 0 }, 0, 0, 3, 1 }, { { 3, 3 }, 0, 0, 4, 2 },
        { { 3, 3 }, 0, 0, 5, 1 }, { { 0, 0 }, 0, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct capacity_pool pools[] = { { rows[i].nodes[0], 8 }, { rows[i].nodes[1], 8 } };
        const struct capacity_replicas replicas[] = { { 16, rows[i].large },
                                                      { 32, rows[i].larger },
                                                      { 4, rows[i].small } };
        const struct replica_capacity capacity = { pools, 2, replicas, 3 };

        if (replica_capacity_left(&capacity, 16) != rows[i].left)
            fail_msg("row %zu: %d", i, (int)replica_capacity_left(&capacity, 16));
    }
}

/* The same replica is two nodes here and one there. */
static void pools_may_have_other_machines(void **state)
{
    const struct capacity_pool pools[] = { { 3, 8 }, { 2, 16 } };
    const struct capacity_replicas replicas[] = { { 16, 1 } };
    const struct replica_capacity capacity = { pools, 2, replicas, 1 };

    (void)state;
    assert_int_equal(replica_capacity_left(&capacity, 16), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_whole_groups_of_one_pool_count),
        cmocka_unit_test(pools_may_have_other_machines),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
