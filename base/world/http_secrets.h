/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Removes a request's secrets from its answer.  A server that repeats our bearer token, in a
 * message, a header or an object, would otherwise make us write it into errors, events, status and
 * log.  The exchange knows what it sent, so it replaces the secrets in the answer before any caller
 * sees it.
 *
 * Secrets are the credentials in Authorization, the values of session token headers, and the
 * assertions and passwords of a form or a query.  Only the form that was sent is found: a server
 * that encodes a secret in another way can misuse it anyway.  A text under 8 bytes does not count
 * as a secret, because too much would be replaced.
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
