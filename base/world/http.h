/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The HTTP client: one exchange, one answer, on the loop.  http_curl speaks to the world;
 * the simulator brings an implementation of the same verbs that answers in virtual time.
 *
 * What the caller relies on:
 *  - `done` is called exactly once for each http_send() (not after http_cancel()), never from
 *    inside http_send(), always in a turn of the loop.
 *  - A mutation (`is_mutation`) is sent at most once, on a connection of its own: libcurl repeats
 *    even a POST silently when a reused connection dies.  Where the request names what it is about
 *    so that a repeat changes nothing more (`is_repeatable`), it may go on a kept connection.
 *  - If no answer comes, the kind of the error says what may have happened: ERROR_TRANSIENT when
 *    the request surely never left (refused, no route, name unknown, TLS failed),
 *    ERROR_UNKNOWN_OUTCOME when it may have arrived (reset or timed out after connecting, body
 *    cut).  For a request that is no mutation that difference does not matter to most callers.
 *  - Any HTTP status, 500 too, is an answer: err is NULL.  The caller decides what it means.
 *  - Redirects are not followed, environment proxies are not used, plain http is refused except to
 *    loopback addresses, unix sockets and the cloud's link-local metadata server.
 *  - Requests over the cap wait in order of priority, then in the order of http_send().  Streams
 *    without a timeout are not counted: they would take the places of all others forever.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "base/world/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_METHOD_COUNT };

/* The order in which waiting requests are sent. */
enum http_priority { HTTP_RECLAIM, HTTP_DRAIN, HTTP_POLL, HTTP_INVENTORY, HTTP_PRIORITY_COUNT };

struct http_header {
    const char *name;
    const char *value;
};

/* PEM texts (not paths); NULL where not used. */
struct http_tls {
    const char *ca_pem;          /* NULL: the system's authorities */
    const char *certificate_pem; /* client certificate and its key */
    const char *key_pem;
    const char *server_name; /* verify against this name instead of the URL's */
};

/* Called with each piece of a streamed body as it arrives (a watch).  Only for status 200: other
   bodies go to the answer.  It may call http_cancel() and http_send(); both take effect after the
   piece. */
typedef void (*http_chunk_fn)(void *context, const char *bytes, size_t size);

struct http_request {
    enum http_method method;
    enum http_priority priority;
    const char *url;
    const char *unix_socket; /* path; NULL: TCP */
    const struct http_header *headers;
    size_t header_count;
    const char *body; /* NULL: none */
    size_t body_size;
    const struct http_tls *tls;
    bool is_mutation;
    bool is_repeatable;     /* a mutation that may arrive twice */
    bool is_outward;        /* to a receiver that a person chose: see http_check_outward_url().  Its
                               status counts, even if its body is cut or too long */
    bool accepts_gzip;      /* the server may compress the answer; the caller gets it unpacked */
    int64_t timeout_ms;     /* of the whole exchange; 0: none, allowed only with on_chunk */
    size_t answer_limit;    /* bytes of body; 0: 1 MiB.  More is ERROR_CORRUPT */
    http_chunk_fn on_chunk; /* gets the body of a 2xx; NULL: all bodies are in the answer */
};

/* Valid during `done` only. */
struct http_answer {
    int status;
    const char *body; /* terminated; "" when empty */
    size_t body_size;
    int64_t retry_after_ms; /* from http_retry_after_ms(); error_wait() bounds it */
    const struct http_header *headers;
    size_t header_count;
};

/* Exactly one of answer and err is not NULL. */
typedef void (*http_done_fn)(void *context, const struct http_answer *answer,
                             const struct error *err);

struct http;
struct http_exchange;

/* An implementation embeds struct http as its first member. */
struct http_verbs {
    struct http_exchange *(*send)(struct http *http, const struct http_request *request,
                                  http_done_fn done, void *context);
    void (*cancel)(struct http_exchange *exchange);
    void (*free)(struct http *http);
};

struct http {
    const struct http_verbs *verbs;
};

struct http_limits {
    size_t in_flight;          /* in all; 0: 256 */
    size_t in_flight_per_host; /* 0: 64 */
};

/* The client on libcurl's multi interface. */
struct http *http_curl_new(struct loop *loop, const struct http_limits *limits, struct error *err)
    __attribute__((warn_unused_result));

/* Copies the request, and what tls points to.  The handle is valid until `done` has returned. */
struct http_exchange *http_send(struct http *http, const struct http_request *request,
                                http_done_fn done, void *context);

/* Ends an exchange without calling `done`.  NULL is legal. */
void http_cancel(struct http *http, struct http_exchange *exchange);

/* Ends all exchanges without calling `done`.  Not from inside `done` or a chunk function. */
void http_free(struct http *http);

/* Whether requests may be sent there: https, or plain http to this machine or to a cloud's metadata
   server. 0 or -1: ERROR_INVALID. */
int http_check_url(const char *url, struct error *err) __attribute__((warn_unused_result));

/* The same for requests with is_outward: no metadata server of a cloud either, nor any other
   address of the link (169.254.0.0/16, fe80::/10, fd00:ec2::/32).  The address is checked again
   when the connection is made, whatever a name server has said. */
int http_check_outward_url(const char *url, struct error *err) __attribute__((warn_unused_result));

/* Whether the permissions of a unix socket deny us access: -1, ERROR_DENIED with its owner and the
   remedy. 0: they do not, whatever else may be wrong with it. */
int http_socket_check(const char *path, struct error *err) __attribute__((warn_unused_result));

const char *http_method_name(enum http_method method);

/* The header's value, compared without case; NULL when absent. */
const char *http_header_find(const struct http_header *headers, size_t count, const char *name);

/* How long Retry-After asks to wait, in seconds or until a date; 0 when it is absent, past or not
   understood.  A date counts from the answer's own Date, else from now, by our clock. */
int64_t http_retry_after_ms(const struct http_header *headers, size_t count, struct wall_time now);

static inline void owned_http(struct http **http)
{
    http_free(*http);
}
