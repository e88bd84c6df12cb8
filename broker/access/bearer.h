/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bearer tokens: a JSON Web Token (RFC 7519) in the compact form of RFC 7515, signed with RS256 or
 * ES256 by a key of the issuer's set.  Tokens without a signature ("none"), with a shared secret
 * (HS256), encrypted tokens and critical extensions are refused.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "broker/access/web_keys.h"

#include <jansson.h>

enum { BEARER_SIZE_MOST = 16 << 10, BEARER_LEEWAY_MS = 60 * SECOND_MS };

/* The cause of a refusal of a token whose key is not in the set. */
extern const struct error_cause bearer_key_unknown;

/* What a token must say; iss, aud and exp must be there. */
struct bearer_rules {
    const char *issuer;   /* `iss`, the same text */
    const char *audience; /* `aud`, or one of its items */
};

/* The claims of a token that is signed and valid at that time: new JSON, the caller frees it.
   Clocks may differ by BEARER_LEEWAY_MS.  NULL and ERROR_DENIED with the reason, which quotes
   nothing of the token. */
json_t *bearer_read(const char *token, const struct web_keys *keys,
                    const struct bearer_rules *rules, struct wall_time now, struct error *err)
    __attribute__((warn_unused_result));

/* From when on bearer_read() refuses the token of these claims, which it has read. */
struct wall_time bearer_ends(const json_t *claims);

/* Whether the claim is this text, or a list that has it. */
bool bearer_has(const json_t *claims, const char *name, const char *value);
