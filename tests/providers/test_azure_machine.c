/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How Azure writes machines and agent pools: resource IDs in either case, names in base 36, sizes
 * of both types of pool, and the request that changes one.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/azure/azure_machine.h"
#include "tests/providers/azure_bench.h"
#include "tests/support/unit.h"

#include <string.h>

#define RG "/subscriptions/s-1/resourceGroups/MC_rg_C_EastUS/providers/Microsoft.Compute"
#define LOWER_RG "/subscriptions/s-1/resourceGroups/mc_rg_c_eastus/providers/Microsoft.Compute"
#define VMSS(id) "/virtualMachineScaleSets/aks-gpu-12345678-vmss/virtualMachines/" id
#define MACHINE(id)                                                                                \
    "{\"name\":\"aks-gpu-12345678-vmss00000a\",\"zones\":[\"2\"],\"properties\":{\"resourceId\":"  \
    "\"" id "\"}}"

static json_t *parse(const char *chars)
{
    struct error err = { 0 };
    json_t *json = json_parse_foreign(chars, strlen(chars), "test", &err);

    if (!json)
        fail_msg("%s", err.text);
    return json;
}

static void a_machine_of_a_list(void **state)
{
    owned(json) json_t *item = parse(MACHINE(RG VMSS("10")));
    struct instance machine;
    const char *listed = NULL;
    struct error err = { 0 };

    (void)state;
    assert_int_equal(azure_read_machine(item, &azure_place, &machine, &listed, &err), 0);
    assert_string_equal(machine.name, "aks-gpu-12345678-vmss00000a");
    assert_string_equal(listed, "aks-gpu-12345678-vmss00000a");
    assert_string_equal(machine.id, "10");
    assert_string_equal(machine.provider_id, "azure://" LOWER_RG VMSS("10"));
    assert_string_equal(machine.zone, "region-2");
    assert_int_equal(machine.state, INSTANCE_RUNNING);
    assert_int_equal(machine.trouble.kind, ERROR_NONE);
}

static void states(void **state)
{
    static const struct {
        const char *name;
        enum instance_state want;
    } rows[] = {
        { "Succeeded", INSTANCE_RUNNING }, { "creating", INSTANCE_CREATING },
        { "Deleting", INSTANCE_DELETING }, { "Failed", INSTANCE_OTHER },
        { "Reimaging", INSTANCE_OTHER },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json) json_t *item = parse(MACHINE(RG VMSS("0")));
        struct instance machine;
        const char *listed = NULL;
        struct error err = { 0 };

        json_put(json_at(item, "properties"), "provisioningState", json_text(rows[i].name));
        assert_int_equal(azure_read_machine(item, &azure_place, &machine, &listed, &err), 0);
        assert_int_equal(machine.state, rows[i].want);
    }
}

static void wrong_machines(void **state)
{
    static const char *const items[] = {
        "{}",
        "{\"name\":\"a\"}",
        "{\"name\":\"\",\"properties\":{\"resourceId\":\"" RG VMSS("0") "\"}}",
        "{\"name\":\"a\",\"properties\":{\"resourceId\":\"\"}}",
        MACHINE(RG "/disks/d"),
        MACHINE(RG VMSS("x")),
        MACHINE(RG VMSS("2176782336")), /* seven digits */
        MACHINE(RG VMSS("1") "/extensions/e"),
        MACHINE("/subscriptions//resourceGroups/g/providers/Microsoft.Compute" VMSS("0")),
        MACHINE("/subscriptions/s/resourceGroups/g/providers/Microsoft.Network" VMSS("0")),
        MACHINE("x" RG VMSS("0")),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        owned(json) json_t *item = parse(items[i]);
        struct instance machine;
        const char *listed = NULL;
        struct error err = { 0 };

        assert_int_equal(azure_read_machine(item, &azure_place, &machine, &listed, &err), -1);
        assert_int_equal(err.kind, ERROR_CORRUPT);
    }
}

static void provider_ids(void **state)
{
    static const struct {
        const char *id;
        const char *name; /* NULL: it is not one of Azure's */
        size_t claim;
    } rows[] = {
        { "azure://" LOWER_RG VMSS("0"), "aks-gpu-12345678-vmss000000", 3 },
        { "azure://" LOWER_RG VMSS("36"), "aks-gpu-12345678-vmss000010", 3 },
        { "azure://" LOWER_RG VMSS("2176782335"), "aks-gpu-12345678-vmsszzzzzz", 3 },
        { "AZURE://" RG "/VIRTUALMACHINESCALESETS/AKS-GPU-12345678-VMSS/virtualmachines/35",
          "aks-gpu-12345678-vmss00000z", 3 },
        { "azure://" RG "/virtualMachines/aks-gpu-12345678-vms7", "aks-gpu-12345678-vms7", 3 },
        { "azure://" RG "/virtualMachines/aks-gpus-12345678-vms7", "aks-gpus-12345678-vms7", 0 },
        { "azure://" RG "/virtualMachines/jump-host", "jump-host", 0 },
        { "azure://" RG VMSS("-1"), NULL, 0 },
        { "azure://" RG "/virtualMachines/", NULL, 0 },
        { "gce://p/z/aks-gpu-12345678-vmss000000", NULL, 0 },
        { "azure:/" RG VMSS("0"), NULL, 0 },
        { "", NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[INSTANCE_NAME_SIZE] = "untouched";
        size_t claim = 99;
        bool is_ours = azure_kind.read_provider_id(azure_address(&azure_place), rows[i].id, name,
                                                   &claim);

        if (is_ours != (rows[i].name != NULL) || (is_ours && claim != rows[i].claim) ||
            !text_equal(name, rows[i].name ?: "untouched"))
            fail_msg("%s: %s, %zu", rows[i].id, name, claim);
    }
}

/* A name that is cut would be another machine's. */
static void long_names_are_no_names(void **state)
{
    char name[INSTANCE_NAME_SIZE] = "untouched";
    char lengthy[200];
    size_t claim = 0;

    (void)state;
    memset(lengthy, 'a', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    owned(chars) char *id = text_format("azure://" RG "/virtualMachines/%s", lengthy);

    assert_false(azure_kind.read_provider_id(azure_address(&azure_place), id, name, &claim));
    assert_string_equal(name, "untouched");
}

#define POOL(properties) "{\"id\":\"i\",\"name\":\"gpu\",\"properties\":{" properties "}}"
#define OK_STATE "\"provisioningState\":\"Succeeded\""

static void sizes_and_states_of_pools(void **state)
{
    static const struct {
        const char *body;
        int64_t wanted; /* -1: the answer makes no sense */
        bool is_busy;
        bool is_failed;
        const char *forbidden; /* in the sentence that forbids a resize; NULL: none does */
    } rows[] = {
        { POOL(OK_STATE ",\"count\":7"), 7, false, false, NULL },
        { POOL("\"provisioningState\":\"failed\",\"count\":7"), 7, false, true, NULL },
        { POOL("\"provisioningState\":\"Canceled\",\"count\":7"), 7, false, true, NULL },
        { POOL("\"provisioningState\":\"Scaling\",\"count\":7"), 7, true, false, NULL },
        { POOL("\"provisioningState\":\"DeletingMachines\",\"count\":7"), 7, true, false, NULL },
        { POOL("\"provisioningState\":\"\",\"count\":7"), 7, true, false, NULL },
        { POOL(OK_STATE ",\"count\":7,\"enableAutoScaling\":true"), 7, false, false, "autoscaler" },
        { POOL(OK_STATE ",\"count\":7,\"powerState\":{\"code\":\"Stopped\"}"), 7, false, false,
          "Stopped" },
        { POOL(OK_STATE ",\"type\":\"VirtualMachines\",\"virtualMachinesProfile\":{\"scale\":"
                        "{\"manual\":[{\"size\":\"a\",\"count\":3}]}}"),
          3, false, false, NULL },
        { POOL(OK_STATE ",\"type\":\"virtualmachines\",\"count\":9,\"virtualMachinesProfile\":"
                        "{\"scale\":{\"manual\":[{\"count\":3},{\"count\":4}]}}"),
          7, false, false, "one machine type" },
        { POOL(OK_STATE ",\"type\":\"VirtualMachines\""), 0, false, false, "one machine type" },
        { POOL("\"count\":7"), -1, false, false, NULL },
        { POOL(OK_STATE), -1, false, false, NULL },
        { POOL(OK_STATE ",\"count\":-1"), -1, false, false, NULL },
        { POOL(OK_STATE ",\"count\":1001"), -1, false, false, NULL },
        { POOL(OK_STATE ",\"count\":7,\"eTag\":\"a\\nb\""), -1, false, false, NULL },
        { POOL(OK_STATE ",\"count\":7,\"enableAutoScaling\":\"yes\""), -1, false, false, NULL },
        { "{}", -1, false, false, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json) json_t *body = parse(rows[i].body);
        struct azure_pool pool = { 0 };
        struct error err = { 0 };
        int result = azure_pool_read(body, &pool, &err);

        print_message("%s\n", rows[i].body);
        assert_int_equal(result, rows[i].wanted < 0 ? -1 : 0);
        if (result < 0) {
            assert_int_equal(err.kind, ERROR_CORRUPT);
            continue;
        }
        assert_int_equal(pool.wanted, rows[i].wanted);
        assert_int_equal(pool.is_busy, rows[i].is_busy);
        assert_int_equal(pool.is_failed, rows[i].is_failed);
        assert_int_equal(azure_pool_may_resize(body, &pool, &err), rows[i].forbidden ? -1 : 0);
        assert_non_null(strstr(err.text, rows[i].forbidden ?: ""));
    }
}

/* Everything else goes back as it was read. */
static void the_request_of_another_size(void **state)
{
    static const struct {
        const char *body;
        const char *want;
    } rows[] = {
        { "{\"id\":\"i\",\"name\":\"gpu\",\"type\":\"t\",\"systemData\":{},\"properties\":{"
          "\"count\":7,\"vmSize\":\"v\",\"eTag\":\"e\",\"provisioningState\":\"Failed\","
          "\"powerState\":{\"code\":\"Running\"},\"currentOrchestratorVersion\":\"1\","
          "\"status\":{\"provisioningError\":{}},\"nodeTaints\":[\"a=b:NoSchedule\"],"
          "\"new\":{\"of\":[1,null]}}}",
          "{\"properties\":{\"count\":8,\"vmSize\":\"v\",\"nodeTaints\":[\"a=b:NoSchedule\"],"
          "\"new\":{\"of\":[1,null]}}}" },
        { "{\"properties\":{\"type\":\"VirtualMachines\",\"count\":7,\"virtualMachinesProfile\":"
          "{\"scale\":{\"manual\":[{\"size\":\"a\",\"count\":7}]}},"
          "\"virtualMachineNodesStatus\":[{}]}}",
          "{\"properties\":{\"type\":\"VirtualMachines\",\"virtualMachinesProfile\":{\"scale\":"
          "{\"manual\":[{\"size\":\"a\",\"count\":8}]}}}}" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(json) json_t *body = parse(rows[i].body);
        owned(json) json_t *resized = azure_pool_resized(body, 8);
        owned(chars) char *chars = json_print(resized);

        assert_string_equal(chars, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_of_a_list),
        cmocka_unit_test(states),
        cmocka_unit_test(wrong_machines),
        cmocka_unit_test(provider_ids),
        cmocka_unit_test(long_names_are_no_names),
        cmocka_unit_test(sizes_and_states_of_pools),
        cmocka_unit_test(the_request_of_another_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
