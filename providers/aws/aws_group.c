/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See aws_group.h.
 */
#include "providers/aws/aws_group.h"

#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_machine.h"

#include <string.h>

enum { MEMBERS_MAX = 10000, RESERVATIONS_MAX = 100 };

/* How long before the end of a Capacity Block EC2 begins to end its instances. */
enum { BLOCK_EARLY_MS = 30 * MINUTE_MS, ULTRASERVER_EARLY_MS = HOUR_MS };

/* The row whose name the state starts with; a state that none names cannot be used. */
static const struct {
    const char *start;
    enum instance_state state;
    bool is_leaving;
    bool is_aside;
} states[] = {
    { "InService", INSTANCE_RUNNING, false, false },
    { "Pending", INSTANCE_CREATING, false, false }, /* Pending:Wait, Pending:Proceed */
    { "Terminat", INSTANCE_DELETING, true, false }, /* Terminating:Wait, Terminated ... */
    { "Detach", INSTANCE_OTHER, false, true },
    { "EnteringStandby", INSTANCE_OTHER, false, true },
    { "Standby", INSTANCE_OTHER, false, true },
    { "Warmed", INSTANCE_OTHER, false, true },
    { "", INSTANCE_OTHER, false, false }, /* Quarantined, ReplacingRootVolume ... */
};

static bool is_true(const struct xml_element *element, const char *path)
{
    return text_equal(xml_text_or(element, path, ""), "true");
}

const struct xml_element *aws_group_find(const struct xml_element *answer, const char *name)
{
    const struct xml_element *group = xml_first(
        answer, "DescribeAutoScalingGroupsResult/AutoScalingGroups/member");

    while (group && !text_equal(xml_text_or(group, "AutoScalingGroupName", ""), name))
        group = xml_next(group);
    return group;
}

static int read_member(const struct xml_element *element, struct aws_member *member,
                       struct error *err)
{
    const char *id = NULL;
    const char *zone = NULL;
    const char *state = NULL;
    size_t row = 0;

    if (xml_need_text(element, "InstanceId", &id, err) < 0 ||
        xml_need_text(element, "AvailabilityZone", &zone, err) < 0 ||
        xml_need_text(element, "LifecycleState", &state, err) < 0 ||
        aws_machine_name(id, zone, &member->instance, err) < 0)
        return -1;
    while (!text_starts_with(state, states[row].start))
        row++;
    member->instance.state = states[row].state;
    member->is_leaving = states[row].is_leaving;
    member->is_aside = states[row].is_aside;
    member->instance.is_exposed = text_equal(state, "InService") &&
                                  text_equal(xml_text_or(element, "ProtectedFromScaleIn", ""),
                                             "false");

    /* The group is about to replace it. */
    if (member->instance.state == INSTANCE_RUNNING &&
        text_equal(xml_text_or(element, "HealthStatus", ""), "Unhealthy"))
        member->instance.state = INSTANCE_OTHER;
    return 0;
}

/* 1: ret_member is its element; 0: the answer does not have it; -1: it is no list. */
static int find_member(const struct xml_element *answer, const char *instance,
                       const struct xml_element **ret_member, struct error *err)
{
    static const char list[] = "DescribeAutoScalingInstancesResult/AutoScalingInstances";
    const struct xml_element *members = xml_first(answer, list);
    const struct xml_element *member = members ? xml_first(members, "member") : NULL;

    if (!members)
        return error_set(err, ERROR_CORRUPT, "AutoScalingInstances: is missing");
    while (member && !text_equal(xml_text_or(member, "InstanceId", ""), instance))
        member = xml_next(member);
    *ret_member = member;
    return member ? 1 : 0;
}

int aws_member_read(const struct xml_element *answer, const char *instance,
                    struct aws_member *ret_member, struct error *err)
{
    const struct xml_element *member;
    int found = find_member(answer, instance, &member, err);

    return found > 0 && read_member(member, ret_member, err) < 0 ? -1 : found;
}

int aws_member_group(const struct xml_element *answer, const char *instance, const char **ret_group,
                     struct error *err)
{
    const struct xml_element *member;
    int found = find_member(answer, instance, &member, err);

    *ret_group = "";
    if (found > 0)
        found = xml_need_text(member, "AutoScalingGroupName", ret_group, err);
    return found < 0 ? -1 : 0;
}

static void read_suspended(const struct xml_element *element, struct aws_group *group)
{
    for (const struct xml_element *process = xml_first(element, "SuspendedProcesses/member");
         process; process = xml_next(process)) {
        const char *name = xml_text_or(process, "ProcessName", "");

        group->never_launches |= text_equal(name, "Launch");
        group->never_terminates |= text_equal(name, "Terminate");
    }
}

static int read_members(const struct xml_element *element, struct aws_group *group,
                        struct error *err)
{
    if (!xml_first(element, "Instances"))
        return error_set(err, ERROR_CORRUPT, "Instances: is missing");
    for (const struct xml_element *member = xml_first(element, "Instances/member"); member;
         member = xml_next(member)) {
        struct aws_member *read = array_add(&group->members);

        if (group->members.count > MEMBERS_MAX)
            return error_set(err, ERROR_CORRUPT, "more than %d instances", MEMBERS_MAX);
        if (read_member(member, read, err) < 0)
            return error_context(err, "instance %zu", group->members.count);
        group->present += !read->is_leaving && !read->is_aside;
    }
    return 0;
}

static int read_reservations(const struct xml_element *element, struct aws_group *group,
                             struct error *err)
{
    static const char ids[] = "CapacityReservationSpecification/CapacityReservationTarget/"
                              "CapacityReservationIds/member";

    for (const struct xml_element *id = xml_first(element, ids); id; id = xml_next(id)) {
        struct aws_reservation *reservation = array_add(&group->reservations);

        if (group->reservations.count > RESERVATIONS_MAX)
            return error_set(err, ERROR_CORRUPT, "more than %d reservations", RESERVATIONS_MAX);
        if (!text_copy(reservation->id, sizeof reservation->id, id->text ?: ""))
            return error_set(err, ERROR_CORRUPT, "\"%.80s\" is no ID of a reservation", id->text);
    }
    return 0;
}

int aws_group_read(const struct xml_element *element, struct aws_group *ret_group,
                   struct error *err)
{
    owned(aws_group) struct aws_group group = { 0 };

    if (xml_need_int(element, "DesiredCapacity", &group.desired, err) < 0 ||
        xml_need_int(element, "MinSize", &group.least, err) < 0 ||
        xml_need_int(element, "MaxSize", &group.most, err) < 0 ||
        read_members(element, &group, err) < 0)
        return -1;
    if (read_reservations(element, &group, err) < 0)
        return -1;
    group.can_launch = xml_first(element, "LaunchTemplate") ||
                       xml_first(element, "MixedInstancesPolicy");
    group.protects_new = is_true(element, "NewInstancesProtectedFromScaleIn");
    group.is_deleted = xml_text_or(element, "Status", "")[0] != '\0';
    read_suspended(element, &group);
    *ret_group = group;
    group = (struct aws_group){ 0 };
    return 0;
}

const struct xml_element *aws_reservation_find(const struct xml_element *answer,
                                               const char *reservation)
{
    const struct xml_element *item = xml_first(answer, "capacityReservationSet/item");

    while (item && !text_equal(xml_text_or(item, "capacityReservationId", ""), reservation))
        item = xml_next(item);
    return item;
}

static int read_end(const struct xml_element *answer, const char *reservation,
                    struct wall_time *ret_ends, struct error *err)
{
    const struct xml_element *item = aws_reservation_find(answer, reservation);
    const char *end, *type;
    bool is_block;

    *ret_ends = (struct wall_time){ 0 };
    if (!item)
        return error_set(err, ERROR_CORRUPT, "reservation %s is not in the answer", reservation);
    end = xml_text_or(item, "endDate", "");
    type = xml_text_or(item, "instanceType", "");
    is_block = text_equal(xml_text_or(item, "reservationType", ""), "capacity-block");
    if (end[0] == '\0')
        return is_block ? error_set(err, ERROR_CORRUPT, "endDate: is missing") : 0;
    if (wall_parse(end, false, ret_ends, err) < 0)
        return error_context(err, "endDate");
    if (is_block)
        ret_ends->ms -= text_starts_with(type, "p6e-") || text_starts_with(type, "trn2u.")
                            ? ULTRASERVER_EARLY_MS
                            : BLOCK_EARLY_MS;
    return 0;
}

/* Lists do not say in which of them an instance is. */
int aws_reservations_end(const struct xml_element *answer, const struct aws_group *group,
                         struct wall_time *ret_ends, struct error *err)
{
    *ret_ends = (struct wall_time){ 0 };
    for (size_t i = 0; i < group->reservations.count; i++) {
        struct wall_time ends;

        if (read_end(answer, group->reservations.items[i].id, &ends, err) < 0)
            return -1;
        if (ends.ms > 0 && (ret_ends->ms == 0 || ends.ms < ret_ends->ms))
            *ret_ends = ends;
    }
    return 0;
}

void aws_group_clear(struct aws_group *group)
{
    array_clear(&group->members);
    array_clear(&group->reservations);
}

const struct aws_member *aws_group_member(const struct aws_group *group, const char *instance)
{
    for (size_t i = 0; i < group->members.count; i++)
        if (text_equal(group->members.items[i].instance.name, instance))
            return &group->members.items[i];
    return NULL;
}

static const struct xml_element *first_activity(const struct xml_element *answer)
{
    return xml_first(answer, "DescribeScalingActivitiesResult/Activities/member");
}

static bool has_failed(const struct xml_element *activity)
{
    const char *status = xml_text_or(activity, "StatusCode", "");

    return text_equal(status, "Failed") || text_equal(status, "Cancelled");
}

/* One that does not tell its time may be recent. */
static bool is_since(const struct xml_element *activity, struct wall_time since)
{
    struct wall_time started;

    return wall_parse(xml_text_or(activity, "StartTime", ""), false, &started, NULL) < 0 ||
           started.ms >= since.ms;
}

/* The newest activity is the first.  One that goes on says nothing yet. */
void aws_group_trouble(const struct xml_element *answer, struct wall_time since,
                       struct error *ret_trouble)
{
    const struct xml_element *activity = first_activity(answer);

    *ret_trouble = (struct error){ 0 };
    for (; activity; activity = xml_next(activity)) {
        struct wall_time started;

        if (!text_starts_with(xml_text_or(activity, "Description", ""), "Launching"))
            continue;
        if (wall_parse(xml_text_or(activity, "StartTime", ""), false, &started, NULL) < 0 ||
            started.ms < since.ms ||
            text_equal(xml_text_or(activity, "StatusCode", ""), "Successful"))
            return;
        if (has_failed(activity)) {
            const struct aws_refusal refusal = {
                .code = "",
                .message = xml_text_or(activity, "StatusMessage", "(no text)"),
            };

            aws_error_of(&refusal, ret_trouble);
            return;
        }
    }
}

/* The instance that it names; "": none.  "Launching a new EC2 instance: i-0123456789abcdef0" */
static void read_instance(const struct xml_element *activity, char out[INSTANCE_NAME_SIZE])
{
    const char *at = strstr(xml_text_or(activity, "Description", ""), ": i-");
    size_t length = at ? 2 + strspn(at + 4, "0123456789abcdef") : 0;

    text_print(out, INSTANCE_NAME_SIZE, "%.*s", (int)length, at ? at + 2 : "");
    if (!aws_machine_is_id(out))
        out[0] = '\0';
}

struct aws_attempts aws_group_attempts(const struct xml_element *answer,
                                       const struct aws_group *group, struct wall_time since)
{
    struct aws_attempts attempts = { 0 };
    owned(map) struct map *left = map_new(
        NULL); /* the end of an instance comes before its launch */

    for (const struct xml_element *activity = first_activity(answer); activity;
         activity = xml_next(activity)) {
        const char *text = xml_text_or(activity, "Description", "");
        char instance[INSTANCE_NAME_SIZE];

        read_instance(activity, instance);
        if ((text_starts_with(text, "Terminating") || text_starts_with(text, "Detaching")) &&
            instance[0] != '\0')
            map_set(left, instance, &attempts);
        if (!text_starts_with(text, "Launching") || !is_since(activity, since))
            continue;
        if (has_failed(activity))
            attempts.has_failed = true;
        else if (!map_get(left, instance) && !aws_group_member(group, instance))
            attempts.coming++;
    }
    return attempts;
}

void aws_nodegroup_trouble(const json_t *answer, struct error *ret_trouble)
{
    const json_t *issues = json_at(answer, "nodegroup/health/issues");
    const json_t *issue = NULL;
    size_t at = 0;

    *ret_trouble = (struct error){ 0 };
    json_array_foreach(issues, at, issue) {
        const struct aws_refusal refusal = {
            .code = json_text_or(issue, "code", ""),
            .message = json_text_or(issue, "message", "(no text)"),
        };

        /* It came, and did not join: no reason why a group lacks instances. */
        if (text_equal(refusal.code, "NodeCreationFailure"))
            continue;
        aws_error_of(&refusal, ret_trouble);
        return;
    }
}
