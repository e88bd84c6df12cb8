/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders to a pool that takes only a number: each is carried out once, in whatever order they come,
 * when answers are lost, others write too, and the process ends.
 */
#include "base/text.h"
#include "providers/common/growth.h"
#include "tests/support/unit.h"

#include <string.h>

struct order {
    struct growth_turn turn;
    char id[64];
    char progress[GROWTH_PROGRESS_SIZE];
    int readied;
    bool is_cancel;
};

/* Two orders, or two cancels, of one pool. */
struct bench {
    struct growth *growth;
    struct order a, b;
};

static void readied(struct growth_turn *turn)
{
    ((struct order *)turn)->readied++;
}

static void order_new(struct order *order, const char *id)
{
    *order = (struct order){ .turn = { .ready = readied } };
    text_copy(order->id, sizeof order->id, id);
    order->turn.request_id = order->id;
    order->turn.progress = order->progress;
}

static void bench_open(struct bench *bench, bool is_cancel)
{
    bench->growth = growth_new();
    order_new(&bench->a, "a");
    order_new(&bench->b, "b");
    bench->a.is_cancel = bench->b.is_cancel = is_cancel;
}

static void owned_bench(struct bench *bench)
{
    growth_free(bench->growth);
}

/* The next step of an order whose turn it is. */
static enum growth_verdict decide(struct order *order, const struct growth_size *size,
                                  int64_t *ret_wanted)
{
    char progress[GROWTH_PROGRESS_SIZE] = "";
    enum growth_verdict verdict = (order->is_cancel ? growth_shrink : growth_grow)(
        &order->turn, size, progress, ret_wanted);

    assert_int_equal(progress[0] != '\0', verdict == GROWTH_PLAN);
    if (verdict == GROWTH_PLAN)
        text_copy(order->progress, sizeof order->progress, progress);
    return verdict;
}

/* One call of an order, alone in its place; a cancel finds six machines. */
static enum growth_verdict call(struct growth *growth, struct order *order, int64_t wanted,
                                int64_t *ret_wanted)
{
    const struct growth_size size = { wanted, order->is_cancel ? 6 : 0, "" };
    enum growth_verdict verdict;

    growth_wait(growth, "p", &order->turn);
    verdict = decide(order, &size, ret_wanted);
    growth_leave(&order->turn);
    return verdict;
}

/* The pool is as large as `wanted`. */
static void expect_plan(struct growth *growth, struct order *order, int64_t wanted,
                        const char *plan)
{
    int64_t sent = 0;

    assert_int_equal(call(growth, order, wanted, &sent), GROWTH_PLAN);
    assert_string_equal(order->progress, plan);
}

static void expect_send(struct growth *growth, struct order *order, int64_t wanted, int64_t number)
{
    int64_t sent = 0;

    assert_int_equal(call(growth, order, wanted, &sent), GROWTH_SEND);
    assert_int_equal(sent, number);
}

/* A verdict by which nothing is sent or planned. */
static void expect_end(struct growth *growth, struct order *order, int64_t wanted,
                       enum growth_verdict verdict)
{
    int64_t sent = 0;

    assert_int_equal(call(growth, order, wanted, &sent), verdict);
    assert_int_equal(sent, 0);
}

/* In its turn, with others that wait. */
static void expect_send_in_turn(struct order *order, int64_t wanted, int64_t number)
{
    const struct growth_size size = { .wanted = wanted, .version = "" };
    int64_t sent = 0;

    assert_int_equal(decide(order, &size, &sent), GROWTH_SEND);
    assert_int_equal(sent, number);
}

static void an_order_plans_sends_and_is_done(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_send(it.growth, &it.a, 7, 8);
    expect_end(it.growth, &it.a, 8, GROWTH_DONE);
}

/* The kind that a transient failure of this order has: before it was decided, or after. */
static enum error_kind failed(struct growth *growth, struct order *order, bool is_decided)
{
    const struct growth_size size = { 7, 7, "" };
    struct error err = { .kind = ERROR_TRANSIENT };
    int64_t wanted;

    growth_wait(growth, "p", &order->turn);
    if (is_decided)
        decide(order, &size, &wanted);
    growth_failed(&order->turn, &err);
    growth_leave(&order->turn);
    return err.kind;
}

/* An order whose plan is stored may have been sent, with another order's number too. */
static void a_failed_read_says_nothing_of_an_order(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    assert_int_equal(failed(it.growth, &it.a, false), ERROR_TRANSIENT);
    expect_plan(it.growth, &it.a, 7, "7>8");
    assert_int_equal(failed(it.growth, &it.a, false), ERROR_TRANSIENT); /* it was not sent */
    expect_send(it.growth, &it.a, 7, 8);
    assert_int_equal(failed(it.growth, &it.a, false), ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(failed(it.growth, &it.a, true), ERROR_TRANSIENT);
    growth_free(it.growth);
    it.growth = growth_new(); /* after a restart */
    assert_int_equal(failed(it.growth, &it.a, false), ERROR_UNKNOWN_OUTCOME);
}

static void two_orders_never_share_a_number(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_plan(it.growth, &it.b, 7, "8>9");
    expect_send(it.growth, &it.a, 7, 8);
    expect_send(it.growth, &it.b, 8, 9);
}

/* b reads the pool before a has sent its number: b is not next, and neither counts as done by the
   other's number. */
static void an_order_that_is_not_next_plans_again(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_plan(it.growth, &it.b, 7, "8>9");
    expect_plan(it.growth, &it.b, 7, "7>8");
    expect_send(it.growth, &it.b, 7, 8);
    expect_plan(it.growth, &it.a, 8, "8>9");
    expect_send(it.growth, &it.a, 8, 9);
}

static void orders_that_wait_together_are_one_number(void **state)
{
    static const char *const plans[] = { "7>8", "8>9", "9>10", "10>11", "11>12" };
    const struct growth_size whole = { .wanted = 11, .version = "" };
    struct growth *growth = growth_new();
    struct order orders[5];
    int64_t wanted = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        order_new(&orders[i], (const char *[]){ "a", "b", "c", "d", "e" }[i]);
        expect_plan(growth, &orders[i], 7, plans[i]);
    }
    for (size_t i = 0; i < 4; i++)
        growth_wait(growth, "p", &orders[i].turn);
    assert_int_equal(orders[1].readied, 1); /* waits */
    expect_send_in_turn(&orders[0], 7, 11); /* e does not wait */
    growth_answered(&orders[0].turn, true);
    for (size_t i = 0; i < 3; i++) {
        growth_leave(&orders[i].turn);
        assert_int_equal(orders[i + 1].readied, 2);
        assert_int_equal(decide(&orders[i + 1], &whole, &wanted), GROWTH_DONE);
    }
    growth_leave(&orders[3].turn);
    expect_send(growth, &orders[4], 11, 12);
    growth_free(growth);
}

static void a_refused_number_is_refused_for_all_that_it_was_for(void **state)
{
    const struct growth_size taken = { .wanted = 9, .version = "" };
    owned(bench) struct bench it;
    int64_t wanted = 0;

    (void)state;
    bench_open(&it, false);
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_plan(it.growth, &it.b, 7, "8>9");
    growth_wait(it.growth, "p", &it.a.turn);
    growth_wait(it.growth, "p", &it.b.turn);
    expect_send_in_turn(&it.a, 7, 9);
    growth_answered(&it.a.turn, false);
    growth_leave(&it.a.turn);
    /* Another writer has taken the size there meanwhile: b was not sent, and is not done. */
    assert_int_equal(decide(&it.b, &taken, &wanted), GROWTH_PLAN);
    assert_string_equal(it.b.progress, "9>10");
    growth_leave(&it.b.turn);
}

/* A restart forgets what was sent; only the progress is left. */
static const struct {
    const char *progress;
    int64_t wanted;
    enum growth_verdict verdict;
    const char *plan;
    int64_t sent;
} restarts[] = {
    { "7>8", 7, GROWTH_SEND, "", 8 },     { "7>8", 8, GROWTH_DONE, "", 0 },
    { "7>8", 9, GROWTH_DONE, "", 0 }, /* another writer too; never a second machine */
    { "7>8", 6, GROWTH_PLAN, "6>7", 0 },  { "7>8@v1", 7, GROWTH_SEND, "", 8 },
    { "8>7", 7, GROWTH_PLAN, "7>8", 0 }, /* of another kind of order */
    { "7>9", 7, GROWTH_PLAN, "7>8", 0 },  { "x", 7, GROWTH_PLAN, "7>8", 0 },
    { "7", 7, GROWTH_PLAN, "7>8", 0 },    { "7>", 7, GROWTH_PLAN, "7>8", 0 },
    { "7>8z", 7, GROWTH_PLAN, "7>8", 0 },
};

static void after_a_restart_the_pool_decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(restarts); i++) {
        struct growth *growth = growth_new();
        struct order order;
        int64_t wanted = 0;

        order_new(&order, "a");
        text_copy(order.progress, sizeof order.progress, restarts[i].progress);
        assert_int_equal(call(growth, &order, restarts[i].wanted, &wanted), restarts[i].verdict);
        if (restarts[i].verdict == GROWTH_PLAN)
            assert_string_equal(order.progress, restarts[i].plan);
        assert_int_equal(wanted, restarts[i].sent);
        growth_free(growth);
    }
}

static const struct {
    const char *progress;
    struct growth_size size;
    enum growth_verdict verdict;
    const char *plan;
    int64_t sent;
} shrinks[] = {
    { "", { 8, 7, "" }, GROWTH_PLAN, "8>7", 0 },
    { "", { 8, 7, "v1" }, GROWTH_PLAN, "8>7@v1", 0 },
    { "", { 8, 8, "" }, GROWTH_NONE, "", 0 },
    { "", { 7, 8, "" }, GROWTH_NONE, "", 0 },
    { "8>7", { 8, 7, "" }, GROWTH_SEND, "", 7 },
    { "8>7", { 8, 8, "" }, GROWTH_NONE, "", 0 }, /* it has come meanwhile */
    { "8>7", { 7, 7, "" }, GROWTH_DONE, "", 0 },
    { "8>7", { 6, 6, "" }, GROWTH_DONE, "", 0 },
    { "8>7", { 9, 7, "" }, GROWTH_PLAN, "9>8", 0 },
    { "8>7@v1", { 8, 7, "v1" }, GROWTH_SEND, "", 7 },
    { "8>7@v1", { 8, 7, "v2" }, GROWTH_PLAN, "8>7@v2", 0 },
};

static void taking_back_never_reaches_a_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shrinks); i++) {
        struct growth *growth = growth_new();
        char progress[GROWTH_PROGRESS_SIZE] = "";
        struct order order;
        int64_t wanted = 0;

        order_new(&order, "a");
        text_copy(order.progress, sizeof order.progress, shrinks[i].progress);
        growth_wait(growth, "p", &order.turn);
        assert_int_equal(growth_shrink(&order.turn, &shrinks[i].size, progress, &wanted),
                         shrinks[i].verdict);
        assert_string_equal(progress, shrinks[i].plan);
        assert_int_equal(wanted, shrinks[i].sent);
        growth_leave(&order.turn);
        growth_free(growth);
    }
}

/* Two that are planned beside each other take two back: neither counts as done by the other's
   number. */
static void two_cancels_never_share_a_number(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, true);
    expect_plan(it.growth, &it.a, 8, "8>7");
    expect_plan(it.growth, &it.b, 8, "7>6");
    expect_send(it.growth, &it.a, 8, 7);
    growth_answered(&it.a.turn, true);
    expect_send(it.growth, &it.b, 7, 6);
}

/* b is asked first, and goes first; a then follows it. */
static void a_cancel_that_is_not_next_plans_again(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, true);
    expect_plan(it.growth, &it.a, 8, "8>7");
    expect_plan(it.growth, &it.b, 8, "7>6");
    expect_plan(it.growth, &it.b, 8, "8>7");
    expect_send(it.growth, &it.b, 8, 7);
    expect_plan(it.growth, &it.a, 7, "7>6");
    expect_send(it.growth, &it.a, 7, 6);
    expect_end(it.growth, &it.a, 6, GROWTH_DONE); /* its answer was lost */
}

/* Its number was reached before it was sent: by another writer, so that it is not done. */
static void a_cancel_is_not_done_by_another_writer(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, true);
    expect_plan(it.growth, &it.a, 8, "8>7");
    expect_plan(it.growth, &it.a, 7, "7>6");
}

/* A cancel that was planned and never sent takes no room from the others. */
static void an_abandoned_cancel_blocks_none(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, true);
    expect_plan(it.growth, &it.a, 7, "7>6");
    expect_plan(it.growth, &it.b, 7, "7>6");
    expect_send(it.growth, &it.b, 7, 6);
    expect_end(it.growth, &it.a, 6, GROWTH_NONE);
}

static void whoever_leaves_lets_the_next_one_go(void **state)
{
    owned(bench) struct bench it;
    struct order c;

    (void)state;
    bench_open(&it, false);
    order_new(&c, "c");
    growth_wait(it.growth, "p", &it.a.turn);
    growth_wait(it.growth, "p", &it.b.turn);
    growth_wait(it.growth, "q", &c.turn); /* elsewhere */
    assert_int_equal(c.readied, 1);
    assert_int_equal(it.b.readied, 0);
    growth_leave(&it.b.turn); /* while it waits */
    growth_leave(&it.b.turn);
    growth_wait(it.growth, "p", &it.b.turn);
    growth_leave(&it.a.turn);
    assert_int_equal(it.b.readied, 1);
    growth_leave(&it.b.turn);
    growth_leave(&c.turn);
}

/* One write at a time in a cluster: its pools share a place, and nothing else. */
static void pools_of_one_place_have_their_own_sizes(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    it.a.turn.pool = "gpu";
    it.b.turn.pool = "cpu";
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_plan(it.growth, &it.b, 2, "2>3");
    growth_wait(it.growth, "p", &it.a.turn);
    expect_send_in_turn(&it.a, 7, 8);
    growth_leave(&it.a.turn);
}

/* Plans of another pool are not sent along, whatever their numbers are. */
static void an_order_of_another_pool_waits_for_itself(void **state)
{
    owned(bench) struct bench it;

    (void)state;
    bench_open(&it, false);
    it.a.turn.pool = "gpu";
    it.b.turn.pool = "cpu";
    expect_plan(it.growth, &it.a, 7, "7>8");
    expect_plan(it.growth, &it.b, 8, "8>9");
    growth_wait(it.growth, "p", &it.a.turn);
    growth_wait(it.growth, "p", &it.b.turn);
    expect_send_in_turn(&it.a, 7, 8);
    growth_answered(&it.a.turn, true);
    growth_leave(&it.a.turn);
    expect_send_in_turn(&it.b, 8, 9);
    growth_leave(&it.b.turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_plans_sends_and_is_done),
        cmocka_unit_test(a_failed_read_says_nothing_of_an_order),
        cmocka_unit_test(two_orders_never_share_a_number),
        cmocka_unit_test(an_order_that_is_not_next_plans_again),
        cmocka_unit_test(orders_that_wait_together_are_one_number),
        cmocka_unit_test(a_refused_number_is_refused_for_all_that_it_was_for),
        cmocka_unit_test(after_a_restart_the_pool_decides),
        cmocka_unit_test(taking_back_never_reaches_a_machine),
        cmocka_unit_test(two_cancels_never_share_a_number),
        cmocka_unit_test(a_cancel_that_is_not_next_plans_again),
        cmocka_unit_test(a_cancel_is_not_done_by_another_writer),
        cmocka_unit_test(an_abandoned_cancel_blocks_none),
        cmocka_unit_test(whoever_leaves_lets_the_next_one_go),
        cmocka_unit_test(pools_of_one_place_have_their_own_sizes),
        cmocka_unit_test(an_order_of_another_pool_waits_for_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
