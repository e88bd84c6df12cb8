/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What can be read of a pool beside its machines: the group, its resize requests, the node pool of
 * GKE, the reservation; and which permissions are held.
 */
#include "tools/simulator/cloud/gcp_cloud.h"
#include "tools/simulator/cloud/overlay.h"

char *sim_gcp_zone(const struct pool *pool)
{
    return text_format("https://www.googleapis.com/compute/v1/projects/%s/zones/%s",
                       pool->plan->project, pool->reservation->plan->zone);
}

const char *sim_gcp_ends(const struct simulator *sim, const struct pool *pool)
{
    const struct yaml_node *all = yaml_get(yaml_root(sim->scenario->world), "gcp");
    const struct yaml_node *own = all ? yaml_get(all, pool->reservation->plan->name) : NULL;
    const struct yaml_node *ends = own ? yaml_get(own, "ends") : NULL;

    return ends ? ends->text : NULL;
}

bool sim_gcp_may(struct sim_call *call, const struct pool *pool, const char *permission)
{
    if (!sim_denies(call->sim, pool, permission))
        return true;
    sim_gcp_error(call->answer, 403, "forbidden", "Required '%s' permission for 'projects/%s'",
                  permission, pool->plan->project);
    return false;
}

/* What every method of Google's APIs takes, and what the simulator does anyway: gcloud sends it. */
static bool is_common(const char *at)
{
    size_t length = strcspn(at, "&");

    return length == strlen("alt=json") && text_starts_with(at, "alt=json");
}

/* Answers 400 for a parameter that the method does not have. */
bool sim_gcp_query_is(struct sim_call *call, const char *const *known)
{
    const char *query = strchr(call->request->target, '?');

    for (const char *at = query ? query + 1 : ""; *at;) {
        size_t length = strcspn(at, "=&");
        bool is_known = is_common(at);

        for (size_t i = 0; known[i] && !is_known; i++)
            is_known = strlen(known[i]) == length && strncmp(at, known[i], length) == 0;
        if (!is_known) {
            sim_gcp_error(call->answer, 400, "invalid",
                          "Invalid JSON payload received. Unknown name \"%.*s\"", (int)length, at);
            return false;
        }
        at += strcspn(at, "&");
        at += *at == '&';
    }
    return true;
}

static void answer_with(struct sim_call *call, const struct pool *pool, const char *key,
                        json_t *resource)
{
    sim_overlay(call->sim, pool, key, resource);
    sim_answer_json(call->answer, 200, resource);
}

void sim_gcp_list_resizes(struct sim_call *call, const struct pool *pool)
{
    static const char *const known[] = { "maxResults", "pageToken", NULL };

    if (sim_gcp_may(call, pool, "compute.instanceGroupManagers.get") &&
        sim_gcp_query_is(call, known))
        answer_with(
            call, pool, "resize_requests",
            json_make("{s:s}", "kind", "compute#instanceGroupManagerResizeRequestsListResponse"));
}

static json_t *reservation_of(const struct simulator *sim, const struct pool *pool)
{
    const struct scenario_reservation *plan = pool->reservation->plan;
    owned(chars) char *count = text_format("%d", plan->nodes);
    owned(chars) char *used = text_format("%d", pool->reservation->slots_used);
    owned(chars) char *zone = sim_gcp_zone(pool);
    owned(chars) char *link = text_format("%s/reservations/%s", zone, plan->name);
    json_t *body = json_make("{s:s, s:s, s:s, s:s, s:s, s:b, s:{s:s, s:s, s:{s:s}}}", "kind",
                             "compute#reservation", "name", plan->name, "zone", zone, "selfLink",
                             link, "status", "READY", "specificReservationRequired", 1,
                             "specificReservation", "count", count, "inUseCount", used,
                             "instanceProperties", "machineType", plan->machine);

    sim_overlay(sim, pool, "reservation", body);
    return body;
}

void sim_gcp_get_reservation(struct sim_call *call, const char *project, const char *zone,
                             const char *name)
{
    static const char *const known[] = { NULL };

    call->verb = "get_reservation";
    if (sim_call_fault(call) || !sim_gcp_query_is(call, known))
        return;
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *pool = &call->sim->pools[i];
        const struct scenario_reservation *plan = pool->reservation->plan;

        if (!text_equal(pool->plan->project, project) || !text_equal(plan->zone, zone) ||
            !text_equal(plan->name, name))
            continue;
        if (sim_gcp_may(call, pool, "compute.reservations.get"))
            sim_answer_json(call->answer, 200, reservation_of(call->sim, pool));
        return;
    }
    sim_gcp_error(call->answer, 404, "notFound",
                  "The resource 'projects/%s/zones/%s/reservations/%s' was not found", project,
                  zone, name);
}

static bool is_of(const struct pool *pool, const char *key, const char *wanted)
{
    return text_equal(sim_pool_text(pool, key), wanted);
}

static json_t *node_pool_of(const struct pool *pool)
{
    const char *zone = pool->reservation->plan->zone;
    owned(chars) char *group = text_format(
        "https://www.googleapis.com/compute/v1/projects/%s/zones/%s/instanceGroupManagers/%s",
        pool->plan->project, zone, pool->plan->group);

    return json_make(
        "{s:s, s:s, s:i, s:[s], s:[s], s:{s:b, s:b}, s:{s:s, s:{s:s, s:s, s:[s]}}}", "name",
        sim_pool_text(pool, "node_pool"), "status", "RUNNING", "initialNodeCount", 0,
        "instanceGroupUrls", group, "locations", zone, "management", "autoRepair", 1, "autoUpgrade",
        0, "config", "machineType", pool->reservation->plan->machine, "reservationAffinity",
        "consumeReservationType", "SPECIFIC_RESERVATION", "key",
        "compute.googleapis.com/reservation-name", "values", pool->reservation->plan->name);
}

/* items: projects, P, locations, L, clusters, C, nodePools[, NAME] */
static void answer_node_pools(struct sim_call *call, char **items, size_t count)
{
    owned(json) json_t *list = json_array();

    call->verb = count == 8 ? "get_node_pool" : "list_node_pools";
    if (sim_call_fault(call))
        return;
    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *pool = &call->sim->pools[i];

        if (!text_equal(pool->plan->project, items[1]) || !is_of(pool, "gke_location", items[3]) ||
            !is_of(pool, "gke_cluster", items[5]) ||
            (count == 8 && !is_of(pool, "node_pool", items[7])))
            continue;
        if (!sim_gcp_may(call, pool, "container.clusters.get"))
            return;

        json_t *found = node_pool_of(pool);

        sim_overlay(call->sim, pool, "node_pool", found);
        json_array_append_new(list, found);
    }
    if (count == 7)
        sim_answer_json(call->answer, 200, json_make("{s:O}", "nodePools", list));
    else if (json_array_size(list) > 0)
        sim_answer_json(call->answer, 200, json_incref(json_array_get(list, 0)));
    else
        sim_answer_json(call->answer, 404,
                        json_make("{s:{s:i, s:s, s:s}}", "error", "code", 404, "message",
                                  "Not found: node pool", "status", "NOT_FOUND"));
}

static bool is_any_denied(const struct simulator *sim, const char *project, const char *permission)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (text_equal(sim->pools[i].plan->project, project) &&
            sim_denies(sim, &sim->pools[i], permission))
            return true;
    return false;
}

static void test_permissions(struct sim_call *call, const char *resource)
{
    struct error err = { 0 };
    owned(json) json_t *body = json_parse(call->request->body ? call->request->body : "",
                                          call->request->body_size, "body", &err);
    owned(chars) char *project = text_format("%.*s", (int)strcspn(resource, ":"), resource);
    json_t *held = json_array();
    size_t i;
    json_t *item;

    call->verb = "test_permissions";
    if (sim_call_fault(call)) {
        json_decref(held);
        return;
    }
    json_array_foreach(json_at(body, "permissions"), i, item)
        if (!is_any_denied(call->sim, project, json_string_value(item)))
            json_array_append(held, item);
    if (json_object_size(body) == 1 && json_array_size(json_at(body, "permissions")) > 0) {
        sim_answer_json(call->answer, 200,
                        json_array_size(held) > 0 ? json_make("{s:O}", "permissions", held)
                                                  : json_object());
    } else {
        sim_gcp_error(call->answer, 400, "badRequest", "Request contains an invalid argument.");
    }
    json_decref(held);
}

/* The kinds of lists (https://cloud.google.com/compute/docs/reference/rest/v1). No group of the
   simulator has an autoscaler. */
enum list_of { LIST_MANAGERS, LIST_GROUPS, LIST_INSTANCES, LIST_RESERVATIONS, LIST_AUTOSCALERS };

static const struct list_kind {
    const char *name; /* in paths, and of the member with the rows */
    const char *kind; /* of the answer, without "compute#" before and "List" after it */
    const char *permission;
} list_kinds[] = {
    [LIST_MANAGERS] = { "instanceGroupManagers", "instanceGroupManager",
                        "compute.instanceGroupManagers.list" },
    [LIST_GROUPS] = { "instanceGroups", "instanceGroup", "compute.instanceGroups.list" },
    [LIST_INSTANCES] = { "instances", "instance", "compute.instances.list" },
    [LIST_RESERVATIONS] = { "reservations", "reservation", "compute.reservations.list" },
    [LIST_AUTOSCALERS] = { "autoscalers", "autoscaler", "compute.autoscalers.list" },
};

static json_t *group_row(const struct pool *pool)
{
    owned(chars) char *zone = sim_gcp_zone(pool);
    owned(chars) char *link = text_format("%s/instanceGroups/%s", zone, pool->plan->group);

    return json_make("{s:s, s:s, s:s, s:s, s:i}", "kind", "compute#instanceGroup", "name",
                     pool->plan->group, "zone", zone, "selfLink", link, "size",
                     (int)pool->machines.count);
}

/* Pools may share a reservation: it is listed once. */
static bool is_first_of_reservation(const struct simulator *sim, const struct pool *pool)
{
    for (const struct pool *other = sim->pools; other < pool; other++)
        if (other->reservation == pool->reservation &&
            text_equal(other->plan->project, pool->plan->project))
            return false;
    return true;
}

static void add_rows(const struct simulator *sim, const struct pool *pool, enum list_of what,
                     json_t *rows)
{
    if (what == LIST_MANAGERS)
        json_array_append_new(rows, sim_gcp_group(sim, pool));
    if (what == LIST_GROUPS)
        json_array_append_new(rows, group_row(pool));
    if (what == LIST_RESERVATIONS && is_first_of_reservation(sim, pool))
        json_array_append_new(rows, reservation_of(sim, pool));
    for (size_t i = 0; what == LIST_INSTANCES && i < pool->machines.count; i++)
        if (pool->machines.items[i]->id[0] != '\0')
            json_array_append_new(rows, sim_gcp_instance(sim, pool->machines.items[i]));
}

/* zone NULL: of all zones, {"zones/Z": {KIND: rows}}. */
static json_t *rows_of(const struct sim_call *call, enum list_of what, const char *project,
                       const char *zone)
{
    json_t *by_zone = json_object();
    json_t *rows = json_array();

    for (size_t i = 0; i < call->sim->pool_count; i++) {
        const struct pool *pool = &call->sim->pools[i];
        const char *mine = pool->reservation->plan->zone;
        owned(chars) char *key = text_format("zones/%s", mine);
        json_t *scope = json_object_get(by_zone, key);

        if (!text_equal(pool->plan->project, project) || (zone && !text_equal(mine, zone)))
            continue;
        if (!scope)
            json_object_set_new(by_zone, key, scope = json_make("{s:[]}", list_kinds[what].name));
        add_rows(call->sim, pool, what,
                 zone ? rows : json_object_get(scope, list_kinds[what].name));
    }
    json_decref(zone ? by_zone : rows);
    return zone ? rows : by_zone;
}

/* The zones of the project's pools; all are up. */
static json_t *zones_of(const struct simulator *sim, const char *project)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];
        const struct scenario_reservation *plan = pool->reservation->plan;
        owned(chars) char *link = sim_gcp_zone(pool);
        bool is_known = !text_equal(pool->plan->project, project);

        for (size_t k = 0; k < i; k++)
            is_known |= text_equal(sim->pools[k].reservation->plan->zone, plan->zone) &&
                        text_equal(sim->pools[k].plan->project, project);
        if (is_known)
            continue;

        owned(chars) char *region = text_format(
            "https://www.googleapis.com/compute/v1/projects/%s/regions/%.*s", project,
            (int)(strrchr(plan->zone, '-') ? strrchr(plan->zone, '-') - plan->zone : 0),
            plan->zone);

        json_array_append_new(rows, json_make("{s:s, s:s, s:s, s:s, s:s}", "kind", "compute#zone",
                                              "name", plan->zone, "status", "UP", "selfLink", link,
                                              "region", region));
    }
    return rows;
}

static bool list_zones(struct sim_call *call, const char *project)
{
    static const char *const known[] = { "maxResults", NULL };

    call->verb = "list";
    if (!sim_call_fault(call) && sim_gcp_query_is(call, known))
        sim_answer_json(call->answer, 200,
                        json_make("{s:s, s:o}", "kind", "compute#zoneList", "items",
                                  zones_of(call->sim, project)));
    return true;
}

bool sim_gcp_list(struct sim_call *call, char **items, size_t count)
{
    static const char *const known[] = { "includeAllScopes", "maxResults", "returnPartialSuccess",
                                         NULL };
    bool is_of_all = count == 4 && text_equal(items[2], "aggregated");
    bool is_of_zone = count == 5 && text_equal(items[2], "zones");
    const struct list_kind *kind = NULL;

    if (count == 3 && text_equal(items[0], "projects") && text_equal(items[2], "zones") &&
        call->request->method == HTTP_GET)
        return list_zones(call, items[1]);
    if ((!is_of_all && !is_of_zone) || !text_equal(items[0], "projects") ||
        call->request->method != HTTP_GET)
        return false;
    for (size_t i = 0; i < COUNT_OF(list_kinds); i++)
        if (text_equal(items[count - 1], list_kinds[i].name))
            kind = &list_kinds[i];
    if (!kind)
        return false;
    call->verb = "list";
    if (sim_call_fault(call) || !sim_gcp_query_is(call, known))
        return true;
    if (is_any_denied(call->sim, items[1], kind->permission)) {
        sim_gcp_error(call->answer, 403, "forbidden", "Required '%s' permission for 'projects/%s'",
                      kind->permission, items[1]);
        return true;
    }

    owned(chars) char *name = text_format("compute#%s%sList", kind->kind,
                                          is_of_all ? "Aggregated" : "");

    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:o}", "kind", name, "items",
                              rows_of(call, (enum list_of)(kind - list_kinds), items[1],
                                      is_of_all ? NULL : items[3])));
    return true;
}

void sim_gcp_answer_v1(struct sim_call *call, char **items, size_t count)
{
    enum http_method method = call->request->method;

    if (!sim_gcp_is_authorized(call))
        return;
    if ((count == 7 || count == 8) && text_equal(items[0], "projects") &&
        text_equal(items[2], "locations") && text_equal(items[4], "clusters") &&
        text_equal(items[6], "nodePools") && method == HTTP_GET)
        answer_node_pools(call, items, count);
    else if (count == 2 && text_equal(items[0], "projects") &&
             strstr(items[1], ":testIamPermissions") && method == HTTP_POST)
        test_permissions(call, items[1]);
    else
        sim_gcp_error(call->answer, 404, "notFound", "no such resource");
}
