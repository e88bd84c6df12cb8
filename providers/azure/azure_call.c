/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See azure_call.h.
 */
#include "providers/azure/azure_call.h"

#include "base/input/json.h"
#include "base/secret.h"
#include "base/url.h"
#include "providers/azure/azure_errors.h"

#include <string.h>

enum { CALL_TIMEOUT_MS = 30 * SECOND_MS, ANSWER_LIMIT = 16 * 1024 * 1024 };

static const enum http_method methods[AZURE_REQUEST_COUNT] = {
    [AZURE_LIST_MACHINES] = HTTP_GET,    [AZURE_GET_MACHINE] = HTTP_GET,
    [AZURE_GET_POOL] = HTTP_GET,         [AZURE_RESIZE_POOL] = HTTP_PUT,
    [AZURE_DELETE_MACHINES] = HTTP_POST, [AZURE_ABORT] = HTTP_POST,
    [AZURE_LIST_PERMISSIONS] = HTTP_GET,
};

static void clear_exchange(struct azure_call *call)
{
    secret_free(call->used_token);
    mem_free(call->url);
    mem_free(call->if_match);
    call->used_token = call->url = call->if_match = NULL;
    call->has_asked_again = false;
}

void azure_call_free(struct azure_call *call)
{
    struct azure *azure = call->azure;

    if (call->previous)
        call->previous->next = call->next;
    else
        azure->first = call->next;
    if (call->next)
        call->next->previous = call->previous;

    token_cache_forget(azure->token, &call->waiter);
    http_cancel(azure->world->http, call->exchange);
    timer_free(call->late);
    if (azure->growth)
        growth_leave(&call->turn);
    clear_exchange(call);
    pages_clear(&call->pages);
    array_clear(&call->machines);
    json_decref(call->pool);
    mem_free(call->body);
    mem_free(call->label);
    mem_free(call->pool_url);
    mem_free(call->agent_pool);
    mem_free(call->cluster);
    mem_free(call->zone);
    mem_free(call->instance);
    mem_free(call->request_id);
    mem_free(call->progress);
    mem_free(call);
}

static void finish(struct azure_call *call, const struct instance_page *page, const char *operation,
                   const struct error *err)
{
    provider_list_fn listed = call->listed;
    provider_look_fn looked = call->looked;
    provider_done_fn done = call->done;
    void *context = call->context;

    azure_call_free(call);
    if (listed)
        listed(context, page, err);
    else if (looked)
        looked(context, page && page->count > 0 ? page->items : NULL, err);
    else
        done(context, operation, err);
}

void azure_call_finish(struct azure_call *call, const struct instance_page *page,
                       const char *operation)
{
    finish(call, page, operation, NULL);
}

void azure_call_fail(struct azure_call *call, struct error *err)
{
    struct error failure = *err;

    error_context(&failure, "azure: %s", call->label);
    finish(call, NULL, "", &failure);
}

void azure_call_goes_on(struct azure_call *call, const char *progress)
{
    struct error err = { 0 };

    error_set(&err, ERROR_TRANSIENT, "azure: %s: planned %s", call->label, progress);
    error_because(&err, &provider_goes_on);
    finish(call, NULL, progress, &err);
}

/* Azure-AsyncOperation is preferred, as Azure's own clients do: ".../operations/ID?api-version=".
 */
void azure_read_operation(const struct http_answer *answer, char out[AZURE_OPERATION_SIZE])
{
    const char *url = http_header_find(answer->headers, answer->header_count,
                                       "Azure-AsyncOperation")
                          ?: http_header_find(answer->headers, answer->header_count, "Location")
                          ?: "";
    int length = (int)strcspn(url, "?");
    int start = length;

    while (start > 0 && url[start - 1] != '/')
        start--;
    text_print(out, AZURE_OPERATION_SIZE, "%.*s", length - start, url + start);
}

struct azure_call *azure_call_of_turn(struct growth_turn *turn)
{
    return (struct azure_call *)(void *)((char *)turn - offsetof(struct azure_call, turn));
}

void azure_call_wait(struct azure_call *call, void (*ready)(struct growth_turn *turn))
{
    call->turn.ready = ready;
    call->turn.request_id = call->request_id;
    call->turn.progress = call->progress;
    call->turn.pool = call->agent_pool;
    growth_wait(call->azure->growth, call->cluster, &call->turn);
}

/* Reports call->failure in a turn of its own.  The caller may be inside the token's queue, which
   must outlive the call, and the callback may close the provider. */
static void on_late(void *context)
{
    struct azure_call *call = context;
    struct error failure = call->failure;

    call->answered(call, NULL, NULL, &failure);
}

static void fail_later(struct azure_call *call)
{
    timer_free(call->late);
    call->late = timer_new(call->azure->world->loop, on_late, call);
    timer_set(call->late, 0);
}

static void ask_token(struct azure_call *call)
{
    if (token_cache_ask(call->azure->token, &call->waiter, &call->failure) < 0)
        fail_later(call);
}

static bool is_mutation(const struct azure_call *call)
{
    return azure_actions[call->action].is_mutation;
}

static void on_transport_failure(struct azure_call *call, const struct error *err)
{
    struct error failure = *err;

    if (is_mutation(call)) {
        if (failure.kind == ERROR_CORRUPT)
            failure.kind = ERROR_UNKNOWN_OUTCOME;
    } else if (failure.kind == ERROR_UNKNOWN_OUTCOME) {
        failure.kind = ERROR_TRANSIENT;
    }
    call->answered(call, NULL, NULL, &failure);
}

/* An accepted change may have no body; any other success is a JSON object. */
static int check_body(const struct azure_call *call, const struct http_answer *answer,
                      const json_t *body, struct error *err)
{
    if (json_is_object(body) || (is_mutation(call) && answer->body_size == 0))
        return 0;
    return error_set(err, is_mutation(call) ? ERROR_UNKNOWN_OUTCOME : ERROR_CORRUPT,
                     "%d: the body is no JSON object", answer->status);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct azure_call *call = context;
    struct error why = { 0 };

    call->exchange = NULL;
    if (err) {
        on_transport_failure(call, err);
        return;
    }
    if (answer->status == 401 && !call->has_asked_again) {
        call->has_asked_again = true;
        token_cache_reject(call->azure->token, call->used_token);
        ask_token(call);
        return;
    }
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "answer", NULL);
    const struct azure_answer meaning = {
        .status = answer->status,
        .body = body,
        .text = answer->body,
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = is_mutation(call),
    };

    if (azure_error_of_answer(&meaning, &why) < 0 || check_body(call, answer, body, &why) < 0)
        call->answered(call, answer, body, &why);
    else
        call->answered(call, answer, body, NULL);
}

static void on_token(struct token_waiter *waiter, const char *token, const struct error *err)
{
    struct azure_call *call = (struct azure_call *)waiter;
    struct http_header headers[5] = { { "Accept", "application/json" },
                                      { "User-Agent", "sluice/" SLUICE_VERSION } };
    size_t count = 2;

    if (err) {
        call->failure = *err;
        fail_later(call);
        return;
    }
    mem_free(call->used_token);
    call->used_token = mem_copy_chars(token);
    owned(chars) char *bearer = text_format("Bearer %s", token);

    headers[count++] = (struct http_header){ "Authorization", bearer };
    if (call->body)
        headers[count++] = (struct http_header){ "Content-Type", "application/json" };
    if (call->if_match)
        headers[count++] = (struct http_header){ "If-Match", call->if_match };

    const struct http_request request = {
        .method = methods[call->action],
        .priority = is_mutation(call) ? HTTP_RECLAIM : HTTP_POLL,
        .url = call->url,
        .headers = headers,
        .header_count = count,
        .body = call->body,
        .body_size = call->body ? strlen(call->body) : 0,
        .is_mutation = is_mutation(call),
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    call->exchange = http_send(call->azure->world->http, &request, on_answer, call);
    explicit_bzero(bearer, strlen(bearer));
}

struct azure_call *azure_call_new(struct azure *azure, const struct pool_address *pool,
                                  const char *verb)
{
    const struct azure_place *place = azure_place_of(pool);
    struct azure_call *call = mem_new(sizeof *call);
    owned(chars) char *path = url_format(
        "/resourceGroups/%s/providers/Microsoft.ContainerService/managedClusters/%s/agentPools/%s",
        place->resource_group, place->managed_cluster, place->agent_pool);

    call->waiter.ready = on_token;
    call->azure = azure;
    call->label = text_format("%s of agent pool %s in %s", verb, place->agent_pool,
                              place->managed_cluster);
    call->pool_url = text_format("%s%s", azure->base, path);
    call->agent_pool = mem_copy_chars(place->agent_pool);
    call->cluster = text_format("%s/%s", place->resource_group, place->managed_cluster);
    call->zone = mem_copy_chars(place->zone);
    call->next = azure->first;
    if (azure->first)
        azure->first->previous = call;
    azure->first = call;
    return call;
}

char *azure_call_url(const struct azure_call *call, const char *below)
{
    owned(chars) char *query = url_format("?api-version=%s", call->azure->account->api_version);

    return text_format("%s%s%s", call->pool_url, below, query);
}

void azure_call_write(struct azure_call *call, enum azure_action action, const char *url,
                      const char *if_match, azure_answered_fn answered)
{
    owned(chars) char *copy = mem_copy_chars(url); /* may be of the exchange before */

    clear_exchange(call);
    call->action = action;
    call->url = steal(&copy);
    call->if_match = mem_copy_chars(if_match);
    call->answered = answered;
    ask_token(call);
}

void azure_call_send(struct azure_call *call, enum azure_action action, const char *url,
                     azure_answered_fn answered)
{
    mem_free(call->body);
    call->body = NULL;
    azure_call_write(call, action, url, NULL, answered);
}
