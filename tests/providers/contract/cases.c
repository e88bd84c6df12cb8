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
    assert_int_equal(contract_look(&it, name), ERROR_NONE);
    assert_true(it.is_seen);
    assert_int_equal(it.seen.state, INSTANCE_RUNNING);

    struct contract_order removal = contract_order(2);

    text_copy(removal.instance, sizeof removal.instance, name);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &removal), ERROR_NONE);
    contract_list(&it);
    assert_int_equal(contract_find(&it, name)->state, INSTANCE_DELETING);
    expect_size(&it, 2);
    assert_null(contract_find(&it, name));
    assert_int_equal(contract_look(&it, name), ERROR_NONE);
    assert_false(it.is_seen);
    contract_close(&it);
}

/* Names and provider IDs belong together; those of another zone are of another pool. */
static void provider_ids_are_read(const struct contract_kind *kind)
{
    struct contract it;
    char name[INSTANCE_NAME_SIZE] = "";
    size_t claim = 0;

    contract_open(&it, kind, 1, "");
    assert_true(
        provider_read_id(it.provider, contract_pool(&it), it.before[0].provider_id, name, &claim));
    assert_string_equal(name, it.before[0].name);
    kind->kind->set_zone(it.pool, "eu-west-1b");
    assert_false(
        provider_read_id(it.provider, contract_pool(&it), it.before[0].provider_id, name, &claim));
    contract_close(&it);
}

static const struct {
    const char *fault;
    int times;
    enum error_kind first; /* of the first answer to the verb */
} faults_of_transport[] = {
    { "refused", 1, ERROR_TRANSIENT },
    { "lost_answer", 1, ERROR_UNKNOWN_OUTCOME },
    { "lost_answer", 3, ERROR_UNKNOWN_OUTCOME },
    { "http_500", 1, ERROR_UNKNOWN_OUTCOME },
    { "http_500_after", 1, ERROR_UNKNOWN_OUTCOME },
    { "http_500_after", 3, ERROR_UNKNOWN_OUTCOME },
    { "http_429", 1, ERROR_THROTTLED },
    { "http_429", 3, ERROR_THROTTLED },
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

static void each_order_removes_one_machine(const struct contract_kind *kind)
{
    for (size_t i = 0; i < COUNT_OF(faults_of_transport); i++) {
        struct contract it;

        print_message("      %s x%d\n", faults_of_transport[i].fault, faults_of_transport[i].times);
        contract_open(&it, kind, 3, "");
        for (int n = 0; n < faults_of_transport[i].times; n++)
            simulator_fault_next(it.simulator, faults_of_transport[i].fault, kind->remove);

        struct contract_order order = order_of_removal(&it, 1);

        /* A removal that had its effect is seen in the read before the next one. */
        assert_int_equal(first_answer(&it, contract_remove_once, &order),
                         faults_of_transport[i].first);
        assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
        expect_size(&it, 2);
        assert_null(contract_find(&it, order.instance));
        contract_close(&it);
    }
}

static void a_repeated_removal_removes_no_other(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = order_of_removal(&it, 1);
    struct contract_order again = order_of_removal(&it, 2);

    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &again), ERROR_NONE);
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

static void expect_trouble(const struct contract_kind *kind, int nodes, const char *world,
                           enum error_kind wanted)
{
    struct contract it;
    struct contract_order order = contract_order(1);
    struct contract_order back = contract_order(2);
    enum error_kind answer;
    struct error trouble;

    contract_open(&it, kind, nodes, world);
    answer = contract_carry_out(&it, contract_create_once, &order);
    assert_int_equal(answer, kind->fails_fast ? wanted : ERROR_NONE);
    trouble = trouble_of(&it, answer);
    if (trouble.kind != wanted)
        fail_msg("%s: %s", error_kind_name(trouble.kind), trouble.text);
    assert_int_equal(contract_running(&it), nodes);

    /* It is taken back, once, and no machine goes for it. */
    if (!kind->kind->cancel) {
        contract_close(&it);
        return;
    }
    answer = contract_carry_out(&it, contract_cancel_once, &back);
    assert_int_equal(answer, kind->fails_fast ? ERROR_CONFLICT : ERROR_NONE);
    back = contract_order(3);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_CONFLICT);
    expect_size(&it, nodes);
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
    contract_wait(&it, 15 * MINUTE_MS);
    if (answer != ERROR_NONE)
        assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
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
    contract_wait(&it, 15 * MINUTE_MS);
    assert_int_equal(contract_running(&it), 4);
    if (kind->kind->cancel && answer == ERROR_NONE)
        assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
    if (kind->kind->cancel)
        expect_size(&it, 4);
    contract_close(&it);
}

/* Orders that are planned beside each other: each brings its own machine. */
static void orders_beside_each_other_add_up(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order first = contract_order(1), second = contract_order(2);
    enum error_kind one, two;

    contract_open(&it, kind, 2, "");
    one = contract_create_once(&it, &first);
    two = contract_create_once(&it, &second);
    for (int i = 0; i < 10 && (one == ERROR_TRANSIENT || two == ERROR_TRANSIENT); i++) {
        if (two == ERROR_TRANSIENT)
            two = contract_create_once(&it, &second);
        if (one == ERROR_TRANSIENT)
            one = contract_create_once(&it, &first);
    }
    assert_int_equal(one, ERROR_NONE);
    assert_int_equal(two, ERROR_NONE);
    expect_size(&it, 4);
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
    if (contract_find(&it, order.instance)) { /* the same name: the broker asks for its ID */
        assert_string_not_equal(contract_find(&it, order.instance)->id, it.before[0].id);
    } else {
        answer = contract_carry_out(&it, contract_remove_once, &order);
        assert_true(answer == ERROR_NOT_FOUND || answer == ERROR_NONE);
        expect_size(&it, 3);
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

    if (!kind->kind->cancel || kind->fails_fast)
        return;
    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 1d}]\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, 10 * SECOND_MS);
    simulator_resize_pool(it.simulator, "pool", 2);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_CONFLICT);
    expect_size(&it, 2);
    contract_close(&it);
}

static void a_cancel_takes_back_one(const struct contract_kind *kind)
{
    if (!kind->kind->cancel || kind->fails_fast)
        return;
    for (size_t i = 0; i < COUNT_OF(faults_of_transport); i++) {
        struct contract it;
        struct contract_order first = contract_order(1), second = contract_order(2);
        struct contract_order back = contract_order(3);

        print_message("      %s x%d\n", faults_of_transport[i].fault, faults_of_transport[i].times);
        contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 10m}]\n");
        assert_int_equal(contract_carry_out(&it, contract_create_once, &first), ERROR_NONE);
        assert_int_equal(contract_carry_out(&it, contract_create_once, &second), ERROR_NONE);
        assert_int_equal(contract_wanted(&it), 4);
        for (int n = 0; n < faults_of_transport[i].times; n++)
            simulator_fault_next(it.simulator, faults_of_transport[i].fault, kind->create);
        assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
        expect_size(&it, 3);
        contract_close(&it);
    }
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
    simulator_fault_next(it.simulator, "http_403", kind->remove);
    order = order_of_removal(&it, 2);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_DENIED);
    expect_size(&it, 2);
    contract_close(&it);
}

static void a_safe_pool_is_told_from_a_trap(const struct contract_kind *kind)
{
    struct contract it;

    if (!kind->traps || !kind->kind->inspect)
        return;
    contract_open(&it, kind, 2, "");
    assert_int_equal(contract_inspect(&it), ERROR_NONE);
    assert_int_equal(it.wrong, 0);
    contract_close(&it);
    contract_open(&it, kind, 2, kind->traps);
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
    CASE(one_of_two_orders_comes),
    CASE(orders_beside_each_other_add_up),
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
