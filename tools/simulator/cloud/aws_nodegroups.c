/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * EKS: managed node groups, which are Auto Scaling groups with a number of their own.
 */
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"

enum { UPDATE_MS = 10 * SECOND_MS };

struct update {
    int64_t done_ms;
};

static struct pool *find_pool(struct sim_aws_call *aws, const char *cluster, const char *nodegroup)
{
    struct simulator *sim = aws->call->sim;

    for (size_t i = 0; i < sim->pool_count; i++)
        if (sim->pools[i].cloud == &sim_aws &&
            text_equal(sim_pool_text(&sim->pools[i], "eks_cluster"), cluster) &&
            text_equal(sim_pool_text(&sim->pools[i], "nodegroup"), nodegroup))
            return &sim->pools[i];
    sim_aws_error(aws, 404, "ResourceNotFoundException", "No node group found for name: %s.",
                  nodegroup);
    return NULL;
}

static json_t *make_issues(const struct pool *pool)
{
    json_t *issues = json_array();
    const char *code;

    for (size_t i = 0; i < pool->machines.count; i++) {
        const struct machine *machine = pool->machines.items[i];

        if (machine->state != MACHINE_QUEUED || machine->trouble == TROUBLE_NONE)
            continue;
        json_array_append_new(issues, json_make("{s:s, s:s, s:[s]}", "code",
                                                machine->trouble == TROUBLE_QUOTA
                                                    ? "InstanceLimitExceeded"
                                                    : "AsgInstanceLaunchFailures",
                                                "message", sim_aws_why(machine->trouble, &code),
                                                "resourceIds", pool->plan->group));
        break;
    }
    return issues;
}

static void describe(struct sim_aws_call *aws, const struct pool *pool)
{
    struct simulator *sim = aws->call->sim;

    sim_answer_json(
        aws->call->answer, 200,
        json_make("{s:{s:s, s:s, s:s, s:s, s:{s:i, s:i, s:i}, s:{s:[{s:s}]}, s:{s:o}, s:{s:b}}}",
                  "nodegroup", "nodegroupName", sim_pool_text(pool, "nodegroup"), "clusterName",
                  sim_pool_text(pool, "eks_cluster"), "status",
                  sim_aws_has(pool, sim, "updating") ? "UPDATING" : "ACTIVE", "capacityType",
                  "ON_DEMAND", "scalingConfig", "minSize", sim_aws_least(pool, sim), "maxSize",
                  sim_aws_most(pool, sim), "desiredSize", pool->target, "resources",
                  "autoScalingGroups", "name", pool->plan->group, "health", "issues",
                  make_issues(pool), "nodeRepairConfig", "enabled",
                  sim_aws_has(pool, sim, "node_repair") ? 1 : 0));
}

static void answer_update(struct sim_aws_call *aws, const char *id, bool is_done)
{
    sim_answer_json(aws->call->answer, 200,
                    json_make("{s:{s:s, s:s, s:s, s:[], s:[]}}", "update", "id", id, "status",
                              is_done ? "Successful" : "InProgress", "type", "ConfigUpdate",
                              "params", "errors"));
}

/* desiredSize, where it is given, is written to the group as it stands: a client with a stale
   number loses instances. */
static void update(struct sim_aws_call *aws, struct pool *pool)
{
    struct simulator *sim = aws->call->sim;
    const struct sim_request *request = aws->call->request;
    owned(json) json_t *body = json_parse(request->body ? request->body : "", request->body_size,
                                          "body", NULL);
    const json_t *scaling = json_at(body, "scalingConfig");
    struct sim_aws_bounds bounds = { (int)json_int_or(scaling, "minSize", sim_aws_least(pool, sim)),
                                     (int)json_int_or(scaling, "maxSize",
                                                      sim_aws_most(pool, sim)) };
    int64_t desired = json_int_or(scaling, "desiredSize", pool->target);
    owned(chars) char *key = text_format("aws-bounds:%s", pool->plan->name);
    struct update *made;
    char id[SIM_UID_SIZE];

    if (!body || !scaling || bounds.least > bounds.most || desired < bounds.least ||
        desired > bounds.most) {
        sim_aws_error(aws, 400, "InvalidParameterException",
                      "Minimum capacity, desired capacity and maximum capacity do not fit");
        return;
    }
    if (sim_aws_has(pool, sim, "updating")) {
        sim_aws_error(aws, 409, "ResourceInUseException",
                      "Nodegroup cannot be updated as it is currently not in Active State");
        return;
    }

    struct sim_aws_bounds *kept = mem_new(sizeof *kept);

    *kept = bounds;
    map_set(sim->operations, key, kept);
    if (desired != pool->target && !sim_aws_resize(aws, pool, (int)desired))
        return;
    sim_uuid(sim, id);
    made = mem_new(sizeof *made);
    made->done_ms = sim_now(sim) + UPDATE_MS;
    map_set(sim->operations, id, made);
    answer_update(aws, id, false);
}

static void describe_update(struct sim_aws_call *aws, const char *id)
{
    const struct update *found = map_get(aws->call->sim->operations, id);

    if (found && strlen(id) == SIM_UID_SIZE - 4)
        answer_update(aws, id, sim_now(aws->call->sim) >= found->done_ms);
    else
        sim_aws_error(aws, 404, "ResourceNotFoundException", "No update found for ID: %s", id);
}

/* /aws/eks/clusters/C/node-groups/N[/update-config] and /aws/eks/clusters/C/updates/ID */
void sim_aws_answer_eks(struct sim_aws_call *aws)
{
    struct sim_call *call = aws->call;
    char **items = call->path->items + 2;
    size_t count = call->path->count - 2;
    bool is_post = call->request->method == HTTP_POST;
    struct pool *pool;

    bool is_group = count >= 4 && text_equal(items[2], "node-groups");
    bool is_update = is_group && count == 5 && is_post && text_equal(items[4], "update-config");
    bool is_read = count == 4 && call->request->method == HTTP_GET &&
                   (is_group || text_equal(items[2], "updates"));

    if (count < 4 || !text_equal(items[0], "clusters") || (!is_update && !is_read)) {
        sim_aws_error(aws, 404, "UnknownOperationException", "no such operation");
        return;
    }
    call->verb = is_update  ? "update_nodegroup"
                 : is_group ? "describe_nodegroup"
                            : "describe_update";
    if (!sim_aws_is_signed(aws) || sim_call_fault(call) ||
        !sim_aws_may_use(aws, is_update  ? "UpdateNodegroupConfig"
                              : is_group ? "DescribeNodegroup"
                                         : "DescribeUpdate"))
        return;
    if (!is_group) {
        describe_update(aws, items[3]);
        return;
    }
    pool = find_pool(aws, items[1], items[3]);
    if (pool && is_update)
        update(aws, pool);
    else if (pool)
        describe(aws, pool);
}
