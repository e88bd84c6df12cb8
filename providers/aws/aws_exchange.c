/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The requests.  What answers mean is in aws_answer.c.
 */
#include "providers/aws/aws_exchange.h"

#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/url.h"

#include <string.h>

enum { FORM_LIMIT = 64 * 1024, LIFE_S = 3600 };

static const char session_life[] = "21600";
static const char metadata_path[] = "/latest/meta-data/iam/security-credentials/";

static void add_header(struct aws_exchange *exchange, const char *name, const char *value)
{
    require(exchange->header_count < AWS_EXCHANGE_HEADERS);
    exchange->headers[exchange->header_count].name = name;
    exchange->headers[exchange->header_count++].value = mem_copy_chars(value);
}

void aws_exchange_clear(struct aws_exchange *exchange)
{
    for (size_t i = 0; i < exchange->header_count; i++)
        secret_free(exchange->headers[i].value);
    if (exchange->body)
        explicit_bzero(exchange->body->chars, exchange->body->length);
    text_free(exchange->body);
    mem_free(exchange->url);
    *exchange = (struct aws_exchange){ 0 };
}

static void add_parameter(struct text *form, const char *name, const char *value)
{
    text_add(form, "&%s=", name);
    url_add_escaped(form, value);
}

static int add_identity(struct text *form, const struct aws_link *link, struct error *err)
{
    char *token = aws_token_read(link->token_file, err);

    if (!token)
        return error_context(err, "web identity");
    add_parameter(form, "WebIdentityToken", token);
    secret_free(token);
    return 0;
}

static int sign(struct aws_exchange *exchange, const struct aws_keys *keys,
                const struct aws_scope *scope, struct error *err)
{
    struct http_header headers[AWS_EXCHANGE_HEADERS];
    char time[AWS_TIME_SIZE];

    aws_time(scope->at, time);
    add_header(exchange, "X-Amz-Date", time);
    if (keys->token)
        add_header(exchange, "X-Amz-Security-Token", keys->token);
    for (size_t i = 0; i < exchange->header_count; i++)
        headers[i] = (struct http_header){ exchange->headers[i].name, exchange->headers[i].value };

    const struct aws_request request = {
        .method = "POST",
        .headers = headers,
        .header_count = exchange->header_count,
        .body = exchange->body->chars,
        .body_size = exchange->body->length,
    };
    owned(chars) char *authorization = aws_sign_url(keys, scope, exchange->url, &request, err);

    if (!authorization)
        return -1;
    add_header(exchange, "Authorization", authorization);
    return 0;
}

int aws_exchange_sts(const struct aws_link *link, const struct aws_keys *keys,
                     const struct aws_scope *scope, struct aws_exchange *ret_exchange,
                     struct error *err)
{
    bool is_web = link->kind == AWS_WEB_IDENTITY;
    owned(chars) char *life = text_format("%d", LIFE_S);
    owned(aws_exchange) struct aws_exchange exchange = { .method = HTTP_POST };

    exchange.url = mem_copy_chars(link->url);
    exchange.body = text_new(FORM_LIMIT);
    text_add(exchange.body, "Action=%s&Version=2011-06-15",
             is_web ? "AssumeRoleWithWebIdentity" : "AssumeRole");
    add_parameter(exchange.body, "RoleArn", link->role);
    add_parameter(exchange.body, "RoleSessionName", link->session ?: "sluice");
    add_parameter(exchange.body, "DurationSeconds", life);
    if (link->external_id)
        add_parameter(exchange.body, "ExternalId", link->external_id);
    add_header(&exchange, "Content-Type", "application/x-www-form-urlencoded");
    if (is_web ? add_identity(exchange.body, link, err) < 0 : sign(&exchange, keys, scope, err) < 0)
        return -1;
    if (exchange.body->is_cut)
        return error_set(err, ERROR_INVALID, "%s is too long for a token",
                         link->token_file ?: "the form");
    *ret_exchange = exchange;
    exchange = (struct aws_exchange){ 0 };
    return 0;
}

int aws_exchange_container(const struct aws_link *link, struct aws_exchange *ret_exchange,
                           struct error *err)
{
    char *token = link->token_file ? aws_token_read(link->token_file, err)
                                   : mem_copy_chars(link->token);

    if (link->token_file && !token)
        return error_context(err, "the container's agent");
    *ret_exchange = (struct aws_exchange){ .method = HTTP_GET, .url = mem_copy_chars(link->url) };
    if (!token)
        return 0;
    add_header(ret_exchange, "Authorization", token);
    secret_free(token);
    return 0;
}

void aws_exchange_metadata(const struct aws_link *link, const struct aws_metadata_talk *talk,
                           struct aws_exchange *ret_exchange)
{
    bool is_session = talk->step == AWS_METADATA_SESSION;

    *ret_exchange = (struct aws_exchange){
        .method = is_session ? HTTP_PUT : HTTP_GET,
        .url = is_session ? text_format("%s/latest/api/token", link->url)
                          : text_format("%s%s%s", link->url, metadata_path,
                                        talk->step == AWS_METADATA_KEYS ? talk->role : ""),
    };
    if (is_session)
        add_header(ret_exchange, "X-aws-ec2-metadata-token-ttl-seconds", session_life);
    else
        add_header(ret_exchange, "X-aws-ec2-metadata-token", talk->session);
}
