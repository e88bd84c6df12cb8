/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service's HTTP interface.  JSON in, JSON out; an error is {"error": {"kind", "text"}} with a
 * status that says who must act: 400 the request is wrong, 401 show who you are, 403 refused by
 * policy or by the person's role (then with "cause": "permission"), 404 no such thing, 409 the
 * state has changed since it was read, 429 the person asks too often, 503 not possible now: try
 * again.  THE route table is in api.c.
 */
#pragma once

#include "base/text.h"
#include "base/world/http_server.h"
#include "broker/access/access.h"
#include "broker/access/refusals.h"
#include "broker/service/service.h"

struct api;

/* Borrows all.  Free it after the server whose calls it handles. */
struct api *api_new(struct service *service, const struct access *access, struct loop *loop)
    __attribute__((returns_nonnull, warn_unused_result));
void api_free(struct api *api);

/* How many requests it refused for that reason. */
int64_t api_refused(const struct api *api, enum refusal_reason reason);

/* Ends the calls that follow changes; before the server is freed, which cannot tell them. */
void api_end_streams(struct api *api);

/* Ends them after a change of the rules: their readers come again, and may not be let in. */
void api_restart_streams(struct api *api);

/* Handler for http_server_new(); context is the struct api. */
void api_handle(void *context, struct http_call *call);

/* The table of docs/access.md: each route and the least role that may ask it. */
void api_document(struct text *out);
