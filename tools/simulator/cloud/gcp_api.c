/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compute Engine, as far as managed instance groups go: the group, its instances, one instance.
 */
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/cloud/gcp_cloud.h"
#include "tools/simulator/cloud/overlay.h"
#include "tools/simulator/model/lies.h"

#include <inttypes.h>
#include <stdarg.h>

void sim_gcp_error(struct sim_answer *answer, int code, const char *reason, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sim_answer_json(answer, code,
                    json_make("{s:{s:i, s:s, s:[{s:s, s:s, s:s}]}}", "error", "code", code,
                              "message", message, "errors", "message", message, "domain", "global",
                              "reason", reason));
}

static struct pool *find_pool(struct sim_call *call, const char *project, const char *zone,
                              const char *group)
{
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        struct pool *pool = &call->sim->pools[i];

        if (text_equal(pool->plan->project, project) && text_equal(pool->plan->group, group) &&
            text_equal(pool->reservation->plan->zone, zone))
            return pool;
    }
    sim_gcp_error(call->answer, 404, "notFound",
                  "The resource 'projects/%s/zones/%s/instanceGroupManagers/%s' was not found",
                  project, zone, group);
    return NULL;
}

/* The group's own numbers are as wrong as its list. */
json_t *sim_gcp_group(const struct simulator *sim, const struct pool *pool)
{
    int creating = 0, deleting = 0, none = 0, target = pool->target;
    struct shown_list shown = { 0 };

    sim_machines_shown(sim, pool, &shown);
    for (size_t i = 0; i < shown.count; i++) {
        const struct machine *machine = shown.items[i].machine;
        enum machine_state state = machine ? machine->state : MACHINE_RUNNING;

        creating += state == MACHINE_QUEUED || state == MACHINE_BOOTING;
        deleting += state == MACHINE_STOPPING;
        none += state == MACHINE_RUNNING;
    }
    array_clear(&shown);
    if (sim_lie_about(sim, LIE_MACHINES, (size_t)(pool - sim->pools)))
        target = creating + none;

    owned(chars) char *zone = sim_gcp_zone(pool);
    json_t *body = json_make(
        "{s:s, s:s, s:s, s:s, s:i, s:s, s:{s:i, s:i, s:i}, s:{s:b}, s:{s:s}, s:{s:s}}", "kind",
        "compute#instanceGroupManager", "name", pool->plan->group, "zone", zone, "baseInstanceName",
        pool->plan->group, "targetSize", target, "listManagedInstancesResults", "PAGINATED",
        "currentActions", "creating", creating, "deleting", deleting, "none", none, "status",
        "isStable", creating + deleting == 0, "targetSizePolicy", "mode", "INDIVIDUAL",
        "updatePolicy", "type", "OPPORTUNISTIC");

    owned(chars) char *link = text_format("%s/instanceGroupManagers/%s", zone, pool->plan->group);
    owned(chars) char *group = text_format("%s/instanceGroups/%s", zone, pool->plan->group);

    json_object_set_new(body, "selfLink", json_string(link));
    json_object_set_new(body, "instanceGroup", json_string(group));
    sim_overlay(sim, pool, "group", body);
    return body;
}

static void add_trouble(const struct machine *machine, struct text *out)
{
    const struct pool *pool = machine->pool;

    if (machine->trouble == TROUBLE_STOCKOUT)
        text_add(out,
                 ",\"lastAttempt\":{\"errors\":{\"errors\":[{\"code\":"
                 "\"ZONE_RESOURCE_POOL_EXHAUSTED\",\"message\":\"The zone 'projects/%s/zones/%s' "
                 "does not have enough resources available to fulfill the request.\"}]}}",
                 pool->plan->project, pool->reservation->plan->zone);
    if (machine->trouble == TROUBLE_QUOTA)
        text_add(out,
                 ",\"lastAttempt\":{\"errors\":{\"errors\":[{\"code\":\"QUOTA_EXCEEDED\","
                 "\"message\":\"Quota 'GPUS_ALL_REGIONS' exceeded.  Limit: 8.0 globally.\"}]}}");
    if (machine->trouble == TROUBLE_RESERVATION_FULL)
        text_add(out,
                 ",\"lastAttempt\":{\"errors\":{\"errors\":[{\"code\":\"INVALID_USAGE\","
                 "\"message\":\"Specified reservation '%s' does not have available resources for "
                 "the request.\"}]}}",
                 pool->reservation->plan->name);
}

static void add_instance(const struct machine *machine, struct text *out)
{
    static const char *const actions[] = { "CREATING", "CREATING", "NONE", "DELETING" };
    static const char *const statuses[] = { "", "STAGING", "RUNNING", "STOPPING" };
    const struct pool *pool = machine->pool;
    bool is_vm = machine->state != MACHINE_STOPPING || machine->has_slot;

    text_add(out,
             "{\"instance\":\"https://www.googleapis.com/compute/v1/projects/%s/zones/%s/"
             "instances/%s\",\"name\":\"%s\",\"currentAction\":\"%s\"",
             pool->plan->project, pool->reservation->plan->zone, machine->name, machine->name,
             actions[machine->state]);
    if (machine->id[0])
        text_add(out, ",\"id\":\"%s\"", machine->id);
    if (statuses[machine->state][0] && is_vm)
        text_add(out, ",\"instanceStatus\":\"%s\"", statuses[machine->state]);
    if (machine->state == MACHINE_QUEUED)
        add_trouble(machine, out);
    text_add(out, "}");
}

/* Only a machine that runs has an end; NULL: it has none. */
static json_t *scheduling_of(const struct simulator *sim, const struct machine *machine)
{
    const char *ends = sim_gcp_ends(sim, machine->pool);

    return ends && machine->state == MACHINE_RUNNING
               ? json_make("{s:s}", "terminationTimestamp", ends)
               : NULL;
}

/* With what world.yaml says of each machine. */
static void add_machine(const struct simulator *sim, const struct machine *machine,
                        struct text *out)
{
    owned(text) struct text *plain = text_new(64 << 10);
    owned(json) json_t *body = NULL;
    json_t *scheduling = scheduling_of(sim, machine);

    if (!scheduling && !sim_said(sim, machine->pool, "machines")) {
        add_instance(machine, out);
        return;
    }
    add_instance(machine, plain);
    body = json_loads(plain->chars, 0, NULL);
    require(body);
    if (scheduling)
        json_object_set_new(body, "scheduling", scheduling);
    sim_overlay(sim, machine->pool, "machines", body);

    owned(chars) char *chars = json_print(body);

    text_add(out, "%s", chars);
}

static void write_page(struct sim_call *call, const struct shown_list *shown, size_t first,
                       size_t limit)
{
    struct text *body = call->answer->body = text_new(64 << 20);
    size_t count = shown->count;
    size_t end = limit < count - first ? first + limit : count;

    call->answer->status = 200;
    call->answer->content_type = "application/json";
    text_add(body, "{\"managedInstances\":[");
    for (size_t i = first; i < end; i++) {
        text_add(body, "%s", i > first ? "," : "");
        if (shown->items[i].machine)
            add_machine(call->sim, shown->items[i].machine, body);
        else
            text_add(body, "%s", shown->items[i].text);
    }
    text_add(body, "]");
    if (end < count) /* by name: what vanishes between two pages hides no machine */
        text_add(body, ",\"nextPageToken\":\"after:%s\"", shown->items[end - 1].name);
    text_add(body, "}");
}

static bool find_page(struct sim_call *call, const struct shown_list *shown, size_t *ret_first)
{
    owned(chars) char *token = url_query(call->request->target, "pageToken");

    *ret_first = 0;
    if (!token || !token[0])
        return true;
    if (!text_starts_with(token, "after:")) {
        sim_gcp_error(call->answer, 400, "invalid", "Invalid value for field 'pageToken'");
        return false;
    }
    while (*ret_first < shown->count && strcmp(shown->items[*ret_first].name, token + 6) <= 0)
        ++*ret_first;
    return true;
}

/* Since when lists have failed: a good one ends it; a lie counts as one bad list. */
static void note_list(struct simulator *sim, struct pool *pool)
{
    const struct lie *lie = sim_lie_about(sim, LIE_MACHINES, (size_t)(pool - sim->pools));

    if (!lie || !sim_lie_frees(lie))
        pool->bad_list_ms = 0;
    else if (pool->bad_list_ms == 0)
        pool->bad_list_ms = sim_since_start(sim) + 1;
}

static void list_shown(struct sim_call *call, struct pool *pool, size_t limit)
{
    struct shown_list shown = { 0 };
    size_t first;

    sim_machines_shown(call->sim, pool, &shown);
    if (find_page(call, &shown, &first)) {
        note_list(call->sim, pool);
        write_page(call, &shown, first, limit);
    }
    array_clear(&shown);
}

static void list_instances(struct sim_call *call, struct pool *pool)
{
    owned(chars) char *max = url_query(call->request->target, "maxResults");
    long long limit = SIM_PAGE_MAX;

    static const char *const known[] = { "filter",    "maxResults",           "orderBy",
                                         "pageToken", "returnPartialSuccess", NULL };

    if (call->request->method != HTTP_POST) {
        sim_gcp_error(call->answer, 404, "notFound", "listManagedInstances is a POST");
        return;
    }
    if (!sim_gcp_query_is(call, known))
        return;
    if (sim_call_fault(call)) {
        pool->bad_list_ms = sim_since_start(call->sim) + 1;
        return;
    }
    if (max && !text_to_int(max, 0, SIM_PAGE_MAX, &limit)) {
        sim_gcp_error(call->answer, 400, "invalid", "Invalid value for field 'maxResults': '%s'",
                      max);
        return;
    }
    if (limit == 0)
        limit = SIM_PAGE_MAX;
    if (sim_fault_now(call->sim, FAULT_EMPTY_LIST, call->verb)) {
        pool->bad_list_ms = sim_since_start(call->sim) + 1;
        sim_answer_json(call->answer, 200, json_object());
        return;
    }
    list_shown(call, pool, (size_t)limit);
}

/* "BLOCK/SUBBLOCK/HOST" */
static json_t *host_of(const struct machine *machine)
{
    owned(chars) char *host = text_format("%s-block-1/subblock-%d/host-%03d",
                                          machine->pool->reservation->plan->name,
                                          machine->host / 8 + 1, machine->host);

    return json_string(host);
}

static json_t *status_of(const struct simulator *sim, const struct machine *machine)
{
    json_t *status = json_make("{s:o}", "physicalHost", host_of(machine));
    json_t *scheduling = scheduling_of(sim, machine);

    if (scheduling)
        json_object_set_new(status, "scheduling", scheduling);
    return status;
}

json_t *sim_gcp_instance(const struct simulator *sim, const struct machine *machine)
{
    static const char *const statuses[] = { "", "STAGING", "RUNNING", "STOPPING" };
    const struct pool *pool = machine->pool;
    owned(chars) char *group = text_format("projects/1/zones/%s/instanceGroupManagers/%s",
                                           pool->reservation->plan->zone, pool->plan->group);
    owned(chars) char *zone = sim_gcp_zone(pool);
    owned(chars) char *link = text_format("%s/instances/%s", zone, machine->name);
    owned(chars) char *type = text_format("%s/machineTypes/%s", zone,
                                          pool->reservation->plan->machine);
    json_t *body = json_make("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:[{s:s, s:s}]}}", "kind",
                             "compute#instance", "id", machine->id, "name", machine->name, "zone",
                             zone, "selfLink", link, "machineType", type, "status",
                             statuses[machine->state], "metadata", "items", "key", "created-by",
                             "value", group);

    if (machine->has_slot)
        json_object_set_new(body, "resourceStatus", status_of(sim, machine));
    return body;
}

static void get_instance(struct sim_call *call, const char *project, const char *zone,
                         const char *name)
{
    call->verb = "get_instance";
    if (sim_call_fault(call))
        return;
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *pool = &call->sim->pools[i];
        const struct machine *machine = sim_machine_find(pool, name);

        if (!machine || !machine->id[0] || !text_equal(pool->plan->project, project) ||
            !text_equal(pool->reservation->plan->zone, zone))
            continue;
        if (sim_gcp_may(call, pool, "compute.instances.get"))
            sim_answer_json(call->answer, 200, sim_gcp_instance(call->sim, machine));
        return;
    }
    sim_gcp_error(call->answer, 404, "notFound",
                  "The resource 'projects/%s/zones/%s/instances/%s' was not found", project, zone,
                  name);
}

static const char *permission_of(const char *verb)
{
    bool changes = text_equal(verb, "delete_instances") || text_equal(verb, "create_instances");

    return changes ? "compute.instanceGroupManagers.update" : "compute.instanceGroupManagers.get";
}

static void answer_group(struct sim_call *call, struct pool *pool, const char *action)
{
    call->verb = !action                                      ? "get_group"
                 : text_equal(action, "listManagedInstances") ? "list_instances"
                 : text_equal(action, "deleteInstances")      ? "delete_instances"
                 : text_equal(action, "createInstances")      ? "create_instances"
                 : text_equal(action, "resizeRequests")       ? "list_resizes"
                                                              : NULL;
    bool is_read = !action || text_equal(action, "resizeRequests");

    if (!call->verb || (call->request->method == HTTP_GET) != is_read)
        sim_gcp_error(call->answer, 404, "notFound", "no such method");
    else if (!sim_gcp_may(call, pool, permission_of(call->verb)))
        return;
    else if (text_equal(call->verb, "list_instances"))
        list_instances(call, pool);
    else if (sim_call_fault(call))
        return;
    else if (!action)
        sim_answer_json(call->answer, 200, sim_gcp_group(call->sim, pool));
    else if (text_equal(call->verb, "list_resizes"))
        sim_gcp_list_resizes(call, pool);
    else if (text_equal(call->verb, "delete_instances"))
        sim_gcp_delete_instances(call, pool);
    else
        sim_gcp_create_instances(call, pool);
}

static void answer_compute(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;

    if (!sim_gcp_is_authorized(call) || sim_gcp_list(call, items, count))
        return;
    if (count < 6 || !text_equal(items[0], "projects") || !text_equal(items[2], "zones")) {
        sim_gcp_error(call->answer, 404, "notFound", "no such resource");
        return;
    }
    if (text_equal(items[4], "instanceGroupManagers") && count <= 7) {
        struct pool *pool = find_pool(call, items[1], items[3], items[5]);

        if (pool)
            answer_group(call, pool, count == 7 ? items[6] : NULL);
    } else if (text_equal(items[4], "operations") && count == 6 &&
               call->request->method == HTTP_GET) {
        sim_gcp_get_operation(call, items[3], items[5], false);
    } else if (text_equal(items[4], "operations") && count == 7 && text_equal(items[6], "wait") &&
               call->request->method == HTTP_POST) {
        sim_gcp_get_operation(call, items[3], items[5], true);
    } else if (text_equal(items[4], "instances") && count == 6 &&
               call->request->method == HTTP_GET) {
        get_instance(call, items[1], items[3], items[5]);
    } else if (text_equal(items[4], "reservations") && count == 6 &&
               call->request->method == HTTP_GET) {
        sim_gcp_get_reservation(call, items[1], items[3], items[5]);
    } else {
        sim_gcp_error(call->answer, 404, "notFound", "no such resource");
    }
}

static void answer_at(struct sim_call *call, size_t at)
{
    char **items = call->path->items + at;
    size_t count = call->path->count - at;

    if (count == 1 && text_equal(items[0], "token"))
        sim_gcp_token(call);
    else if (count == 2 && text_equal(items[0], "v1") && text_equal(items[1], "token"))
        sim_gcp_federate(call);
    else if (count == 5 && text_equal(items[0], "v1") && text_equal(items[3], "serviceAccounts"))
        sim_gcp_impersonate(call, items[4]);
    else if (count > 2 && text_equal(items[0], "v1") && text_equal(items[1], "projects"))
        sim_gcp_answer_v1(call, items + 1, count - 1);
    else if (count == 6 && text_equal(items[0], "computeMetadata") &&
             text_equal(items[2], "instance") && text_equal(items[5], "token"))
        sim_gcp_metadata_token(call);
    else if (count == 5 && text_equal(items[0], "computeMetadata") &&
             text_equal(items[2], "instance"))
        sim_gcp_metadata_account(call);
    else if (count > 2 && text_equal(items[0], "compute") && text_equal(items[1], "v1"))
        answer_compute(call, at + 2);
    else
        sim_gcp_error(call->answer, 404, "notFound", "no such resource");
}

/* Under /gcp, and as the cloud's own hosts have it. */
static bool answer(struct sim_call *call)
{
    const char *first = call->path->count > 0 ? call->path->items[0] : "";

    if (text_equal(first, "gcp"))
        answer_at(call, 1);
    else if (text_equal(first, "compute") || text_equal(first, "computeMetadata") ||
             text_equal(first, "token"))
        answer_at(call, 0);
    else
        return false;
    return true;
}

static void fail(struct sim_call *call, int code, const char *why)
{
    sim_gcp_error(call->answer, code == 409 ? 400 : code,
                  code == 429   ? "rateLimitExceeded"
                  : code == 403 ? "forbidden"
                  : code == 409 ? "resourceNotReady"
                                : "backendError",
                  "%s", why);
}

static void name_machine(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE])
{
    char tail[5];

    random_hex(&sim->names, tail, sizeof tail);
    snprintf(out, SIM_NAME_SIZE, "%.44s-%03d%s", pool->plan->group, number, tail);
}

static char *provider_id(const struct machine *machine)
{
    return text_format("gce://%s/%s/%s", machine->pool->plan->project,
                       machine->pool->reservation->plan->zone, machine->name);
}

static void mark_node(const struct machine *machine, json_t *labels, json_t *annotations)
{
    (void)annotations;
    json_object_set_new(labels, "cloud.google.com/gke-nodepool",
                        json_string(machine->pool->plan->name));
}

const struct sim_cloud sim_gcp = {
    .kind = "gcp",
    .has_request_ids = true,
    .answer = answer,
    .fail = fail,
    .name_machine = name_machine,
    .provider_id = provider_id,
    .mark_node = mark_node,
    .print_machine = add_instance,
};
