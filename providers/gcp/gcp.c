/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on a managed instance group, and the kind's table.
 */
#include "providers/gcp/gcp.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/gcp/gcp_client.h"
#include "providers/gcp/gcp_errors.h"
#include "providers/gcp/gcp_inspect.h"
#include "providers/gcp/gcp_machine.h"

#include <string.h>

struct gcp {
    struct provider provider;
    struct gcp_client *client;
};

/* A call and whom its answer goes to: one of the five. */
struct gcp_order {
    struct gcp_call call; /* first */
    provider_list_fn listed;
    provider_host_fn hosted;
    provider_look_fn looked;
    provider_group_fn grouped;
    provider_done_fn done;
    void *context;
};

static struct gcp_client *client_of(struct provider *provider)
{
    return ((struct gcp *)provider)->client;
}

/* Frees first: the caller may close the provider. */
static struct gcp_order take_order(struct gcp_call *call)
{
    struct gcp_order order = *(struct gcp_order *)call;

    mem_free(call);
    return order;
}

/* How errors of reading an answer begin; those of the exchange do already. */
static void name_error(const struct gcp_order *order, struct error *err)
{
    error_context(err, "gcp: %s", order->call.label);
}

static void on_list(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct gcp_order order = take_order(call);
    ARRAY(struct instance) instances = { 0 };
    struct error why = { 0 };
    json_t *items = NULL;
    const char *next = NULL;

    if (err) {
        order.listed(order.context, NULL, err);
        return;
    }
    int result = json_find_array(body, "managedInstances", &items, &why);
    if (result == 0)
        result = json_find_text(body, "nextPageToken", &next, &why);

    /* An empty group is written as {}: any other answer without the list is no list. */
    size_t known = (items ? 1U : 0U) + (next ? 1U : 0U);
    if (result == 0 && !items && json_object_size(body) != known)
        result = error_set(&why, ERROR_CORRUPT, "managedInstances: is missing");

    size_t at = 0;
    const json_t *item = NULL;
    json_array_foreach(items, at, item) {
        if (result == 0)
            result = gcp_read_member(item, array_add(&instances), &why);
    }
    const struct instance_page page = {
        .items = instances.items,
        .count = instances.count,
        .next = next && next[0] != '\0' ? next : NULL,
    };
    if (result < 0)
        name_error(&order, &why);
    order.listed(order.context, result < 0 ? NULL : &page, result < 0 ? &why : NULL);
    array_clear(&instances);
}

/* A running instance has "BLOCK/SUBBLOCK/HOST", if its machine type has it at all. */
static void on_host(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct gcp_order order = take_order(call);
    struct error why = { 0 };
    const char *host = "";

    if (!err && json_find_text(body, "resourceStatus/physicalHost", &host, &why) == 0 &&
        strlen(host) >= INSTANCE_HOST_SIZE)
        error_set(&why, ERROR_CORRUPT, "the host %.80s is too long", host);
    if (why.kind != ERROR_NONE) {
        name_error(&order, &why);
        err = &why;
    }
    order.hosted(order.context, err ? NULL : host, err);
}

static void on_look(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct gcp_order order = take_order(call);
    struct instance instance = { 0 };
    struct error why = { 0 };

    if (err) {
        /* A 404 of another server does not say that there is no such machine. */
        bool is_gone = err->kind == ERROR_NOT_FOUND && body;

        order.looked(order.context, NULL, is_gone ? NULL : err);
        return;
    }
    if (gcp_read_machine(body, &instance, &why) < 0) {
        name_error(&order, &why);
        order.looked(order.context, NULL, &why);
        return;
    }
    order.looked(order.context, &instance, NULL);
}

/* An instance of a managed group says which one made it. */
static void on_group(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct gcp_order order = take_order(call);
    struct error why = { 0 };
    const char *group = "";

    if (err && err->kind == ERROR_NOT_FOUND && body) {
        order.grouped(order.context, "", NULL);
        return;
    }
    if (!err && gcp_read_group(body, &group, &why) < 0) {
        name_error(&order, &why);
        err = &why;
    }
    order.grouped(order.context, err ? NULL : group, err);
}

static void on_mutation(struct gcp_call *call, const json_t *body, const struct error *err)
{
    struct gcp_order order = take_order(call);
    struct error why = { 0 };
    const char *operation = NULL;

    if (err) {
        why = *err;
        if (why.cause != &gcp_exists)
            provider_not_now(&why);
        order.done(order.context, "", &why);
        return;
    }
    if (json_need_text(body, "name", &operation, &why) < 0) {
        why.kind = ERROR_UNKNOWN_OUTCOME;
        name_error(&order, &why);
        order.done(order.context, "", &why);
        return;
    }
    order.done(order.context, operation, NULL);
}

/* Asks for a verb of the group; takes the order and the part of the URL after the verb. */
static void ask_group(struct provider *provider, const struct pool_address *address,
                      const struct gcp_question *verb, struct gcp_order *order,
                      gcp_answered_fn answered)
{
    const struct gcp_pool *pool = gcp_pool_of(address);
    owned(chars) char *group = url_format("/projects/%s/zones/%s/instanceGroupManagers/%s",
                                          pool->project, pool->zone, pool->group);
    owned(chars) char *path = text_format("%s%s", group, verb->path);
    owned(chars) char *label = text_format("%s of %s in %s", verb->label, pool->group, pool->zone);
    const struct gcp_question question = { verb->verb, path, verb->body, label };

    gcp_client_ask(client_of(provider), &question, &order->call, answered);
}

static void gcp_list(struct provider *provider, const struct pool_address *pool, const char *page,
                     provider_list_fn done, void *context)
{
    owned(chars) char *rest = page ? url_format("&pageToken=%s", page) : mem_copy_chars("");
    owned(chars) char *path = text_format("/listManagedInstances?maxResults=500%s", rest);
    const struct gcp_question question = { GCP_LIST, path, NULL, "listManagedInstances" };
    struct gcp_order *order = mem_new(sizeof *order);

    order->listed = done;
    order->context = context;
    ask_group(provider, pool, &question, order, on_list);
}

static void mutate(struct provider *provider, const struct pool_address *pool,
                   const struct gcp_question *question, provider_done_fn done, void *context)
{
    struct gcp_order *order = mem_new(sizeof *order);

    order->done = done;
    order->context = context;
    ask_group(provider, pool, question, order, on_mutation);
}

static void gcp_remove(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *order, provider_done_fn done, void *context)
{
    owned(chars) char *path = url_format("/deleteInstances?requestId=%s", order->request_id);
    owned(chars) char *partial = text_format("zones/%s/instances/%s", gcp_pool_of(pool)->zone,
                                             order->instance);
    owned(json) json_t *body = json_make("{s:[s], s:b}", "instances", partial,
                                         "skipInstancesOnValidationError", 1);

    mutate(provider, pool, &(struct gcp_question){ GCP_REMOVE, path, body, "deleteInstances" },
           done, context);
}

static void gcp_create(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *order, provider_done_fn done, void *context)
{
    char name[INSTANCE_NAME_SIZE];

    gcp_name_machine(pool, order->request_key, name);

    owned(chars) char *path = url_format("/createInstances?requestId=%s", order->request_id);
    owned(json) json_t *body = json_make("{s:[{s:s}]}", "instances", "name", name);

    mutate(provider, pool, &(struct gcp_question){ GCP_CREATE, path, body, "createInstances" },
           done, context);
}

static void ask_instance(struct provider *provider, const struct pool_address *address,
                         const char *instance, struct gcp_order *order, gcp_answered_fn answered)
{
    const struct gcp_pool *pool = gcp_pool_of(address);
    owned(chars) char *path = url_format("/projects/%s/zones/%s/instances/%s", pool->project,
                                         pool->zone, instance);
    owned(chars) char *label = text_format("instance %s in %s", instance, pool->zone);
    const struct gcp_question question = { GCP_READ_INSTANCE, path, NULL, label };

    gcp_client_ask(client_of(provider), &question, &order->call, answered);
}

static void gcp_host(struct provider *provider, const struct pool_address *pool,
                     const char *instance, provider_host_fn done, void *context)
{
    struct gcp_order *order = mem_new(sizeof *order);

    order->hosted = done;
    order->context = context;
    ask_instance(provider, pool, instance, order, on_host);
}

static void gcp_look(struct provider *provider, const struct pool_address *pool,
                     const char *instance, provider_look_fn done, void *context)
{
    struct gcp_order *order = mem_new(sizeof *order);

    order->looked = done;
    order->context = context;
    ask_instance(provider, pool, instance, order, on_look);
}

static void gcp_find_group(struct provider *provider, const char *provider_id,
                           provider_group_fn done, void *context)
{
    char project[INSTANCE_NAME_SIZE];
    char zone[INSTANCE_ZONE_SIZE];
    char name[INSTANCE_NAME_SIZE];
    const struct gcp_pool pool = { .project = project, .zone = zone };
    struct gcp_order *order;

    if (!gcp_split_provider_id(provider_id, project, zone, name)) {
        struct error err = { 0 };

        error_set(&err, ERROR_INVALID, "gcp: %.200s is no provider ID of Google Cloud",
                  provider_id);
        done(context, NULL, &err);
        return;
    }
    order = mem_new(sizeof *order);
    order->grouped = done;
    order->context = context;
    ask_instance(provider, (const struct pool_address *)(const void *)&pool, name, order, on_group);
}

static void gcp_inspect_pool(struct provider *provider, const struct pool_address *pool,
                             finding_fn found, provider_done_fn done, void *context)
{
    gcp_inspect(client_of(provider), gcp_pool_of(pool), found, done, context);
}

static void gcp_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct gcp_pool *)(void *)pool)->zone = zone;
}

static void gcp_print_place(const struct provider_account *account,
                            const struct pool_address *address, struct text *out)
{
    const struct gcp_pool *pool = gcp_pool_of(address);

    (void)account;
    text_add(out, "group %s of project %s in zone %s", pool->group, pool->project, pool->zone);
}

static void gcp_close(struct provider *provider)
{
    struct gcp *gcp = (struct gcp *)provider;

    gcp_client_free(gcp->client);
    mem_free(gcp);
}

static struct provider *gcp_open(struct world *world, const struct provider_account *given,
                                 struct error *err)
{
    const struct gcp_account *account = (const struct gcp_account *)(const void *)given;
    struct gcp_client *client = gcp_client_new(world, &account->whose, account->endpoint, err);
    struct gcp *gcp;

    if (!client) {
        error_context(err, "gcp");
        return NULL;
    }
    gcp = mem_new(sizeof *gcp);
    gcp->provider.kind = &gcp_kind;
    gcp->client = client;
    return &gcp->provider;
}

static const struct setting account_settings[] = {
    { "endpoint", SETTING_URL, offsetof(struct gcp_account, endpoint), "", 0, 0,
      "URL of the API; absent: the cloud's own" },
    { "credentials", SETTING_PATH, offsetof(struct gcp_account, whose.credentials), "", 0, 0,
      "path of a file of credentials: a service account's key, an authorized user, an external "
      "account; absent: Google's own search order, unless `metadata` is set" },
    { "metadata", SETTING_URL, offsetof(struct gcp_account, whose.metadata), "", 0, 0,
      "URL of the metadata server, which then gives the token; absent: the cloud's own" },
};

static const struct setting pool_settings[] = {
    { "project", SETTING_TEXT, offsetof(struct gcp_pool, project), NULL, 0, 0,
      "project or account at the cloud" },
    { "group", SETTING_TEXT, offsetof(struct gcp_pool, group), NULL, 0, 0,
      "name of the instance group at the cloud" },
    { "gke_location", SETTING_TEXT, offsetof(struct gcp_pool, gke_location), "", 0, 0,
      "zone or region of the GKE cluster: its node pool is inspected" },
    { "gke_cluster", SETTING_TEXT, offsetof(struct gcp_pool, gke_cluster), "", 0, 0,
      "name of the GKE cluster" },
    { "node_pool", SETTING_TEXT, offsetof(struct gcp_pool, node_pool), "", 0, 0,
      "name of the node pool that the group is a part of" },
    { "gce_reservation", SETTING_TEXT, offsetof(struct gcp_pool, gce_reservation), "", 0, 0,
      "name of the reservation at the cloud that its machines must come from; it is inspected" },
};

static int check_pool(const void *object, const char **ret_key, struct error *err)
{
    const struct gcp_pool *pool = object;
    bool has_all = pool->gke_location && pool->gke_cluster && pool->node_pool;

    if (has_all || (!pool->gke_location && !pool->gke_cluster && !pool->node_pool))
        return 0;
    *ret_key = pool->node_pool ? "node_pool" : pool->gke_cluster ? "gke_cluster" : "gke_location";
    return error_set(err, ERROR_INVALID, "requires gke_location, gke_cluster and node_pool");
}

const struct provider_kind gcp_kind = {
    .account = { .name = "gcp",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct gcp_account) },
    .pool = { .name = "gcp",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct gcp_pool),
              .check = check_pool },
    .place_key = "group",
    .identity = IDENTITY_BY_KEY,
    .set_zone = gcp_set_zone,
    .print_place = gcp_print_place,
    .name_machine = gcp_name_machine,
    .open = gcp_open,
    .close = gcp_close,
    .list = gcp_list,
    .remove = gcp_remove,
    .create = gcp_create,
    .host = gcp_host,
    .look = gcp_look,
    .find_group = gcp_find_group,
    .inspect = gcp_inspect_pool,
    .actions = gcp_actions,
    .action_count = GCP_VERB_COUNT,
    .refusal = gcp_refusal,
    .read_provider_id = gcp_read_provider_id,
};
