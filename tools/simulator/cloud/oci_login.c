/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of requests, recomputed: HTTP signatures (draft-cavage-http-signatures-08) by the API
 * key of the profile that the provider in sluice.yaml names.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "tools/simulator/cloud/oci_cloud.h"

enum { FILE_LIMIT = 64 * 1024, SKEW_MS = 5 * MINUTE_MS };

struct login {
    char *key_id;
    char *key_pem;
};

static void owned_login(struct login *login)
{
    mem_free(login->key_id);
    mem_free(login->key_pem);
}

static bool refuse(struct sim_call *call, const char *why)
{
    sim_oci_error(call->answer, 401, "NotAuthenticated",
                  "The required information to complete authentication was not provided or was "
                  "incorrect: %s",
                  why);
    return false;
}

/* The value of "KEY=VALUE" in the section "[NAME]" of a file; NULL: none. */
static char *value_of(const char *file, const char *section, const char *key)
{
    owned(chars) char *head = text_format("[%s]", section);
    const char *at = strstr(file, head);
    const char *end = at ? strstr(at + 1, "\n[") : NULL;
    owned(chars) char *start = text_format("\n%s=", key);
    const char *found = at ? strstr(at, start) : NULL;

    if (!found || (end && found > end))
        return NULL;
    found += strlen(start);
    return text_format("%.*s", (int)strcspn(found, "\r\n"), found);
}

static struct text *read_file(const char *path)
{
    struct error err = { 0 };

    return path ? file_read(path, FILE_LIMIT, &err) : NULL;
}

/* Of the first provider of this kind; false: none names a file of profiles. */
static bool read_login(const struct simulator *sim, struct login *login)
{
    for (size_t i = 0; i < sim->pool_count; i++) {
        const struct pool *pool = &sim->pools[i];
        bool is_ours = text_equal(pool->cloud->kind, "oci");
        owned(text) struct text *file = is_ours ? sim_provider_file(sim, pool, "credentials")
                                                : NULL;
        const char *said = is_ours ? sim_provider_text(pool, "profile") : NULL;
        const char *section = said ? said : "DEFAULT";

        if (!file)
            continue;

        owned(chars) char *tenancy = value_of(file->chars, section, "tenancy");
        owned(chars) char *user = value_of(file->chars, section, "user");
        owned(chars) char *fingerprint = value_of(file->chars, section, "fingerprint");
        owned(chars) char *key_path = value_of(file->chars, section, "key_file");
        owned(text) struct text *key = read_file(key_path);

        if (!tenancy || !user || !fingerprint || !key)
            continue;
        login->key_id = text_format("%s/%s/%s", tenancy, user, fingerprint);
        login->key_pem = mem_copy_chars(key->chars);
        return true;
    }
    return false;
}

/* The value of NAME="VALUE" in the header; NULL: none. */
static char *parameter(const char *header, const char *name)
{
    owned(chars) char *start = text_format("%s=\"", name);
    const char *found = header;

    while ((found = strstr(found, start)) && found != header && found[-1] != ',' &&
           found[-1] != ' ')
        found++;
    if (!found)
        return NULL;
    found += strlen(start);
    return text_format("%.*s", (int)strcspn(found, "\""), found);
}

static const char *header_of(const struct sim_call *call, const char *name)
{
    return http_header_find(call->request->headers, call->request->header_count, name);
}

static void add_line(const struct sim_call *call, const char *name, struct text *out)
{
    static const char *const methods[HTTP_METHOD_COUNT] = {
        [HTTP_GET] = "get",     [HTTP_POST] = "post",     [HTTP_PUT] = "put",
        [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete",
    };
    const char *value = header_of(call, name);

    text_add(out, "%s%s: ", out->length > 0 ? "\n" : "", name);
    if (text_equal(name, "(request-target)"))
        text_add(out, "%s %s", methods[call->request->method], call->request->target);
    else if (text_equal(name, "content-length") && !value)
        text_add(out, "%zu", call->request->body_size);
    else
        text_add(out, "%s", value ? value : "");
}

/* Builds the signing string from the list of headers. */
static void add_lines(const struct sim_call *call, const char *list, struct text *out)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, " ");
        owned(chars) char *name = text_format("%.*s", (int)length, at);

        add_line(call, name, out);
        at += length;
        at += strspn(at, " ");
    }
}

static bool is_listed(const char *list, const char *name)
{
    owned(chars) char *padded = text_format(" %s ", list);
    owned(chars) char *wanted = text_format(" %s ", name);

    return strstr(padded, wanted) != NULL;
}

/* NULL: all that must be signed is. */
static const char *missing_header(const struct sim_call *call, const char *list)
{
    static const char *const needed[] = { "(request-target)", "host", "x-content-sha256",
                                          "content-type", "content-length" };
    enum http_method method = call->request->method;
    size_t count = method == HTTP_PUT || method == HTTP_POST ? COUNT_OF(needed) : 2;

    if (!is_listed(list, "date") && !is_listed(list, "x-date"))
        return "date is not signed";
    for (size_t i = 0; i < count; i++)
        if (!is_listed(list, needed[i]))
            return needed[i];
    return NULL;
}

static bool is_timely(const struct sim_call *call, const char *list)
{
    const char *date = header_of(call, is_listed(list, "x-date") ? "x-date" : "date");
    int64_t now_ms = sim_now(call->sim) + call->sim->wall_offset_ms;
    struct wall_time at;

    return date && wall_parse_http(date, &at) && at.ms <= now_ms + SKEW_MS &&
           at.ms >= now_ms - SKEW_MS;
}

static bool is_body_right(const struct sim_call *call, const char *list)
{
    unsigned char hash[SHA256_SIZE];
    owned(text) struct text *digest = text_new(64);

    if (!is_listed(list, "x-content-sha256"))
        return true;
    crypto_sha256(call->request->body ? call->request->body : "", call->request->body_size, hash);
    crypto_add_base64(digest, hash, sizeof hash);
    return text_equal(header_of(call, "x-content-sha256"), digest->chars);
}

bool sim_oci_is_signed(struct sim_call *call)
{
    const char *header = header_of(call, "Authorization");
    owned(login) struct login login = { 0 };
    struct error err = { 0 };

    if (!header || !text_starts_with(header, "Signature "))
        return refuse(call, "there is no signature");

    owned(chars) char *list = parameter(header, "headers");
    owned(chars) char *key_id = parameter(header, "keyId");
    owned(chars) char *algorithm = parameter(header, "algorithm");
    owned(chars) char *version = parameter(header, "version");
    owned(chars) char *said = parameter(header, "signature");

    if (!list || !key_id || !said || !text_equal(algorithm, "rsa-sha256") ||
        !text_equal(version, "1"))
        return refuse(call, "a parameter of the signature is missing");
    if (missing_header(call, list))
        return refuse(call, missing_header(call, list));
    if (!is_timely(call, list) || !is_body_right(call, list))
        return refuse(call, "the date is too far off, or the digest is not of this body");
    if (!read_login(call->sim, &login))
        return refuse(call, "sluice.yaml names no profile to check it against");

    owned(text) struct text *string = text_new(64 * 1024);
    owned(text) struct text *signature = crypto_decode_base64(said, &err);

    add_lines(call, list, string);
    if (!text_equal(key_id, login.key_id) || !signature ||
        crypto_key_read(&call->sim->oci_key, login.key_pem, &err) < 0 ||
        !crypto_verify_rs256(call->sim->oci_key, string->chars, string->length, signature->chars,
                             signature->length))
        return refuse(call, "the signature is wrong");
    return true;
}
