/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists, looks and removals of machines of an agent pool: what is sent, in which order, and what
 * answers mean.
 */
#include "tests/providers/azure_script.h"

static void a_list_is_machines_and_their_pool(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Succeeded", "2", "")),
        GET(MACHINES, "{\"value\":[" TWO "]}"),
    };
    static const char want[] = "000000 GET " TOKEN_URL "\n"
                               "000000 GET " POOL_URL "\n"
                               "000000 GET " MACHINES "\n";
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(list(&bench, NULL), ERROR_NONE);
    assert_string_equal(bench.script->transcript->chars, want);
    assert_int_equal(bench.count, 2);
    assert_string_equal(bench.items[1].name, "aks-gpu-1-vmss000002");
    assert_string_equal(bench.next, "");
    assert_int_equal(bench.shortfall.kind, ERROR_NONE);
    assert_string_equal(bench.script->authorization, "Bearer one");
    assert_false(bench.script->is_mutation);
    bench_close(&bench);
}

static void pages_and_what_is_missing_of_them(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(MACHINES, "{\"value\":[" TWO "],\"nextLink\":\"" HOST "/arm/next?x\"}"),
        GET(HOST "/arm/next?x",
            "{\"value\":[" MACHINE("aks-gpu-1-vmss000003", "3", "") "],\"nextLink\":\"\"}"),
        GET(POOL_URL, POOL("Failed", "4", STOCKOUT)),
    };
    struct bench bench;
    char token[256];

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(list(&bench, NULL), ERROR_NONE);
    assert_int_equal(bench.count, 2);
    text_copy(token, sizeof token, bench.next);
    assert_string_equal(token, "2 " HOST "/arm/next?x");
    assert_int_equal(list(&bench, token), ERROR_NONE);
    assert_int_equal(bench.count, 1);
    assert_string_equal(bench.next, "");
    assert_int_equal(bench.shortfall.kind, ERROR_NO_CAPACITY);
    assert_string_equal(bench.shortfall.text, "ZonalAllocationFailed: m");
    bench_close(&bench);
}

/* Of a pool that has what it wants, or whose operation has not ended, there is nothing to tell. */
static void when_nothing_is_missing(void **state)
{
    static const char *const pools[] = {
        POOL("Failed", "2", STOCKOUT),
        POOL("Failed", "1", STOCKOUT),
        POOL("Scaling", "3", STOCKOUT),
        POOL("Succeeded", "3", ""),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pools); i++) {
        const struct script_step steps[] = {
            TOKEN,
            GET(POOL_URL, pools[i]),
            GET(MACHINES, "{\"value\":[" TWO "]}"),
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(list(&bench, NULL), ERROR_NONE);
        assert_int_equal(bench.shortfall.kind, ERROR_NONE);
        bench_close(&bench);
    }
}

/* Nothing is a list that is not complete, and no token goes to another host. */
static void lists_that_are_none(void **state)
{
    static const struct {
        const char *machines;
        const char *pool; /* NULL: it is right, and the machines are asked for */
        int pool_status;
        enum error_kind want;
    } rows[] = {
        { "{}", NULL, 0, ERROR_CORRUPT },
        { "[]", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":{}}", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":[" TWO ",{}]}", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":[],\"nextLink\":\"http://127.0.0.1:10/arm/next\"}", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":[],\"nextLink\":\"https://127.0.0.1:9/arm/next\"}", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":[],\"nextLink\":\"/arm/next\"}", NULL, 0, ERROR_CORRUPT },
        { "{\"value\":[],\"nextLink\":\"http://127.0.0.1:9@evil.example/\"}", NULL, 0,
          ERROR_CORRUPT },
        { NULL, "{}", 200, ERROR_CORRUPT },
        { NULL, BUSY, 500, ERROR_CONFLICT },
        { NULL, "", 503, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            ASK(HTTP_GET, POOL_URL, rows[i].pool ? rows[i].pool_status : 200,
                .answer = rows[i].pool ?: POOL("Succeeded", "2", "")),
            GET(MACHINES, rows[i].machines),
        };
        struct bench bench;

        print_message("%s\n", rows[i].machines ? rows[i].machines
                              : rows[i].pool   ? rows[i].pool
                                               : "");
        bench_open(&bench, steps, rows[i].pool ? 2 : 3);
        assert_int_equal(list(&bench, NULL), rows[i].want);
        bench_close(&bench);
    }
}

/* What the API does not tell, its operations do: a machine that is new while one runs is being
   created, and one whose removal was accepted is leaving. */
static void states_follow_operations(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(POOL_URL, POOL("Scaling", "2", "")),
        GET(MACHINES, "{\"value\":[" TWO "]}"),
        GET(POOL_URL, POOL("Scaling", "3", "")),
        GET(MACHINES, "{\"value\":[" TWO "," MACHINE("aks-gpu-1-vmss000003", "3", "") "]}"),
        GET(POOL_URL, POOL("Succeeded", "3", "")),
        GET(MACHINES, "{\"value\":[" TWO "," MACHINE("aks-gpu-1-vmss000003", "3", "") "]}"),
        GET(MACHINE_URL, MACHINE("aks-gpu-1-vmss000002", "2", "")),
        DELETE_STEP,
        GET(MACHINE_URL, MACHINE("aks-gpu-1-vmss000002", "2", "")),
        GET(POOL_URL, POOL("Scaling", "2", "")),
        GET(MACHINES, "{\"value\":[" TWO "," MACHINE("aks-gpu-1-vmss000003", "3", "") "]}"),
        GET(POOL_URL, POOL("Failed", "2", "")),
        GET(MACHINES, "{\"value\":[" TWO "," MACHINE("aks-gpu-1-vmss000003", "3", "") "]}"),
    };
    static const enum instance_state want[][3] = {
        { INSTANCE_RUNNING, INSTANCE_RUNNING }, /* nothing is remembered at first */
        { INSTANCE_RUNNING, INSTANCE_RUNNING, INSTANCE_CREATING },
        { INSTANCE_RUNNING, INSTANCE_RUNNING, INSTANCE_RUNNING },
        { INSTANCE_RUNNING, INSTANCE_DELETING, INSTANCE_RUNNING },
        { INSTANCE_RUNNING, INSTANCE_RUNNING, INSTANCE_RUNNING }, /* the removal failed */
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        if (i == 3) {
            assert_int_equal(take_away(&bench), ERROR_NONE);
            provider_look(bench.provider, azure_address(&azure_place), removal.instance, on_look,
                          &bench);
            assert_int_equal(answer_of(&bench), ERROR_NONE);
            assert_int_equal(bench.items[0].state, INSTANCE_DELETING);
        }
        loop_run_until(bench.loop, loop_now(bench.loop) + SECOND_MS);
        assert_int_equal(list(&bench, NULL), ERROR_NONE);
        for (size_t k = 0; k < bench.count; k++)
            assert_int_equal(bench.items[k].state, want[i][k]);
    }
    bench_close(&bench);
}

static void a_removal_names_one_machine(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(MACHINE_URL, MACHINE("aks-gpu-1-vmss000002", "2", "")),
        DELETE_STEP,
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(take_away(&bench), ERROR_NONE);
    assert_string_equal(bench.operation, "op-1");
    assert_string_equal(bench.script->body, "{\"machineNames\":[\"aks-gpu-1-vmss000002\"]}");
    assert_string_equal(bench.script->content_type, "application/json");
    assert_true(bench.script->is_mutation);
    bench_close(&bench);
}

/* AKS may call a machine by another name than its resource ID gives; the list says so. */
static void a_machine_by_another_name(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        GET(MACHINES, "{\"value\":[" MACHINE("m/2", "2", "") "]}"),
        GET(POOL_URL, POOL("Succeeded", "1", "")),
        GET(POOL_PATH "/machines/m%2F2" VERSION, MACHINE("m/2", "2", "")),
        DELETE_STEP,
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(list(&bench, NULL), ERROR_NONE);
    assert_string_equal(bench.items[0].name, "aks-gpu-1-vmss000002");
    assert_int_equal(take_away(&bench), ERROR_NONE);
    assert_string_equal(bench.script->body, "{\"machineNames\":[\"m/2\"]}");
    bench_close(&bench);
}

static void removals_without_a_request(void **state)
{
    static const struct {
        int status;
        const char *machine;
        int pool_status; /* 0: is not asked for */
        const char *pool;
        enum error_kind want;
    } rows[] = {
        { 404, GONE, 200, POOL("Succeeded", "1", ""), ERROR_NOT_FOUND },
        { 404, GONE, 404, GONE, ERROR_INVALID },
        { 404, GONE, 503, "", ERROR_TRANSIENT },
        { 404, "{\"error\":{\"code\":\"ResourceGroupNotFound\",\"message\":\"m\"}}", 0, NULL,
          ERROR_INVALID },
        { 200, MACHINE("aks-gpu-1-vmss000002", "2", ",\"provisioningState\":\"Deleting\""), 0, NULL,
          ERROR_NONE },
        { 200, MACHINE("aks-gpu-1-vmss000002", "3", ""), 0, NULL, ERROR_CORRUPT },
        { 200, "{}", 0, NULL, ERROR_CORRUPT },
        { 500, "", 0, NULL, ERROR_TRANSIENT },
        { 403, "", 0, NULL, ERROR_DENIED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            ASK(HTTP_GET, MACHINE_URL, rows[i].status, .answer = rows[i].machine),
            ASK(HTTP_GET, POOL_URL, rows[i].pool_status, .answer = rows[i].pool),
        };
        struct bench bench;

        print_message("%d %s\n", rows[i].status, rows[i].machine);
        bench_open(&bench, steps, rows[i].pool_status ? 3 : 2);
        assert_int_equal(take_away(&bench), rows[i].want);
        bench_close(&bench);
    }
}

static void removals_that_are_refused(void **state)
{
    static const struct {
        int status;
        const char *answer;
        enum error_kind fails;
        enum error_kind want;
    } rows[] = {
        { 409, BUSY, ERROR_NONE, ERROR_TRANSIENT },
        { 404, GONE, ERROR_NONE, ERROR_NOT_FOUND },
        { 500, "", ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { 202, "<html>", ERROR_NONE, ERROR_UNKNOWN_OUTCOME },
        { 200, "{}", ERROR_NONE, ERROR_NONE },
        { 429, "", ERROR_NONE, ERROR_THROTTLED },
        { 0, "", ERROR_UNKNOWN_OUTCOME, ERROR_UNKNOWN_OUTCOME },
        { 0, "", ERROR_CORRUPT, ERROR_UNKNOWN_OUTCOME },
        { 0, "", ERROR_TRANSIENT, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            GET(MACHINE_URL, MACHINE("aks-gpu-1-vmss000002", "2", "")),
            ASK(HTTP_POST, DELETE_URL, rows[i].status, .answer = rows[i].answer,
                .fails = rows[i].fails),
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(take_away(&bench), rows[i].want);
        bench_close(&bench);
    }
}

static void a_look_at_one_machine(void **state)
{
    static const struct {
        int status;
        const char *machine;
        int pool_status;
        enum error_kind want;
        size_t count;
    } rows[] = {
        { 200, MACHINE("aks-gpu-1-vmss000002", "2", ""), 0, ERROR_NONE, 1 },
        { 404, GONE, 200, ERROR_NONE, 0 },
        { 404, GONE, 404, ERROR_INVALID, 0 }, /* a wrong setting frees no machine */
        { 500, "", 0, ERROR_TRANSIENT, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            ASK(HTTP_GET, MACHINE_URL, rows[i].status, .answer = rows[i].machine),
            ASK(HTTP_GET, POOL_URL, rows[i].pool_status,
                .answer = rows[i].pool_status == 200 ? POOL("Succeeded", "1", "") : GONE),
        };
        struct bench bench;

        bench_open(&bench, steps, rows[i].pool_status ? 3 : 2);
        provider_look(bench.provider, azure_address(&azure_place), removal.instance, on_look,
                      &bench);
        assert_int_equal(answer_of(&bench), rows[i].want);
        assert_int_equal(bench.count, rows[i].count);
        bench_close(&bench);
    }
}

static void a_refused_token_is_replaced_once(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        ASK(HTTP_GET, POOL_URL, 401, .answer = ""),
        ASK(HTTP_GET, TOKEN_URL, 200,
            .answer = "{\"access_token\":\"two\",\"expires_in\":\"3600\"}"),
        GET(POOL_URL, POOL("Succeeded", "0", "")),
        ASK(HTTP_GET, MACHINES, 401, .answer = ""),
        TOKEN,
        ASK(HTTP_GET, MACHINES, 401, .answer = ""),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(list(&bench, NULL), ERROR_DENIED);
    bench_close(&bench);
}

static void a_callback_may_close_the_provider(void **state)
{
    static const struct script_step steps[] = {
        ASK(HTTP_GET, TOKEN_URL, 500, .answer = ""),
    };
    const struct provider_order order = { .request_id = "r-1", .progress = "" };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    bench.is_closing = true;
    provider_create(bench.provider, azure_address(&azure_place), &order, on_done, &bench);
    provider_create(bench.provider, azure_address(&azure_place), &order, on_done, &bench);
    provider_remove(bench.provider, azure_address(&azure_place), &removal, on_done, &bench);
    loop_run(bench.loop);
    assert_int_equal(bench.calls, 1);
    assert_int_equal(bench.err.kind, ERROR_TRANSIENT);
    bench_close(&bench);
}

/* Two subscriptions may have resource groups, clusters and pools of the same names. */
static void a_place_is_of_a_subscription(void **state)
{
    static const struct azure_account owner = { .subscription = "s-1" };
    static const struct azure_place pool = { .resource_group = "r",
                                             .managed_cluster = "c",
                                             .agent_pool = "p" };
    owned(chars) char *place = provider_place(&azure_kind,
                                              (const struct provider_account *)(const void *)&owner,
                                              (const struct pool_address *)(const void *)&pool);

    (void)state;
    assert_string_equal(
        place, "agent pool p of managed cluster c in resource group r of subscription s-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_machines_and_their_pool),
        cmocka_unit_test(pages_and_what_is_missing_of_them),
        cmocka_unit_test(when_nothing_is_missing),
        cmocka_unit_test(lists_that_are_none),
        cmocka_unit_test(states_follow_operations),
        cmocka_unit_test(a_removal_names_one_machine),
        cmocka_unit_test(a_machine_by_another_name),
        cmocka_unit_test(removals_without_a_request),
        cmocka_unit_test(removals_that_are_refused),
        cmocka_unit_test(a_look_at_one_machine),
        cmocka_unit_test(a_refused_token_is_replaced_once),
        cmocka_unit_test(a_callback_may_close_the_provider),
        cmocka_unit_test(a_place_is_of_a_subscription),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
