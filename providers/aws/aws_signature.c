/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The request in its canonical form, the text that is signed, and the chain of keys.
 */
#include "providers/aws/aws_signature.h"

#include "base/crypto.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char algorithm[] = "AWS4-HMAC-SHA256";

enum { DATE_LENGTH = 8, PARAMETERS_MAX = 128 };

void aws_time(struct wall_time at, char out[AWS_TIME_SIZE])
{
    int64_t day = at.ms / DAY_MS;
    int second = (int)(at.ms % DAY_MS / SECOND_MS);
    struct civil_date date = civil_date_of_day(day);
    owned(chars) char *text = text_format("%04d%02d%02dT%02d%02d%02dZ", date.year, date.month,
                                          date.day, second / 3600, second / 60 % 60, second % 60);

    text_copy(out, AWS_TIME_SIZE, text);
}

static void add_hex(struct text *out, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        text_add(out, "%02x", bytes[i]);
}

static void add_escaped(struct text *out, const char *chars, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)chars[i];

        text_add(out, isalnum(byte) || (byte && strchr("-._~", byte)) ? "%c" : "%%%02X", byte);
    }
}

/* "." and empty segments vanish, ".." removes the segment before it, and each segment is escaped,
   once more where it was already: this is the path that the service signs. */
static void add_path(struct text *out, const char *path, size_t size)
{
    size_t start = out->length;

    for (size_t at = 0; at < size;) {
        const char *segment = path + at + 1;
        size_t length = strcspn(segment, "/?");

        at += length + 1;
        if (length == 0 || (length == 1 && segment[0] == '.'))
            continue;
        if (length == 2 && segment[0] == '.' && segment[1] == '.') {
            while (out->length > start && out->chars[--out->length] != '/')
                ;
            out->chars[out->length] = '\0';
            continue;
        }
        text_add(out, "/");
        add_escaped(out, segment, length);
    }
    if (out->length == start || (size > 1 && path[size - 1] == '/'))
        text_add(out, "/");
}

/* Name before value: "a=" sorts before "a-b=", although '-' comes before '='. */
static int compare_parameters(const void *left, const void *right)
{
    const char *a = *(const char *const *)left;
    const char *b = *(const char *const *)right;
    size_t a_length = strcspn(a, "=&");
    size_t b_length = strcspn(b, "=&");
    int order = strncmp(a, b, a_length < b_length ? a_length : b_length);

    if (order != 0)
        return order;
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;

    size_t a_all = strcspn(a, "&");
    size_t b_all = strcspn(b, "&");

    order = strncmp(a, b, a_all < b_all ? a_all : b_all);
    return order != 0 ? order : a_all < b_all ? -1 : a_all > b_all;
}

static void add_query(struct text *out, const char *query)
{
    const char *parameters[PARAMETERS_MAX];
    size_t count = 0;

    while (*query) {
        size_t length = strcspn(query, "&");

        require(count < PARAMETERS_MAX);
        if (length > 0)
            parameters[count++] = query;
        query += length + (query[length] == '&');
    }
    qsort(parameters, count, sizeof *parameters, compare_parameters);
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(parameters[i], "&");

        text_add(out, "%s%.*s%s", i > 0 ? "&" : "", (int)length, parameters[i],
                 memchr(parameters[i], '=', length) ? "" : "=");
    }
}

static int compare_headers(const void *left, const void *right)
{
    const struct http_header *a = *(const struct http_header *const *)left;
    const struct http_header *b = *(const struct http_header *const *)right;
    int order = strcasecmp(a->name, b->name);

    return order != 0 ? order : a < b ? -1 : a > b;
}

static size_t sorted_headers(const struct aws_request *request,
                             const struct http_header *out[AWS_HEADERS_MAX])
{
    require(request->header_count <= AWS_HEADERS_MAX);
    for (size_t i = 0; i < request->header_count; i++)
        out[i] = &request->headers[i];
    qsort(out, request->header_count, sizeof *out, compare_headers);
    return request->header_count;
}

static void add_lower(struct text *out, const char *chars)
{
    for (; *chars; chars++)
        text_add(out, "%c", tolower((unsigned char)*chars));
}

/* Without spaces round it, and with one for several inside. */
static void add_value(struct text *out, const char *value)
{
    size_t start = out->length;

    while (*value) {
        size_t spaces = strspn(value, " \t\r\n");
        size_t length = strcspn(value += spaces, " \t\r\n");

        if (length > 0)
            text_add(out, "%s%.*s", spaces > 0 && out->length > start ? " " : "", (int)length,
                     value);
        value += length;
    }
}

static void add_headers(struct text *out, const struct aws_request *request)
{
    const struct http_header *headers[AWS_HEADERS_MAX];
    size_t count = sorted_headers(request, headers);

    for (size_t i = 0; i < count; i++) {
        bool is_again = i > 0 && strcasecmp(headers[i]->name, headers[i - 1]->name) == 0;

        if (!is_again)
            add_lower(out, headers[i]->name);
        text_add(out, is_again ? "," : ":");
        add_value(out, headers[i]->value);
        if (i + 1 == count || strcasecmp(headers[i]->name, headers[i + 1]->name) != 0)
            text_add(out, "\n");
    }
}

static void add_signed_names(struct text *out, const struct aws_request *request)
{
    const struct http_header *headers[AWS_HEADERS_MAX];
    size_t count = sorted_headers(request, headers);

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcasecmp(headers[i]->name, headers[i - 1]->name) == 0)
            continue;
        text_add(out, i > 0 ? ";" : "");
        add_lower(out, headers[i]->name);
    }
}

char *aws_canonical_request(const struct aws_request *request)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    size_t path_size = strcspn(request->target, "?");
    const char *query = request->target + path_size;
    char digest[SHA256_TEXT_SIZE];

    crypto_sha256_text(request->body ?: "", request->body_size, digest);
    text_add(out, "%s\n", request->method);
    add_path(out, request->target, path_size);
    text_add(out, "\n");
    add_query(out, query[0] ? query + 1 : "");
    text_add(out, "\n");
    add_headers(out, request);
    text_add(out, "\n");
    add_signed_names(out, request);
    text_add(out, "\n%s", digest);
    return text_take(out);
}

char *aws_string_to_sign(const struct aws_scope *scope, const char *canonical)
{
    char time[AWS_TIME_SIZE];
    char digest[SHA256_TEXT_SIZE];

    aws_time(scope->at, time);
    crypto_sha256_text(canonical, strlen(canonical), digest);
    return text_format("%s\n%s\n%.*s/%s/%s/aws4_request\n%s", algorithm, time, DATE_LENGTH, time,
                       scope->region, scope->service, digest);
}

static void make_key(const char *secret, const struct aws_scope *scope,
                     unsigned char key[SHA256_SIZE])
{
    char time[AWS_TIME_SIZE];
    char *seed = text_format("AWS4%s", secret);

    aws_time(scope->at, time);
    crypto_hmac_sha256(seed, strlen(seed), time, DATE_LENGTH, key);
    crypto_hmac_sha256(key, SHA256_SIZE, scope->region, strlen(scope->region), key);
    crypto_hmac_sha256(key, SHA256_SIZE, scope->service, strlen(scope->service), key);
    crypto_hmac_sha256(key, SHA256_SIZE, "aws4_request", strlen("aws4_request"), key);
    secret_free(seed);
}

char *aws_sign(const struct aws_keys *keys, const struct aws_scope *scope,
               const struct aws_request *request)
{
    owned(chars) char *canonical = aws_canonical_request(request);
    owned(chars) char *to_sign = aws_string_to_sign(scope, canonical);
    struct text *out = text_new(TEXT_UNBOUNDED);
    unsigned char key[SHA256_SIZE];
    unsigned char signature[SHA256_SIZE];
    char time[AWS_TIME_SIZE];

    aws_time(scope->at, time);
    make_key(keys->secret, scope, key);
    crypto_hmac_sha256(key, sizeof key, to_sign, strlen(to_sign), signature);
    explicit_bzero(key, sizeof key);
    text_add(out, "%s Credential=%s/%.*s/%s/%s/aws4_request, SignedHeaders=", algorithm, keys->id,
             DATE_LENGTH, time, scope->region, scope->service);
    add_signed_names(out, request);
    text_add(out, ", Signature=");
    add_hex(out, signature, sizeof signature);
    return text_take(out);
}

/* What an HTTP client puts into Host. */
static char *make_host(const struct url *url)
{
    bool is_usual = url->port == 0 || url->port == (text_equal(url->scheme, "https") ? 443 : 80);

    bool is_v6 = strchr(url->host, ':') != NULL;
    owned(chars) char *host = text_format(is_v6 ? "[%s]" : "%s", url->host);

    return is_usual ? steal(&host) : text_format("%s:%d", host, url->port);
}

char *aws_sign_url(const struct aws_keys *keys, const struct aws_scope *scope, const char *url,
                   const struct aws_request *request, struct error *err)
{
    struct http_header headers[AWS_HEADERS_MAX];
    struct aws_request whole = *request;
    struct url parts;

    require(request->header_count < AWS_HEADERS_MAX);
    if (url_parse(url, &parts, err) < 0)
        return NULL;

    owned(chars) char *host = make_host(&parts);

    headers[0] = (struct http_header){ "Host", host };
    for (size_t i = 0; i < request->header_count; i++)
        headers[i + 1] = request->headers[i];
    whole.target = parts.target;
    whole.headers = headers;
    whole.header_count = request->header_count + 1;
    return aws_sign(keys, scope, &whole);
}

char *aws_presign_url(const struct aws_keys *keys, const struct aws_scope *scope, const char *url,
                      const struct http_header *header, struct error *err)
{
    const struct http_header named[] = { { "Host", "" }, *header };
    const struct aws_request names = { .headers = named, .header_count = COUNT_OF(named) };
    const struct aws_request request = { .method = "GET", .headers = header, .header_count = 1 };
    owned(text) struct text *signed_names = text_new(TEXT_UNBOUNDED);
    char time[AWS_TIME_SIZE];

    aws_time(scope->at, time);
    add_signed_names(signed_names, &names);

    owned(chars) char *credential = text_format("%s/%.*s/%s/%s/aws4_request", keys->id, DATE_LENGTH,
                                                time, scope->region, scope->service);
    owned(chars) char *token = keys->token ? url_format("&X-Amz-Security-Token=%s", keys->token)
                                           : mem_copy_chars("");
    owned(chars) char *query = url_format(
        "&X-Amz-Algorithm=%s&X-Amz-Credential=%s&X-Amz-Date=%s&X-Amz-SignedHeaders=%s", algorithm,
        credential, time, signed_names->chars);
    owned(chars) char *whole = text_format("%s%s%s", url, query, token);
    owned(chars) char *authorization = aws_sign_url(keys, scope, whole, &request, err);

    if (!authorization)
        return NULL;
    return text_format("%s&X-Amz-Signature=%s", whole,
                       strstr(authorization, "Signature=") + strlen("Signature="));
}

void aws_keys_clear(struct aws_keys *keys)
{
    secret_free(steal(&keys->id));
    secret_free(steal(&keys->secret));
    secret_free(steal(&keys->token));
}
