/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One exchange of http_curl: the copy of the request, its libcurl handle, and what came back.
 * Private to http_curl, which owns the exchanges and decides when each is sent and told.
 */
#pragma once

#include "base/text.h"
#include "base/world/http.h"
#include "base/world/http_secrets.h"

#include <curl/curl.h>
#include <sys/queue.h>

enum { EXCHANGE_HEADER_COUNT = 64, EXCHANGE_HEADER_SIZE = 16384 };

struct http_curl;
TAILQ_HEAD(exchange_list, http_exchange);

struct http_exchange {
    TAILQ_ENTRY(http_exchange) links;
    struct exchange_list *list; /* the list that it is in; NULL while its `done` runs */
    struct http_curl *client;
    http_done_fn done;
    void *context;
    enum http_priority priority;
    char *host; /* the key of the cap per host */
    CURL *easy; /* NULL when the request was refused */
    struct curl_slist *headers;
    struct curl_slist *connect_to;
    char *request_body;
    struct http_secrets *secrets; /* of the request; NULL: none */
    http_chunk_fn on_chunk;
    size_t answer_limit;
    bool is_stream;        /* without a timeout */
    bool is_outward;       /* of its answer the status counts, however the body ends */
    bool is_in_flight;     /* libcurl has it */
    bool is_cancelled;     /* no caller wants the answer any more */
    bool may_have_arrived; /* libcurl began to send the request */

    struct http_header received[EXCHANGE_HEADER_COUNT]; /* a name and its value are one block */
    size_t received_count;
    size_t received_size;
    struct text *answer_body;
    int status;
    char reason[CURL_ERROR_SIZE]; /* libcurl's longer words for its verdict */
    struct error err;             /* ERROR_NONE: there is an answer */
};

/* Copies the request into a handle that is ready to be sent.  A request that is refused has its
   error set and no handle. */
struct http_exchange *exchange_new(const struct http_request *request);
void exchange_free(struct http_exchange *exchange);

/* Takes libcurl's verdict: sets the status or the error. */
void exchange_finish(struct http_exchange *exchange, CURLcode code);

/* Calls `done`. now: by our clock. */
void exchange_tell(struct http_exchange *exchange, struct wall_time now);
