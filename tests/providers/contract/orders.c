/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders and removals, each under every fault of the transport; reads; what a provider does at its
 * end.
 */
#include "base/text.h"
#include "tests/providers/contract/contract.h"

#include <string.h>

static void a_machine_comes_and_goes(const struct contract_kind *kind)
{
    struct contract it;
    char name[INSTANCE_NAME_SIZE], answered[sizeof it.operation];

    contract_open(&it, kind, 2, "");
    struct contract_order order = contract_order(1);

    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    text_copy(answered, sizeof answered, it.operation);
    contract_expect_size(&it, 3);
    assert_non_null(contract_new_machine(&it));
    text_copy(name, sizeof name, contract_new_machine(&it)->name);
    assert_int_equal(kind->kind->identity == IDENTITY_BY_KEY, kind->names == NAMES_BY_KEY);
    assert_int_equal(text_equal(answered, name), kind->names == NAMES_IN_ANSWER);
    assert_string_not_equal(contract_new_machine(&it)->provider_id, "");
    if (contract_new_machine(&it)->zone[0] != '\0')
        assert_string_equal(contract_new_machine(&it)->zone, "us-east-1a");
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
    contract_expect_size(&it, 2);
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

static void each_order_makes_one_machine(const struct contract_kind *kind)
{
    for (size_t i = 0; i < contract_fault_count; i++) {
        struct contract it;
        struct contract_order order = contract_order(1);

        print_message("      %s x%d\n", contract_faults[i].fault, contract_faults[i].times);
        contract_open(&it, kind, 2, "");
        for (int n = 0; n < contract_faults[i].times; n++)
            simulator_fault_next(it.simulator, contract_faults[i].fault, kind->create);
        assert_int_equal(contract_first_answer(&it, contract_create_once, &order),
                         contract_faults[i].first);
        assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
        contract_expect_size(&it, 3);
        contract_close(&it);
    }
}

/* The order may have been carried out, and its repeat cannot even read the pool: that is no
   refusal, after which a second machine would be ordered. */
static void an_order_in_doubt_is_made_once(const struct contract_kind *kind)
{
    static const char *const answers[] = { "http_500_after", "lost_answer" };
    static const char *const reads[] = { "http_500", "http_429", "refused", "lost_answer" };

    for (size_t i = 0; i < COUNT_OF(answers) * COUNT_OF(reads); i++) {
        struct contract it;
        struct contract_order order = contract_order(1);
        const char *read = reads[i / COUNT_OF(answers)];

        print_message("      %s, then %s\n", answers[i % COUNT_OF(answers)], read);
        contract_open(&it, kind, 2, "");
        simulator_fault_next(it.simulator, answers[i % COUNT_OF(answers)], kind->create);
        assert_int_equal(contract_first_answer(&it, contract_create_once, &order),
                         ERROR_UNKNOWN_OUTCOME);
        simulator_fault_next(it.simulator, read, kind->size ?: kind->list);
        assert_true(contract_is_accepted(contract_carry_out(&it, contract_create_once, &order)));
        contract_expect_size(&it, 3);
        contract_close(&it);
    }
}

/* All writes of a removal; the fault meets the one of this number. */
static void remove_by_a_fault(const struct contract_kind *kind, size_t fault, size_t write)
{
    bool is_last = write + 1 == COUNT_OF(kind->removes) || !kind->removes[write + 1];
    struct contract it;
    enum error_kind answer;

    print_message("      %s x%d of %s\n", contract_faults[fault].fault,
                  contract_faults[fault].times, kind->removes[write]);
    contract_open(&it, kind, 3, "");
    for (int n = 0; n < contract_faults[fault].times; n++)
        simulator_fault_next(it.simulator, contract_faults[fault].fault, kind->removes[write]);

    struct contract_order order = contract_order_of_removal(&it, 1);

    /* A removal that had its effect is seen in the read before the next one. */
    assert_int_equal(contract_first_answer(&it, contract_remove_once, &order),
                     contract_faults[fault].first);
    answer = contract_carry_out(&it, contract_remove_once, &order);
    assert_int_equal(answer, is_last && contract_faults[fault].has_effect ? kind->removed_again
                                                                          : ERROR_NONE);
    contract_expect_size(&it, 2);
    assert_null(contract_find(&it, order.instance));
    contract_close(&it);
}

static void each_order_removes_one_machine(const struct contract_kind *kind)
{
    for (size_t i = 0; i < contract_fault_count; i++)
        for (size_t k = 0; k < COUNT_OF(kind->removes) && kind->removes[k]; k++)
            remove_by_a_fault(kind, i, k);
}

static void a_repeated_removal_removes_no_other(const struct contract_kind *kind)
{
    struct contract it;
    enum error_kind answer;

    contract_open(&it, kind, 3, "");
    struct contract_order order = contract_order_of_removal(&it, 1);
    struct contract_order again = contract_order_of_removal(&it, 2);

    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), kind->removed_again);
    assert_int_equal(contract_carry_out(&it, contract_remove_once, &again), kind->removed_again);
    contract_expect_size(&it, 2);
    answer = contract_carry_out(&it, contract_remove_once, &again);
    assert_true(answer == ERROR_NONE || answer == ERROR_NOT_FOUND);
    contract_expect_size(&it, 2);
    contract_close(&it);
}

static void cancel_by_a_fault(const struct contract_kind *kind, size_t fault)
{
    struct contract it;
    struct contract_order first = contract_order(1), second = contract_order(2);
    struct contract_order back = contract_order(3);

    print_message("      %s x%d\n", contract_faults[fault].fault, contract_faults[fault].times);
    contract_open(&it, kind, 2, "stockouts: [{zone: us-east-1a, from: 0s, to: 10m}]\n");
    assert_int_equal(contract_carry_out(&it, contract_create_once, &first), ERROR_NONE);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &second), ERROR_NONE);
    assert_int_equal(contract_wanted(&it), 4);
    contract_wait(&it, MINUTE_MS); /* the cloud has tried */
    for (int n = 0; n < contract_faults[fault].times; n++)
        simulator_fault_next(it.simulator, contract_faults[fault].fault, kind->create);
    if (kind->want != WANT_FAILED) /* it waits first */
        assert_int_equal(contract_first_answer(&it, contract_cancel_once, &back),
                         contract_faults[fault].first);
    assert_int_equal(contract_carry_out(&it, contract_cancel_once, &back), ERROR_NONE);
    if (kind->want == WANT_FAILED) { /* of the other order nothing comes, either */
        contract_wait(&it, CONTRACT_LONG_MS);
        assert_int_equal(contract_wanted(&it), 3);
        contract_expect_return(&it, false, 2);
    } else {
        contract_expect_size(&it, 3);
    }
    contract_close(&it);
}

static void a_cancel_takes_back_one(const struct contract_kind *kind)
{
    if (kind->want == WANT_COUNTED || kind->want == WANT_FAILED)
        for (size_t i = 0; i < contract_fault_count; i++)
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
    contract_expect_size(&it, 2);
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
        order = contract_order_of_removal(&it, 2 + (int)i);
        assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_DENIED);
    }
    contract_expect_size(&it, 2);
    contract_close(&it);
}

/* The list says which machines the cloud may end by itself. */
static size_t exposed(struct contract *it)
{
    size_t count = 0;

    assert_int_equal(contract_list(it), ERROR_NONE);
    for (size_t i = 0; i < it->count; i++)
        count += it->machines[i].is_exposed;
    return count;
}

/* Each fault of the request; the machine's own removal works all the same. */
static void a_protected_machine_stays_when_the_pool_shrinks(const struct contract_kind *kind)
{
    assert_int_equal(kind->protect != NULL, kind->kind->protect != NULL);
    for (size_t i = 0; kind->protect && i < contract_fault_count; i++) {
        struct contract it;

        print_message("      %s x%d\n", contract_faults[i].fault, contract_faults[i].times);
        contract_open(&it, kind, 2, kind->exposes);
        struct contract_order order = contract_order_of_removal(&it, 1);

        assert_int_equal(exposed(&it), 2);
        for (int n = 0; n < contract_faults[i].times; n++)
            simulator_fault_next(it.simulator, contract_faults[i].fault, kind->protect);
        assert_int_equal(contract_protect_once(&it, &order), contract_faults[i].first);
        assert_int_equal(exposed(&it), contract_faults[i].has_effect ? 1 : 2);
        assert_int_equal(contract_carry_out(&it, contract_protect_once, &order), ERROR_NONE);
        assert_int_equal(contract_protect_once(&it, &order), ERROR_NONE);
        assert_int_equal(exposed(&it), 1);
        simulator_resize_pool(it.simulator, "pool", 1);
        contract_expect_size(&it, 1);
        assert_non_null(contract_find(&it, order.instance));
        assert_int_equal(contract_carry_out(&it, contract_remove_once, &order), ERROR_NONE);
        contract_expect_size(&it, 0);
        contract_close(&it);
    }
}

/* A pool that protects its new machines leaves nothing to do; a machine that comes or is gone, and
   keys without the permission, change nothing. */
static void what_cannot_be_protected_is_told(const struct contract_kind *kind)
{
    struct contract it;
    struct contract_order order = contract_order(1), gone = contract_order(2);

    if (!kind->protect)
        return;
    contract_open(&it, kind, 2, "");
    assert_int_equal(exposed(&it), 0);
    contract_close(&it);

    contract_open(&it, kind, 2, kind->exposes);
    assert_int_equal(contract_carry_out(&it, contract_create_once, &order), ERROR_NONE);
    contract_wait(&it, 10 * SECOND_MS);
    assert_int_equal(exposed(&it), 2); /* the new one is on its way */
    order = contract_order_of_return(&it, 3);
    assert_int_equal(contract_protect_once(&it, &order), ERROR_TRANSIENT);
    contract_expect_size(&it, 3);
    assert_int_equal(exposed(&it), 3);
    simulator_fault_next(it.simulator, "http_403", kind->protect);
    assert_int_equal(contract_protect_once(&it, &order), ERROR_DENIED);
    text_copy(gone.instance, sizeof gone.instance, "i-00000000000000000");
    assert_int_equal(contract_protect_once(&it, &gone), ERROR_NOT_FOUND);
    assert_int_equal(exposed(&it), 3);
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

/* A new machine could come to a zone that its reservation does not have. */
static void a_pool_of_two_zones_is_told(const struct contract_kind *kind)
{
    bool is_line = kind->zone_trap && strchr(kind->zone_trap, '\n');
    struct contract it;

    if (!kind->zone_trap)
        return;
    if (is_line)
        contract_open(&it, kind, 2, kind->zone_trap);
    else
        contract_open_with(&it, kind, 2, kind->zone_trap);
    assert_int_equal(contract_inspect(&it), ERROR_NONE);
    assert_true(it.wrong > 0);
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
        struct contract_order order = contract_order_of_removal(&it, 1);
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

const struct contract_case contract_orders[] = {
    { "a_machine_comes_and_goes", a_machine_comes_and_goes },
    { "provider_ids_are_read", provider_ids_are_read },
    { "each_order_makes_one_machine", each_order_makes_one_machine },
    { "an_order_in_doubt_is_made_once", an_order_in_doubt_is_made_once },
    { "each_order_removes_one_machine", each_order_removes_one_machine },
    { "a_repeated_removal_removes_no_other", a_repeated_removal_removes_no_other },
    { "a_cancel_takes_back_one", a_cancel_takes_back_one },
    { "a_read_that_fails_is_no_list", a_read_that_fails_is_no_list },
    { "permissions_that_lack_change_nothing", permissions_that_lack_change_nothing },
    { "a_protected_machine_stays_when_the_pool_shrinks",
      a_protected_machine_stays_when_the_pool_shrinks },
    { "what_cannot_be_protected_is_told", what_cannot_be_protected_is_told },
    { "a_safe_pool_is_told_from_a_trap", a_safe_pool_is_told_from_a_trap },
    { "a_pool_of_two_zones_is_told", a_pool_of_two_zones_is_told },
    { "nothing_comes_after_a_close", nothing_comes_after_a_close },
    { NULL, NULL },
};
