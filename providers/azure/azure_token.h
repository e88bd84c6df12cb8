/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Access tokens of Microsoft Entra ID for Azure Resource Manager.  They come from the first of
 * these that exists: a client secret from a file, a federated token (workload identity), a client
 * secret from the environment, the machine's managed identity.  Environment and files are read
 * again for each token, so that renewed secrets are used.
 */
#pragma once

#include "providers/common/token_cache.h"

/* Whose token it is.  The identity must outlive the cache.  Its texts are borrowed; NULL: as
   $AZURE_TENANT_ID, $AZURE_CLIENT_ID and $AZURE_AUTHORITY_HOST have it, or the public cloud's. */
struct azure_identity {
    const char *tenant;
    const char *client_id;
    const char *client_secret; /* path; NULL: none */
    const char *authority;     /* URL */
    const char *metadata;      /* URL of the metadata server */
    const char *audience;      /* whose API the token is for; never NULL */
};

/* Reads the secret's file once, to report early that it is wrong; nothing is sent yet. */
struct token_cache *azure_token_new(struct world *world, const struct azure_identity *whose,
                                    struct error *err) __attribute__((warn_unused_result));
