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

/* One call of the order, alone in its place. */
static enum growth_verdict grow(struct growth *growth, struct order *order, int64_t wanted,
                                int64_t *ret_wanted)
{
    struct growth_size size = { .wanted = wanted, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE] = "";
    enum growth_verdict verdict;

    growth_wait(growth, "p", &order->turn);
    verdict = growth_grow(&order->turn, &size, progress, ret_wanted);
    if (verdict == GROWTH_PLAN)
        text_copy(order->progress, sizeof order->progress, progress);
    growth_leave(&order->turn);
    return verdict;
}

static void an_order_plans_sends_and_is_done(void **state)
{
    struct growth *growth = growth_new();
    struct order order;
    int64_t wanted = 0;

    (void)state;
    order_new(&order, "a");
    assert_int_equal(grow(growth, &order, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(order.progress, "7>8");
    assert_int_equal(grow(growth, &order, 7, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 8);
    assert_int_equal(grow(growth, &order, 8, &wanted), GROWTH_DONE);
    growth_free(growth);
}

/* The kind that a transient failure of this order has: before it was decided, or after. */
static enum error_kind failed(struct growth *growth, struct order *order, bool is_decided)
{
    const struct growth_size size = { 7, 7, "" };
    struct error err = { .kind = ERROR_TRANSIENT };
    char progress[GROWTH_PROGRESS_SIZE] = "";
    int64_t wanted;

    growth_wait(growth, "p", &order->turn);
    if (is_decided)
        growth_grow(&order->turn, &size, progress, &wanted);
    growth_failed(&order->turn, &err);
    growth_leave(&order->turn);
    return err.kind;
}

/* An order whose plan is stored may have been sent, with another order's number too. */
static void a_failed_read_says_nothing_of_an_order(void **state)
{
    struct growth *growth = growth_new();
    struct order order;
    int64_t wanted = 0;

    (void)state;
    order_new(&order, "a");
    assert_int_equal(failed(growth, &order, false), ERROR_TRANSIENT);
    assert_int_equal(grow(growth, &order, 7, &wanted), GROWTH_PLAN);
    assert_int_equal(failed(growth, &order, false), ERROR_TRANSIENT); /* it was not sent */
    assert_int_equal(grow(growth, &order, 7, &wanted), GROWTH_SEND);
    assert_int_equal(failed(growth, &order, false), ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(failed(growth, &order, true), ERROR_TRANSIENT);
    growth_free(growth);
    growth = growth_new(); /* after a restart */
    assert_int_equal(failed(growth, &order, false), ERROR_UNKNOWN_OUTCOME);
    growth_free(growth);
}

static void two_orders_never_share_a_number(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    assert_int_equal(grow(growth, &a, 7, &wanted), GROWTH_PLAN);
    assert_int_equal(grow(growth, &b, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "8>9");
    assert_int_equal(grow(growth, &a, 7, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 8);
    assert_int_equal(grow(growth, &b, 8, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 9);
    growth_free(growth);
}

/* b reads the pool before a has sent its number: b is not next, and neither counts as done by the
   other's number. */
static void an_order_that_is_not_next_plans_again(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    grow(growth, &a, 7, &wanted);
    grow(growth, &b, 7, &wanted);
    assert_int_equal(grow(growth, &b, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "7>8");
    assert_int_equal(grow(growth, &b, 7, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 8);
    assert_int_equal(grow(growth, &a, 8, &wanted), GROWTH_PLAN);
    assert_string_equal(a.progress, "8>9");
    assert_int_equal(grow(growth, &a, 8, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 9);
    growth_free(growth);
}

static void orders_that_wait_together_are_one_number(void **state)
{
    struct growth *growth = growth_new();
    struct growth_size size = { .wanted = 7, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE];
    struct order orders[5];
    int64_t wanted = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        order_new(&orders[i], (const char *[]){ "a", "b", "c", "d", "e" }[i]);
        assert_int_equal(grow(growth, &orders[i], 7, &wanted), GROWTH_PLAN);
    }
    for (size_t i = 0; i < 4; i++)
        growth_wait(growth, "p", &orders[i].turn);
    assert_int_equal(orders[1].readied, 1); /* waits */
    assert_int_equal(growth_grow(&orders[0].turn, &size, progress, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 11); /* e does not wait */
    growth_answered(&orders[0].turn, true);
    size.wanted = 11;
    for (size_t i = 0; i < 3; i++) {
        growth_leave(&orders[i].turn);
        assert_int_equal(orders[i + 1].readied, 2);
        assert_int_equal(growth_grow(&orders[i + 1].turn, &size, progress, &wanted), GROWTH_DONE);
    }
    growth_leave(&orders[3].turn);
    assert_int_equal(grow(growth, &orders[4], 11, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 12);
    growth_free(growth);
}

static void a_refused_number_is_refused_for_all_that_it_was_for(void **state)
{
    struct growth *growth = growth_new();
    struct growth_size size = { .wanted = 7, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE];
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    grow(growth, &a, 7, &wanted);
    grow(growth, &b, 7, &wanted);
    growth_wait(growth, "p", &a.turn);
    growth_wait(growth, "p", &b.turn);
    assert_int_equal(growth_grow(&a.turn, &size, progress, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 9);
    growth_answered(&a.turn, false);
    growth_leave(&a.turn);
    /* Another writer has taken the size there meanwhile: b was not sent, and is not done. */
    size.wanted = 9;
    assert_int_equal(growth_grow(&b.turn, &size, progress, &wanted), GROWTH_PLAN);
    assert_string_equal(progress, "9>10");
    growth_leave(&b.turn);
    growth_free(growth);
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
        assert_int_equal(grow(growth, &order, restarts[i].wanted, &wanted), restarts[i].verdict);
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

/* One call of a cancel, alone in its place, of a pool that has six machines. */
static enum growth_verdict shrink(struct growth *growth, struct order *order, int64_t wanted,
                                  int64_t *ret_wanted)
{
    struct growth_size size = { .wanted = wanted, .present = 6, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE] = "";
    enum growth_verdict verdict;

    growth_wait(growth, "p", &order->turn);
    verdict = growth_shrink(&order->turn, &size, progress, ret_wanted);
    if (verdict == GROWTH_PLAN)
        text_copy(order->progress, sizeof order->progress, progress);
    growth_leave(&order->turn);
    return verdict;
}

/* Two that are planned beside each other take two back: neither counts as done by the other's
   number. */
static void two_cancels_never_share_a_number(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    assert_int_equal(shrink(growth, &a, 8, &wanted), GROWTH_PLAN);
    assert_int_equal(shrink(growth, &b, 8, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "7>6");
    assert_int_equal(shrink(growth, &a, 8, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 7);
    growth_answered(&a.turn, true);
    assert_int_equal(shrink(growth, &b, 7, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 6);
    growth_free(growth);
}

/* b is asked first, and goes first; a then follows it. */
static void a_cancel_that_is_not_next_plans_again(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    shrink(growth, &a, 8, &wanted);
    shrink(growth, &b, 8, &wanted);
    assert_int_equal(shrink(growth, &b, 8, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "8>7");
    assert_int_equal(shrink(growth, &b, 8, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 7);
    assert_int_equal(shrink(growth, &a, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(a.progress, "7>6");
    assert_int_equal(shrink(growth, &a, 7, &wanted), GROWTH_SEND);
    assert_int_equal(shrink(growth, &a, 6, &wanted), GROWTH_DONE); /* its answer was lost */
    growth_free(growth);
}

/* Its number was reached before it was sent: by another writer, so that it is not done. */
static void a_cancel_is_not_done_by_another_writer(void **state)
{
    struct growth *growth = growth_new();
    struct order a;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    assert_int_equal(shrink(growth, &a, 8, &wanted), GROWTH_PLAN);
    assert_int_equal(shrink(growth, &a, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(a.progress, "7>6");
    growth_free(growth);
}

/* A cancel that was planned and never sent takes no room from the others. */
static void an_abandoned_cancel_blocks_none(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    assert_int_equal(shrink(growth, &a, 7, &wanted), GROWTH_PLAN);
    assert_int_equal(shrink(growth, &b, 7, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "7>6");
    assert_int_equal(shrink(growth, &b, 7, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 6);
    assert_int_equal(shrink(growth, &a, 6, &wanted), GROWTH_NONE);
    growth_free(growth);
}

static void whoever_leaves_lets_the_next_one_go(void **state)
{
    struct growth *growth = growth_new();
    struct order a, b, c;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    order_new(&c, "c");
    growth_wait(growth, "p", &a.turn);
    growth_wait(growth, "p", &b.turn);
    growth_wait(growth, "q", &c.turn); /* elsewhere */
    assert_int_equal(c.readied, 1);
    assert_int_equal(b.readied, 0);
    growth_leave(&b.turn); /* while it waits */
    growth_leave(&b.turn);
    growth_wait(growth, "p", &b.turn);
    growth_leave(&a.turn);
    assert_int_equal(b.readied, 1);
    growth_leave(&b.turn);
    growth_leave(&c.turn);
    growth_free(growth);
}

/* One write at a time in a cluster: its pools share a place, and nothing else. */
static void pools_of_one_place_have_their_own_sizes(void **state)
{
    struct growth *growth = growth_new();
    struct growth_size size = { .wanted = 7, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE];
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    a.turn.pool = "gpu";
    b.turn.pool = "cpu";
    assert_int_equal(grow(growth, &a, 7, &wanted), GROWTH_PLAN);
    assert_int_equal(grow(growth, &b, 2, &wanted), GROWTH_PLAN);
    assert_string_equal(b.progress, "2>3");
    growth_wait(growth, "p", &a.turn);
    assert_int_equal(growth_grow(&a.turn, &size, progress, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 8);
    growth_leave(&a.turn);
    growth_free(growth);
}

/* Plans of another pool are not sent along, whatever their numbers are. */
static void an_order_of_another_pool_waits_for_itself(void **state)
{
    struct growth *growth = growth_new();
    struct growth_size size = { .wanted = 7, .version = "" };
    char progress[GROWTH_PROGRESS_SIZE];
    struct order a, b;
    int64_t wanted = 0;

    (void)state;
    order_new(&a, "a");
    order_new(&b, "b");
    a.turn.pool = "gpu";
    b.turn.pool = "cpu";
    grow(growth, &a, 7, &wanted);
    grow(growth, &b, 8, &wanted);
    assert_string_equal(b.progress, "8>9");
    growth_wait(growth, "p", &a.turn);
    growth_wait(growth, "p", &b.turn);
    assert_int_equal(growth_grow(&a.turn, &size, progress, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 8);
    growth_answered(&a.turn, true);
    growth_leave(&a.turn);
    size.wanted = 8;
    assert_int_equal(growth_grow(&b.turn, &size, progress, &wanted), GROWTH_SEND);
    assert_int_equal(wanted, 9);
    growth_leave(&b.turn);
    growth_free(growth);
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
