/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See http_secrets.h.
 */
#include "base/world/http_secrets.h"

#include "base/array.h"

#include <string.h>
#include <strings.h>

enum { SECRET_LENGTH_MIN = 8 };

struct secret {
    char *chars;
    size_t length;
};

struct http_secrets {
    ARRAY(struct secret) list;
    struct text *kept; /* the end of a stream's last piece */
};

static const char *const headers[] = {
    "Authorization",        "Proxy-Authorization",      "Cookie",
    "X-Amz-Security-Token", "X-aws-ec2-metadata-token",
};

/* Of a form or a query. */
static const char *const parameters[] = {
    "assertion",     "subject_token", "WebIdentityToken",     "SAMLAssertion",    "client_secret",
    "refresh_token", "password",      "X-Amz-Security-Token", "client_assertion",
};

static void keep(struct http_secrets *secrets, const char *chars, size_t length)
{
    struct secret secret = { mem_new(length + 1), length };

    memcpy(secret.chars, chars, length);
    if (length < SECRET_LENGTH_MIN)
        mem_free(secret.chars);
    else
        *array_add(&secrets->list) = secret;
}

static void keep_headers(struct http_secrets *secrets, const struct http_request *request)
{
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        const char *value = http_header_find(request->headers, request->header_count, headers[i]);
        const char *space = value ? strchr(value, ' ') : NULL;

        if (!value)
            continue;
        keep(secrets, value, strlen(value));
        if (space && strcasecmp(headers[i], "Cookie") != 0) /* "Bearer TOKEN" */
            keep(secrets, space + 1, strlen(space + 1));
    }
}

static void keep_parameters(struct http_secrets *secrets, const char *chars, size_t size)
{
    const char *end = chars + size;

    while (chars < end) {
        const char *stop = memchr(chars, '&', (size_t)(end - chars)) ?: end;
        const char *equals = memchr(chars, '=', (size_t)(stop - chars));

        for (size_t i = 0; equals && i < COUNT_OF(parameters); i++)
            if ((size_t)(equals - chars) == strlen(parameters[i]) &&
                memcmp(chars, parameters[i], strlen(parameters[i])) == 0)
                keep(secrets, equals + 1, (size_t)(stop - equals - 1));
        chars = stop < end ? stop + 1 : end;
    }
}

struct http_secrets *http_secrets_new(const struct http_request *request)
{
    struct http_secrets *secrets = mem_new(sizeof *secrets);
    const char *type = http_header_find(request->headers, request->header_count, "Content-Type");
    const char *query = strchr(request->url, '?');

    keep_headers(secrets, request);
    if (query)
        keep_parameters(secrets, query + 1, strlen(query + 1));
    if (request->body && type && text_starts_with(type, "application/x-www-form-urlencoded"))
        keep_parameters(secrets, request->body, request->body_size);
    if (secrets->list.count > 0)
        return secrets;
    http_secrets_free(secrets);
    return NULL;
}

void http_secrets_free(struct http_secrets *secrets)
{
    if (!secrets)
        return;
    for (size_t i = 0; i < secrets->list.count; i++) {
        explicit_bzero(secrets->list.items[i].chars, secrets->list.items[i].length);
        mem_free(secrets->list.items[i].chars);
    }
    array_clear(&secrets->list);
    text_free(secrets->kept);
    mem_free(secrets);
}

/* The first secret in the bytes; of two that begin at one place the longer one; NULL: none. */
static const char *find(const struct http_secrets *secrets, const char *bytes, size_t size,
                        size_t *ret_length)
{
    const char *first = NULL;

    for (size_t i = 0; secrets && i < secrets->list.count; i++) {
        const struct secret *secret = &secrets->list.items[i];
        const char *found = memmem(bytes, size, secret->chars, secret->length);

        if (!found ||
            (first && (found > first || (found == first && secret->length < *ret_length))))
            continue;
        first = found;
        *ret_length = secret->length;
    }
    return first;
}

bool http_secrets_show(const struct http_secrets *secrets, const char *bytes, size_t size)
{
    size_t length;

    return find(secrets, bytes, size, &length) != NULL;
}

void http_secrets_strike(const struct http_secrets *secrets, struct text *text)
{
    size_t length = 0;
    const char *found = find(secrets, text->chars, text->length, &length);

    if (!found)
        return;

    owned(text) struct text *struck = text_new(TEXT_UNBOUNDED);
    const char *at = text->chars;
    const char *end = text->chars + text->length;

    for (; found; found = find(secrets, at, (size_t)(end - at), &length)) {
        text_add_bytes(struck, at, (size_t)(found - at));
        text_add(struck, "%s", HTTP_SECRET_STRUCK);
        at = found + length;
    }
    text_add_bytes(struck, at, (size_t)(end - at));
    explicit_bzero(text->chars, text->length);
    text_reset(text);
    text_add_bytes(text, struck->chars, struck->length);
}

/* The number of bytes at the end that may be the beginning of a secret. */
static size_t open_end(const struct http_secrets *secrets, const char *bytes, size_t size)
{
    size_t longest = 0;

    for (size_t i = 0; i < secrets->list.count; i++) {
        const struct secret *secret = &secrets->list.items[i];

        for (size_t length = size < secret->length ? size : secret->length - 1; length > longest;
             length--)
            if (bytes[size - length] == secret->chars[0] &&
                memcmp(bytes + size - length, secret->chars, length) == 0)
                longest = length;
    }
    return longest;
}

void http_secrets_stream(struct http_secrets *secrets, const char *bytes, size_t size,
                         http_chunk_fn on_chunk, void *context)
{
    bool has_kept = secrets && secrets->kept && secrets->kept->length > 0;

    if (!secrets || (!has_kept && !http_secrets_show(secrets, bytes, size) &&
                     open_end(secrets, bytes, size) == 0)) {
        on_chunk(context, bytes, size);
        return;
    }

    owned(text) struct text *piece = secrets->kept ?: text_new(TEXT_UNBOUNDED);
    size_t open;

    text_add_bytes(piece, bytes, size);
    http_secrets_strike(secrets, piece);
    open = open_end(secrets, piece->chars, piece->length);
    secrets->kept = text_new(TEXT_UNBOUNDED);
    text_add_bytes(secrets->kept, piece->chars + piece->length - open, open);
    text_end_at(piece, piece->length - open);
    if (piece->length > 0)
        on_chunk(context, piece->chars, piece->length);
}
