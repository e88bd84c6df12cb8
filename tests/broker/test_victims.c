/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes are taken, from small pictures: one word a node, one letter a gang on it, "-" for
 * none; "!" before it protects the node, "/x" after it is its block.  A gang's price is given as
 * "a=12", a lost one as "a=0*".
 */
#include "base/text.h"
#include "broker/planning/victims.h"
#include "tests/support/unit.h"
#include "tools/job_fleet.h"

#include <math.h>
#include <string.h>

enum { NODES_MAX = 64, GANGS = 26 };

struct scene {
    struct victim_case scene;
    struct victim_node nodes[NODES_MAX];
    struct victim_gang gangs[GANGS];
    size_t on_node[NODES_MAX][GANGS];
    char names[NODES_MAX][8];
    char blocks[NODES_MAX][2];
};

static void read_node(struct scene *scene, const char *word)
{
    size_t at = scene->scene.node_count++;
    struct victim_node *node = &scene->nodes[at];

    require(at < NODES_MAX);
    snprintf(scene->names[at], sizeof scene->names[at], "n%02zu", at % 100);
    node->name = scene->names[at];
    node->gangs = scene->on_node[at];
    for (; *word != '\0'; word++) {
        if (*word == '!') {
            node->rank = VICTIM_PROTECTED;
        } else if (*word == '?') {
            node->rank = VICTIM_RESERVED;
        } else if (*word == '/') {
            scene->blocks[at][0] = *++word;
            node->block = scene->blocks[at];
        } else if (*word != '-') {
            scene->on_node[at][node->gang_count++] = (size_t)(*word - 'a');
        }
    }
}

static void read_scene(struct scene *scene, const char *nodes, const char *prices)
{
    char word[32];
    int length;

    memset(scene, 0, sizeof *scene);
    for (; sscanf(nodes, " %31s%n", word, &length) == 1; nodes += length)
        read_node(scene, word);
    for (size_t g = 0; g < GANGS; g++)
        scene->gangs[g].name = "gang";
    for (; sscanf(prices, " %31s%n", word, &length) == 1; prices += length) {
        struct victim_gang *gang = &scene->gangs[word[0] - 'a'];

        gang->lost_gpu_s = gang->price_gpu_s = strtoll(word + 2, NULL, 10);
        gang->is_sunk = strchr(word, '*') != NULL;
        gang->priority = strchr(word, '@') ? strtoll(strchr(word, '@') + 1, NULL, 10) : 0;
    }
    scene->scene.nodes = scene->nodes;
    scene->scene.gangs = scene->gangs;
    scene->scene.gang_count = GANGS;
}

static const struct {
    const char *nodes;
    const char *prices;
    size_t wanted;
    const char *taken; /* indexes, in the order in which they go */
} cases[] = {
    /* idle nodes first */
    { "a - b", "a=1 b=1", 1, "1" },
    { "a - b", "a=2 b=1", 2, "1 2" },
    { "a b", "a=2 b=1", 0, "" },
    /* the second node of a gang is free: four of one beat two cheap strangers */
    { "a a a b c d", "a=10 b=6 c=6 d=6", 3, "0 1 2" },
    { "a a a b c d", "a=10 b=3 c=3 d=3", 3, "3 4 5" },
    /* a gang of 4 on 4 nodes and 4 singles: the fewest gangs when all cost alike (T52) */
    { "b a c a d a e a", "a=5 b=5 c=5 d=5 e=5", 4, "1 3 5 7" },
    { "b a c a d a e a", "a=0 b=0 c=0 d=0 e=0", 4, "1 3 5 7" },
    /* ... which is not the same as the cheapest nodes one by one */
    { "b a c a", "a=7 b=4 c=4", 2, "1 3" },
    { "b a c a", "a=9 b=4 c=4", 2, "0 2" },
    /* a node with two gangs costs both */
    { "ab b c", "a=5 b=1 c=7", 1, "1" },
    { "ab b c", "a=5 b=1 c=7", 2, "1 0" },
    { "ab ab c d", "a=5 b=1 c=2 d=3", 2, "2 3" },
    /* what is lost already costs nothing */
    { "a b c", "a=9* b=1 c=1", 1, "0" },
    { "ab b c", "a=9* b=1 c=2", 2, "0 1" },
    /* among equal losses lower priority goes first */
    { "a b c", "a=5@100 b=5@-10 c=5", 1, "1" },
    { "a b c", "a=5@100 b=5@-10 c=5", 2, "1 2" },
    { "a b", "a=4@100 b=5@-10", 1, "0" },
    { "a b c", "a=2@9 b=1@8 c=1@8", 2, "1 2" },
    { "a bc", "a=2@9 b=1@0 c=1@0", 1, "1" },
    { "a bc", "a=2@9 b=1@8 c=1@8", 1, "0" }, /* ranks add up */
    { "a bc", "a=2@9 b=1@9 c=1@9", 1, "0" },
    { "a b", "a=0@2000000000 b=0@-2000000000", 1, "1" },
    /* protected nodes are taken last, whatever they cost */
    { "!a b", "a=1 b=99", 1, "1" },
    { "!- b", "b=99", 1, "1" },
    { "!a b !c", "a=2 b=99 c=1", 2, "1 2" },
    { "!a a !c", "a=2 c=1", 2,
      "1 0" }, /* a is lost with the open node: its protected one is free */
    /* reserved ones after the open ones, and before the protected ones */
    { "?a !b c", "a=99 b=1 c=99", 2, "2 0" },
    { "?a !b ?c", "a=99 b=1 c=2", 2, "2 0" },
    /* whole blocks, when work does not say otherwise */
    { "-/x -/y -/x -/y", "", 2, "0 2" },
    { "-/x -/y -/y -/x -/z", "", 1, "4" },
    { "-/x -/y -/x a/y", "a=1", 2, "0 2" },
    { "a/x b/y c/x d/y", "a=5 b=5 c=5 d=5", 2, "0 2" },
    { "a/x b/y c/x d/y", "a=5 b=5 c=6 d=5", 2, "1 3" },
    { "a/x b/y c/x d/y", "a=5 b=5 c=5 d=4", 2, "3 1" },
    { "a/x b/y c/x d/y", "a=3 b=5 c=5 d=4", 2, "0 3" },
    /* a gang of 512 GPUs that ran for a month, of a team that lost all there was: 2^38 and more */
    { "a b", "a=274877906944 b=1", 1, "1" },
    { "a b", "a=1 b=274877906944", 2, "0 1" },
    { "a b c", "a=274877906944 b=137438953472 c=1", 2, "2 1" },
    { "ab c", "a=17592186044416 b=17592186044416 c=17592186044416", 1, "1" },
    { "a/x b/y c/x d/y", "a=274877906944 b=5 c=5 d=5", 2, "1 3" },
};

static void the_least_work_is_lost(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene scene;
        owned(text) struct text *got = text_new(1 << 12);
        bool is_exact = false;
        size_t *nodes;

        read_scene(&scene, cases[i].nodes, cases[i].prices);
        nodes = victims_choose(&scene.scene, cases[i].wanted, &is_exact);
        for (size_t k = 0; k < cases[i].wanted; k++)
            text_add(got, "%s%zu", k ? " " : "", nodes[k]);
        if (!is_exact || !text_equal(got->chars, cases[i].taken))
            fail_msg("%s, %s, %zu wanted\n  want: %s\n  got:  %s", cases[i].nodes, cases[i].prices,
                     cases[i].wanted, cases[i].taken, got->chars);
        mem_free(nodes);
    }
}

/* Three blocks of 18 idle nodes: moving 18 empties one of them. */
static void one_block_is_emptied(void **state)
{
    owned(text) struct text *picture = text_new(1 << 12);
    struct scene scene;
    struct victim_bill bill;
    size_t *nodes;

    (void)state;
    for (int i = 0; i < 54; i++)
        text_add(picture, "%s-/%c", i ? " " : "", "xyz"[i % 3]);
    read_scene(&scene, picture->chars, "");
    nodes = victims_choose(&scene.scene, 18, NULL);
    for (size_t k = 1; k < 18; k++)
        assert_string_equal(scene.nodes[nodes[k]].block, scene.nodes[nodes[0]].block);
    victims_bill(&scene.scene, nodes, 18, &bill);
    assert_int_equal(bill.blocks_broken, 0);
    assert_int_equal(bill.idle_nodes, 18);
    victim_bill_clear(&bill);
    mem_free(nodes);
}

static void a_block_may_be_worth_lost_work(void **state)
{
    static const size_t second[] = { 2, 1, 1 };

    (void)state;
    for (int64_t worth = 0; worth < 3; worth++) {
        struct scene scene;
        size_t *nodes;

        /* whole x costs 7, the cheapest two cost 6 and break two blocks */
        read_scene(&scene, "a/x b/x c/y d/y", "a=3 b=4 c=3 d=9");
        scene.scene.block_gpu_s = worth;
        nodes = victims_choose(&scene.scene, 2, NULL);
        assert_int_equal(nodes[0], 0);
        assert_int_equal(nodes[1], second[worth]);
        mem_free(nodes);
    }
}

/* Nothing that a model adds up is near the end of its numbers. */
static void the_dearest_case_stays_in_range(void **state)
{
    struct scene scene;
    struct victim_bill bill;
    size_t *nodes;

    (void)state;
    read_scene(&scene, "abcdefgh/x ijklmnop/y qrstuvwx/z yz/z", "");
    for (size_t g = 0; g < GANGS; g++) {
        scene.gangs[g].lost_gpu_s = scene.gangs[g].price_gpu_s = VICTIM_GPU_S_MOST;
        scene.gangs[g].priority = (int64_t)g;
    }
    scene.scene.block_gpu_s = VICTIM_GPU_S_MOST;
    nodes = victims_choose(&scene.scene, 2, NULL);
    assert_int_equal(nodes[0], 3); /* 10 gangs and no block broken, not 10 and two */
    assert_int_equal(nodes[1], 2);
    victims_bill(&scene.scene, nodes, 2, &bill);
    assert_int_equal(bill.gang_count, 10);
    assert_int_equal(bill.blocks_broken, 0);
    assert_int_equal(bill.price_gpu_s, 10 * VICTIM_GPU_S_MOST);
    victim_bill_clear(&bill);
    mem_free(nodes);
}

static struct fleet_job draw_job(void *context, struct random *random)
{
    static const int64_t sizes[] = { 1, 1, 1, 1, 2, 4, 8, 8, 12, 16, 24, 32 };

    (void)context;
    return (struct fleet_job){
        sizes[random_below(random, COUNT_OF(sizes))],
        1 + (int64_t)exp(random_between(random, 4, 13)),
    };
}

static int64_t lost_by(const struct victim_case *scene, size_t *nodes, size_t count)
{
    struct victim_bill bill;
    int64_t lost;

    victims_bill(scene, nodes, count, &bill);
    lost = bill.lost_gpu_s;
    victim_bill_clear(&bill);
    mem_free(nodes);
    return lost;
}

static int64_t brute_force(const struct victim_case *scene, size_t wanted)
{
    int64_t best = INT64_MAX;

    for (unsigned set = 0; set < 1u << scene->node_count; set++) {
        int64_t lost = 0;
        bool *is_hit;

        if ((size_t)__builtin_popcount(set) != wanted)
            continue;
        is_hit = mem_new_array(scene->gang_count, sizeof *is_hit);
        for (size_t i = 0; i < scene->node_count; i++)
            for (size_t k = 0; (set >> i & 1) && k < scene->nodes[i].gang_count; k++) {
                size_t gang = scene->nodes[i].gangs[k];

                lost += is_hit[gang] ? 0 : scene->gangs[gang].lost_gpu_s;
                is_hit[gang] = true;
            }
        mem_free(is_hit);
        if (lost < best)
            best = lost;
    }
    return best;
}

/* The lost work of a set, and then the priorities of the gangs that it ends. */
struct loss {
    int64_t gpu_s;
    int64_t priorities;
};

static struct loss loss_of(const struct victim_case *scene, unsigned set)
{
    struct loss loss = { 0 };
    bool *is_hit = mem_new_array(scene->gang_count + 1, sizeof *is_hit);

    for (size_t i = 0; i < scene->node_count; i++)
        for (size_t k = 0; (set >> i & 1) && k < scene->nodes[i].gang_count; k++) {
            size_t gang = scene->nodes[i].gangs[k];

            loss.gpu_s += is_hit[gang] ? 0 : scene->gangs[gang].lost_gpu_s;
            loss.priorities += is_hit[gang] ? 0 : scene->gangs[gang].priority;
            is_hit[gang] = true;
        }
    mem_free(is_hit);
    return loss;
}

static bool is_less(struct loss left, struct loss right)
{
    return left.gpu_s != right.gpu_s ? left.gpu_s < right.gpu_s
                                     : left.priorities < right.priorities;
}

/* Twelve nodes with whole GPUs, slices and devices; two priorities, and losses that are often
   equal. */
static void a_mixed_fleet_loses_least_by_work_and_then_by_priority(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 17);
    for (int round = 0; round < 60; round++) {
        struct job_fleet fleet;
        size_t wanted;
        size_t *nodes;
        unsigned taken = 0;
        struct loss best = { INT64_MAX, 0 };

        job_fleet_init(&fleet, 12, draw_job, NULL, &random);
        for (size_t g = 0; g < fleet.scene.gang_count; g++) {
            struct victim_gang *gang = (struct victim_gang *)(uintptr_t)&fleet.scene.gangs[g];

            gang->lost_gpu_s = gang->price_gpu_s = 100 * (int64_t)random_below(&random, 3);
            gang->priority = (int64_t)random_below(&random, 2);
        }
        wanted = random_below(&random, fleet.scene.node_count + 1);
        nodes = victims_choose(&fleet.scene, wanted, NULL);
        for (size_t i = 0; i < wanted; i++)
            taken |= 1u << nodes[i];
        mem_free(nodes);
        for (unsigned set = 0; set < 1u << fleet.scene.node_count; set++)
            if ((size_t)__builtin_popcount(set) == wanted &&
                is_less(loss_of(&fleet.scene, set), best))
                best = loss_of(&fleet.scene, set);
        assert_int_equal(loss_of(&fleet.scene, taken).gpu_s, best.gpu_s);
        assert_int_equal(loss_of(&fleet.scene, taken).priorities, best.priorities);
        job_fleet_free(&fleet);
    }
}

static void few_nodes_are_chosen_as_by_trying_all(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 12);
    for (int round = 0; round < 150; round++) {
        struct job_fleet fleet;
        size_t wanted;
        bool is_exact = false;

        job_fleet_init(&fleet, 1 + random_below(&random, 10), draw_job, NULL, &random);
        wanted = random_below(&random, fleet.scene.node_count + 1);
        assert_int_equal(
            lost_by(&fleet.scene, victims_choose(&fleet.scene, wanted, &is_exact), wanted),
            brute_force(&fleet.scene, wanted));
        assert_true(is_exact);
        job_fleet_free(&fleet);
    }
}

/* Every node has some of few gangs: nothing falls into parts, and no greedy rule sees through it.
 */
static void tangled_nodes_are_chosen_as_by_trying_all(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 13);
    for (int round = 0; round < 120; round++) {
        struct scene scene;
        size_t nodes = 8 + random_below(&random, 9);
        size_t wanted = 2 + random_below(&random, nodes - 2);

        read_scene(&scene, "", "");
        for (size_t i = 0; i < nodes; i++) {
            char word[GANGS + 1] = "";
            size_t length = 0;

            for (char gang = 'a'; gang < 'l'; gang++)
                if (random_below(&random, 4) == 0)
                    word[length++] = gang;
            read_node(&scene, word);
        }
        for (size_t g = 0; g < GANGS; g++)
            scene.gangs[g].lost_gpu_s = scene.gangs[g].price_gpu_s = (int64_t)random_below(&random,
                                                                                           30);
        assert_int_equal(lost_by(&scene.scene, victims_choose(&scene.scene, wanted, NULL), wanted),
                         brute_force(&scene.scene, wanted));
    }
}

/* Gangs that share no node, many nodes: a knapsack whose optimum is known. */
static void many_nodes_are_chosen_as_by_a_knapsack(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 14);
    for (int round = 0; round < 60; round++) {
        size_t numbers[200];
        struct victim_node nodes[200] = { 0 };
        struct victim_gang gangs[200] = { 0 };
        int64_t best[201];
        struct victim_case scene = { .nodes = nodes, .gangs = gangs };
        size_t wanted;

        for (size_t i = 1; i <= 200; i++)
            best[i] = INT64_MAX / 2;
        best[0] = 0;
        while (scene.node_count < 190) {
            size_t gang = scene.gang_count++;
            size_t size = 1 + random_below(&random, 9);
            int64_t cost = (int64_t)(size * 10 + random_below(&random, 20));

            gangs[gang] =
                (struct victim_gang){ .name = "gang", .lost_gpu_s = cost, .price_gpu_s = cost };
            numbers[gang] = gang;
            for (size_t i = 0; i < size; i++)
                nodes[scene.node_count++] = (struct victim_node){ .name = "node",
                                                                  .gangs = &numbers[gang],
                                                                  .gang_count = 1 };
            for (size_t i = 200; i > 0; i--) {
                int64_t with = best[i > size ? i - size : 0] + cost;

                best[i] = with < best[i] ? with : best[i];
            }
        }
        wanted = 1 + random_below(&random, scene.node_count);
        assert_int_equal(lost_by(&scene, victims_choose(&scene, wanted, NULL), wanted),
                         best[wanted]);
    }
}

enum { PART_NODES = 6, PART_GANGS = 5, PARTS = 20 };

/* The least cost of x nodes of the parts so far, after one more part whose nodes begin at `first`:
   all its subsets. */
static void add_part(const struct victim_case *scene, size_t first, int64_t *best)
{
    int64_t next[PARTS * PART_NODES + 1];

    memcpy(next, best, sizeof next);
    for (unsigned set = 1; set < 1u << PART_NODES; set++) {
        size_t size = (size_t)__builtin_popcount(set);
        uint64_t hit = 0;
        int64_t cost = 0;

        for (size_t i = 0; i < PART_NODES; i++)
            for (size_t k = 0; (set >> i & 1) && k < scene->nodes[first + i].gang_count; k++)
                hit |= (uint64_t)1 << scene->nodes[first + i].gangs[k] % PART_GANGS;
        for (size_t g = 0; g < PART_GANGS; g++)
            if (hit >> g & 1)
                cost += scene->gangs[first / PART_NODES * PART_GANGS + g].lost_gpu_s;
        for (size_t x = size; x <= PARTS * PART_NODES; x++)
            next[x] = best[x - size] + cost < next[x] ? best[x - size] + cost : next[x];
    }
    memcpy(best, next, sizeof next);
}

static void many_tangled_parts_are_chosen_together(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 15);
    for (int round = 0; round < 40; round++) {
        size_t numbers[PARTS * PART_NODES][PART_GANGS];
        struct victim_node nodes[PARTS * PART_NODES] = { 0 };
        struct victim_gang gangs[PARTS * PART_GANGS] = { 0 };
        struct victim_case scene = { nodes, COUNT_OF(nodes), gangs, COUNT_OF(gangs), 0 };
        int64_t best[PARTS * PART_NODES + 1] = { 0 };
        size_t wanted = 1 + random_below(&random, COUNT_OF(nodes));

        for (size_t x = 1; x < COUNT_OF(best); x++)
            best[x] = INT64_MAX / 2;
        for (size_t g = 0; g < COUNT_OF(gangs); g++)
            gangs[g].lost_gpu_s = gangs[g].price_gpu_s = 1 + (int64_t)random_below(&random, 90);
        for (size_t i = 0; i < COUNT_OF(nodes); i++) {
            nodes[i].name = "node";
            nodes[i].gangs = numbers[i];
            for (size_t g = 0; g < PART_GANGS; g++)
                if (random_below(&random, 3) == 0)
                    numbers[i][nodes[i].gang_count++] = i / PART_NODES * PART_GANGS + g;
        }
        for (size_t g = 0; g < COUNT_OF(gangs); g++)
            gangs[g].name = "gang";
        for (size_t part = 0; part < PARTS; part++)
            add_part(&scene, part * PART_NODES, best);
        assert_int_equal(lost_by(&scene, victims_choose(&scene, wanted, NULL), wanted),
                         best[wanted]);
    }
}

static void never_worse_than_simple_rules(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 300);
    for (int round = 0; round < 300; round++) {
        struct job_fleet fleet;
        size_t wanted;
        int64_t lost;

        job_fleet_init(&fleet, 10 + random_below(&random, 120), draw_job, NULL, &random);
        wanted = 1 + random_below(&random, fleet.scene.node_count);
        lost = lost_by(&fleet.scene, victims_choose(&fleet.scene, wanted, NULL), wanted);
        for (int rival = 0; rival < RIVAL_COUNT; rival++) {
            size_t *nodes = victims_rival(&fleet.scene, wanted, (enum victim_rival)rival,
                                          (uint64_t)round);
            int64_t theirs = lost_by(&fleet.scene, nodes, wanted);

            if (lost > theirs)
                fail_msg("round %d, %zu of %zu nodes: rival %d loses %lld, we lose %lld", round,
                         wanted, fleet.scene.node_count, rival, (long long)theirs, (long long)lost);
        }
        job_fleet_free(&fleet);
    }
}

/* A caller that stops half-way has not begun more than one gang in vain. */
static void prefixes_end_gangs_one_by_one(void **state)
{
    struct scene scene;
    static const size_t want[] = { 2, 5, 1, 3, 0, 4 };
    size_t *nodes;

    (void)state;
    read_scene(&scene, "a b - b a -", "a=9 b=5");
    nodes = victims_choose(&scene.scene, 6, NULL);
    for (size_t k = 0; k < COUNT_OF(want); k++)
        assert_int_equal(nodes[k], want[k]);
    mem_free(nodes);
}

static void the_bill_names_what_is_lost(void **state)
{
    struct scene scene;
    struct victim_bill bill;
    static const size_t taken[] = { 0, 1, 4 };

    (void)state;
    read_scene(&scene, "a ab c c -", "a=5 b=7 c=100");
    victims_bill(&scene.scene, taken, 3, &bill);
    assert_int_equal(bill.lost_gpu_s, 12);
    assert_int_equal(bill.gang_count, 2);
    assert_int_equal(bill.gangs[0], 1); /* b, the dearest */
    assert_int_equal(bill.idle_nodes, 1);
    /* without b's node: a, the idle one and one of c */
    assert_int_equal(victims_next_best(&scene.scene, 3, &bill), 100);
    assert_int_equal(victims_next_best(&scene.scene, 5, &bill), -1);
    victim_bill_clear(&bill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_work_is_lost),
        cmocka_unit_test(one_block_is_emptied),
        cmocka_unit_test(a_block_may_be_worth_lost_work),
        cmocka_unit_test(the_dearest_case_stays_in_range),
        cmocka_unit_test(few_nodes_are_chosen_as_by_trying_all),
        cmocka_unit_test(a_mixed_fleet_loses_least_by_work_and_then_by_priority),
        cmocka_unit_test(tangled_nodes_are_chosen_as_by_trying_all),
        cmocka_unit_test(many_nodes_are_chosen_as_by_a_knapsack),
        cmocka_unit_test(many_tangled_parts_are_chosen_together),
        cmocka_unit_test(never_worse_than_simple_rules),
        cmocka_unit_test(prefixes_end_gangs_one_by_one),
        cmocka_unit_test(the_bill_names_what_is_lost),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
