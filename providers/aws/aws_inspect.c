/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What can make it unsafe or impossible to resize a group, as tables: properties of the group, and
 * the reads that follow.  Each read also shows whether the keys have its permission; changes cannot
 * be tried, so aws_rights.c asks IAM about them.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_task.h"

#include <inttypes.h>

typedef bool (*holds_fn)(const struct xml_element *group, const struct aws_task *task);

static bool has_text(const struct xml_element *group, const char *path, const char *text)
{
    return text_equal(xml_text_or(group, path, ""), text);
}

static bool has_member(const struct xml_element *group, const char *path, const char *name,
                       const char *text)
{
    for (const struct xml_element *at = xml_first(group, path); at; at = xml_next(at))
        if (text_equal(name[0] ? xml_text_or(at, name, "") : at->text, text))
            return true;
    return false;
}

static bool has_several_zones(const struct xml_element *group, const struct aws_task *task)
{
    const struct xml_element *zone = xml_first(group, "AvailabilityZones/member");

    (void)task;
    return zone && xml_next(zone);
}

static bool is_rebalanced(const struct xml_element *group, const struct aws_task *task)
{
    return has_several_zones(group, task) &&
           !has_member(group, "SuspendedProcesses/member", "ProcessName", "AZRebalance");
}

static bool is_elsewhere(const struct xml_element *group, const struct aws_task *task)
{
    return !has_member(group, "AvailabilityZones/member", "", task->pool.zone);
}

static bool has_warm_pool(const struct xml_element *group, const struct aws_task *task)
{
    (void)task;
    return xml_first(group, "WarmPoolConfiguration") != NULL;
}

static bool is_at_most(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return task->group.desired >= task->group.most;
}

static bool is_at_least(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return task->group.desired <= task->group.least;
}

static bool never_launches(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return task->group.never_launches;
}

static bool never_terminates(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return task->group.never_terminates;
}

static bool is_autoscaled(const struct xml_element *group, const struct aws_task *task)
{
    (void)task;
    return has_member(group, "Tags/member", "Key", "k8s.io/cluster-autoscaler/enabled");
}

static bool is_mixed(const struct xml_element *group, const struct aws_task *task)
{
    (void)task;
    return xml_first(group, "MixedInstancesPolicy") != NULL;
}

static bool may_run_on_demand(const struct xml_element *group, const struct aws_task *task)
{
    (void)task;
    return !has_text(group, "CapacityReservationSpecification/CapacityReservationPreference",
                     "capacity-reservations-only");
}

/* Their ends, and whether they are active, are not read. */
static bool has_resource_groups(const struct xml_element *group, const struct aws_task *task)
{
    (void)task;
    return xml_first(group, "CapacityReservationSpecification/CapacityReservationTarget/"
                            "CapacityReservationResourceGroupArns/member") != NULL;
}

/* Another writer made it smaller, and it may end none of its instances. */
static bool wants_less(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return task->group.desired < task->group.present;
}

static bool is_unprotected(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return !task->group.protects_new;
}

static bool has_lifetime(const struct xml_element *group, const struct aws_task *task)
{
    const char *lifetime = xml_text_or(group, "MaxInstanceLifetime", "0");

    (void)task;
    return !text_equal(lifetime, "0");
}

static bool has_no_template(const struct xml_element *group, const struct aws_task *task)
{
    (void)group;
    return !task->group.can_launch;
}

/* Each property that holds is a finding. */
static const struct {
    holds_fn holds;
    struct finding finding;
} facts[] = {
    { is_rebalanced,
      { FINDING_WRONG, "AZRebalance",
        "the group has several zones: after a removal Auto Scaling may end a busy instance to "
        "balance them",
        "give each zone a group of its own, or suspend the process AZRebalance" } },
    { has_several_zones,
      { FINDING_DOUBTFUL, "AvailabilityZones",
        "the group has several zones: an instance may come in another zone than that of the "
        "reservation",
        "give each zone a group of its own" } },
    { is_elsewhere,
      { FINDING_WRONG, "AvailabilityZones", "the group has no subnet in the reservation's zone",
        "correct the group's subnets, or the zone of the reservation in sluice.yaml" } },
    { has_warm_pool,
      { FINDING_WRONG, "WarmPoolConfiguration",
        "the group has a warm pool: removed instances may stay in it and keep their capacity",
        "delete the warm pool" } },
    { is_at_most,
      { FINDING_DOUBTFUL, "MaxSize", "the group has its maximum size, and cannot grow",
        "raise MaxSize (of a managed node group: by UpdateNodegroupConfig)" } },
    { is_at_least,
      { FINDING_DOUBTFUL, "MinSize", "the group has its minimum size, and cannot give instances",
        "lower MinSize (of a managed node group: by UpdateNodegroupConfig)" } },
    { never_launches,
      { FINDING_WRONG, "Launch", "the process Launch is suspended: the group cannot grow",
        "resume the process Launch" } },
    { never_terminates,
      { FINDING_WRONG, "Terminate", "the process Terminate is suspended: no instance can leave",
        "resume the process Terminate" } },
    { is_autoscaled,
      { FINDING_DOUBTFUL, "k8s.io/cluster-autoscaler/enabled",
        "a cluster autoscaler manages this group, and may set its size back",
        "take the tag off, or exclude the group in the autoscaler" } },
    { is_mixed,
      { FINDING_DOUBTFUL, "MixedInstancesPolicy",
        "the group may launch other types than that of the reservation",
        "use a launch template with the one type" } },
    { may_run_on_demand,
      { FINDING_DOUBTFUL, "CapacityReservationPreference",
        "instances may run On-Demand, outside of the reservation",
        "set CapacityReservationPreference to capacity-reservations-only" } },
    { has_resource_groups,
      { FINDING_DOUBTFUL, "CapacityReservationResourceGroupArns",
        "the group names its reservations by a resource group, so sluice reads neither their ends "
        "nor whether they are active",
        "name the reservations by ID, and set `ends` of the reservation in sluice.yaml" } },
    { wants_less,
      { FINDING_DOUBTFUL, "DesiredCapacity",
        "the group wants fewer instances than it has: another writer made it smaller, and it may "
        "end an instance that is not protected",
        "set DesiredCapacity to the number of its instances, and stop the other writer" } },
    { is_unprotected,
      { FINDING_DOUBTFUL, "NewInstancesProtectedFromScaleIn",
        "another writer who makes the group smaller may end an instance that sluice did not move, "
        "and a moved one until sluice has protected it",
        "protect new instances from scale-in; sluice removes them all the same" } },
    { has_lifetime,
      { FINDING_WRONG, "MaxInstanceLifetime",
        "Auto Scaling replaces instances of that age, whatever runs on them",
        "set MaxInstanceLifetime to 0" } },
    { has_no_template,
      { FINDING_DOUBTFUL, "LaunchConfigurationName",
        "the group has no launch template, so it grows by its size alone",
        "use a launch template: then LaunchInstances grows it in its zone, or fails at once" } },
};

static void report(struct aws_task *task, const struct finding *finding)
{
    task->found(task->context, finding);
}

static void read_hooks(struct aws_task *task, const struct aws_reply *reply)
{
    if (has_member(xml_first(reply->xml, "DescribeLifecycleHooksResult"), "LifecycleHooks/member",
                   "LifecycleTransition", "autoscaling:EC2_INSTANCE_TERMINATING"))
        report(task, &(struct finding){
                         FINDING_DOUBTFUL, "LifecycleHooks",
                         "a lifecycle hook holds instances that leave, until it is completed or "
                         "its timeout has passed",
                         "see that the hook's owner completes it soon" });
}

static void read_refreshes(struct aws_task *task, const struct aws_reply *reply)
{
    static const char *const live[] = { "Pending", "InProgress", "Baking", "Cancelling",
                                        "RollbackInProgress" };
    const struct xml_element *result = xml_first(reply->xml, "DescribeInstanceRefreshesResult");

    for (size_t i = 0; i < COUNT_OF(live); i++)
        if (has_member(result, "InstanceRefreshes/member", "Status", live[i]))
            report(task, &(struct finding){ FINDING_WRONG, "InstanceRefreshes",
                                            "an instance refresh replaces the group's instances",
                                            "wait until it has ended, or cancel it" });
}

static void doubt(struct aws_task *task, char *text, const char *remedy)
{
    owned(chars) char *mine = text;

    report(task, &(struct finding){ FINDING_DOUBTFUL, "CapacityReservationIds", mine, remedy });
}

static bool is_lent(const struct xml_element *reservation, int64_t *ret_count)
{
    return xml_need_int(reservation, "interruptibleCapacityAllocation/instanceCount", ret_count,
                        NULL) == 0 &&
           *ret_count > 0;
}

/* What must not be counted on: capacity that its owner may take back, that is lent, or that is not
   there. */
static void read_reservation(struct aws_task *task, const struct xml_element *reservation,
                             const char *id)
{
    const char *state = xml_text_or(reservation, "state", "");
    int64_t lent = 0;

    if (!text_equal(state, "active"))
        doubt(task, text_format("reservation %s is not active: %.40s", id, state),
              "see in EC2 what has become of the reservation");
    if (has_text(reservation, "interruptible", "true"))
        doubt(task,
              text_format("reservation %s is interruptible: its owner may take the capacity back, "
                          "and EC2 then ends the instances two minutes after a warning",
                          id),
              "use a reservation that is not interruptible, or plan no production on this pool");
    if (is_lent(reservation, &lent))
        doubt(task,
              text_format("%" PRId64 " instances of reservation %s are lent to an interruptible "
                          "reservation, and are missing here until its owner takes them back",
                          lent, id),
              "count `nodes` of the reservation in sluice.yaml without them, or take them back");
}

static void read_reservations(struct aws_task *task, const struct aws_reply *reply)
{
    for (size_t i = 0; i < task->group.reservations.count; i++) {
        const char *id = task->group.reservations.items[i].id;
        const struct xml_element *reservation = aws_reservation_find(reply->xml, id);

        if (reservation)
            read_reservation(task, reservation, id);
    }
}

static void read_nodegroup(struct aws_task *task, const struct aws_reply *reply)
{
    const json_t *groups = json_at(reply->json, "nodegroup/resources/autoScalingGroups");
    const char *status = json_text_or(reply->json, "nodegroup/status", "");
    const char *group = json_text_or(json_array_get(groups, 0), "name", "");
    struct error trouble = { 0 };

    aws_nodegroup_trouble(reply->json, &trouble);
    if (!text_equal(group, task->pool.group))
        report(task, &(struct finding){ FINDING_WRONG, "nodegroup",
                                        "the managed node group has another Auto Scaling group",
                                        "correct `group` or `nodegroup` of the pool" });
    if (!text_equal(status, "ACTIVE"))
        report(task, &(struct finding){ FINDING_WRONG, "nodegroup",
                                        "the managed node group is not ACTIVE",
                                        "wait until its update has ended, or repair it" });
    if (trouble.kind != ERROR_NONE)
        report(task, &(struct finding){ FINDING_DOUBTFUL, "nodegroup", trouble.text,
                                        "repair what EKS reports of the node group" });
    if (json_bool_or(reply->json, "nodegroup/nodeRepairConfig/enabled", false))
        report(task,
               &(struct finding){ FINDING_DOUBTFUL, "nodeRepairConfig",
                                  "EKS repairs nodes by itself, and may replace one during a move",
                                  "switch node auto repair off for this node group" });
}

/* The reads after that of the group, in order. */
static const struct {
    enum aws_action action;
    void (*read)(struct aws_task *task, const struct aws_reply *reply); /* NULL: nothing to read */
} reads[] = {
    { AWS_DESCRIBE_MEMBERS, NULL },
    { AWS_DESCRIBE_ACTIVITIES, NULL },
    { AWS_DESCRIBE_HOOKS, read_hooks },
    { AWS_DESCRIBE_REFRESHES, read_refreshes },
    { AWS_DESCRIBE_INSTANCES, NULL },
    { AWS_DESCRIBE_RESERVATIONS, read_reservations },
    { AWS_DESCRIBE_NODEGROUP, read_nodegroup },
};

static char *make_form(const struct aws_task *task, enum aws_action action)
{
    if (action == AWS_DESCRIBE_NODEGROUP)
        return url_format("/clusters/%s/node-groups/%s", task->pool.eks_cluster,
                          task->pool.nodegroup);
    if (action == AWS_DESCRIBE_MEMBERS)
        return mem_copy_chars("&MaxRecords=1");
    if (action == AWS_DESCRIBE_RESERVATIONS)
        return task->group.reservations.count > 0 ? aws_task_name_reservations(task)
                                                  : mem_copy_chars("&MaxResults=5");
    if (action == AWS_DESCRIBE_INSTANCES)
        return url_format("&Filter.1.Name=%s&Filter.1.Value.1=%s&MaxResults=5",
                          "tag:aws:autoscaling:groupName", task->pool.group);
    return url_format("&AutoScalingGroupName=%s", task->pool.group);
}

static void on_read(struct aws_task *task, const struct aws_reply *reply, const struct error *err);

static void ask_next(struct aws_task *task)
{
    while (task->at < COUNT_OF(reads) && reads[task->at].action == AWS_DESCRIBE_NODEGROUP &&
           !task->pool.nodegroup)
        task->at++;
    if (task->at == COUNT_OF(reads)) {
        aws_inspect_rights(task);
        return;
    }
    owned(chars) char *form = make_form(task, reads[task->at].action);

    aws_task_ask(task, reads[task->at].action, form, on_read);
}

static void on_read(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    bool is_absent = err && (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID) &&
                     reads[task->at].action == AWS_DESCRIBE_RESERVATIONS;

    if (is_absent)
        doubt(task, text_format("EC2 does not know a reservation of the group: %.200s", err->text),
              "correct the group's CapacityReservationIds");
    if (err && !is_absent && err->cause != &aws_not_permitted) {
        aws_task_fail(task, err);
        return;
    }
    aws_report_permission(task, reads[task->at].action, !err || is_absent);
    if (!err && reads[task->at].read)
        reads[task->at].read(task, reply);
    task->at++;
    ask_next(task);
}

static void on_group(struct aws_task *task, const struct aws_reply *reply, const struct error *err)
{
    const struct xml_element *group = reply ? aws_group_find(reply->xml, task->pool.group) : NULL;

    if (err && err->cause == &aws_not_permitted) {
        aws_report_permission(task, AWS_DESCRIBE_GROUPS, false);
        ask_next(task);
        return;
    }
    if (err) {
        aws_task_fail(task, err);
        return;
    }
    aws_report_permission(task, AWS_DESCRIBE_GROUPS, true);
    task->group_arn = mem_copy_chars(xml_text_or(group, "AutoScalingGroupARN", NULL));
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (facts[i].holds(group, task))
            report(task, &facts[i].finding);
    ask_next(task);
}

void aws_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                 provider_done_fn done, void *context)
{
    struct aws_task *task = aws_task_new((struct aws *)provider, pool, NULL);

    task->found = found;
    task->done = done;
    task->context = context;
    task->after_read = on_group;
    aws_task_read_group(task);
}
