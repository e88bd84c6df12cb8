/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What keeps pages of other sites away from the service, and what a browser is told with each
 * answer.  The headers are those of the Fetch standard (Origin), of Fetch Metadata (Sec-Fetch-*)
 * and of HTTP (Host).
 */
#pragma once

#include "base/error.h"
#include "base/world/http_server.h"

#include <stdbool.h>

/* For answers with data. */
enum { BROWSER_HEADERS = 2 };
extern const struct http_header browser_headers[BROWSER_HEADERS];

/* -1 with ERROR_DENIED or ERROR_INVALID: the request comes from another site, or may do so.
   is_page: it is for a file of the web page, to which other sites may link. */
int browser_check(const struct http_call *call, bool is_page, struct error *err)
    __attribute__((warn_unused_result));
