/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The API server of a management cluster of Cluster API, /capi/PROVIDER: Machines,
 * MachineDeployments, MachinePools and their scale.  The user of the token sim-PROVIDER is sluice,
 * who may do what its permissions say; admin-PROVIDER may do all, and is another writer.
 */
#include "tools/simulator/cloud/capi_cloud.h"
#include "tools/simulator/cloud/clouds.h"

#define GROUP "cluster.x-k8s.io"

enum { ROLLOUT_MS = 60 * SECOND_MS };

static const struct scenario_group *group_served(void)
{
    return &scenario_groups[SCENARIO_CLUSTER_API];
}

static void no_path(struct sim_call *call)
{
    static const char words[] = "404 page not found\n";

    call->answer->status = 404;
    call->answer->content_type = "text/plain";
    call->answer->body = text_new(sizeof words);
    text_add(call->answer->body, "%s", words);
}

static struct pool *find_pool(const struct capi_asked *asked)
{
    bool is_machine_pool = text_equal(asked->kind, "machinepools");

    for (size_t i = 0; i < asked->call->sim->pool_count; i++) {
        struct pool *pool = &asked->call->sim->pools[i];

        if (sim_capi_is_of(pool, asked->provider) &&
            text_equal(sim_capi_namespace(pool), asked->namespace) &&
            sim_capi_is_machine_pool(pool) == is_machine_pool &&
            text_equal(sim_capi_name(pool), asked->name))
            return pool;
    }
    sim_kube_status(asked->call->answer, 404, "NotFound", "%s." GROUP " \"%s\" not found",
                    asked->kind, asked->name);
    return NULL;
}

void sim_capi_answer_list(const struct capi_asked *asked, json_t *items, const char *next)
{
    sim_answer_json(asked->call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s, s:s*}, s:o}", "kind", "List", "apiVersion",
                              asked->is_old ? GROUP "/v1beta1" : GROUP "/v1beta2", "metadata",
                              "resourceVersion", "7000", "continue", next, "items", items));
}

bool sim_capi_version_is_current(struct sim_call *call, const json_t *body, const char *current,
                                 const char *name)
{
    const char *version = json_text_or(body, "metadata/resourceVersion", NULL);

    if (!version || text_equal(version, current))
        return true;
    sim_kube_status(call->answer, 409, "Conflict",
                    "Operation cannot be fulfilled on \"%s\": the object has been modified; please "
                    "apply your changes to the latest version and try again",
                    name);
    return false;
}

bool sim_capi_is_of(const struct pool *pool, const char *provider)
{
    return text_equal(pool->plan->kind, "capi") && pool->plan->provider &&
           text_equal(pool->plan->provider->key, provider);
}

/* ---- pools ---- */

static int marked_in(struct simulator *sim, const struct pool *pool)
{
    int marked = 0;

    for (size_t i = 0; i < pool->machines.count; i++)
        marked += pool->machines.items[i]->state != MACHINE_STOPPING &&
                  sim_capi_machine(sim, pool->machines.items[i])->mark[0] != '\0';
    return marked;
}

static void answer_scale(const struct capi_asked *asked, struct pool *pool)
{
    const struct capi_pool_state *state = sim_capi_pool(asked->call->sim, pool);
    char version[24];

    sim_capi_version_of(asked->call->sim, pool, version);
    sim_answer_json(asked->call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:i}, s:{s:i}}", "kind", "Scale",
                              "apiVersion", "autoscaling/v1", "metadata", "name", asked->name,
                              "namespace", asked->namespace, "resourceVersion", version, "spec",
                              "replicas", state->wanted, "status", "replicas",
                              (int)pool->machines.count));
}

/* What leaves by a mark is judged when it is deleted; the rest of a change is one of the size. */
static void judge(const struct capi_asked *asked, struct pool *pool, int wanted)
{
    struct simulator *sim = asked->call->sim;
    int present = sim_capi_pool(sim, pool)->wanted;

    if (!asked->is_admin && (wanted > present || wanted < present - marked_in(sim, pool)))
        referee_resize_pool(sim, pool, wanted);
}

static void set_size(struct simulator *sim, struct pool *pool, int wanted)
{
    struct capi_pool_state *state = sim_capi_pool(sim, pool);

    if (wanted == state->wanted)
        return;
    state->wanted = wanted;
    state->generation++;
    state->edits++;
    sim_trace(sim, "scale %s %d", sim_capi_name(pool), wanted);
    sim_capi_wake(sim, state);
}

static void write_scale(const struct capi_asked *asked, struct pool *pool)
{
    struct sim_call *call = asked->call;
    owned(json) json_t *body = NULL;
    json_t *replicas;
    char version[24];

    if (!sim_kube_is_content(call, "application/merge-patch+json"))
        return;
    body = sim_kube_body(call);
    sim_capi_version_of(call->sim, pool, version);
    if (!body || !sim_capi_version_is_current(call, body, version, asked->name))
        return;
    replicas = json_at(body, "spec/replicas");
    if (!json_is_integer(replicas) || json_integer_value(replicas) < 0 ||
        json_integer_value(replicas) > 10000) {
        sim_kube_status(call->answer, 422, "Invalid", "spec.replicas: not a count");
        return;
    }
    judge(asked, pool, (int)json_integer_value(replicas));
    set_size(call->sim, pool, (int)json_integer_value(replicas));
    answer_scale(asked, pool);
}

static void keep_texts(char *kept, size_t size, const json_t *patch)
{
    owned(chars) char *text = patch ? json_print(patch) : NULL;

    if (text)
        require(text_copy(kept, size, text));
}

/* What other writers do to a pool: annotations, labels, a pause, a new template. */
static void patch_pool(const struct capi_asked *asked, struct pool *pool)
{
    struct sim_call *call = asked->call;
    struct capi_pool_state *state = sim_capi_pool(call->sim, pool);
    owned(json) json_t *body = sim_kube_body(call);

    if (!body)
        return;
    keep_texts(state->annotations, sizeof state->annotations,
               json_at(body, "metadata/annotations"));
    keep_texts(state->labels, sizeof state->labels, json_at(body, "metadata/labels"));
    state->is_paused = json_bool_or(body, "spec/paused", state->is_paused);
    if (json_at(body, "spec/template"))
        state->rolls_until_ms = sim_now(call->sim) + ROLLOUT_MS;
    state->generation += json_at(body, "spec") != NULL;
    state->edits++;
    sim_capi_wake(call->sim, state);
    sim_answer_json(call->answer, 200, sim_capi_pool_json(call->sim, pool, asked->is_old));
}

static void on_pool(const struct capi_asked *asked)
{
    struct sim_call *call = asked->call;
    enum http_method method = call->request->method;
    struct pool *pool;

    call->verb = asked->sub ? "scale_machines" : "get_machine_pool";
    if (sim_call_fault(call))
        return;
    pool = find_pool(asked);
    if (!pool)
        return;
    if (asked->sub && method == HTTP_GET)
        answer_scale(asked, pool);
    else if (asked->sub && method == HTTP_PATCH)
        write_scale(asked, pool);
    else if (!asked->sub && method == HTTP_GET)
        sim_answer_json(call->answer, 200, sim_capi_pool_json(call->sim, pool, asked->is_old));
    else if (!asked->sub && method == HTTP_PATCH && asked->is_admin)
        patch_pool(asked, pool);
    else
        sim_kube_status(call->answer, 403, "Forbidden", "User \"sluice\" cannot do that");
}

/* ---- the rest ---- */

static void on_checks(const struct capi_asked *asked)
{
    struct sim_call *call = asked->call;
    struct capi_check_state *check = sim_capi_check(call->sim, asked->namespace);
    struct error err = { 0 };

    call->verb = "list_checks";
    if (sim_call_fault(call))
        return;
    if (call->request->method == HTTP_POST && asked->is_admin) {
        owned(json) json_t *body = sim_kube_body(call);

        if (!body)
            return;
        sim_capi_put_check(call->sim, asked->namespace, body);
        sim_answer_json(call->answer, 201, json_deep_copy(body));
        return;
    }
    sim_capi_answer_list(
        asked,
        check ? json_make("[o]", json_parse(check->json, strlen(check->json), "", &err))
              : json_array(),
        NULL);
}

static void review(struct sim_call *call, const char *provider)
{
    owned(json) json_t *body = sim_kube_body(call);
    owned(chars) char *action = NULL;
    const char *sub;

    call->verb = "review_access";
    if (!body || sim_call_fault(call))
        return;
    if (!json_at(body, "spec/resourceAttributes/verb") ||
        !json_at(body, "spec/resourceAttributes/resource")) {
        sim_kube_status(call->answer, 422, "Invalid", "spec.resourceAttributes: Required value");
        return;
    }
    if (scenario_denies(call->sim->scenario, provider, "create selfsubjectaccessreviews")) {
        sim_kube_status(call->answer, 403, "Forbidden",
                        "User \"sluice\" cannot create selfsubjectaccessreviews");
        return;
    }
    sub = json_text_or(body, "spec/resourceAttributes/subresource", "");
    action = text_format("%s %s%s%s", json_text_or(body, "spec/resourceAttributes/verb", ""),
                         json_text_or(body, "spec/resourceAttributes/resource", ""),
                         sub[0] ? "/" : "", sub);
    sim_answer_json(call->answer, 201,
                    json_make("{s:s, s:s, s:{s:b}}", "kind", "SelfSubjectAccessReview",
                              "apiVersion", "authorization.k8s.io/v1", "status", "allowed",
                              !scenario_denies(call->sim->scenario, provider, action)));
}

static void discover(struct sim_call *call)
{
    const struct scenario_group *group = group_served();
    unsigned served = call->sim->scenario->served[SCENARIO_CLUSTER_API];
    json_t *versions = json_array();

    call->verb = "discover";
    if (sim_call_fault(call)) {
        json_decref(versions);
        return;
    }
    for (size_t k = 0; k < SCENARIO_VERSIONS && group->versions[k]; k++) {
        owned(chars) char *name = text_format(GROUP "/%s", group->versions[k]);

        if (served & (1u << k))
            json_array_append_new(versions, json_make("{s:s, s:s}", "groupVersion", name, "version",
                                                      group->versions[k]));
    }
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:s, s:O, s:o}", "kind", "APIGroup", "apiVersion", "v1",
                              "name", GROUP, "preferredVersion", json_array_get(versions, 0),
                              "versions", versions));
}

static bool version_is_served(const struct sim_call *call, const char *version, bool *ret_is_old)
{
    const struct scenario_group *group = group_served();
    unsigned served = call->sim->scenario->served[SCENARIO_CLUSTER_API];

    for (size_t k = 0; k < SCENARIO_VERSIONS && group->versions[k]; k++)
        if (served & (1u << k) && text_equal(group->versions[k], version)) {
            *ret_is_old = k > 0;
            return true;
        }
    return false;
}

static bool is_authorized(struct sim_call *call, const char *provider, bool *ret_is_admin)
{
    const char *header = http_header_find(call->request->headers, call->request->header_count,
                                          "Authorization");
    owned(chars) char *own = text_format("Bearer sim-%s", provider);
    owned(chars) char *admin = text_format("Bearer admin-%s", provider);

    *ret_is_admin = header && text_equal(header, admin);
    if (*ret_is_admin || (header && text_equal(header, own)))
        return true;
    sim_kube_status(call->answer, 401, "Unauthorized", "Unauthorized");
    return false;
}

/* False: answered 403. */
static bool is_allowed(const struct capi_asked *asked)
{
    struct sim_call *call = asked->call;
    bool is_read = call->request->method == HTTP_GET;
    owned(chars) char *action = text_format("%s %s%s%s",
                                            !is_read      ? "patch"
                                            : asked->name ? "get"
                                                          : "list",
                                            asked->kind, asked->sub ? "/" : "", asked->sub ?: "");

    if (asked->is_admin || !scenario_denies(call->sim->scenario, asked->provider, action))
        return true;
    sim_kube_status(call->answer, 403, "Forbidden", "User \"sluice\" cannot %s", action);
    return false;
}

static void answer_resource(struct capi_asked *asked, char **parts, size_t count)
{
    asked->namespace = parts[4];
    asked->kind = parts[5];
    asked->name = count > 6 ? parts[6] : NULL;
    asked->sub = count > 7 ? parts[7] : NULL;
    if (!is_allowed(asked))
        return;
    if (text_equal(asked->kind, "machines") && !asked->name &&
        asked->call->request->method == HTTP_GET)
        sim_capi_list_machines(asked);
    else if (text_equal(asked->kind, "machines") && asked->name && !asked->sub)
        sim_capi_on_machine(asked);
    else if ((text_equal(asked->kind, "machinedeployments") ||
              text_equal(asked->kind, "machinepools")) &&
             asked->name && (!asked->sub || text_equal(asked->sub, "scale")))
        on_pool(asked);
    else if (text_equal(asked->kind, "machinehealthchecks") && !asked->name)
        on_checks(asked);
    else
        sim_kube_status(asked->call->answer, 404, "NotFound",
                        "the server could not find the requested resource");
}

static bool answer(struct sim_call *call)
{
    struct capi_asked asked = { .call = call };
    char **parts = call->path->items + 2;
    size_t count = call->path->count;

    if (count < 2 || !text_equal(call->path->items[0], "capi"))
        return false;
    count -= 2;
    asked.provider = call->path->items[1];
    if (!is_authorized(call, asked.provider, &asked.is_admin))
        return true;
    if (count == 2 && text_equal(parts[0], "apis") && text_equal(parts[1], GROUP))
        discover(call);
    else if (count == 4 && text_equal(parts[1], "authorization.k8s.io") &&
             text_equal(parts[3], "selfsubjectaccessreviews") && call->request->method == HTTP_POST)
        review(call, asked.provider);
    else if (count >= 6 && count <= 8 && text_equal(parts[0], "apis") &&
             text_equal(parts[1], GROUP) && text_equal(parts[3], "namespaces") &&
             version_is_served(call, parts[2], &asked.is_old))
        answer_resource(&asked, parts, count);
    else
        no_path(call);
    return true;
}

/* An overloaded API server answers in plain text. */
static void fail(struct sim_call *call, int code, const char *why)
{
    if (code == 403)
        sim_kube_status(call->answer, 403, "Forbidden", "%s", why);
    else if (code == 409)
        sim_kube_status(call->answer, 409, "Conflict",
                        "Operation cannot be fulfilled: the object has been modified; please apply "
                        "your changes to the latest version and try again");
    else if (code == 429)
        sim_kube_status(call->answer, 429, "TooManyRequests",
                        "Too many requests, please try again later.");
    else
        sim_kube_status(call->answer, code, "InternalError", "Internal error occurred: %s", why);
}

static void name_machine(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE])
{
    char tail[6];

    (void)number;
    random_hex(&sim->names, tail, sizeof tail);
    snprintf(out, SIM_NAME_SIZE, "%.44s-x7k2d-%s", sim_capi_name(pool), tail);
}

/* Of the cloud below: it does not name the Machine. */
static char *provider_id(const struct machine *machine)
{
    return text_format("simulated:////%s", machine->id);
}

/* A health check deletes it, and its pool makes another in its place. */
static void heal(struct simulator *sim, struct machine *machine)
{
    struct capi_pool_state *state = sim_capi_pool(sim, machine->pool);

    sim_machine_remove(sim, machine);
    sim_capi_wake(sim, state);
}

static void print_machine(const struct machine *machine, struct text *out)
{
    owned(json) json_t *object = sim_capi_machine_json(NULL, machine, false);
    owned(chars) char *chars = json_print(object);

    text_add(out, "%s", chars);
}

/* The owner is named, not its deployment: the MachineSet's name has a suffix. */
static void mark_node(const struct machine *machine, json_t *labels, json_t *annotations)
{
    const struct pool *pool = machine->pool;
    bool is_machine_pool = sim_capi_is_machine_pool(pool);
    owned(chars) char *owner = text_format("%s%s", sim_capi_name(pool),
                                           is_machine_pool ? "" : "-7xk2p");

    (void)labels;
    json_object_update_new(
        annotations,
        json_make("{ss ss ss ss ss}", "cluster.x-k8s.io/cluster-name", pool->cluster->plan->name,
                  "cluster.x-k8s.io/cluster-namespace", sim_capi_namespace(pool),
                  "cluster.x-k8s.io/machine", machine->name, "cluster.x-k8s.io/owner-kind",
                  is_machine_pool ? "MachinePool" : "MachineSet", "cluster.x-k8s.io/owner-name",
                  owner));
}

const struct sim_cloud sim_capi = {
    .kind = "capi",
    .is_kubernetes = true,
    .answer = answer,
    .fail = fail,
    .resize = set_size,
    .heal = heal,
    .name_machine = name_machine,
    .provider_id = provider_id,
    .mark_node = mark_node,
    .print_machine = print_machine,
};
