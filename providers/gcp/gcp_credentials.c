/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A table says which members a file of each type has.
 */
#include "providers/gcp/gcp_credentials.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/world/http.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 64 * 1024, LIFE_S = 3600, LIFE_LEAST_S = 600, LIFE_MOST_S = 12 * 3600 };

static const char TOKEN_URL[] = "https://oauth2.googleapis.com/token";
static const char METADATA_URL[] = "http://169.254.169.254";
static const char METADATA_PATH[] = "/computeMetadata/v1/instance/service-accounts/default/token";
static const char USUAL_FILE[] = "application_default_credentials.json";

static const char *const types[] = {
    [GCP_SERVICE_ACCOUNT] = "service_account",
    [GCP_AUTHORIZED_USER] = "authorized_user",
    [GCP_EXTERNAL_ACCOUNT] = "external_account",
};

struct member {
    enum gcp_credentials_kind kind;
    const char *path;
    size_t offset;
    enum { MEMBER_NEEDED, MEMBER_OPTIONAL } presence;
    enum { MEMBER_TEXT, MEMBER_URL } form;
};

#define AT(field) offsetof(struct gcp_credentials, field)

static const struct member members[] = {
    { GCP_SERVICE_ACCOUNT, "client_email", AT(email), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_SERVICE_ACCOUNT, "private_key", AT(key_pem), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_SERVICE_ACCOUNT, "private_key_id", AT(key_id), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_SERVICE_ACCOUNT, "token_uri", AT(token_url), MEMBER_OPTIONAL, MEMBER_URL },
    { GCP_SERVICE_ACCOUNT, "quota_project_id", AT(quota_project), MEMBER_OPTIONAL, MEMBER_TEXT },

    { GCP_AUTHORIZED_USER, "client_id", AT(client_id), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_AUTHORIZED_USER, "client_secret", AT(client_secret), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_AUTHORIZED_USER, "refresh_token", AT(refresh_token), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_AUTHORIZED_USER, "token_uri", AT(token_url), MEMBER_OPTIONAL, MEMBER_URL },
    { GCP_AUTHORIZED_USER, "quota_project_id", AT(quota_project), MEMBER_OPTIONAL, MEMBER_TEXT },

    { GCP_EXTERNAL_ACCOUNT, "audience", AT(audience), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_EXTERNAL_ACCOUNT, "subject_token_type", AT(subject_type), MEMBER_NEEDED, MEMBER_TEXT },
    { GCP_EXTERNAL_ACCOUNT, "token_url", AT(token_url), MEMBER_NEEDED, MEMBER_URL },
    { GCP_EXTERNAL_ACCOUNT, "credential_source/file", AT(subject_file), MEMBER_OPTIONAL,
      MEMBER_TEXT },
    { GCP_EXTERNAL_ACCOUNT, "credential_source/url", AT(subject_url), MEMBER_OPTIONAL, MEMBER_URL },
    { GCP_EXTERNAL_ACCOUNT, "service_account_impersonation_url", AT(impersonation_url),
      MEMBER_OPTIONAL, MEMBER_URL },
    { GCP_EXTERNAL_ACCOUNT, "quota_project_id", AT(quota_project), MEMBER_OPTIONAL, MEMBER_TEXT },
};

static char **field_of(struct gcp_credentials *credentials, size_t offset)
{
    return (char **)(void *)((char *)credentials + offset);
}

void gcp_credentials_clear(struct gcp_credentials *credentials)
{
    for (size_t i = 0; i < COUNT_OF(members); i++)
        secret_free(steal(field_of(credentials, members[i].offset)));
    for (size_t i = 0; i < GCP_SUBJECT_HEADERS; i++) {
        secret_free(steal(&credentials->subject_headers[i].name));
        secret_free(steal(&credentials->subject_headers[i].value));
    }
    secret_free(steal(&credentials->subject_field));
    *credentials = (struct gcp_credentials){ 0 };
}

static int read_members(const json_t *file, struct gcp_credentials *credentials, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct member *member = &members[i];
        const char *chars = NULL;

        if (member->kind != credentials->kind)
            continue;
        if (member->presence == MEMBER_NEEDED ? json_need_text(file, member->path, &chars, err) < 0
                                              : json_find_text(file, member->path, &chars, err) < 0)
            return -1;
        if (chars && member->form == MEMBER_URL && http_check_url(chars, err) < 0)
            return error_context(err, "%s", member->path);
        *field_of(credentials, member->offset) = mem_copy_chars(chars);
    }
    return 0;
}

/* Reads how the other issuer's token is written in its file or at its URL. */
static int read_format(const json_t *file, struct gcp_credentials *credentials, struct error *err)
{
    static const char path[] = "credential_source/format";
    const json_t *format = json_at(file, path);
    const char *type = "text";
    const char *field = NULL;

    if (json_find_text(format, "type", &type, err) < 0)
        return error_context(err, "%s", path);
    if (text_equal(type, "text"))
        return 0;
    if (!text_equal(type, "json"))
        return error_set(err, ERROR_INVALID, "%s: type is \"%.40s\"; known: text, json", path,
                         type);
    if (json_need_text(format, "subject_token_field_name", &field, err) < 0)
        return error_context(err, "%s", path);
    credentials->subject_field = mem_copy_chars(field);
    return 0;
}

static int read_headers(const json_t *file, struct gcp_credentials *credentials, struct error *err)
{
    json_t *headers = NULL;
    const char *name = NULL;
    json_t *value = NULL;
    size_t count = 0;

    if (json_find_object(file, "credential_source/headers", &headers, err) < 0)
        return -1;
    json_object_foreach(headers, name, value) {
        if (count == GCP_SUBJECT_HEADERS || !json_is_string(value) || strpbrk(name, ":\r\n") ||
            strpbrk(json_string_value(value), "\r\n"))
            return error_set(err, ERROR_INVALID,
                             "credential_source/headers: expected at most %d texts",
                             GCP_SUBJECT_HEADERS);
        credentials->subject_headers[count].name = mem_copy_chars(name);
        credentials->subject_headers[count++].value = mem_copy_chars(json_string_value(value));
    }
    return 0;
}

static int read_external(const json_t *file, struct gcp_credentials *credentials, struct error *err)
{
    static const char path[] = "service_account_impersonation/token_lifetime_seconds";

    credentials->impersonation_life_s = LIFE_S;
    if (json_find_int(file, path, &credentials->impersonation_life_s, err) < 0)
        return -1;
    if (credentials->impersonation_life_s < LIFE_LEAST_S ||
        credentials->impersonation_life_s > LIFE_MOST_S)
        return error_set(err, ERROR_INVALID, "%s: expected %d to %d", path, LIFE_LEAST_S,
                         LIFE_MOST_S);
    if (!credentials->subject_file == !credentials->subject_url)
        return error_set(err, ERROR_INVALID,
                         "credential_source: expected \"file\" or \"url\"; other sources are not "
                         "known");
    return read_format(file, credentials, err) < 0 ? -1 : read_headers(file, credentials, err);
}

static int read_type(const json_t *file, enum gcp_credentials_kind *ret_kind, struct error *err)
{
    const char *type = json_text_or(file, "type", "");

    for (size_t i = GCP_SERVICE_ACCOUNT; i < COUNT_OF(types); i++) {
        if (!text_equal(types[i], type))
            continue;
        *ret_kind = (enum gcp_credentials_kind)i;
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "expected credentials of type \"service_account\", \"authorized_user\" or "
                     "\"external_account\", found \"%.60s\"",
                     type);
}

static int read_json(const json_t *file, struct gcp_credentials *credentials, struct error *err)
{
    if (read_type(file, &credentials->kind, err) < 0 || read_members(file, credentials, err) < 0)
        return -1;
    if (!credentials->token_url)
        credentials->token_url = mem_copy_chars(TOKEN_URL);
    return credentials->kind == GCP_EXTERNAL_ACCOUNT ? read_external(file, credentials, err) : 0;
}

static int read_file(const char *path, struct gcp_credentials *ret_credentials, struct error *err)
{
    owned(text) struct text *bytes = trust_read(path, FILE_LIMIT, err);
    owned(json) json_t *file = bytes ? json_parse(bytes->chars, bytes->length, path, err) : NULL;
    owned(gcp_credentials) struct gcp_credentials credentials = { 0 };

    if (bytes)
        explicit_bzero(bytes->chars, bytes->length);
    if (!file)
        return -1;
    if (read_json(file, &credentials, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        return error_context(err, "%s", path);
    }
    *ret_credentials = credentials;
    credentials = (struct gcp_credentials){ 0 };
    return 0;
}

/* $name, when it has something in it. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

/* The path of the file of gcloud's own login; NULL: there is no home directory. */
static char *usual_path(void)
{
    const char *folder = environment("CLOUDSDK_CONFIG");
    const char *home = environment("HOME");

    if (folder)
        return text_format("%s/%s", folder, USUAL_FILE);
    return home ? text_format("%s/.config/gcloud/%s", home, USUAL_FILE) : NULL;
}

static int read_metadata(const char *url, struct gcp_credentials *credentials, struct error *err)
{
    const char *host = environment("GCE_METADATA_HOST");
    owned(chars) char *named = host ? text_format("http://%s", host) : NULL;
    const char *base = url ?: named ?: METADATA_URL;

    if (http_check_url(base, err) < 0)
        return error_context(err, "the metadata server");
    *credentials = (struct gcp_credentials){
        .kind = GCP_METADATA,
        .token_url = text_format("%s%s", base, METADATA_PATH),
    };
    return 0;
}

int gcp_credentials_read(const struct gcp_identity *whose, struct gcp_credentials *ret_credentials,
                         struct error *err)
{
    const char *named = whose->credentials;
    owned(chars) char *usual = NULL;
    struct error why = { 0 };

    if (!named && whose->metadata)
        return read_metadata(whose->metadata, ret_credentials, err);
    if (!named)
        named = environment("GOOGLE_APPLICATION_CREDENTIALS");
    if (named)
        return read_file(named, ret_credentials, err);
    usual = usual_path();
    if (usual && read_file(usual, ret_credentials, &why) == 0)
        return 0;
    if (usual && why.kind != ERROR_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    return read_metadata(NULL, ret_credentials, err);
}
