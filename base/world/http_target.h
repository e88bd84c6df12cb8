/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where a request goes: which URLs are allowed at all, and what libcurl has to be told when the
 * name to verify is not the name in the URL.  Private to http_curl.
 */
#pragma once

#include "base/world/http.h"

#include <sys/socket.h>

struct http_target {
    char *url;        /* for libcurl: with server_name as its host, where that was given */
    char *host;       /* scheme, host and port, or the unix socket: counted by the cap per host */
    char *connect_to; /* CURLOPT_CONNECT_TO; NULL: connect to the URL's host */
    char *authority;  /* the Host header to send; NULL: the URL's */
    bool is_plain;    /* http, allowed for this address */
};

/* ERROR_INVALID for a text that is no URL, holds a password, or would send plain http to an address
   other than loopback. */
int http_target_read(const struct http_request *request, struct http_target *ret_target,
                     struct error *err) __attribute__((warn_unused_result));
void http_target_clear(struct http_target *target);

/* Whether only this machine's link reaches it: metadata servers have such addresses. */
bool http_is_link_address(const struct sockaddr *address);

static inline void owned_http_target(struct http_target *target)
{
    http_target_clear(target);
}
