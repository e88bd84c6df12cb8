/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * EC2: instances and capacity reservations.  A new instance is unknown to it for some seconds.
 */
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"

enum { LAG_MS = 3 * SECOND_MS, IDS_MAX = 100, PAGE_LEAST = 5, PAGE_MOST = 1000 };

/* Of an attempt to launch. */
const char *sim_aws_why(enum trouble trouble, const char **ret_code)
{
    if (trouble == TROUBLE_RESERVATION_FULL) {
        *ret_code = "ReservationCapacityExceeded";
        return "The requested Capacity Reservation does not have sufficient compatible and "
               "available capacity for this request.";
    }
    if (trouble == TROUBLE_QUOTA) {
        *ret_code = "VcpuLimitExceeded";
        return "You have requested more vCPU capacity than your current vCPU limit of 192 allows "
               "for the instance bucket that the specified instance type belongs to.";
    }
    *ret_code = "InsufficientInstanceCapacity";
    return "We currently do not have sufficient capacity in the Availability Zone you requested. "
           "Our system will be working on provisioning additional capacity.";
}

static const struct machine *find(const struct simulator *sim, const char *id)
{
    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct machine *machine = sim->pools[i].cloud == &sim_aws
                                            ? sim_machine_find(&sim->pools[i], id)
                                            : NULL;

        if (machine && machine->state != MACHINE_QUEUED &&
            (machine->state != MACHINE_STOPPING || machine->has_slot) &&
            (machine->state != MACHINE_BOOTING || sim_now(sim) - machine->tried_ms >= LAG_MS))
            return machine;
    }
    return NULL;
}

/* One that a lifecycle hook holds runs on. */
static void add_instance(struct simulator *sim, struct text *body, const struct machine *machine)
{
    static const struct {
        int code;
        const char *name;
    } states[] = { { 0, "pending" }, { 0, "pending" }, { 16, "running" }, { 32, "shutting-down" } };
    const struct scenario_reservation *reservation = machine->pool->reservation->plan;
    enum machine_state state = sim_aws_is_held(sim, machine) ? MACHINE_RUNNING : machine->state;

    text_add(body,
             "<item><reservationId>r-0123456789abcdef0</reservationId><instancesSet><item>"
             "<instanceId>%s</instanceId><instanceState><code>%d</code><name>%s</name>"
             "</instanceState><privateDnsName>%s</privateDnsName><instanceType>%s</instanceType>"
             "<placement><availabilityZone>%s</availabilityZone></placement><tagSet><item><key>"
             "aws:autoscaling:groupName</key><value>%s</value></item></tagSet></item>"
             "</instancesSet></item>",
             machine->name, states[state].code, states[state].name, machine->node_name,
             reservation->machine, reservation->zone, machine->pool->plan->group);
}

static bool is_id(const char *id)
{
    size_t length = strlen(id);

    return text_starts_with(id, "i-") && (length == 10 || length == 19) &&
           strspn(id + 2, "0123456789abcdef") == length - 2;
}

/* By IDs: one that is unknown fails the whole request. */
static bool add_by_ids(struct sim_aws_call *aws, struct text *body, bool *ret_has_ids)
{
    *ret_has_ids = false;
    for (int i = 1; i <= IDS_MAX; i++) {
        owned(chars) char *field = text_format("InstanceId.%d", i);
        owned(chars) char *id = sim_aws_field(aws, field);
        const struct machine *machine = id ? find(aws->call->sim, id) : NULL;

        if (!id)
            return true;
        *ret_has_ids = true;
        if (!machine) {
            bool is_right = is_id(id);

            sim_aws_error(
                aws, 400, is_right ? "InvalidInstanceID.NotFound" : "InvalidInstanceID.Malformed",
                is_right ? "The instance ID '%s' does not exist" : "Invalid id: \"%s\"", id);
            return false;
        }
        add_instance(aws->call->sim, body, machine);
    }
    return true;
}

/* A page of all instances that are wanted; the token is the number of those before it. */
struct page {
    long long first;
    long long limit;
};

/* False: answered. */
static bool read_page(struct sim_aws_call *aws, bool has_ids, struct page *page)
{
    owned(chars) char *token = sim_aws_field(aws, "NextToken");
    owned(chars) char *most = sim_aws_field(aws, "MaxResults");

    *page = (struct page){ 0, PAGE_MOST };
    if (most && has_ids)
        sim_aws_error(aws, 400, "InvalidParameterCombination",
                      "The parameter instancesSet cannot be used with the parameter maxResults");
    else if (most && !text_to_int(most, PAGE_LEAST, PAGE_MOST, &page->limit))
        sim_aws_error(aws, 400, "InvalidParameterValue",
                      "Value ( %s ) for parameter maxResults is invalid. Expecting a value greater "
                      "than 5.",
                      most);
    else if (token && (!text_starts_with(token, "page:") ||
                       !text_to_int(token + 5, 0, 1 << 20, &page->first)))
        sim_aws_error(aws, 400, "InvalidNextToken", "The nextToken value is not valid.");
    else
        return true;
    return false;
}

/* False: more follow. */
static bool add_by_group(struct sim_aws_call *aws, struct text *body, const struct page *page)
{
    owned(chars) char *name = sim_aws_field(aws, "Filter.1.Name");
    owned(chars) char *group = sim_aws_field(aws, "Filter.1.Value.1");
    struct simulator *sim = aws->call->sim;
    long long at = 0;

    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];

        if (pool->cloud != &sim_aws || (name && !text_equal(group, pool->plan->group)))
            continue;
        for (size_t k = 0; k < pool->machines.count; k++) {
            if (!find(sim, pool->machines.items[k]->name) || at++ < page->first)
                continue;
            if (at > page->first + page->limit)
                return false;
            add_instance(sim, body, pool->machines.items[k]);
        }
    }
    return true;
}

void sim_aws_describe_instances(struct sim_aws_call *aws)
{
    owned(chars) char *filter = sim_aws_field(aws, "Filter.1.Name");
    struct text *body = text_new(64 << 20);
    struct page page;
    bool has_ids, is_last = true;

    text_add(body, "    <reservationSet>");
    if (filter && !text_equal(filter, "tag:aws:autoscaling:groupName")) {
        sim_aws_error(aws, 400, "InvalidParameterValue", "The filter '%s' is invalid", filter);
        text_free(body);
        return;
    }
    if (!add_by_ids(aws, body, &has_ids) || !read_page(aws, has_ids, &page)) {
        text_free(body);
        return;
    }
    if (!has_ids)
        is_last = add_by_group(aws, body, &page);
    text_add(body, "</reservationSet>\n");
    if (!is_last)
        text_add(body, "    <nextToken>page:%lld</nextToken>\n", page.first + page.limit);
    sim_aws_answer(aws, "DescribeInstances", body);
}

static bool is_of_aws(const struct simulator *sim, const struct reservation *reservation)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (sim->pools[i].reservation == reservation && sim->pools[i].cloud == &sim_aws)
            return true;
    return false;
}

/* What world.yaml has below aws: RESERVATION: key; NULL: nothing. */
static const char *trap_of(const struct simulator *sim, const struct reservation *reservation,
                           const char *key)
{
    const struct yaml_node *all = yaml_get(yaml_root(sim->scenario->world), "aws");
    const struct yaml_node *own = all ? yaml_get(all, reservation->plan->name) : NULL;
    const struct yaml_node *node = own ? yaml_get(own, key) : NULL;

    return node ? node->text : NULL;
}

/* It is a Capacity Block if it ends. `lent`: so many of its instances are in an interruptible
   reservation. */
static void add_reservation(struct text *body, const struct simulator *sim,
                            const struct reservation *at)
{
    const char *ends = trap_of(sim, at, "ends");
    const char *state = trap_of(sim, at, "state");
    const char *lent = trap_of(sim, at, "lent");

    text_add(body,
             "<item><capacityReservationId>cr-%s</capacityReservationId><instanceType>%s"
             "</instanceType><availabilityZone>%s</availabilityZone><totalInstanceCount>%d"
             "</totalInstanceCount><availableInstanceCount>%d</availableInstanceCount>"
             "<state>%s</state><endDateType>%s</endDateType>",
             at->plan->name, at->plan->machine, at->plan->zone, at->plan->nodes,
             at->plan->nodes - at->slots_used, state ?: "active", ends ? "limited" : "unlimited");
    if (ends)
        text_add(body, "<endDate>%s</endDate>", ends);
    if (text_equal(trap_of(sim, at, "interruptible"), "true"))
        text_add(body, "<interruptible>true</interruptible><interruptionInfo>"
                       "<sourceCapacityReservationId>cr-source</sourceCapacityReservationId>"
                       "<interruptionType>adhoc</interruptionType></interruptionInfo>");
    if (lent)
        text_add(body,
                 "<interruptibleCapacityAllocation><instanceCount>%s</instanceCount>"
                 "<targetInstanceCount>%s</targetInstanceCount><status>active</status>"
                 "<interruptibleCapacityReservationId>cr-lent</interruptibleCapacityReservationId>"
                 "<interruptionType>adhoc</interruptionType></interruptibleCapacityAllocation>",
                 lent, lent);
    text_add(body,
             "<instanceMatchCriteria>targeted</instanceMatchCriteria><reservationType>%s"
             "</reservationType></item>",
             ends ? "capacity-block" : "default");
}

/* A reservation's ID is "cr-" and its name. */
static const struct reservation *find_reservation(const struct simulator *sim, const char *id)
{
    for (size_t i = 0; i < sim->reservation_count; i++)
        if (is_of_aws(sim, &sim->reservations[i]) && text_starts_with(id, "cr-") &&
            text_equal(id + 3, sim->reservations[i].plan->name))
            return &sim->reservations[i];
    return NULL;
}

/* By IDs: one that is unknown fails the whole request.  False: answered. */
static bool add_reservations(struct sim_aws_call *aws, struct text *body)
{
    const struct simulator *sim = aws->call->sim;

    for (int i = 1; i <= IDS_MAX; i++) {
        owned(chars) char *field = text_format("CapacityReservationId.%d", i);
        owned(chars) char *id = sim_aws_field(aws, field);
        const struct reservation *reservation = id ? find_reservation(sim, id) : NULL;

        if (!id && i > 1)
            return true;
        if (!id)
            break;
        if (!reservation) {
            sim_aws_error(aws, 400, "InvalidCapacityReservationId.NotFound",
                          "The capacity reservation ID '%s' does not exist", id);
            return false;
        }
        add_reservation(body, sim, reservation);
    }
    for (size_t i = 0; i < sim->reservation_count; i++)
        if (is_of_aws(sim, &sim->reservations[i]))
            add_reservation(body, sim, &sim->reservations[i]);
    return true;
}

void sim_aws_describe_reservations(struct sim_aws_call *aws)
{
    struct text *body = text_new(64 << 20);

    text_add(body, "    <capacityReservationSet>");
    if (!add_reservations(aws, body)) {
        text_free(body);
        return;
    }
    text_add(body, "</capacityReservationSet>\n");
    sim_aws_answer(aws, "DescribeCapacityReservations", body);
}
