/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The machines of an agent pool: names, resource IDs, lists, deletion by name.  As in the API's
 * stable versions a machine has no state.  Only a machine that exists is listed.
 */
#include "tools/simulator/cloud/azure_cloud.h"
#include "tools/simulator/model/lies.h"

#include <inttypes.h>
#include <strings.h>

enum { PAGE_MAX = 50 };

/* Eight digits, the same for all pools of a managed cluster. */
static unsigned cluster_number(const struct pool *pool)
{
    return (unsigned)(10000000 +
                      random_mix(7, sim_pool_text(pool, "managed_cluster") ?: "c", 0, 0) %
                          90000000);
}

static bool is_of_scale_set(const struct pool *pool)
{
    return !text_equal(sim_azure_trap(pool, "type", ""), "VirtualMachines");
}

static const char *agent_pool(const struct pool *pool)
{
    return sim_pool_text(pool, "agent_pool") ?: pool->plan->group;
}

void sim_azure_name_machine(struct simulator *sim, const struct pool *pool, int number,
                            char out[SIM_NAME_SIZE])
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    int at = sim_azure_state(sim, pool)->machine_count++;
    char suffix[7] = "000000";

    (void)number;
    if (!is_of_scale_set(pool)) {
        snprintf(out, SIM_NAME_SIZE, "aks-%s-%u-vms%d", agent_pool(pool), cluster_number(pool),
                 at + 1);
        return;
    }
    for (int i = 5; i >= 0; i--, at /= 36)
        suffix[i] = letters[at % 36];
    snprintf(out, SIM_NAME_SIZE, "aks-%s-%u-vmss%s", agent_pool(pool), cluster_number(pool),
             suffix);
}

/* "/subscriptions/S/resourceGroups/MC_.../providers/Microsoft.Compute/..." */
static char *resource_id(const struct machine *machine, bool is_lower)
{
    const struct pool *pool = machine->pool;
    owned(chars) char *group = text_format("%s_%s_%s_region", is_lower ? "mc" : "MC",
                                           sim_pool_text(pool, "resource_group") ?: "rg",
                                           sim_pool_text(pool, "managed_cluster") ?: "c");
    owned(chars) char *start = text_format(
        "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute",
        sim_provider_text(pool, "subscription") ?: "s", group);
    const char *suffix = strstr(machine->name, "-vmss");

    if (!is_of_scale_set(pool) || !suffix)
        return text_format("%s/virtualMachines/%s", start, machine->name);
    suffix += strlen("-vmss");
    return text_format("%s/virtualMachineScaleSets/%.*s/virtualMachines/%ld", start,
                       (int)(suffix - machine->name), machine->name, strtol(suffix, NULL, 36));
}

/* As the cloud controller writes it: the resource group in lower case. */
char *sim_azure_provider_id(const struct machine *machine)
{
    owned(chars) char *id = resource_id(machine, true);

    return text_format("azure://%s", id);
}

void sim_azure_mark_node(const struct machine *machine, json_t *labels, json_t *annotations)
{
    (void)annotations;
    json_object_set_new(labels, "kubernetes.azure.com/agentpool",
                        json_string(agent_pool(machine->pool)));
}

static json_t *show(const struct machine *machine)
{
    const struct pool *pool = machine->pool;
    const char *zone = pool->reservation->plan->zone;
    const char *dash = strrchr(zone, '-');
    owned(chars) char *resource = resource_id(machine, false);
    owned(chars) char *id = text_format(
        "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ContainerService/managedClusters/"
        "%s/agentPools/%s/machines/%s",
        sim_provider_text(pool, "subscription") ?: "s",
        sim_pool_text(pool, "resource_group") ?: "rg",
        sim_pool_text(pool, "managed_cluster") ?: "c", agent_pool(pool), machine->name);

    return json_make("{s:s, s:s, s:s, s:[s], s:{s:{s:[{s:s, s:s}]}, s:s}}", "id", id, "name",
                     machine->name, "type",
                     "Microsoft.ContainerService/managedClusters/agentPools/machines", "zones",
                     dash ? dash + 1 : "1", "properties", "network", "ipAddresses", "ip",
                     "10.0.0.1", "family", "IPv4", "resourceId", resource);
}

void sim_azure_print_machine(const struct machine *machine, struct text *out)
{
    if (!sim_machine_exists(machine))
        return;

    json_t *shown = show(machine);
    owned(chars) char *chars = json_print(shown);

    json_decref(shown);
    text_add(out, "%s", chars);
}

/* Since when lists have failed: a good one ends it; a lie counts as one bad list. */
static void note_list(struct simulator *sim, struct pool *pool, bool is_bad)
{
    const struct lie *lie = sim_lie_about(sim, LIE_MACHINES, (size_t)(pool - sim->pools));

    if (!is_bad && (!lie || !sim_lie_frees(lie)))
        pool->bad_list_ms = 0;
    else if (is_bad || pool->bad_list_ms == 0)
        pool->bad_list_ms = sim_since_start(sim) + 1;
}

static void write_page(struct sim_call *call, const struct pool *pool,
                       const struct shown_list *shown, const char *after)
{
    struct text *body = call->answer->body = text_new(64 << 20);
    long long limit = PAGE_MAX;
    const char *last = NULL;
    long long count = 0;
    bool has_more = false;

    text_to_int(sim_azure_trap(pool, "page", "50"), 1, PAGE_MAX, &limit);
    call->answer->status = 200;
    call->answer->content_type = "application/json";
    text_add(body, "{\"value\":[");
    for (size_t i = 0; i < shown->count && !has_more; i++) {
        const struct shown *item = &shown->items[i];
        owned(text) struct text *one = text_new(64 * 1024);

        if (after && strcmp(item->name, after) <= 0)
            continue;
        if (item->machine)
            sim_azure_print_machine(item->machine, one);
        else
            text_add(one, "%s", item->text);
        has_more = one->length > 0 && count >= limit;
        if (one->length == 0 || has_more)
            continue;
        text_add(body, "%s%s", count++ > 0 ? "," : "", one->chars);
        last = item->name;
    }
    text_add(body, "]");
    if (has_more) { /* by name: what vanishes between two pages hides no machine */
        owned(chars) char *base = sim_azure_base(call);
        const char *target = strstr(call->request->target, "/subscriptions");

        text_add(body, ",\"nextLink\":\"%s%.*s?api-version=2026-04-01&$skipToken=after:%s\"", base,
                 (int)strcspn(target, "?"), target, last);
    }
    text_add(body, "}");
}

void sim_azure_list_machines(struct sim_call *call, struct pool *pool)
{
    owned(chars) char *token = url_query(call->request->target, "$skipToken");
    struct shown_list shown = { 0 };

    call->verb = "list_machines";
    if (sim_call_fault(call)) {
        note_list(call->sim, pool, true);
        return;
    }
    if (sim_fault_now(call->sim, FAULT_EMPTY_LIST, call->verb)) {
        note_list(call->sim, pool, true);
        sim_answer_json(call->answer, 200, json_make("{s:[]}", "value"));
        return;
    }
    if (token && !text_starts_with(token, "after:")) {
        sim_azure_error(call->answer, 400, "InvalidSkipToken", "The skip token is malformed.");
        return;
    }
    sim_machines_shown(call->sim, pool, &shown);
    note_list(call->sim, pool, false);
    write_page(call, pool, &shown, token ? token + strlen("after:") : NULL);
    array_clear(&shown);
}

static struct machine *find(const struct pool *pool, const char *name)
{
    for (size_t i = 0; i < pool->machines.count; i++)
        if (strcasecmp(pool->machines.items[i]->name, name) == 0 &&
            sim_machine_exists(pool->machines.items[i]))
            return pool->machines.items[i];
    return NULL;
}

/* Reads by name do not lie. */
void sim_azure_get_machine(struct sim_call *call, struct pool *pool, const char *name)
{
    const struct machine *machine = find(pool, name);

    call->verb = "get_machine";
    if (sim_call_fault(call))
        return;
    if (machine)
        sim_answer_json(call->answer, 200, show(machine));
    else
        sim_aks_error(call->answer, 404, "NotFound", "Machine %s is not found in agent pool %s.",
                      name, agent_pool(pool));
}

static bool names_are_right(struct sim_call *call, const struct pool *pool, const json_t *body)
{
    json_t *names = json_object_get(body, "machineNames");
    json_t *name;
    size_t i;

    if (json_object_size(body) != 1 || !json_is_array(names) || json_array_size(names) == 0) {
        sim_azure_error(call->answer, 400, "InvalidParameter",
                        "The value of parameter machineNames is invalid.");
        return false;
    }
    json_array_foreach(names, i, name) {
        if (json_is_string(name) && find(pool, json_string_value(name)))
            continue;
        sim_aks_error(call->answer, 404, "MachineNotFound",
                      "Machine %s is not found in agent pool %s.", json_string_value(name) ?: "?",
                      agent_pool(pool));
        return false;
    }
    return true;
}

void sim_azure_delete_machines(struct sim_call *call, struct pool *pool)
{
    json_t *name;
    size_t i;

    call->verb = "delete_machines";
    if (sim_call_fault(call))
        return;
    owned(json) json_t *body = sim_azure_body(call);

    if (!body || !sim_azure_is_free(call, pool) || !names_are_right(call, pool, body))
        return;
    json_array_foreach(json_object_get(body, "machineNames"), i, name) {
        struct machine *machine = find(pool, json_string_value(name));

        referee_delete_instance(call->sim, machine, "");
        sim_machine_remove(call->sim, machine);
    }
    call->answer->status = 202;
    sim_azure_name_operation(call, sim_azure_begin(call, pool, SIM_AZURE_DELETE),
                             "Azure-AsyncOperation");
}
