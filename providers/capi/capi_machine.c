/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Phase and conditions -> state and trouble.  What its infrastructure says comes with the Machine:
 * Cluster API repeats the infrastructure's Ready condition as InfrastructureReady.
 */
#include "providers/capi/capi_machine.h"

#include "base/input/json.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *phase;
    enum instance_state state;
} phases[] = {
    { "Pending", INSTANCE_CREATING },    { "Provisioning", INSTANCE_CREATING },
    { "Provisioned", INSTANCE_RUNNING }, /* the machine is there, its Node is not yet */
    { "Running", INSTANCE_RUNNING },     { "Deleting", INSTANCE_DELETING },
    { "Deleted", INSTANCE_DELETING },
    /* Failed, Updating (in place), Unknown: it exists. */
};

/* The words by which infrastructure providers hand on what their clouds say; there is no code.
   TRANSIENT, for what is not here: it may go away. */
static const struct {
    const char *words;
    enum error_kind kind;
} known_troubles[] = {
    { "InsufficientInstanceCapacity", ERROR_NO_CAPACITY }, /* AWS */
    { "InsufficientHostCapacity", ERROR_NO_CAPACITY },
    { "InsufficientCapacity", ERROR_NO_CAPACITY },
    { "ReservationCapacityExceeded", ERROR_NO_CAPACITY },
    { "VcpuLimitExceeded", ERROR_DENIED },
    { "InstanceLimitExceeded", ERROR_DENIED },
    { "UnauthorizedOperation", ERROR_DENIED },
    { "SkuNotAvailable", ERROR_NO_CAPACITY }, /* Azure */
    { "AllocationFailed", ERROR_NO_CAPACITY },
    { "OverconstrainedAllocation", ERROR_NO_CAPACITY },
    { "OperationNotAllowed", ERROR_DENIED },
    { "QuotaExceeded", ERROR_DENIED },
    { "AuthorizationFailed", ERROR_DENIED },
    { "ZONE_RESOURCE_POOL_EXHAUSTED", ERROR_NO_CAPACITY }, /* Google */
    { "does not have available resources", ERROR_NO_CAPACITY },
    { "QUOTA_EXCEEDED", ERROR_DENIED },
    { "Out of host capacity", ERROR_NO_CAPACITY }, /* Oracle */
    { "LimitExceeded", ERROR_DENIED },
    { "No valid host was found", ERROR_NO_CAPACITY }, /* OpenStack */
    { "Quota exceeded", ERROR_DENIED },
    { "o available host", ERROR_NO_CAPACITY }, /* bare metal; "No" or "no" */
};

static enum instance_state state_of(const json_t *machine, bool has_machine)
{
    const char *phase = json_text_or(machine, "status/phase", "");
    enum instance_state state = phase[0] == '\0' ? INSTANCE_CREATING : INSTANCE_OTHER;

    if (capi_is_leaving(machine))
        return INSTANCE_DELETING;
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (text_equal(phases[i].phase, phase))
            state = phases[i].state;
    return state == INSTANCE_RUNNING && !has_machine ? INSTANCE_CREATING : state;
}

/* Whether the text is of a kind that is known. */
static bool find_trouble(const char *text, enum error_kind *ret_kind)
{
    for (size_t i = 0; i < COUNT_OF(known_troubles); i++)
        if (strstr(text, known_troubles[i].words)) {
            *ret_kind = known_troubles[i].kind;
            return true;
        }
    return false;
}

/* A condition that is not met is the normal course of things while a machine is made; it tells of
   trouble only in words that are known, or where the older form says so. */
static void read_conditions(const json_t *conditions, struct error *trouble)
{
    size_t at;
    const json_t *condition;

    json_array_foreach(conditions, at, condition) {
        const char *message = json_text_or(condition, "message", "");
        enum error_kind kind = ERROR_TRANSIENT;
        bool is_met = text_equal(json_text_or(condition, "status", ""), "True");
        bool is_known = !is_met && find_trouble(message, &kind);
        bool is_error = !is_met && text_equal(json_text_or(condition, "severity", ""), "Error");

        if ((is_known || is_error) &&
            (trouble->kind == ERROR_NONE || trouble->kind == ERROR_TRANSIENT))
            error_set(trouble, kind, "%s: %.300s", json_text_or(condition, "reason", "not ready"),
                      message);
    }
}

static void read_trouble(const json_t *machine, struct error *trouble)
{
    static const char *const lists[] = { "status/conditions", "status/v1beta2/conditions",
                                         "status/deprecated/v1beta1/conditions" };
    const char *failure = json_text_or(
        machine, "status/failureMessage",
        json_text_or(machine, "status/deprecated/v1beta1/failureMessage", ""));
    enum error_kind kind = ERROR_TRANSIENT;

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        read_conditions(json_at(machine, lists[i]), trouble);
    find_trouble(failure, &kind);
    if (failure[0] != '\0' && trouble->kind == ERROR_NONE)
        error_set(trouble, kind, "%.300s", failure);
    else if (trouble->kind == ERROR_NONE &&
             text_equal(json_text_or(machine, "status/phase", ""), "Failed"))
        error_set(trouble, ERROR_TRANSIENT, "its phase is Failed");
}

static int copy_fitting(char *out, size_t size, const char *what, const char *text,
                        struct error *err)
{
    if (text_copy(out, size, text))
        return 0;
    return error_set(err, ERROR_CORRUPT, "%s: %.80s is too long", what, text);
}

int capi_read_machine(const json_t *machine, struct instance *ret, struct error *err)
{
    struct instance read = { 0 };
    const char *name, *uid, *provider_id = "", *zone = "";

    if (json_need_text(machine, "metadata/name", &name, err) < 0 ||
        json_need_text(machine, "metadata/uid", &uid, err) < 0 ||
        json_find_text(machine, "status/failureDomain", &zone, err) < 0 ||
        json_find_text(machine, "spec/failureDomain", &zone, err) < 0 ||
        json_find_text(machine, "spec/providerID", &provider_id, err) < 0)
        return -1;
    if (name[0] == '\0' || uid[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "a Machine without a name or a UID");
    if (copy_fitting(read.name, sizeof read.name, "metadata/name", name, err) < 0 ||
        copy_fitting(read.id, sizeof read.id, "metadata/uid", uid, err) < 0 ||
        copy_fitting(read.zone, sizeof read.zone, "spec/failureDomain", zone, err) < 0 ||
        copy_fitting(read.provider_id, sizeof read.provider_id, "spec/providerID", provider_id,
                     err) < 0)
        return -1;
    read.state = state_of(machine, provider_id[0] != '\0');
    if (read.state == INSTANCE_CREATING || read.state == INSTANCE_OTHER)
        read_trouble(machine, &read.trouble);
    *ret = read;
    return 0;
}

bool capi_is_leaving(const json_t *machine)
{
    return json_at(machine, "metadata/deletionTimestamp") != NULL;
}

const char *capi_mark_of(const json_t *machine)
{
    return capi_annotation(machine, CAPI_DELETE_MACHINE);
}

const char *capi_label(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_at(object, "metadata/labels"), key));
}

const char *capi_annotation(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_at(object, "metadata/annotations"), key));
}

bool capi_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(known_troubles))
        return false;
    *ret = (struct provider_refusal){ NULL,
                                      { known_troubles[at].words, NULL },
                                      known_troubles[at].kind };
    return true;
}
