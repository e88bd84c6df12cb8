/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where keys for AWS come from, in the order of AWS's own clients: the environment, a web identity
 * (IAM roles for service accounts), the shared files, the container's agent (EKS Pod Identity, ECS)
 * and the instance's metadata server.  A chain lists the steps: begin with its first link, and
 * assume one role after the other.  Environment and files are read again each time, so that renewed
 * keys are used.
 */
#pragma once

#include "base/error.h"
#include "base/input/settings.h"
#include "providers/aws/aws_signature.h"

/* Texts that are not set are NULL. */
struct aws_account {
    const char *credentials; /* path; NULL: $AWS_SHARED_CREDENTIALS_FILE, ~/.aws/credentials */
    const char *profile;     /* NULL: $AWS_PROFILE, "default" */
    const char *region;
    const char *role;         /* taken on at the end of the chain */
    const char *external_id;  /* that the role asks for */
    const char *sts_endpoint; /* NULL: $AWS_ENDPOINT_URL_STS, the region's own */
};

/* The rows of a table of settings that fill the struct aws_account `member` of `object`. */
#define AWS_ACCOUNT_SETTING(key, type, object, member, otherwise, help)                            \
    {                                                                                              \
#key, type, offsetof(object, member.key), otherwise, 0, 0, help                            \
    }
#define AWS_ACCOUNT_SETTINGS(object, member)                                                       \
    AWS_ACCOUNT_SETTING(region, SETTING_TEXT, object, member, NULL, "region, such as us-east-1"),  \
        AWS_ACCOUNT_SETTING(profile, SETTING_TEXT, object, member, "",                             \
                            "profile of the shared files; absent: the environment, a web "         \
                            "identity, `default`, the container's agent, the metadata server"),    \
        AWS_ACCOUNT_SETTING(role, SETTING_TEXT, object, member, "",                                \
                            "ARN of a role that is assumed with those keys"),                      \
        AWS_ACCOUNT_SETTING(external_id, SETTING_TEXT, object, member, "",                         \
                            "external ID that the role requires"),                                 \
        AWS_ACCOUNT_SETTING(credentials, SETTING_PATH, object, member, "",                         \
                            "path of the shared credentials file"),                                \
        AWS_ACCOUNT_SETTING(sts_endpoint, SETTING_URL, object, member, "",                         \
                            "URL of the token service; absent: $AWS_ENDPOINT_URL_STS, or the "     \
                            "cloud's own")

enum { AWS_ACCOUNT_SIZE = 12 + 1 };

/* The number of the account that the role is of; false: no role says it. */
bool aws_account_number(const struct aws_account *account, char out[AWS_ACCOUNT_SIZE]);

/* Where the account's token service is; the caller frees it. */
char *aws_sts_url(const struct aws_account *account)
    __attribute__((returns_nonnull, warn_unused_result));

/* The settings that must fit together; *ret_key is the wrong one: ERROR_INVALID. */
int aws_account_check(const struct aws_account *account, const char **ret_key, struct error *err)
    __attribute__((warn_unused_result));

enum aws_link_kind {
    AWS_KEYS,         /* keys */
    AWS_WEB_IDENTITY, /* role, session, token_file, url */
    AWS_CONTAINER,    /* url, and token or token_file where there is one */
    AWS_METADATA,     /* url */
    AWS_ROLE,         /* role, session, external_id, url; signed with the keys so far */
};

struct aws_link {
    enum aws_link_kind kind;
    struct aws_keys keys;
    char *role;
    char *session;
    char *external_id;
    char *token_file;
    char *token;
    char *url;
};

enum { AWS_LINKS_MAX = 6 };

struct aws_chain {
    struct aws_link links[AWS_LINKS_MAX];
    size_t count;
};

/* Reads no network.  With a given profile or path, only the files count; otherwise all places in
   their order.  ERROR_DENIED names the places, and what each lacks. */
int aws_chain_read(const struct aws_account *account, struct aws_chain *ret_chain,
                   struct error *err) __attribute__((warn_unused_result));
void aws_chain_clear(struct aws_chain *chain);

/* One token and nothing else, from a file that may be renewed at any time; the caller frees it.  An
   empty file is ERROR_TRANSIENT: it may be about to be written. */
char *aws_token_read(const char *path, struct error *err) __attribute__((warn_unused_result));

static inline void owned_aws_chain(struct aws_chain *chain)
{
    aws_chain_clear(chain);
}
