/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * URLs by RFC 3986, as far as an HTTP client and server need them.
 */
#include "base/url.h"

#include "base/array.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static bool is_unreserved(unsigned char byte)
{
    return isalnum(byte) || strchr("-._~", byte) != NULL;
}

void url_add_escaped(struct text *out, const char *chars)
{
    for (; *chars; chars++) {
        if (is_unreserved((unsigned char)*chars))
            text_add_bytes(out, chars, 1);
        else
            text_add(out, "%%%02X", (unsigned)(unsigned char)*chars);
    }
}

char *url_format(const char *format, ...)
{
    struct text *out = text_new(TEXT_UNBOUNDED);
    va_list args;

    va_start(args, format);
    while (*format) {
        size_t plain = strcspn(format, "%");

        text_add_bytes(out, format, plain);
        format += plain;
        if (*format == '\0')
            break;
        require(format[1] == 's' || format[1] == '%');
        if (format[1] == 's')
            url_add_escaped(out, va_arg(args, const char *));
        else
            text_add_bytes(out, "%", 1);
        format += 2;
    }
    va_end(args);
    return text_take(out);
}

static int fail(const char *chars, const char *reason, struct error *err)
{
    return error_set(err, ERROR_INVALID, "not a URL that can be used (%s): %s", reason, chars);
}

/* Copies `length` characters in lower case; false when they do not fit. */
static bool copy_lower(char *out, size_t size, const char *chars, size_t length)
{
    if (length == 0 || length >= size)
        return false;
    for (size_t i = 0; i < length; i++)
        out[i] = (char)tolower((unsigned char)chars[i]);
    out[length] = '\0';
    return true;
}

/* The port that begins at `chars` and ends at `end`: ":443", or "" for none. */
static bool parse_port(const char *chars, const char *end, int *ret_port)
{
    char digits[8] = "";
    long long port = 0;

    if (chars == end) {
        *ret_port = 0;
        return true;
    }
    if (*chars != ':' || !copy_lower(digits, sizeof digits, chars + 1, (size_t)(end - chars - 1)))
        return false;
    if (!text_to_int(digits, 1, 65535, &port))
        return false;
    *ret_port = (int)port;
    return true;
}

/* An address in brackets, which are dropped, or a name. */
static bool parse_host(const char *start, const char *end, struct url *url, const char **ret_rest)
{
    bool is_bracketed = start < end && *start == '[';
    const char *host = start + is_bracketed;
    const char *allowed = is_bracketed ? "0123456789abcdef:."
                                       : "abcdefghijklmnopqrstuvwxyz"
                                         "0123456789-._";
    const char *stop = memchr(host, is_bracketed ? ']' : ':', (size_t)(end - host));

    if (stop == NULL && is_bracketed)
        return false;
    if (stop == NULL)
        stop = end;
    if (!copy_lower(url->host, sizeof url->host, host, (size_t)(stop - host)))
        return false;
    *ret_rest = stop + is_bracketed;
    return url->host[strspn(url->host, allowed)] == '\0';
}

static bool is_printable(const char *chars)
{
    for (; *chars; chars++)
        if (*chars <= ' ' || *chars > '~')
            return false;
    return true;
}

int url_parse(const char *chars, struct url *ret_url, struct error *err)
{
    struct url url = { 0 };
    const char *mark = strstr(chars, "://");
    const char *host, *end, *rest;

    if (!is_printable(chars) || strchr(chars, '#'))
        return fail(chars, "a character that must be escaped", err);
    if (mark == NULL || !copy_lower(url.scheme, sizeof url.scheme, chars, (size_t)(mark - chars)) ||
        (!text_equal(url.scheme, "http") && !text_equal(url.scheme, "https")))
        return fail(chars, "http:// or https:// expected", err);
    host = mark + 3;
    end = host + strcspn(host, "/?");
    if (memchr(host, '@', (size_t)(end - host)))
        return error_set(err, ERROR_INVALID, "a URL must not hold a user name or password");
    if (!parse_host(host, end, &url, &rest))
        return fail(chars, "host", err);
    if (!parse_port(rest, end, &url.port))
        return fail(chars, "port", err);
    if (*end == '?')
        return fail(chars, "a path must stand before the query", err);
    url.target = *end ? end : "/";
    *ret_url = url;
    return 0;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit = (char)tolower((unsigned char)digit);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The byte that an escape stands for; -1 when it is malformed or NUL. */
static int unescape(const char *chars, const char *end)
{
    int high, low;

    if (end - chars < 3 || *chars != '%')
        return -1;
    high = hex_value(chars[1]);
    low = hex_value(chars[2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0))
        return -1;
    return high * 16 + low;
}

static char *decode(const char *chars, const char *end, bool plus_is_space)
{
    char *out = mem_new((size_t)(end - chars) + 1);
    size_t length = 0;

    while (chars < end) {
        int byte = unescape(chars, end);

        if (byte >= 0)
            out[length++] = (char)byte;
        else
            out[length++] = plus_is_space && *chars == '+' ? ' ' : *chars;
        chars += byte >= 0 ? 3 : 1;
    }
    return out;
}

char *url_query(const char *target, const char *name)
{
    const char *at = strchr(target, '?');

    while (at) {
        const char *pair = at + 1;
        const char *end = pair + strcspn(pair, "&#");
        const char *equals = memchr(pair, '=', (size_t)(end - pair));
        owned(chars) char *key = decode(pair, equals ? equals : end, true);

        if (strcmp(key, name) == 0)
            return decode(equals ? equals + 1 : end, end, true);
        at = *end == '&' ? end : NULL;
    }
    return NULL;
}

struct url_segments url_split(const char *target)
{
    ARRAY(char *) found = { 0 };
    const char *end = target + strcspn(target, "?#");

    while (target < end) {
        const char *slash = memchr(target, '/', (size_t)(end - target));
        const char *stop = slash ? slash : end;

        if (stop > target)
            *array_add(&found) = decode(target, stop, false);
        target = stop + 1;
    }
    return (struct url_segments){ found.items, found.count };
}

void url_segments_free(struct url_segments *segments)
{
    for (size_t i = 0; i < segments->count; i++)
        mem_free(segments->items[i]);
    mem_free(segments->items);
    *segments = (struct url_segments){ 0 };
}
