/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Auto Scaling's reads: groups with their instances, activities, hooks, refreshes.  An instance is
 * there once EC2 has made it; until then only the activities tell of the attempts.
 */
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/model/lies.h"

#include <stdlib.h>

enum { RECORDS_MAX = 100, MEMBERS_MAX = 50 };

static const struct sim_aws_bounds *bounds_of(const struct pool *pool, struct simulator *sim)
{
    owned(chars) char *key = text_format("aws-bounds:%s", pool->plan->name);

    return map_get(sim->operations, key);
}

int sim_aws_least(const struct pool *pool, struct simulator *sim)
{
    const struct sim_aws_bounds *bounds = bounds_of(pool, sim);

    return bounds ? bounds->least : (int)sim_aws_number(pool, sim, "min", 0);
}

int sim_aws_most(const struct pool *pool, struct simulator *sim)
{
    const struct sim_aws_bounds *bounds = bounds_of(pool, sim);
    int size = pool->plan->node_max ? pool->plan->node_max : pool->reservation->plan->nodes + 2;

    return bounds ? bounds->most : (int)sim_aws_number(pool, sim, "max", size);
}

static bool is_named(struct pool *pool, const char *group)
{
    return pool->cloud == &sim_aws && text_equal(pool->plan->group, group);
}

struct pool *sim_aws_pool(struct sim_aws_call *aws)
{
    struct simulator *sim = aws->call->sim;
    owned(chars) char *group = sim_aws_field(aws, "AutoScalingGroupName");

    for (size_t i = 0; i < sim->pool_count; i++)
        if (is_named(&sim->pools[i], group))
            return &sim->pools[i];
    sim_aws_error(aws, 400, "ValidationError", "AutoScalingGroup name not found - null");
    return NULL;
}

/* A machine that EC2 has not made is in no list; one that never was made leaves none. */
static bool is_there(const struct machine *machine)
{
    return machine->state != MACHINE_QUEUED &&
           (machine->state != MACHINE_STOPPING || machine->has_slot);
}

static const char *const states[] = { "Pending", "Pending", "InService", "Terminating" };

void sim_aws_print_member(const struct machine *machine, struct text *out)
{
    const struct scenario_reservation *reservation = machine->pool->reservation->plan;

    if (!is_there(machine))
        return;
    text_add(out,
             "<member><InstanceId>%s</InstanceId><InstanceType>%s</InstanceType>"
             "<AvailabilityZone>%s</AvailabilityZone><LifecycleState>%s</LifecycleState>"
             "<HealthStatus>Healthy</HealthStatus><LaunchTemplate><LaunchTemplateId>"
             "lt-0123456789abcdef0</LaunchTemplateId><LaunchTemplateName>%s</LaunchTemplateName>"
             "<Version>1</Version></LaunchTemplate><ProtectedFromScaleIn>%s"
             "</ProtectedFromScaleIn></member>",
             machine->name, reservation->machine, reservation->zone, states[machine->state],
             machine->pool->plan->group, machine->is_exposed ? "false" : "true");
}

bool sim_aws_is_held(struct simulator *sim, const struct machine *machine)
{
    return machine->state == MACHINE_STOPPING && sim_aws_has(machine->pool, sim, "hook");
}

static void add_member(struct simulator *sim, const struct machine *machine, struct text *out)
{
    const struct scenario_reservation *reservation = machine->pool->reservation->plan;

    if (!is_there(machine))
        return;
    text_add(out,
             "<member><InstanceId>%s</InstanceId><InstanceType>%s</InstanceType>"
             "<AutoScalingGroupName>%s</AutoScalingGroupName><AvailabilityZone>%s"
             "</AvailabilityZone><LifecycleState>%s%s</LifecycleState><HealthStatus>HEALTHY"
             "</HealthStatus><ProtectedFromScaleIn>%s</ProtectedFromScaleIn></member>",
             machine->name, reservation->machine, machine->pool->plan->group, reservation->zone,
             states[machine->state], sim_aws_is_held(sim, machine) ? ":Wait" : "",
             machine->is_exposed ? "false" : "true");
}

/* "a,b" as members, each within the element. */
static void add_words(struct text *out, const char *words, const char *element)
{
    owned(chars) char *copy = mem_copy_chars(words ? words : "");

    for (char *at = copy, *word; (word = strsep(&at, ","));)
        if (word[0])
            text_add(out, element[0] ? "<member><%s>%s</%s></member>" : "<member>%s%s%s</member>",
                     element, word, element);
}

static void add_traps(struct text *out, const struct pool *pool, struct simulator *sim)
{
    text_add(out, "<SuspendedProcesses>");
    add_words(out, sim_aws_trap(pool, sim, "suspended"), "ProcessName");
    text_add(out, "</SuspendedProcesses><Tags>");
    if (sim_aws_has(pool, sim, "autoscaler"))
        text_add(out, "<member><Key>k8s.io/cluster-autoscaler/enabled</Key><Value>true</Value>"
                      "</member>");
    text_add(out, "</Tags>");
    if (sim_aws_has(pool, sim, "warm_pool"))
        text_add(out, "<WarmPoolConfiguration><MinSize>1</MinSize><PoolState>Stopped</PoolState>"
                      "</WarmPoolConfiguration>");
    if (sim_aws_has(pool, sim, "mixed"))
        text_add(out, "<MixedInstancesPolicy><LaunchTemplate/></MixedInstancesPolicy>");
    else if (sim_aws_has(pool, sim, "launch_configuration"))
        text_add(out, "<LaunchConfigurationName>old</LaunchConfigurationName>");
    else
        text_add(out, "<LaunchTemplate><LaunchTemplateId>lt-0123456789abcdef0</LaunchTemplateId>"
                      "<Version>1</Version></LaunchTemplate>");
    if (!sim_aws_has(pool, sim, "on_demand"))
        text_add(out,
                 "<CapacityReservationSpecification><CapacityReservationPreference>"
                 "capacity-reservations-only</CapacityReservationPreference>"
                 "<CapacityReservationTarget>%s<CapacityReservationIds><member>cr-%s</member>"
                 "</CapacityReservationIds></CapacityReservationTarget>"
                 "</CapacityReservationSpecification>",
                 sim_aws_has(pool, sim, "resource_group")
                     ? "<CapacityReservationResourceGroupArns><member>arn:aws:resource-groups:"
                       "us-east-1:123456789012:group/gpus</member>"
                       "</CapacityReservationResourceGroupArns>"
                     : "",
                 sim_aws_trap(pool, sim, "reservation") ?: pool->reservation->plan->name);
    if (sim_aws_has(pool, sim, "lifetime"))
        text_add(out, "<MaxInstanceLifetime>604800</MaxInstanceLifetime>");
    if (sim_aws_has(pool, sim, "deleted"))
        text_add(out, "<Status>Delete in progress</Status>");
}

static void add_group(struct text *out, struct pool *pool, struct simulator *sim, bool is_empty)
{
    const char *zones = sim_aws_trap(pool, sim, "zones");
    struct shown_list shown = { 0 };

    text_add(out,
             "<member><AutoScalingGroupName>%s</AutoScalingGroupName><AutoScalingGroupARN>"
             "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:"
             "00000000-0000-4000-8000-000000000000:autoScalingGroupName/%s</AutoScalingGroupARN>"
             "<MinSize>%d</MinSize>"
             "<MaxSize>%d</MaxSize><DesiredCapacity>%d</DesiredCapacity><DefaultCooldown>300"
             "</DefaultCooldown><CreatedTime>2026-01-01T00:00:00Z</CreatedTime><AvailabilityZones>",
             pool->plan->group, pool->plan->group, sim_aws_least(pool, sim),
             sim_aws_most(pool, sim), pool->target);
    add_words(out, zones ? zones : pool->reservation->plan->zone, "");
    text_add(out,
             "</AvailabilityZones><HealthCheckType>EC2</HealthCheckType>"
             "<NewInstancesProtectedFromScaleIn>%s</NewInstancesProtectedFromScaleIn><Instances>",
             sim_aws_has(pool, sim, "unprotected") ? "false" : "true");
    sim_machines_shown(sim, pool, &shown);
    for (size_t i = 0; i < shown.count && !is_empty; i++)
        if (shown.items[i].machine)
            sim_aws_print_member(shown.items[i].machine, out);
        else
            text_add(out, "%s", shown.items[i].text);
    array_clear(&shown);
    text_add(out, "</Instances>");
    add_traps(out, pool, sim);
    text_add(out, "</member>");
}

static bool is_wanted(struct sim_aws_call *aws, const struct pool *pool, bool *ret_is_any)
{
    *ret_is_any = true;
    for (int i = 1; i <= RECORDS_MAX; i++) {
        owned(chars) char *field = text_format("AutoScalingGroupNames.member.%d", i);
        owned(chars) char *name = sim_aws_field(aws, field);

        if (!name)
            return *ret_is_any;
        *ret_is_any = false;
        if (text_equal(name, pool->plan->group))
            return true;
    }
    return false;
}

static void note_list(struct simulator *sim, struct pool *pool, bool is_empty)
{
    const struct lie *lie = sim_lie_about(sim, LIE_MACHINES, (size_t)(pool - sim->pools));
    bool is_bad = is_empty || (lie && sim_lie_frees(lie));

    if (!is_bad)
        pool->bad_list_ms = 0;
    else if (pool->bad_list_ms == 0 || is_empty)
        pool->bad_list_ms = sim_since_start(sim) + 1;
}

/* The token is the number of groups that came before. */
static bool read_page(struct sim_aws_call *aws, long long *ret_first, long long *ret_limit)
{
    owned(chars) char *token = sim_aws_field(aws, "NextToken");
    owned(chars) char *records = sim_aws_field(aws, "MaxRecords");

    *ret_first = 0;
    *ret_limit = RECORDS_MAX;
    if (token &&
        (!text_starts_with(token, "page:") || !text_to_int(token + 5, 0, 1 << 20, ret_first))) {
        sim_aws_error(aws, 400, "InvalidNextToken", "The NextToken value is not valid.");
        return false;
    }
    if (records && !text_to_int(records, 1, RECORDS_MAX, ret_limit)) {
        sim_aws_error(aws, 400, "ValidationError", "MaxRecords must be between 1 and 100");
        return false;
    }
    return true;
}

void sim_aws_describe_groups(struct sim_aws_call *aws)
{
    struct simulator *sim = aws->call->sim;
    bool is_empty = sim_fault_now(sim, FAULT_EMPTY_LIST, aws->call->verb);
    long long first = 0, limit = 0, at = 0;
    struct text *body;
    bool has_more = false;

    if (!read_page(aws, &first, &limit))
        return;
    body = text_new(64 << 20);
    text_add(body, "<AutoScalingGroups>");
    for (size_t i = 0; i < sim->pool_count; i++) {
        struct pool *pool = &sim->pools[i];
        bool is_any;

        if (pool->cloud != &sim_aws || !is_wanted(aws, pool, &is_any) || at++ < first)
            continue;
        has_more = at > first + limit;
        if (has_more)
            break;
        add_group(body, pool, sim, is_empty);
        note_list(sim, pool, is_empty);
    }
    text_add(body, "</AutoScalingGroups>");
    if (has_more)
        text_add(body, "<NextToken>page:%lld</NextToken>", first + limit);
    sim_aws_answer(aws, "DescribeAutoScalingGroups", body);
}

static bool has_id(struct sim_aws_call *aws, const char *id, bool *ret_is_any)
{
    *ret_is_any = true;
    for (int i = 1; i <= MEMBERS_MAX; i++) {
        owned(chars) char *field = text_format("InstanceIds.member.%d", i);
        owned(chars) char *asked = sim_aws_field(aws, field);

        if (!asked)
            return *ret_is_any;
        *ret_is_any = false;
        if (text_equal(asked, id))
            return true;
    }
    return false;
}

/* False: more follow. */
static bool add_members(struct sim_aws_call *aws, struct text *body, long long first,
                        long long limit)
{
    struct simulator *sim = aws->call->sim;
    long long at = 0;
    bool is_any;

    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];

        for (size_t k = 0; pool->cloud == &sim_aws && k < pool->machines.count; k++) {
            if (!has_id(aws, pool->machines.items[k]->name, &is_any) || at++ < first)
                continue;
            if (at > first + limit)
                return false;
            add_member(sim, pool->machines.items[k], body);
        }
    }
    return true;
}

/* IDs that are of no group are left out. */
void sim_aws_describe_members(struct sim_aws_call *aws)
{
    long long first = 0, limit = 0;
    struct text *body;

    if (!read_page(aws, &first, &limit))
        return;
    body = text_new(64 << 20);
    text_add(body, "<AutoScalingInstances>");
    if (limit > MEMBERS_MAX)
        limit = MEMBERS_MAX;

    bool is_last = add_members(aws, body, first, limit);

    text_add(body, "</AutoScalingInstances>");
    if (!is_last)
        text_add(body, "<NextToken>page:%lld</NextToken>", first + limit);
    sim_aws_answer(aws, "DescribeAutoScalingInstances", body);
}

static int64_t began_ms(const struct machine *machine)
{
    return machine->tried_ms ? machine->tried_ms : machine->created_ms;
}

static int compare_newest(const void *left, const void *right)
{
    int64_t a = began_ms(*(struct machine *const *)left);
    int64_t b = began_ms(*(struct machine *const *)right);

    return a < b ? 1 : a > b ? -1 : 0;
}

/* "We currently ... Launching EC2 instance failed." is all that tells why. */
static void add_activity(struct text *out, struct simulator *sim, const struct machine *machine)
{
    bool is_made = is_there(machine);
    bool has_failed = machine->state == MACHINE_QUEUED && machine->trouble != TROUBLE_NONE;
    bool is_ended = machine->state == MACHINE_STOPPING && !is_made;
    const char *status = is_ended                            ? "Cancelled"
                         : has_failed                        ? "Failed"
                         : machine->state == MACHINE_QUEUED  ? "WaitingForInstanceId"
                         : machine->state == MACHINE_BOOTING ? "PreInService"
                                                             : "Successful";
    char time[WALL_TEXT_SIZE], id[SIM_UID_SIZE];
    const char *code;

    sim_uuid(sim, id);
    text_add(out,
             "<member><ActivityId>%s</ActivityId><AutoScalingGroupName>%s</AutoScalingGroupName>"
             "<Description>Launching a new EC2 instance%s%s</Description><Cause>an instance was "
             "started in response to a difference between desired and actual capacity</Cause>"
             "<StartTime>%s</StartTime><StatusCode>%s</StatusCode>",
             id, machine->pool->plan->group, is_made ? ": " : "", is_made ? machine->name : "",
             sim_time(sim, began_ms(machine), time), status);
    if (has_failed)
        text_add(out, "<StatusMessage>%s Launching EC2 instance failed.</StatusMessage>",
                 sim_aws_why(machine->trouble, &code));
    text_add(out, "<Progress>%d</Progress><Details>{}</Details></member>",
             machine->state == MACHINE_RUNNING || has_failed || is_ended ? 100 : 30);
}

void sim_aws_describe_activities(struct sim_aws_call *aws)
{
    struct pool *pool = sim_aws_pool(aws);
    ARRAY(struct machine *) machines = { 0 };
    long long first = 0, limit = 0;
    struct text *body;

    if (!pool || !read_page(aws, &first, &limit))
        return;
    for (size_t i = 0; i < pool->machines.count; i++)
        *array_add(&machines) = pool->machines.items[i];
    if (machines.count > 0)
        qsort(machines.items, machines.count, sizeof *machines.items, compare_newest);
    body = text_new(64 << 20);
    text_add(body, "<Activities>");
    for (size_t i = (size_t)first; i < machines.count && i < (size_t)(first + limit); i++)
        add_activity(body, aws->call->sim, machines.items[i]);
    text_add(body, "</Activities>");
    if (machines.count > (size_t)(first + limit))
        text_add(body, "<NextToken>page:%lld</NextToken>", first + limit);
    array_clear(&machines);
    sim_aws_answer(aws, "DescribeScalingActivities", body);
}

void sim_aws_describe_hooks(struct sim_aws_call *aws)
{
    const struct pool *pool = sim_aws_pool(aws);
    struct text *body;

    if (!pool)
        return;
    body = text_new(TEXT_UNBOUNDED);
    text_add(body, "<LifecycleHooks>");
    if (sim_aws_has(pool, aws->call->sim, "hook"))
        text_add(body, "<member><LifecycleHookName>drain</LifecycleHookName><LifecycleTransition>"
                       "autoscaling:EC2_INSTANCE_TERMINATING</LifecycleTransition>"
                       "<HeartbeatTimeout>1800</HeartbeatTimeout></member>");
    text_add(body, "</LifecycleHooks>");
    sim_aws_answer(aws, "DescribeLifecycleHooks", body);
}

void sim_aws_describe_refreshes(struct sim_aws_call *aws)
{
    const struct pool *pool = sim_aws_pool(aws);
    struct text *body;

    if (!pool)
        return;
    body = text_new(TEXT_UNBOUNDED);
    text_add(body, "<InstanceRefreshes>");
    if (sim_aws_has(pool, aws->call->sim, "refresh"))
        text_add(body, "<member><InstanceRefreshId>1</InstanceRefreshId><Status>InProgress</Status>"
                       "</member>");
    text_add(body, "</InstanceRefreshes>");
    sim_aws_answer(aws, "DescribeInstanceRefreshes", body);
}
