/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See column_unit.h.
 */
#include "windows/demand/column_unit.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD_CHARS = 32 };

/* What a rate may count, in requests. */
static const char *const request_words[] = {
    "",     "1",        "req",   "reqs",   "request",    "requests",    "count", "counts",  "c",
    "call", "calls",    "hit",   "hits",   "message",    "messages",    "msg",   "msgs",    "query",
    "op",   "arrivals", "event", "events", "invocation", "invocations", "ops",   "queries",
};

/* What follows a slash. */
static const struct {
    const char *name;
    double seconds;
} time_units[] = {
    { "s", 1 },       { "sec", 1 },  { "second", 1 },  { "m", 60 },    { "min", 60 },
    { "minute", 60 }, { "h", 3600 }, { "hour", 3600 }, { "d", 86400 }, { "day", 86400 },
};

/* Units that are one word. */
static const struct {
    const char *word;
    double seconds;
} rate_words[] = { { "rps", 1 }, { "qps", 1 }, { "reqps", 1 }, { "rpm", 60 }, { "qpm", 60 } };

/* What follows "per". */
static const char *const time_words[] = { "second", "sec", "minute", "min", "hour", "day" };

double column_unit_seconds(const char *unit)
{
    for (size_t i = 0; i < COUNT_OF(time_units); i++)
        if (strcasecmp(time_units[i].name, unit) == 0)
            return time_units[i].seconds;
    return 0;
}

static bool is_break(char byte)
{
    return byte == ' ' || byte == '_' || byte == '-';
}

static size_t trim(const char *text, size_t length)
{
    while (length > 0 && is_break(text[length - 1]))
        length--;
    return length;
}

static bool is_of_requests(const char *text, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(request_words); i++)
        if (strlen(request_words[i]) == length && strncasecmp(request_words[i], text, length) == 0)
            return true;
    return false;
}

/* The seconds of "s", "second" or "5m"; 0: it is no time. */
static double seconds_of(const char *text)
{
    double count = 1;
    char unit[WORD_CHARS];

    while (is_break(*text))
        text++;
    if (isdigit((unsigned char)*text))
        for (count = 0; isdigit((unsigned char)*text) && count < 1e6; text++)
            count = 10 * count + *text - '0';
    return text_copy(unit, sizeof unit, text) ? count * column_unit_seconds(unit) : 0;
}

/* "rps" alone or behind a break. */
static struct column_unit find_word(const char *name, size_t whole)
{
    for (size_t i = 0; i < COUNT_OF(rate_words); i++) {
        size_t length = strlen(rate_words[i].word);

        if (whole >= length && strcasecmp(name + whole - length, rate_words[i].word) == 0 &&
            (whole == length || is_break(name[whole - length - 1])))
            return (struct column_unit){ trim(name, whole - length), rate_words[i].seconds, false };
    }
    return (struct column_unit){ whole, 0, false };
}

/* "requests per second", "arrivals_per_min" and "CountPerSecond". */
static struct column_unit find_per(const char *name, size_t whole)
{
    for (size_t i = 0; i < COUNT_OF(time_words); i++) {
        size_t length = strlen(time_words[i]);
        size_t per;

        if (whole < length + 3 || strcasecmp(name + whole - length, time_words[i]) != 0)
            continue;
        per = trim(name, whole - length);
        if (per < 3 || strncasecmp(name + per - 3, "per", 3) != 0)
            continue;
        if (per == 3 || is_break(name[per - 4]) || name[per - 3] == 'P' ||
            is_of_requests(name, per - 3))
            return (struct column_unit){ trim(name, per - 3), column_unit_seconds(time_words[i]),
                                         false };
    }
    return find_word(name, whole);
}

/* A slash may be a part of a queue's name, unless it follows a word of requests. */
static struct column_unit find_plain(const char *name, size_t whole)
{
    const char *slash = strrchr(name, '/');
    size_t length = slash ? trim(name, (size_t)(slash - name)) : whole;
    double seconds = slash ? seconds_of(slash + 1) : 0;

    if (!slash)
        return find_per(name, whole);
    if (seconds > 0)
        return (struct column_unit){ length, seconds, false };
    return (struct column_unit){ whole, 0, length > 0 && is_of_requests(name, length) };
}

/* What stands in brackets at the name's end is a unit if it has a slash or is a rate. */
static struct column_unit find_in_brackets(const char *name, size_t whole, size_t open)
{
    char inside[WORD_CHARS];
    struct column_unit found;

    if (whole - open - 2 >= sizeof inside)
        return (struct column_unit){ whole, 0, false };
    memcpy(inside, name + open + 1, whole - open - 2);
    inside[whole - open - 2] = '\0';
    found = find_plain(inside, strlen(inside));
    if (found.seconds > 0 && is_of_requests(inside, found.length))
        return (struct column_unit){ trim(name, open), found.seconds, false };
    return (struct column_unit){ whole, 0, found.seconds > 0 || strchr(inside, '/') };
}

/* Prometheus's rate(), irate() and Datadog's as_rate() are by the second; what multiplies them
   makes another unit of it. */
static bool is_rate_call(const char *name, bool *ret_is_multiplied)
{
    const char *call = strstr(name, "rate(");
    size_t before = call ? (size_t)(call - name) : 0;

    if (before > 0 && name[before - 1] == 'i')
        before--;
    *ret_is_multiplied = call && (strchr(call, '*') || strstr(call, ") /") || strstr(call, ")/"));
    return call && (before == 0 || !isalpha((unsigned char)name[before - 1]));
}

struct column_unit column_unit_find(const char *name)
{
    size_t whole = strlen(name);
    const char *open = NULL;
    bool is_multiplied;

    if (is_rate_call(name, &is_multiplied))
        return (struct column_unit){ whole, is_multiplied ? 0 : 1, is_multiplied };
    if (whole > 0 && name[whole - 1] == ')')
        open = strrchr(name, '(');
    if (whole > 0 && name[whole - 1] == ']')
        open = strrchr(name, '[');
    return open ? find_in_brackets(name, whole, (size_t)(open - name)) : find_plain(name, whole);
}

bool column_unit_read(const char *cell, double *ret_seconds)
{
    struct column_unit found = column_unit_find(cell);

    if (found.is_unknown || (!is_of_requests(cell, found.length) && strcasecmp(cell, "none") != 0))
        return false;
    *ret_seconds = found.seconds;
    return true;
}
