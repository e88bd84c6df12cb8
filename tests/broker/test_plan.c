/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plans from one line (plan_scene.h) to one line.
 */
#include "tests/broker/plan_scene.h"

/* "!res->a x2, res->a x1, withdraw t1, a lacks 3"; with names also "(res-01 res-02)". */
static void print_plan(const struct plan *plan, bool with_names, struct text *out)
{
    for (size_t i = 0, k; i < plan->transfers.count; i = k) {
        const struct plan_transfer *head = &plan->transfers.items[i];

        text_add(out, "%s%s%s->%s", out->length ? ", " : "", head->is_emergency ? "!" : "",
                 head->source->name, head->target->name);
        for (k = i; k < plan->transfers.count; k++) {
            const struct plan_transfer *next = &plan->transfers.items[k];

            if (next->source != head->source || next->target != head->target ||
                next->is_emergency != head->is_emergency)
                break;
            if (with_names)
                text_add(out, " %s", next->node->facts.name);
        }
        if (!with_names)
            text_add(out, " x%zu", k - i);
    }
    for (size_t i = 0; i < plan->withdrawn.count; i++)
        text_add(out, "%swithdraw %s", out->length ? ", " : "", plan->withdrawn.items[i]);
    for (size_t i = 0; i < plan->lack_count; i++)
        text_add(out, "%s%s lacks %" PRId64, out->length ? ", " : "", plan->lacks[i].pool->name,
                 plan->lacks[i].nodes);
}

static void expect_plan(const char *chars, bool with_names, const char *want)
{
    owned(scene) struct scene scene;
    owned(plan) struct plan *plan = NULL;
    owned(text) struct text *got = text_new(1 << 16);

    read_scene(&scene, chars);
    plan = plan_make(&scene.input);
    print_plan(plan, with_names, got);
    if (!text_equal(got->chars, want))
        fail_msg("%s\n  want: %s\n  got:  %s", chars, want, got->chars);
}

static const struct {
    const char *scene;
    const char *plan;
} rules[] = {
    /* no number is wanted */
    { "P a has=6; R res has=10;", "" },
    { "P a has=6; P b has=3; R res has=1 weight=9;", "" },
    { "P a has=6 want=6; R res has=10;", "" },
    /* growth */
    { "P a has=6 want=8; R res has=10;", "res->a x2" },
    { "P a has=6 in=2 want=8; R res has=10;", "" },
    { "P a has=6 in=1 want=8; R res has=10;", "res->a x1" },
    { "P a has=6 want=20; R res has=10 floor=3;", "res->a x7, a lacks 7" },
    { "P a has=6 want=8; R res has=10 free=1;", "res->a x1, a lacks 1" },
    { "P a has=6 want=8; R res has=2 floor=2 free=2;", "a lacks 2" },
    { "P a has=0 want=0; R res has=1;", "" },
    /* a spare of production comes before research */
    { "P a has=6 want=8; P b has=6 want=5; R res has=9;", "b->a x1, res->a x1" },
    /* a machine without a Node: no room to grow into, and nothing to be left with */
    { "P a has=6 unseen=2 want=6; R res has=10;", "" },
    { "P a has=6 unseen=2 want=4 free=4; R res has=10;", "" },
    { "P a has=7 unseen=1 want=4 free=6; R res has=9;", "a->res x2" },
    { "P a has=6 want=8; R res has=4 unseen=1 floor=2 free=3;", "res->a x1, a lacks 1" },
    { "P a has=6 want=8; P b has=6; R res has=9;", "res->a x2" },
    /* a machine that may be here: no room to grow into, and no node that is there */
    { "P a has=6 unplaced=12 max=20 want=8; R res has=10;", "res->a x2" },
    { "P a has=6 unplaced=12 max=19 want=8; R res has=10;", "res->a x1, a lacks 1" },
    { "P a has=6 unplaced=12 max=8 want=8; R res has=10;", "a lacks 2" },
    { "P a has=6 unplaced=1 max=8 group=2 want=8; R res has=10;", "a lacks 2" },
    { "P a has=6 unplaced=3 want=6; R res has=10;", "" },
    { "P a has=6 unplaced=12 max=8 level=8; R res has=10;", "a lacks 2" },
    { "P a has=9 want=6; R x has=0 unplaced=9 max=9; R y has=9;", "a->y x3" },
    { "P a has=9 want=6; R x has=0 unplaced=8 max=9; R y has=9 max=10;", "a->x x1, a->y x1" },
    /* the one that lacks most is served first, and they end alike */
    { "P a has=0 want=2; P b has=0 want=4; R res has=3;",
      "res->b x2, res->a x1, a lacks 1, b lacks 2" },
    /* shrinking, by weight */
    { "P a has=9 want=6; R res has=1;", "a->res x3" },
    { "P a has=9 want=1 floor=5; R res has=1;", "a->res x4" },
    { "P a has=9 want=6; R x has=0 weight=2; R y has=0 weight=1;", "a->x x1, a->y x1, a->x x1" },
    { "P a has=9 want=6; R x has=6 weight=2; R y has=1 weight=1;", "a->y x2, a->x x1" },
    { "P a has=9 want=6; R x has=2 max=3; R y has=9 max=10;", "a->x x1, a->y x1" },
    { "P a has=9 want=6; R x has=2 in=1 max=3; R y has=9 max=9;", "" },
    { "P a has=9 want=6;", "" },
    { "P a has=9 want=6 free=0; R x has=1;", "" },
    /* taking from research, by weight */
    { "P a has=0 want=3; R x has=6 weight=2; R y has=6 weight=1;", "y->a x3" },
    { "P a has=0 want=1; R x has=6 weight=2; R y has=6 weight=1 floor=6;", "x->a x1" },
    /* research pools do not trade */
    { "R x has=9 weight=1; R y has=1 weight=9;", "" },
    /* reservations never mix */
    { "P a has=1 want=3; R res has=9 east=0;", "a lacks 2" },
    { "P a has=5 want=3; R res has=9 east=0;", "" },
    { "P a has=1 want=3; P b has=9 want=1 east=0; R r has=1; R s has=0 east=0;",
      "r->a x1, b->s x8, a lacks 1" },
    /* reclaims */
    { "P a has=6 level=8; R res has=10;", "!res->a x2" },
    { "P a has=6 want=9 level=8; R res has=10;", "!res->a x2, res->a x1" },
    { "P a has=6 want=6 level=8; R res has=10;", "!res->a x2" },
    { "P a has=6 want=9 level=3; R res has=10;", "res->a x3" },
    { "P a has=9 want=6 level=8; R res has=0;", "a->res x1" },
    { "P a has=6 in=2 want=6 level=8; R res has=10;", "" },
    { "P a has=0 want=9; P b has=0 level=2; R res has=3;", "!res->b x2, res->a x1, a lacks 8" },
    { "P a has=2 want=4; P b has=2 want=2 level=3; R res has=9;", "!res->b x1, res->a x2" },
    /* no pool grows over its limit, for any caller */
    { "P a has=6 max=7 level=9; R res has=10;", "!res->a x1" },
    { "P a has=6 max=7 want=7 level=9; R res has=10;", "!res->a x1" },
    { "P a has=38 want=38 level=50; R res has=10;", "!res->a x2" },
    /* a reclaim from one research cluster */
    { "P a has=6 level=8 from=x; R x has=10; R y has=20;", "!x->a x2" },
    { "P a has=6 want=6 level=8 from=x; R x has=1; R y has=20;", "!x->a x1, a lacks 1" },
    { "P a has=6 want=6 level=8 from=x; P b has=9 want=4; R x has=10; R y has=0;",
      "!b->a x2, b->y x3" },
    { "P a has=4 want=6 level=8 from=x; R x has=10 weight=9; R y has=20;", "!y->a x2, !x->a x2" },
    { "P a has=6 want=9 level=8 from=x; R x has=0; R y has=20;", "!y->a x2, y->a x1" },
    { "P a has=6 level=8 from=x; R x has=9 east=0; R y has=20;", "a lacks 2" },
    { "P a has=6 level=8 from=gone; R y has=20;", "a lacks 2" },
    { "P a has=6 level=8 from=x; R x has=9 known=0; R y has=20;", "a lacks 2" },
    { "P a has=7 level=8 from=x in=1; R x has=9; R y has=20;", "" },
    { "P a has=6 level=8 from=x level=11 from=y; R x has=10; R y has=10;", "!x->a x2, !y->a x3" },
    { "P a has=6 level=8 from=x level=10; R x has=0; R y has=10;", "!y->a x2, a lacks 2" },
    { "P a has=6 level=8 from=x level=8; R x has=0; R y has=10;", "!y->a x2" },
    { "P a has=6 level=8 level=10 from=x; R x has=1 weight=1; R y has=10;",
      "!y->a x2, !x->a x1, a lacks 1" },
    { "P a has=4 level=6 from=x group=2; R x has=1; R y has=20;", "a lacks 2" },
    { "P a has=6 level=8 from=x; P b has=2 level=4; R x has=2; R y has=0;",
      "!x->a x1, !x->b x1, a lacks 1, b lacks 1" },
    /* what is not wanted any more is withdrawn, newest first */
    { "P a has=6 in=2 want=7; R res has=8; T one res>a; T two res>a;", "withdraw two" },
    { "P a has=6 in=2 want=6; R res has=8; T one res>a; T two res>a fixed;", "withdraw one" },
    /* no node that serves goes for one that is on its way: it may come late, or never */
    { "P a has=6 in=2 want=6; R res has=8; T one res>a fixed; T two res>a fixed;", "" },
    { "P a has=6 in=1 want=5; R res has=8; T one res>a fixed;", "a->res x1" },
    { "P a has=6 in=2 want=5; R res has=8; T one res>a fixed; T two res>a fixed;", "a->res x1" },
    { "P a has=6 in=1 want=6; P b has=1 want=2; R res has=0; T one res>a fixed;", "b lacks 1" },
    { "P a has=4 want=6; R res has=8 in=2; T one a>res; T two a>res;",
      "withdraw two, withdraw one" },
    { "P a has=4 want=7; R res has=8 in=2; T one a>res; T two a>res;",
      "res->a x1, withdraw two, withdraw one" },
    { "P a has=4; R res has=8 in=2; T one a>res; T two res>a;", "" },
    /* between two production pools a transfer is withdrawn once, for either's sake */
    { "P a has=5 want=6; P b has=5 in=1 want=5; R res has=8; T one a>b;", "withdraw one" },
    { "P b has=5 in=1 want=5; P a has=5 want=6; R res has=8; T one a>b;", "withdraw one" },
    { "P a has=5 want=6; P b has=5 in=1 want=6; R res has=8; T one a>b;",
      "res->b x1, withdraw one" },
    /* a pool that is not known neither gives nor takes, and stops no other */
    { "P a has=6 want=8; R x has=9 known=0; R y has=3;", "y->a x2" },
    { "P a has=6 want=8; R x has=9 known=0;", "a lacks 2" },
    { "P a has=6 want=8 known=0; R x has=9;", "" },
    { "P a has=9 want=6 known=0; R x has=1;", "" },
    { "P a has=9 want=6; R x has=1 known=0; R y has=9;", "a->y x3" },
    { "P a has=9 want=6; R x has=1 known=0;", "" },
    { "P a has=6 want=8; P b has=9 want=6 known=0; R x has=1;", "x->a x1, a lacks 1" },
    { "P a has=6 level=8; P b has=4 want=9 known=0; R x has=9 known=0; R y has=9;", "!y->a x2" },
    { "P a has=6 level=8; R x has=9 east=0 known=0; R y has=9;", "!y->a x2" },
    /* what is under way with it is neither taken back nor given for */
    { "P a has=6 in=2 want=7; R x has=8 known=0; R y has=8; T one x>a; T two x>a;", "" },
    { "P a has=6 in=2 want=7; R x has=8 known=0; R y has=8; T one y>a; T two x>a;",
      "withdraw one" },
    { "P a has=6 in=2 want=5; R x has=8 known=0; R y has=8; T one x>a fixed; T two y>a fixed;",
      "a->y x1" },
    { "P a has=4 want=6; R x has=8 in=2 known=0; R y has=8; T one a>x; T two a>x;", "y->a x2" },
    { "P a has=6 in=1 want=5; P b has=5 known=0; R y has=8; T one b>a fixed;", "a->y x1" },
    { "P a has=5 want=6; P b has=5 in=1 want=5 known=0; R x has=8; T one a>b;", "x->a x1" },
    /* one that does not answer just now comes last */
    { "P a has=6 want=8; R x has=9 heard=0; R y has=3;", "y->a x2" },
    { "P a has=6 want=8; R x has=9 heard=0; R y has=3 floor=2;", "y->a x1, x->a x1" },
    { "P a has=9 want=7; R x has=1 heard=0; R y has=9;", "a->y x2" },
    { "P a has=6 want=8; P b has=9 want=5 heard=0; P d has=6 want=4; R x has=1;",
      "d->a x2, b->x x4" },
    /* a pool that is left alone is not filled or emptied by a withdrawal */
    { "P a has=5 want=6; P b has=5 in=1; R res has=8; T one a>b;", "withdraw one" },
    { "P b has=5; P a has=5 in=1 want=5; R res has=8; T one b>a;", "withdraw one" },
};

static void plans_are_what_the_rules_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        expect_plan(rules[i].scene, false, rules[i].plan);
}

static const struct {
    const char *scene;
    const char *plan;
} group_rules[] = {
    /* growth: what makes a group whole, or nothing */
    { "P a has=6 want=8 group=2; R res has=10;", "res->a x2" },
    { "P a has=6 want=7 group=2; R res has=10;", "res->a x2" },
    { "P a has=6 want=8 group=2; R res has=1;", "a lacks 2" },
    { "P a has=6 want=10 group=2; R res has=3;", "res->a x2, a lacks 2" },
    { "P a has=5 want=8 group=2; R res has=2;", "res->a x1, a lacks 2" },
    { "P a has=6 want=12 group=4; R res has=5;", "res->a x2, a lacks 4" },
    { "P a has=0 want=2 group=2; R x has=1; R y has=1;", "x->a x1, y->a x1" },
    { "P a has=6 max=9 want=12 group=4; R res has=20;", "res->a x2" },
    { "P a has=4 level=5 group=2; R res has=10;", "!res->a x2" },
    { "P a has=0 want=4 group=4; P b has=0 want=2; R res has=3;", "res->b x2, a lacks 4" },
    /* shrinking: an odd node first, then whole groups */
    { "P a has=8 want=5 group=2; R res has=1;", "a->res x2" },
    { "P a has=9 want=6 group=2; R res has=1;", "a->res x3" },
    { "P a has=7 want=6 group=2; R res has=1;", "a->res x1" },
    { "P a has=8 want=4 group=4 free=3; R res has=0;", "" },
    { "P a has=8 want=4 group=2; R x has=9 max=10; R y has=2 max=3;", "a->y x1, a->x x1" },
    { "P a has=8 want=4 group=2; R x has=9 max=10;", "" },
    { "P a has=5 want=6 group=2; P b has=6 want=4 group=2; R res has=0;", "b->a x1, b->res x1" },
    /* static nodes need not be whole groups */
    { "P a has=3 floor=3 want=3 group=2; R res has=9;", "" },
    { "P a has=5 floor=3 want=3 group=2; R res has=0;", "a->res x2" },
    { "P a has=3 floor=3 want=4 group=2; R res has=9;", "res->a x1" },
    /* what is under way */
    { "P a has=6 in=2 want=6 group=2; R res has=8; T one res>a; T two res>a;",
      "withdraw two, withdraw one" },
    { "P a has=6 in=2 want=6 group=2; R res has=8; T one res>a; T two res>a fixed;",
      "withdraw one" },
    { "P a has=4 want=6 group=2; R res has=8 in=2; T one a>res; T two a>res fixed;",
      "res->a x1, withdraw one" },
    { "P a has=6 in=1 want=8 group=2; R res has=8; T one res>a fixed;", "res->a x1" },
};

static void groups_come_and_go_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(group_rules); i++)
        expect_plan(group_rules[i].scene, false, group_rules[i].plan);
}

/* Who begins together is numbered: the nodes of one group, from whatever pool they come. */
static void a_group_is_one_unit(void **state)
{
    static const size_t want[] = { 1, 1, 2, 2, 3 };
    owned(scene) struct scene scene;
    owned(plan) struct plan *plan = NULL;

    (void)state;
    read_scene(&scene, "P a has=0 want=4 group=2; P b has=0 want=1; R x has=3; R y has=3;");
    plan = plan_make(&scene.input);
    assert_int_equal(plan->transfers.count, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(plan->transfers.items[i].unit, want[i]);
}

static void the_cheapest_nodes_go_first(void **state)
{
    (void)state;
    expect_plan("P a has=0 want=3; R res has=5 cost=90505;", true, "res->a res-02 res-04 res-03");
    expect_plan("P a has=5 want=3 cost=32111; R res has=0;", true, "a->res a-03 a-04");
}

/* Two nodes of one gang: the first one costs all of it, the other nothing, and a plan that takes
   both pays once. */
static void a_gang_is_paid_once(void **state)
{
    owned(scene) struct scene scene;
    owned(plan) struct plan *plan = NULL;
    struct plan_bill bill;

    (void)state;
    read_scene(&scene, "P a has=0 want=3; R x has=2 cost=55; R y has=3 cost=979;");
    scene.pools[2].nodes.items[1].facts = scene.pools[2].nodes.items[0].facts;
    scene.pools[2].nodes.items[1].facts.name = "y-02";
    scene.pools[1].nodes.items[0].facts.gangs = scene.pools[2].nodes.items[0].facts.gangs;
    plan = plan_make(&scene.input);
    assert_int_equal(plan->transfers.count, 3);
    assert_int_equal(plan->transfers.items[0].lost_gpu_s + plan->transfers.items[1].lost_gpu_s +
                         plan->transfers.items[2].lost_gpu_s,
                     14); /* 9 for x-01, y-01 and y-02 together or 5 and 9 */
    plan_bill(&scene.input, plan, BILL_ALL, &bill);
    assert_int_equal(bill.bill.lost_gpu_s, 14);
    assert_int_equal(bill.node_count, 3);
    victim_bill_clear(&bill.bill);
    plan_bill(&scene.input, plan, BILL_EMERGENCIES, &bill);
    assert_int_equal(bill.node_count, 0);
    victim_bill_clear(&bill.bill);
}

static void random_scene(struct scene *scene, struct random *random)
{
    size_t count = 2 + (size_t)draw(random, 6);
    char name[2] = "a";

    scene_begin(scene, 20 + draw(random, 30));
    for (size_t i = 0; i < count; i++, name[0]++) {
        struct plan_pool *pool = add_pool(scene, draw(random, 2) ? ROLE_PRODUCTION : ROLE_RESEARCH,
                                          name);
        int64_t movable;

        scene->configs[i].reservation = &scene->reservations[draw(random, 4) == 0];
        scene->configs[i].static_nodes = draw(random, 3);
        if (scene->clusters[i].role == ROLE_PRODUCTION && draw(random, 3) == 0)
            scene->configs[i].group = 2 + draw(random, 2);
        scene->configs[i].node_max = draw(random, 3) ? 0 : 3 + draw(random, 10);
        scene->clusters[i].weight = draw(random, 4);
        pool->is_known = draw(random, 5) > 0;
        pool->is_heard = draw(random, 5) > 0;
        pool->present = draw(random, 8);
        pool->wanted = draw(random, 3) ? draw(random, 12) : -1;
        pool->unplaced = draw(random, 4) ? 0 : draw(random, 8);
        for (int64_t left = draw(random, 4) ? 0 : draw(random, 3); left > 0; left--)
            *array_add(&pool->reclaims) = (struct plan_reclaim){ 1 + draw(random, 11),
                                                                 &"c\0b\0\0"[2 * draw(random, 3)],
                                                                 NULL };
        movable = draw(random, pool->present + 1);
        for (int64_t k = 0; k < movable; k++)
            add_node(scene, pool, draw(random, 3));
    }
    for (int64_t left = draw(random, 6); left > 0; left--) {
        size_t source = (size_t)draw(random, (int64_t)count);
        size_t target = (size_t)draw(random, (int64_t)count);
        char id[8];

        if (source == target ||
            scene->configs[source].reservation != scene->configs[target].reservation)
            continue;
        snprintf(id, sizeof id, "t%d", (int)left);
        add_live(scene, id, source, target, (enum live_kind)draw(random, 3));
        scene->pools[target].incoming++;
    }
}

/* What must hold of a plan for one pool, given what it had. */
static void check_pool(const struct scene *scene, const struct plan *plan, size_t at)
{
    const struct plan_pool *pool = &scene->pools[at];
    const struct config_pool *config = pool->config;
    int64_t max = config->node_max ?: config->reservation->nodes;
    int64_t out = 0;
    int64_t in = 0;
    int64_t withdrawn_in = 0;
    int64_t withdrawn_out = 0;
    int64_t then;

    for (size_t i = 0; i < plan->transfers.count; i++) {
        out += plan->transfers.items[i].source == config;
        in += plan->transfers.items[i].target == config;
    }
    for (size_t i = 0; i < plan->withdrawn.count; i++)
        for (size_t k = 0; k < scene->input.live_count; k++) {
            if (!text_equal(scene->live[k].id, plan->withdrawn.items[i]))
                continue;
            withdrawn_in += scene->live[k].target == config;
            withdrawn_out += scene->live[k].source == config;
        }
    then = pool->present + pool->incoming - withdrawn_in + withdrawn_out + in;
    assert_true(in == 0 || then % config->group == 0 || then == plan_wanted(pool));
    assert_true(out == 0 || pool->present - out >= config->static_nodes);
    assert_true(out <= (int64_t)pool->nodes.count);
    assert_true(out == 0 || config->cluster->role != ROLE_PRODUCTION ||
                pool->present - pool->unseen + withdrawn_out - out >= plan_wanted(pool));
    assert_true(in == 0 ||
                pool->present + pool->incoming + pool->unplaced - withdrawn_in + in <= max);
    assert_true(in == 0 || out == 0);
    if (!pool->is_known || (config->cluster->role == ROLE_PRODUCTION && plan_wanted(pool) < 0))
        assert_true(in == 0 && out == 0);
}

static bool may_give(const struct plan_pool *pool, const struct config_cluster *giver)
{
    for (size_t i = 0; i < pool->reclaims.count; i++)
        if (pool->reclaims.items[i].from[0] == '\0' ||
            text_equal(pool->reclaims.items[i].from, giver->name))
            return true;
    return false;
}

/* A cluster that no reclaim is from gives what the schedule wants, and no more. */
static void check_givers(const struct scene *scene, const struct plan *plan, size_t at)
{
    const struct plan_pool *pool = &scene->pools[at];
    int64_t have = pool->present + pool->incoming;
    int64_t others = 0;

    for (size_t i = 0; i < plan->withdrawn.count; i++)
        for (size_t k = 0; k < scene->input.live_count; k++)
            if (text_equal(scene->live[k].id, plan->withdrawn.items[i]))
                have -= scene->live[k].target == pool->config;
    for (size_t i = 0; i < plan->transfers.count; i++)
        others += plan->transfers.items[i].target == pool->config &&
                  plan->transfers.items[i].source->cluster->role == ROLE_RESEARCH &&
                  !may_give(pool, plan->transfers.items[i].source->cluster);
    if (pool->config->cluster->role == ROLE_PRODUCTION && pool->reclaims.count > 0 &&
        pool->config->group == 1)
        assert_true(others <= (pool->wanted > have ? pool->wanted - have : 0));
}

static void check_transfers(const struct plan *plan)
{
    bool was_voluntary = false;

    for (size_t i = 0; i < plan->transfers.count; i++) {
        const struct plan_transfer *transfer = &plan->transfers.items[i];

        assert_ptr_not_equal(transfer->source, transfer->target);
        assert_ptr_equal(transfer->source->reservation, transfer->target->reservation);
        assert_true(transfer->source->cluster->role == ROLE_PRODUCTION ||
                    transfer->target->cluster->role == ROLE_PRODUCTION);
        assert_false(transfer->is_emergency && was_voluntary);
        was_voluntary = !transfer->is_emergency;
        for (size_t k = 0; k < i; k++)
            assert_ptr_not_equal(transfer->node, plan->transfers.items[k].node);
    }
    for (size_t i = 0; i < plan->withdrawn.count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(plan->withdrawn.items[i], plan->withdrawn.items[k]);
}

static void no_plan_breaks_a_rule(void **state)
{
    struct random random;
    size_t transfers = 0;
    size_t withdrawn = 0;

    (void)state;
    random_seed(&random, 42);
    for (int round = 0; round < 4000; round++) {
        owned(scene) struct scene scene;
        owned(plan) struct plan *plan = NULL;
        owned(plan) struct plan *again = NULL;
        owned(text) struct text *text = text_new(1 << 16);
        owned(text) struct text *text_again = text_new(1 << 16);

        random_scene(&scene, &random);
        plan = plan_make(&scene.input);
        again = plan_make(&scene.input);
        print_plan(plan, true, text);
        print_plan(again, true, text_again);
        assert_string_equal(text->chars, text_again->chars);
        check_transfers(plan);
        for (size_t i = 0; i < scene.config.pool_count; i++) {
            check_pool(&scene, plan, i);
            check_givers(&scene, plan, i);
        }
        transfers += plan->transfers.count;
        withdrawn += plan->withdrawn.count;
    }
    assert_true(transfers > 1000); /* the rounds are not empty */
    assert_true(withdrawn > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_what_the_rules_say),
        cmocka_unit_test(groups_come_and_go_whole),
        cmocka_unit_test(a_group_is_one_unit),
        cmocka_unit_test(the_cheapest_nodes_go_first),
        cmocka_unit_test(a_gang_is_paid_once),
        cmocka_unit_test(no_plan_breaks_a_rule),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
