/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What changes an Auto Scaling group.  Only LaunchInstances knows a repeated request; another
 * Terminate of an instance that leaves shrinks the group once more, at the cost of another one.
 */
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/model/lies.h"

/* Of SetInstanceProtection. */
enum { PROTECTED_MAX = 50 };

/* A LaunchInstances that was carried out, under its ClientToken. */
struct launch {
    const struct pool *pool;
    char zone[64];
    char instance[SIM_NAME_SIZE];
};

static struct machine *find_machine(struct sim_aws_call *aws, const char *id)
{
    struct simulator *sim = aws->call->sim;

    for (size_t i = 0; i < sim->pool_count; i++) {
        struct machine *machine = sim->pools[i].cloud == &sim_aws
                                      ? sim_machine_find(&sim->pools[i], id)
                                      : NULL;

        if (machine && machine->state != MACHINE_QUEUED)
            return machine;
    }
    sim_aws_error(aws, 400, "ValidationError",
                  "Instance Id not found - No managed instance found for instance ID: %s", id);
    return NULL;
}

static void answer_terminated(struct sim_aws_call *aws, const struct machine *machine)
{
    struct text *body = text_new(TEXT_UNBOUNDED);
    char id[SIM_UID_SIZE], time[WALL_TEXT_SIZE];

    sim_uuid(aws->call->sim, id);
    text_add(body,
             "<Activity><ActivityId>%s</ActivityId><AutoScalingGroupName>%s</AutoScalingGroupName>"
             "<Description>Terminating EC2 instance: %s</Description><Cause>instance %s was taken "
             "out of service in response to a user request.</Cause><StartTime>%s</StartTime>"
             "<StatusCode>InProgress</StatusCode><Progress>0</Progress></Activity>",
             id, machine->pool->plan->group, machine->name, machine->name,
             sim_time(aws->call->sim, sim_now(aws->call->sim), time));
    sim_aws_answer(aws, "TerminateInstanceInAutoScalingGroup", body);
}

static bool read_boolean(struct sim_aws_call *aws, const char *name, bool *ret)
{
    owned(chars) char *value = sim_aws_field(aws, name);

    *ret = text_equal(value, "true");
    if (*ret || text_equal(value, "false"))
        return true;
    sim_aws_error(aws, 400, "ValidationError", "%s must be true or false", name);
    return false;
}

void sim_aws_terminate(struct sim_aws_call *aws)
{
    struct simulator *sim = aws->call->sim;
    owned(chars) char *id = sim_aws_field(aws, "InstanceId");
    struct machine *machine;
    bool decrements = false;

    if (!read_boolean(aws, "ShouldDecrementDesiredCapacity", &decrements))
        return;
    machine = find_machine(aws, id ? id : "");
    if (!machine)
        return;
    if (decrements && machine->pool->target <= sim_aws_least(machine->pool, sim)) {
        sim_aws_error(aws, 400, "ValidationError",
                      "Currently, desiredSize equals minSize (%d). Terminating instance without "
                      "replacement will violate group's min size constraint. Either set "
                      "shouldDecrementDesiredCapacity flag to false or lower group's min size.",
                      machine->pool->target);
        return;
    }
    answer_terminated(aws, machine);
    if (machine->state == MACHINE_STOPPING) {
        if (decrements)
            sim_pool_shrink(sim, machine->pool);
        return;
    }
    referee_delete_instance(sim, machine, "");
    sim_machine_remove(sim, machine);
    if (!decrements)
        sim_pool_grow(sim, machine->pool);
}

static bool is_protected(const struct machine *machine)
{
    return machine->state == MACHINE_RUNNING && !machine->is_exposed;
}

/* One machine less: first those that do not run yet.  If all are protected, the group wants one
   less and keeps what it has. */
static void scale_in(struct simulator *sim, struct pool *pool)
{
    struct machine *victim = NULL;

    for (size_t i = 0; i < pool->machines.count; i++) {
        struct machine *machine = pool->machines.items[i];

        if (machine->state != MACHINE_STOPPING && !is_protected(machine) &&
            (!victim || victim->state != MACHINE_QUEUED || machine->state == MACHINE_QUEUED))
            victim = machine;
    }
    if (!victim) {
        pool->target--;
        return;
    }
    if (victim->state != MACHINE_QUEUED)
        referee_delete_instance(sim, victim, "");
    sim_machine_remove(sim, victim);
}

static int present(const struct pool *pool)
{
    int count = 0;

    for (size_t i = 0; i < pool->machines.count; i++)
        count += pool->machines.items[i]->state != MACHINE_STOPPING;
    return count;
}

/* A group that has more than it wanted only wants them again. */
void sim_aws_scale(struct simulator *sim, struct pool *pool, int wanted)
{
    while (pool->target < wanted && pool->target < present(pool))
        pool->target++;
    while (pool->target < wanted)
        sim_pool_grow(sim, pool);
    while (pool->target > wanted)
        scale_in(sim, pool);
}

bool sim_aws_resize(struct sim_aws_call *aws, struct pool *pool, int wanted)
{
    struct simulator *sim = aws->call->sim;

    if (wanted > sim_aws_most(pool, sim) || wanted < sim_aws_least(pool, sim)) {
        bool is_over = wanted > sim_aws_most(pool, sim);

        sim_aws_error(aws, 400, "ValidationError",
                      "New SetDesiredCapacity value %d is %s value %d for the AutoScalingGroup.",
                      wanted, is_over ? "above max" : "below min",
                      is_over ? sim_aws_most(pool, sim) : sim_aws_least(pool, sim));
        return false;
    }
    referee_resize_pool(sim, pool, wanted);
    sim_aws_scale(sim, pool, wanted);
    return true;
}

void sim_aws_set_desired(struct sim_aws_call *aws)
{
    struct pool *pool = sim_aws_pool(aws);
    owned(chars) char *size = sim_aws_field(aws, "DesiredCapacity");
    owned(chars) char *cooldown = sim_aws_field(aws, "HonorCooldown");
    long long wanted = 0;

    if (!pool)
        return;
    if (!size || !text_to_int(size, 0, 10000, &wanted) ||
        (cooldown && !text_equal(cooldown, "false") && !text_equal(cooldown, "true")))
        sim_aws_error(aws, 400, "ValidationError", "DesiredCapacity must be a number");
    else if (sim_aws_resize(aws, pool, (int)wanted))
        sim_aws_answer(aws, "SetDesiredCapacity", NULL);
}

static void answer_launched(struct sim_aws_call *aws, const struct pool *pool, const char *instance,
                            enum trouble trouble)
{
    struct text *body = text_new(TEXT_UNBOUNDED);
    const struct scenario_reservation *reservation = pool->reservation->plan;
    owned(chars) char *token = sim_aws_field(aws, "ClientToken");
    const char *code = "";
    const char *why = trouble == TROUBLE_NONE ? "" : sim_aws_why(trouble, &code);

    text_add(body,
             "<AutoScalingGroupName>%s</AutoScalingGroupName><ClientToken>%s</ClientToken>"
             "<Instances>",
             pool->plan->group, token);
    if (instance)
        text_add(body,
                 "<member><InstanceType>%s</InstanceType><MarketType>OnDemand</MarketType>"
                 "<AvailabilityZone>%s</AvailabilityZone><InstanceIds><member>%s</member>"
                 "</InstanceIds></member>",
                 reservation->machine, reservation->zone, instance);
    text_add(body, "</Instances><Errors>");
    if (!instance)
        text_add(body,
                 "<member><InstanceType>%s</InstanceType><MarketType>OnDemand</MarketType>"
                 "<AvailabilityZone>%s</AvailabilityZone><ErrorCode>%s</ErrorCode><ErrorMessage>%s"
                 "</ErrorMessage></member>",
                 reservation->machine, reservation->zone, code, why);
    text_add(body, "</Errors>");
    sim_aws_answer(aws, "LaunchInstances", body);
}

/* False: answered. */
static bool launch_is_right(struct sim_aws_call *aws, const struct pool *pool, const char *zone)
{
    struct simulator *sim = aws->call->sim;
    owned(chars) char *capacity = sim_aws_field(aws, "RequestedCapacity");
    owned(chars) char *token = sim_aws_field(aws, "ClientToken");
    owned(chars) char *retry = sim_aws_field(aws, "RetryStrategy");
    const char *trap = sim_aws_trap(pool, sim, "launch");

    if (text_equal(trap, "absent"))
        sim_aws_error(aws, 400, "InvalidAction",
                      "The action LaunchInstances is not valid for this web service.");
    else if (text_equal(trap, "denied"))
        sim_aws_refuse(aws, SIM_AWS_FORBIDDEN,
                       "User: arn:aws:sts::1:assumed-role/sluice is not authorized to perform: "
                       "autoscaling:LaunchInstances");
    else if (!text_equal(capacity, "1") || !token || strlen(token) < 1 || strlen(token) > 64 ||
             (retry && !text_equal(retry, "none")))
        sim_aws_error(aws, 400, "ValidationError",
                      "RequestedCapacity, ClientToken or RetryStrategy is not valid");
    else if (sim_aws_has(pool, sim, "launch_configuration"))
        sim_aws_error(aws, 400, "ValidationError",
                      "LaunchInstances requires a launch template in the group");
    else if (!text_equal(zone, pool->reservation->plan->zone))
        sim_aws_error(aws, 400, "ValidationError",
                      "The Availability Zone %s is not one of the group", zone);
    else
        return true;
    return false;
}

void sim_aws_launch(struct sim_aws_call *aws)
{
    struct simulator *sim = aws->call->sim;
    struct pool *pool = sim_aws_pool(aws);
    owned(chars) char *zone = sim_aws_field(aws, "AvailabilityZones.member.1");
    owned(chars) char *token = sim_aws_field(aws, "ClientToken");
    owned(chars) char *key = text_format("aws-launch:%s", token ? token : "");
    struct launch *launch = map_get(sim->operations, key);
    enum trouble trouble = TROUBLE_NONE;
    struct machine *machine;

    if (!pool || !launch_is_right(aws, pool, zone ? zone : ""))
        return;
    if (launch && (launch->pool != pool || !text_equal(launch->zone, zone))) {
        sim_aws_error(aws, 400, "IdempotentParameterMismatch",
                      "The client token was used with other parameters");
        return;
    }
    if (launch) {
        answer_launched(aws, pool, launch->instance, TROUBLE_NONE);
        return;
    }
    if (pool->target + 1 > sim_aws_most(pool, sim)) {
        sim_aws_error(aws, 400, "ValidationError",
                      "The requested capacity would exceed the group's maximum size %d",
                      sim_aws_most(pool, sim));
        return;
    }
    trouble = sim_pool_trouble(sim, pool);
    if (trouble != TROUBLE_NONE) {
        answer_launched(aws, pool, NULL, trouble);
        return;
    }
    referee_resize_pool(sim, pool, pool->target + 1);
    machine = sim_pool_launch(sim, pool);
    launch = mem_new(sizeof *launch);
    launch->pool = pool;
    text_copy(launch->zone, sizeof launch->zone, zone);
    text_copy(launch->instance, sizeof launch->instance, machine->name);
    map_set(sim->operations, key, launch);
    answer_launched(aws, pool, machine->name, TROUBLE_NONE);
}

/* The machine, if it may be protected; NULL: answered. */
static struct machine *find_in_service(struct sim_aws_call *aws, struct pool *pool, const char *id)
{
    struct machine *machine = sim_machine_find(pool, id);

    if (!machine || machine->state == MACHINE_QUEUED ||
        (machine->state == MACHINE_STOPPING && !machine->has_slot))
        sim_aws_error(aws, 400, "ValidationError",
                      "The instance %s is not part of Auto Scaling group %s.", id,
                      pool->plan->group);
    else if (machine->state != MACHINE_RUNNING)
        sim_aws_error(aws, 400, "ValidationError",
                      "The instance %s is not in InService or EnteringStandby or Standby.", id);
    else
        return machine;
    return NULL;
}

/* All or none. */
void sim_aws_protect(struct sim_aws_call *aws)
{
    struct simulator *sim = aws->call->sim;
    struct pool *pool = sim_aws_pool(aws);
    struct machine *machines[PROTECTED_MAX];
    size_t count = 0;
    bool is_wanted = false;

    if (!pool || !read_boolean(aws, "ProtectedFromScaleIn", &is_wanted))
        return;
    for (;; count++) {
        owned(chars) char *field = text_format("InstanceIds.member.%zu", count + 1);
        owned(chars) char *id = sim_aws_field(aws, field);

        if (!id)
            break;
        if (count == PROTECTED_MAX) {
            sim_aws_error(aws, 400, "LimitExceeded", "At most %d instances", PROTECTED_MAX);
            return;
        }
        machines[count] = find_in_service(aws, pool, id);
        if (!machines[count])
            return;
    }
    if (count == 0) {
        sim_aws_error(aws, 400, "ValidationError", "InstanceIds must not be empty");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        referee_protect_instance(sim, machines[i]);
        machines[i]->is_exposed = !is_wanted;
        sim_machine_changed(sim, machines[i], false);
    }
    sim_aws_answer(aws, "SetInstanceProtection", text_new(1));
}
