/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Node pools of Oracle's Kubernetes service: one is read, resized, or loses a named node.  Each
 * change is bound to the ETag, and accepted as a work request long before it has taken place.
 */
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/cloud/oci_cloud.h"
#include "tools/simulator/cloud/overlay.h"
#include "tools/simulator/model/lies.h"

#include <inttypes.h>
#include <stdarg.h>

static const char engine_base[] = "20180222";
static const char compute_base[] = "20160918";

enum { ACCEPTED_MS = 500 };

void sim_oci_error(struct sim_answer *answer, int status, const char *code, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sim_answer_json(answer, status, json_make("{s:s, s:s}", "code", code, "message", message));
}

static void refuse_unknown(struct sim_call *call)
{
    sim_oci_error(call->answer, 404, "NotAuthorizedOrNotFound",
                  "Authorization failed or requested resource not found.");
}

static struct pool *find_pool(struct sim_call *call, const char *key, const char *ocid)
{
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        struct pool *pool = &call->sim->pools[i];

        if (text_equal(pool->cloud->kind, "oci") && text_equal(sim_pool_text(pool, key), ocid))
            return pool;
    }
    return NULL;
}

/* One for each answer. */
static void add_header(struct sim_answer *answer, const char *name, const char *value)
{
    require(answer->own_header[0] == '\0');
    require(text_copy(answer->own_header, sizeof answer->own_header, value));
    answer->headers[answer->header_count++] = (struct http_header){ name, answer->own_header };
}

static void etag_of(const struct pool *pool, char out[24])
{
    snprintf(out, 24, "%016" PRIx64, pool->version * UINT64_C(0x9e3779b97f4a7c15));
}

static const char *why_of(enum trouble trouble, const char **ret_code)
{
    *ret_code = trouble == TROUBLE_QUOTA ? "LimitExceeded" : "InternalError";
    return trouble == TROUBLE_QUOTA ? "The following service limits were exceeded: gpu-h100-count."
           : trouble == TROUBLE_STOCKOUT
               ? "Out of host capacity."
               : "Out of host capacity: the capacity reservation is full.";
}

/* A change of a pool.  It has succeeded once the pool has as many nodes as it wants, and failed
   once an attempt to make one has. */
struct work {
    const struct pool *pool;
    int64_t accepted_ms;
    const char *status;   /* its last one: it does not leave that; NULL: not yet */
    enum trouble trouble; /* why it failed */
};

static void accept_work(struct sim_call *call, const struct pool *pool)
{
    struct sim_answer *answer = call->answer;
    struct work *work = mem_new(sizeof *work);

    work->pool = pool;
    work->accepted_ms = sim_now(call->sim);
    snprintf(answer->own_header, sizeof answer->own_header, "ocid1.workrequest.%" PRIu64,
             ++call->sim->operation_count);
    map_set(call->sim->operations, answer->own_header, work);
    answer->status = 202;
    answer->content_type = "application/json";
    answer->headers[answer->header_count++] = (struct http_header){ "opc-work-request-id",
                                                                    answer->own_header };
}

static const char *work_status(const struct simulator *sim, struct work *work)
{
    bool is_busy = false;

    if (work->status)
        return work->status;
    if (sim_now(sim) - work->accepted_ms < ACCEPTED_MS)
        return "ACCEPTED";
    for (size_t i = 0; i < work->pool->machines.count; i++) {
        const struct machine *machine = work->pool->machines.items[i];

        is_busy |= machine->state != MACHINE_RUNNING;
        if (machine->state == MACHINE_QUEUED && machine->trouble != TROUBLE_NONE)
            work->trouble = machine->trouble;
    }
    if (work->trouble != TROUBLE_NONE)
        work->status = "FAILED";
    else if (!is_busy)
        work->status = "SUCCEEDED";
    return work->status ? work->status : "IN_PROGRESS";
}

/* NULL: answered. */
static struct work *find_work(struct sim_call *call, const char *id)
{
    struct work *work = text_starts_with(id, "ocid1.workrequest.")
                            ? map_get(call->sim->operations, id)
                            : NULL;

    if (!work)
        refuse_unknown(call);
    return work;
}

static void get_work(struct sim_call *call, const char *id)
{
    struct work *work = find_work(call, id);
    char time[WALL_TEXT_SIZE];

    if (work)
        sim_answer_json(call->answer, 200,
                        json_make("{s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s}]}", "id", id, "status",
                                  work_status(call->sim, work), "operationType", "NODEPOOL_UPDATE",
                                  "timeAccepted", sim_time(call->sim, work->accepted_ms, time),
                                  "resources", "actionType", "UPDATED", "entityType", "nodepool",
                                  "identifier", sim_pool_text(work->pool, "node_pool")));
}

static void list_work_errors(struct sim_call *call, const char *id)
{
    owned(chars) char *compartment = url_query(call->request->target, "compartmentId");
    struct work *work = find_work(call, id);
    json_t *errors;
    const char *code;
    const char *why;

    if (!work)
        return;
    if (!compartment) {
        sim_oci_error(call->answer, 400, "MissingParameter", "compartmentId is required");
        return;
    }
    errors = json_array();
    work_status(call->sim, work);
    why = why_of(work->trouble, &code);
    if (work->trouble != TROUBLE_NONE) {
        char time[WALL_TEXT_SIZE];

        json_array_append_new(errors,
                              json_make("{s:s, s:s, s:s}", "code", code, "message", why,
                                        "timestamp", sim_time(call->sim, work->accepted_ms, time)));
    }
    sim_answer_json(call->answer, 200, errors);
}

static void add_trouble(const struct machine *machine, struct text *out)
{
    const char *code;
    const char *why = why_of(machine->trouble, &code);

    if (machine->trouble != TROUBLE_NONE)
        text_add(out, ",\"nodeError\":{\"code\":\"%s\",\"message\":\"%s\",\"status\":\"%s\"}", code,
                 why, machine->trouble == TROUBLE_QUOTA ? "400" : "500");
}

static void add_node(const struct machine *machine, struct text *out)
{
    static const char *const states[] = { "CREATING", "CREATING", "ACTIVE", "DELETING" };

    text_add(out, "{\"name\":\"%s\",\"nodePoolId\":\"%s\",\"lifecycleState\":\"%s\"",
             machine->node_name, sim_pool_text(machine->pool, "node_pool"), states[machine->state]);
    if (sim_machine_exists(machine))
        text_add(out,
                 ",\"id\":\"%s\",\"availabilityDomain\":\"%s\",\"faultDomain\":"
                 "\"FAULT-DOMAIN-%d\"",
                 machine->name, machine->pool->reservation->plan->zone, machine->host % 3 + 1);
    add_trouble(machine, out);
    text_add(out, "}");
}

static json_t *nodes_of(const struct simulator *sim, const struct pool *pool)
{
    struct shown_list shown = { 0 };
    json_t *nodes = json_array();

    sim_machines_shown(sim, pool, &shown);
    for (size_t i = 0; i < shown.count; i++) {
        owned(text) struct text *node = text_new(16 * 1024);

        if (shown.items[i].machine)
            add_node(shown.items[i].machine, node);
        else
            text_add(node, "%s", shown.items[i].text);
        json_array_append_new(nodes, json_loads(node->chars, 0, NULL));
    }
    array_clear(&shown);
    return nodes;
}

static void get_pool(struct sim_call *call, struct pool *pool)
{
    const char *ocid = sim_pool_text(pool, "node_pool");
    const char *reservation = sim_pool_text(pool, "capacity_reservation");
    bool is_empty = sim_fault_now(call->sim, FAULT_EMPTY_LIST, call->verb);
    bool lies = is_empty ||
                sim_lie_about(call->sim, LIE_MACHINES, (size_t)(pool - call->sim->pools));
    json_t *nodes = is_empty ? json_array() : nodes_of(call->sim, pool);
    json_t *placement = json_make("{s:s, s:s}", "availabilityDomain", pool->reservation->plan->zone,
                                  "subnetId", "ocid1.subnet.1");
    json_t *body;
    char etag[24];

    if (reservation)
        json_object_set_new(placement, "capacityReservationId", json_string(reservation));
    body = json_make("{s:s, s:s, s:s, s:s, s:{s:i, s:[o]}, s:o}", "id", ocid, "name",
                     pool->plan->name, "lifecycleState", "ACTIVE", "nodeShape",
                     pool->reservation->plan->machine, "nodeConfigDetails", "size", pool->target,
                     "placementConfigs", placement, "nodes", nodes);
    sim_overlay(call->sim, pool, "node_pool", body);
    pool->bad_list_ms = !lies               ? 0
                        : pool->bad_list_ms ? pool->bad_list_ms
                                            : sim_since_start(call->sim) + 1;
    sim_answer_json(call->answer, 200, body);
    etag_of(pool, etag);
    add_header(call->answer, "etag", etag);
}

/* False: answered 412. */
static bool is_match(struct sim_call *call, const struct pool *pool)
{
    const char *said = http_header_find(call->request->headers, call->request->header_count,
                                        "if-match");
    char etag[24];

    etag_of(pool, etag);
    if (!said || text_equal(said, etag))
        return true;
    sim_oci_error(call->answer, 412, "NoEtagMatch", "The If-Match header does not match the ETag.");
    return false;
}

static bool query_is(struct sim_call *call, const char *name, const char *value)
{
    owned(chars) char *said = url_query(call->request->target, name);

    return text_equal(said, value);
}

static size_t count_query(const char *target)
{
    const char *query = strchr(target, '?');
    size_t count = query != NULL;

    for (; query && *query; query++)
        count += *query == '&';
    return count;
}

static void delete_node(struct sim_call *call, struct pool *pool, const char *ocid)
{
    struct machine *machine = sim_machine_find(pool, ocid);
    bool shrinks = query_is(call, "isDecrementSize", "true");

    if (count_query(call->request->target) != 3 ||
        !query_is(call, "overrideEvictionGraceDuration", "PT0M") ||
        !query_is(call, "isForceDeletionAfterOverrideGraceDuration", "true") ||
        (!shrinks && !query_is(call, "isDecrementSize", "false"))) {
        sim_oci_error(call->answer, 400, "InvalidParameter", "a parameter is missing or unknown");
    } else if (!is_match(call, pool)) {
        return;
    } else if (!machine || !sim_machine_exists(machine)) {
        refuse_unknown(call);
    } else if (machine->state == MACHINE_STOPPING) {
        sim_oci_error(call->answer, 409, "IncorrectState", "The node is being deleted already.");
    } else {
        referee_delete_instance(call->sim, machine, "");
        sim_machine_remove(call->sim, machine);
        if (!shrinks)
            sim_pool_grow(call->sim, pool);
        accept_work(call, pool);
    }
}

static void update_pool(struct sim_call *call, struct pool *pool)
{
    struct error err = { 0 };
    owned(json) json_t *body = json_parse(call->request->body ? call->request->body : "",
                                          call->request->body_size, "body", &err);
    const json_t *details = json_at(body, "nodeConfigDetails");
    int64_t wanted = json_int_or(details, "size", -1);

    if (!body || json_object_size(body) != 1 || json_object_size(details) != 1 || wanted < 0 ||
        count_query(call->request->target) != 0) {
        sim_oci_error(call->answer, 400, "InvalidParameter",
                      "the size is missing, or more is said");
        return;
    }
    if (!is_match(call, pool))
        return;
    referee_resize_pool(call->sim, pool, (int)wanted);
    while (pool->target < wanted)
        sim_pool_grow(call->sim, pool);
    while (pool->target > wanted)
        sim_pool_shrink(call->sim, pool);
    accept_work(call, pool);
}

/* By the action's name, or by the permission that a policy has. */
static bool is_denied(const struct sim_call *call, const struct pool *pool)
{
    static const char *const actions[][3] = {
        { "get_node_pool", "GetNodePool", "read cluster-node-pools" },
        { "update_node_pool", "UpdateNodePool", "manage cluster-node-pools" },
        { "delete_node", "DeleteNode", "manage cluster-node-pools" },
        { "get_reservation", "GetComputeCapacityReservation",
          "read compute-capacity-reservations" },
    };

    for (size_t i = 0; i < COUNT_OF(actions); i++)
        if (text_equal(actions[i][0], call->verb))
            return sim_denies(call->sim, pool, actions[i][2]) ||
                   (pool->plan->provider &&
                    scenario_denies(call->sim->scenario, pool->plan->provider->key, actions[i][1]));
    return sim_denies(call->sim, pool, call->verb);
}

static void get_reservation(struct sim_call *call, const char *ocid)
{
    const struct pool *pool = find_pool(call, "capacity_reservation", ocid);
    json_t *body;

    if (!pool || is_denied(call, pool)) {
        refuse_unknown(call);
        return;
    }
    body = json_make("{s:s, s:s, s:s, s:i, s:i}", "id", ocid, "lifecycleState", "ACTIVE",
                     "availabilityDomain", pool->reservation->plan->zone, "reservedInstanceCount",
                     pool->reservation->plan->nodes, "usedInstanceCount",
                     pool->reservation->slots_used);
    sim_overlay(call->sim, pool, "reservation", body);
    sim_answer_json(call->answer, 200, body);
}

static const char *verb_of(enum http_method method, char **items, size_t count)
{
    bool is_pool = count >= 3 && text_equal(items[0], engine_base) &&
                   text_equal(items[1], "nodePools");

    if (is_pool && count == 3)
        return method == HTTP_GET   ? "get_node_pool"
               : method == HTTP_PUT ? "update_node_pool"
                                    : NULL;
    if (is_pool && count == 5 && text_equal(items[3], "node"))
        return method == HTTP_DELETE ? "delete_node" : NULL;
    if (count >= 3 && text_equal(items[0], engine_base) && text_equal(items[1], "workRequests") &&
        method == HTTP_GET)
        return count == 3                                     ? "get_work_request"
               : count == 4 && text_equal(items[3], "errors") ? "list_work_errors"
                                                              : NULL;
    if (count == 3 && text_equal(items[0], compute_base) &&
        text_equal(items[1], "computeCapacityReservations") && method == HTTP_GET)
        return "get_reservation";
    return NULL;
}

static void answer_pool(struct sim_call *call, char **items)
{
    struct pool *pool = find_pool(call, "node_pool", items[2]);

    if (!pool || is_denied(call, pool))
        refuse_unknown(call);
    else if (text_equal(call->verb, "get_node_pool"))
        get_pool(call, pool);
    else if (text_equal(call->verb, "update_node_pool"))
        update_pool(call, pool);
    else
        delete_node(call, pool, items[4]);
}

/* Under /oci. */
static bool answer(struct sim_call *call)
{
    char **items = call->path->items + 1;
    size_t count = call->path->count > 0 ? call->path->count - 1 : 0;

    if (call->path->count == 0 || !text_equal(call->path->items[0], "oci"))
        return false;
    call->verb = verb_of(call->request->method, items, count);
    if (!call->verb)
        sim_oci_error(call->answer, 404, "InvalidURI", "no such operation");
    else if (sim_call_fault(call) || !sim_oci_is_signed(call))
        return true;
    else if (text_equal(call->verb, "get_reservation"))
        get_reservation(call, items[2]);
    else if (text_equal(call->verb, "get_work_request"))
        get_work(call, items[2]);
    else if (text_equal(call->verb, "list_work_errors"))
        list_work_errors(call, items[2]);
    else
        answer_pool(call, items);
    return true;
}

static void fail(struct sim_call *call, int code, const char *why)
{
    sim_oci_error(call->answer, code,
                  code == 429   ? "TooManyRequests"
                  : code == 403 ? "NotAuthorized"
                  : code == 409 ? "IncorrectState"
                                : "InternalServerError",
                  "%s", why);
}

static void name_machine(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE])
{
    char tail[25];

    (void)pool;
    random_hex(&sim->names, tail, sizeof tail);
    snprintf(out, SIM_NAME_SIZE, "ocid1.instance.oc1.sim.%04d%s", number, tail);
}

static void name_node(const struct machine *machine, char out[SIM_NAME_SIZE])
{
    size_t length = strlen(machine->name);

    snprintf(out, SIM_NAME_SIZE, "oke-%s", machine->name + (length > 12 ? length - 12 : 0));
}

static char *provider_id(const struct machine *machine)
{
    return mem_copy_chars(machine->name);
}

static void mark_node(const struct machine *machine, json_t *labels, json_t *annotations)
{
    (void)labels;
    json_object_set_new(annotations, "oci.oraclecloud.com/node-pool-id",
                        json_string(sim_pool_text(machine->pool, "node_pool")));
}

const struct sim_cloud sim_oci = {
    .kind = "oci",
    .answer = answer,
    .fail = fail,
    .heals_with_new = true,
    .name_machine = name_machine,
    .name_node = name_node,
    .provider_id = provider_id,
    .mark_node = mark_node,
    .print_machine = add_node,
};
