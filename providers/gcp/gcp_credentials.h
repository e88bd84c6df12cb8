/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where access to Google comes from, in the order of Google's own clients: the file that the
 * configuration names, $GOOGLE_APPLICATION_CREDENTIALS, the file of `gcloud auth
 * application-default login`, the metadata server.  If the configuration names a metadata server
 * and no file, only that server is asked.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The identity to get a token for.  Texts are borrowed. */
struct gcp_identity {
    const char *credentials; /* path of a file of credentials; NULL: the search above */
    const char *metadata;    /* overrides the metadata server's URL; NULL: its own */
};

enum gcp_credentials_kind {
    GCP_METADATA,         /* token_url */
    GCP_SERVICE_ACCOUNT,  /* a key signs an assertion */
    GCP_AUTHORIZED_USER,  /* a refresh token */
    GCP_EXTERNAL_ACCOUNT, /* workload identity federation: another issuer's token is exchanged */
};

enum { GCP_SUBJECT_HEADERS = 4 };

/* Texts that are not set are NULL. */
struct gcp_credentials {
    enum gcp_credentials_kind kind;
    char *token_url;

    char *email;
    char *key_pem;
    char *key_id;

    char *client_id;
    char *client_secret;
    char *refresh_token;

    char *audience;
    char *subject_type;
    char *subject_file; /* this or subject_url is set */
    char *subject_url;
    char *subject_field; /* the member of a JSON object that has the token; NULL: the whole text is
                            the token */
    struct {
        char *name;
        char *value;
    } subject_headers[GCP_SUBJECT_HEADERS];
    char *impersonation_url; /* NULL: the exchanged token is used as it is */
    int64_t impersonation_life_s;

    char *quota_project; /* pays for the requests; NULL: the project that is asked */
};

/* Reads files only.  ERROR_INVALID names the file and the member that is wrong.  Tokens are sent in
   plain text to this machine and to metadata servers alone: another plain URL is ERROR_INVALID. */
int gcp_credentials_read(const struct gcp_identity *whose, struct gcp_credentials *ret_credentials,
                         struct error *err) __attribute__((warn_unused_result));
void gcp_credentials_clear(struct gcp_credentials *credentials);

static inline void owned_gcp_credentials(struct gcp_credentials *credentials)
{
    gcp_credentials_clear(credentials);
}
