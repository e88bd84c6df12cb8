/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Several reclaims for one pool, from plan to plan: each gets its own nodes from its own cluster.
 */
#include "tests/broker/plan_scene.h"

/* Carries the plan out: its nodes are on their way to the first pool, and the reclaims stand in the
   order in which it serves them. */
static void carry_out(struct scene *scene)
{
    owned(plan) struct plan *plan = plan_make(&scene->input);
    struct plan_pool *pool = &scene->pools[0];
    int64_t levels[8];
    int64_t most = plan_level(pool);

    require(pool->reclaims.count <= COUNT_OF(levels));
    for (size_t i = 0; i < pool->reclaims.count; i++)
        levels[i] = plan_level_after(plan, pool, &pool->reclaims.items[i]);
    for (size_t i = 0; i < pool->reclaims.count; i++)
        pool->reclaims.items[i].level = levels[i];
    assert_int_equal(plan_level(pool), most);
    for (size_t i = 0; i < plan->transfers.count; i++) {
        struct plan_pool *source = &scene->pools[plan->transfers.items[i].source - scene->configs];

        assert_ptr_equal(plan->transfers.items[i].target, &scene->configs[0]);
        pool->incoming++;
        source->present--;
        source->nodes.count--;
    }
}

/* The cluster of a reclaim has no nodes, and another reclaim is served.  Later plans do not take
   the nodes that came for those of the first. */
static void what_came_for_one_reclaim_is_not_counted_for_another(void **state)
{
    static const struct {
        const char *scene;
        int64_t left[3]; /* nodes of each pool in the end */
    } rows[] = {
        { "P a has=6 level=8 from=x level=11 from=y; R x has=0; R y has=10;", { 9, 0, 7 } },
        { "P a has=6 level=8 from=x level=11 from=y; R x has=1; R y has=10;", { 10, 0, 7 } },
        { "P a has=6 level=8 from=x level=10; R x has=0; R y has=10;", { 8, 0, 8 } },
        { "P a has=6 want=7 level=8 from=x level=10; R x has=0; R y has=10;", { 9, 0, 7 } },
        { "P a has=6 level=8 from=x level=9 from=x level=11 from=y; R x has=0; R y has=10;",
          { 8, 0, 8 } },
        { "P a has=4 level=6 from=x level=10 from=y group=2; R x has=1; R y has=20;",
          { 8, 1, 16 } },
        { "P a has=6 level=8 from=x level=11 from=y; R x has=0; R y has=0;", { 6, 0, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(scene) struct scene scene;

        read_scene(&scene, rows[i].scene);
        for (int turn = 0; turn < 4; turn++)
            carry_out(&scene);
        for (size_t k = 0; k < COUNT_OF(rows[i].left); k++)
            if (scene.pools[k].present + scene.pools[k].incoming != rows[i].left[k])
                fail_msg("%s: pool %s has %" PRId64 ", not %" PRId64, rows[i].scene, scene.names[k],
                         scene.pools[k].present + scene.pools[k].incoming, rows[i].left[k]);
    }
}

/* What the plans took from three clusters, and what the reclaims wanted of them; 0: of any. */
static void check_wishes(const struct scene *scene, const int64_t wished[4], bool is_over)
{
    int64_t given = 0;
    int64_t of_any = 0;

    for (size_t i = 1; i < 4; i++) {
        int64_t mine = NODES_MAX - scene->pools[i].present;

        given += mine;
        of_any += mine > wished[i] ? mine - wished[i] : 0;
        assert_true(!is_over || mine >= wished[i]);
    }
    assert_true(of_any <= wished[0]);
    assert_int_equal(given, scene->pools[0].incoming);
    assert_true(!is_over || given == wished[0] + wished[1] + wished[2] + wished[3]);
}

/* Clusters come and go while several reclaims are in force. */
static void each_cluster_gives_what_was_wanted_of_it(void **state)
{
    static const char *const froms[] = { "", "x", "y", "z" };
    struct random random;

    (void)state;
    random_seed(&random, 7);
    for (int round = 0; round < 2000; round++) {
        owned(scene) struct scene scene;
        int64_t wished[4] = { 0 };
        int64_t level = 6;

        read_scene(&scene, "P a has=6; R x has=48; R y has=48; R z has=48;");
        scene.reservations[0].nodes = 200;
        for (int turn = 0; turn < 12; turn++) {
            bool is_over = turn >= 8;

            if (turn < 4) {
                size_t from = (size_t)draw(&random, 4);
                int64_t nodes = 1 + draw(&random, 4);

                level += nodes;
                wished[from] += nodes;
                *array_add(&scene.pools[0].reclaims) = (struct plan_reclaim){ level, froms[from],
                                                                              NULL };
            }
            for (size_t i = 1; i < 4; i++)
                scene.pools[i].is_known = is_over || draw(&random, 2);
            carry_out(&scene);
            check_wishes(&scene, wished, is_over);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_for_one_reclaim_is_not_counted_for_another),
        cmocka_unit_test(each_cluster_gives_what_was_wanted_of_it),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
