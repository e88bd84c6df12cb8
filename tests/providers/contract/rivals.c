/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Others who change the pool too, and lists that are late.
 */
#include "base/text.h"
#include "tests/providers/contract/contract.h"

/* A list that does not show the new machine yet must not lead to a second one. */
static void a_list_that_lags_orders_no_second(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    contract_open(&it, kind, 2,
                  "lies: [{list: machines, of: pool, kind: new, from: 1s, to: 5m}]\n");
    contract_wait(&it, 2 * SECOND_MS);
    simulator_fault_next(it.simulator, "lost_answer", kind->create);
    assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    contract_wait(&it, 3 * MINUTE_MS);
    assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    contract_wait(&it, 10 * MINUTE_MS);
    contract_expect_size(&it, 3);
    contract_close(&it);
}

/* For minutes the list shows the machine that was removed, as it was.  A repeated removal shrinks
   the pool no second time. */
static void remove_while_the_list_lags(const struct contract_kind *kind, const char *world,
                                       bool restarts)
{
    owned(chars) char *lines = text_format(
        "%slies: [{list: machines, of: pool, kind: old, age: 3m, from: 4m, to: 8m}]\n", world);
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, lines);
    struct contract_order order = contract_order_of_removal(&it, 1);
    struct contract_order again = contract_order_of_removal(&it, 2);

    contract_wait(&it, 4 * MINUTE_MS + SECOND_MS);
    simulator_fault_next(it.simulator, "lost_answer", kind->removes[0]);
    if (restarts) {
        assert_int_equal(contract_first_answer(&it, contract_remove_once, &order),
                         ERROR_UNKNOWN_OUTCOME);
        contract_restart(&it);
    }
    answer = contract_carry_out(&it, contract_remove_once, &order);
    assert_true(answer == ERROR_NONE || answer == ERROR_NOT_FOUND);
    answer = contract_carry_out(&it, contract_remove_once, &again);
    assert_true(answer == ERROR_NONE || answer == ERROR_NOT_FOUND);
    contract_wait(&it, 10 * MINUTE_MS);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

static void a_list_that_lags_removes_no_second(const struct contract_kind *kind)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        remove_while_the_list_lags(kind, "", restarts);
        if (kind->lingers)
            remove_while_the_list_lags(kind, kind->lingers, restarts);
    }
}

/* The machine comes, and for long no list shows it.  To take its order back then would cost a
   machine that works. */
static void a_cancel_while_the_list_lags_takes_no_machine(const struct contract_kind *kind)
{
    static const int64_t waits_ms[] = { 5 * SECOND_MS, 10 * MINUTE_MS };

    for (size_t i = 0; kind->kind->cancel && i < COUNT_OF(waits_ms); i++) {
        struct contract it;
        struct contract_order order = contract_order(1), back = contract_order(2);

        contract_open(&it, kind, 2,
                      "lies: [{list: machines, of: pool, kind: new, from: 1s, to: 1h}]\n");
        contract_wait(&it, 2 * SECOND_MS);
        assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
        contract_wait(&it, waits_ms[i]);
        assert_int_not_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
        contract_wait(&it, HOUR_MS);
        contract_expect_size(&it, 3);
        contract_close(&it);
    }
}

/* The group's healer replaces the machine: it is not the same one, or not the same incarnation. */
static void a_healed_machine_keeps_the_size(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = contract_order_of_removal(&it, 1);

    simulator_heal(it.simulator, "pool", order.instance);
    contract_wait(&it, CONTRACT_LONG_MS);
    assert_int_equal(contract_wanted(&it), 3);
    assert_int_equal(contract_list(&it), ERROR_NONE);
    switch (kind->heals) {
    case HEALS_AGAIN: /* the broker asks for its ID */
        assert_non_null(contract_find(&it, order.instance));
        assert_string_not_equal(contract_find(&it, order.instance)->id, it.before[0].id);
        break;
    case HEALS_IN_PLACE:
        assert_non_null(contract_find(&it, order.instance));
        assert_string_equal(contract_find(&it, order.instance)->id, it.before[0].id);
        break;
    case HEALS_BY_ANOTHER:
        assert_null(contract_find(&it, order.instance));
        answer = contract_carry_out(&it, contract_remove_once, &order);
        assert_true(answer == ERROR_NOT_FOUND || answer == ERROR_NONE);
        contract_expect_size(&it, 3);
        break;
    }
    contract_close(&it);
}

/* The healer takes the machine just before it is removed: who counts shrinks the pool all the same.
   Otherwise the removal finds a machine that leaves, and its successor stays. */
static void a_machine_that_the_healer_took_first(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = contract_order_of_removal(&it, 1);

    if (kind->removes[1]) /* between its two writes */
        contract_remove_once(&it, &order);
    simulator_heal(it.simulator, "pool", order.instance);
    answer = contract_carry_out(&it, contract_remove_once, &order);
    assert_true(answer == ERROR_NONE || answer == ERROR_NOT_FOUND);
    contract_expect_size(&it, kind->heals == HEALS_BY_ANOTHER && !kind->counts ? 3 : 2);
    contract_close(&it);
}

/* Another writer changes the size between two exchanges of an order. */
static void another_writer_costs_no_machine(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    contract_open(&it, kind, 1, "");
    contract_create_once(&it, &order);
    simulator_resize_pool(it.simulator, "pool", contract_wanted(&it) + 1);
    if (it.err.kind != ERROR_NONE)
        assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_expect_size(&it, 3);
    contract_close(&it);
}

static void on_rival(void *context)
{
    simulator_resize_pool(((struct contract *)context)->simulator, "pool", 3);
}

/* A pool of one machine: another writer asks for three so long after the last exchange of an order
   began.  Returns the size in the end; the order has its machine in any case. */
static int race(const struct contract_kind *kind, int64_t after_ms)
{
    struct contract it;
    struct contract_order order = contract_order(1);
    struct timer *timer;
    int size;

    contract_open(&it, kind, 1, "latency: {api: 400ms..400ms}\n");
    timer = timer_new(it.loop, on_rival, &it);
    contract_create_once(&it, &order);
    timer_set(timer, after_ms);
    if (it.err.kind != ERROR_NONE)
        assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, CONTRACT_LONG_MS);
    size = contract_wanted(&it);
    contract_expect_size(&it, size);
    assert_non_null(contract_new_machine(&it));
    timer_free(timer);
    contract_close(&it);
    return size;
}

/* Who comes second adds one to three, or sets three.  No number is doubled.  Where the cloud cannot
   refuse a number that is old, the other writer's change is lost if it comes between the read and
   the number. */
static void a_race_for_the_size_doubles_nothing(const struct contract_kind *kind)
{
    int lost = 0;

    for (int64_t after_ms = 100; after_ms < 2000; after_ms += 200) {
        int size = race(kind, after_ms);

        assert_true(size == 4 || size == 3 || (kind->loses_races && size == 2));
        lost += size == 2;
    }
    assert_int_equal(lost > 0, kind->loses_races);
}

/* The other writer made the pool smaller, and all its machines are protected: it has one more than
   it wants.  An order brings one machine all the same. */
static void an_order_after_a_scale_in_that_failed(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    if (!kind->protect || kind->names != NAMES_LATER)
        return;
    contract_open(&it, kind, 3, "");
    simulator_resize_pool(it.simulator, "pool", 2);
    contract_wait(&it, MINUTE_MS);
    assert_int_equal(contract_wanted(&it), 2);
    assert_int_equal(contract_running(&it), 3);
    assert_int_equal(contract_inspect(&it), ERROR_NONE);
    assert_true(it.doubtful > 0);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_expect_size(&it, 4);
    contract_close(&it);
}

/* An autoscaler that was left on takes the order back before its machine is there. */
static void a_size_that_is_set_back_leaves_nothing_to_cancel(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1), back = contract_order(2);

    if (!kind->kind->cancel)
        return;
    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 1d}]\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order),
                     kind->want == WANT_REFUSED ? ERROR_NO_CAPACITY : ERROR_NONE);
    contract_wait(&it, 10 * SECOND_MS);
    simulator_resize_pool(it.simulator, "pool", 2);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_CONFLICT);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

const struct contract_case contract_rivals[] = {
    { "a_list_that_lags_orders_no_second", a_list_that_lags_orders_no_second },
    { "a_list_that_lags_removes_no_second", a_list_that_lags_removes_no_second },
    { "a_cancel_while_the_list_lags_takes_no_machine",
      a_cancel_while_the_list_lags_takes_no_machine },
    { "a_healed_machine_keeps_the_size", a_healed_machine_keeps_the_size },
    { "a_machine_that_the_healer_took_first", a_machine_that_the_healer_took_first },
    { "another_writer_costs_no_machine", another_writer_costs_no_machine },
    { "a_race_for_the_size_doubles_nothing", a_race_for_the_size_doubles_nothing },
    { "an_order_after_a_scale_in_that_failed", an_order_after_a_scale_in_that_failed },
    { "a_size_that_is_set_back_leaves_nothing_to_cancel",
      a_size_that_is_set_back_leaves_nothing_to_cancel },
    { NULL, NULL },
};
