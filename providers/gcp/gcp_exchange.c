/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RFC 7523 (an assertion), RFC 6749 (a refresh token), RFC 8693 (another issuer's token).
 */
#include "providers/gcp/gcp_exchange.h"

#include "base/crypto.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/url.h"

#include <inttypes.h>
#include <string.h>

enum {
    FORM_LIMIT = 64 * 1024,
    SUBJECT_LIMIT = 32 * 1024,
    CLOCK_SLACK_S = 10,
    ASSERTION_LIFE_S = 3600,
    LIFE_LIMIT_S = 24 * 3600,
};

static const char SCOPE[] = "https://www.googleapis.com/auth/cloud-platform";
static const char FORM_TYPE[] = "application/x-www-form-urlencoded";

void gcp_talk_begin(const struct gcp_credentials *credentials, struct gcp_talk *ret_talk)
{
    *ret_talk = (struct gcp_talk){
        .step = credentials->subject_url ? GCP_STEP_SUBJECT : GCP_STEP_TOKEN,
    };
}

void gcp_talk_clear(struct gcp_talk *talk)
{
    secret_free(talk->carried);
    *talk = (struct gcp_talk){ 0 };
}

const char *gcp_talk_name(const struct gcp_talk *talk)
{
    static const char *const names[] = {
        [GCP_STEP_SUBJECT] = "the subject token",
        [GCP_STEP_TOKEN] = "token",
        [GCP_STEP_IMPERSONATE] = "generateAccessToken",
    };

    return names[talk->step];
}

static void add_header(struct gcp_exchange *exchange, const char *name, const char *value)
{
    require(exchange->header_count < GCP_EXCHANGE_HEADERS);
    exchange->headers[exchange->header_count].name = name;
    exchange->headers[exchange->header_count++].value = mem_copy_chars(value);
}

void gcp_exchange_clear(struct gcp_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++)
        secret_free(exchange->headers[i].value);
    if (exchange->body)
        explicit_bzero(exchange->body->chars, exchange->body->length);
    text_free(exchange->body);
    *exchange = (struct gcp_exchange){ 0 };
}

static void add_field(struct text *form, const char *name, const char *value)
{
    text_add(form, "%s%s=", form->length > 0 ? "&" : "", name);
    url_add_escaped(form, value);
}

static void add_part(struct text *out, const json_t *part)
{
    owned(chars) char *chars = json_print(part);

    crypto_add_base64url(out, chars, strlen(chars));
}

static int write_assertion(const struct gcp_credentials *credentials, struct wall_time now,
                           struct text *form, struct error *err)
{
    int64_t now_s = now.ms / SECOND_MS - CLOCK_SLACK_S;
    owned(json) json_t *header = json_make("{s:s, s:s, s:s}", "alg", "RS256", "typ", "JWT", "kid",
                                           credentials->key_id);
    owned(json)
        json_t *claims = json_make("{s:s, s:s, s:s, s:I, s:I}", "iss", credentials->email, "scope",
                                   SCOPE, "aud", credentials->token_url, "iat", (json_int_t)now_s,
                                   "exp", (json_int_t)(now_s + ASSERTION_LIFE_S));
    owned(text) struct text *signed_part = text_new(4096);
    owned(text) struct text *signature = text_new(4096);
    owned(crypto_key) struct crypto_key *key = NULL;

    add_part(signed_part, header);
    text_add(signed_part, ".");
    add_part(signed_part, claims);
    if (crypto_key_read(&key, credentials->key_pem, err) < 0 ||
        crypto_sign_rs256(key, signed_part->chars, signed_part->length, signature, err) < 0)
        return -1;
    add_field(form, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
    text_add(form, "&assertion=%s.", signed_part->chars);
    crypto_add_base64url(form, signature->chars, signature->length);
    return 0;
}

static void write_refresh(const struct gcp_credentials *credentials, struct text *form)
{
    add_field(form, "grant_type", "refresh_token");
    add_field(form, "client_id", credentials->client_id);
    add_field(form, "client_secret", credentials->client_secret);
    add_field(form, "refresh_token", credentials->refresh_token);
}

/* The token in what a file or a URL gave: the whole of it, or a member.  The caller frees it. */
static char *subject_of(const struct gcp_credentials *credentials, const char *bytes, size_t size,
                        struct error *err)
{
    const char *field = credentials->subject_field;
    owned(json) json_t *object = field ? json_parse_foreign(bytes, size, "subject token", err)
                                       : NULL;
    const char *chars = field ? json_string_value(json_object_get(object, field)) : bytes;
    size_t start = chars ? strspn(chars, " \t\r\n") : 0;
    size_t length = chars ? strcspn(chars + start, " \t\r\n") : 0;

    if (field && !object)
        return NULL;
    if (length == 0)
        error_set(err, ERROR_TRANSIENT, "there is no subject token%s%s", field ? " in member " : "",
                  field ?: "");
    else if (chars[start + length + strspn(chars + start + length, " \t\r\n")] != '\0')
        error_set(err, ERROR_INVALID, "expected one subject token and nothing else");
    else
        return text_format("%.*s", (int)length, chars + start);
    return NULL;
}

static char *read_subject_file(const struct gcp_credentials *credentials, struct error *err)
{
    owned(text) struct text *bytes = file_read(credentials->subject_file, SUBJECT_LIMIT, err);
    char *subject = NULL;

    if (!bytes)
        return NULL;
    subject = subject_of(credentials, bytes->chars, bytes->length, err);
    explicit_bzero(bytes->chars, bytes->length);
    if (!subject)
        error_context(err, "%s", credentials->subject_file);
    return subject;
}

static int write_federation(const struct gcp_credentials *credentials, const struct gcp_talk *talk,
                            struct text *form, struct error *err)
{
    char *subject = talk->carried ? mem_copy_chars(talk->carried)
                                  : read_subject_file(credentials, err);

    if (!subject)
        return -1;
    add_field(form, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
    add_field(form, "requested_token_type", "urn:ietf:params:oauth:token-type:access_token");
    add_field(form, "audience", credentials->audience);
    add_field(form, "scope", SCOPE);
    add_field(form, "subject_token_type", credentials->subject_type);
    add_field(form, "subject_token", subject);
    secret_free(subject);
    return 0;
}

static void write_impersonation(const struct gcp_credentials *credentials,
                                const struct gcp_talk *talk, struct gcp_exchange *exchange)
{
    owned(chars) char *life = text_format("%" PRId64 "s", credentials->impersonation_life_s);
    owned(json) json_t *body = json_make("{s:[s], s:s}", "scope", SCOPE, "lifetime", life);
    owned(chars) char *chars = json_print(body);
    char *bearer = text_format("Bearer %s", talk->carried);

    exchange->method = HTTP_POST;
    exchange->url = credentials->impersonation_url;
    exchange->body = text_new(FORM_LIMIT);
    text_add(exchange->body, "%s", chars);
    add_header(exchange, "Content-Type", "application/json");
    add_header(exchange, "Authorization", bearer);
    secret_free(bearer);
}

static void write_subject(const struct gcp_credentials *credentials, struct gcp_exchange *exchange)
{
    exchange->method = HTTP_GET;
    exchange->url = credentials->subject_url;
    for (size_t i = 0; i < GCP_SUBJECT_HEADERS && credentials->subject_headers[i].name; i++)
        add_header(exchange, credentials->subject_headers[i].name,
                   credentials->subject_headers[i].value);
}

static int write_form(const struct gcp_credentials *credentials, const struct gcp_talk *talk,
                      struct gcp_exchange *exchange, struct error *err)
{
    int result = 0;

    exchange->method = HTTP_POST;
    exchange->body = text_new(FORM_LIMIT);
    add_header(exchange, "Content-Type", FORM_TYPE);
    if (credentials->kind == GCP_SERVICE_ACCOUNT)
        result = write_assertion(credentials, talk->asked, exchange->body, err);
    else if (credentials->kind == GCP_EXTERNAL_ACCOUNT)
        result = write_federation(credentials, talk, exchange->body, err);
    else
        write_refresh(credentials, exchange->body);
    if (result == 0 && exchange->body->is_cut)
        result = error_set(err, ERROR_INVALID, "the form is too long");
    return result;
}

int gcp_exchange_write(const struct gcp_credentials *credentials, struct wall_time now,
                       struct gcp_talk *talk, struct gcp_exchange *ret_exchange, struct error *err)
{
    owned(gcp_exchange) struct gcp_exchange exchange = { .url = credentials->token_url };

    talk->asked = now;
    if (talk->step == GCP_STEP_SUBJECT)
        write_subject(credentials, &exchange);
    else if (talk->step == GCP_STEP_IMPERSONATE)
        write_impersonation(credentials, talk, &exchange);
    else if (credentials->kind == GCP_METADATA)
        add_header(&exchange, "Metadata-Flavor", "Google");
    else if (write_form(credentials, talk, &exchange, err) < 0)
        return -1;
    *ret_exchange = exchange;
    exchange = (struct gcp_exchange){ 0 };
    return 0;
}

static int refused(const struct http_answer *answer, const json_t *body, struct error *err)
{
    const char *said = json_text_or(body, "error_description", "");
    enum error_kind kind = ERROR_DENIED;

    if (said[0] == '\0')
        said = json_text_or(body, "error/message", "");
    if (said[0] == '\0')
        said = json_text_or(body, "error", answer->body);
    if (answer->status == 429)
        kind = ERROR_THROTTLED;
    else if (answer->status == 408 || answer->status >= 500)
        kind = ERROR_TRANSIENT;
    error_set(err, kind, "refused: %d %.200s", answer->status, said);
    error_wait(err, answer->retry_after_ms);
    return -1;
}

/* "access_token" and "expires_in", as the token service and the metadata server have them. */
static int read_token(const json_t *body, const char **ret_access, int64_t *ret_life_ms,
                      struct error *err)
{
    int64_t life_s = 0;

    if (json_need_text(body, "access_token", ret_access, err) < 0 ||
        json_need_int(body, "expires_in", &life_s, err) < 0)
        return -1;
    *ret_life_ms = life_s > 0 && life_s <= LIFE_LIMIT_S ? life_s * SECOND_MS : 0;
    return 0;
}

/* The answer tells the end by Google's clock, and ours may differ: a life that cannot be is an
   error. */
static int read_impersonated(const json_t *body, struct wall_time now, const char **ret_access,
                             int64_t *ret_life_ms, struct error *err)
{
    const char *ends = NULL;
    struct wall_time end;

    if (json_need_text(body, "accessToken", ret_access, err) < 0 ||
        json_need_text(body, "expireTime", &ends, err) < 0)
        return -1;
    if (wall_parse(ends, false, &end, err) < 0) {
        if (err)
            err->kind = ERROR_CORRUPT;
        return error_context(err, "expireTime");
    }
    *ret_life_ms = end.ms - now.ms;
    if (*ret_life_ms <= 0 || *ret_life_ms > (int64_t)LIFE_LIMIT_S * SECOND_MS)
        return error_set(err, ERROR_TRANSIENT, "the token ends at %.40s (is the clock right?)",
                         ends);
    return 0;
}

/* The next step gets the token that this one brought. */
static void carry(struct gcp_talk *talk, char *token)
{
    secret_free(talk->carried);
    talk->carried = token;
    talk->step++;
}

static int read_subject(const struct gcp_credentials *credentials, const struct http_answer *answer,
                        struct gcp_talk *talk, struct error *err)
{
    char *subject = subject_of(credentials, answer->body, answer->body_size, err);

    if (!subject)
        return -1;
    carry(talk, subject);
    return 0;
}

static bool is_metadata_server(const struct http_answer *answer)
{
    return text_equal(http_header_find(answer->headers, answer->header_count, "Metadata-Flavor"),
                      "Google");
}

int gcp_exchange_read(const struct gcp_credentials *credentials, const struct http_answer *answer,
                      struct gcp_talk *talk, struct gcp_grant *ret_grant, struct error *err)
{
    owned(json) json_t *body = NULL;
    const char *access = NULL;
    int64_t life_ms = 0;

    if (talk->step == GCP_STEP_SUBJECT && answer->status == 200)
        return read_subject(credentials, answer, talk, err);
    body = json_parse_foreign(answer->body, answer->body_size, "answer", err);
    if (answer->status != 200)
        return refused(answer, body, err);
    if (credentials->kind == GCP_METADATA && !is_metadata_server(answer))
        return error_set(err, ERROR_DENIED, "%s is no metadata server of Google",
                         credentials->token_url);
    if (!body)
        return -1;
    if (talk->step == GCP_STEP_IMPERSONATE
            ? read_impersonated(body, talk->asked, &access, &life_ms, err) < 0
            : read_token(body, &access, &life_ms, err) < 0)
        return -1;
    if (access[0] == '\0' || strpbrk(access, "\r\n") || life_ms <= 0)
        return error_set(err, ERROR_CORRUPT, "the answer makes no sense");
    if (talk->step == GCP_STEP_TOKEN && credentials->impersonation_url) {
        carry(talk, mem_copy_chars(access));
        return 0;
    }
    *ret_grant = (struct gcp_grant){ .access = mem_copy_chars(access), .life_ms = life_ms };
    return 1;
}
