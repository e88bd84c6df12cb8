/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is common to all HTTP clients: names, headers, and handing the verbs on.
 */
#include "base/world/http.h"

#include "base/memory.h"
#include "base/text.h"

#include <strings.h>

struct http_exchange *http_send(struct http *http, const struct http_request *request,
                                http_done_fn done, void *context)
{
    /* Without a timeout sluice would wait forever for a lost answer; only a stream may. */
    require(request->timeout_ms > 0 || (request->timeout_ms == 0 && request->on_chunk));
    require(request->url && done);
    return http->verbs->send(http, request, done, context);
}

void http_cancel(struct http *http, struct http_exchange *exchange)
{
    if (exchange)
        http->verbs->cancel(exchange);
}

void http_free(struct http *http)
{
    if (http)
        http->verbs->free(http);
}

const char *http_method_name(enum http_method method)
{
    static const char *const names[HTTP_METHOD_COUNT] = {
        [HTTP_GET] = "GET",     [HTTP_POST] = "POST",     [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    };

    require(method < HTTP_METHOD_COUNT);
    return names[method];
}

const char *http_header_find(const struct http_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

int64_t http_retry_after_ms(const struct http_header *headers, size_t count, struct wall_time now)
{
    const char *value = http_header_find(headers, count, "Retry-After");
    const char *date = http_header_find(headers, count, "Date");
    struct wall_time until, from = now;
    long long seconds;

    if (!value)
        return 0;
    if (text_to_int(value, 0, INT32_MAX, &seconds))
        return seconds * SECOND_MS;
    if (!wall_parse_http(value, &until))
        return 0;
    if (date && !wall_parse_http(date, &from))
        from = now;
    return until.ms > from.ms ? until.ms - from.ms : 0;
}
