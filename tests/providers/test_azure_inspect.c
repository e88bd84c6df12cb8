/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an inspection of an agent pool finds.
 */
#include "tests/providers/azure_script.h"

static void what_is_wrong_with_a_pool(void **state)
{
    static const struct {
        const char *pool;
        const char *want; /* among the findings */
    } rows[] = {
        { POOL("Succeeded", "2", ",\"enableAutoScaling\":true"), "2 enableAutoScaling\n" },
        { POOL("Succeeded", "2", ""), "0 enableAutoScaling\n" },
        { POOL("Succeeded", "2", ",\"availabilityZones\":[\"1\",\"2\"]"), "2 availabilityZones\n" },
        { POOL("Succeeded", "2", ""), "1 availabilityZones\n" },
        { POOL("Succeeded", "2", ",\"scaleDownMode\":\"Deallocate\""), "2 scaleDownMode\n" },
        { POOL("Failed", "2", ""), "1 provisioningState\n" },
        { POOL("Scaling", "2", ""), "1 provisioningState\n" },
        { POOL("Succeeded", "2", ",\"powerState\":{\"code\":\"Stopped\"}"), "2 powerState\n" },
        { POOL("Succeeded", "2", ",\"mode\":\"System\""), "1 mode\n" },
        { POOL("Succeeded", "2", ",\"scaleSetPriority\":\"Spot\""), "2 scaleSetPriority\n" },
        { POOL("Succeeded", "2", ",\"type\":\"AvailabilitySet\""), "2 type\n" },
        { POOL("Succeeded", "2", ",\"type\":\"VirtualMachines\""), "2 virtualMachinesProfile\n" },
        { POOL("Succeeded", "2", ""), "1 capacityReservationGroupID\n" },
        { POOL("Succeeded", "2", ",\"capacityReservationGroupID\":\"/x\""),
          "0 capacityReservationGroupID\n" },
        { POOL("Succeeded", "2", ",\"vnetSubnetID\":\"/x\""), "1 vnetSubnetID\n" },
        { POOL("Succeeded", "1000", ""), "2 count\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = {
            TOKEN,
            GET(POOL_URL, rows[i].pool),
            GET(PERMISSIONS, "{\"value\":[{\"actions\":[\"*\"],\"notActions\":[]}]}"),
        };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        provider_inspect(bench.provider, azure_address(&azure_place), on_found, on_done, &bench);
        assert_int_equal(answer_of(&bench), ERROR_NONE);
        if (!strstr(bench.found->chars, rows[i].want))
            fail_msg("%s: %s", rows[i].pool, bench.found->chars);
        assert_null(strstr(bench.found->chars, "2 Microsoft"));
        bench_close(&bench);
    }
}

#define AP "Microsoft.ContainerService/managedClusters/agentPools"

static void what_an_account_may_do(void **state)
{
    static const struct {
        const char *roles;
        const char *lacks[6];
    } rows[] = {
        { "{\"actions\":[\"*/read\",\"" AP "/write\",\"" AP "/deleteMachines/action\",\"" AP
          "/abort/action\"]}",
          { NULL } },
        { "{\"actions\":[\"*/READ\"]}",
          { AP "/write", AP "/deleteMachines/action", AP "/abort/action" } },
        { "{\"actions\":[\"*\"],\"notActions\":[\"" AP "/delete*/action\"]}",
          { AP "/deleteMachines/action" } },
        { "{\"actions\":[\"*\"],\"notActions\":[\"*/write\"]},{\"actions\":[\"" AP "/write\"]}",
          { NULL } },
        { "{\"actions\":[\"" AP "/read\",\"" AP "/*/action\",\"" AP "/writ\",\"x*\"]}",
          { AP "/machines/read", AP "/write" } },
        { "{}",
          { AP "/machines/read", AP "/read", AP "/write", AP "/deleteMachines/action",
            AP "/abort/action" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *answer = text_format("{\"value\":[%s]}", rows[i].roles);
        const struct script_step steps[] = {
            TOKEN,
            GET(POOL_URL, POOL("Succeeded", "2", "")),
            GET(PERMISSIONS, answer),
        };
        struct bench bench;
        size_t lacks = 0;

        bench_open(&bench, steps, COUNT_OF(steps));
        provider_inspect(bench.provider, azure_address(&azure_place), on_found, on_done, &bench);
        assert_int_equal(answer_of(&bench), ERROR_NONE);
        for (const char *at = bench.found->chars; (at = strstr(at, "2 Microsoft")); at++)
            lacks++;
        for (size_t k = 0; rows[i].lacks[k]; k++, lacks--) {
            owned(chars) char *line = text_format("2 %s\n", rows[i].lacks[k]);

            if (!strstr(bench.found->chars, line))
                fail_msg("%s: %s", rows[i].roles, bench.found->chars);
        }
        assert_int_equal(lacks, 0);
        bench_close(&bench);
    }
}

static void an_inspection_without_permissions(void **state)
{
    static const struct script_step steps[] = {
        TOKEN,
        ASK(HTTP_GET, POOL_URL, 403,
            .answer = "{\"error\":{\"code\":\"AuthorizationFailed\",\"message\":\"m\"}}"),
        ASK(HTTP_GET, PERMISSIONS, 403, .answer = ""),
        ASK(HTTP_GET, POOL_URL, 404, .answer = GONE),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    provider_inspect(bench.provider, azure_address(&azure_place), on_found, on_done, &bench);
    assert_int_equal(answer_of(&bench), ERROR_NONE);
    assert_string_equal(bench.found->chars,
                        "2 " AP "/read\n1 Microsoft.Authorization/permissions/read\n");
    provider_inspect(bench.provider, azure_address(&azure_place), on_found, on_done, &bench);
    assert_int_equal(answer_of(&bench), ERROR_NOT_FOUND);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_with_a_pool),
        cmocka_unit_test(what_an_account_may_do),
        cmocka_unit_test(an_inspection_without_permissions),
    };

    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
