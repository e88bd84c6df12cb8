/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The public keys of a token's issuer: a JSON Web Key Set (RFC 7517).  Keys for RS256 (RSA of 2048
 * to 8192 bits) and ES256 (P-256) are kept.  Keys of other kinds and uses are passed over, because
 * issuers publish them in the same set.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEB_KEYS_MOST = 100, WEB_KEYS_SIZE_MOST = 256 << 10 };

struct web_keys;

/* `source` names the text in errors.  ERROR_CORRUPT: it is no key set.  ERROR_INVALID: a key for
   one of the two algorithms cannot be used, two of them have one `kid`, or there is none. */
struct web_keys *web_keys_parse(const char *bytes, size_t size, const char *source,
                                struct error *err) __attribute__((warn_unused_result));
void web_keys_free(struct web_keys *keys);

struct web_signature {
    const void *bytes; /* that were signed */
    size_t size;
    const void *signature; /* as in RFC 7515: for ES256 r and s, 64 bytes */
    size_t signature_size;
};

/* Whether a key of the set has signed the bytes.  algorithm: "RS256" or "ES256", any other is
   refused.  id: the key's `kid`; NULL: allowed if the set has just one key for the algorithm. */
bool web_keys_verify(const struct web_keys *keys, const char *algorithm, const char *id,
                     const struct web_signature *claim);

/* Whether the set has a key of that `kid` for the algorithm.  id NULL: the token names none. */
bool web_keys_has(const struct web_keys *keys, const char *algorithm, const char *id);

/* The number of keys that were kept. */
size_t web_keys_count(const struct web_keys *keys);

static inline void owned_web_keys(struct web_keys **keys)
{
    web_keys_free(*keys);
}
