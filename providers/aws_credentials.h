/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the keys for AWS come from: the environment, or the shared credentials file.  They are read
 * anew each time, so that whoever renews them in place is heard.
 */
#pragma once

#include "base/error.h"
#include "providers/aws_signature.h"

struct aws_account {
    const char *credentials; /* path; NULL: $AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials */
    const char *profile;     /* NULL: $AWS_PROFILE, "default" */
};

/* Without a profile or a path said, $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY (and
   $AWS_SESSION_TOKEN) come first.  ERROR_DENIED lists where was looked. */
int aws_keys_read(const struct aws_account *account, struct aws_keys *ret_keys, struct error *err)
    __attribute__((warn_unused_result));
