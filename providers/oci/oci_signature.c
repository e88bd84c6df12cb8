/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The signing string has a line "name: value" for each header, in the order of the header list.
 */
#include "providers/oci/oci_signature.h"

#include "base/crypto.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/url.h"

#include <string.h>

enum { STRING_LIMIT = 16 * 1024 };

static const char PLAIN_LIST[] = "date (request-target) host";
static const char BODY_LIST[] = "date (request-target) host x-content-sha256 content-type "
                                "content-length";

static void add(struct oci_headers *headers, const char *name, char *value)
{
    require(headers->count < OCI_SIGNED_HEADERS);
    headers->items[headers->count].name = name;
    headers->items[headers->count++].value = value;
}

void oci_headers_clear(struct oci_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        secret_free(headers->items[i].value);
    *headers = (struct oci_headers){ 0 };
}

/* "Thu, 05 Jan 2014 21:31:40 GMT" */
static char *date_of(struct wall_time at)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    struct civil_date date = civil_date_of_day(at.ms / DAY_MS);
    int second = (int)(at.ms % DAY_MS / SECOND_MS);

    return text_format("%s, %02d %s %04d %02d:%02d:%02d GMT", days[civil_weekday(at.ms / DAY_MS)],
                       date.day, months[date.month - 1], date.year, second / 3600, second / 60 % 60,
                       second % 60);
}

/* What an HTTP client puts into Host. */
static char *host_of(const struct url *url)
{
    bool is_usual = url->port == 0 || url->port == (text_equal(url->scheme, "https") ? 443 : 80);

    return is_usual ? text_format("%s", url->host) : text_format("%s:%d", url->host, url->port);
}

static char *digest_of(const char *body)
{
    unsigned char hash[SHA256_SIZE];
    owned(text) struct text *text = text_new(64);

    crypto_sha256(body, strlen(body), hash);
    crypto_add_base64(text, hash, sizeof hash);
    return mem_copy_chars(text->chars);
}

static const char *method_name(enum http_method method)
{
    static const char *const names[HTTP_METHOD_COUNT] = {
        [HTTP_GET] = "get",     [HTTP_POST] = "post",     [HTTP_PUT] = "put",
        [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete",
    };

    return names[method];
}

int oci_sign(const char *key_id, const struct crypto_key *key, const struct oci_request *request,
             struct oci_headers *ret_headers, struct error *err)
{
    bool has_body = request->method == HTTP_POST || request->method == HTTP_PUT;
    owned(text) struct text *string = text_new(STRING_LIMIT);
    owned(text) struct text *signature = text_new(4096);
    owned(text) struct text *encoded = text_new(8192);
    owned(chars) char *host = NULL;
    owned(oci_headers) struct oci_headers headers = { 0 };
    struct url url;

    if (url_parse(request->url, &url, err) < 0)
        return -1;
    host = host_of(&url);
    add(&headers, "Date", date_of(request->at));
    text_add(string, "date: %s\n(request-target): %s %s\nhost: %s", headers.items[0].value,
             method_name(request->method), url.target, host);
    if (has_body) {
        add(&headers, "x-content-sha256", digest_of(request->body));
        add(&headers, "Content-Type", mem_copy_chars("application/json"));
        text_add(string,
                 "\nx-content-sha256: %s\ncontent-type: application/json\ncontent-length: %zu",
                 headers.items[1].value, strlen(request->body));
    }
    if (string->is_cut)
        return error_set(err, ERROR_INVALID, "the URL is too long to be signed");
    if (crypto_sign_rs256(key, string->chars, string->length, signature, err) < 0)
        return -1;
    crypto_add_base64(encoded, signature->chars, signature->length);
    add(&headers, "Authorization",
        text_format("Signature version=\"1\",keyId=\"%s\",algorithm=\"rsa-sha256\",headers=\"%s\","
                    "signature=\"%s\"",
                    key_id, has_body ? BODY_LIST : PLAIN_LIST, encoded->chars));
    *ret_headers = headers;
    headers = (struct oci_headers){ 0 };
    return 0;
}
