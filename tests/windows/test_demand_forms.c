/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Demand files as people have them: forms of times, counts, names and delimiters, each a row of a
 * table; and those of which the meaning cannot be known, which are refused by name.
 */
#include "tests/windows/told.h"
#include "windows/demand/cells.h"

struct form {
    const char *name;
    const char *zone;
    const char *file;
    const char *want;
};

static void check_forms(const struct form *forms, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_told(forms[i].name, forms[i].zone, NULL, forms[i].file, forms[i].want);
}

#define NOON "busy 1m 2026-11-17T12:00:00Z: 5 6"
#define CHAT "chat 1m 2026-11-17T12:00:00Z: 5 6"

static const struct form times[] = {
    { "Z", NULL, "t,count\n2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6\n", NOON },
    { "without seconds", NULL, "t,count\n2026-11-17T12:00Z,5\n2026-11-17 12:01Z,6\n", NOON },
    { "UTC", NULL, "t,count\n2026-11-17 12:00:00 UTC,5\n2026-11-17 12:01:00 UTC,6\n", NOON },
    { "UTC in a zone", "Asia/Tokyo",
      "t,count\n2026-11-17 12:00:00 UTC,5\n2026-11-17 12:01:00 GMT,6\n", NOON },
    { "Go", NULL, "t,count\n2026-11-17 12:00:00 +0000 UTC,5\n2026-11-17 12:01:00 +0000 UTC,6\n",
      NOON },
    { "offset after a blank", NULL,
      "t,count\n2026-11-17 13:00:00 +01:00,5\n2026-11-17 13:01:00 +0100,6\n", NOON },
    { "offsets of hours", NULL, "t,count\n2026-11-17 12:00:00+00,5\n2026-11-17 13:01:00+01,6\n",
      NOON },
    { "hours alone", NULL, "t,count\n2026-11-17 12,5\n2026-11-17T13,6\n",
      "busy 1h 2026-11-17T12:00:00Z: 5 6" },
    { "fractions of seconds", NULL,
      "t,count\n2026-11-17 12:00:00.000 UTC,5\n2026-11-17 12:01:00.0 UTC,6\n", NOON },
    { "a half date", NULL, "t,count\n2026-11,5\n2026-12,6\n", ":2: no column holds times" },
    { "slashes, the year first", NULL, "t,count\n2026/11/17 12:00:00,5\n2026/11/17 12:01:00,6\n",
      NOON },
    { "epoch seconds", NULL, "t,count\n1794916800,5\n1794916860,6\n", NOON },
    { "epoch seconds with a point", NULL, "t,count\n1794916800.0,5\n1.79491686e+09,6\n", NOON },
    { "epoch milliseconds", NULL, "t,count\n1794916800000,5\n1794916860000,6\n", NOON },
    { "epoch nanoseconds", NULL, "t,count\n1794916800000000000,5\n1794916860000000000,6\n", NOON },
    { "epoch in a column with any name", NULL, "x,count\n1794916800,5\n1794916860,6\n", NOON },
    { "epoch is UTC in any zone", "Asia/Tokyo", "t,count\n1794916800,5\n1794916860,6\n", NOON },
    { "the named column before the first", NULL,
      "exported,Timestamp,count\n2026-11-20T00:00:00Z,2026-11-17T12:00:00Z,5\n"
      "2026-11-20T00:00:00Z,2026-11-17T12:01:00Z,6\n",
      NOON },
    { "two times, neither of them named", NULL,
      "ingested_at,event_time,count\n2026-11-20T00:00:00Z,2026-11-17T12:00:00Z,5\n",
      ":1: \"ingested_at\" and \"event_time\" both hold times: name the one that tells when the "
      "row's step begins \"time\", or take the other out" },
    { "two times with known names", NULL,
      "datetime,epoch,count\n2026-11-17T12:00:00Z,1794916860,5\n",
      ":1: \"datetime\" and \"epoch\" both hold times" },
    { "which agree", NULL,
      "datetime,epoch,count\n2026-11-17T12:00:00Z,1794916800,5\n"
      "2026-11-17T12:01:00Z,1794916860,6\n",
      NOON },
    { "of which one is the time", NULL,
      "day,created,time,count\n2026-11-16T00:00:00Z,2026-11-16T00:00:00Z,2026-11-17T12:00:00Z,5\n"
      "2026-11-16T00:00:00Z,2026-11-16T00:00:00Z,2026-11-17T12:01:00Z,6\n",
      NOON },
    { "a date of the same day", NULL,
      "date,datetime,count\n2026-11-17,2026-11-17 12:00,5\n2026-11-17,2026-11-17 12:01,6\n", NOON },
    { "a date of another day", NULL, "date,datetime,count\n2026-11-16,2026-11-17 12:00,5\n",
      ":1: \"date\" and \"datetime\" both hold times" },
    { "a log with two times", NULL,
      "asked_at,answered_at,input_tokens,output_tokens\n"
      "2026-11-17T12:00:00Z,2026-11-17T12:00:09Z,5,6\n",
      ":1: \"asked_at\" and \"answered_at\" both hold times" },
    { "date and time of day", NULL, "Date,Time,count\n2026-11-17,12:00,5\n2026-11-17,12:01:00,6\n",
      NOON },
    { "date and hour", NULL, "date,hour,count\n2026-11-17,9,5\n2026-11-17,10,6\n",
      "busy 1h 2026-11-17T09:00:00Z: 5 6" },
    { "a day is no hour", NULL, "date,day,hour,count\n2026-11-17,17,9,5\n2026-11-17,17,10,6\n",
      "busy 1h 2026-11-17T09:00:00Z: 5 6" },
    { "a minute is no hour", NULL, "date,minute,count\n2026-11-17,9,5\n2026-11-17,10,6\n",
      ":2: queue busy, 2026-11-17T00:00:00Z: all its rows are of this one time; if another column "
      "tells them apart, name it time, hour or queue" },
    { "midnight as a date alone", NULL,
      "t,count\n2026-11-16T23:00:00,5\n2026-11-17,6\n2026-11-17 01:00:00,7\n",
      "busy 1h 2026-11-16T23:00:00Z: 5 6 7" },
    { "dates alone", NULL, "date,count\n2026-11-17,48\n2026-11-18,24\n",
      "busy 1h 2026-11-17T00:00:00Z: 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2"
      " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1" },
    { "day first or month first", NULL, "t,count\n01/02/2026 12:00,5\n01/02/2026 12:01,6\n",
      ":2: no column holds times: \"t\" holds \"01/02/2026 12:00\", expected one like "
      "2026-11-17T12:12:00Z" },
    { "day first or month first, later", NULL,
      "t,count\n2026-11-17T12:00:00Z,5\n01/02/2026 12:01,6\n",
      ":3: t: expected a time like 2026-11-17T12:12:00Z" },
    { "half of the day", NULL, "t,count\n2026-11-17 12:00 PM,5\n", ":2: no column holds times" },
    { "a date that does not exist", NULL, "date,count\n2026-02-30,5\n2026-03-01,5\n",
      ":2: no column holds times" },
    { "a number that is no time", NULL, "t,count\n1794916800,5\n17,6\n",
      ":3: t: expected a time like" },
    { "no time", NULL, "t,count\n2026-11-17T12:00Z,5\n,6\n", ":3: t: expected a time like" },
    { "no hour", NULL, "date,hour,count\n2026-11-17,9,5\n2026-11-17,x,6\n",
      ":3: date: expected a time like" },
    { "a time that ends early", NULL,
      "t,count\n2026-11-17T12:00:00Z,5\n2026-11-17T,6\n2026-11-17T12:,6\n",
      ":3: t: expected a time like" },
    { "an epoch beside dates", NULL,
      "t,count\n2026-11-17T12:00:00Z,5\n1794916860000,6\n2026-11-17T12:02Z,7\n",
      "busy 1m 2026-11-17T12:00:00Z: 5 6 7" },
    { "seconds taken for milliseconds", NULL, "t,count\n1970-01-21T18:35:16Z,5\n",
      ":2: no column holds times: \"t\" holds \"1970-01-21T18:35:16Z\", expected one like "
      "2026-11-17T12:12:00Z" },
    { "a year nobody recorded", NULL, "t,count\n2026-11-17T12:00:00Z,5\n0001-01-01T00:00:00Z,6\n",
      ":3: t: expected a time like" },
    { "the end of time", NULL, "t,count\n2026-11-17T12:00:00Z,5\n9999-12-31,6\n",
      ":3: t: expected a time like" },
    { "a date and an hour in digits", NULL, "t,count\n2026111712,5\n2026111713,6\n",
      ":2: no column holds times: \"t\" holds \"2026111712\"" },
    { "the same without the century", NULL, "t,count\n2611171200,5\n2611171201,6\n",
      ":2: no column holds times: \"t\" holds \"2611171200\"" },
    { "an unknown form beside another time", NULL,
      "time,updated_at,count\n17/11/2026 12:00,2026-11-18T09:00:00Z,5\n",
      ":2: \"time\" holds \"17/11/2026 12:00\", expected one like " CELL_TIME_FORMS
      "; or take it out, if \"updated_at\" holds the times" },
    { "a raw time beside the time", NULL,
      "@timestamp,timestamp,count\n2026-11-17T12:00:00Z,17/Nov/2026:12:00:00 +0000,5\n"
      "2026-11-17T12:01:00Z,17/Nov/2026:12:01:00 +0000,6\n",
      NOON },
    { "a time of day beside the time", NULL,
      "time,timestamp,count\n12:00,2026-11-17T12:00:00Z,5\n12:01,2026-11-17T12:01:00Z,6\n", NOON },
    { "from one hour to the next", NULL,
      "date,hour,count\n2026-11-17,12:00-13:00,5\n2026-11-17,13:00-14:00,6\n",
      ":2: queue busy, 2026-11-17T00:00:00Z: all its rows are of this one time" },
    { "the same in one column", NULL, "t,count\n2026-11-17 12:00-13:00,5\n",
      ":2: no column holds times: \"t\" holds \"2026-11-17 12:00-13:00\"" },
    { "an offset behind minutes", NULL,
      "t,count\n2026-11-17T07:00-05:00,5\n2026-11-17T07:01-05:00,6\n", NOON },
    { "of years from 1990", NULL, "t,count\n2026-11-17T12:00:00Z,5\n1989-12-31T23:59:00Z,6\n",
      ":3: t: expected a time like " CELL_TIME_FORMS ", found \"1989-12-31T23:59:00Z\"" },
    { "a trace of the last century", NULL,
      "t,count\n1990-01-01T00:00:00Z,5\n1990-01-01T00:01:00Z,6\n",
      "busy 1m 1990-01-01T00:00:00Z: 5 6" },
    { "the last year", NULL, "t,count\n2099-12-31 23:58,5\n2099-12-31 23:59,6\n",
      "busy 1m 2099-12-31T23:58:00Z: 5 6" },
    { "the year after it", NULL, "t,count\n2100-01-01 00:00,5\n", ":2: no column holds times" },
    { "no header", NULL, "2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6\n",
      ":1: is a row of values (\"2026-11-17T12:00:00Z\"): expected names of columns first" },
};

static void times_are_found_by_their_form(void **state)
{
    (void)state;
    check_forms(times, COUNT_OF(times));
}

static const struct form zones[] = {
    { "in the zone", "Europe/Berlin", "t,count\n2026-11-17 13:00:00,5\n2026-11-17 13:01:00,6\n",
      NOON },
    { "unless the column's name says UTC", "Europe/Berlin",
      "minute_utc,count\n2026-11-17 12:00:00,5\n2026-11-17 12:01:00,6\n", NOON },
    { "or that of its time of day", "Europe/Berlin",
      "date,time_utc,count\n2026-11-17,12:00:00,5\n2026-11-17,12:01:00,6\n", NOON },
    { "the same without a zone", NULL,
      "Time (UTC+1),count\n2026-11-17 13:00:00,5\n2026-11-17 13:01:00,6\n",
      ": the times have no offset, and the name of their column tells one (UTC+1)" },
    { "and offsets behind the times", NULL,
      "Time (UTC+1),count\n2026-11-17 13:00:00+01:00,5\n2026-11-17 13:01:00+01:00,6\n", NOON },
    { "an offset of none in the name", "Europe/Berlin",
      "Time (UTC+00:00),count\n2026-11-17 12:00:00,5\n2026-11-17 12:01:00,6\n", NOON },
    { "an offset from UTC in the name", "Europe/Berlin",
      "Time (UTC+1),count\n2026-11-17 13:00:00,5\n2026-11-17 13:01:00,6\n", NOON },
    { "and with an offset", "Europe/Berlin",
      "t,count\n2026-11-17 13:00:00+01:00,5\n2026-11-17 13:01:00,6\n", NOON },
    { "the hour that occurs twice", "Europe/Berlin",
      "t,count\n2026-10-25 01:00,1\n2026-10-25 02:00,2\n2026-10-25 02:00,3\n2026-10-25 03:00,4\n",
      "busy 1h 2026-10-24T23:00:00Z: 1 2 3 4" },
    { "twice in steps of twenty minutes, two queues by turns", "Europe/Berlin",
      "t,a,b\n2026-10-25 01:40,1,1\n2026-10-25 02:00,2,2\n2026-10-25 02:20,3,3\n"
      "2026-10-25 02:40,4,4\n2026-10-25 02:00,5,5\n2026-10-25 02:20,6,6\n2026-10-25 02:40,7,7\n"
      "2026-10-25 03:00,8,8\n",
      "a 20m 2026-10-24T23:40:00Z: 1 2 3 4 5 6 7 8; b 20m 2026-10-24T23:40:00Z: 1 2 3 4 5 6 7 8" },
    { "once only", "Europe/Berlin",
      "t,count\n2026-10-25 01:00,1\n2026-10-25 02:00,2\n2026-10-25 03:00,4\n",
      ":3: queue busy, 2026-10-25T02:00:00: the rows do not go through this hour twice" },
    { "up to its middle", "Europe/Berlin", "t,count\n2026-10-25 01:00,1\n2026-10-25 02:00,2\n",
      ":3: queue busy, 2026-10-25T02:00:00: the rows do not go through this hour twice" },
    { "sorted by what the clock shows", "Europe/Berlin",
      "t,count\n2026-10-25 02:00,2\n2026-10-25 02:00,3\n2026-10-25 02:30,4\n"
      "2026-10-25 02:30,4\n",
      ":5: queue busy, 2026-10-25T02:30:00: this hour occurs twice" },
    { "backwards", "Europe/Berlin",
      "t,count\n2026-10-25 03:00,1\n2026-10-25 02:00,2\n2026-10-25 02:00,3\n2026-10-25 01:00,4\n",
      ":3: queue busy, 2026-10-25T02:00:00: this hour occurs twice and the rows are not in the "
      "order of time" },
    { "the hour that does not exist", "Europe/Berlin",
      "t,count\n2026-03-29 01:30,1\n2026-03-29 02:00,2\n2026-03-29 03:00,3\n",
      ":3: queue busy, 2026-03-29T02:00:00: this time does not exist, because the clocks skip it" },
    { "and is no gap", "Europe/Berlin",
      "t,count\n2026-03-29 01:00,1\n2026-03-29 01:30,2\n2026-03-29 03:00,3\n",
      "busy 30m 2026-03-29T00:00:00Z: 1 2 3" },
    { "days of 25 hours", "Europe/Berlin",
      "date,count\n2026-10-24,24\n2026-10-25,25\n2026-10-26,48\n",
      "busy 1h 2026-10-23T22:00:00Z: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
      " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
      " 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2" },
};

static void times_without_an_offset_are_the_zones(void **state)
{
    (void)state;
    check_forms(zones, COUNT_OF(zones));
}

#define MINUTES(five, six) "t,count\n2026-11-17T12:00:00Z," five "\n2026-11-17T12:01:00Z," six "\n"
#define SEMI(five, six) "t;count\n2026-11-17T12:00:00Z;" five "\n2026-11-17T12:01:00Z;" six "\n"

static const struct form counts[] = {
    { "decimals", NULL, MINUTES("4.8", "6.4"), NOON },
    { "exponents", NULL, MINUTES("0.50e+01", "6e0"), NOON },
    { "a sum of fractions is kept", NULL,
      "t,count\n2026-11-17T12:00:00Z,0.4\n2026-11-17T12:01:00Z,0.4\n2026-11-17T12:02:00Z,0.4\n"
      "2026-11-17T12:03:00Z,0.4\n2026-11-17T12:04:00Z,0.4\n",
      "busy 1m 2026-11-17T12:00:00Z: 0 1 0 1 0" },
    { "rates", NULL, MINUTES("5/min", "0.1/s"), NOON },
    { "rates by the hour", NULL, MINUTES("300 / h", "360/hour"), NOON },
    { "rates by the day", NULL, MINUTES("7200/day", "8640 requests per day"), NOON },
    { "rates with what they count", NULL, MINUTES("5 req/min", "0.1 requests per second"), NOON },
    { "rates in a column a queue", NULL,
      "t,chat\n2026-11-17T12:00:00Z,0.08333333 req/s\n2026-11-17T12:01:00Z,0.1 rps\n", CHAT },
    { "counts with what they count", NULL, MINUTES("5 requests", "6 req"), NOON },
    { "rates in thousands", NULL, MINUTES("1.25K req/s", "6 req/s"),
      ":2: count: expected a number like 12, 28.5 or 70/min, found \"1.25K req/s\"" },
    { "two numbers", NULL, MINUTES("5 1", "6"),
      ":2: count: expected a number like 12, 28.5 or 70/min, found \"5 1\"" },
    { "durations", NULL, MINUTES("5 s", "6 s"),
      ":2: count: expected a number like 12, 28.5 or 70/min, found \"5 s\"" },
    { "rates by the header", NULL,
      "t,rps\n2026-11-17T12:00:00Z,0.08333333\n2026-11-17T12:01:00Z,0.1\n", NOON },
    { "a rate whose unit is not told", NULL,
      "t,rate\n2026-11-17T12:00:00Z,5/min\n2026-11-17T12:01:00Z,6\n",
      ":3: rate: expected a rate with its unit, like 70/min, found \"6\"" },
    { "an unknown unit", NULL, MINUTES("5/fortnight", "6"),
      ":2: count: expected a number like 12, 28.5 or 70/min, found \"5/fortnight\"" },
    { "decimal commas", NULL, SEMI("4,9", "6,1"), NOON },
    { "three digits after a comma", NULL, SEMI("4,875", "6,125"), NOON },
    { "three digits after a point", NULL, SEMI("4.875", "6"),
      ":2: count: expected 1234, or 1,234 with a comma, as a point may set thousands apart here, "
      "found \"4.875\"" },
    { "points where there are semicolons", NULL, SEMI("4.9", "0.125e2"),
      "busy 1m 2026-11-17T12:00:00Z: 5 12" },
    { "thousands", NULL, MINUTES("\"1,234\"", "6"),
      ":2: count: expected a number with a point and without thousands set apart" },
    { "thousands and a decimal comma", NULL, SEMI("1.234,5", "6"),
      ":2: count: expected a number without thousands set apart, like 1234,5" },
    { "negative", NULL, MINUTES("-0.5", "6"), ":2: count: expected a number that is not negative" },
    { "hexadecimal", NULL, MINUTES("0x10", "6"), ":2: count: expected a number like" },
    { "too many by a rate", NULL, MINUTES("2147483647/s", "6"),
      ":2: queue busy, 2026-11-17T12:00:00Z: the count is more than 2147483647" },
};

static void counts_are_found_by_their_form(void **state)
{
    (void)state;
    check_forms(counts, COUNT_OF(counts));
}

/* Five and six requests a minute, by the second and by the hour. */
#define BY_SECOND "2026-11-17T12:00:00Z,0.08333333\n2026-11-17T12:01:00Z,0.1\n"
#define BY_HOUR "2026-11-17T12:00:00Z,300\n2026-11-17T12:01:00Z,360\n"
#define BY_MINUTE "2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6\n"

static const struct form units[] = {
    { "requests/second", NULL, "time,requests/second\n" BY_SECOND, NOON },
    { "requests / sec", NULL, "time,requests / sec\n" BY_SECOND, NOON },
    { "Requests per second", NULL, "time,Requests per second\n" BY_SECOND, NOON },
    { "requests_per_sec", NULL, "time,requests_per_sec\n" BY_SECOND, NOON },
    { "requestspersecond", NULL, "time,requestspersecond\n" BY_SECOND, NOON },
    { "RequestsPerHour", NULL, "time,RequestsPerHour\n" BY_HOUR, NOON },
    { "requests per day", NULL,
      "time,requests per day\n2026-11-17T12:00:00Z,7200\n2026-11-17T12:01:00Z,8640\n", NOON },
    { "arrivals/min", NULL, "time,arrivals/min\n" BY_MINUTE, NOON },
    { "requests (1/h)", NULL, "time,requests (1/h)\n" BY_HOUR, NOON },
    { "QPS", NULL, "time,QPS\n" BY_SECOND, NOON },
    { "req/s of a queue", NULL,
      "time,queue,req/s\n2026-11-17T12:00:00Z,chat,0.08333333\n2026-11-17T12:01:00Z,chat,0.1\n",
      CHAT },
    { "(req/s)", NULL, "\"Time\",\"chat (req/s)\"\n" BY_SECOND, CHAT },
    { "[ops/s]", NULL, "Time,chat [ops/s]\n" BY_SECOND, CHAT },
    { "(rps)", NULL, "Time,chat (rps)\n" BY_SECOND, CHAT },
    { "(requests per minute)", NULL, "Time,chat (requests per minute)\n" BY_MINUTE, CHAT },
    { "chat_rps", NULL, "Time,chat_rps\n" BY_SECOND, CHAT },
    { "chat_per_hour", NULL, "Time,chat_per_hour\n" BY_HOUR, CHAT },
    { "chat/s", NULL, "Time,chat/s\n" BY_SECOND, CHAT },
    { "chat.rps", NULL, "Time,chat.rps\n" BY_SECOND, CHAT },
    { "chatRps", NULL, "Time,chatRps\n" BY_SECOND, CHAT },
    { "chat rps (avg)", NULL, "Time,chat rps (avg)\n" BY_SECOND, CHAT },
    { "requests_per_s", NULL, "time,requests_per_s\n" BY_SECOND, NOON },
    { "a name with s", NULL, "Time,jumpers\n" BY_MINUTE, "jumpers 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a recorded rate of Prometheus", NULL, "Time,chat:requests:rate5m\n" BY_SECOND,
      "chat:requests 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a queue of much", NULL, "Time,high-throughput\n" BY_MINUTE,
      "high-throughput 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a size in brackets", NULL, "Time,H100 (80 GB)\n" BY_MINUTE,
      "H100 (80 GB) 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a size before a unit", NULL, "Time,Q4_K_M/min\n" BY_MINUTE,
      "Q4_K_M 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a limiter of rates", NULL, "Time,rate-limiter\n" BY_MINUTE,
      "rate-limiter 1m 2026-11-17T12:00:00Z: 5 6" },
    { "tokens", NULL, "Time,chat tokens/s\n" BY_SECOND,
      ":1: \"chat tokens/s\" ends in a unit that is none of requests" },
    { "tokens per second", NULL, "Time,prompt_tokens_per_second\n" BY_SECOND,
      ":1: \"prompt_tokens_per_second\" ends in a unit that is none" },
    { "thousands of requests", NULL, "time,requests (thousands)\n" BY_MINUTE,
      ":1: \"requests (thousands)\" ends in a unit that is none" },
    { "shares", NULL, "time,requests (%)\n" BY_MINUTE,
      ":1: \"requests (%)\" ends in a unit that is none" },
    { "a call of Datadog", NULL, "Time,per_minute(sum:req{*})\n" BY_MINUTE,
      "per_minute(sum:req{*}) 1m 2026-11-17T12:00:00Z: 5 6" },
    { "of a minute", NULL, "Time,sum(increase(x_total[1m]))\n" BY_MINUTE,
      "sum(increase(x_total[1m])) 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a wait", NULL, "Time,\"histogram_quantile(0.99, rate(x_bucket[5m]))\"\n" BY_MINUTE,
      ":1: \"histogram_quantile(0.99, rate(x_bucket[5m]))\" ends in a unit that is none" },
    { "chat/5m", NULL, "Time,chat/5m\n2026-11-17T12:00:00Z,25\n2026-11-17T12:01:00Z,30\n", CHAT },
    { "each queue its own", NULL,
      "Time,b (req/min),chat (req/s),d\n2026-11-17T12:00:00Z,5,0.08333333,7\n"
      "2026-11-17T12:01:00Z,6,0.1,8\n",
      "b 1m 2026-11-17T12:00:00Z: 5 6; " CHAT "; d 1m 2026-11-17T12:00:00Z: 7 8" },
    { "a call of Prometheus", NULL, "Time,sum(rate(x_total[5m]))\n" BY_SECOND,
      "sum(rate(x_total[5m])) 1m 2026-11-17T12:00:00Z: 5 6" },
    { "and a product of it", NULL, "Time,sum(rate(x_total[5m])) * 60\n" BY_SECOND,
      ":1: \"sum(rate(x_total[5m])) * 60\" ends in a unit that is none of requests by "
      "time" },
    { "a slash of a name", NULL, "Time,team/chat\n" BY_MINUTE,
      "team/chat 1m 2026-11-17T12:00:00Z: 5 6" },
    { "brackets of a name", NULL, "Time,chat (EU)\n" BY_MINUTE,
      "chat (EU) 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a name with per", NULL, "Time,paper minute\n" BY_MINUTE,
      "paper minute 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a count's unit that nobody knows", NULL, "time,requests/fortnight\n" BY_MINUTE,
      ":1: \"requests/fortnight\" ends in a unit that is none of requests by time" },
    { "a rate of bytes", NULL, "time,chat (KB/s)\n" BY_MINUTE,
      ":1: \"chat (KB/s)\" ends in a unit that is none of requests by time" },
    { "a queue by two units", NULL, "time,chat (req/s),chat (req/min)\n2026-11-17T12:00Z,5,5\n",
      ":1: two columns are named \"chat (req/min)\"" },
    { "a column of units", NULL,
      "Timestamp,Value,Unit\n2026-11-17T12:00:00Z,0.08333333,Count/Second\n"
      "2026-11-17T12:01:00Z,6,Count\n2026-11-17T12:02:00Z,7,None\n2026-11-17T12:03:00Z,8,\n"
      "2026-11-17T12:04:00Z,9,CountPerMinute\n",
      "busy 1m 2026-11-17T12:00:00Z: 5 6 7 8 9" },
    { "beside a column a queue", NULL,
      "Timestamp,chat,Unit\n2026-11-17T12:00:00Z,0.08333333,req/s\n"
      "2026-11-17T12:01:00Z,0.1,req/s\n",
      CHAT },
    { "beside a rate", NULL,
      "t,rate,unit\n2026-11-17T12:00:00Z,300,1/h\n2026-11-17T12:01:00Z,6,per minute\n", NOON },
    { "that tells no time", NULL, "t,rate,unit\n2026-11-17T12:00:00Z,300,Count\n",
      ":2: rate: expected a rate with its unit, like 70/min, found \"300\"" },
    { "of something else", NULL,
      "t,Value,Unit\n2026-11-17T12:00:00Z,5,Count\n2026-11-17T12:01:00Z,6,Milliseconds\n",
      ":3: Unit: expected Count, None or a rate of requests like Count/Second, found "
      "\"Milliseconds\"" },
    { "of bytes", NULL, "t,Value,Unit\n2026-11-17T12:00:00Z,5,Bytes/Second\n",
      ":2: Unit: expected Count, None or a rate of requests like Count/Second, found" },
    { "twice", NULL, "t,rps,Unit\n2026-11-17T12:00:00Z,5,Count/Second\n",
      ":1: \"rps\" and \"Unit\" both tell the unit" },
    { "a queue of that name", NULL, "Time,chat,unit\n2026-11-17T12:00:00Z,5,5\n",
      ":1: \"unit\" is named like a time" },
};

static void units_are_found_where_people_write_them(void **state)
{
    (void)state;
    check_forms(units, COUNT_OF(units));
}

#define TAB(five, six)                                                                             \
    "t\tcount\n2026-11-17T12:00:00Z\t" five "\n2026-11-17T12:01:00Z\t" six                         \
    "\n2026-11-17T12:02:00Z\t987\n"

/* In tables that a spreadsheet of any language may have written. */
static const struct form points[] = {
    { "thousands beside units", NULL, TAB("1.020", "1.101"),
      ":2: count: expected 1234 or 1.2340, as nothing in this file shows whether a point sets "
      "thousands apart, found \"1.020\"" },
    { "the first of them", NULL, TAB("5", "1.101"), ":3: count: expected 1234 or 1.2340" },
    { "a thousand", NULL, TAB("5", "1.000"), ":3: count: expected 1234 or 1.2340" },
    { "decimals of several lengths", NULL, TAB("5.020", "5.5"),
      "busy 1m 2026-11-17T12:00:00Z: 5 6 987" },
    { "one below one", NULL, TAB("5.020", "0.125"), "busy 1m 2026-11-17T12:00:00Z: 5 0 987" },
    { "four digits before the point", NULL, TAB("5.020", "1234.125"),
      "busy 1m 2026-11-17T12:00:00Z: 5 1234 987" },
    { "an exponent", NULL, TAB("5.020", "6.0e0"), "busy 1m 2026-11-17T12:00:00Z: 5 6 987" },
    { "no point", NULL, TAB("5", "1234"), "busy 1m 2026-11-17T12:00:00Z: 5 1234 987" },
    { "decimals", NULL, TAB("4.9", "6.1"), "busy 1m 2026-11-17T12:00:00Z: 5 6 987" },
    { "thousands of a rate", NULL, TAB("1.020/h", "6"), ":2: count: expected 1234 or 1.2340" },
    { "points elsewhere", NULL,
      "t\tversion\tcount\n2026-11-17T12:00:00Z\t0.25\t1.020\n2026-11-17T12:01:00Z\t0.5\t6\n",
      ":2: count: expected 1234 or 1.2340" },
    { "a column a queue", NULL,
      "t\ta\tb\n2026-11-17T12:00:00Z\t5\t1.020\n2026-11-17T12:01:00Z\t6\t6\n",
      ":2: b: expected 1234 or 1.2340" },
    { "thousands with commas as delimiter", NULL, MINUTES("5.020", "6"),
      ":2: count: expected 1234 or 1.2340, as nothing in this file shows whether a point sets" },
    { "as many decimals in each row", NULL, MINUTES("5.020", "6.000"), NOON },
    { "and none", NULL, MINUTES("5.020", "0"), "busy 1m 2026-11-17T12:00:00Z: 5 0" },
    { "of a rate", NULL, MINUTES("5.020/min", "6/min"), NOON },
    { "thousands that are not set apart", NULL, MINUTES("5.020", "1234"),
      "busy 1m 2026-11-17T12:00:00Z: 5 1234" },
    { "commas with semicolons as delimiter", NULL, SEMI("987", "1,665"),
      ":3: count: expected 1234 or 1,2340, as nothing in this file shows whether a comma sets" },
};

static void what_a_point_means_is_known_by_the_others(void **state)
{
    (void)state;
    check_forms(points, COUNT_OF(points));
}

#define TWO "2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6\n"

static const struct form tables[] = {
    { "value", NULL, "Timestamp,value\n" TWO, NOON },
    { "Sum", NULL, "Timestamp,Sum\n" TWO, NOON },
    { "requests", NULL, "time,requests\n" TWO, NOON },
    { "Total Requests and Count", NULL,
      "time,total,Count\n2026-11-17T12:00:00Z,9,5\n2026-11-17T12:01:00Z,9,6\n", NOON },
    { "two that may be it", NULL, "time,total,requests\n2026-11-17T12:00:00Z,9,5\n",
      ":1: columns \"total\" and \"requests\" may both be the number of requests" },
    { "Queue Name", NULL,
      "time,Queue Name,SUM\n2026-11-17T12:00:00Z,chat,5\n2026-11-17T12:01:00Z,chat,6\n", CHAT },
    { "semicolons", NULL,
      "time;queue;count\r\n2026-11-17T12:00:00Z;chat;5\r\n2026-11-17T12:01:00Z;chat;6\r\n", CHAT },
    { "tabs", NULL,
      "time\tqueue\tcount\n2026-11-17T12:00:00Z\tchat\t5\n2026-11-17T12:01:00Z\tchat\t6\n", CHAT },
    { "a comma in a name of semicolons", NULL,
      "time;a, b;count\n2026-11-17T12:00:00Z;x;5\n2026-11-17T12:01:00Z;x;6\n", NOON },
    { "commas and semicolons alike", NULL, "time;a,count\n1;2,3\n",
      ":1: has more than one of comma, semicolon and tab" },
    { "blanks", NULL,
      "time, queue ,count\n 2026-11-17T12:00:00Z , chat, 5\n2026-11-17T12:01:00Z,chat,6 \n", CHAT },
    { "a line for spreadsheets", NULL, "\xef\xbb\xbfsep=,\r\nt,count\r\n" TWO, NOON },
    { "no last line end", NULL, "t,count\n2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6", NOON },
    { "comments", NULL, "# made by hand\nt,count\n# noon\n" TWO "#, end\n", NOON },
    { "a name that looks like a comment", NULL,
      "queue,t,count\n#chat,2026-11-17T12:00:00Z,5\nchat,2026-11-17T12:01:00Z,6\n",
      ":2: begins with # and has as many fields as a row" },
    { "the same in quotes", NULL,
      "queue,t,count\n\"#a\",2026-11-17T12:00:00Z,5\n\"#a\",2026-11-17T12:01:00Z,6\n",
      "#a 1m 2026-11-17T12:00:00Z: 5 6" },
    { "byte order mark and comment", NULL, "\xef\xbb\xbf# x\n\xc2\xb5,count\n",
      ": has a header and no rows" },
    { "lines that end as on old machines", NULL,
      "t,count\r2026-11-17T12:00:00Z,5\r2026-11-17T12:01:00Z,6\r",
      ":1: has lines that end with CR alone: save it with LF or with CR and LF" },
    { "a terminal's table", NULL, "minute|queue|count\n2026-11-17T12:00:00Z|chat|5\n",
      ":1: has | between its columns: expected commas, semicolons or tabs, as of psql --csv" },
    { "a terminal's table with a frame", NULL, " minute | queue \n--------+------\n x | y\n",
      ":1: has | between its columns" },
    { "a bar in a name", NULL, "time,a|b\n2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,6\n",
      "a|b 1m 2026-11-17T12:00:00Z: 5 6" },
    { "a spreadsheet", NULL, "PK\003\004x", ":1: is a zip archive or a spreadsheet: save the" },
    { "a list of JSON", NULL, "[{\"time\": 1}]", ":1: is JSON" },
    { "a column an hour", NULL, "date,00:00,01:00,02:00\n2026-11-17,5,6,7\n",
      ":1: the columns are hours of a day, not queues: expected a row for each hour" },
    { "a column a port", NULL, "t,a:80,a:81\n2026-11-17T12:00:00Z,5,1\n2026-11-17T12:01:00Z,6,1\n",
      "a:80 1m 2026-11-17T12:00:00Z: 5 6; a:81 1m 2026-11-17T12:00:00Z: 1 1" },
    { "queues with numbers", NULL, "t,0,1\n2026-11-17T12:00:00Z,5,1\n2026-11-17T12:01:00Z,6,1\n",
      "0 1m 2026-11-17T12:00:00Z: 5 6; 1 1m 2026-11-17T12:00:00Z: 1 1" },
    { "usage of an API", NULL,
      "time,input_tokens,output_tokens,num_model_requests\n2026-11-17T12:00:00Z,500,50,5\n",
      ":1: \"num_model_requests\" may be the number of requests, or say something of a request" },
    { "UTF-16", NULL, "\xff\xfet,count\n", ":1: is UTF-16" },
    { "High and low", NULL,
      "t,count,Priority\n2026-11-17T12:00:00Z,5,High\n2026-11-17T12:00:00Z,6,LOW\n"
      "2026-11-17T12:01:00Z,7,1\n2026-11-17T12:01:00Z,8,2\n",
      "busy 1m 2026-11-17T12:00:00Z: 5+6 7+8" },
    { "priority 0", NULL, "t,count,priority\n2026-11-17T12:00:00Z,5,0\n",
      ":2: priority: expected high or low (or 1 or 2), found \"0\"" },
    { "a column a queue", NULL,
      "Time,chat,Search\n2026-11-17T12:00:00Z,5,7\n2026-11-17T12:01:00Z,6,8.2\n",
      "Search 1m 2026-11-17T12:00:00Z: 7 8; " CHAT },
    { "a column a queue, and cells without a number", NULL,
      "Time,chat,b\n2026-11-17T12:00:00Z,5,1\n2026-11-17T12:01:00Z,6,\n"
      "2026-11-17T12:02:00Z,NaN,1\n2026-11-17T12:03:00Z,null,1\n",
      "b 1m 2026-11-17T12:00:00Z: 1 - 1 1; " CHAT },
    { "a count that nobody knows", NULL,
      "t,count\n2026-11-17T12:00:00Z,5\n2026-11-17T12:01:00Z,NaN\n2026-11-17T12:02:00Z,\n"
      "2026-11-17T12:03:00Z,N/A\n2026-11-17T12:04:00Z,6\n2026-11-17T12:05:00Z,7\n",
      "busy 1m 2026-11-17T12:00:00Z: 5 - - - 6 7" },
    { "a queue that nobody counts", NULL,
      "t,queue,count\n2026-11-17T12:00:00Z,chat,5\n2026-11-17T12:00:00Z,b,null\n"
      "2026-11-17T12:01:00Z,chat,6\n2026-11-17T12:01:00Z,b,null\n",
      CHAT },
    { "no count at all", NULL, "t,count\n2026-11-17T12:00:00Z,NaN\n", ": no cell holds a count" },
    { "one queue that the column names", NULL, "Time,chat\n" TWO, CHAT },
    { "a column that is neither", NULL, "Time,chat,region\n2026-11-17T12:00:00Z,5,eu\n",
      ":1: the header names no column \"count\" (or value, sum, total, requests, ...), and "
      "\"region\" holds \"eu\"" },
    { "no count", NULL, "Time,Queue,amount\n2026-11-17T12:00:00Z,chat,6\n",
      ":1: the header names no column \"count\" (or value, sum, total, requests, ...): found Time, "
      "Queue, amount" },
    { "a total beside queues", NULL, "Time,chat,search,Total\n2026-11-17T12:00:00Z,5,6,11\n",
      ":1: \"Total\" may be the number of requests, or belong to \"chat\" beside it" },
    { "a total beside queues that begin later", NULL,
      "Time,chat,messages\n2026-11-17T12:00:00Z,,6\n2026-11-17T12:01:00Z,5,11\n",
      ":1: \"messages\" may be the number of requests, or belong to \"chat\" beside it" },
    { "a sum among statistics", NULL,
      "Timestamp,Sample Count,Average,Sum,note\n2026-11-17T12:00:00Z,2,2.5,5,a\n"
      "2026-11-17T12:01:00Z,2,3,6,b\n",
      NOON },
    { "a sum and the length of its step", NULL,
      "Timestamp,Sum,Period\n2026-11-17T12:00:00Z,5,60\n2026-11-17T12:01:00Z,6,60\n", NOON },
    { "an hour beside queues", NULL, "timestamp,hour,chat\n2026-11-17T12:00:00Z,12,5\n",
      ":1: \"hour\" is named like a time or a statistic" },
    { "fields of a tool", NULL,
      "\"_time\",chat,\"_span\",\"_spandays\"\n2026-11-17T12:00:00Z,5,60,0\n"
      "2026-11-17T12:01:00Z,6,60,0\n",
      CHAT },
    { "fields of a tool alone", NULL, "_time,_span\n2026-11-17T12:00:00Z,60\n",
      ":1: the header names no column \"count\" (or value, sum, total, requests, ...): found "
      "_time, _span" },
    { "fields of a tool beside a count", NULL,
      "_time,requests,_span\n2026-11-17T12:00:00Z,5,60\n2026-11-17T12:01:00Z,6,60\n", NOON },
    { "numbers of rows", NULL,
      "index,timestamp,chat\n0,2026-11-17T12:00:00Z,5\n1,2026-11-17T12:01:00Z,6\n", CHAT },
    { "from one, without a name", NULL,
      "\"\",timestamp,chat\n1,2026-11-17T12:00:00Z,5\n2,2026-11-17T12:01:00Z,6\n", CHAT },
    { "beside a count", NULL, ",t,requests\n0,2026-11-17T12:00:00Z,5\n1,2026-11-17T12:01:00Z,6\n",
      NOON },
    { "as pandas writes them again", NULL,
      "Unnamed: 0,t,chat\n0,2026-11-17T12:00:00Z,5\n1,2026-11-17T12:01:00Z,6\n", CHAT },
    { "a queue that is named index", NULL,
      "t,index\n2026-11-17T12:00:00Z,0\n2026-11-17T12:01:00Z,7\n",
      "index 1m 2026-11-17T12:00:00Z: 0 7" },
    { "a queue that begins with two rows", NULL,
      "t,a\n2026-11-17T12:00:00Z,0\n2026-11-17T12:01:00Z,1\n", "a 1m 2026-11-17T12:00:00Z: 0 1" },
    { "no name and no index", NULL, "t,,b\n2026-11-17T12:00:00Z,5,1\n2026-11-17T12:01Z,5,1\n",
      ":1: queue: is empty" },
    { "two counts", NULL, "time,count,Count\n2026-11-17T12:00:00Z,5,6\n",
      ":1: two columns are named \"Count\"" },
    { "two queues", NULL, "time,queue,queue,count\n2026-11-17T12:00:00Z,a,b,6\n",
      ":1: two columns are named \"queue\"" },
    { "two columns of one name", NULL, "Time,chat,chat\n2026-11-17T12:00:00Z,5,6\n",
      ":1: two columns are named \"chat\"" },
    { "Latin-1", NULL, "t,queue,count\n2026-11-17T12:00:00Z,caf\xe9,5\n",
      ":2: queue: \"caf?\" is not UTF-8" },
    { "Latin-1 in the header", NULL, "t,caf\xe9\n2026-11-17T12:00:00Z,5\n",
      ":1: queue: \"caf?\" is not UTF-8" },
    { "a control character", NULL, "t,queue,count\n2026-11-17T12:00:00Z,\x1b[2J,5\n",
      ":2: queue: the name holds a control character (27)" },
    { "a control character of two bytes", NULL,
      "t,queue,count\n2026-11-17T12:00:00Z,\xc2\x9b"
      "2J,5\n",
      ":2: queue: the name holds a control character (155)" },
    { "rows that another column tells apart", NULL,
      "t,service,count\n2026-11-17T12:00:00Z,a,5\n2026-11-17T12:00:00Z,b,5\n"
      "2026-11-17T12:01:00Z,b,5\n",
      ":3: queue busy, 2026-11-17T12:00:00Z: stands twice in the file: leave one out; or if "
      "another column tells these rows apart, name it time, hour or queue" },
};

static void tables_are_found_by_their_form(void **state)
{
    (void)state;
    check_forms(tables, COUNT_OF(tables));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_found_by_their_form),
        cmocka_unit_test(times_without_an_offset_are_the_zones),
        cmocka_unit_test(counts_are_found_by_their_form),
        cmocka_unit_test(what_a_point_means_is_known_by_the_others),
        cmocka_unit_test(units_are_found_where_people_write_them),
        cmocka_unit_test(tables_are_found_by_their_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
