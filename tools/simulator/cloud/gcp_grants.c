/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The exchanges that give an access token: of an assertion, of a refresh token, of another issuer's
 * token, and of a token for that of a service account.  If the provider in sluice.yaml names a file
 * of credentials, what is sent must agree with it, signatures included.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "tools/simulator/cloud/gcp_cloud.h"
#include "tools/simulator/model/cloud.h"

enum { FIELDS_MAX = 8, FILE_LIMIT = 64 * 1024, ASSERTION_LIFE_S = 3600 };

static const char scope[] = "https://www.googleapis.com/auth/cloud-platform";

struct form {
    const char *fields[FIELDS_MAX]; /* all that it must have; NULL at the end */
    char *values[FIELDS_MAX];
};

static void refuse(struct sim_call *call, const char *error, const char *why)
{
    sim_answer_json(call->answer, 400,
                    json_make("{s:s, s:s}", "error", error, "error_description", why));
}

static void owned_form(struct form *form)
{
    for (size_t i = 0; i < FIELDS_MAX; i++)
        mem_free(form->values[i]);
}

static const char *value_of(const struct form *form, const char *field)
{
    for (size_t i = 0; i < FIELDS_MAX && form->fields[i]; i++)
        if (text_equal(form->fields[i], field))
            return form->values[i];
    return "";
}

static size_t count_fields(const char *body)
{
    size_t count = *body != '\0';

    for (; *body; body++)
        count += *body == '&';
    return count;
}

/* Each field once, and no other; false: answered. */
static bool read_form(struct sim_call *call, struct form *form)
{
    const char *body = call->request->body ? call->request->body : "";
    owned(chars) char *target = text_format("/?%s", body);
    size_t count = 0;

    for (; count < FIELDS_MAX && form->fields[count]; count++) {
        form->values[count] = url_query(target, form->fields[count]);
        if (form->values[count])
            continue;

        owned(chars) char *why = text_format("Missing required parameter: %s", form->fields[count]);

        refuse(call, "invalid_request", why);
        return false;
    }
    if (count_fields(body) == count)
        return true;
    refuse(call, "invalid_request", "A parameter is not known, or is there twice");
    return false;
}

static json_t *read_credentials(const struct simulator *sim, const struct pool *pool)
{
    struct error err = { 0 };
    owned(text) struct text *bytes = sim_provider_file(sim, pool, "credentials");

    return bytes ? json_parse(bytes->chars, bytes->length, "credentials", &err) : NULL;
}

/* The file that a provider in sluice.yaml names; NULL: none does. */
static json_t *read_truth(const struct simulator *sim)
{
    for (size_t i = 0; i < sim->pool_count; i++) {
        json_t *truth = text_equal(sim->pools[i].cloud->kind, "gcp")
                            ? read_credentials(sim, &sim->pools[i])
                            : NULL;

        if (truth)
            return truth;
    }
    return NULL;
}

static bool is_as(const json_t *truth, const char *path, const char *value)
{
    return !truth || text_equal(json_text_or(truth, path, NULL), value);
}

static struct text *decode_part(const char *chars, size_t size)
{
    struct error err = { 0 };
    owned(text) struct text *padded = text_new(size + 4);

    for (size_t i = 0; i < size; i++) {
        char one = chars[i] == '-' ? '+' : chars[i] == '_' ? '/' : chars[i];

        text_add_bytes(padded, &one, 1);
    }
    while (padded->length % 4 != 0)
        text_add(padded, "=");
    return crypto_decode_base64(padded->chars, &err);
}

static json_t *decode_json(const char *chars, size_t size)
{
    struct error err = { 0 };
    owned(text) struct text *bytes = decode_part(chars, size);

    return bytes ? json_parse(bytes->chars, bytes->length, "JWT", &err) : NULL;
}

/* NULL: the claims are right. */
static const char *wrong_claim(const struct simulator *sim, const json_t *claims,
                               const json_t *truth)
{
    int64_t now_s = (sim_now(sim) + sim->wall_offset_ms) / SECOND_MS;
    int64_t from_s = json_int_or(claims, "iat", 0);
    int64_t to_s = json_int_or(claims, "exp", 0);

    if (!is_as(truth, "client_email", json_text_or(claims, "iss", "")))
        return "Invalid JWT: no such account";
    if (!is_as(truth, "token_uri", json_text_or(claims, "aud", "")))
        return "Invalid JWT: the audience is another";
    if (!text_equal(json_text_or(claims, "scope", ""), scope))
        return "Invalid JWT: the scope is not known";
    if (from_s > now_s || to_s < now_s || to_s - from_s > ASSERTION_LIFE_S)
        return "Invalid JWT: iat and exp must be reasonable (check the clock)";
    return json_object_size(claims) == 5 ? NULL : "Invalid JWT: a claim is not known";
}

/* What follows the next dot; "" if there is none. */
static const char *after_dot(const char *chars)
{
    chars += strcspn(chars, ".");
    return *chars == '.' ? chars + 1 : chars;
}

static const char *wrong_assertion(const struct simulator *sim, const char *assertion,
                                   const json_t *truth)
{
    const char *middle = after_dot(assertion);
    const char *signature = after_dot(middle);
    size_t header_size = strcspn(assertion, ".");
    size_t claims_size = strcspn(middle, ".");
    owned(json) json_t *header = decode_json(assertion, header_size);
    owned(json) json_t *claims = decode_json(middle, claims_size);
    owned(text) struct text *bytes = decode_part(signature, strlen(signature));
    owned(crypto_key) struct crypto_key *key = NULL;
    struct error err;

    if (!header || !claims || !bytes || !text_equal(json_text_or(header, "alg", ""), "RS256") ||
        !is_as(truth, "private_key_id", json_text_or(header, "kid", "")))
        return "Invalid JWT: the header, the claims or the signature cannot be read";
    if (crypto_key_read(&key, json_text_or(truth, "private_key", ""), &err) < 0 ||
        !crypto_verify_rs256(key, assertion, header_size + claims_size + 1, bytes->chars,
                             bytes->length))
        return "Invalid JWT Signature.";
    return wrong_claim(sim, claims, truth);
}

static bool is_jwt(const char *chars)
{
    int parts = 1;
    size_t length = 0;

    for (; *chars; chars++) {
        if (*chars == '.') {
            if (length == 0)
                return false;
            parts++;
            length = 0;
            continue;
        }
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *chars))
            return false;
        length++;
    }
    return parts == 3 && length > 0;
}

static void grant_assertion(struct sim_call *call)
{
    owned(form) struct form form = { .fields = { "grant_type", "assertion" } };
    owned(json) json_t *truth = read_truth(call->sim);
    const char *wrong = NULL;

    if (!read_form(call, &form))
        return;
    if (!is_jwt(value_of(&form, "assertion")))
        wrong = "Invalid JWT: three parts in base64url were expected";
    else if (truth)
        wrong = wrong_assertion(call->sim, value_of(&form, "assertion"), truth);
    if (wrong)
        refuse(call, "invalid_grant", wrong);
    else
        sim_gcp_grant(call, NULL);
}

static void grant_refresh(struct sim_call *call)
{
    owned(form) struct form form = { .fields = { "grant_type", "client_id", "client_secret",
                                                 "refresh_token" } };
    owned(json) json_t *truth = read_truth(call->sim);

    if (!read_form(call, &form))
        return;
    if (!is_as(truth, "client_id", value_of(&form, "client_id")) ||
        !is_as(truth, "client_secret", value_of(&form, "client_secret")))
        refuse(call, "invalid_client", "The OAuth client was not found.");
    else if (!is_as(truth, "refresh_token", value_of(&form, "refresh_token")))
        refuse(call, "invalid_grant", "Token has been expired or revoked.");
    else
        sim_gcp_grant(call, NULL);
}

static bool is_form(struct sim_call *call)
{
    const char *type = http_header_find(call->request->headers, call->request->header_count,
                                        "Content-Type");

    if (call->request->method != HTTP_POST)
        sim_gcp_error(call->answer, 404, "notFound", "a token is asked for by POST");
    else if (sim_call_fault(call))
        return false;
    else if (!type || !text_starts_with(type, "application/x-www-form-urlencoded"))
        refuse(call, "invalid_request", "the body must be a form");
    else
        return true;
    return false;
}

void sim_gcp_token(struct sim_call *call)
{
    owned(chars) char *target = text_format("/?%s", call->request->body ? call->request->body : "");
    owned(chars) char *grant = url_query(target, "grant_type");

    call->verb = "token";
    if (!is_form(call))
        return;
    if (text_equal(grant, "urn:ietf:params:oauth:grant-type:jwt-bearer"))
        grant_assertion(call);
    else if (text_equal(grant, "refresh_token"))
        grant_refresh(call);
    else
        refuse(call, "unsupported_grant_type", "Invalid grant_type");
}

static bool is_whole_word(const char *text, const char *word)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~+/=";
    const char *found = strstr(text, word);

    return found && (found == text || !strchr(letters, found[-1])) &&
           (found[strlen(word)] == '\0' || !strchr(letters, found[strlen(word)]));
}

/* Of a token that only asks for another account's, less is enough. */
static bool is_scope(const char *said)
{
    return text_equal(said, scope) || text_equal(said, "https://www.googleapis.com/auth/iam");
}

/* The subject is compared with the file that the credentials name, if they name one. */
static const char *wrong_subject(const struct form *form, const json_t *truth)
{
    const char *path = json_text_or(truth, "credential_source/file", NULL);
    struct error err = { 0 };
    owned(text) struct text *bytes = path ? file_read(path, FILE_LIMIT, &err) : NULL;

    if (!text_equal(value_of(form, "requested_token_type"),
                    "urn:ietf:params:oauth:token-type:access_token") ||
        !is_scope(value_of(form, "scope")))
        return "requested_token_type or scope is not known";
    if (!is_as(truth, "audience", value_of(form, "audience")) ||
        !is_as(truth, "subject_token_type", value_of(form, "subject_token_type")))
        return "Invalid value for \"audience\" or \"subject_token_type\"";
    if (value_of(form, "subject_token")[0] == '\0' ||
        (bytes && !is_whole_word(bytes->chars, value_of(form, "subject_token"))))
        return "The subject token is not of this issuer";
    return NULL;
}

void sim_gcp_federate(struct sim_call *call)
{
    owned(form) struct form form = { .fields = { "grant_type", "requested_token_type", "audience",
                                                 "scope", "subject_token_type", "subject_token" } };
    owned(json) json_t *truth = read_truth(call->sim);
    const char *wrong;

    call->verb = "token";
    if (!is_form(call) || !read_form(call, &form))
        return;
    wrong = wrong_subject(&form, truth);
    if (!text_equal(value_of(&form, "grant_type"),
                    "urn:ietf:params:oauth:grant-type:token-exchange"))
        refuse(call, "unsupported_grant_type", "Invalid grant_type");
    else if (wrong)
        refuse(call, "invalid_grant", wrong);
    else
        sim_gcp_grant(call, "urn:ietf:params:oauth:token-type:access_token");
}

void sim_gcp_impersonate(struct sim_call *call, const char *account)
{
    struct error err = { 0 };
    owned(json) json_t *body = NULL;
    long long life_s = 0;
    owned(chars) char *digits = NULL;
    const char *life;

    call->verb = "token";
    if (sim_call_fault(call) || !sim_gcp_is_authorized(call))
        return;
    body = json_parse(call->request->body ? call->request->body : "", call->request->body_size,
                      "body", &err);
    life = json_text_or(body, "lifetime", "");
    digits = text_format("%.*s", (int)strcspn(life, "s"), life);
    if (call->request->method != HTTP_POST || !strstr(account, ":generateAccessToken"))
        sim_gcp_error(call->answer, 404, "notFound", "no such method");
    else if (json_object_size(body) != (json_object_get(body, "delegates") ? 3 : 2) ||
             !text_to_int(digits, 1, 43200, &life_s) ||
             !text_equal(json_string_value(json_array_get(json_at(body, "scope"), 0)), scope))
        sim_gcp_error(call->answer, 400, "badRequest", "Request contains an invalid argument.");
    else
        sim_gcp_grant_until(call, life_s * SECOND_MS);
}
