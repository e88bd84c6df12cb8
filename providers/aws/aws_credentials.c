/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The environment, then the files (aws_profile.c), then what the machine gives.
 */
#include "providers/aws/aws_credentials.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/url.h"
#include "providers/aws/aws_profile.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* Each profile is a link, and one more role may follow: the chain must have room for them. */
enum { TOKEN_LIMIT = 20000, PROFILES_MAX = AWS_LINKS_MAX - 2 };

static const char container_host[] = "http://169.254.170.2";
static const char metadata_url[] = "http://169.254.169.254";

/* $name, when it has something in it. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

void aws_chain_clear(struct aws_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        struct aws_link *link = &chain->links[i];

        aws_keys_clear(&link->keys);
        secret_free(steal(&link->token));
        mem_free(link->role);
        mem_free(link->session);
        mem_free(link->external_id);
        mem_free(link->token_file);
        mem_free(link->url);
    }
    *chain = (struct aws_chain){ 0 };
}

char *aws_token_read(const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read(path, TOKEN_LIMIT, err);
    size_t start;
    size_t length;
    char *token;

    if (!bytes)
        return NULL;
    start = strspn(bytes->chars, " \t\r\n");
    length = strcspn(bytes->chars + start, "\r\n");
    token = text_format("%.*s", (int)length, bytes->chars + start);
    length += start + strspn(bytes->chars + start + length, " \t\r\n");
    if (token[0] == '\0')
        error_set(err, ERROR_TRANSIENT, "%s: is empty", path);
    else if (length != bytes->length)
        error_set(err, ERROR_INVALID, "%s: expected one token and nothing else", path);
    if (token[0] == '\0' || length != bytes->length)
        secret_free(steal(&token));
    explicit_bzero(bytes->chars, bytes->length);
    return token;
}

static bool add_keys_of_environment(struct aws_chain *chain)
{
    const char *id = environment("AWS_ACCESS_KEY_ID");
    const char *secret = environment("AWS_SECRET_ACCESS_KEY");

    if (!id || !secret)
        return false;
    chain->links[chain->count++] = (struct aws_link){
        .kind = AWS_KEYS,
        .keys = { mem_copy_chars(id), mem_copy_chars(secret),
                  mem_copy_chars(environment("AWS_SESSION_TOKEN")) },
    };
    return true;
}

static bool add_web_identity(struct aws_chain *chain)
{
    const char *role = environment("AWS_ROLE_ARN");
    const char *file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");

    if (!role || !file)
        return false;
    chain->links[chain->count++] = (struct aws_link){
        .kind = AWS_WEB_IDENTITY,
        .role = mem_copy_chars(role),
        .session = mem_copy_chars(environment("AWS_ROLE_SESSION_NAME")),
        .token_file = mem_copy_chars(file),
    };
    return true;
}

/* A token may travel in plain text only to this machine and to agents on its link. */
static int check_container(const char *chars, struct error *err)
{
    static const char *const hosts[] = { "localhost", "::1", "169.254.170.2", "169.254.170.23",
                                         "fd00:ec2::23" };
    struct in_addr address;
    struct url url;

    if (url_parse(chars, &url, err) < 0)
        return error_context(err, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (text_equal(url.scheme, "https") ||
        (inet_pton(AF_INET, url.host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127))
        return 0;
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        if (text_equal(url.host, hosts[i]))
            return 0;
    return error_set(err, ERROR_INVALID,
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI: plain http to %s, which is neither this "
                     "machine nor an agent of AWS",
                     url.host);
}

/* 1: there is such an agent; 0: not. */
static int add_container(struct aws_chain *chain, struct error *err)
{
    const char *path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");

    if (!path && !full)
        return 0;

    owned(chars) char *url = path ? text_format("%s%s", container_host, path)
                                  : mem_copy_chars(full);

    if (check_container(url, err) < 0)
        return -1;
    chain->links[chain->count++] = (struct aws_link){
        .kind = AWS_CONTAINER,
        .url = steal(&url),
        .token_file = mem_copy_chars(environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")),
        .token = mem_copy_chars(environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")),
    };
    return 1;
}

static bool add_metadata(struct aws_chain *chain)
{
    const char *url = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?: metadata_url;
    size_t length = strlen(url);

    if (text_equal(environment("AWS_EC2_METADATA_DISABLED"), "true"))
        return false;
    while (length > 0 && url[length - 1] == '/')
        length--;
    chain->links[chain->count++] = (struct aws_link){
        .kind = AWS_METADATA,
        .url = text_format("%.*s", (int)length, url),
    };
    return true;
}

/* credential_source of a profile. */
static int add_source(struct aws_chain *chain, const char *name, struct error *err)
{
    int found = 0;

    if (text_equal(name, "Environment"))
        found = add_keys_of_environment(chain);
    else if (text_equal(name, "EcsContainer"))
        found = add_container(chain, err);
    else if (text_equal(name, "Ec2InstanceMetadata"))
        found = add_metadata(chain);
    if (found < 0)
        return -1;
    return found ? 0
                 : error_set(err, ERROR_DENIED, "credential_source %s gives nothing here", name);
}

static void add_role(struct aws_chain *chain, const char *role, const char *session,
                     const char *external_id)
{
    chain->links[chain->count++] = (struct aws_link){
        .kind = AWS_ROLE,
        .role = mem_copy_chars(role),
        .session = mem_copy_chars(session),
        .external_id = mem_copy_chars(external_id),
    };
}

/* What a profile with a role begins with, when that is no other profile. */
static int add_base(struct aws_chain *chain, const char *name, struct aws_profile *profile,
                    struct error *err)
{
    if (profile->source && profile->keys.id && profile->keys.secret) {
        chain->links[chain->count++] = (struct aws_link){ .kind = AWS_KEYS, .keys = profile->keys };
        profile->keys = (struct aws_keys){ 0 };
        return 0;
    }
    if (profile->credential_source)
        return add_source(chain, profile->credential_source, err);
    return error_set(err, ERROR_INVALID,
                     "profile %s has a role_arn, and no source_profile, credential_source or "
                     "web_identity_token_file to take it on with",
                     name);
}

static int add_profile(struct aws_chain *chain, const struct aws_profiles *files, const char *name,
                       int depth, struct error *err)
{
    owned(aws_profile) struct aws_profile profile = { 0 };

    if (depth == PROFILES_MAX)
        return error_set(err, ERROR_INVALID, "profile %s: too many source_profiles in a row", name);
    if (aws_profile_find(files, name, &profile, err) < 0)
        return -1;
    if (profile.role && profile.token_file) {
        chain->links[chain->count++] = (struct aws_link){
            .kind = AWS_WEB_IDENTITY,
            .role = mem_copy_chars(profile.role),
            .session = mem_copy_chars(profile.session),
            .token_file = mem_copy_chars(profile.token_file),
        };
        return 0;
    }
    if (profile.role) {
        bool is_on_another = profile.source && !text_equal(profile.source, name);

        if (is_on_another ? add_profile(chain, files, profile.source, depth + 1, err) < 0
                          : add_base(chain, name, &profile, err) < 0)
            return -1;
        add_role(chain, profile.role, profile.session, profile.external_id);
        return 0;
    }
    if (!profile.keys.id || !profile.keys.secret)
        return error_set(err, ERROR_DENIED,
                         "no keys for AWS: %s has no aws_access_key_id and aws_secret_access_key "
                         "in profile %s",
                         files->credentials_path, name);
    chain->links[chain->count++] = (struct aws_link){ .kind = AWS_KEYS, .keys = profile.keys };
    profile.keys = (struct aws_keys){ 0 };
    return 0;
}

static int add_files(struct aws_chain *chain, const struct aws_account *account, struct error *err)
{
    owned(aws_profiles) struct aws_profiles files = { 0 };
    const char *profile = account->profile ?: environment("AWS_PROFILE");

    if (aws_profiles_read(account->credentials, &files, err) < 0)
        return -1;
    return add_profile(chain, &files, profile ?: "default", 0, err);
}

static int add_first(struct aws_chain *chain, const struct aws_account *account, struct error *err)
{
    struct error why = { 0 };
    int found;

    if (account->credentials || account->profile)
        return add_files(chain, account, err);
    if (add_keys_of_environment(chain) || add_web_identity(chain))
        return 0;
    if (add_files(chain, account, &why) == 0)
        return 0;
    aws_chain_clear(chain);
    if (environment("AWS_PROFILE") || why.kind != ERROR_DENIED) {
        *err = why;
        return -1;
    }
    found = add_container(chain, err);
    if (found < 0)
        return -1;
    if (found || add_metadata(chain))
        return 0;
    *err = why;
    return error_context(err, "no keys in the environment, no container's agent, no metadata "
                              "server");
}

bool aws_account_number(const struct aws_account *account, char out[AWS_ACCOUNT_SIZE])
{
    const char *at = account->role ?: "";

    /* arn:PARTITION:iam::ACCOUNT:role/NAME */
    for (int colons = 0; colons < 4; colons++)
        at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':');
    if (strspn(at, "0123456789") != AWS_ACCOUNT_SIZE - 1 || at[AWS_ACCOUNT_SIZE - 1] != ':')
        return false;
    text_print(out, AWS_ACCOUNT_SIZE, "%.*s", AWS_ACCOUNT_SIZE - 1, at);
    return true;
}

char *aws_sts_url(const struct aws_account *account)
{
    const char *given = account->sts_endpoint ?: environment("AWS_ENDPOINT_URL_STS");
    const char *domain = text_starts_with(account->region, "cn-") ? "amazonaws.com.cn"
                                                                  : "amazonaws.com";

    return given ? mem_copy_chars(given)
                 : text_format("https://sts.%s.%s/", account->region, domain);
}

int aws_account_check(const struct aws_account *account, const char **ret_key, struct error *err)
{
    const char *region = account->region ?: "";

    *ret_key = "region";
    if (!region[0] || strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(region))
        return error_set(err, ERROR_INVALID, "expected a region like us-east-1, found \"%s\"",
                         region);
    *ret_key = "external_id";
    if (account->external_id && !account->role)
        return error_set(err, ERROR_INVALID, "requires role");
    return 0;
}

int aws_chain_read(const struct aws_account *account, struct aws_chain *ret_chain,
                   struct error *err)
{
    owned(aws_chain) struct aws_chain chain = { 0 };

    if (add_first(&chain, account, err) < 0)
        return -1;
    if (account->role)
        add_role(&chain, account->role, environment("AWS_ROLE_SESSION_NAME"), account->external_id);
    for (size_t i = 0; i < chain.count; i++)
        if (chain.links[i].kind == AWS_WEB_IDENTITY || chain.links[i].kind == AWS_ROLE)
            chain.links[i].url = aws_sts_url(account);
    *ret_chain = chain;
    chain = (struct aws_chain){ 0 };
    return 0;
}
