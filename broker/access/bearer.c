/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See bearer.h.  Nothing of the payload is read before the signature is verified.
 */
#include "broker/access/bearer.h"

#include "base/crypto.h"
#include "base/input/json.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

/* The three parts of HEADER.PAYLOAD.SIGNATURE, decoded. */
struct parts {
    struct text *header;
    struct text *payload;
    struct text *signature;
    size_t signed_size; /* of HEADER.PAYLOAD as it stands in the token */
};

const struct error_cause bearer_key_unknown = { "unknown key" };

static void owned_parts(struct parts *parts)
{
    text_free(parts->header);
    text_free(parts->payload);
    text_free(parts->signature);
}

static int split(const char *token, struct parts *parts, struct error *err)
{
    size_t length = strlen(token);
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;
    struct error why = { 0 };

    if (length > BEARER_SIZE_MOST)
        return error_set(err, ERROR_DENIED, "the token is longer than %d bytes", BEARER_SIZE_MOST);
    if (!second || strchr(second + 1, '.'))
        return error_set(err, ERROR_DENIED, "the token is not HEADER.PAYLOAD.SIGNATURE");
    parts->header = crypto_decode_base64url(token, (size_t)(first - token), &why);
    parts->payload = crypto_decode_base64url(first + 1, (size_t)(second - first - 1), &why);
    parts->signature = crypto_decode_base64url(second + 1, strlen(second + 1), &why);
    parts->signed_size = (size_t)(second - token);
    if (!parts->header || !parts->payload || !parts->signature)
        return error_set(err, ERROR_DENIED, "a part of the token is not base64url");
    return 0;
}

/* NULL: not a JSON object.  The reader's own error would quote it. */
static json_t *read_object(const struct text *text)
{
    struct error why = { 0 };
    json_t *json = json_parse(text->chars, text->length, "token", &why);

    if (json && !json_is_object(json)) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

static int check_signature(const char *token, const struct parts *parts,
                           const struct web_keys *keys, struct error *err)
{
    const struct web_signature claim = { token, parts->signed_size, parts->signature->chars,
                                         parts->signature->length };
    owned(json) json_t *header = read_object(parts->header);
    const char *algorithm;
    const char *id = NULL;
    struct error why = { 0 };

    if (!header || json_need_text(header, "alg", &algorithm, &why) < 0 ||
        json_find_text(header, "kid", &id, &why) < 0)
        return error_set(err, ERROR_DENIED, "the token's header cannot be read");
    if (json_object_get(header, "crit"))
        return error_set(err, ERROR_DENIED, "the token has critical extensions");
    if (!text_equal(algorithm, "RS256") && !text_equal(algorithm, "ES256"))
        return error_set(err, ERROR_DENIED, "the token's algorithm is not RS256 or ES256");
    if (!web_keys_has(keys, algorithm, id)) {
        error_set(err, ERROR_DENIED, "no key of the issuer has signed the token");
        return error_because(err, &bearer_key_unknown);
    }
    if (!web_keys_verify(keys, algorithm, id, &claim))
        return error_set(err, ERROR_DENIED, "no key of the issuer has signed the token");
    return 0;
}

/* A time in seconds; false: absent, or no number that can be one. */
static bool read_time(const json_t *claims, const char *name, double *ret_ms)
{
    const json_t *value = json_object_get(claims, name);
    double seconds = json_number_value(value);

    if (!json_is_number(value) || !isfinite(seconds) || seconds < 0 || seconds > 1e11)
        return false;
    *ret_ms = seconds * SECOND_MS;
    return true;
}

static int check_times(const json_t *claims, struct wall_time now, struct error *err)
{
    double now_ms = (double)now.ms;
    double at_ms;

    if (!read_time(claims, "exp", &at_ms))
        return error_set(err, ERROR_DENIED, "the token does not say when it ends (exp)");
    if (now_ms >= at_ms + BEARER_LEEWAY_MS)
        return error_set(err, ERROR_DENIED, "the token has expired: get a new one");
    if (json_object_get(claims, "nbf") &&
        (!read_time(claims, "nbf", &at_ms) || now_ms < at_ms - BEARER_LEEWAY_MS))
        return error_set(err, ERROR_DENIED, "the token is not valid yet (nbf)");
    if (json_object_get(claims, "iat") &&
        (!read_time(claims, "iat", &at_ms) || now_ms < at_ms - BEARER_LEEWAY_MS))
        return error_set(err, ERROR_DENIED, "the token was made in the future (iat)");
    return 0;
}

struct wall_time bearer_ends(const json_t *claims)
{
    double at_ms = 0;

    require(read_time(claims, "exp", &at_ms)); /* the claims were checked */
    return (struct wall_time){ (int64_t)at_ms + BEARER_LEEWAY_MS };
}

bool bearer_has(const json_t *claims, const char *name, const char *value)
{
    const json_t *claim = json_object_get(claims, name);

    if (json_is_string(claim))
        return text_equal(json_string_value(claim), value);
    for (size_t i = 0; i < json_array_size(claim); i++)
        if (text_equal(json_string_value(json_array_get(claim, i)), value))
            return true;
    return false;
}

json_t *bearer_read(const char *token, const struct web_keys *keys,
                    const struct bearer_rules *rules, struct wall_time now, struct error *err)
{
    owned(parts) struct parts parts = { 0 };
    owned(json) json_t *claims = NULL;
    const char *issuer;

    require(rules->issuer && rules->audience);
    if (split(token, &parts, err) < 0 || check_signature(token, &parts, keys, err) < 0)
        return NULL;
    claims = read_object(parts.payload);
    issuer = json_text_or(claims, "iss", "");
    if (!claims)
        error_set(err, ERROR_DENIED, "the token's claims are no JSON object");
    else if (!text_equal(issuer, rules->issuer))
        error_set(err, ERROR_DENIED, "the token is of another issuer (iss)");
    else if (!bearer_has(claims, "aud", rules->audience))
        error_set(err, ERROR_DENIED, "the token is for another service (aud)");
    else if (check_times(claims, now, err) == 0)
        return steal(&claims);
    return NULL;
}
