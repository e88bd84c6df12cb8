/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What can make it unsafe or impossible to resize an agent pool: its settings, and the permissions
 * that the account has on it.
 */
#include "base/input/json.h"
#include "base/url.h"
#include "providers/azure/azure_call.h"

#include <string.h>
#include <strings.h>

static const char PERMISSIONS_VERSION[] = "2022-04-01"; /* of Microsoft.Authorization */

/* A text member, or "". */
static const char *text_of(const json_t *body, const char *path)
{
    return json_text_or(body, path, "");
}

static bool is(const json_t *body, const char *path, const char *value)
{
    return strcasecmp(text_of(body, path), value) == 0;
}

static size_t zone_count(const json_t *body)
{
    return json_array_size(json_at(body, "properties/availabilityZones"));
}

static bool is_autoscaled(const json_t *body)
{
    return json_bool_or(body, "properties/enableAutoScaling", false);
}

static bool has_many_zones(const json_t *body)
{
    return zone_count(body) > 1;
}

static bool has_no_zone(const json_t *body)
{
    return zone_count(body) == 0 && !is(body, "properties/type", "VirtualMachines");
}

static bool deallocates(const json_t *body)
{
    return is(body, "properties/scaleDownMode", "Deallocate");
}

static bool has_failed(const json_t *body)
{
    return is(body, "properties/provisioningState", "Failed") ||
           is(body, "properties/provisioningState", "Canceled");
}

static bool is_changing(const json_t *body)
{
    return !has_failed(body) && !is(body, "properties/provisioningState", "Succeeded");
}

static bool is_stopped(const json_t *body)
{
    return is(body, "properties/powerState/code", "Stopped");
}

static bool is_system(const json_t *body)
{
    return is(body, "properties/mode", "System");
}

static bool is_spot(const json_t *body)
{
    return is(body, "properties/scaleSetPriority", "Spot");
}

static bool is_availability_set(const json_t *body)
{
    return is(body, "properties/type", "AvailabilitySet");
}

static bool has_many_sizes(const json_t *body)
{
    return is(body, "properties/type", "VirtualMachines") &&
           json_array_size(json_at(body, "properties/virtualMachinesProfile/scale/manual")) != 1;
}

static bool has_no_reservation(const json_t *body)
{
    return text_of(body, "properties/capacityReservationGroupID")[0] == '\0';
}

static bool joins_subnet(const json_t *body)
{
    return text_of(body, "properties/vnetSubnetID")[0] != '\0';
}

static bool is_full(const json_t *body)
{
    return json_int_or(body, "properties/count", 0) >= 1000;
}

static const struct check {
    const char *subject;
    bool (*holds)(const json_t *body);
    enum finding_verdict verdict;
    const char *text;
    const char *remedy;
    const char *right; /* where it does not hold; NULL: that is not worth a finding */
} checks[] = {
    { "enableAutoScaling", is_autoscaled, FINDING_WRONG,
      "the cluster autoscaler changes the count of this agent pool",
      "az aks nodepool update --disable-cluster-autoscaler",
      "no autoscaler changes the count of this agent pool" },
    { "availabilityZones", has_many_zones, FINDING_WRONG,
      "the agent pool has several zones, and AKS chooses the zone of a new machine",
      "make an agent pool for each zone", "new machines come to one zone" },
    { "availabilityZones", has_no_zone, FINDING_DOUBTFUL,
      "the agent pool has no zone: a new machine may be far from its reservation",
      "make an agent pool in the reservation's zone", NULL },
    { "scaleDownMode", deallocates, FINDING_WRONG,
      "a removed machine is only stopped: its Node stays, and its capacity is not free",
      "az aks nodepool update --scale-down-mode Delete", "removed machines are deleted" },
    { "provisioningState", has_failed, FINDING_DOUBTFUL,
      "the last operation failed; the count may be larger than the number of machines",
      "see status.provisioningError, and scale to the number of machines", NULL },
    { "provisioningState", is_changing, FINDING_DOUBTFUL,
      "an operation is under way: AKS refuses changes until its end",
      "wait, or az aks nodepool operation-abort", NULL },
    { "powerState", is_stopped, FINDING_WRONG, "the agent pool is stopped", "az aks nodepool start",
      NULL },
    { "mode", is_system, FINDING_DOUBTFUL,
      "a system pool keeps one machine at least, and runs pods of the cluster itself",
      "use a pool of mode User for nodes that move", NULL },
    { "scaleSetPriority", is_spot, FINDING_WRONG,
      "Azure evicts the machines of a Spot pool at any time", "use a pool with reserved capacity",
      NULL },
    { "type", is_availability_set, FINDING_WRONG,
      "a pool of type AvailabilitySet cannot be resized",
      "make a pool of type VirtualMachineScaleSets", NULL },
    { "virtualMachinesProfile", has_many_sizes, FINDING_WRONG,
      "the agent pool has several machine types, or is scaled by AKS",
      "make an agent pool with one manual scale profile", NULL },
    { "capacityReservationGroupID", has_no_reservation, FINDING_DOUBTFUL,
      "the agent pool has no capacity reservation group: the room that a machine leaves is lost",
      "make the agent pool with --crg-id", "the agent pool uses a capacity reservation group" },
    { "vnetSubnetID", joins_subnet, FINDING_DOUBTFUL,
      "a resize also needs Microsoft.Network/virtualNetworks/subnets/join/action on the subnet",
      "give the account the role Network Contributor on the subnet", NULL },
    { "count", is_full, FINDING_WRONG, "the agent pool has 1000 machines, as many as AKS allows",
      "make another agent pool", NULL },
};

static void tell(struct azure_call *call, enum finding_verdict verdict, const char *subject,
                 const char *text, const char *remedy)
{
    const struct finding finding = {
        .verdict = verdict,
        .subject = subject,
        .text = text,
        .remedy = remedy,
    };

    call->found(call->context, &finding);
}

static void check_pool(struct azure_call *call, const json_t *body)
{
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        if (checks[i].holds(body))
            tell(call, checks[i].verdict, checks[i].subject, checks[i].text, checks[i].remedy);
        else if (checks[i].right)
            tell(call, FINDING_RIGHT, checks[i].subject, checks[i].right, "");
    }
}

/* '*' stands for any characters; letters of either case are equal. */
static bool fits(const char *pattern, const char *action)
{
    const char *star = NULL; /* the last one, and where it was tried */
    const char *from = NULL;

    while (*action != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = action;
        } else if (strncasecmp(pattern, action, 1) == 0) {
            pattern++;
            action++;
        } else if (star) {
            pattern = star + 1;
            action = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

static bool lists(const json_t *role, const char *list, const char *action)
{
    const json_t *pattern = NULL;
    size_t at = 0;

    json_array_foreach(json_at(role, list), at, pattern) {
        const char *chars = json_string_value(pattern);

        if (chars && fits(chars, action))
            return true;
    }
    return false;
}

static bool is_allowed(const json_t *roles, const char *action)
{
    const json_t *role = NULL;
    size_t at = 0;

    json_array_foreach(json_at(roles, "value"), at, role) {
        if (lists(role, "actions", action) && !lists(role, "notActions", action))
            return true;
    }
    return false;
}

static void check_permissions(struct azure_call *call, const json_t *roles)
{
    for (size_t i = 0; i < AZURE_LIST_PERMISSIONS; i++) {
        const char *permission = azure_actions[i].permission;

        if (i > 0 && text_equal(permission, azure_actions[i - 1].permission))
            continue;
        if (is_allowed(roles, permission))
            tell(call, FINDING_RIGHT, permission, "the account has this permission", "");
        else
            tell(call, FINDING_WRONG, permission, "the account lacks this permission",
                 "give the account a role that has it");
    }
}

static void on_permissions(struct azure_call *call, const struct http_answer *answer,
                           const json_t *body, struct error *err)
{
    (void)answer;
    if (err && err->kind != ERROR_DENIED) {
        azure_call_fail(call, err);
        return;
    }
    if (err)
        tell(call, FINDING_DOUBTFUL, azure_actions[AZURE_LIST_PERMISSIONS].permission,
             "the account may not read its own permissions, so they are not checked",
             "give the account a role that has it");
    else
        check_permissions(call, body);
    azure_call_finish(call, NULL, "");
}

static void on_pool(struct azure_call *call, const struct http_answer *answer, const json_t *body,
                    struct error *err)
{
    owned(chars) char *url = NULL;

    (void)answer;
    if (err && err->kind != ERROR_DENIED) {
        azure_call_fail(call, err);
        return;
    }
    if (err)
        tell(call, FINDING_WRONG, azure_actions[AZURE_GET_POOL].permission, error_leaf(err),
             "give the account a role that has it");
    else
        check_pool(call, body);
    url = text_format("%s/providers/Microsoft.Authorization/permissions?api-version=%s",
                      call->pool_url, PERMISSIONS_VERSION);
    azure_call_send(call, AZURE_LIST_PERMISSIONS, url, on_permissions);
}

void azure_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                   provider_done_fn done, void *context)
{
    struct azure_call *call = azure_call_new((struct azure *)provider, pool, "inspection");
    owned(chars) char *url = azure_call_url(call, "");

    call->found = found;
    call->done = done;
    call->context = context;
    azure_call_send(call, AZURE_GET_POOL, url, on_pool);
}
