/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See column_names.h.
 */
#include "windows/demand/column_names.h"

#include "base/text.h"
#include "windows/demand/csv.h"

#include <string.h>

static const struct {
    const char *name;
    enum column_role role;
} known_names[] = {
    { "time", COLUMN_TIME },
    { "timestamp", COLUMN_TIME },
    { "timestamps", COLUMN_TIME },
    { "timestampms", COLUMN_TIME },
    { "timeutc", COLUMN_TIME },
    { "timestamputc", COLUMN_TIME },
    { "date", COLUMN_TIME },
    { "datetime", COLUMN_TIME },
    { "dateutc", COLUMN_TIME },
    { "datetimeutc", COLUMN_TIME },
    { "when", COLUMN_TIME },
    { "t", COLUMN_TIME },
    { "ts", COLUMN_TIME },
    { "epoch", COLUMN_TIME },
    { "epochms", COLUMN_TIME },
    { "unixtime", COLUMN_TIME },
    { "day", COLUMN_TIME },
    { "hour", COLUMN_TIME },
    { "minute", COLUMN_TIME },
    { "minuteutc", COLUMN_TIME },
    { "minuteutciso", COLUMN_TIME },
    { "queue", COLUMN_QUEUE },
    { "queues", COLUMN_QUEUE },
    { "queuename", COLUMN_QUEUE },
    { "queueid", COLUMN_QUEUE },
    { "count", COLUMN_COUNT },
    { "counts", COLUMN_COUNT },
    { "value", COLUMN_COUNT },
    { "values", COLUMN_COUNT },
    { "sum", COLUMN_COUNT },
    { "total", COLUMN_COUNT },
    { "requests", COLUMN_COUNT },
    { "request", COLUMN_COUNT },
    { "requestcount", COLUMN_COUNT },
    { "req", COLUMN_COUNT },
    { "reqs", COLUMN_COUNT },
    { "queries", COLUMN_COUNT },
    { "numrequests", COLUMN_COUNT },
    { "nummodelrequests", COLUMN_COUNT },
    { "numberofrequests", COLUMN_COUNT },
    { "totalrequests", COLUMN_COUNT },
    { "arrivals", COLUMN_COUNT },
    { "messages", COLUMN_COUNT },
    { "hits", COLUMN_COUNT },
    { "calls", COLUMN_COUNT },
    { "invocations", COLUMN_COUNT },
    { "rate", COLUMN_COUNT },
    { "unit", COLUMN_UNIT },
    { "units", COLUMN_UNIT },
    { "priority", COLUMN_PRIORITY },
    { "prio", COLUMN_PRIORITY },
    { "priorityclass", COLUMN_PRIORITY },
};

/* Beside a sum: they say nothing of it, or how long its step is, which the times say too. */
static const char *const statistic_names[] = { "samplecount", "average", "avg",     "mean",
                                               "minimum",     "min",     "maximum", "max",
                                               "stddev",      "period",  "interval" };

/* Beside tokens these names may describe one request: its total tokens, its messages, its name; or
   the tokens may be those of all requests of the row. */
static const char *const vague_names[] = {
    "total",           "value", "values", "sum",           "request",
    "messages",        "hits",  "calls",  "totalrequests", "numberofrequests",
    "nummodelrequests"
};

static bool is_among(const char *plain, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], plain))
            return true;
    return false;
}

static enum column_role role_of(const char *plain)
{
    for (size_t i = 0; i < COUNT_OF(known_names); i++)
        if (text_equal(known_names[i].name, plain))
            return known_names[i].role;
    return is_among(plain, statistic_names, COUNT_OF(statistic_names)) ? COLUMN_STATISTIC
                                                                       : COLUMN_OTHER;
}

struct column_name column_name_of(const char *field)
{
    struct column_unit unit = column_unit_find(field);
    owned(chars) char *bare = text_format("%.*s", (int)unit.length, field);
    struct column_name name = { COLUMN_OTHER, unit.seconds, false };
    char plain[CSV_NAME_CHARS];

    if (unit.length == 0 && unit.seconds > 0)
        name.role = COLUMN_COUNT; /* "rps" alone */
    else if (csv_plain_name(bare, plain))
        name.role = role_of(plain);
    name.needs_unit = name.role == COLUMN_COUNT && unit.seconds == 0 && text_equal(plain, "rate");
    return name;
}

bool column_name_is_vague(const char *field)
{
    struct column_unit unit = column_unit_find(field);
    owned(chars) char *bare = text_format("%.*s", (int)unit.length, field);
    char plain[CSV_NAME_CHARS];

    return csv_plain_name(bare, plain) && is_among(plain, vague_names, COUNT_OF(vague_names));
}
