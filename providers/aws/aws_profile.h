/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shared files of AWS's clients: ~/.aws/credentials has sections [NAME], ~/.aws/config has
 * [profile NAME] and [default].  A profile may stand in both; what the credentials file says wins.
 */
#pragma once

#include "base/text.h"
#include "providers/aws/aws_signature.h"

struct aws_profiles {
    char *credentials_path;
    struct text *credentials; /* NULL: there is no such file */
    struct text *config;
};

/* What is not said is NULL. */
struct aws_profile {
    struct aws_keys keys;
    char *role;
    char *source; /* profile */
    char *credential_source;
    char *token_file;
    char *session;
    char *external_id;
};

/* credentials: a path; NULL: $AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials.  Files that are not
   there are none; one that cannot be read is an error. */
int aws_profiles_read(const char *credentials, struct aws_profiles *ret_files, struct error *err)
    __attribute__((warn_unused_result));
void aws_profiles_clear(struct aws_profiles *files);

/* ERROR_DENIED when no file has the profile. */
int aws_profile_find(const struct aws_profiles *files, const char *name,
                     struct aws_profile *ret_profile, struct error *err)
    __attribute__((warn_unused_result));
void aws_profile_clear(struct aws_profile *profile);

static inline void owned_aws_profiles(struct aws_profiles *files)
{
    aws_profiles_clear(files);
}

static inline void owned_aws_profile(struct aws_profile *profile)
{
    aws_profile_clear(profile);
}
