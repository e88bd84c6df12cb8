/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * print_signatures: reads requests as lines of JSON, and prints what sluice would sign each with:
 * the Authorization of AWS, or the headers of Oracle Cloud as JSON.  Run by
 * tests/clouds/signatures.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/memory.h"
#include "providers/aws/aws_eks.h"
#include "providers/oci/oci_signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 1 << 20 };

static _Noreturn void fail(const struct error *err)
{
    fprintf(stderr, "print_signatures: %s\n", err->text);
    exit(1);
}

static const char *text_of(const json_t *request, const char *key)
{
    return json_text_or(request, key, "");
}

static struct wall_time time_of(const json_t *request)
{
    return (struct wall_time){ json_int_or(request, "at_ms", 0) };
}

static struct aws_keys keys_of(const json_t *request)
{
    const char *token = json_text_or(request, "token", NULL);

    return (struct aws_keys){ mem_copy_chars(text_of(request, "id")),
                              mem_copy_chars(text_of(request, "secret")),
                              token ? mem_copy_chars(token) : NULL };
}

static struct aws_scope scope_of(const json_t *request)
{
    return (struct aws_scope){ text_of(request, "region"), text_of(request, "service"),
                               time_of(request) };
}

static void print_eks(const json_t *request)
{
    owned(aws_keys) struct aws_keys keys = keys_of(request);
    const struct aws_scope scope = scope_of(request);
    struct error err = { 0 };
    owned(chars) char *token = aws_eks_token(&keys, &scope, text_of(request, "url"),
                                             text_of(request, "cluster"), &err);

    if (!token)
        fail(&err);
    puts(token);
}

static void print_aws(const json_t *request)
{
    owned(aws_keys) struct aws_keys keys = keys_of(request);
    const struct aws_scope scope = scope_of(request);
    const char *body = text_of(request, "body");
    struct http_header headers[AWS_HEADERS_MAX];
    struct aws_request signed_one = { .method = text_of(request, "method"),
                                      .target = "",
                                      .headers = headers,
                                      .body = body,
                                      .body_size = strlen(body) };
    const json_t *header;
    size_t i;
    struct error err = { 0 };

    json_array_foreach(json_at(request, "headers"), i, header) {
        require(i + 1 < AWS_HEADERS_MAX);
        headers[signed_one.header_count++] =
            (struct http_header){ json_string_value(json_array_get(header, 0)),
                                  json_string_value(json_array_get(header, 1)) };
    }

    owned(chars) char *signature = aws_sign_url(&keys, &scope, text_of(request, "url"), &signed_one,
                                                &err);

    if (!signature)
        fail(&err);
    puts(signature);
}

static void print_oci(const json_t *request, const struct crypto_key *key)
{
    const char *method = text_of(request, "method");
    const struct oci_request signed_one = {
        .method = text_equal(method, "PUT")      ? HTTP_PUT
                  : text_equal(method, "POST")   ? HTTP_POST
                  : text_equal(method, "DELETE") ? HTTP_DELETE
                                                 : HTTP_GET,
        .url = text_of(request, "url"),
        .body = text_of(request, "body"),
        .at = time_of(request),
    };
    owned(oci_headers) struct oci_headers headers = { 0 };
    owned(json) json_t *all = json_object();
    struct error err = { 0 };

    if (oci_sign(text_of(request, "key_id"), key, &signed_one, &headers, &err) < 0)
        fail(&err);
    for (size_t i = 0; i < headers.count; i++)
        json_object_set_new(all, headers.items[i].name, json_string(headers.items[i].value));

    owned(chars) char *chars = json_print(all);

    puts(chars);
}

int main(int argc, char **argv)
{
    static char line[LINE_MOST];
    struct error err = { 0 };
    owned(text) struct text *pem = NULL;
    owned(crypto_key) struct crypto_key *key = NULL;

    mem_setup();
    if (argc > 2)
        return 64;
    if (argc == 2 && (!(pem = file_read(argv[1], LINE_MOST, &err)) ||
                      crypto_key_read(&key, pem->chars, &err) < 0))
        fail(&err);
    while (fgets(line, sizeof line, stdin)) {
        owned(json) json_t *request = json_parse(line, strlen(line), "request", &err);

        if (!request)
            fail(&err);
        if (key)
            print_oci(request, key);
        else if (json_at(request, "cluster"))
            print_eks(request);
        else
            print_aws(request);
    }
    return 0;
}
