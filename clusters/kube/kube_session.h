/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one place that speaks to an API server: it joins the URL, adds the headers, and turns what
 * comes back into a JSON body or an error.
 *
 * Credentials and authorities are replaced while we run.  It reads the kubeconfig and its token
 * again after a 401, if the server cannot be reached (a TLS failure is not always reported as one),
 * and if no token can be had; every few seconds at most.  If the credentials are new, a request
 * that was surely not carried out is sent once more.  A kubeconfig that cannot be read completely
 * changes nothing; the error of the request tells why.  Streams that are open stay open.
 */
#pragma once

#include "base/error.h"
#include "base/world/http.h"
#include "base/world/world.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_config;
struct kube_login;
struct kube_session;
struct kube_exchange;

enum kube_verb {
    KUBE_READ,
    KUBE_STREAM, /* a watch, or a list as it comes: on_chunk gets the body of a 200 */
    KUBE_PATCH,
    KUBE_EVICT,
    KUBE_CREATE,
    KUBE_DELETE, /* "it is gone" is a success */
};

struct kube_call {
    enum kube_verb verb;
    enum http_priority priority;
    const char *target;       /* "/api/v1/nodes?limit=25000" */
    const char *content_type; /* of the body; NULL: application/json */
    const json_t *body;       /* NULL: none */
    int64_t timeout_ms;
    bool is_long; /* the answer is long, and no watch: compressed if the server can */
    http_chunk_fn on_chunk;
};

/* Exactly one of body and err is not NULL, except for KUBE_STREAM, which may end with neither. body
   is borrowed.  ERROR_CONFLICT of a read is 410: list again. */
typedef void (*kube_done_fn)(void *context, const json_t *body, const struct error *err);

/* Takes config.  The name is for error texts and must outlive the session. */
struct kube_session *kube_session_new(struct world *world, const char *name,
                                      struct kube_config *config)
    __attribute__((returns_nonnull, warn_unused_result));

/* Takes the login: from now on its tokens are shown, and no other.  Before the first request. */
void kube_session_log_in(struct kube_session *session, struct kube_login *login);

/* Ends what is in flight; their `done` is not called. */
void kube_session_free(struct kube_session *session);

/* done is called once, in a later turn; the handle is valid until then. */
struct kube_exchange *kube_send(struct kube_session *session, const struct kube_call *call,
                                kube_done_fn done, void *context);

/* Ends an exchange without calling done; NULL is legal. */
void kube_cancel(struct kube_exchange *exchange);

struct world *kube_world(const struct kube_session *session);
const char *kube_name(const struct kube_session *session);

/* By how much the server's clock is ahead of ours; 0 when they agree within seconds, or when it is
   unknown.  The server's time is stored, not the difference: when our clock moves, the difference
   does, too. */
int64_t kube_ahead_ms(const struct kube_session *session);

/* When an answer last had the server's clock, in loop time; 0: never. */
int64_t kube_clock_heard_ms(const struct kube_session *session);
