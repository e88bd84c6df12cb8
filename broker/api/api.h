/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service's HTTP interface on its unix socket.  JSON in, JSON out; an error is {"error":
 * {"kind", "text"}} with a status that says who must act: 400 the request is wrong, 403 refused by
 * policy or by the peer's rights, 404 no such thing, 409 the state has changed since it was read,
 * 503 not possible now: try again.  THE route table is in api.c.
 */
#pragma once

#include "base/world/http_server.h"
#include "broker/service/service.h"

/* Handler for http_server_new(); context is the service. */
void api_handle(void *context, struct http_call *call);
