/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What changes a group, and the operations that say it was scheduled: DONE means accepted, never
 * that a machine exists or is gone.  A requestId that was seen gives its first operation again.
 */
#include "tools/simulator/cloud/gcp_cloud.h"

#include <inttypes.h>

enum { NAME_MAX_SIZE = 63, INSTANCES_MAX = 1000 };

struct operation {
    char name[64];
    const char *type;
    const struct pool *pool;
    int64_t done_ms;
    int64_t inserted_ms;
    char request_id[64];
    char error_code[48]; /* "": none */
    char error_text[256];
    uint64_t body_hash;
    uint64_t number;
};

static uint64_t hash_of(const char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* What says which operation it is, and when it began and ended. */
static void add_identity(const struct simulator *sim, const struct operation *operation,
                         bool is_done, json_t *body)
{
    const struct scenario_pool *plan = operation->pool->plan;
    owned(chars) char *link = text_format(
        "https://www.googleapis.com/compute/v1/projects/%s/zones/%s/operations/%s", plan->project,
        operation->pool->reservation->plan->zone, operation->name);
    owned(chars) char *id = text_format("70000000000%08" PRIu64, operation->number);
    char time[WALL_TEXT_SIZE];

    json_object_set_new(body, "id", json_string(id));
    json_object_set_new(body, "selfLink", json_string(link));
    json_object_set_new(body, "user", json_string("sluice@simulated.iam.gserviceaccount.com"));
    json_object_set_new(body, "startTime",
                        json_string(sim_time(sim, operation->inserted_ms, time)));
    if (is_done)
        json_object_set_new(body, "endTime", json_string(sim_time(sim, operation->done_ms, time)));
}

static void answer_operation_at(struct sim_call *call, const struct operation *operation,
                                int64_t at_ms)
{
    char inserted[WALL_TEXT_SIZE];
    bool is_done = at_ms >= operation->done_ms;
    const struct scenario_pool *plan = operation->pool->plan;
    owned(chars) char *target = text_format(
        "https://www.googleapis.com/compute/v1/projects/%s/zones/%s/instanceGroupManagers/%s",
        plan->project, operation->pool->reservation->plan->zone, plan->group);
    owned(chars) char *zone = sim_gcp_zone(operation->pool);
    json_t *body = json_make(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "kind", "compute#operation", "name",
        operation->name, "operationType", operation->type, "status", is_done ? "DONE" : "RUNNING",
        "zone", zone, "targetLink", target, "insertTime",
        sim_time(call->sim, operation->inserted_ms, inserted), "progress", is_done ? 100 : 0);

    add_identity(call->sim, operation, is_done, body);
    if (operation->request_id[0])
        json_object_set_new(body, "clientOperationId", json_string(operation->request_id));
    if (is_done && operation->error_code[0]) {
        json_object_set_new(body, "error",
                            json_make("{s:[{s:s, s:s}]}", "errors", "code", operation->error_code,
                                      "message", operation->error_text));
        json_object_set_new(body, "httpErrorStatusCode", json_integer(400));
        json_object_set_new(body, "httpErrorMessage", json_string("BAD REQUEST"));
    }
    sim_answer_json(call->answer, 200, body);
}

static void answer_operation(struct sim_call *call, const struct operation *operation)
{
    answer_operation_at(call, operation, sim_now(call->sim));
}

static struct operation *add_operation(struct sim_call *call, const struct pool *pool,
                                       const char *type, const char *request_id)
{
    struct simulator *sim = call->sim;
    struct operation *operation = mem_new(sizeof *operation);

    operation->number = ++sim->operation_count;
    snprintf(operation->name, sizeof operation->name, "operation-%" PRIu64, operation->number);
    operation->type = type;
    operation->pool = pool;
    operation->inserted_ms = sim_now(sim);
    operation->done_ms = sim_now(sim) + 1 + (int64_t)random_below(&sim->latency, 2 * SECOND_MS);
    operation->body_hash = hash_of(call->request->body, call->request->body_size);
    text_copy(operation->request_id, sizeof operation->request_id, request_id ? request_id : "");
    map_set(sim->operations, operation->name, operation);
    if (request_id)
        map_set(sim->request_ids, request_id, operation);
    return operation;
}

/* True when the requestId was seen before: answered. */
static bool is_repeat(struct sim_call *call, const char *request_id)
{
    struct operation *operation = request_id ? map_get(call->sim->request_ids, request_id) : NULL;

    if (!operation)
        return false;
    if (operation->body_hash != hash_of(call->request->body, call->request->body_size))
        sim_gcp_error(call->answer, 400, "invalid",
                      "Invalid value for field 'requestId': it was used for another request");
    else
        answer_operation(call, operation);
    return true;
}

static bool request_id_is_right(struct sim_call *call, const char *request_id)
{
    size_t dashes = 0, digits = 0;

    for (const char *at = request_id ? request_id : ""; *at; at++) {
        dashes += *at == '-';
        digits += strchr("0123456789abcdefABCDEF", *at) != NULL;
    }
    if (!request_id || (dashes == 4 && digits == 32 && strlen(request_id) == 36))
        return true;
    sim_gcp_error(call->answer, 400, "invalid",
                  "Invalid value for field 'requestId': '%s'. Must be a UUID", request_id);
    return false;
}

static json_t *read_body(struct sim_call *call)
{
    struct error err = { 0 };
    json_t *body = json_parse(call->request->body ? call->request->body : "",
                              call->request->body_size, "body", &err);
    json_t *instances = json_at(body, "instances");

    if (json_is_array(instances) && json_array_size(instances) > 0 &&
        json_array_size(instances) <= INSTANCES_MAX)
        return body;
    json_decref(body);
    sim_gcp_error(call->answer, 400, "invalid", "Invalid value for field 'instances'");
    return NULL;
}

/* The last part of ".../zones/ZONE/instances/NAME"; NULL for another zone or shape. */
static const char *name_of_url(const struct pool *pool, json_t *url)
{
    const char *chars = json_string_value(url);
    owned(chars) char *middle = text_format("zones/%s/instances/", pool->reservation->plan->zone);
    const char *found = chars ? strstr(chars, middle) : NULL;

    if (!found || (found != chars && found[-1] != '/'))
        return NULL;
    found += strlen(middle);
    return found[0] && !strchr(found, '/') ? found : NULL;
}

static void delete_each(struct sim_call *call, struct pool *pool, json_t *instances,
                        struct operation *operation, bool skips)
{
    size_t i;
    json_t *url;

    json_array_foreach(instances, i, url) {
        const char *name = name_of_url(pool, url);
        const struct machine *machine = name ? sim_machine_find(pool, name) : NULL;

        if (name && (skips || (machine && machine->state != MACHINE_STOPPING)))
            continue;
        text_copy(operation->error_code, sizeof operation->error_code,
                  name ? "RESOURCE_NOT_FOUND" : "INVALID_FIELD_VALUE");
        snprintf(operation->error_text, sizeof operation->error_text,
                 "instance '%s' is no member of the group",
                 json_string_value(url) ? json_string_value(url) : "");
        return; /* nothing is deleted when one is wrong */
    }
    json_array_foreach(instances, i, url) {
        struct machine *machine = sim_machine_find(pool, name_of_url(pool, url));

        if (!machine || machine->state == MACHINE_STOPPING)
            continue;
        referee_delete_instance(call->sim, machine, operation->request_id);
        sim_machine_remove(call->sim, machine);
    }
}

void sim_gcp_delete_instances(struct sim_call *call, struct pool *pool)
{
    owned(chars) char *request_id = url_query(call->request->target, "requestId");

    if (!request_id_is_right(call, request_id) || is_repeat(call, request_id))
        return;

    owned(json) json_t *body = read_body(call);

    if (!body)
        return;

    struct operation *operation = add_operation(
        call, pool, "compute.instanceGroupManagers.deleteInstances", request_id);

    delete_each(call, pool, json_at(body, "instances"), operation,
                json_bool_or(body, "skipInstancesOnValidationError", false));
    answer_operation(call, operation);
}

static bool is_instance_name(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length > NAME_MAX_SIZE || name[0] < 'a' || name[0] > 'z' ||
        name[length - 1] == '-')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static bool is_named_before(json_t *instances, size_t at, const char *name)
{
    for (size_t i = 0; i < at; i++)
        if (text_equal(json_text_or(json_array_get(instances, i), "name", ""), name))
            return true;
    return false;
}

static bool name_is_free(struct sim_call *call, const struct pool *pool, const char *name)
{
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *other = &call->sim->pools[i];

        if (text_equal(other->plan->project, pool->plan->project) &&
            text_equal(other->reservation->plan->zone, pool->reservation->plan->zone) &&
            sim_machine_find(other, name)) {
            sim_gcp_error(call->answer, 409, "alreadyExists",
                          "The resource 'projects/%s/zones/%s/instances/%s' already exists",
                          pool->plan->project, pool->reservation->plan->zone, name);
            return false;
        }
    }
    return true;
}

void sim_gcp_create_instances(struct sim_call *call, struct pool *pool)
{
    owned(chars) char *request_id = url_query(call->request->target, "requestId");
    size_t i;
    json_t *instance;

    if (!request_id_is_right(call, request_id) || is_repeat(call, request_id))
        return;

    owned(json) json_t *body = read_body(call);

    if (!body)
        return;
    json_array_foreach(json_at(body, "instances"), i, instance) {
        const char *name = json_text_or(instance, "name", "");

        if (!is_instance_name(name) || is_named_before(json_at(body, "instances"), i, name)) {
            sim_gcp_error(call->answer, 400, "invalid",
                          "Invalid value for field 'instances[%zu].name': '%s'", i, name);
            return;
        }
        if (!name_is_free(call, pool, name))
            return;
    }
    json_array_foreach(json_at(body, "instances"), i, instance) {
        const char *name = json_text_or(instance, "name", "");

        referee_create_instance(call->sim, pool, name, request_id);
        sim_machine_start(call->sim, sim_machine_new(call->sim, pool, name));
    }
    answer_operation(
        call,
        add_operation(call, pool, "compute.instanceGroupManagers.createInstances", request_id));
}

void sim_gcp_get_operation(struct sim_call *call, const char *zone, const char *name, bool waits)
{
    const struct operation *operation = map_get(call->sim->operations, name);
    int64_t at_ms = sim_now(call->sim);

    call->verb = "get_operation";
    if (sim_call_fault(call))
        return;
    if (operation && text_equal(operation->pool->reservation->plan->zone, zone)) {
        if (waits && operation->done_ms > at_ms) /* it ends within two minutes */
            at_ms = operation->done_ms;
        call->answer->delay_ms = at_ms - sim_now(call->sim);
        answer_operation_at(call, operation, at_ms);
    } else
        sim_gcp_error(call->answer, 404, "notFound", "The resource '%s' was not found", name);
}
