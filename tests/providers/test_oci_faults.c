/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs of a node pool against the simulator's strict fake, in virtual time: what a fault does
 * to them, and how many machines there are afterwards.
 */
#include "base/log.h"
#include "tests/providers/oci_bench.h"

#define FIRST "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a51"
#define SECOND "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a52"

static int target(struct oci_bench *bench)
{
    return (int)simulator_pool_target(bench->simulator, "lab-main");
}

static void a_machine_comes_and_goes(void **state)
{
    char old[INSTANCE_NAME_SIZE];
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 2", false);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 2);
    assert_int_equal(bench.items[0].state, INSTANCE_RUNNING);
    assert_string_equal(bench.items[0].zone, "AD-1");
    assert_string_equal(bench.items[0].provider_id, bench.items[0].name);
    text_copy(old, sizeof old, bench.items[0].name);

    assert_int_equal(oci_order(&bench, FIRST, true), ERROR_NONE);
    assert_true(text_starts_with(bench.operation, "ocid1.workrequest."));
    assert_int_equal(target(&bench), 3);
    oci_wait(&bench, 30 * MINUTE_MS);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 3);

    assert_int_equal(oci_remove(&bench, old), ERROR_NONE);
    assert_int_equal(oci_remove(&bench, old), ERROR_NONE); /* it leaves already */
    assert_int_equal(target(&bench), 2);
    oci_wait(&bench, 30 * MINUTE_MS);
    assert_int_equal(oci_remove(&bench, old), ERROR_NOT_FOUND);
    assert_int_equal(target(&bench), 2);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 2);
    oci_bench_close(&bench);
}

/* An order is planned, stored, sent; each repeat of its last call asks for nothing more. */
static void an_order_is_carried_out_once(void **state)
{
    struct oci_order_text order = { .request_id = FIRST };
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 1", false);
    assert_int_equal(oci_step(&bench, &order, true), ERROR_TRANSIENT);
    assert_ptr_equal(bench.err.cause, &provider_goes_on);
    assert_int_equal(target(&bench), 1);
    assert_int_equal(oci_step(&bench, &order, true), ERROR_NONE);
    assert_int_equal(target(&bench), 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(oci_step(&bench, &order, true), ERROR_NONE);
        assert_int_equal(target(&bench), 2);
    }
    oci_bench_close(&bench);
}

static void a_full_reservation_is_a_shortfall_and_is_cancelled(void **state)
{
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 3", false);
    assert_int_equal(oci_order(&bench, FIRST, true), ERROR_NONE);
    oci_wait(&bench, 10 * MINUTE_MS);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 3); /* what was only asked for is no machine */
    assert_int_equal(bench.shortfall, ERROR_NO_CAPACITY);

    assert_int_equal(oci_order(&bench, SECOND, false), ERROR_NONE);
    assert_int_equal(target(&bench), 3);
    assert_int_equal(oci_order(&bench, "6f1d3a52-3f6e-4a5e-9f0b-0c1d2e3f4a53", false),
                     ERROR_CONFLICT);
    assert_int_equal(target(&bench), 3);
    oci_wait(&bench, 10 * MINUTE_MS);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 3);
    assert_int_equal(bench.shortfall, ERROR_NONE);
    oci_bench_close(&bench);
}

/* The kind of the answer to a fault, and that the repeated order still makes one machine. */
static void faults_of_growth_make_one_machine(void **state)
{
    static const struct {
        const char *fault;
        const char *verb;
        enum error_kind want;
    } cases[] = {
        { "http_429", "update_node_pool", ERROR_THROTTLED },
        { "http_500", "update_node_pool", ERROR_UNKNOWN_OUTCOME },
        { "http_500_after", "update_node_pool", ERROR_UNKNOWN_OUTCOME },
        { "lost_answer", "update_node_pool", ERROR_UNKNOWN_OUTCOME },
        { "refused", "update_node_pool", ERROR_TRANSIENT },
        { "http_403", "update_node_pool", ERROR_DENIED },
        { "http_500", "get_node_pool", ERROR_TRANSIENT },
        { "lost_answer", "get_node_pool", ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct oci_order_text order = { .request_id = FIRST };
        struct oci_bench bench;
        int calls = 0;

        oci_bench_open(&bench, "nodes: 1", false);
        assert_int_equal(oci_step(&bench, &order, true), ERROR_TRANSIENT);
        simulator_fault_next(bench.simulator, cases[i].fault, cases[i].verb);
        if (oci_step(&bench, &order, true) != cases[i].want)
            fail_msg("%s of %s: %s", cases[i].fault, cases[i].verb, bench.err.text);
        while (oci_step(&bench, &order, true) != ERROR_NONE)
            assert_true(++calls < 8);
        assert_int_equal(target(&bench), 2);
        oci_wait(&bench, 30 * MINUTE_MS);
        oci_list_now(&bench);
        assert_int_equal(bench.count, 2);
        oci_bench_close(&bench);
    }
}

static void faults_of_removal_take_one_machine(void **state)
{
    static const struct {
        const char *fault;
        enum error_kind want;
    } cases[] = {
        { "http_429", ERROR_THROTTLED },
        { "http_500", ERROR_UNKNOWN_OUTCOME },
        { "http_500_after", ERROR_UNKNOWN_OUTCOME },
        { "lost_answer", ERROR_UNKNOWN_OUTCOME },
        { "refused", ERROR_TRANSIENT },
        { "http_403", ERROR_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char old[INSTANCE_NAME_SIZE];
        struct oci_bench bench;

        oci_bench_open(&bench, "nodes: 2", false);
        oci_list_now(&bench);
        text_copy(old, sizeof old, bench.items[0].name);
        simulator_fault_next(bench.simulator, cases[i].fault, "delete_node");
        if (oci_remove(&bench, old) != cases[i].want)
            fail_msg("%s: %s", cases[i].fault, bench.err.text);
        assert_int_equal(oci_remove(&bench, old), ERROR_NONE);
        assert_int_equal(target(&bench), 1);
        oci_bench_close(&bench);
    }
}

/* Two changes of one pool: the second waits for the first, and reads what it left. */
static void changes_wait_for_their_turn(void **state)
{
    struct oci_order_text first = { .request_id = FIRST };
    struct oci_order_text second = { .request_id = SECOND };
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 1", false);
    assert_int_equal(oci_step(&bench, &first, true), ERROR_TRANSIENT);
    assert_int_equal(oci_step(&bench, &second, true), ERROR_TRANSIENT);
    oci_list_now(&bench);
    for (int i = 0; i < 2; i++) {
        const struct oci_order_text *order = i == 0 ? &first : &second;

        provider_create(bench.provider, oci_address(),
                        &(struct provider_order){ .request_key = "0a1b2c3d",
                                                  .request_id = order->request_id,
                                                  .progress = order->progress },
                        oci_on_done, &bench);
    }
    provider_remove(bench.provider, oci_address(),
                    &(struct provider_order){
                        .instance = bench.items[0].name, .request_id = FIRST, .progress = "" },
                    oci_on_done, &bench);
    oci_wait(&bench, MINUTE_MS);
    assert_int_equal(bench.calls, 6);
    assert_int_equal(bench.err.kind, ERROR_NONE);
    assert_int_equal(target(&bench), 2); /* one, and two, less one */
    oci_bench_close(&bench);
}

/* The provider is closed while changes wait and one is on its way. */
static void closing_ends_what_waits(void **state)
{
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 1", false);
    for (int i = 0; i < 3; i++)
        provider_create(bench.provider, oci_address(),
                        &(struct provider_order){ .request_key = "0a1b2c3d",
                                                  .request_id = i == 0 ? FIRST : SECOND,
                                                  .progress = "" },
                        oci_on_done, &bench);
    oci_wait(&bench, 1);
    assert_int_equal(bench.calls, 0);
    oci_bench_close(&bench);
}

static void an_empty_list_is_a_list(void **state)
{
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 2", false);
    simulator_fault_next(bench.simulator, "empty_list", "get_node_pool");
    oci_list_now(&bench);
    assert_int_equal(bench.count, 0);
    oci_list_now(&bench);
    assert_int_equal(bench.count, 2);
    oci_bench_close(&bench);
}

static void another_key_is_refused(void **state)
{
    struct oci_bench bench;

    (void)state;
    oci_bench_open(&bench, "nodes: 1", true);
    provider_list(bench.provider, oci_address(), NULL, oci_on_page, &bench);
    assert_int_equal(oci_answer_of(&bench), ERROR_DENIED);
    assert_non_null(strstr(bench.err.text, "NotAuthenticated"));
    oci_bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_comes_and_goes),
        cmocka_unit_test(an_order_is_carried_out_once),
        cmocka_unit_test(a_full_reservation_is_a_shortfall_and_is_cancelled),
        cmocka_unit_test(faults_of_growth_make_one_machine),
        cmocka_unit_test(faults_of_removal_take_one_machine),
        cmocka_unit_test(changes_wait_for_their_turn),
        cmocka_unit_test(closing_ends_what_waits),
        cmocka_unit_test(an_empty_list_is_a_list),
        cmocka_unit_test(another_key_is_refused),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
