/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every fault that a provider can meet, on every kind.
 */
#include "base/log.h"
#include "base/text.h"
#include "tests/providers/contract/contract.h"

enum { LONG_MS = 40 * MINUTE_MS };

/* After all has come that comes: so many machines are wanted, and run. */
static void expect_size(struct contract *it, int wanted)
{
    contract_wait(it, LONG_MS);
    assert_int_equal(contract_wanted(it), wanted);
    assert_int_equal(contract_running(it), wanted);
    assert_int_equal(contract_list(it), ERROR_NONE);
    assert_int_equal(it->count, wanted);
    for (size_t i = 0; i < it->count; i++)
        assert_int_equal(it->machines[i].state, INSTANCE_RUNNING);
}

static struct contract_order order_of_removal(const struct contract *it, int number)
{
    struct contract_order order = contract_order(number);

    text_copy(order.instance, sizeof order.instance, it->before[0].name);
    return order;
}

/* Whether create() answered that the machine is there, or will be. */
static bool is_accepted(enum error_kind kind)
{
    return kind == ERROR_NONE || kind == ERROR_CONFLICT;
}

static void a_machine_comes_and_goes(const struct contract_kind *kind)
{
    struct contract it;
    char name[INSTANCE_NAME_SIZE];

    contract_open(&it, kind, 2, "");
    struct contract_order order = contract_order(1);

    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    expect_size(&it, 3);
    assert_non_null(contract_new_machine(&it));
    text_copy(name, sizeof name, contract_new_machine(&it)->name);
    assert_string_not_equal(contract_new_machine(&it)->provider_id, "");
    if (provider_can_look(it.provider)) {
        assert_int_equal(contract_look(&it, name), ERROR_NONE);
        assert_true(it.is_seen);
        assert_int_equal(it.seen.state, INSTANCE_RUNNING);
    }

    struct contract_order removal = contract_order(2);

    text_copy(removal.instance, sizeof removal.instance, name);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &removal), ERROR_NONE);
    contract_wait(&it, kind->leaves_ms);
    contract_list(&it);
    assert_int_equal(contract_find(&it, name)->state, INSTANCE_DELETING);
    expect_size(&it, 2);
    assert_null(contract_find(&it, name));
    if (provider_can_look(it.provider)) {
        assert_int_equal(contract_look(&it, name), ERROR_NONE);
        assert_false(it.is_seen);
    }
    contract_close(&it);
}

/* Names and provider IDs belong together; those of another zone are of another pool, where an ID
   has its zone. */
static void provider_ids_are_read(const struct contract_kind *kind)
{
    struct contract it;
    char name[INSTANCE_NAME_SIZE] = "";
    size_t claim = 0;

    contract_open(&it, kind, 1, "");
    assert_string_not_equal(it.before[0].provider_id, "");
    assert_int_equal(
        provider_read_id(it.provider, contract_pool(&it), it.before[0].provider_id, name, &claim),
        kind->ids != IDS_OF_OTHERS);
    assert_string_equal(name, kind->ids != IDS_OF_OTHERS ? it.before[0].name : "");
    kind->kind->set_zone(it.pool, "eu-west-1b");
    assert_int_equal(
        provider_read_id(it.provider, contract_pool(&it), it.before[0].provider_id, name, &claim),
        kind->ids == IDS_OF_MACHINES);
    contract_close(&it);
}

static const struct {
    const char *fault;
    int times;
    enum error_kind first; /* of the first answer to the verb */
    bool has_effect;
} faults_of_transport[] = {
    { "refused", 1, ERROR_TRANSIENT, false },
    { "lost_answer", 1, ERROR_UNKNOWN_OUTCOME, true },
    { "lost_answer", 3, ERROR_UNKNOWN_OUTCOME, true },
    { "http_500", 1, ERROR_UNKNOWN_OUTCOME, false },
    { "http_500_after", 1, ERROR_UNKNOWN_OUTCOME, true },
    { "http_500_after", 3, ERROR_UNKNOWN_OUTCOME, true },
    { "http_429", 1, ERROR_THROTTLED, false },
    { "http_429", 3, ERROR_THROTTLED, false },
    /* A conflict would say that an order is carried out, or that nothing can be taken back. */
    { "busy", 1, ERROR_TRANSIENT, false },
    { "busy", 3, ERROR_TRANSIENT, false },
};

/* The answer of the first exchange that is not a plan. */
static enum error_kind first_answer(struct contract *it, contract_fn send,
                                    struct contract_order *order)
{
    enum error_kind kind = send(it, order);

    while (it->err.cause == &provider_goes_on)
        kind = send(it, order);
    return kind;
}

static void each_order_makes_one_machine(const struct contract_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(faults_of_transport); i++) {
        struct contract it;
        struct contract_order order = contract_order(1);

        print_message("      %s x%d\n", faults_of_transport[i].fault, faults_of_transport[i].times);
        contract_open(&it, kind, 2, "");
        for (int n = 0; n < faults_of_transport[i].times; n++)
            simulator_fault_next(it.simulator, faults_of_transport[i].fault, kind->create);
        assert_int_equal(first_answer(&it, contract_create_once, &order),
                         faults_of_transport[i].first);
        assert_true(is_accepted(contract_carry_out(&it, contract_create_once, &order)));
        expect_size(&it, 3);
        contract_close(&it);
    }
}

/* All writes of a removal; the fault meets the one of this number. */
static void remove_by_a_fault(const struct contract_kind *kind, size_t fault, size_t write)
{
    bool is_last = write + 1 == COUNT_OF(kind->removes) || !kind->removes[write + 1];
    struct contract it;
    enum error_kind answer;

    print_message("      %s x%d of %s\n", faults_of_transport[fault].fault,
                  faults_of_transport[fault].times, kind->removes[write]);
    contract_open(&it, kind, 3, "");
    for (int n = 0; n < faults_of_transport[fault].times; n++)
        simulator_fault_next(it.simulator, faults_of_transport[fault].fault, kind->removes[write]);

    struct contract_order order = order_of_removal(&it, 1);

    /* A removal that had its effect is seen in the read before the next one. */
    assert_int_equal(first_answer(&it, contract_remove_once, &order),
                     faults_of_transport[fault].first);
    answer = contract_carry_out(&it, contract_remove_once, &order);
    assert_int_equal(answer, is_last && faults_of_transport[fault].has_effect ? kind->removed_again
                                                                              : ERROR_NONE);
    expect_size(&it, 2);
    assert_null(contract_find(&it, order.instance));
    contract_close(&it);
}

static void each_order_removes_one_machine(const struct contract_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(faults_of_transport); i++)
        for (size_t k = 0; k < COUNT_OF(kind->removes) && kind->removes[k]; k++)
            remove_by_a_fault(kind, i, k);
}

static void a_repeated_removal_removes_no_other(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = order_of_removal(&it, 1);
    struct contract_order again = order_of_removal(&it, 2);

    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), kind->removed_again);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &again), kind->removed_again);
    expect_size(&it, 2);
    answer = contract_carry_out(&it, contract_remove_once, &again);
    assert_true(answer == ERROR_NONE || answer == ERROR_NOT_FOUND);
    expect_size(&it, 2);
    contract_close(&it);
}

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

/* The machine of an order that is not there: it is in the list, and it is not one of the first. */
static struct contract_order order_of_return(const struct contract *it, int number)
{
    struct contract_order order = contract_order(number);

    assert_non_null(contract_new_machine(it));
    text_copy(order.instance, sizeof order.instance, contract_new_machine(it)->name);
    return order;
}

/* An order that brought no machine is taken back, once, and no machine goes for it. */
static void expect_return(struct contract *it, bool is_refused, int nodes)
{
    const struct contract_kind *kind = it->kind;
    bool is_counted = kind->want == WANT_COUNTED || kind->want == WANT_FAILED;
    struct contract_order back = contract_order(22);

    if (kind->kind->cancel) {
        assert_int_equal(contract_carry_out(it, contract_cancel_once, &back),
                         is_counted && !is_refused ? ERROR_NONE : ERROR_CONFLICT);
        back = contract_order(23);
        assert_int_equal(contract_carry_out(it, contract_cancel_once, &back), ERROR_CONFLICT);
    }
    if (kind->want == WANT_LISTED) {
        assert_int_equal(contract_list(it), ERROR_NONE);
        back = order_of_return(it, 24);
        assert_int_equal(contract_carry_out(it, contract_remove_once, &back), ERROR_NONE);
    }
    expect_size(it, nodes);
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
    expect_return(&it, is_refused, nodes);
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

        expect_return(&it, false, 2);
        assert_int_equal(contract_carry_out(&it, contract_create_once, &next), ERROR_NONE);
    }
    expect_size(&it, 3);
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
    assert_true(is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    expect_size(&it, 3);
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
    back = order_of_return(&it, 2);
    if (kind->is_serial) { /* one change at a time, and that one goes on */
        assert_int_equal(contract_remove_once(&it, &back), ERROR_TRANSIENT);
        contract_wait(&it, 3 * HOUR_MS);
    } else {
        assert_int_equal(contract_find(&it, back.instance)->state, INSTANCE_CREATING);
    }
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &back), ERROR_NONE);
    expect_size(&it, 2);
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
    expect_size(&it, 2);
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
    expect_size(&it, 4);
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
    expect_size(&it, 4);
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
    expect_size(&it, 2);
    contract_close(&it);
}

/* A list that does not show the new machine yet must not lead to a second one. */
static void a_list_that_lags_orders_no_second(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    contract_open(&it, kind, 2,
                  "lies: [{list: machines, of: pool, kind: new, from: 1s, to: 5m}]\n");
    contract_wait(&it, 2 * SECOND_MS);
    simulator_fault_next(it.simulator, "lost_answer", kind->create);
    assert_true(is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    contract_wait(&it, 3 * MINUTE_MS);
    assert_true(is_accepted(contract_carry_out(&it, contract_create_once, &order)));
    contract_wait(&it, 10 * MINUTE_MS);
    expect_size(&it, 3);
    contract_close(&it);
}

/* The group's healer replaces the machine: it is not the same one, or not the same incarnation. */
static void a_healed_machine_keeps_the_size(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = order_of_removal(&it, 1);

    simulator_heal(it.simulator, "pool", order.instance);
    contract_wait(&it, LONG_MS);
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
        expect_size(&it, 3);
        break;
    }
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
    expect_size(&it, 3);
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
    expect_size(&it, 2);
    contract_close(&it);
}

static void cancel_by_a_fault(const struct contract_kind *kind, size_t fault)
{
    struct contract it;
    struct contract_order first = contract_order(1), second = contract_order(2);
    struct contract_order back = contract_order(3);

    print_message("      %s x%d\n", faults_of_transport[fault].fault,
                  faults_of_transport[fault].times);
    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 10m}]\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &first), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &second), ERROR_NONE);
    assert_int_equal(contract_wanted(&it), 4);
    for (int n = 0; n < faults_of_transport[fault].times; n++)
        simulator_fault_next(it.simulator, faults_of_transport[fault].fault, kind->create);
    if (kind->want != WANT_FAILED) /* it waits first */
        assert_int_equal(first_answer(&it, contract_cancel_once, &back),
                         faults_of_transport[fault].first);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
    if (kind->want == WANT_FAILED) { /* of the other order nothing comes, either */
        contract_wait(&it, LONG_MS);
        assert_int_equal(contract_wanted(&it), 3);
        expect_return(&it, false, 2);
    } else {
        expect_size(&it, 3);
    }
    contract_close(&it);
}

static void a_cancel_takes_back_one(const struct contract_kind *kind)
{
    if (kind->want == WANT_COUNTED || kind->want == WANT_FAILED)
        for (size_t i = 0; i < COUNT_OF(faults_of_transport); i++)
            cancel_by_a_fault(kind, i);
}

static void a_read_that_fails_is_no_list(const struct contract_kind *kind)
{
    struct contract it;

    contract_open(&it, kind, 2, "");
    simulator_fault_next(it.simulator, "http_500", kind->list);
    assert_int_equal(contract_list(&it), ERROR_TRANSIENT);
    simulator_fault_next(it.simulator, "lost_answer", kind->list);
    assert_int_equal(contract_list(&it), ERROR_TRANSIENT);
    simulator_fault_next(it.simulator, "http_429", kind->list);
    assert_int_equal(contract_list(&it), ERROR_THROTTLED);
    simulator_fault_next(it.simulator, "http_403", kind->list);
    assert_int_equal(contract_list(&it), ERROR_DENIED);
    expect_size(&it, 2);
    contract_close(&it);
}

static void permissions_that_lack_change_nothing(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1);

    contract_open(&it, kind, 2, "");
    simulator_fault_next(it.simulator, "http_403", kind->create);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_DENIED);
    for (size_t i = 0; i < COUNT_OF(kind->removes) && kind->removes[i]; i++) {
        simulator_fault_next(it.simulator, "http_403", kind->removes[i]);
        order = order_of_removal(&it, 2 + (int)i);
        assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_DENIED);
    }
    expect_size(&it, 2);
    contract_close(&it);
}

static void a_safe_pool_is_told_from_a_trap(const struct contract_kind *kind)
{
    struct contract it;

    if (!kind->traps && !kind->pool_traps)
        return;
    contract_open(&it, kind, 2, "");
    assert_int_equal(contract_inspect(&it), ERROR_NONE);
    assert_int_equal(it.wrong, 0);
    contract_close(&it);
    contract_open_with(&it, kind, 2, kind->pool_traps);
    assert_int_equal(contract_inspect(&it), ERROR_NONE);
    assert_true(it.wrong > 0);
    assert_true(it.doubtful > 0);
    contract_close(&it);
}

static void count_call(void *context, const char *operation, const struct error *err)
{
    (void)operation;
    (void)err;
    ++*(int *)context;
}

static void count_page(void *context, const struct instance_page *page, const struct error *err)
{
    (void)page;
    (void)err;
    ++*(int *)context;
}

/* The broker may close a provider at any time, its calls under way. */
static void nothing_comes_after_a_close(const struct contract_kind *kind)
{
    for (int64_t ms = 0; ms < 200; ms += 10) {
        struct contract it;
        int calls = 0, before;

        contract_open(&it, kind, 2, "");
        struct contract_order order = order_of_removal(&it, 1);
        const struct provider_order given = { .request_key = "key1",
                                              .instance = order.instance,
                                              .request_id = order.request_id,
                                              .progress = "" };

        provider_create(it.provider, it.pool, &given, count_call, &calls);
        provider_remove(it.provider, it.pool, &given, count_call, &calls);
        provider_list(it.provider, it.pool, NULL, count_page, &calls);
        contract_wait(&it, ms);
        before = calls;
        provider_close(it.provider);
        it.provider = NULL;
        contract_wait(&it, MINUTE_MS);
        assert_int_equal(calls, before);
        contract_close(&it);
    }
}

static const struct {
    const char *name;
    void (*play)(const struct contract_kind *kind);
} cases[] = {
#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    CASE(a_machine_comes_and_goes),
    CASE(provider_ids_are_read),
    CASE(each_order_makes_one_machine),
    CASE(each_order_removes_one_machine),
    CASE(a_repeated_removal_removes_no_other),
    CASE(a_stockout_is_told),
    CASE(a_full_reservation_is_told),
    CASE(a_quota_is_told),
    CASE(a_stockout_that_ends_brings_the_machine),
    CASE(a_slow_machine_is_ordered_once),
    CASE(a_machine_that_needs_hours_can_go),
    CASE(an_operation_that_never_ends_is_ended),
    CASE(one_of_two_orders_comes),
    CASE(orders_beside_each_other_add_up),
    CASE(cancels_beside_each_other_add_up),
    CASE(a_list_that_lags_orders_no_second),
    CASE(a_healed_machine_keeps_the_size),
    CASE(another_writer_costs_no_machine),
    CASE(a_size_that_is_set_back_leaves_nothing_to_cancel),
    CASE(a_cancel_takes_back_one),
    CASE(a_read_that_fails_is_no_list),
    CASE(permissions_that_lack_change_nothing),
    CASE(a_safe_pool_is_told_from_a_trap),
    CASE(nothing_comes_after_a_close),
};

struct play {
    size_t of;
    char name[160];
    const struct contract_kind *kind;
};

static void play(void **state)
{
    const struct play *it = *state;

    cases[it->of].play(it->kind);
}

int main(void)
{
    struct CMUnitTest tests[256] = { 0 };
    static struct play plays[256];
    size_t count = 0;

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < contract_kind_count; k++) {
            require(count < COUNT_OF(tests));
            plays[count] = (struct play){ .of = i, .kind = &contract_kinds[k] };
            text_print(plays[count].name, sizeof plays[count].name, "%s: %s", cases[i].name,
                       contract_kinds[k].name);
            tests[count] = (struct CMUnitTest){ plays[count].name, play, NULL, NULL,
                                                &plays[count] };
            count++;
        }
    return _cmocka_run_group_tests("contract", tests, count, NULL, NULL);
}
