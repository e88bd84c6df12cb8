/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signature Version 4, by which requests to AWS prove who sent them.  Pure: the same request at the
 * same time gives the same signature.  Every header given is signed; the body by its hash.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/world/http.h"

struct aws_keys {
    char *id;
    char *secret;
    char *token; /* NULL: the keys are lasting ones */
};

struct aws_request {
    const char *method;
    const char *target;                /* path and query, escaped as sent: "/a%20b?Version=1" */
    const struct http_header *headers; /* Host and X-Amz-Date among them */
    size_t header_count;
    const void *body;
    size_t body_size;
};

struct aws_scope {
    const char *region;
    const char *service;
    struct wall_time at;
};

enum { AWS_TIME_SIZE = 17, AWS_HEADERS_MAX = 32 };

/* "20150830T123600Z", the value of X-Amz-Date. */
void aws_time(struct wall_time at, char out[AWS_TIME_SIZE]);

/* The value of the Authorization header. */
char *aws_sign(const struct aws_keys *keys, const struct aws_scope *scope,
               const struct aws_request *request)
    __attribute__((returns_nonnull, warn_unused_result));

/* The same for the URL that the request goes to, whose path and query count instead of
   request->target.  Host is signed too, as HTTP clients write it.  ERROR_INVALID: it is no URL. */
char *aws_sign_url(const struct aws_keys *keys, const struct aws_scope *scope, const char *url,
                   const struct aws_request *request, struct error *err)
    __attribute__((warn_unused_result));

/* The URL with its signature in the query, for a GET by whoever has it.  The given URL has
   parameters already, X-Amz-Expires among them.  The header must be sent with the GET: it is
   signed, as Host is. */
char *aws_presign_url(const struct aws_keys *keys, const struct aws_scope *scope, const char *url,
                      const struct http_header *header, struct error *err)
    __attribute__((warn_unused_result));

/* The two texts that lead to it, for tests and fakes. */
char *aws_canonical_request(const struct aws_request *request)
    __attribute__((returns_nonnull, warn_unused_result));
char *aws_string_to_sign(const struct aws_scope *scope, const char *canonical)
    __attribute__((returns_nonnull, warn_unused_result));

void aws_keys_clear(struct aws_keys *keys);

static inline void owned_aws_keys(struct aws_keys *keys)
{
    aws_keys_clear(keys);
}
