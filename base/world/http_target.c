/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * URLs are read by libcurl's own parser, so that what is checked here is what libcurl will do:
 * it writes 0x7f.1 as 127.0.0.1 before we look at it.
 */
#include "base/world/http_target.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"

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

/* Beside the link, Azure answers its machines at an address that looks public (168.63.129.16). */
static bool is_link_v4(uint32_t address)
{
    return address >> 16 == (169u << 8 | 254u) || address == 0xa83f8110;
}

static uint32_t v4_within(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

bool http_is_link_address(const struct sockaddr *address)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b }; /* RFC 6052 */
    static const uint8_t aws[4] = { 0xfd, 0x00, 0x0e, 0xc2 };
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    const uint8_t *bytes = v6.sin6_addr.s6_addr;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        return is_link_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&v6, address, sizeof v6);
    if (memcmp(bytes, mapped, sizeof mapped) == 0 || memcmp(bytes, nat64, sizeof nat64) == 0)
        return is_link_v4(v4_within(bytes + 12));
    return (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) || memcmp(bytes, aws, sizeof aws) == 0;
}

/* The host of a URL, without brackets, where it is written as an address. */
static bool is_link_host(const char *host)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return http_is_link_address((const struct sockaddr *)&v4);
    return inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 &&
           http_is_link_address((const struct sockaddr *)&v6);
}

/* The metadata servers of the clouds, and the agents that give keys to containers, answer on the
   link only, and only in plain http. */
static bool is_plain_allowed(const struct http_request *request, const char *host)
{
    static const char *const servers[] = { "169.254.169.254", "metadata.google.internal",
                                           "169.254.170.2",   "169.254.170.23",
                                           "[fd00:ec2::23]",  "[fd00:ec2::254]" };

    for (size_t i = 0; i < COUNT_OF(servers) && !request->is_outward; i++)
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

/* That of a receiver may be a secret. */
static const char *shown_url(const struct http_request *request)
{
    return request->is_outward ? "(it is not shown)" : request->url;
}

static int fill(const struct http_request *request, CURLU *url, struct http_target *target,
                struct error *err)
{
    owned(chars) char *scheme = url_part(url, CURLUPART_SCHEME, 0);
    owned(chars) char *host = url_part(url, CURLUPART_HOST, 0);
    owned(chars) char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    const char *name = request->tls ? request->tls->server_name : NULL;

    if (!scheme || !host || !port)
        return error_set(err, ERROR_INVALID, "not a URL to send a request to: %s",
                         shown_url(request));
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
        return error_set(err, ERROR_INVALID, "not a URL, or one with a user: %.100s",
                         shown_url(request));
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

int http_check_outward_url(const char *url, struct error *err)
{
    const struct http_request request = { .url = url, .is_outward = true };
    owned(http_target) struct http_target target = { 0 };
    struct url parts;

    if (http_target_read(&request, &target, err) < 0)
        return -1;
    if (url_parse(target.url, &parts, NULL) < 0)
        return error_set(err, ERROR_INVALID, "not a URL that can be used");
    if (is_link_host(parts.host) || text_equal(parts.host, "metadata.google.internal"))
        return error_set(err, ERROR_INVALID, "%s is where clouds answer their machines",
                         parts.host);
    return 0;
}

void http_target_clear(struct http_target *target)
{
    mem_free(target->url);
    mem_free(target->host);
    mem_free(target->connect_to);
    mem_free(target->authority);
    *target = (struct http_target){ 0 };
}
