/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of an order for which the cloud has no machine, or has it late.
 */
#include "base/text.h"
#include "tests/providers/contract/contract.h"

/* What tells that an order brings no machine: the answer, its machine, or the whole list. */
static struct error trouble_of(struct contract *it, enum error_kind answer)
{
    if (answer != ERROR_NONE)
        return it->err;
    contract_wait(it, 2 * MINUTE_MS);
    assert_int_equal(contract_list(it), ERROR_NONE);
    for (size_t i = 0; i < it->count; i++)
        if (it->machines[i].trouble.kind != ERROR_NONE)
            return it->machines[i].trouble;
    return it->shortfall;
}

static void expect_trouble(const struct contract_kind *kind, int nodes, const char *world,
                           enum error_kind wanted)
{
    bool is_refused = wanted == ERROR_DENIED ? kind->refuses_quota : kind->want == WANT_REFUSED;
    struct contract it;
    struct contract_order order = contract_order(1);
    enum error_kind answer;
    struct error trouble;

    contract_open(&it, kind, nodes, world);
    answer = contract_carry_out(&it, contract_create_once, &order);
    assert_int_equal(answer, is_refused ? wanted : ERROR_NONE);
    trouble = trouble_of(&it, answer);
    if (trouble.kind != wanted)
        fail_msg("%s: %s", error_kind_name(trouble.kind), trouble.text);
    assert_int_equal(contract_running(&it), nodes);
    contract_expect_return(&it, is_refused, nodes);
    contract_close(&it);
}

static void a_stockout_is_told(const struct contract_kind *kind)
{
    expect_trouble(kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 1d}]\n",
                   ERROR_NO_CAPACITY);
}

static void a_full_reservation_is_told(const struct contract_kind *kind)
{
    expect_trouble(kind, 4, "", ERROR_NO_CAPACITY);
}

static void a_quota_is_told(const struct contract_kind *kind)
{
    expect_trouble(kind, 2, "faults: {quota: 1}\n", ERROR_DENIED);
}

static void a_stockout_that_ends_brings_the_machine(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);
    enum error_kind answer;

    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 10m}]\n");
    answer = contract_carry_out(&it, contract_create_once, &order);
    assert_int_equal(answer, kind->want == WANT_REFUSED ? ERROR_NO_CAPACITY : ERROR_NONE);
    contract_wait(&it, 15 * MINUTE_MS);
    if (kind->want == WANT_REFUSED) {
        assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    } else if (kind->want == WANT_FAILED) {
        struct contract_order next = contract_order(2);

        contract_expect_return(&it, false, 2);
        assert_int_equal(contract_carry_out(&it, contract_create_once, &next), ERROR_NONE);
    }
    contract_expect_size(&it, 3);
    assert_int_equal(it.shortfall.kind, ERROR_NONE);
    contract_close(&it);
}

static void a_slow_machine_is_ordered_once(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    contract_open(&it, kind, 2, "latency: {create: 20m..20m}\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, 2 * MINUTE_MS);
    assert_int_equal(contract_list(&it), ERROR_NONE);
    assert_int_equal(contract_new_machine(&it)->state, INSTANCE_CREATING);
    assert_int_equal(it.shortfall.kind, ERROR_NONE);
    assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    contract_expect_size(&it, 3);
    contract_close(&it);
}

/* Hours: nothing is lost or made twice meanwhile, and then it can go. */
static void a_machine_that_needs_hours_can_go(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1), back;

    contract_open(&it, kind, 2, "latency: {create: 3h..3h}\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, HOUR_MS);
    assert_int_equal(contract_list(&it), ERROR_NONE);
    assert_int_equal(it.count, 3);
    assert_int_equal(it.shortfall.kind, ERROR_NONE);
    back = contract_order_of_return(&it, 2);
    if (kind->is_serial) { /* one change at a time, and that one goes on */
        assert_int_equal(contract_remove_once(&it, &back), ERROR_TRANSIENT);
        contract_wait(&it, 3 * HOUR_MS);
    } else {
        assert_int_equal(contract_find(&it, back.instance)->state, INSTANCE_CREATING);
    }
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &back), ERROR_NONE);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

/* The order can be taken back, although the operation that carries it out never ends. */
static void an_operation_that_never_ends_is_ended(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1), back = contract_order(2);
    struct contract_order late = contract_order(3);

    if (!kind->hangs)
        return;
    contract_open_with(&it, kind, 2, kind->hangs);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, 5 * HOUR_MS);
    assert_int_equal(contract_wanted(&it), 3);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &late), ERROR_CONFLICT);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

/* One of two comes; the other order is taken back. */
static void one_of_two_orders_comes(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order first = contract_order(1), second = contract_order(2);
    struct contract_order back = contract_order(3);
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &first), ERROR_NONE);
    answer = contract_carry_out(&it, contract_create_once, &second);
    assert_int_equal(answer, kind->want == WANT_REFUSED ? ERROR_NO_CAPACITY : ERROR_NONE);
    contract_wait(&it, 15 * MINUTE_MS);
    assert_int_equal(contract_running(&it), 4);
    if (kind->want == WANT_COUNTED || kind->want == WANT_FAILED)
        assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
    if (kind->want == WANT_LISTED) {
        assert_int_equal(contract_list(&it), ERROR_NONE);
        for (size_t i = 0; i < it.count; i++)
            if (it.machines[i].trouble.kind != ERROR_NONE)
                text_copy(back.instance, sizeof back.instance, it.machines[i].name);
        assert_int_equal(contract_carry_out(&it, contract_remove_once, &back), ERROR_NONE);
    }
    contract_expect_size(&it, 4);
    contract_close(&it);
}

/* Both of two orders, in turns, as long as the kind's attempts allow; a plan is no attempt. */
static void carry_out_both(struct contract *it, contract_fn send, struct contract_order orders[2],
                           enum error_kind answers[2])
{
    answers[0] = send(it, &orders[0]);
    answers[1] = ERROR_TRANSIENT;
    for (int i = 1; i <= 2 * it->kind->attempts; i++) {
        if (answers[i % 2] != ERROR_TRANSIENT)
            continue;
        answers[i % 2] = send(it, &orders[i % 2]);
        if (it->err.kind == ERROR_TRANSIENT && it->err.cause != &provider_goes_on)
            contract_wait(it, 30 * SECOND_MS);
    }
}

/* Orders that are planned beside each other: each brings its own machine. */
static void orders_beside_each_other_add_up(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order orders[] = { contract_order(1), contract_order(2) };
    enum error_kind answers[2];

    contract_open(&it, kind, 2, "");
    carry_out_both(&it, contract_create_once, orders, answers);
    assert_int_equal(answers[0], ERROR_NONE);
    assert_int_equal(answers[1], ERROR_NONE);
    contract_expect_size(&it, 4);
    contract_close(&it);
}

/* So do those that take an order back; a third one finds nothing. */
static void cancels_beside_each_other_add_up(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order orders[] = { contract_order(1), contract_order(2) };
    struct contract_order backs[] = { contract_order(3), contract_order(4) };
    struct contract_order late = contract_order(5);
    enum error_kind answers[2];

    if (kind->want != WANT_COUNTED && kind->want != WANT_FAILED)
        return;
    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 1d}]\n");
    carry_out_both(&it, contract_create_once, orders, answers);
    assert_int_equal(contract_wanted(&it), 4);
    carry_out_both(&it, contract_cancel_once, backs, answers);
    assert_int_equal(answers[0], ERROR_NONE);
    assert_int_equal(answers[1], ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &late), ERROR_CONFLICT);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

const struct contract_case contract_capacity[] = {
    { "a_stockout_is_told", a_stockout_is_told },
    { "a_full_reservation_is_told", a_full_reservation_is_told },
    { "a_quota_is_told", a_quota_is_told },
    { "a_stockout_that_ends_brings_the_machine", a_stockout_that_ends_brings_the_machine },
    { "a_slow_machine_is_ordered_once", a_slow_machine_is_ordered_once },
    { "a_machine_that_needs_hours_can_go", a_machine_that_needs_hours_can_go },
    { "an_operation_that_never_ends_is_ended", an_operation_that_never_ends_is_ended },
    { "one_of_two_orders_comes", one_of_two_orders_comes },
    { "orders_beside_each_other_add_up", orders_beside_each_other_add_up },
    { "cancels_beside_each_other_add_up", cancels_beside_each_other_add_up },
    { NULL, NULL },
};
