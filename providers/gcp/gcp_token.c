/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fetching and keeping the token.  A token that lasts five minutes more is handed out at once;
 * one that does not is replaced first, and still used when the replacement cannot be had.
 */
#include "providers/gcp/gcp_token.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/url.h"

#include <string.h>

enum {
    KEY_FILE_LIMIT = 64 * 1024,
    WAITER_LIMIT = 1024,
    FRESH_MS = 5 * MINUTE_MS,
    USABLE_MS = 30 * SECOND_MS,
    RETRY_MS = 10 * SECOND_MS, /* between attempts to replace a token that can still be used */
    FETCH_TIMEOUT_MS = 10 * SECOND_MS,
    CLOCK_SLACK_S = 10,
    ASSERTION_LIFE_S = 3600,
    LIFE_LIMIT_S = 24 * 3600,
};

static const char SCOPE[] = "https://www.googleapis.com/auth/cloud-platform";
static const char METADATA_URL[] = "http://169.254.169.254";
static const char METADATA_PATH[] = "/computeMetadata/v1/instance/service-accounts/default/token";

struct gcp_token {
    struct world *world;
    char *email; /* NULL: the metadata server */
    char *key_pem;
    char *key_id;
    char *url;

    char *access; /* NULL: none yet */
    int64_t ends_ms;
    int64_t next_try_ms;

    struct http_exchange *fetch;
    int64_t fetch_began_ms;
    struct timer *deliver;
    struct gcp_waiter *first;
    struct gcp_waiter **last;
    int waiting;
};

static int read_key(struct gcp_token *token, const char *path, struct error *err)
{
    owned(text) struct text *bytes = trust_read(path, KEY_FILE_LIMIT, err);
    owned(json) json_t *key = bytes ? json_parse(bytes->chars, bytes->length, path, err) : NULL;
    if (bytes)
        explicit_bzero(bytes->chars, bytes->length);
    if (!key)
        return -1;

    const char *type = json_text_or(key, "type", "");
    const char *email = NULL;
    const char *key_pem = NULL;
    const char *key_id = NULL;
    const char *url = "https://oauth2.googleapis.com/token";
    struct url parts;
    if (!text_equal(type, "service_account"))
        return error_set(err, ERROR_INVALID,
                         "%s: expected a key of type \"service_account\", found \"%s\"", path,
                         type);
    if (json_need_text(key, "client_email", &email, err) < 0 ||
        json_need_text(key, "private_key", &key_pem, err) < 0 ||
        json_need_text(key, "private_key_id", &key_id, err) < 0 ||
        json_find_text(key, "token_uri", &url, err) < 0 || url_parse(url, &parts, err) < 0) {
        if (err)
            err->kind = ERROR_INVALID;
        return error_context(err, "%s", path);
    }
    token->email = mem_copy_chars(email);
    token->key_pem = mem_copy_chars(key_pem);
    token->key_id = mem_copy_chars(key_id);
    token->url = mem_copy_chars(url);
    return 0;
}

static void add_part(struct text *out, const json_t *part)
{
    owned(chars) char *chars = json_print(part);
    crypto_add_base64url(out, chars, strlen(chars));
}

/* The form that exchanges a signed assertion (RFC 7523) for a token. */
static struct text *assertion_form(const struct gcp_token *token, struct error *err)
{
    int64_t now_s = loop_wall(token->world->loop).ms / SECOND_MS - CLOCK_SLACK_S;
    owned(json) json_t *header = json_make("{s:s, s:s, s:s}", "alg", "RS256", "typ", "JWT", "kid",
                                           token->key_id);
    owned(json) json_t *claims = json_make(
        "{s:s, s:s, s:s, s:I, s:I}", "iss", token->email, "scope", SCOPE, "aud", token->url, "iat",
        (json_int_t)now_s, "exp", (json_int_t)(now_s + ASSERTION_LIFE_S));
    owned(text) struct text *signed_part = text_new(4096);
    owned(text) struct text *signature = text_new(4096);
    add_part(signed_part, header);
    text_add(signed_part, ".");
    add_part(signed_part, claims);
    if (crypto_sign_rs256(token->key_pem, signed_part->chars, signed_part->length, signature, err) <
        0)
        return NULL;

    struct text *form = text_new(16 * 1024);
    text_add(form, "grant_type=");
    url_add_escaped(form, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    text_add(form, "&assertion=%s.", signed_part->chars);
    crypto_add_base64url(form, signature->chars, signature->length);
    return form;
}

static int64_t left_ms(const struct gcp_token *token)
{
    return token->access ? token->ends_ms - loop_now(token->world->loop) : 0;
}

static void set_access(struct gcp_token *token, const char *access)
{
    if (token->access)
        explicit_bzero(token->access, strlen(token->access));
    mem_free(token->access);
    token->access = mem_copy_chars(access);
}

/* Calls all present waiters; a caller that asks from inside `ready` waits for the next token. */
static void deliver_to_all(struct gcp_token *token, const struct error *err)
{
    owned(chars) char *access = err ? NULL : mem_copy_chars(token->access);
    for (int left = token->waiting; left > 0 && token->first; left--) {
        struct gcp_waiter *waiter = token->first;
        gcp_token_forget(token, waiter);
        waiter->ready(waiter, access, err);
    }
}

static int refused(int status, const struct http_answer *answer, const char *said,
                   struct error *err)
{
    enum error_kind kind = ERROR_DENIED;
    if (status == 429)
        kind = ERROR_THROTTLED;
    else if (status == 408 || status >= 500)
        kind = ERROR_TRANSIENT;
    error_set(err, kind, "token refused: %d %.200s", status, said);
    error_wait(err, answer->retry_after_ms);
    return -1;
}

static int read_token(struct gcp_token *token, const struct http_answer *answer, struct error *err)
{
    owned(json) json_t *body = json_parse_foreign(answer->body, answer->body_size, "token", err);
    if (answer->status != 200) {
        const char *said = json_text_or(body, "error_description", "");
        if (said[0] == '\0')
            said = json_text_or(body, "error", answer->body);
        return refused(answer->status, answer, said, err);
    }
    const char *flavor = http_header_find(answer->headers, answer->header_count, "Metadata-Flavor");
    if (!token->email && !text_equal(flavor, "Google"))
        return error_set(err, ERROR_DENIED, "%s is no metadata server of Google", token->url);

    const char *access = NULL;
    int64_t life_s = 0;
    if (!body || json_need_text(body, "access_token", &access, err) < 0 ||
        json_need_int(body, "expires_in", &life_s, err) < 0)
        return error_context(err, "token");
    if (access[0] == '\0' || strpbrk(access, "\r\n") || life_s <= 0 || life_s > LIFE_LIMIT_S)
        return error_set(err, ERROR_CORRUPT, "token: the answer makes no sense");

    set_access(token, access);
    token->ends_ms = token->fetch_began_ms + life_s * SECOND_MS;
    token->next_try_ms = loop_now(token->world->loop) + RETRY_MS;
    return 0;
}

static void on_fetched(void *context, const struct http_answer *answer, const struct error *err)
{
    struct gcp_token *token = context;
    struct error why = { 0 };
    token->fetch = NULL;
    if (err) {
        why = *err;
        if (why.kind == ERROR_UNKNOWN_OUTCOME) /* asking for a token changes nothing */
            why.kind = ERROR_TRANSIENT;
        error_context(&why, "token");
    } else if (read_token(token, answer, &why) == 0) {
        deliver_to_all(token, NULL);
        return;
    }
    token->next_try_ms = loop_now(token->world->loop) + RETRY_MS;
    deliver_to_all(token, left_ms(token) > USABLE_MS ? NULL : &why);
}

static void fetch(struct gcp_token *token)
{
    struct error err = { 0 };
    static const struct http_header flavor = { "Metadata-Flavor", "Google" };
    static const struct http_header form_type = { "Content-Type",
                                                  "application/x-www-form-urlencoded" };
    owned(text) struct text *form = token->email ? assertion_form(token, &err) : NULL;
    if (token->email && !form) {
        deliver_to_all(token, &err);
        return;
    }
    struct http_request request = {
        .method = form ? HTTP_POST : HTTP_GET,
        .priority = HTTP_RECLAIM,
        .url = token->url,
        .headers = form ? &form_type : &flavor,
        .header_count = 1,
        .body = form ? form->chars : NULL,
        .body_size = form ? form->length : 0,
        .timeout_ms = FETCH_TIMEOUT_MS,
    };
    token->fetch_began_ms = loop_now(token->world->loop);
    token->fetch = http_send(token->world->http, &request, on_fetched, token);
}

static void on_deliver(void *context)
{
    struct gcp_token *token = context;
    if (token->fetch || !token->first)
        return;
    bool is_early = loop_now(token->world->loop) < token->next_try_ms;
    if (left_ms(token) > FRESH_MS || (left_ms(token) > USABLE_MS && is_early))
        deliver_to_all(token, NULL);
    else
        fetch(token);
}

struct gcp_token *gcp_token_new(struct world *world, const struct gcp_identity *whose,
                                struct error *err)
{
    struct gcp_token *token = mem_new(sizeof *token);
    token->world = world;
    token->last = &token->first;
    if (whose->credentials) {
        if (read_key(token, whose->credentials, err) < 0) {
            gcp_token_free(token);
            return NULL;
        }
    } else {
        token->url = text_format("%s%s", whose->metadata ?: METADATA_URL, METADATA_PATH);
    }
    token->deliver = timer_new(world->loop, on_deliver, token);
    return token;
}

void gcp_token_free(struct gcp_token *token)
{
    if (!token)
        return;
    http_cancel(token->world->http, token->fetch);
    timer_free(token->deliver);
    if (token->key_pem)
        explicit_bzero(token->key_pem, strlen(token->key_pem));
    set_access(token, NULL);
    mem_free(token->email);
    mem_free(token->key_pem);
    mem_free(token->key_id);
    mem_free(token->url);
    mem_free(token);
}

int gcp_token_ask(struct gcp_token *token, struct gcp_waiter *waiter, struct error *err)
{
    if (token->waiting >= WAITER_LIMIT)
        return error_set(err, ERROR_TRANSIENT, "token: %d calls wait for one already",
                         WAITER_LIMIT);
    waiter->next = NULL;
    *token->last = waiter;
    token->last = &waiter->next;
    token->waiting++;
    timer_set_sooner(token->deliver, 0);
    return 0;
}

void gcp_token_forget(struct gcp_token *token, struct gcp_waiter *waiter)
{
    for (struct gcp_waiter **at = &token->first; *at; at = &(*at)->next) {
        if (*at != waiter)
            continue;
        *at = waiter->next;
        if (token->last == &waiter->next)
            token->last = at;
        token->waiting--;
        return;
    }
}

void gcp_token_reject(struct gcp_token *token, const char *refused_token)
{
    if (text_equal(token->access, refused_token))
        set_access(token, NULL);
}
