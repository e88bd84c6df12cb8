/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of requests, and how one of them is sent.
 */
#include "providers/gcp/gcp_client.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "providers/gcp/gcp_errors.h"

#include <string.h>

enum { CALL_TIMEOUT_MS = 30 * SECOND_MS, ANSWER_LIMIT = 16 * 1024 * 1024 };

const struct provider_action gcp_actions[GCP_VERB_COUNT] = {
    [GCP_LIST] = { "instanceGroupManagers.listManagedInstances",
                   "compute.instanceGroupManagers.get", false, "lists a pool's machines" },
    [GCP_REMOVE] = { "instanceGroupManagers.deleteInstances",
                     "compute.instanceGroupManagers.update", true, "removes one machine" },
    [GCP_CREATE] = { "instanceGroupManagers.createInstances",
                     "compute.instanceGroupManagers.update", true, "adds one machine" },
    [GCP_READ_INSTANCE] = { "instances.get", "compute.instances.get", false,
                            "reads one machine and its host" },
    [GCP_READ_GROUP] = { "instanceGroupManagers.get", "compute.instanceGroupManagers.get", false,
                         "inspects the group of a pool" },
    [GCP_LIST_RESIZES] = { "instanceGroupManagerResizeRequests.list",
                           "compute.instanceGroupManagers.get", false,
                           "inspects machines that were asked for with an end" },
    [GCP_READ_NODE_POOL] = { "nodePools.get", "container.clusters.get", false,
                             "inspects the node pool of GKE" },
    [GCP_READ_RESERVATION] = { "reservations.get", "compute.reservations.get", false,
                               "inspects the reservation of a pool" },
    [GCP_TEST_PERMISSIONS] = { "projects.testIamPermissions", "", false,
                               "asks which of these permissions are missing" },
};

enum api { API_COMPUTE, API_CONTAINER, API_PROJECTS, API_COUNT };

/* Where each API is, and under which path. */
static const struct {
    const char *endpoint;
    const char *path;
} apis[API_COUNT] = {
    [API_COMPUTE] = { "https://compute.googleapis.com", "/compute/v1" },
    [API_CONTAINER] = { "https://container.googleapis.com", "/v1" },
    [API_PROJECTS] = { "https://cloudresourcemanager.googleapis.com", "/v1" },
};

static const struct {
    enum api api;
    enum http_method method;
} forms[GCP_VERB_COUNT] = {
    [GCP_LIST] = { API_COMPUTE, HTTP_POST },
    [GCP_REMOVE] = { API_COMPUTE, HTTP_POST },
    [GCP_CREATE] = { API_COMPUTE, HTTP_POST },
    [GCP_READ_INSTANCE] = { API_COMPUTE, HTTP_GET },
    [GCP_READ_GROUP] = { API_COMPUTE, HTTP_GET },
    [GCP_LIST_RESIZES] = { API_COMPUTE, HTTP_GET },
    [GCP_READ_NODE_POOL] = { API_CONTAINER, HTTP_GET },
    [GCP_READ_RESERVATION] = { API_COMPUTE, HTTP_GET },
    [GCP_TEST_PERMISSIONS] = { API_PROJECTS, HTTP_POST },
};

struct gcp_client {
    struct world *world;
    struct gcp_token *token;
    char *endpoint; /* NULL: each API's own */
    struct gcp_call *first;
};

static void ask_token(struct gcp_call *call);

/* Takes it off the list, and frees what it holds but not the call itself. */
static void end_call(struct gcp_call *call)
{
    struct gcp_client *client = call->client;

    if (call->previous)
        call->previous->next = call->next;
    else
        client->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    gcp_token_forget(client->token, &call->waiter);
    http_cancel(client->world->http, call->exchange);
    timer_free(call->late);
    secret_free(call->used_token);
    mem_free(call->url);
    mem_free(call->body);
}

static void finish_failed(struct gcp_call *call, const json_t *body, struct error *err)
{
    error_context(err, "gcp: %s", call->label);
    end_call(call);
    call->answered(call, body, err);
}

static void on_late(void *context)
{
    struct gcp_call *call = context;
    struct error failure = call->failure;

    finish_failed(call, NULL, &failure);
}

/* Reports call->failure in a turn of its own.  The caller may be inside the token's queue, which
   must outlive the call, and `answered` may close the client. */
static void finish_later(struct gcp_call *call)
{
    call->late = timer_new(call->client->world->loop, on_late, call);
    timer_set(call->late, 0);
}

static void on_transport_failure(struct gcp_call *call, const struct error *err)
{
    struct error failure = *err;

    if (gcp_actions[call->verb].is_mutation) {
        if (failure.kind == ERROR_CORRUPT)
            failure.kind = ERROR_UNKNOWN_OUTCOME;
    } else if (failure.kind == ERROR_UNKNOWN_OUTCOME) {
        failure.kind = ERROR_TRANSIENT;
    }
    finish_failed(call, NULL, &failure);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct gcp_call *call = context;
    owned(json) json_t *body = NULL;
    struct error why = { 0 };

    call->exchange = NULL;
    if (err) {
        on_transport_failure(call, err);
        return;
    }
    if (answer->status == 401 && !call->has_asked_again) {
        call->has_asked_again = true;
        gcp_token_reject(call->client->token, call->used_token);
        ask_token(call);
        return;
    }
    call->status = answer->status;
    body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL);

    const struct gcp_answer meaning = {
        .status = answer->status,
        .body = body,
        .text = answer->body,
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = gcp_actions[call->verb].is_mutation,
    };

    if (gcp_error_of_answer(&meaning, &why) < 0) {
        finish_failed(call, json_object_get(body, "error") ? body : NULL, &why);
        return;
    }
    end_call(call);
    call->answered(call, body, NULL);
}

static void send(struct gcp_call *call, const char *bearer)
{
    const char *payer = gcp_token_quota_project(call->client->token);
    bool is_mutation = gcp_actions[call->verb].is_mutation;
    struct http_header headers[] = {
        { "Authorization", bearer },
        { "Accept", "application/json" },
        { "User-Agent", "sluice/" SLUICE_VERSION },
        { NULL, NULL },
        { NULL, NULL },
    };
    size_t count = 3;

    if (call->body[0] != '\0')
        headers[count++] = (struct http_header){ "Content-Type", "application/json" };
    if (payer)
        headers[count++] = (struct http_header){ "x-goog-user-project", payer };

    const struct http_request request = {
        .method = forms[call->verb].method,
        .priority = is_mutation ? HTTP_RECLAIM : HTTP_POLL,
        .url = call->url,
        .headers = headers,
        .header_count = count,
        .body = call->body,
        .body_size = strlen(call->body),
        .is_mutation = is_mutation,
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    call->exchange = http_send(call->client->world->http, &request, on_answer, call);
}

static void on_token(struct gcp_waiter *waiter, const char *token, const struct error *err)
{
    struct gcp_call *call = (struct gcp_call *)waiter;
    owned(chars) char *bearer = NULL;

    if (err) {
        call->failure = *err;
        finish_later(call);
        return;
    }
    mem_free(call->used_token);
    call->used_token = mem_copy_chars(token);
    bearer = text_format("Bearer %s", token);
    send(call, bearer);
    explicit_bzero(bearer, strlen(bearer));
}

static void ask_token(struct gcp_call *call)
{
    if (gcp_token_ask(call->client->token, &call->waiter, &call->failure) < 0)
        finish_later(call);
}

void gcp_client_ask(struct gcp_client *client, const struct gcp_question *question,
                    struct gcp_call *call, gcp_answered_fn answered)
{
    enum api api = forms[question->verb].api;

    call->waiter.ready = on_token;
    call->client = client;
    call->previous = NULL;
    call->answered = answered;
    call->verb = question->verb;
    call->status = 0;
    call->used_token = NULL;
    call->has_asked_again = false;
    call->exchange = NULL;
    call->late = NULL;
    call->url = text_format("%s%s%s", client->endpoint ?: apis[api].endpoint, apis[api].path,
                            question->path);
    call->body = question->body ? json_print(question->body) : mem_copy_chars("");
    text_copy(call->label, sizeof call->label, question->label);
    call->next = client->first;
    if (client->first)
        client->first->previous = call;
    client->first = call;
    ask_token(call);
}

struct gcp_client *gcp_client_new(struct world *world, const struct gcp_identity *whose,
                                  const char *endpoint, struct error *err)
{
    struct gcp_token *token = gcp_token_new(world, whose, err);
    struct gcp_client *client;
    size_t length = endpoint ? strlen(endpoint) : 0;

    if (!token)
        return NULL;
    client = mem_new(sizeof *client);
    client->world = world;
    client->token = token;
    while (length > 0 && endpoint[length - 1] == '/')
        length--;
    client->endpoint = endpoint ? text_format("%.*s", (int)length, endpoint) : NULL;
    return client;
}

void gcp_client_free(struct gcp_client *client)
{
    while (client->first) {
        struct gcp_call *call = client->first;

        end_call(call);
        if (call->clear)
            call->clear(call);
        mem_free(call);
    }
    gcp_token_free(client->token);
    mem_free(client->endpoint);
    mem_free(client);
}
