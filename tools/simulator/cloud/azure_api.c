/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Azure, as far as AKS's agent pools go: which path is what, and errors in Azure's forms.
 */
#include "tools/simulator/cloud/azure_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/cloud/overlay.h"

#include <stdarg.h>
#include <strings.h>

#define AGENT_POOLS "Microsoft.ContainerService/managedClusters/agentPools"

void sim_azure_error(struct sim_answer *answer, int code, const char *name, const char *format, ...)
{
    char message[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sim_answer_json(answer, code,
                    json_make("{s:{s:s, s:s}}", "error", "code", name, "message", message));
}

void sim_aks_error(struct sim_answer *answer, int code, const char *name, const char *format, ...)
{
    char message[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    sim_answer_json(answer, code,
                    json_make("{s:s, s:n, s:s, s:s}", "code", name, "details", "message", message,
                              "subcode", ""));
}

const char *sim_azure_trap(const struct pool *pool, const char *key, const char *otherwise)
{
    const struct yaml_node *traps = pool->plan->traps ? yaml_get(pool->plan->traps, key) : NULL;
    const char *text = NULL;
    struct error err = { 0 };

    return traps && yaml_text(traps, &text, &err) == 0 ? text : otherwise;
}

/* A proxy that speaks TLS hides our folder, as Azure has none.  In process there is no host to name
   but the configured one. */
char *sim_azure_base(const struct sim_call *call)
{
    const struct sim_request *request = call->request;
    const char *host = http_header_find(request->headers, request->header_count, "Host");
    const char *scheme = http_header_find(request->headers, request->header_count,
                                          "X-Forwarded-Proto");

    return scheme ? text_format("%s://%s", scheme, host ?: "127.0.0.1:1")
                  : text_format("http://%s/azure", host ?: "127.0.0.1:1");
}

struct sim_azure_state *sim_azure_state(struct simulator *sim, const struct pool *pool)
{
    owned(chars) char *key = text_format("azure/pool/%s", pool->plan->name);
    struct sim_azure_state *state = map_get(sim->operations, key);

    if (!state) {
        state = mem_new(sizeof *state);
        map_set(sim->operations, key, state);
    }
    return state;
}

json_t *sim_azure_body(struct sim_call *call)
{
    struct error err = { 0 };
    json_t *body = json_parse(call->request->body ?: "", call->request->body_size, "body", &err);

    if (json_is_object(body))
        return body;
    json_decref(body);
    sim_azure_error(call->answer, 400, "InvalidRequestContent",
                    "The request content was invalid and could not be deserialized.");
    return NULL;
}

bool sim_azure_may(struct sim_call *call, const struct pool *pool, const char *permission)
{
    if (!text_equal(sim_azure_trap(pool, "denied", ""), permission) &&
        !sim_denies(call->sim, pool, permission))
        return true;
    sim_azure_error(call->answer, 403, "AuthorizationFailed",
                    "The client 'sluice' with object id '1' does not have authorization to perform "
                    "action '%s' over scope '%s' or the scope is invalid. If access was recently "
                    "granted, please refresh your credentials.",
                    permission, call->request->target);
    return false;
}

/* The pool of ".../subscriptions/S/resourceGroups/G/providers/P/managedClusters/C[/agentPools/A]";
   agent_pool NULL: any.  Answered when there is none. */
static struct pool *find_pool(struct sim_call *call, char *const *items, const char *agent_pool)
{
    bool has_subscription = false, has_group = false, has_cluster = false;

    for (size_t i = 0; i < call->sim->pool_count; i++) {
        struct pool *pool = &call->sim->pools[i];

        if (pool->cloud != &sim_azure ||
            strcasecmp(sim_provider_text(pool, "subscription") ?: "", items[1]) != 0)
            continue;
        has_subscription = true;
        if (strcasecmp(sim_pool_text(pool, "resource_group") ?: "", items[3]) != 0)
            continue;
        has_group = true;
        if (strcasecmp(sim_pool_text(pool, "managed_cluster") ?: "", items[7]) != 0)
            continue;
        has_cluster = true;
        if (!agent_pool || strcasecmp(sim_pool_text(pool, "agent_pool") ?: "", agent_pool) == 0)
            return pool;
    }
    if (!has_subscription)
        sim_azure_error(call->answer, 404, "SubscriptionNotFound",
                        "The subscription '%s' could not be found.", items[1]);
    else if (!has_group)
        sim_azure_error(call->answer, 404, "ResourceGroupNotFound",
                        "Resource group '%s' could not be found.", items[3]);
    else if (!has_cluster)
        sim_azure_error(call->answer, 404, "ParentResourceNotFound",
                        "Failed to perform 'read' on resource(s) of type "
                        "'managedClusters/agentPools', because the parent resource "
                        "'managedClusters/%s' could not be found.",
                        items[7]);
    else
        sim_aks_error(call->answer, 404, "NotFound", "Agent pool %s is not found.", agent_pool);
    return NULL;
}

/* What is below a pool, by method and the segments after its name. */
static const struct route {
    enum http_method method;
    const char *below; /* NULL: the pool itself */
    bool has_name;     /* a segment more */
    const char *permission;
    void (*answer)(struct sim_call *call, struct pool *pool);
} routes[] = {
    { HTTP_GET, NULL, false, AGENT_POOLS "/read", sim_azure_get_pool },
    { HTTP_PUT, NULL, false, AGENT_POOLS "/write", sim_azure_put_pool },
    { HTTP_GET, "machines", false, AGENT_POOLS "/machines/read", sim_azure_list_machines },
    { HTTP_GET, "machines", true, AGENT_POOLS "/machines/read", NULL },
    { HTTP_POST, "deleteMachines", false, AGENT_POOLS "/deleteMachines/action",
      sim_azure_delete_machines },
    { HTTP_POST, "abort", false, AGENT_POOLS "/abort/action", sim_azure_abort },
};

/* What a role's notActions take away. */
static json_t *list_denied(const struct sim_call *call, const struct pool *pool)
{
    const char *denied = sim_azure_trap(pool, "denied", "");
    json_t *refused = json_array();

    if (denied[0] != '\0')
        json_array_append_new(refused, json_string(denied));
    for (size_t i = 0; i < COUNT_OF(routes); i++)
        if (sim_denies(call->sim, pool, routes[i].permission))
            json_array_append_new(refused, json_string(routes[i].permission));
    return refused;
}

static void list_permissions(struct sim_call *call, const struct pool *pool)
{
    json_t *refused = list_denied(call, pool);

    call->verb = "list_permissions";
    if (sim_call_fault(call) ||
        !sim_azure_may(call, pool, "Microsoft.Authorization/permissions/read"))
        json_decref(refused);
    else
        sim_answer_json(call->answer, 200,
                        json_make("{s:[{s:[s, s, s], s:o, s:[], s:[]}]}", "value", "actions",
                                  AGENT_POOLS "/*", "*/read", "Microsoft.Authorization/*/read",
                                  "notActions", refused, "dataActions", "notDataActions"));
}

static void answer_pool(struct sim_call *call, struct pool *pool, char *const *items, size_t count)
{
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        size_t want = (routes[i].below ? 1U : 0U) + (routes[i].has_name ? 1U : 0U);

        if (count != want || call->request->method != routes[i].method ||
            (routes[i].below && strcasecmp(routes[i].below, items[0]) != 0))
            continue;
        if (!sim_azure_may(call, pool, routes[i].permission))
            return;
        if (routes[i].answer)
            routes[i].answer(call, pool);
        else
            sim_azure_get_machine(call, pool, items[1]);
        return;
    }
    if (count == 3 && strcasecmp(items[1], "Microsoft.Authorization") == 0 &&
        strcasecmp(items[2], "permissions") == 0 && call->request->method == HTTP_GET)
        list_permissions(call, pool);
    else
        sim_azure_error(call->answer, 405, "HttpMethodNotSupported",
                        "The request is not supported.");
}

static bool query_is_right(struct sim_call *call)
{
    owned(chars) char *version = url_query(call->request->target, "api-version");
    const char *query = strchr(call->request->target, '?');

    for (const char *at = query; at && *at; at = strpbrk(at, "&")) {
        at++;
        if (text_starts_with(at, "api-version=") || text_starts_with(at, "$skipToken=") ||
            text_starts_with(at, "%24skipToken="))
            continue;
        sim_azure_error(call->answer, 400, "InvalidQueryParameter",
                        "The query parameter '%s' is not known.", at);
        return false;
    }
    if (version && strlen(version) >= 10 && strspn(version, "0123456789-") == 10)
        return true;
    sim_azure_error(call->answer, 400,
                    version ? "InvalidApiVersionParameter" : "MissingApiVersionParameter",
                    "The api-version query parameter (?api-version=) is required for all "
                    "requests.");
    return false;
}

static bool is_at(char *const *items, size_t count, size_t at, const char *word)
{
    return at < count && strcasecmp(items[at], word) == 0;
}

/* items[0] is "subscriptions". */
static void answer_arm(struct sim_call *call, char *const *items, size_t count)
{
    struct pool *pool;

    if (!sim_azure_is_authorized(call) || !query_is_right(call))
        return;
    if (count == 8 && is_at(items, count, 3, "Microsoft.ContainerService") &&
        is_at(items, count, 4, "locations") && call->request->method == HTTP_GET &&
        (is_at(items, count, 6, "operations") || is_at(items, count, 6, "operationresults"))) {
        sim_azure_get_operation(call, items[7], is_at(items, count, 6, "operationresults"));
        return;
    }
    if (count < 9 || !is_at(items, count, 2, "resourceGroups") ||
        !is_at(items, count, 5, "Microsoft.ContainerService") ||
        !is_at(items, count, 6, "managedClusters") || !is_at(items, count, 8, "agentPools")) {
        sim_azure_error(call->answer, 404, "InvalidResourceType",
                        "The resource type could not be found.");
        return;
    }
    pool = find_pool(call, items, count > 9 ? items[9] : NULL);
    if (pool && count == 9)
        sim_azure_list_pools(call, pool);
    else if (pool)
        answer_pool(call, pool, items + 10, count - 10);
}

static bool answer(struct sim_call *call)
{
    char **items = call->path->items + 1;
    size_t count = call->path->count - 1;

    if (call->path->count == 0 || !text_equal(call->path->items[0], "azure"))
        return false;
    if (is_at(items, count, 0, "subscriptions"))
        answer_arm(call, items, count);
    else if (count == 4 && is_at(items, count, 0, "metadata") && is_at(items, count, 3, "token") &&
             call->request->method == HTTP_GET)
        sim_azure_metadata_token(call);
    else if (count == 4 && is_at(items, count, 2, ".well-known") &&
             call->request->method == HTTP_GET)
        sim_azure_authority(call, items[0]);
    else if (count == 4 && is_at(items, count, 1, "oauth2") && is_at(items, count, 3, "token") &&
             call->request->method == HTTP_POST)
        sim_azure_token(call, items[0]);
    else
        sim_azure_error(call->answer, 404, "NotFound", "There is nothing here.");
    return true;
}

static void fail(struct sim_call *call, int code, const char *why)
{
    if (code == 409) {
        sim_azure_refuse_busy(call->answer, "gpu");
        return;
    }
    sim_azure_error(call->answer, code,
                    code == 429   ? "TooManyRequests"
                    : code == 403 ? "AuthorizationFailed"
                                  : "InternalServerError",
                    "%s", why);
}

const struct sim_cloud sim_azure = {
    .kind = "azure",
    .tries_once = true,
    .heal = sim_machine_reboot,
    .answer = answer,
    .fail = fail,
    .name_machine = sim_azure_name_machine,
    .provider_id = sim_azure_provider_id,
    .mark_node = sim_azure_mark_node,
    .print_machine = sim_azure_print_machine,
};
