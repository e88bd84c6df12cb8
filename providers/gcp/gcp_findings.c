/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of properties; what needs more than one member is written out below them.
 */
#include "providers/gcp/gcp_findings.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "providers/gcp/gcp_client.h"

#include <string.h>

enum { MORE_GROUPS = 2 };

struct property {
    const char *path;
    enum { WHEN_TRUE, WHEN_TEXT, WHEN_SAID, WHEN_ITEMS } when; /* the finding is made */
    const char *value;                                         /* of WHEN_TEXT */
    enum finding_verdict verdict;
    const char *text;
    const char *remedy;
    const char *otherwise; /* said as right; NULL: nothing is said */
};

static const struct property of_group[] = {
    { "status/autoscaler", WHEN_SAID, NULL, FINDING_WRONG,
      "an autoscaler of Compute Engine changes the size of the group too",
      "delete the autoscaler of the group", "no autoscaler changes the size of the group" },
    { "targetSizePolicy/mode", WHEN_TEXT, "BULK", FINDING_WRONG,
      "the group creates all of its machines at once or none, so it cannot grow by one",
      "use a group with the mode INDIVIDUAL", "the group can grow by one machine" },
    { "autoHealingPolicies", WHEN_ITEMS, NULL, FINDING_DOUBTFUL,
      "the group makes unhealthy machines again under their old names, also while they move",
      "remove the autohealing policy, or give it a long initial delay",
      "no autohealing policy makes machines again" },
    { "updatePolicy/type", WHEN_TEXT, "PROACTIVE", FINDING_DOUBTFUL,
      "the group replaces machines as soon as its template changes",
      "set the update policy to OPPORTUNISTIC", NULL },
    { "listManagedInstancesResults", WHEN_TEXT, "PAGINATED", FINDING_RIGHT,
      "machines are listed in pages", "", "all machines are listed in one answer (PAGELESS)" },
};

static const struct property of_node_pool[] = {
    { "autoscaling/enabled", WHEN_TRUE, NULL, FINDING_WRONG,
      "the cluster autoscaler of GKE changes the size of the node pool too",
      "turn it off: gcloud container node-pools update NAME --no-enable-autoscaling",
      "no autoscaler changes the size of the node pool" },
    { "queuedProvisioning/enabled", WHEN_TRUE, NULL, FINDING_WRONG,
      "the node pool gets machines through ProvisioningRequests only, so sluice cannot grow it",
      "use a node pool without queued provisioning", NULL },
    { "updateInfo/blueGreenInfo/phase", WHEN_SAID, NULL, FINDING_WRONG,
      "a blue-green upgrade is in progress: the node pool has its machines twice",
      "wait until the upgrade has ended", NULL },
    { "status", WHEN_TEXT, "RECONCILING", FINDING_DOUBTFUL, "GKE changes the node pool now",
      "wait until its status is RUNNING", NULL },
    { "status", WHEN_TEXT, "PROVISIONING", FINDING_WRONG, "the node pool is not there yet",
      "wait until its status is RUNNING", NULL },
    { "status", WHEN_TEXT, "STOPPING", FINDING_WRONG, "the node pool is being deleted",
      "use another node pool", NULL },
    { "status", WHEN_TEXT, "ERROR", FINDING_WRONG, "the node pool cannot be used",
      "read the conditions of the node pool", NULL },
    { "status", WHEN_TEXT, "RUNNING_WITH_ERROR", FINDING_DOUBTFUL,
      "the node pool runs, and its last change failed", "read the conditions of the node pool",
      NULL },
    { "placementPolicy/type", WHEN_TEXT, "COMPACT", FINDING_DOUBTFUL,
      "machines must be close together: a machine that another pool frees may be too far away",
      "use a reservation of blocks instead of a placement policy", NULL },
    { "management/autoUpgrade", WHEN_TRUE, NULL, FINDING_DOUBTFUL,
      "GKE upgrades the node pool by itself, and replaces its machines then",
      "set a maintenance window outside of the hours in which nodes move", NULL },
    { "config/reservationAffinity/consumeReservationType", WHEN_TEXT, "NO_RESERVATION",
      FINDING_WRONG, "the machines of the node pool do not come from a reservation",
      "use a node pool whose reservation affinity names the reservation", NULL },
    { "config/reservationAffinity/consumeReservationType", WHEN_TEXT, "ANY_RESERVATION",
      FINDING_DOUBTFUL, "the machines of the node pool may come from another reservation",
      "use a node pool whose reservation affinity names the reservation", NULL },
};

static const struct property of_reservation[] = {
    { "status", WHEN_TEXT, "READY", FINDING_RIGHT, "the reservation is ready", "", NULL },
    { "status", WHEN_TEXT, "CREATING", FINDING_DOUBTFUL, "the reservation is not ready yet",
      "wait until its status is READY", NULL },
    { "status", WHEN_TEXT, "UPDATING", FINDING_DOUBTFUL, "the reservation is being changed",
      "wait until its status is READY", NULL },
    { "status", WHEN_TEXT, "DELETING", FINDING_WRONG, "the reservation is being deleted",
      "use another reservation", NULL },
};

static void report(const struct gcp_findings *findings, enum finding_verdict verdict,
                   const char *subject, const char *text, const char *remedy)
{
    struct finding finding = { verdict, subject, text, remedy };

    findings->found(findings->context, &finding);
}

static bool holds(const struct property *property, const json_t *body)
{
    const char *said = json_text_or(body, property->path, "");

    switch (property->when) {
    case WHEN_TRUE:
        return json_bool_or(body, property->path, false);
    case WHEN_TEXT:
        return text_equal(said, property->value);
    case WHEN_SAID:
        return said[0] != '\0' && !strstr(said, "UNSPECIFIED");
    case WHEN_ITEMS:
        break;
    }
    return json_array_size(json_at(body, property->path)) > 0;
}

static void check_all(const struct gcp_findings *findings, const json_t *body,
                      const struct property *properties, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct property *property = &properties[i];

        if (holds(property, body))
            report(findings, property->verdict, property->path, property->text, property->remedy);
        else if (property->otherwise)
            report(findings, FINDING_RIGHT, property->path, property->otherwise, "");
    }
}

void gcp_findings_group(const struct gcp_findings *findings, const json_t *body)
{
    check_all(findings, body, of_group, COUNT_OF(of_group));
}

/* Flex-start machines and those of calendar reservations are deleted at a time. */
void gcp_findings_machines(const struct gcp_findings *findings, const json_t *body)
{
    static const char path[] = "scheduling/terminationTimestamp";
    struct wall_time first = { 0 };
    size_t at = 0, count = 0;
    const json_t *machine = NULL;
    char text[WALL_TEXT_SIZE];

    json_array_foreach(json_at(body, "managedInstances"), at, machine) {
        struct wall_time end;

        if (wall_parse(json_text_or(machine, path, ""), false, &end, NULL) < 0)
            continue;
        count++;
        if (first.ms == 0 || end.ms < first.ms)
            first = end;
    }
    if (count == 0)
        return;

    owned(chars) char *sentence = text_format(
        "Google deletes %zu of the machines at a set time, the first at %s", count,
        wall_format(first, text));

    report(findings, FINDING_DOUBTFUL, path, sentence,
           "plan no window that needs these machines after that time");
}

void gcp_findings_resizes(const struct gcp_findings *findings, const json_t *body)
{
    size_t at = 0;
    const json_t *request = NULL;

    json_array_foreach(json_at(body, "items"), at, request) {
        const char *state = json_text_or(request, "state", "");
        const char *seconds = json_text_or(request, "requestedRunDuration/seconds", "");
        long long life_s = 0;
        char duration[DURATION_TEXT_SIZE];

        if (text_to_int(seconds, 1, INT32_MAX, &life_s)) {
            owned(chars) char *sentence = text_format(
                "machines of the resize request %.63s are deleted %s after they start",
                json_text_or(request, "name", "?"), duration_format(life_s * SECOND_MS, duration));

            report(findings, FINDING_DOUBTFUL, "resizeRequests", sentence,
                   "plan no window that needs these machines for longer");
        }
        if (text_equal(state, "ACCEPTED") || text_equal(state, "CREATING"))
            report(findings, FINDING_DOUBTFUL, "resizeRequests",
                   "a resize request waits for machines, so the group may grow at any time",
                   "cancel the request, or wait until it has been fulfilled");
    }
}

/* Whether the URL ".../zones/ZONE/instanceGroupManagers/NAME" is of the pool's zone. */
static bool is_in_zone(const char *url, const char *zone)
{
    static const char word[] = "/zones/";
    const char *found = url ? strstr(url, word) : NULL;
    size_t length = strlen(zone);

    if (!found)
        return false;
    found += strlen(word);
    return strncmp(found, zone, length) == 0 && found[length] == '/';
}

static void check_groups(const struct gcp_findings *findings, const json_t *body)
{
    static const char path[] = "instanceGroupUrls";
    size_t at = 0, groups = 0;
    bool is_ours = false;
    const json_t *item = NULL;

    json_array_foreach(json_at(body, path), at, item) {
        const char *url = json_string_value(item);
        const char *name = url ? strrchr(url, '/') : NULL;

        if (!is_in_zone(url, findings->pool->zone))
            continue;
        groups++;
        is_ours |= name && text_equal(name + 1, findings->pool->group);
    }
    if (groups >= MORE_GROUPS)
        report(findings, FINDING_WRONG, path,
               "the node pool has more than one group in the zone, as during a blue-green upgrade",
               "wait until the upgrade has ended");
    if (is_ours)
        report(findings, FINDING_RIGHT, path, "the group is a part of the node pool", "");
    else
        report(findings, FINDING_WRONG, path, "the group is not a part of the node pool",
               "correct `group` or `node_pool` of the pool");
}

/* "NAME", "projects/P/reservations/NAME", and either with "/reservationBlocks/..." after it. */
static const char *name_of_reservation(const char *value)
{
    static const char word[] = "/reservations/";
    const char *found = strstr(value, word);

    return found ? found + strlen(word) : value;
}

const char *gcp_reservation_of(const json_t *node_pool)
{
    const json_t *values = json_at(node_pool, "config/reservationAffinity/values");
    const char *value = json_string_value(json_array_get(values, 0));

    return value && json_array_size(values) == 1 ? name_of_reservation(value) : NULL;
}

static void check_affinity(const struct gcp_findings *findings, const json_t *body)
{
    static const char path[] = "config/reservationAffinity/values";
    const char *wanted = findings->pool->gce_reservation;
    const char *used = gcp_reservation_of(body);
    size_t length = used ? strcspn(used, "/") : 0;

    if (!wanted)
        return;
    if (used && length == strlen(wanted) && strncmp(used, wanted, length) == 0) {
        report(findings, FINDING_RIGHT, path, "the node pool uses the reservation", "");
        return;
    }

    owned(chars) char *sentence = used ? text_format("the node pool uses the reservation %.*s, not "
                                                     "%s: it cannot use what other pools free",
                                                     (int)length, used, wanted)
                                       : text_format("the node pool names no reservation: it "
                                                     "cannot use what others free in %s",
                                                     wanted);

    report(findings, FINDING_WRONG, path, sentence,
           "use a node pool whose reservation affinity names the reservation");
}

void gcp_findings_node_pool(const struct gcp_findings *findings, const json_t *body)
{
    check_all(findings, body, of_node_pool, COUNT_OF(of_node_pool));
    check_groups(findings, body);
    check_affinity(findings, body);
}

void gcp_findings_reservation(const struct gcp_findings *findings, const json_t *body)
{
    static const char path[] = "specificReservation";
    const char *end = json_text_or(body, "deleteAtTime", "");
    long long count = 0, used = 0;

    check_all(findings, body, of_reservation, COUNT_OF(of_reservation));
    if (text_to_int(json_text_or(body, "specificReservation/count", ""), 0, INT32_MAX, &count) &&
        text_to_int(json_text_or(body, "specificReservation/inUseCount", "0"), 0, INT32_MAX,
                    &used)) {
        owned(chars) char *sentence = text_format(
            "%lld of the %lld machines of the reservation are free",
            count > used ? count - used : 0, count);

        report(findings, FINDING_RIGHT, path, sentence, "");
    } else {
        report(findings, FINDING_DOUBTFUL, path,
               "the reservation does not say how many machines it has",
               "use a reservation of one machine type");
    }
    if (end[0] == '\0')
        return;

    owned(chars) char *sentence = text_format("the reservation ends at %.40s", end);

    report(findings, FINDING_DOUBTFUL, "deleteAtTime", sentence,
           "plan no window that needs its machines after that time");
}

bool gcp_needs_permission(const struct gcp_pool *pool, const char *permission)
{
    if (permission[0] == '\0')
        return false;
    if (text_equal(permission, gcp_actions[GCP_READ_NODE_POOL].permission))
        return pool->node_pool != NULL;
    if (text_equal(permission, gcp_actions[GCP_READ_RESERVATION].permission))
        return pool->node_pool || pool->gce_reservation;
    return true;
}

/* Several requests need the same permission: the first of them stands for it. */
static bool is_said_before(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (text_equal(gcp_actions[i].permission, gcp_actions[at].permission))
            return true;
    return false;
}

static bool is_held(const json_t *held, const char *permission)
{
    size_t at = 0;
    const json_t *item = NULL;

    json_array_foreach(held, at, item)
        if (text_equal(json_string_value(item), permission))
            return true;
    return false;
}

void gcp_findings_permissions(const struct gcp_findings *findings, const json_t *body)
{
    const json_t *held = json_at(body, "permissions");
    bool is_missing = false;

    for (size_t i = 0; i < GCP_VERB_COUNT; i++) {
        const struct provider_action *action = &gcp_actions[i];

        if (!gcp_needs_permission(findings->pool, action->permission) || is_said_before(i) ||
            is_held(held, action->permission))
            continue;

        owned(chars) char *sentence = text_format("the account lacks it: sluice %s with %s",
                                                  action->purpose, action->name);

        is_missing = true;
        report(findings, FINDING_WRONG, action->permission, sentence,
               "grant it to the account in the project");
    }
    if (!is_missing)
        report(findings, FINDING_RIGHT, "permissions", "the account has all that are needed", "");
}
