/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See azure_token.h.
 */
#include "providers/azure/azure_token.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/trust.h"
#include "base/url.h"

#include <stdlib.h>
#include <string.h>

enum { SECRET_LIMIT = 64 * 1024, FORM_LIMIT = 256 * 1024 };

static const char PUBLIC_AUTHORITY[] = "https://login.microsoftonline.com";
static const char METADATA_URL[] = "http://169.254.169.254";
static const char ASSERTION_TYPE[] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/* The variable's value; NULL: it is not set, or empty. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

/* The one line of a file that may be renewed at any time; the caller wipes it. */
static char *one_line(const struct text *bytes, const char *path, struct error *err)
{
    size_t start = strspn(bytes->chars, " \t\r\n");
    size_t length = strcspn(bytes->chars + start, " \t\r\n");
    size_t end = start + length + strspn(bytes->chars + start + length, " \t\r\n");

    if (length == 0) {
        error_set(err, ERROR_TRANSIENT, "%s: is empty", path);
        return NULL;
    }
    if (end != bytes->length) {
        error_set(err, ERROR_INVALID, "%s: expected one secret and nothing else", path);
        return NULL;
    }
    return text_format("%.*s", (int)length, bytes->chars + start);
}

/* The kubelet renews a federated token in a folder of other owners: its file is not checked for who
   may change it. */
static char *read_secret(const char *path, bool is_ours, struct error *err)
{
    owned(text) struct text *bytes = is_ours ? trust_read(path, SECRET_LIMIT, err)
                                             : file_read(path, SECRET_LIMIT, err);
    char *secret = bytes ? one_line(bytes, path, err) : NULL;

    if (bytes)
        explicit_bzero(bytes->chars, bytes->length);
    return secret;
}

static int without_slash(const char *url)
{
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    return (int)length;
}

static void ask_metadata(const struct azure_identity *whose, struct token_request *request)
{
    const char *client_id = whose->client_id ?: environment("AZURE_CLIENT_ID");
    owned(chars) char *whom = client_id ? url_format("&client_id=%s", client_id)
                                        : mem_copy_chars("");
    owned(chars) char *resource = text_format("%.*s/", without_slash(whose->audience),
                                              whose->audience);
    owned(chars) char *query = url_format("api-version=2018-02-01&resource=%s", resource);

    request->url = text_format("%s/metadata/identity/oauth2/token?%s%s",
                               whose->metadata ?: METADATA_URL, query, whom);
    request->header = (struct http_header){ "Metadata", "true" };
}

/* The form of a client that proves itself by `name`=`secret`. */
static int ask_authority(const struct azure_identity *whose, const char *name, const char *secret,
                         struct token_request *request, struct error *err)
{
    const char *tenant = whose->tenant ?: environment("AZURE_TENANT_ID");
    const char *client_id = whose->client_id ?: environment("AZURE_CLIENT_ID");
    const char *authority = whose->authority ?: environment("AZURE_AUTHORITY_HOST")
                                                    ?: PUBLIC_AUTHORITY;
    owned(chars) char *path = tenant ? url_format("/%s/oauth2/v2.0/token", tenant) : NULL;
    owned(chars) char *scope = text_format("%.*s/.default", without_slash(whose->audience),
                                           whose->audience);

    if (!tenant || !client_id)
        return error_set(err, ERROR_DENIED, "there is no %s: set %s", tenant ? "client" : "tenant",
                         tenant ? "client_id, or AZURE_CLIENT_ID" : "tenant, or AZURE_TENANT_ID");
    request->url = text_format("%.*s%s", without_slash(authority), authority, path);
    request->form = text_new(FORM_LIMIT);
    text_add(request->form, "grant_type=client_credentials&client_id=");
    url_add_escaped(request->form, client_id);
    text_add(request->form, "&scope=");
    url_add_escaped(request->form, scope);
    if (text_equal(name, "client_assertion")) {
        text_add(request->form, "&client_assertion_type=");
        url_add_escaped(request->form, ASSERTION_TYPE);
    }
    text_add(request->form, "&%s=", name);
    url_add_escaped(request->form, secret);
    return 0;
}

static int ask(const void *context, struct token_request *ret_request, struct error *err)
{
    const struct azure_identity *whose = context;
    const char *federated = environment("AZURE_FEDERATED_TOKEN_FILE");
    const char *name = "client_secret";
    char *secret;
    int result;

    if (whose->client_secret) {
        secret = read_secret(whose->client_secret, true, err);
    } else if (federated) {
        name = "client_assertion";
        secret = read_secret(federated, false, err);
    } else if (environment("AZURE_CLIENT_SECRET")) {
        secret = mem_copy_chars(environment("AZURE_CLIENT_SECRET"));
    } else {
        ask_metadata(whose, ret_request);
        return 0;
    }
    if (!secret)
        return -1;
    result = ask_authority(whose, name, secret, ret_request, err);
    secret_free(secret);
    return result;
}

/* The metadata server answers 404 and 410 while the machine's identity is being set up. */
static int read_token(const void *context, const struct http_answer *answer,
                      struct token_lease *ret_lease, struct error *err)
{
    (void)context;
    if (answer->status == 404 || answer->status == 410)
        return error_set(err, ERROR_TRANSIENT, "refused: %d %.200s", answer->status, answer->body);
    return token_read_oauth(answer, ret_lease, err);
}

struct token_cache *azure_token_new(struct world *world, const struct azure_identity *whose,
                                    struct error *err)
{
    char *secret = whose->client_secret ? read_secret(whose->client_secret, true, err) : NULL;
    const struct token_source source = { .ask = ask, .read = read_token, .context = whose };

    if (whose->client_secret && !secret)
        return NULL;
    secret_free(secret);
    return token_cache_new(world, &source);
}
