/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The verbs on a managed instance group.  A call waits for a token, is sent once, and is sent a
 * second time only after a 401, which means that it was not carried out.
 */
#include "providers/gcp/gcp.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/gcp/gcp_errors.h"
#include "providers/gcp/gcp_machine.h"

#include <string.h>

enum { CALL_TIMEOUT_MS = 30 * SECOND_MS, ANSWER_LIMIT = 16 * 1024 * 1024 };

static const char PUBLIC_ENDPOINT[] = "https://compute.googleapis.com";

struct gcp {
    struct provider provider;
    struct world *world;
    struct gcp_token *token;
    char *base; /* ".../compute/v1" */
    struct gcp_call *first;
};

struct gcp_call {
    struct gcp_waiter waiter; /* first */
    struct gcp *gcp;
    struct gcp_call *previous;
    struct gcp_call *next;
    char *url;
    char *body; /* "" for none */
    char *label;
    char *used_token;
    bool is_mutation;
    bool has_asked_again;
    struct http_exchange *exchange;
    struct timer *late; /* brings a failure from before anything was sent */
    struct error failure;
    provider_list_fn listed; /* one of the four */
    provider_host_fn hosted;
    provider_look_fn looked;
    provider_done_fn done;
    void *context;
};

static void call_free(struct gcp_call *call)
{
    struct gcp *gcp = call->gcp;
    if (call->previous)
        call->previous->next = call->next;
    else
        gcp->first = call->next;
    if (call->next)
        call->next->previous = call->previous;

    gcp_token_forget(gcp->token, &call->waiter);
    http_cancel(gcp->world->http, call->exchange);
    timer_free(call->late);
    if (call->used_token)
        explicit_bzero(call->used_token, strlen(call->used_token));
    mem_free(call->used_token);
    mem_free(call->url);
    mem_free(call->body);
    mem_free(call->label);
    mem_free(call);
}

/* Frees first: the caller may close the provider.  `text` is the operation or the host. */
static void finish(struct gcp_call *call, const struct instance_page *page, const char *text,
                   const struct error *err)
{
    provider_list_fn listed = call->listed;
    provider_host_fn hosted = call->hosted;
    provider_look_fn looked = call->looked;
    provider_done_fn done = call->done;
    void *context = call->context;
    call_free(call);
    if (listed)
        listed(context, page, err);
    else if (hosted)
        hosted(context, err ? NULL : text, err);
    else if (looked)
        looked(context, page ? page->items : NULL, err);
    else
        done(context, text, err);
}

static void finish_failed(struct gcp_call *call, struct error *err)
{
    error_context(err, "gcp: %s", call->label);
    finish(call, NULL, "", err);
}

static void on_late(void *context)
{
    struct gcp_call *call = context;
    struct error failure = call->failure;
    finish_failed(call, &failure);
}

static void finish_list(struct gcp_call *call, const json_t *body)
{
    ARRAY(struct instance) instances = { 0 };
    struct error err = { 0 };
    json_t *items = NULL;
    const char *next = NULL;
    int result = json_find_array(body, "managedInstances", &items, &err);
    if (result == 0)
        result = json_find_text(body, "nextPageToken", &next, &err);

    /* An empty group is written as {}: any other answer without the list is no list. */
    size_t known = (items ? 1U : 0U) + (next ? 1U : 0U);
    if (result == 0 && !items && json_object_size(body) != known)
        result = error_set(&err, ERROR_CORRUPT, "managedInstances: is missing");

    size_t at = 0;
    const json_t *item = NULL;
    json_array_foreach(items, at, item) {
        if (result == 0)
            result = gcp_read_member(item, array_add(&instances), &err);
    }
    struct instance_page page = {
        .items = instances.items,
        .count = instances.count,
        .next = next && next[0] != '\0' ? next : NULL,
    };
    if (result == 0)
        finish(call, &page, "", NULL);
    else
        finish_failed(call, &err);
    array_clear(&instances);
}

/* A running instance has "BLOCK/SUBBLOCK/HOST", if its machine type has it at all. */
static void finish_host(struct gcp_call *call, const json_t *body)
{
    struct error err = { 0 };
    const char *host = "";
    if (json_find_text(body, "resourceStatus/physicalHost", &host, &err) < 0) {
        finish_failed(call, &err);
        return;
    }
    if (strlen(host) >= INSTANCE_HOST_SIZE) {
        error_set(&err, ERROR_CORRUPT, "the host %.80s is too long", host);
        finish_failed(call, &err);
        return;
    }
    finish(call, NULL, host, NULL);
}

static void finish_look(struct gcp_call *call, const json_t *body)
{
    struct instance instance = { 0 };
    struct instance_page page = { .items = &instance, .count = 1 };
    struct error err = { 0 };
    if (gcp_read_machine(body, &instance, &err) < 0)
        finish_failed(call, &err);
    else
        finish(call, &page, "", NULL);
}

static void finish_mutation(struct gcp_call *call, const json_t *body)
{
    struct error err = { 0 };
    const char *operation = NULL;
    if (json_need_text(body, "name", &operation, &err) < 0) {
        err.kind = ERROR_UNKNOWN_OUTCOME;
        finish_failed(call, &err);
        return;
    }
    finish(call, NULL, operation, NULL);
}

static void on_transport_failure(struct gcp_call *call, const struct error *err)
{
    struct error failure = *err;
    if (call->is_mutation) {
        if (failure.kind == ERROR_CORRUPT)
            failure.kind = ERROR_UNKNOWN_OUTCOME;
    } else if (failure.kind == ERROR_UNKNOWN_OUTCOME) {
        failure.kind = ERROR_TRANSIENT;
    }
    finish_failed(call, &failure);
}

/* Reports call->failure in a turn of its own.  The caller may be inside the token's queue, which
   must outlive the call, and `done` may close the provider. */
static void finish_later(struct gcp_call *call)
{
    call->late = timer_new(call->gcp->world->loop, on_late, call);
    timer_set(call->late, 0);
}

static void ask_token(struct gcp_call *call)
{
    if (gcp_token_ask(call->gcp->token, &call->waiter, &call->failure) < 0)
        finish_later(call);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct gcp_call *call = context;
    call->exchange = NULL;
    if (err) {
        on_transport_failure(call, err);
        return;
    }
    if (answer->status == 401 && !call->has_asked_again) {
        call->has_asked_again = true;
        gcp_token_reject(call->gcp->token, call->used_token);
        ask_token(call);
        return;
    }
    struct error why = { 0 };
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL);
    struct gcp_answer meaning = {
        .status = answer->status,
        .body = body,
        .text = answer->body,
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = call->is_mutation,
    };
    if (gcp_error_of_answer(&meaning, &why) < 0 && call->looked && why.kind == ERROR_NOT_FOUND &&
        json_object_get(body, "error"))
        finish(call, NULL, "", NULL);
    else if (why.kind != ERROR_NONE)
        finish_failed(call, &why);
    else if (call->listed)
        finish_list(call, body);
    else if (call->hosted)
        finish_host(call, body);
    else if (call->looked)
        finish_look(call, body);
    else
        finish_mutation(call, body);
}

static void on_token(struct gcp_waiter *waiter, const char *token, const struct error *err)
{
    struct gcp_call *call = (struct gcp_call *)waiter;
    if (err) {
        call->failure = *err;
        finish_later(call);
        return;
    }
    mem_free(call->used_token);
    call->used_token = mem_copy_chars(token);
    owned(chars) char *bearer = text_format("Bearer %s", token);
    struct http_header headers[] = {
        { "Authorization", bearer },
        { "Accept", "application/json" },
        { "User-Agent", "sluice/" SLUICE_VERSION },
        { NULL, NULL },
        { NULL, NULL },
    };
    size_t header_count = 3;
    size_t body_size = strlen(call->body);
    const char *payer = gcp_token_quota_project(call->gcp->token);
    if (body_size > 0)
        headers[header_count++] = (struct http_header){ "Content-Type", "application/json" };
    if (payer)
        headers[header_count++] = (struct http_header){ "x-goog-user-project", payer };
    struct http_request request = {
        .method = call->hosted || call->looked ? HTTP_GET : HTTP_POST,
        .priority = call->is_mutation ? HTTP_RECLAIM : HTTP_POLL,
        .url = call->url,
        .headers = headers,
        .header_count = header_count,
        .body = call->body,
        .body_size = body_size,
        .is_mutation = call->is_mutation,
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };
    call->exchange = http_send(call->gcp->world->http, &request, on_answer, call);
    explicit_bzero(bearer, strlen(bearer));
}

/* A request for the path below the API's base. */
static struct gcp_call *call_at(struct gcp *gcp, const char *path, const char *rest)
{
    struct gcp_call *call = mem_new(sizeof *call);
    call->waiter.ready = on_token;
    call->gcp = gcp;
    call->url = text_format("%s%s%s", gcp->base, path, rest);
    call->next = gcp->first;
    if (gcp->first)
        gcp->first->previous = call;
    gcp->first = call;
    return call;
}

/* A request for a verb of the group; takes the part of the URL after the verb. */
static struct gcp_call *call_new(struct gcp *gcp, const struct pool_address *address,
                                 const char *verb, const char *query)
{
    const struct gcp_pool *pool = gcp_pool_of(address);
    owned(chars) char *group = url_format("/projects/%s/zones/%s/instanceGroupManagers/%s",
                                          pool->project, pool->zone, pool->group);
    owned(chars) char *rest = text_format("/%s%s", verb, query);
    struct gcp_call *call = call_at(gcp, group, rest);
    call->label = text_format("%s of %s in %s", verb, pool->group, pool->zone);
    return call;
}

static void gcp_list(struct provider *provider, const struct pool_address *pool, const char *page,
                     provider_list_fn done, void *context)
{
    owned(chars) char *rest = page ? url_format("&pageToken=%s", page) : mem_copy_chars("");
    owned(chars) char *query = text_format("?maxResults=500%s", rest);
    struct gcp_call *call = call_new((struct gcp *)provider, pool, "listManagedInstances", query);
    call->body = mem_copy_chars("");
    call->listed = done;
    call->context = context;
    ask_token(call);
}

static void mutate(struct gcp_call *call, json_t *body, provider_done_fn done, void *context)
{
    call->body = json_print(body);
    json_decref(body);
    call->is_mutation = true;
    call->done = done;
    call->context = context;
    ask_token(call);
}

static void gcp_remove(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *order, provider_done_fn done, void *context)
{
    owned(chars) char *query = url_format("?requestId=%s", order->request_id);
    owned(chars) char *partial = text_format("zones/%s/instances/%s", gcp_pool_of(pool)->zone,
                                             order->instance);
    struct gcp_call *call = call_new((struct gcp *)provider, pool, "deleteInstances", query);
    mutate(call,
           json_make("{s:[s], s:b}", "instances", partial, "skipInstancesOnValidationError", 1),
           done, context);
}

static void gcp_create(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *order, provider_done_fn done, void *context)
{
    char name[INSTANCE_NAME_SIZE];
    gcp_name_machine(pool, order->request_key, name);
    owned(chars) char *query = url_format("?requestId=%s", order->request_id);
    struct gcp_call *call = call_new((struct gcp *)provider, pool, "createInstances", query);
    mutate(call, json_make("{s:[{s:s}]}", "instances", "name", name), done, context);
}

/* A read of one instance: the caller sets its callback and sends it. */
static struct gcp_call *call_of_instance(struct provider *provider,
                                         const struct pool_address *address, const char *instance)
{
    const struct gcp_pool *pool = gcp_pool_of(address);
    owned(chars) char *path = url_format("/projects/%s/zones/%s/instances/%s", pool->project,
                                         pool->zone, instance);
    struct gcp_call *call = call_at((struct gcp *)provider, path, "");
    call->label = text_format("instance %s in %s", instance, pool->zone);
    call->body = mem_copy_chars("");
    return call;
}

static void gcp_host(struct provider *provider, const struct pool_address *pool,
                     const char *instance, provider_host_fn done, void *context)
{
    struct gcp_call *call = call_of_instance(provider, pool, instance);
    call->hosted = done;
    call->context = context;
    ask_token(call);
}

static void gcp_look(struct provider *provider, const struct pool_address *pool,
                     const char *instance, provider_look_fn done, void *context)
{
    struct gcp_call *call = call_of_instance(provider, pool, instance);
    call->looked = done;
    call->context = context;
    ask_token(call);
}

static void gcp_set_zone(struct pool_address *pool, const char *zone)
{
    ((struct gcp_pool *)(void *)pool)->zone = zone;
}

static void gcp_print_place(const struct pool_address *address, struct text *out)
{
    const struct gcp_pool *pool = gcp_pool_of(address);

    text_add(out, "group %s of project %s in zone %s", pool->group, pool->project, pool->zone);
}

static void gcp_close(struct provider *provider)
{
    struct gcp *gcp = (struct gcp *)provider;
    while (gcp->first)
        call_free(gcp->first);
    gcp_token_free(gcp->token);
    mem_free(gcp->base);
    mem_free(gcp);
}

static struct provider *gcp_open(struct world *world, const struct provider_account *given,
                                 struct error *err)
{
    const struct gcp_account *account = (const struct gcp_account *)(const void *)given;
    struct gcp_token *token = gcp_token_new(world, &account->whose, err);
    if (!token) {
        error_context(err, "gcp");
        return NULL;
    }
    struct gcp *gcp = mem_new(sizeof *gcp);
    gcp->provider.kind = &gcp_kind;
    gcp->world = world;
    gcp->token = token;
    const char *endpoint = account->endpoint ?: PUBLIC_ENDPOINT;
    size_t length = strlen(endpoint);
    while (length > 0 && endpoint[length - 1] == '/')
        length--;
    gcp->base = text_format("%.*s/compute/v1", (int)length, endpoint);
    return &gcp->provider;
}

static const struct setting account_settings[] = {
    { "endpoint", SETTING_URL, offsetof(struct gcp_account, endpoint), "", 0, 0,
      "URL of the API; absent: the cloud's own" },
    { "credentials", SETTING_PATH, offsetof(struct gcp_account, whose.credentials), "", 0, 0,
      "path of a file of credentials: a service account's key, an authorized user, an external "
      "account; absent: Google's own search order, unless `metadata` is set" },
    { "metadata", SETTING_URL, offsetof(struct gcp_account, whose.metadata), "", 0, 0,
      "URL of the metadata server, which gives the token then; absent: the cloud's own" },
};

static const struct setting pool_settings[] = {
    { "project", SETTING_TEXT, offsetof(struct gcp_pool, project), NULL, 0, 0,
      "project or account at the cloud" },
    { "group", SETTING_TEXT, offsetof(struct gcp_pool, group), NULL, 0, 0,
      "name of the instance group at the cloud" },
};

const struct provider_kind gcp_kind = {
    .account = { .name = "gcp",
                 .settings = account_settings,
                 .count = COUNT_OF(account_settings),
                 .size = sizeof(struct gcp_account) },
    .pool = { .name = "gcp",
              .settings = pool_settings,
              .count = COUNT_OF(pool_settings),
              .size = sizeof(struct gcp_pool) },
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
    .read_provider_id = gcp_read_provider_id,
};
