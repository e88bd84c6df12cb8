/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See browser.h.
 */
#include "broker/api/browser.h"

#include "base/text.h"

#include <string.h>

const struct http_header browser_headers[BROWSER_HEADERS] = {
    { "Cache-Control", "no-store" },
    { "X-Content-Type-Options", "nosniff" },
};

/* A browser reaches the socket through a tunnel on its own machine, under a name for that.  A name
   with a dot may be that of another site, whose owner let it point to the tunnel (DNS rebinding).
 */
static bool is_own_name(const char *host)
{
    static const char loopback[] = "127.0.0.1";
    size_t length = strlen(loopback);

    if (text_starts_with(host, loopback))
        return host[length] == '\0' || host[length] == ':';
    return strchr(host, '.') == NULL;
}

static int check_host(const struct http_call *call, struct error *err)
{
    const char *host = http_call_header(call, "Host");

    if (http_call_peer(call).is_encrypted && !http_call_names_server(call))
        return error_set(err, ERROR_DENIED,
                         "the server's certificate is not for the host of this request");
    if (http_call_peer(call).is_local && host && !is_own_name(host))
        return error_set(err, ERROR_DENIED,
                         "on the socket the host of a request is localhost, not %.100s", host);
    return 0;
}

/* Browsers send it with each request that may change something. */
static bool is_own_origin(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");

    return at && host && text_equal(at + strlen("://"), host);
}

/* A browser shows its user's certificate, or opens its user's tunnel, to each page that asks.  So a
   request must name this server, a page of another site may not send it, and its body must be JSON,
   which such a page cannot send without asking first. */
int browser_check(const struct http_call *call, bool is_page, struct error *err)
{
    const char *site = http_call_header(call, "Sec-Fetch-Site");
    const char *origin = http_call_header(call, "Origin");
    const char *type = http_call_header(call, "Content-Type");
    bool is_browser = http_call_peer(call).is_encrypted || site || origin;

    if (check_host(call, err) < 0)
        return -1;
    if (site && !is_page && !text_equal(site, "same-origin") && !text_equal(site, "none"))
        return error_set(err, ERROR_DENIED, "a page of another site may not ask this service");
    if (origin && !is_own_origin(origin, http_call_header(call, "Host")))
        return error_set(err, ERROR_DENIED, "a page of another site may not ask this service");
    if (is_browser && http_call_method(call) != HTTP_GET &&
        !(type && text_starts_with(type, "application/json")))
        return error_set(err, ERROR_INVALID, "Content-Type: expected application/json");
    return 0;
}
