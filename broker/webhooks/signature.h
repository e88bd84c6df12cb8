/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a webhook's files hold, its URL and the secrets of its signature, and the signature itself:
 * Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks,
 * spec/standard-webhooks.md), the symmetric scheme "v1".
 */
#pragma once

#include "base/timestamp.h"
#include "broker/config/config.h"

enum { WEBHOOK_SECRETS = 2 }; /* while one is being replaced, both sign */

struct webhook_access {
    char *url;
    struct text *secrets[WEBHOOK_SECRETS]; /* bytes; NULL: none */
};

/* Reads the files that the webhook names.  No error repeats what is in them.  ERROR_DENIED if
   others may read or change one, ERROR_INVALID if one has another form. */
int webhook_access_read(const struct config_webhook *hook, struct webhook_access *ret_access,
                        struct error *err) __attribute__((warn_unused_result));

/* Overwrites the secrets. */
void webhook_access_clear(struct webhook_access *access);

/* The header webhook-signature: "v1,BASE64", once for each secret, with a space between them.  The
   caller frees it with mem_free(). */
char *webhook_signature(const struct webhook_access *access, const char *id, struct wall_time at,
                        const char *body) __attribute__((returns_nonnull, warn_unused_result));

static inline void owned_webhook_access(struct webhook_access *access)
{
    webhook_access_clear(access);
}
