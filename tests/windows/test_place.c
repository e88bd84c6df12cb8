/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Splitting, packing and placing against exhaustive search and conservation.
 */
#include "base/memory.h"
#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/allocation/place.h"

#include <string.h>

static void a_split_keeps_the_sum_the_weights_and_the_minimums(void **state)
{
    static const struct {
        int total;
        int weights[3];
        int minimums[3];
        int want[3];
    } cases[] = {
        { 84, { 4, 3, 0 }, { 0, 0, 0 }, { 48, 36, 0 } },
        { 85, { 4, 3, 0 }, { 0, 0, 0 }, { 49, 36, 0 } },
        { 10, { 1, 1, 1 }, { 0, 0, 0 }, { 4, 3, 3 } },
        { 10, { 1, 1, 1 }, { 0, 0, 6 }, { 2, 2, 6 } },
        { 2, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } },
        { 0, { 1, 1, 1 }, { 0, 0, 0 }, { 0, 0, 0 } },
        { 7, { 0, 0, 0 }, { 1, 0, 0 }, { 7, 0, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int parts[3];

        place_split(cases[i].total, cases[i].weights, cases[i].minimums, 3, parts);
        if (memcmp(parts, cases[i].want, sizeof parts) != 0)
            fail_msg("case %zu: %d %d %d", i, parts[0], parts[1], parts[2]);
    }
}

static void random_splits_lose_and_invent_nothing(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int turn = 0; turn < 3000; turn++) {
        int weights[5];
        int minimums[5];
        int parts[5];
        int total = (int)random_below(&random, 200);
        size_t count = 1 + random_below(&random, 5);
        int least = 0;
        int sum = 0;

        for (size_t i = 0; i < count; i++) {
            weights[i] = 1 + (int)random_below(&random, 9);
            minimums[i] = (int)random_below(&random, 10);
            least += minimums[i];
        }
        place_split(total, weights, minimums, count, parts);
        for (size_t i = 0; i < count; i++) {
            assert_true(parts[i] >= minimums[i]);
            sum += parts[i];
        }
        assert_int_equal(sum, total > least ? total : least);
    }
}

static void sizes_that_divide_each_other_pack_without_waste(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 4);
    for (int turn = 0; turn < 2000; turn++) {
        int counts[PLACE_GPUS_MAX + 1] = { 0 };
        int gpus = 0;

        for (int size = 1; size <= 8; size *= 2) {
            counts[size] = (int)random_below(&random, 40);
            gpus += size * counts[size];
        }
        assert_int_equal(place_pack(counts, 8), (gpus + 7) / 8);
    }

    int thirds[PLACE_GPUS_MAX + 1] = { 0 };

    thirds[3] = 5; /* two on a node of eight */
    assert_int_equal(place_pack(thirds, 8), 3);
    thirds[2] = 2; /* in what they leave */
    assert_int_equal(place_pack(thirds, 8), 3);
}

static void replicas_of_several_nodes_take_whole_nodes(void **state)
{
    static const struct {
        int large;  /* replicas of two nodes */
        int larger; /* of four */
        int small;  /* of half a node */
        int want;
    } cases[] = { { 1, 0, 0, 2 }, { 3, 0, 0, 6 }, { 3, 0, 1, 7 }, { 1, 2, 3, 12 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int counts[PLACE_GPUS_MAX + 1] = { 0 };

        counts[16] = cases[i].large;
        counts[32] = cases[i].larger;
        counts[4] = cases[i].small;
        if (place_pack(counts, 8) != cases[i].want)
            fail_msg("case %zu: %d nodes", i, place_pack(counts, 8));
    }
}

static void a_group_is_what_all_replicas_of_a_cluster_fill(void **state)
{
    static const struct {
        int sizes[3];
        int want;
    } cases[] = {
        { { 1, 4, 8 }, 1 }, { { 8, 16, 4 }, 2 }, { { 16, 32, 8 }, 4 }, { { 16, 24 }, 6 }
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int group = 1;

        for (size_t at = 0; at < 3 && cases[i].sizes[at] > 0; at++)
            group = place_group(group, cases[i].sizes[at], 8);
        assert_int_equal(group, cases[i].want);
    }
}

/* Nodes of whole groups, which are all that serve. */
static int whole(int nodes, int group)
{
    return nodes - nodes % group;
}

/* Whether needs can be met at all, by trying everything. */
static bool can_place(const struct place *place, int *needs, int *room, size_t pool)
{
    if (pool == place->pool_count) {
        for (size_t i = 0; i < 3; i++)
            if (needs[i] > 0)
                return false;
        return true;
    }

    const struct place_pool *at = &place->pools[pool];

    for (int nodes = at->floor; nodes <= at->cap; nodes++) {
        if (nodes > room[at->reservation])
            break;
        needs[at->cluster] -= whole(nodes, at->group);
        room[at->reservation] -= nodes;

        bool fits = can_place(place, needs, room, pool + 1);

        needs[at->cluster] += whole(nodes, at->group);
        room[at->reservation] += nodes;
        if (fits)
            return true;
    }
    return false;
}

static void place_random_cases(int group, int times)
{
    struct random random;
    int fitted = 0;
    int short_of = 0;

    random_seed(&random, 6);
    for (int turn = 0; turn < 1500; turn++) {
        struct place_pool pools[6];
        int room[3];
        int needs[3];
        int nodes[6];
        int used[3] = { 0 };
        struct place place = { pools, 6, room, 3 };

        for (size_t i = 0; i < 3; i++) {
            room[i] = (2 + (int)random_below(&random, 5)) * times;
            needs[i] = (int)random_below(&random, 6) * group;
        }
        for (size_t i = 0; i < 6; i++)
            pools[i] = (struct place_pool){ random_below(&random, 3), random_below(&random, 3),
                                            (random_below(&random, 5) == 0) * group,
                                            (1 + (int)random_below(&random, 4)) * times, group };

        int missing = place_nodes(&place, needs, 3, nodes, NULL);
        int left[3];

        memcpy(left, needs, sizeof left);
        for (size_t i = 0; i < 6; i++) {
            assert_true(nodes[i] >= pools[i].floor && nodes[i] <= pools[i].cap);
            used[pools[i].reservation] += nodes[i];
            left[pools[i].cluster] -= whole(nodes[i], group);
            assert_true(nodes[i] % group == 0);
        }

        bool floors_fit = true;

        for (size_t i = 0; i < 3; i++) {
            int floors = 0;

            for (size_t at = 0; at < 6; at++)
                floors += pools[at].reservation == i ? pools[at].floor : 0;
            floors_fit = floors_fit && floors <= room[i];
        }
        if (!floors_fit)
            continue;
        for (size_t i = 0; i < 3; i++)
            assert_true(used[i] <= room[i]);
        if (missing == 0) {
            for (size_t i = 0; i < 3; i++)
                assert_true(left[i] <= 0);
            fitted++;
        } else {
            assert_false(can_place(&place, needs, room, 0));
            short_of++;
        }
    }
    assert_true(fitted > 100 && short_of > 100);
}

static void what_fits_at_all_is_placed_and_nothing_breaks_a_bound(void **state)
{
    (void)state;
    place_random_cases(1, 1);
}

/* Pools and reservations that are no multiple of a group have an odd node that is not used. */
static void groups_of_nodes_are_placed_whole(void **state)
{
    (void)state;
    place_random_cases(2, 2);
    place_random_cases(2, 3);
    place_random_cases(3, 5);
}

/* A static node alone waits for those that make it a group. */
static void a_floor_that_is_no_group_is_made_one_first(void **state)
{
    struct place_pool pools[] = { { 0, 0, 3, 8, 2 }, { 0, 1, 0, 5, 2 } };
    int room[] = { 8, 5 };
    struct place place = { pools, 2, room, 2 };
    static const int want[][3] = {
        { 2, 3, 0 }, { 4, 3, 2 }, { 6, 4, 2 }, { 8, 4, 4 }, { 12, 8, 4 }
    };
    int nodes[2];
    int need = 14;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        assert_int_equal(place_nodes(&place, &want[i][0], 1, nodes, NULL), 0);
        if (nodes[0] != want[i][1] || nodes[1] != want[i][2])
            fail_msg("%d nodes: %d and %d", want[i][0], nodes[0], nodes[1]);
    }
    assert_int_equal(place_nodes(&place, &need, 1, nodes, NULL), 2);
}

static void nodes_spread_in_proportion_and_one_more_moves_none(void **state)
{
    struct place_pool pools[] = { { 0, 0, 2, 60, 1 }, { 0, 1, 0, 30, 1 }, { 0, 2, 0, 30, 1 } };
    int room[] = { 60, 30, 30 };
    struct place place = { pools, 3, room, 3 };
    int previous[3] = { 0 };

    (void)state;
    for (int need = 2; need <= 120; need++) {
        int nodes[3];

        assert_int_equal(place_nodes(&place, &need, 1, nodes, NULL), 0);
        assert_int_equal(nodes[0] + nodes[1] + nodes[2], need);
        for (size_t i = 0; i < 3; i++)
            assert_true(nodes[i] >= previous[i]);
        if (need % 4 == 0) {
            assert_true(nodes[0] - need / 2 <= 1 && need / 2 - nodes[0] <= 1);
            assert_true(nodes[1] - need / 4 <= 1 && need / 4 - nodes[1] <= 1);
        }
        memcpy(previous, nodes, sizeof nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_keeps_the_sum_the_weights_and_the_minimums),
        cmocka_unit_test(random_splits_lose_and_invent_nothing),
        cmocka_unit_test(sizes_that_divide_each_other_pack_without_waste),
        cmocka_unit_test(replicas_of_several_nodes_take_whole_nodes),
        cmocka_unit_test(a_group_is_what_all_replicas_of_a_cluster_fill),
        cmocka_unit_test(what_fits_at_all_is_placed_and_nothing_breaks_a_bound),
        cmocka_unit_test(groups_of_nodes_are_placed_whole),
        cmocka_unit_test(a_floor_that_is_no_group_is_made_one_first),
        cmocka_unit_test(nodes_spread_in_proportion_and_one_more_moves_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
