/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Oracle's signatures of requests: HTTP signatures (draft-cavage-http-signatures-08), RSA with
 * SHA-256.  Signed are date, method and target, host, and of requests with a body its digest, type
 * and length.  Pure.
 */
#pragma once

#include "base/crypto.h"
#include "base/timestamp.h"
#include "base/world/http.h"

enum { OCI_SIGNED_HEADERS = 6 };

struct oci_request {
    enum http_method method;
    const char *url;  /* absolute, escaped */
    const char *body; /* "" for none; PUT and POST sign it even so */
    struct wall_time at;
};

/* The headers to send. */
struct oci_headers {
    struct {
        const char *name;
        char *value;
    } items[OCI_SIGNED_HEADERS];
    size_t count;
};

int oci_sign(const char *key_id, const struct crypto_key *key, const struct oci_request *request,
             struct oci_headers *ret_headers, struct error *err)
    __attribute__((warn_unused_result));
void oci_headers_clear(struct oci_headers *headers);

static inline void owned_oci_headers(struct oci_headers *headers)
{
    oci_headers_clear(headers);
}
