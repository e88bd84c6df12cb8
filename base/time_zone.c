/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * TZif by RFC 8536.  Only the 64-bit block is read; the 32-bit block in front of it is stepped
 * over.  Zones that count leap seconds ("right/...") are refused: our seconds do not.
 */
#include "base/time_zone.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/posix_zone.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1024 * 1024, DAY_S = 86400, FOOTER_SIZE = 128 };

struct time_zone {
    char *name;
    int64_t *moments;     /* of change, ascending, in seconds */
    unsigned char *kinds; /* the clock from moments[i] on */
    size_t count;
    struct zone_clock *clocks;
    size_t clock_count;
    bool has_rule; /* for moments from the last change on */
    struct posix_zone rule;
};

void time_zone_free(struct time_zone *zone)
{
    if (zone == NULL)
        return;
    mem_free(zone->name);
    mem_free(zone->moments);
    mem_free(zone->kinds);
    mem_free(zone->clocks);
    mem_free(zone);
}

const char *time_zone_name(const struct time_zone *zone)
{
    return zone->name;
}

/* The remaining bytes; reading past the end sets an error mark and gives zeroes. */
struct reader {
    const unsigned char *at;
    size_t left;
    bool is_short;
};

static const unsigned char *take(struct reader *reader, size_t size)
{
    const unsigned char *start = reader->at;

    if (reader->is_short || size > reader->left) {
        reader->is_short = true;
        return NULL;
    }
    reader->at += size;
    reader->left -= size;
    return start;
}

static uint64_t take_unsigned(struct reader *reader, size_t size)
{
    const unsigned char *bytes = take(reader, size);
    uint64_t value = 0;

    for (size_t i = 0; bytes && i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

struct header {
    char version;
    size_t utc_marks, standard_marks, leap_seconds, moments, clocks, chars;
};

static bool take_header(struct reader *reader, struct header *ret_header)
{
    const unsigned char *start = take(reader, 20);
    struct header header;

    if (start == NULL || memcmp(start, "TZif", 4) != 0)
        return false;
    header.version = (char)start[4];
    header.utc_marks = (size_t)take_unsigned(reader, 4);
    header.standard_marks = (size_t)take_unsigned(reader, 4);
    header.leap_seconds = (size_t)take_unsigned(reader, 4);
    header.moments = (size_t)take_unsigned(reader, 4);
    header.clocks = (size_t)take_unsigned(reader, 4);
    header.chars = (size_t)take_unsigned(reader, 4);
    *ret_header = header;
    return !reader->is_short;
}

static const char *take_moments(struct time_zone *zone, struct reader *reader, size_t count)
{
    if (count > reader->left / 9)
        return "cut short";
    zone->count = count;
    zone->moments = mem_new_array(count, sizeof *zone->moments);
    zone->kinds = mem_new_array(count, sizeof *zone->kinds);
    for (size_t i = 0; i < count; i++) {
        zone->moments[i] = (int64_t)take_unsigned(reader, 8);
        if (i > 0 && zone->moments[i] <= zone->moments[i - 1])
            return "its changes are not in order";
    }
    for (size_t i = 0; i < count; i++)
        zone->kinds[i] = (unsigned char)take_unsigned(reader, 1);
    return NULL;
}

static bool copy_abbreviation(struct zone_clock *clock, const unsigned char *chars, size_t size,
                              size_t at)
{
    if (at >= size || memchr(chars + at, '\0', size - at) == NULL)
        return false;
    return text_copy(clock->abbreviation, sizeof clock->abbreviation, (const char *)chars + at);
}

static const char *take_clocks(struct time_zone *zone, struct reader *reader,
                               const struct header *header)
{
    const unsigned char *clocks = take(reader, header->clocks * 6);
    const unsigned char *chars = take(reader, header->chars);

    if (clocks == NULL || chars == NULL || header->clocks == 0)
        return "cut short";
    zone->clock_count = header->clocks;
    zone->clocks = mem_new_array(header->clocks, sizeof *zone->clocks);
    for (size_t i = 0; i < header->clocks; i++) {
        struct reader entry = { clocks + i * 6, 6, false };
        struct zone_clock *clock = &zone->clocks[i];

        clock->offset_s = (int32_t)(uint32_t)take_unsigned(&entry, 4);
        take(&entry, 1); /* whether it is summer time, which nothing here asks */
        if (!copy_abbreviation(clock, chars, header->chars, (size_t)take_unsigned(&entry, 1)))
            return "an abbreviation is out of bounds";
        if (clock->offset_s <= -ZONE_OFFSET_LIMIT_S || clock->offset_s >= ZONE_OFFSET_LIMIT_S)
            return "an offset is out of bounds";
    }
    for (size_t i = 0; i < zone->count; i++)
        if (zone->kinds[i] >= zone->clock_count)
            return "a change names no clock";
    return NULL;
}

/* A newline, the rule, a newline. */
static const char *take_footer(struct time_zone *zone, struct reader *reader)
{
    const unsigned char *end;
    char rule[FOOTER_SIZE] = "";
    size_t length;

    if (take_unsigned(reader, 1) != '\n')
        return "no footer";
    end = memchr(reader->at, '\n', reader->left);
    length = end ? (size_t)(end - reader->at) : FOOTER_SIZE;
    if (length >= FOOTER_SIZE)
        return "no footer";
    memcpy(rule, reader->at, length);
    zone->has_rule = length > 0;
    if (zone->has_rule && !posix_zone_parse(rule, &zone->rule))
        return "the rule in its footer makes no sense";
    return NULL;
}

/* NULL, or what is wrong with the bytes. */
static const char *decode(struct time_zone *zone, struct reader *reader)
{
    struct header header;
    const char *problem;

    if (!take_header(reader, &header))
        return "not a TZif file";
    if (header.version < '2')
        return "TZif version 1, which ends in 2037";
    take(reader, header.moments * 5 + header.clocks * 6 + header.chars + header.leap_seconds * 8 +
                     header.standard_marks + header.utc_marks);
    if (!take_header(reader, &header))
        return "no 64-bit part";
    if (header.leap_seconds > 0)
        return "it counts leap seconds";
    problem = take_moments(zone, reader, header.moments);
    if (problem == NULL)
        problem = take_clocks(zone, reader, &header);
    if (problem)
        return problem;
    take(reader, header.standard_marks + header.utc_marks);
    return take_footer(zone, reader);
}

struct time_zone *time_zone_decode(const char *name, const void *bytes, size_t size,
                                   struct error *err)
{
    owned(time_zone) struct time_zone *zone = mem_new(sizeof *zone);
    struct reader reader = { bytes, size, false };
    const char *problem = decode(zone, &reader);

    if (problem) {
        error_set(err, ERROR_CORRUPT, "time zone %s: %s", name, problem);
        return NULL;
    }
    zone->name = mem_copy_chars(name);
    return steal(&zone);
}

/* Keeps a name from the configuration inside the folder of zones. */
static bool is_zone_name(const char *name)
{
    static const char *const allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/-";

    return *name != '\0' && *name != '/' && name[strspn(name, allowed)] == '\0';
}

struct time_zone *time_zone_open(const char *name, struct error *err)
{
    const char *folder = getenv("TZDIR");
    owned(chars) char *path = NULL;
    owned(text) struct text *content = NULL;
    struct error cause = { 0 };

    if (!is_zone_name(name)) {
        error_set(err, ERROR_INVALID, "\"%s\" is not the name of a time zone", name);
        return NULL;
    }
    path = text_format("%s/%s", folder && *folder ? folder : "/usr/share/zoneinfo", name);
    content = file_read(path, FILE_LIMIT, &cause);
    if (content == NULL) { /* ERROR_INVALID: a folder, such as "Europe" */
        bool is_unknown = cause.kind == ERROR_NOT_FOUND || cause.kind == ERROR_INVALID;

        error_set(err, is_unknown ? ERROR_NOT_FOUND : cause.kind, "no time zone \"%s\": %s", name,
                  cause.text);
        return NULL;
    }
    return time_zone_decode(name, content->chars, content->length, err);
}

/* How many changes are at or before the moment. */
static size_t changes_until(const struct time_zone *zone, int64_t moment)
{
    size_t low = 0;
    size_t high = zone->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->moments[middle] <= moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct zone_clock *clock_at(const struct time_zone *zone, int64_t moment)
{
    size_t changes = changes_until(zone, moment);

    if (changes == zone->count && zone->has_rule)
        return posix_zone_clock(&zone->rule, moment);
    return &zone->clocks[changes ? zone->kinds[changes - 1] : 0];
}

/* INT64_MAX: the clock never changes again. */
static int64_t next_change(const struct time_zone *zone, int64_t moment)
{
    size_t changes = changes_until(zone, moment);

    if (changes < zone->count)
        return zone->moments[changes];
    return zone->has_rule ? posix_zone_next_edge(&zone->rule, moment) : INT64_MAX;
}

static int64_t floor_divide(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

struct local_time time_zone_local(const struct time_zone *zone, struct wall_time wall)
{
    int64_t moment = floor_divide(wall.ms, SECOND_MS);
    const struct zone_clock *clock = clock_at(zone, moment);
    int64_t shown = moment + clock->offset_s;
    int64_t day = floor_divide(shown, DAY_S);
    int second_of_day = (int)(shown - day * DAY_S);
    struct local_time local = {
        .date = civil_date_of_day(day),
        .weekday = civil_weekday(day),
        .minute_of_day = second_of_day / 60,
        .second = second_of_day % 60,
        .offset_s = clock->offset_s,
    };

    text_copy(local.abbreviation, sizeof local.abbreviation, clock->abbreviation);
    return local;
}

/* Walks the intervals between two changes, from before the first moment that can have the wanted
   time.  The first interval whose clock reaches that time holds the answer: the moment of that time
   or, if the clock skipped it, the beginning of the interval. */
struct wall_time time_zone_wall(const struct time_zone *zone, struct civil_date date,
                                int minute_of_day)
{
    int64_t wanted = civil_day(date.year, date.month, date.day) * DAY_S + minute_of_day * 60;
    int64_t begin = wanted - ZONE_OFFSET_LIMIT_S;

    for (;;) {
        int64_t end = next_change(zone, begin);
        int64_t moment = wanted - clock_at(zone, begin)->offset_s;

        if (moment < begin)
            moment = begin;
        if (moment < end)
            return (struct wall_time){ moment * SECOND_MS };
        begin = end;
    }
}

/* Narrows the range of a reading at a change of the offset. */
static void cut_reading(struct zone_reading *reading, int64_t local_ms, int64_t edge_ms)
{
    if (edge_ms <= local_ms && edge_ms > reading->from_ms)
        reading->from_ms = edge_ms;
    if (edge_ms > local_ms && edge_ms < reading->to_ms)
        reading->to_ms = edge_ms;
}

/* Between two changes of the offset local times are unbroken.  Each such interval that contains the
   wanted local time gives one moment.  A zone that changes twice within hours could give more than
   two: the first two count. */
struct zone_reading time_zone_read(const struct time_zone *zone, int64_t local_ms)
{
    int64_t wanted = floor_divide(local_ms, SECOND_MS);
    int64_t begin = wanted - 2 * ZONE_OFFSET_LIMIT_S;
    struct zone_reading reading = {
        .from_ms = (wanted - ZONE_OFFSET_LIMIT_S) * SECOND_MS,
        .to_ms = (wanted + ZONE_OFFSET_LIMIT_S) * SECOND_MS,
    };

    while (begin <= wanted + ZONE_OFFSET_LIMIT_S) {
        int64_t end = next_change(zone, begin);
        int64_t offset = clock_at(zone, begin)->offset_s;
        bool is_last = end > wanted + 2 * ZONE_OFFSET_LIMIT_S;

        if (wanted >= begin + offset && (is_last || wanted < end + offset) && reading.count < 2)
            reading.offsets_ms[reading.count++] = offset * SECOND_MS;
        if (is_last)
            break;
        cut_reading(&reading, local_ms, (end + offset) * SECOND_MS);
        cut_reading(&reading, local_ms, (end + clock_at(zone, end)->offset_s) * SECOND_MS);
        begin = end;
    }
    return reading;
}
