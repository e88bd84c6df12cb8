/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of requests, and how one of them is signed and sent.
 */
#include "providers/oci/oci_client.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "providers/oci/oci_errors.h"
#include "providers/oci/oci_signature.h"

#include <string.h>

enum { CALL_TIMEOUT_MS = 30 * SECOND_MS, ANSWER_LIMIT = 16 * 1024 * 1024, OWN_HEADERS = 3 };

const struct provider_action oci_actions[OCI_VERB_COUNT] = {
    [OCI_READ_POOL] = { "GetNodePool", "read cluster-node-pools", false,
                        "lists a pool's machines" },
    [OCI_DELETE_NODE] = { "DeleteNode", "manage cluster-node-pools", true, "removes one machine" },
    [OCI_UPDATE_POOL] = { "UpdateNodePool", "manage cluster-node-pools", true,
                          "sets the size of a pool" },
    [OCI_READ_RESERVATION] = { "GetComputeCapacityReservation",
                               "read compute-capacity-reservations", false,
                               "inspects the reservation of a pool" },
};

static const struct {
    const char *service; /* of the public URL "https://SERVICE.REGION.DOMAIN" */
    const char *domain;
    const char *base;
    enum http_method method;
} forms[OCI_VERB_COUNT] = {
    [OCI_READ_POOL] = { "containerengine", "oci.oraclecloud.com", "/20180222", HTTP_GET },
    [OCI_DELETE_NODE] = { "containerengine", "oci.oraclecloud.com", "/20180222", HTTP_DELETE },
    [OCI_UPDATE_POOL] = { "containerengine", "oci.oraclecloud.com", "/20180222", HTTP_PUT },
    [OCI_READ_RESERVATION] = { "iaas", "oraclecloud.com", "/20160918", HTTP_GET },
};

struct oci_client {
    struct world *world;
    const struct oci_account *account;
    struct oci_call *first;
    struct crypto_key *key; /* of the profile as it was read last; NULL: none yet */
};

/* Takes it off the list, and frees what it holds but not the call itself. */
static void end_call(struct oci_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        call->client->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    http_cancel(call->client->world->http, call->exchange);
    timer_free(call->late);
}

static void finish_failed(struct oci_call *call, struct error *err)
{
    error_context(err, "oci: %s", call->label);
    end_call(call);
    call->answered(call, NULL, err);
}

static void on_late(void *context)
{
    struct oci_call *call = context;
    struct error failure = call->failure;

    finish_failed(call, &failure);
}

static void on_transport_failure(struct oci_call *call, const struct error *err)
{
    bool is_mutation = oci_actions[call->verb].is_mutation;
    struct error failure = *err;

    if (is_mutation && failure.kind == ERROR_CORRUPT)
        failure.kind = ERROR_UNKNOWN_OUTCOME;
    if (!is_mutation && failure.kind == ERROR_UNKNOWN_OUTCOME)
        failure.kind = ERROR_TRANSIENT;
    finish_failed(call, &failure);
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct oci_call *call = context;
    owned(json) json_t *body = NULL;
    struct error why = { 0 };

    call->exchange = NULL;
    if (err) {
        on_transport_failure(call, err);
        return;
    }
    call->status = answer->status;
    if (answer->body_size > 0)
        body = json_parse_foreign(answer->body, answer->body_size, "answer", &why);

    const struct oci_said said = {
        .status = answer->status,
        .body = body,
        .retry_after_ms = answer->retry_after_ms,
        .is_mutation = oci_actions[call->verb].is_mutation,
    };
    const struct oci_answer parts = {
        .body = body,
        .etag = http_header_find(answer->headers, answer->header_count, "etag") ?: "",
        .work_request =
            http_header_find(answer->headers, answer->header_count, "opc-work-request-id") ?: "",
    };

    if (oci_error_of_answer(&said, &why) < 0) {
        finish_failed(call, &why);
    } else if (!body && !said.is_mutation) {
        error_set(&why, ERROR_CORRUPT, "%d: the body is not JSON", answer->status);
        finish_failed(call, &why);
    } else {
        end_call(call);
        call->answered(call, &parts, NULL);
    }
}

static char *url_of(const struct oci_client *client, const struct oci_profile *profile,
                    const struct oci_question *question, struct error *err)
{
    const char *endpoint = client->account->endpoint;
    const char *region = client->account->region ?: profile->region;
    size_t length = endpoint ? strlen(endpoint) : 0;

    while (length > 0 && endpoint[length - 1] == '/')
        length--;
    if (endpoint)
        return text_format("%.*s%s%s", (int)length, endpoint, forms[question->verb].base,
                           question->path);
    if (region)
        return text_format("https://%s.%s.%s%s%s", forms[question->verb].service, region,
                           forms[question->verb].domain, forms[question->verb].base,
                           question->path);
    error_set(err, ERROR_INVALID, "neither the provider nor its profile has a region");
    return NULL;
}

static int sign_and_send(struct oci_call *call, const struct oci_question *question,
                         struct error *err)
{
    struct oci_client *client = call->client;
    owned(oci_profile) struct oci_profile profile = { 0 };
    owned(oci_headers) struct oci_headers signed_headers = { 0 };
    owned(chars) char *url = NULL;
    owned(chars) char *body = question->body ? json_print(question->body) : mem_copy_chars("");
    struct http_header headers[OCI_SIGNED_HEADERS + OWN_HEADERS];
    size_t count = 0;

    if (oci_profile_read(client->account, &profile, err) < 0)
        return -1;
    url = url_of(client, &profile, question, err);
    if (!url)
        return -1;

    const struct oci_request request = {
        .method = forms[question->verb].method,
        .url = url,
        .body = body,
        .at = loop_wall(client->world->loop),
    };

    if (crypto_key_read(&client->key, profile.key_pem, err) < 0 ||
        oci_sign(profile.key_id, client->key, &request, &signed_headers, err) < 0)
        return -1;
    for (size_t i = 0; i < signed_headers.count; i++)
        headers[count++] = (struct http_header){ signed_headers.items[i].name,
                                                 signed_headers.items[i].value };
    headers[count++] = (struct http_header){ "Accept", "application/json" };
    headers[count++] = (struct http_header){ "User-Agent", "sluice/" SLUICE_VERSION };
    if (question->etag)
        headers[count++] = (struct http_header){ "if-match", question->etag };

    bool is_mutation = oci_actions[question->verb].is_mutation;
    const struct http_request http = {
        .method = request.method,
        .priority = is_mutation ? HTTP_RECLAIM : HTTP_POLL,
        .url = url,
        .headers = headers,
        .header_count = count,
        .body = body[0] ? body : NULL,
        .body_size = strlen(body),
        .is_mutation = is_mutation,
        .timeout_ms = CALL_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    call->exchange = http_send(client->world->http, &http, on_answer, call);
    return 0;
}

void oci_client_ask(struct oci_client *client, const struct oci_question *question,
                    struct oci_call *call, oci_answered_fn answered)
{
    call->client = client;
    call->answered = answered;
    call->verb = question->verb;
    call->status = 0;
    call->exchange = NULL;
    call->late = NULL;
    text_copy(call->label, sizeof call->label, question->label);
    call->previous = NULL;
    call->next = client->first;
    if (client->first)
        client->first->previous = call;
    client->first = call;
    if (sign_and_send(call, question, &call->failure) == 0)
        return;
    call->late = timer_new(client->world->loop, on_late, call);
    timer_set(call->late, 0);
}

struct oci_client *oci_client_new(struct world *world, const struct oci_account *account,
                                  struct error *err)
{
    owned(oci_profile) struct oci_profile profile = { 0 };
    struct oci_client *client;

    if (oci_profile_read(account, &profile, err) < 0)
        return NULL;
    client = mem_new(sizeof *client);
    client->world = world;
    client->account = account;
    return client;
}

void oci_client_free(struct oci_client *client)
{
    while (client->first) {
        struct oci_call *call = client->first;

        end_call(call);
        if (call->clear)
            call->clear(call);
        mem_free(call);
    }
    crypto_key_free(client->key);
    mem_free(client);
}
