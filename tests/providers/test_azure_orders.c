/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders to an agent pool: planned, sent under an ETag, taken back; one write at a time.
 */
#include "tests/providers/azure_script.h"

static void an_order_plans_and_then_writes(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        PUT(201, POOL("Scaling", "3", "")),
        GET(POOL_URL, POOL("Scaling", "3", "")),
    };
    static const char want[] = "000000 GET " TOKEN_URL "\n"
                               "000000 GET " POOL_URL "\n"
                               "000000 GET " POOL_URL "\n"
                               "000000 PUT " POOL_URL SENT("3") "\n";
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    grow(&bench, "");
    expect_goes_on(&bench, "2>3@e-1");
    assert_int_equal(grow(&bench, "2>3@e-1"), ERROR_NONE);
    assert_string_equal(bench.operation, "op-1");
    assert_string_equal(bench.script->if_match, "e-1");
    assert_true(bench.script->is_mutation);
    assert_string_equal(bench.script->transcript->chars, want);
    assert_int_equal(grow(&bench, "2>3@e-1"), ERROR_NONE); /* it was carried out */
    bench_close(&bench);
}

/* ERROR_CONFLICT would say that the order is carried out. */
static void orders_that_are_refused(void **state)
{
    static const struct {
        const char *pool;
        int status; /* of the PUT; 0: it is not sent */
        const char *answer;
        enum error_kind fails;
        enum error_kind want;
    } rows[] = {
        { POOL("Scaling", "2", ""), 0, NULL, ERROR_NONE, ERROR_TRANSIENT },
        { POOL("Succeeded", "2", ",\"enableAutoScaling\":true"), 0, NULL, ERROR_NONE,
          ERROR_INVALID },
        { POOL("Succeeded", "2", ""), 409, BUSY, ERROR_NONE, ERROR_TRANSIENT },
        { POOL("Succeeded", "2", ""), 412, "", ERROR_NONE, ERROR_TRANSIENT },
        { POOL("Succeeded", "2", ""), 404, GONE, ERROR_NONE, ERROR_INVALID },
        { POOL("Succeeded", "2", ""), 409,
          "{\"error\":{\"code\":\"OperationNotAllowed\",\"message\":\"exceeding approved Cores "
          "quota\"}}",
          ERROR_NONE, ERROR_DENIED },
        { POOL("Succeeded", "2", ""), 500, "", ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { POOL("Succeeded", "2", ""), 200, "<html>", ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { POOL("Succeeded", "2", ""), 1, "", ERROR_UNKNOWN_OUTCOME, ERROR_UNKNOWN_OUTCOME },
        { POOL("Succeeded", "2", ""), 1, "", ERROR_TRANSIENT, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            GET(POOL_URL, rows[i].pool),
            ASK(HTTP_PUT, POOL_URL, rows[i].status, .answer = rows[i].answer,
                .fails = rows[i].fails),
        };
        struct bench bench;

        print_message("%s %d\n", rows[i].pool, rows[i].status);
        bench_open(&bench, steps, rows[i].status ? 3 : 2);
        assert_int_equal(grow(&bench, "2>3@e-1"), rows[i].want);
        assert_null(bench.err.cause);
        bench_close(&bench);
    }
}

/* The first order of two is refused: the second does not count on it. */
static void a_refused_order_plans_again(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        PUT(412, ""),
        GET(POOL_URL, POOL("Succeeded", "5", "")),
        GET(POOL_URL, POOL("Succeeded", "5", "")),
        PUT(200, POOL("Scaling", "6", "")),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    grow(&bench, "");
    expect_goes_on(&bench, "2>3@e-1");
    assert_int_equal(grow(&bench, "2>3@e-1"), ERROR_TRANSIENT);
    grow(&bench, "");
    expect_goes_on(&bench, "5>6@e-1");
    assert_int_equal(grow(&bench, "5>6@e-1"), ERROR_NONE);
    assert_string_equal(bench.script->body, SENT("6") + 1);
    bench_close(&bench);
}

static void a_failed_growth_is_taken_back(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Failed", "3", STOCKOUT)),
        GET(MACHINES, "{\"value\":[" TWO "]}"),
        GET(POOL_URL, POOL("Failed", "3", STOCKOUT)),
        GET(MACHINES, "{\"value\":[" MACHINE("aks-gpu-1-vmss000001", "1",
                                             "") "],\"nextLink\":\"" HOST "/arm/next\"}"),
        GET(HOST "/arm/next", "{\"value\":[" MACHINE("aks-gpu-1-vmss000002", "2", "") "]}"),
        PUT(200, POOL("Scaling", "2", "")),
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        GET(MACHINES, "{\"value\":[" TWO "]}"),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    cancel(&bench, "");
    expect_goes_on(&bench, "3>2@e-1");
    assert_int_equal(cancel(&bench, "3>2@e-1"), ERROR_NONE);
    assert_string_equal(bench.script->body, SENT("2") + 1);
    assert_string_equal(bench.script->if_match, "e-1");
    assert_int_equal(cancel(&bench, "3>2@e-1"), ERROR_NONE);
    bench_close(&bench);
}

static void what_cannot_be_taken_back(void **state)
{
    static const struct {
        const char *pool;
        enum error_kind want;
    } rows[] = {
        { POOL("Failed", "2", ""), ERROR_CONFLICT },
        { POOL("Succeeded", "2", ""), ERROR_CONFLICT },
        { POOL("Scaling", "3", ""), ERROR_TRANSIENT },
        /* AKS has three, and the list is late: it would delete one of them */
        { POOL("Succeeded", "3", ""), ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            GET(POOL_URL, rows[i].pool),
            GET(MACHINES, "{\"value\":[" TWO "]}"),
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(cancel(&bench, ""), rows[i].want);
        assert_null(bench.err.cause);
        bench_close(&bench);
    }
}

static void a_list_without_end_is_not_counted(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Failed", "3", "")),
        GET(MACHINES, "{\"value\":[],\"nextLink\":\"" HOST "/arm/next\"}"),
        GET(HOST "/arm/next", "{\"value\":[],\"nextLink\":\"" HOST "/arm/next\"}"),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(cancel(&bench, ""), ERROR_CORRUPT);
    bench_close(&bench);
}

/* One write at a time in a managed cluster: what reads first decides on what it read. */
static void writes_wait_for_each_other(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        ASK(HTTP_GET, POOL_URL, 200, .answer = POOL("Succeeded", "2", ""), .delay_ms = 100),
        ASK(HTTP_PUT, POOL_URL, 200, .answer = POOL("Scaling", "3", ""), .delay_ms = 100),
        ASK(HTTP_GET, MACHINE_URL, 200, .answer = MACHINE("aks-gpu-1-vmss000002", "2", ""),
            .delay_ms = 100),
        ASK(HTTP_POST, DELETE_URL, 409, .answer = BUSY),
    };
    static const char want[] =
        "000000 GET " TOKEN_URL "\n"
        "000000 GET " POOL_URL "\n"
        "000100 PUT " POOL_URL SENT("3") "\n"
                                         "000200 GET " MACHINE_URL "\n"
                                         "000300 POST " DELETE_URL
                                         " {\"machineNames\":[\"aks-gpu-1-vmss000002\"]}\n";
    const struct provider_order order = { .request_id = "r-1", .progress = "2>3" };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    provider_create(bench.provider, azure_address(&azure_place), &order, on_done, &bench);
    provider_remove(bench.provider, azure_address(&azure_place), &removal, on_done, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 2);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    assert_string_equal(bench.script->transcript->chars, want);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_plans_and_then_writes),
        cmocka_unit_test(orders_that_are_refused),
        cmocka_unit_test(a_refused_order_plans_again),
        cmocka_unit_test(a_failed_growth_is_taken_back),
        cmocka_unit_test(what_cannot_be_taken_back),
        cmocka_unit_test(a_list_without_end_is_not_counted),
        cmocka_unit_test(writes_wait_for_each_other),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
