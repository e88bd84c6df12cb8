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
static const char *const time_words[] = { "second", "sec", "minute", "min", "hour", "day", "s" };

/* What is no number of requests, or one of thousands, before "per second" or in brackets. */
static const char *const other_words[] = {
    "token", "tokens", "byte", "bytes",   "kb",      "mb",       "gb",        "tb",
    "kib",   "mib",    "gib",  "bit",     "bits",    "kreq",     "mreq",      "%",
    "ms",    "msec",   "sec",  "seconds", "percent", "thousand", "thousands", "millions",
};

double column_unit_seconds(const char *unit)
{
    for (size_t i = 0; i < COUNT_OF(time_units); i++)
        if (strcasecmp(time_units[i].name, unit) == 0)
            return time_units[i].seconds;
    return 0;
}

static bool is_break(char byte)
{
    return byte != '\0' && strchr(" _-.:,", byte) != NULL;
}

static size_t trim(const char *text, size_t length)
{
    while (length > 0 && is_break(text[length - 1]))
        length--;
    return length;
}

static bool is_among(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], text, length) == 0)
            return true;
    return false;
}

static bool is_of_requests(const char *text, size_t length)
{
    return is_among(text, length, request_words, COUNT_OF(request_words));
}

static bool is_other(const char *text, size_t length)
{
    return is_among(text, length, other_words, COUNT_OF(other_words));
}

/* Whether its last word is such a one: "chat tokens". */
static bool is_of_other(const char *name, size_t length)
{
    size_t word = length;

    while (word > 0 && !is_break(name[word - 1]))
        word--;
    return is_other(name + word, length - word);
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

/* Where a word may begin: "chat_rps", "chat.rps" and "chatRps". */
static bool is_word_start(const char *name, size_t at)
{
    return at == 0 || is_break(name[at - 1]) ||
           (isupper((unsigned char)name[at]) && islower((unsigned char)name[at - 1]));
}

/* Names of Prometheus's recorded rates end in rate5m, which is by the second
   (prometheus.io/docs/practices/rules). */
static struct column_unit find_rate(const char *name, size_t whole)
{
    static const char rate[] = "rate";
    size_t digits = whole > 0 ? whole - 1 : 0;

    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    if (digits + 1 >= whole || digits <= strlen(rate) || seconds_of(name + digits) <= 0 ||
        strncasecmp(name + digits - strlen(rate), rate, strlen(rate)) != 0 ||
        !is_break(name[digits - strlen(rate) - 1]))
        return (struct column_unit){ whole, 0, false };
    return (struct column_unit){ trim(name, digits - strlen(rate)), 1, false };
}

/* "rps" alone or as the last word. */
static struct column_unit find_word(const char *name, size_t whole)
{
    for (size_t i = 0; i < COUNT_OF(rate_words); i++) {
        size_t length = strlen(rate_words[i].word);

        if (whole >= length && strcasecmp(name + whole - length, rate_words[i].word) == 0 &&
            is_word_start(name, whole - length))
            return (struct column_unit){ trim(name, whole - length), rate_words[i].seconds, false };
    }
    return find_rate(name, whole);
}

/* What stands before the unit may not be requests. */
static struct column_unit rate_of(const char *name, size_t length, double seconds)
{
    if (is_of_other(name, length))
        return (struct column_unit){ strlen(name), 0, true };
    return (struct column_unit){ length, seconds, false };
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
        if (length == 1 && per == whole - length)
            continue; /* "jumpers" */
        if (per == 3 || is_break(name[per - 4]) || name[per - 3] == 'P' ||
            is_of_requests(name, per - 3))
            return rate_of(name, trim(name, per - 3), column_unit_seconds(time_words[i]));
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
        return rate_of(name, length, seconds);
    return (struct column_unit){ whole, 0, length > 0 && is_of_requests(name, length) };
}

/* Behind a unit these say how it was made. */
static const char *const means[] = { "avg", "average", "mean", "last", "sum", "total" };

static struct column_unit find_before(const char *name, size_t length, size_t whole)
{
    owned(chars) char *before = text_format("%.*s", (int)length, name);
    struct column_unit found = find_plain(before, length);

    return found.seconds > 0 || found.is_unknown ? found : (struct column_unit){ whole, 0, false };
}

/* What stands in brackets at the name's end is a unit if it has a slash or is a rate; "(80 GB)" is
   a part of the name. */
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
    if (is_among(inside, strlen(inside), means, COUNT_OF(means)))
        return find_before(name, trim(name, open), whole);
    return (struct column_unit){ whole, 0,
                                 found.is_unknown || found.seconds > 0 || strchr(inside, '/') ||
                                     is_other(inside, strlen(inside)) };
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

/* Datadog's functions around a query. */
static const struct {
    const char *call;
    double seconds;
} per_calls[] = { { "per_second(", 1 }, { "per_minute(", 60 }, { "per_hour(", 3600 } };

struct column_unit column_unit_find(const char *name)
{
    size_t whole = strlen(name);
    const char *open = NULL;
    bool is_multiplied;

    if (strstr(name, "quantile("))
        return (struct column_unit){ whole, 0, true };
    for (size_t i = 0; i < COUNT_OF(per_calls); i++)
        if (text_starts_with(name, per_calls[i].call))
            return (struct column_unit){ whole, per_calls[i].seconds, false };
    if (is_rate_call(name, &is_multiplied))
        return (struct column_unit){ whole, is_multiplied ? 0 : 1, is_multiplied };
    if (whole > 0 && name[whole - 1] == ')')
        open = strrchr(name, '(');
    if (whole > 0 && name[whole - 1] == ']')
        open = strrchr(name, '[');
    return open ? find_in_brackets(name, whole, (size_t)(open - name)) : find_plain(name, whole);
}

double column_unit_window(const char *name)
{
    const char *call = strstr(name, "increase(");
    const char *open = NULL;
    const char *close = NULL;
    owned(chars) char *window = NULL;

    call = call ? call : strstr(name, "count_over_time(");
    if (call && (call == name || (!isalnum((unsigned char)call[-1]) && call[-1] != '_')))
        open = strrchr(call, '[');
    if (open)
        close = strchr(open, ']');
    if (!close || close[strspn(close, "]) ")] != '\0')
        return 0;
    window = text_format("%.*s", (int)(close - open - 1), open + 1);
    return seconds_of(window);
}

bool column_unit_read(const char *cell, double *ret_seconds)
{
    struct column_unit found = column_unit_find(cell);

    if (found.is_unknown || (!is_of_requests(cell, found.length) && strcasecmp(cell, "none") != 0))
        return false;
    *ret_seconds = found.seconds;
    return true;
}
