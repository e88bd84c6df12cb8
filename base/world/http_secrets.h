/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a request carries that must not come back: a server that repeats our bearer token, in a
 * sentence, a header or an object, would have us write it into errors, events, status and log.
 * The exchange knows what it sent, so it strikes that out of the answer before anybody sees it.
 *
 * A secret is what follows the scheme in Authorization, what the headers of session tokens hold,
 * and the assertions and passwords of a form or a query.  It is found as it was sent: a server that
 * encodes it in another way has it, and us, in its hand anyway.  What is shorter than 8 bytes is
 * none, for then too much would be struck.
 */
#pragma once

#include "base/text.h"
#include "base/world/http.h"

#define HTTP_SECRET_STRUCK "[redacted]"

struct http_secrets;

/* Copies them; NULL: the request carries none. */
struct http_secrets *http_secrets_new(const struct http_request *request)
    __attribute__((warn_unused_result));

/* Wipes the copies; NULL is legal. */
void http_secrets_free(struct http_secrets *secrets);

/* Whether a header or its value shows one; NULL has none. */
bool http_secrets_show(const struct http_secrets *secrets, const char *bytes, size_t size);

/* Puts HTTP_SECRET_STRUCK in the place of each. */
void http_secrets_strike(const struct http_secrets *secrets, struct text *text);

/* The same for a stream.  Passes on the cleaned bytes, and keeps back only an end that may be the
   beginning of a secret, until the next piece.  What is kept when the stream ends is dropped,
   because no line and no object ends within a token. */
void http_secrets_stream(struct http_secrets *secrets, const char *bytes, size_t size,
                         http_chunk_fn on_chunk, void *context);
