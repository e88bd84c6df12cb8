/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The profile of Oracle's own clients: a file of sections, each with the keys of one API key.  Keys
 * that a section lacks are those of [DEFAULT].
 */
#pragma once

#include "base/error.h"

/* Texts that are not set are NULL. */
struct oci_account {
    const char *credentials; /* path; NULL: $OCI_CONFIG_FILE, ~/.oci/config */
    const char *profile;     /* NULL: $OCI_CLI_PROFILE, DEFAULT */
    const char *region;      /* NULL: the profile's */
    const char *endpoint;    /* overrides the public URL */
};

struct oci_profile {
    char *key_id; /* "TENANCY/USER/FINGERPRINT", or "ST$TOKEN" of a session */
    char *key_pem;
    char *region; /* NULL: the profile has none */
};

/* Reads files only.  ERROR_DENIED: there is no such file or profile.  ERROR_INVALID names the file
   and the key that is wrong. */
int oci_profile_read(const struct oci_account *account, struct oci_profile *ret_profile,
                     struct error *err) __attribute__((warn_unused_result));
void oci_profile_clear(struct oci_profile *profile);

static inline void owned_oci_profile(struct oci_profile *profile)
{
    oci_profile_clear(profile);
}
