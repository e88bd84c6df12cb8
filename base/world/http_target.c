/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * URLs are read by libcurl's own parser, so that what is checked here is what libcurl will do:
 * it writes 0x7f.1 as 127.0.0.1 before we look at it.
 */
#include "base/world/http_target.h"

#include "base/memory.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

static void owned_curl_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* NULL when the part is absent; the caller frees it with mem_free(). */
static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *chars = NULL;

    if (curl_url_get(url, part, &chars, flags) != CURLUE_OK)
        return NULL;

    char *copy = mem_copy_chars(chars);

    curl_free(chars);
    return copy;
}

static bool is_loopback(const char *host)
{
    struct in_addr address;

    if (inet_pton(AF_INET, host, &address) == 1)
        return ntohl(address.s_addr) >> 24 == 127;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

/* The metadata servers of the clouds, and the agents that give keys to containers, answer on the
   link only, and only in plain http. */
static bool is_plain_allowed(const struct http_request *request, const char *host)
{
    static const char *const servers[] = { "169.254.169.254", "metadata.google.internal",
                                           "169.254.170.2",   "169.254.170.23",
                                           "[fd00:ec2::23]",  "[fd00:ec2::254]" };

    for (size_t i = 0; i < COUNT_OF(servers); i++)
        if (strcasecmp(host, servers[i]) == 0)
            return true;
    return request->unix_socket || is_loopback(host);
}

static int check_scheme(const struct http_request *request, const char *scheme, const char *host,
                        struct error *err)
{
    if (strcmp(scheme, "https") == 0)
        return 0;
    if (strcmp(scheme, "http") != 0)
        return error_set(err, ERROR_INVALID, "%s is no scheme for a request", scheme);
    if (!is_plain_allowed(request, host))
        return error_set(err, ERROR_INVALID, "plain http is refused for %s", host);
    return 0;
}

/* Puts the name to verify into the URL and the true host into CONNECT_TO. */
static int use_server_name(CURLU *url, const char *name, const char *host, const char *port,
                           struct http_target *target)
{
    if (curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK)
        return -1;
    target->connect_to = text_format("%s:%s:%s:%s", name, port, host, port);
    target->authority = strcmp(port, "443") == 0 ? mem_copy_chars(host)
                                                 : text_format("%s:%s", host, port);
    return 0;
}

static int fill(const struct http_request *request, CURLU *url, struct http_target *target,
                struct error *err)
{
    owned(chars) char *scheme = url_part(url, CURLUPART_SCHEME, 0);
    owned(chars) char *host = url_part(url, CURLUPART_HOST, 0);
    owned(chars) char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    const char *name = request->tls ? request->tls->server_name : NULL;

    if (!scheme || !host || !port)
        return error_set(err, ERROR_INVALID, "not a URL to send a request to: %s", request->url);
    if (check_scheme(request, scheme, host, err) < 0)
        return -1;
    target->is_plain = strcmp(scheme, "http") == 0;
    target->host = request->unix_socket ? text_format("unix:%s", request->unix_socket)
                                        : text_format("%s://%s:%s", scheme, host, port);
    if (name && !target->is_plain && use_server_name(url, name, host, port, target) < 0)
        return error_set(err, ERROR_INVALID, "not a server name: %s", name);
    target->url = url_part(url, CURLUPART_URL, 0);
    return 0;
}

int http_target_read(const struct http_request *request, struct http_target *ret_target,
                     struct error *err)
{
    owned(curl_url) CURLU *url = curl_url();
    owned(http_target) struct http_target target = { 0 };

    require(url);
    if (curl_url_set(url, CURLUPART_URL, request->url, CURLU_DISALLOW_USER) != CURLUE_OK)
        return error_set(err, ERROR_INVALID, "not a URL, or one with a user: %.100s", request->url);
    if (fill(request, url, &target, err) < 0)
        return -1;
    *ret_target = target;
    target = (struct http_target){ 0 };
    return 0;
}

int http_check_url(const char *url, struct error *err)
{
    const struct http_request request = { .url = url };
    owned(http_target) struct http_target target = { 0 };

    return http_target_read(&request, &target, err);
}

void http_target_clear(struct http_target *target)
{
    mem_free(target->url);
    mem_free(target->host);
    mem_free(target->connect_to);
    mem_free(target->authority);
    *target = (struct http_target){ 0 };
}
