/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that follows the changes: a reader of changes.h on an HTTP connection.
 */
#pragma once

#include "base/world/http_server.h"
#include "broker/access/access.h"
#include "broker/api/changes.h"

/* Answers the call of a person whom changes_check() allows one more reader.  The stream ends with
   the client, with the changes, and with the person's certificate or token. */
void stream_begin(struct changes *changes, struct http_call *call, const struct person *person);
