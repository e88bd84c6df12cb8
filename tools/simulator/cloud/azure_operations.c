/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Long-running operations: one at a time in a managed cluster.  An operation is under way while a
 * machine of its agent pool comes or goes.
 */
#include "tools/simulator/cloud/azure_cloud.h"

#include <strings.h>

static bool are_of_one_cluster(const struct pool *left, const struct pool *right)
{
    return left->cloud == right->cloud &&
           text_equal(sim_provider_text(left, "subscription"),
                      sim_provider_text(right, "subscription")) &&
           text_equal(sim_pool_text(left, "resource_group"),
                      sim_pool_text(right, "resource_group")) &&
           text_equal(sim_pool_text(left, "managed_cluster"),
                      sim_pool_text(right, "managed_cluster"));
}

void sim_azure_refuse_busy(struct sim_answer *answer, const char *agent_pool)
{
    sim_aks_error(answer, 409, "OperationNotAllowed",
                  "Operation is not allowed: Another agentpool operation (%s - Scaling) is in "
                  "progress, please wait for it to finish before starting a new operation. See "
                  "https://aka.ms/aks-pending-operation for more details",
                  agent_pool);
}

bool sim_azure_is_free(struct sim_call *call, const struct pool *pool)
{
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *other = &call->sim->pools[i];

        if (!are_of_one_cluster(pool, other) ||
            !text_equal(sim_azure_pool_state(call->sim, other), "Scaling"))
            continue;
        sim_azure_refuse_busy(call->answer,
                              sim_pool_text(other, "agent_pool") ?: other->plan->group);
        return false;
    }
    return true;
}

/* Keeps what became of the operation, which later ones of the pool would hide. */
static void settle(struct simulator *sim, struct sim_azure_operation *operation)
{
    const char *state = sim_azure_pool_state(sim, operation->pool);
    const struct pool *pool = operation->pool;

    if (operation->status || text_equal(state, "Scaling"))
        return;
    operation->status = operation->kind == SIM_AZURE_RESIZE ? state : "Succeeded";
    for (size_t i = 0; i < pool->machines.count; i++)
        if (pool->machines.items[i]->trouble != TROUBLE_NONE)
            operation->trouble = pool->machines.items[i]->trouble;
}

struct sim_azure_operation *sim_azure_begin(struct sim_call *call, struct pool *pool,
                                            enum sim_azure_kind kind)
{
    struct sim_azure_operation *operation = mem_new(sizeof *operation);
    struct sim_azure_state *state = sim_azure_state(call->sim, pool);

    if (state->latest)
        settle(call->sim, state->latest);
    state->latest = operation;
    state->is_canceled = kind == SIM_AZURE_ABORT;
    sim_uuid(call->sim, operation->id);
    operation->pool = pool;
    operation->kind = kind;
    operation->began_ms = sim_now(call->sim);

    owned(chars) char *key = text_format("azure/operation/%s", operation->id);

    map_set(call->sim->operations, key, operation);
    return operation;
}

/* The text lives as long as the simulator: answers borrow it. */
static const char *keep_text(struct simulator *sim, char *chars)
{
    owned(chars) char *key = text_format("azure/text/%s", chars);

    if (map_get(sim->operations, key))
        mem_free(chars);
    else
        map_set(sim->operations, key, chars);
    return map_get(sim->operations, key);
}

void sim_azure_name_operation(struct sim_call *call, const struct sim_azure_operation *operation,
                              const char *header)
{
    struct sim_answer *answer = call->answer;
    owned(chars) char *base = sim_azure_base(call);
    char *url = text_format("%s/subscriptions/%s/providers/Microsoft.ContainerService/locations/"
                            "region/%s/%s?api-version=2016-03-30",
                            base, sim_provider_text(operation->pool, "subscription") ?: "s",
                            text_equal(header, "Location") ? "operationresults" : "operations",
                            operation->id);

    answer->headers[answer->header_count++] = (struct http_header){ header,
                                                                    keep_text(call->sim, url) };
    answer->headers[answer->header_count++] =
        (struct http_header){ "Retry-After", sim_azure_trap(operation->pool, "retry_after", "10") };
}

static void answer_status(struct sim_call *call, const struct sim_azure_operation *operation)
{
    char began[WALL_TEXT_SIZE];
    json_t *body = json_make("{s:s, s:s, s:s}", "name", operation->id, "status",
                             operation->status ?: "InProgress", "startTime",
                             sim_time(call->sim, operation->began_ms, began));

    if (text_equal(operation->status, "Failed"))
        json_object_set_new(body, "error", sim_azure_trouble(operation->pool, operation->trouble));
    sim_answer_json(call->answer, 200, body);
}

void sim_azure_get_operation(struct sim_call *call, const char *id, bool is_result)
{
    owned(chars) char *key = text_format("azure/operation/%s", id);
    struct sim_azure_operation *operation = map_get(call->sim->operations, key);

    call->verb = "get_operation";
    if (sim_call_fault(call))
        return;
    if (!operation) {
        sim_azure_error(call->answer, 404, "NotFound", "The entity was not found.");
        return;
    }
    settle(call->sim, operation);
    if (!is_result)
        answer_status(call, operation);
    else if (operation->status)
        call->answer->status = 204;
    else
        call->answer->status = 202;
    if (is_result && !operation->status)
        sim_azure_name_operation(call, operation, "Location");
}

/* Machines that were asked for and do not exist yet are not made any more. */
void sim_azure_abort(struct sim_call *call, struct pool *pool)
{
    call->verb = "abort_pool";
    if (sim_call_fault(call))
        return;
    if (!text_equal(sim_azure_pool_state(call->sim, pool), "Scaling")) {
        sim_aks_error(call->answer, 409, "OperationNotAllowed",
                      "There is no operation in progress to abort.");
        return;
    }
    for (size_t i = 0; i < pool->machines.count; i++)
        if (pool->machines.items[i]->state == MACHINE_QUEUED)
            pool->machines.items[i]->stamp++;
    call->answer->status = 202;
    sim_azure_name_operation(call, sim_azure_begin(call, pool, SIM_AZURE_ABORT), "Location");
}
