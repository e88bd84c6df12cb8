/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agent pools: what a GET shows, and what a PUT accepts.  A PUT replaces the pool: a client that
 * leaves a property out, or sends one that only AKS writes, is refused.
 *
 * A growth that finds no machine fails, and is not repeated: the pool keeps the count.
 */
#include "tools/simulator/cloud/azure_cloud.h"

#include <inttypes.h>
#include <strings.h>

static bool is_of_scale_set(const struct pool *pool)
{
    return !text_equal(sim_azure_trap(pool, "type", ""), "VirtualMachines");
}

static const char *agent_pool(const struct pool *pool)
{
    return sim_pool_text(pool, "agent_pool") ?: pool->plan->group;
}

/* Of machines that were aborted, none comes. */
const char *sim_azure_pool_state(struct simulator *sim, const struct pool *pool)
{
    bool is_canceled = sim_azure_state(sim, pool)->is_canceled;
    bool has_failed = false, has_coming = false;

    for (size_t i = 0; i < pool->machines.count; i++) {
        const struct machine *machine = pool->machines.items[i];
        bool is_queued = machine->state == MACHINE_QUEUED;

        has_failed |= is_queued && machine->trouble != TROUBLE_NONE;
        has_coming |= machine->state == MACHINE_BOOTING || machine->state == MACHINE_STOPPING ||
                      (is_queued && machine->trouble == TROUBLE_NONE && !is_canceled);
    }
    return has_coming    ? "Scaling"
           : is_canceled ? "Canceled"
           : has_failed  ? "Failed"
                         : sim_azure_trap(pool, "state", "Succeeded");
}

json_t *sim_azure_trouble(const struct pool *pool, enum trouble trouble)
{
    static const char zonal[] =
        "Allocation failed. We do not have sufficient capacity for the requested VM size in this "
        "zone. Read more about improving likelihood of allocation success at "
        "http://aka.ms/allocation-guidance";
    static const char full[] =
        "Allocation failed. The capacity reservation group has no available instance for the "
        "requested VM size, and there is no capacity beyond it.";
    static const char limit[] = "The operation exceeds the approved quota of Cores of the family.";
    static const struct {
        const char *code;
        const char *message;
    } forms[] = {
        [TROUBLE_NONE] = { "AllocationFailed", full },
        [TROUBLE_STOCKOUT] = { "ZonalAllocationFailed", zonal },
        [TROUBLE_RESERVATION_FULL] = { "AllocationFailed", full },
        [TROUBLE_QUOTA] = { "QuotaExceeded", limit },
    };
    const char *code = forms[trouble].code;
    const char *message = forms[trouble].message;
    owned(chars) char *outer = text_format(
        "We are unable to serve this request: original error: Code=\"%s\" Message=\"%s\" "
        "Target=\"0\"",
        code, message);

    (void)pool;
    return json_make("{s:s, s:s, s:[{s:s, s:s, s:s}]}", "code", "ReconcileVMSSAgentPoolFailed",
                     "message", outer, "details", "code", code, "message", message, "target", "0");
}

static const char *etag_of(struct simulator *sim, const struct pool *pool)
{
    struct sim_azure_state *state = sim_azure_state(sim, pool);

    snprintf(state->etag, sizeof state->etag, "%08" PRIx64 "-0000-4000-8000-%012x", pool->version,
             (unsigned)pool->target);
    return state->etag;
}

static json_t *zones_of(const struct pool *pool)
{
    const char *dash = strrchr(pool->reservation->plan->zone, '-');
    const char *zones = sim_azure_trap(pool, "zones", dash ? dash + 1 : "1");
    json_t *array = json_array();

    for (const char *at = zones; *at;) {
        size_t length = strcspn(at, ",");

        json_array_append_new(array, json_stringn(at, length));
        at += length + (at[length] == ',');
    }
    return array;
}

/* What a client may write. */
static json_t *writable(const struct pool *pool)
{
    bool is_autoscaled = text_equal(sim_azure_trap(pool, "autoscaler", ""), "true");
    owned(chars) char *group = text_format(
        "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/"
        "capacityReservationGroups/%s",
        sim_provider_text(pool, "subscription") ?: "s",
        sim_pool_text(pool, "resource_group") ?: "rg", pool->reservation->plan->name);
    json_t *properties = json_make(
        "{s:s, s:i, s:s, s:s, s:i, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:{s:s}, s:{s:s}}",
        "vmSize", pool->reservation->plan->machine, "osDiskSizeGB", 1024, "osDiskType", "Managed",
        "kubeletDiskType", "OS", "maxPods", 110, "enableAutoScaling", is_autoscaled,
        "scaleDownMode", sim_azure_trap(pool, "scale_down_mode", "Delete"), "mode",
        sim_azure_trap(pool, "mode", "User"), "orchestratorVersion", "1.33.2", "osType", "Linux",
        "osSKU", "Ubuntu", "nodeImageVersion", "AKSUbuntu-2204gen2containerd-202511.07.0",
        "enableFIPS", false, "upgradeSettings", "maxSurge", "10%", "nodeLabels", "sluice.dev/pool",
        pool->plan->name);

    if (is_autoscaled) {
        json_object_set_new(properties, "minCount", json_integer(1));
        json_object_set_new(properties, "maxCount", json_integer(100));
    }
    if (!text_equal(sim_azure_trap(pool, "reservation", ""), "none"))
        json_object_set_new(properties, "capacityReservationGroupID", json_string(group));
    if (is_of_scale_set(pool)) {
        json_object_set_new(properties, "type", json_string("VirtualMachineScaleSets"));
        json_object_set_new(properties, "availabilityZones", zones_of(pool));
        json_object_set_new(properties, "count", json_integer(pool->target));
    } else {
        json_object_set_new(properties, "type", json_string("VirtualMachines"));
        json_object_set_new(properties, "virtualMachinesProfile",
                            json_make("{s:{s:[{s:s, s:i}]}}", "scale", "manual", "size",
                                      pool->reservation->plan->machine, "count", pool->target));
    }
    return properties;
}

static json_t *show(struct simulator *sim, const struct pool *pool)
{
    const char *state = sim_azure_pool_state(sim, pool);
    json_t *properties = writable(pool);
    owned(chars) char *id = text_format(
        "/subscriptions/%s/resourcegroups/%s/providers/Microsoft.ContainerService/managedClusters/"
        "%s/agentPools/%s",
        sim_provider_text(pool, "subscription") ?: "s",
        sim_pool_text(pool, "resource_group") ?: "rg",
        sim_pool_text(pool, "managed_cluster") ?: "c", agent_pool(pool));

    json_object_set_new(properties, "provisioningState", json_string(state));
    json_object_set_new(properties, "powerState", json_make("{s:s}", "code", "Running"));
    json_object_set_new(properties, "currentOrchestratorVersion", json_string("1.33.2"));
    json_object_set_new(properties, "eTag", json_string(etag_of(sim, pool)));
    if (!is_of_scale_set(pool))
        json_object_set_new(properties, "virtualMachineNodesStatus",
                            json_make("[{s:s, s:i}]", "size", pool->reservation->plan->machine,
                                      "count", (int)pool->machines.count));
    for (size_t i = 0; i < pool->machines.count && text_equal(state, "Failed"); i++)
        if (pool->machines.items[i]->trouble != TROUBLE_NONE)
            json_object_set_new(
                properties, "status",
                json_make("{s:o}", "provisioningError",
                          sim_azure_trouble(pool, pool->machines.items[i]->trouble)));
    return json_make("{s:s, s:s, s:s, s:o}", "id", id, "name", agent_pool(pool), "type",
                     "Microsoft.ContainerService/managedClusters/agentPools", "properties",
                     properties);
}

void sim_azure_get_pool(struct sim_call *call, struct pool *pool)
{
    call->verb = "get_pool";
    if (!sim_call_fault(call))
        sim_answer_json(call->answer, 200, show(call->sim, pool));
}

void sim_azure_list_pools(struct sim_call *call, const struct pool *of)
{
    json_t *value = json_array();

    call->verb = "list_pools";
    if (sim_call_fault(call)) {
        json_decref(value);
        return;
    }
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *pool = &call->sim->pools[i];

        if (pool->cloud == of->cloud &&
            text_equal(sim_pool_text(pool, "managed_cluster"),
                       sim_pool_text(of, "managed_cluster")) &&
            text_equal(sim_pool_text(pool, "resource_group"), sim_pool_text(of, "resource_group")))
            json_array_append_new(value, show(call->sim, pool));
    }
    sim_answer_json(call->answer, 200, json_make("{s:o}", "value", value));
}

/* The count that the body asks for; removed from it, so that the rest can be compared. */
static bool take_count(json_t *properties, const struct pool *pool, long long *ret_wanted)
{
    json_t *of = is_of_scale_set(pool)
                     ? properties
                     : json_array_get(json_at(properties, "virtualMachinesProfile/scale/manual"),
                                      0);
    json_t *count = json_object_get(of, "count");

    if (!json_is_integer(count))
        return false;
    *ret_wanted = json_integer_value(count);
    json_object_del(of, "count");
    return *ret_wanted >= 0 && *ret_wanted <= 1000;
}

/* Clients may send back what they read here, and may leave it out. */
static void drop_optional(json_t *properties)
{
    const char *power = json_text_or(properties, "powerState/code", "Running");

    if (text_equal(power, "Running"))
        json_object_del(properties, "powerState");
    json_object_del(properties, "status");
    json_object_del(properties, "virtualMachineNodesStatus");
}

/* Whether the body is the pool with another count, and nothing else. */
static bool is_replacement(struct sim_call *call, const struct pool *pool, json_t *properties,
                           long long *ret_wanted)
{
    owned(json) json_t *ours = writable(pool);
    const char *key;
    json_t *value;
    long long now;

    if (!take_count(properties, pool, ret_wanted)) {
        sim_azure_error(call->answer, 400, "InvalidParameter",
                        "The value of parameter agentPoolProfile.count is invalid.");
        return false;
    }
    take_count(ours, pool, &now);
    drop_optional(properties);
    json_object_foreach(properties, key, value) {
        if (json_object_get(ours, key))
            continue;
        sim_azure_error(call->answer, 400, "InvalidRequestContent",
                        "Could not find member '%s' on object of type 'Properties', or it is "
                        "read-only.",
                        key);
        return false;
    }
    json_object_foreach(ours, key, value) {
        if (json_equal(value, json_object_get(properties, key)))
            continue;
        sim_aks_error(call->answer, 400, "PropertyChangeNotAllowed",
                      "Changing property 'properties.%s' is not allowed.", key);
        return false;
    }
    return true;
}

static bool is_within_quota(struct sim_call *call, const struct pool *pool, long long wanted)
{
    long long quota = pool->target;

    if (wanted <= pool->target)
        return true;
    if (!sim_fault_now(call->sim, FAULT_QUOTA, NULL) &&
        (!text_to_int(sim_azure_trap(pool, "quota", ""), 0, 1000, &quota) || wanted <= quota))
        return true;
    sim_azure_error(call->answer, 409, "OperationNotAllowed",
                    "Operation could not be completed as it results in exceeding approved "
                    "standardNDSH100v5Family Cores quota. Additional details - Deployment Model: "
                    "Resource Manager, Location: region, Current Limit: %lld, Current Usage: %d, "
                    "Additional Required: %lld, (Minimum) New Limit Required: %lld. Submit a "
                    "request for Quota increase at https://aka.ms/ProdportalCRP/.",
                    quota * 96, pool->target * 96, (wanted - pool->target) * 96, wanted * 96);
    return false;
}

/* Azure's clients send it with quotes (Python) or as they read it (JavaScript, Go). */
static bool etag_fits(struct sim_call *call, const struct pool *pool)
{
    owned(chars) char *quoted = text_format("\"%s\"", etag_of(call->sim, pool));
    const char *wanted = http_header_find(call->request->headers, call->request->header_count,
                                          "If-Match");

    if (!wanted || text_equal(wanted, "*") || text_equal(wanted, quoted) ||
        text_equal(wanted, etag_of(call->sim, pool)))
        return true;
    sim_aks_error(call->answer, 412, "EtagMismatch",
                  "The if-match header value '%s' does not match the current eTag.", wanted);
    return false;
}

/* A PUT also tries again what failed before. */
static void resize(struct sim_call *call, struct pool *pool, int wanted)
{
    struct simulator *sim = call->sim;
    bool is_hanging = text_equal(sim_azure_trap(pool, "hangs", ""), "true");

    referee_resize_pool(sim, pool, wanted);
    while (pool->target > wanted)
        sim_pool_shrink(sim, pool);
    for (size_t i = 0; i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->state != MACHINE_QUEUED)
            continue;
        machine->trouble = TROUBLE_NONE;
        machine->stamp++;
        sim_machine_start(sim, machine);
    }
    while (pool->target < wanted)
        sim_pool_grow(sim, pool);
    for (size_t i = 0; i < pool->machines.count && is_hanging; i++)
        if (pool->machines.items[i]->state == MACHINE_QUEUED)
            pool->machines.items[i]->stamp++; /* its attempt never comes */
    pool->version++;
}

void sim_azure_put_pool(struct sim_call *call, struct pool *pool)
{
    long long wanted = 0;

    call->verb = "put_pool";
    if (sim_call_fault(call))
        return;
    owned(json) json_t *body = sim_azure_body(call);

    if (!body)
        return;
    json_t *properties = json_object_get(body, "properties");

    if (!json_is_object(properties) || json_object_size(body) != 1) {
        sim_azure_error(call->answer, 400, "InvalidRequestContent",
                        "The request content was invalid: only 'properties' may be written.");
        return;
    }
    if (!sim_azure_is_free(call, pool) || !etag_fits(call, pool) ||
        !is_replacement(call, pool, properties, &wanted))
        return;
    if (text_equal(sim_azure_trap(pool, "autoscaler", ""), "true") && wanted != pool->target) {
        sim_aks_error(call->answer, 400, "CannotScaleClusterAutoscalerEnabledNodePool",
                      "Cannot scale cluster autoscaler enabled node pool.");
        return;
    }
    if (!is_within_quota(call, pool, wanted))
        return;

    struct sim_azure_operation *operation = sim_azure_begin(call, pool, SIM_AZURE_RESIZE);

    resize(call, pool, (int)wanted);
    sim_answer_json(call->answer, 200, show(call->sim, pool));
    sim_azure_name_operation(call, operation, "Azure-AsyncOperation");
}
