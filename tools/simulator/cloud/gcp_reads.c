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

/* Answers 400 for a parameter that the method does not have. */
/* What every method of Google's APIs takes, and what the simulator does anyway: gcloud sends it. */
static bool is_common(const char *at)
{
    size_t length = strcspn(at, "&");

    return length == strlen("alt=json") && text_starts_with(at, "alt=json");
}

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
        if (!sim_gcp_may(call, pool, "compute.reservations.get"))
            return;

        owned(chars) char *count = text_format("%d", plan->nodes);
        owned(chars) char *used = text_format("%d", pool->reservation->slots_used);
        owned(chars) char *url = sim_gcp_zone(pool);

        answer_with(call, pool, "reservation",
                    json_make("{s:s, s:s, s:s, s:s, s:b, s:{s:s, s:s, s:{s:s}}}", "kind",
                              "compute#reservation", "name", name, "zone", url, "status", "READY",
                              "specificReservationRequired", 1, "specificReservation", "count",
                              count, "inUseCount", used, "instanceProperties", "machineType",
                              plan->machine));
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
