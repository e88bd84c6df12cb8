/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Calendar arithmetic on the proleptic Gregorian calendar, RFC 3339 and durations.  Nothing here
 * reads a clock or knows a zone.
 */
#include "base/timestamp.h"

#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DAYS_PER_ERA = 146097, /* 400 years, after which the calendar repeats */
    DAYS_TO_EPOCH = 719468 /* from 0000-03-01 to 1970-01-01 */
};

static int64_t floor_divide(int64_t value, int64_t divisor)
{
    return value / divisor - (value % divisor < 0);
}

/* Years are counted from March, so that the leap day is the last of its year and the lengths of
   the months before it follow (153 * month + 2) / 5. */
struct civil_date civil_date_of_day(int64_t day)
{
    int64_t shifted = day + DAYS_TO_EPOCH;
    int64_t era = floor_divide(shifted, DAYS_PER_ERA);
    int64_t day_of_era = shifted - era * DAYS_PER_ERA;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    int64_t year = era * 400 + year_of_era + (month >= 10);

    return (struct civil_date){
        .year = (int)year,
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
    };
}

int64_t civil_day(int year, int month, int day)
{
    int64_t shifted_year = (int64_t)year - (month <= 2);
    int64_t shifted_month = month > 2 ? month - 3 : month + 9;
    int64_t era = floor_divide(shifted_year, 400);
    int64_t year_of_era = shifted_year - era * 400;
    int64_t day_of_year = (153 * shifted_month + 2) / 5 + day - 1;

    return era * DAYS_PER_ERA + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_TO_EPOCH;
}

int civil_weekday(int64_t day)
{
    return (int)(day + 3 - 7 * floor_divide(day + 3, 7)); /* 1970-01-01 was a Thursday */
}

const char *wall_format(struct wall_time wall, char out[WALL_TEXT_SIZE])
{
    int64_t day = floor_divide(wall.ms, DAY_MS);
    int ms = (int)(wall.ms - day * DAY_MS);
    struct civil_date date = civil_date_of_day(day);
    int length;

    if (wall.ms == 0) {
        text_copy(out, WALL_TEXT_SIZE, "-");
        return out;
    }
    length = snprintf(out, WALL_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", date.year, date.month,
                      date.day, ms / HOUR_MS, ms / MINUTE_MS % 60, ms / SECOND_MS % 60);
    if (length > 0 && length < WALL_TEXT_SIZE)
        snprintf(out + length, WALL_TEXT_SIZE - (size_t)length, ms % SECOND_MS ? ".%03dZ" : "Z",
                 ms % SECOND_MS);
    return out;
}

/* Reads exactly `digits` digits at *at and moves on; false otherwise. */
static bool take_digits(const char **at, int digits, int *ret_value)
{
    int value = 0;

    for (int i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)(*at)[i]))
            return false;
        value = value * 10 + ((*at)[i] - '0');
    }
    *at += digits;
    *ret_value = value;
    return true;
}

static bool take_char(const char **at, const char *allowed)
{
    if (**at == '\0' || strchr(allowed, **at) == NULL)
        return false;
    (*at)++;
    return true;
}

static bool is_real_date(int year, int month, int day)
{
    struct civil_date date;

    if (month < 1 || month > 12 || day < 1)
        return false;
    date = civil_date_of_day(civil_day(year, month, day));
    return date.month == month && date.day == day;
}

static bool take_date(const char **at, int64_t *ret_day)
{
    int year, month, day;

    if (!take_digits(at, 4, &year) || !take_char(at, "-") || !take_digits(at, 2, &month) ||
        !take_char(at, "-") || !take_digits(at, 2, &day) || !is_real_date(year, month, day))
        return false;
    *ret_day = civil_day(year, month, day);
    return true;
}

/* ".25" as 250; digits past the third are dropped. */
static bool take_fraction(const char **at, int *ret_ms)
{
    int ms = 0;
    int digits = 0;

    for (; isdigit((unsigned char)**at); (*at)++, digits++)
        if (digits < 3)
            ms = ms * 10 + (**at - '0');
    for (int i = digits; i < 3; i++)
        ms *= 10;
    *ret_ms = ms;
    return digits > 0;
}

/* A leap second (60) counts as the first second after it. */
static bool take_time(const char **at, int64_t *ret_ms)
{
    int hour, minute, second = 0, ms = 0;

    if (!take_digits(at, 2, &hour) || !take_char(at, ":") || !take_digits(at, 2, &minute))
        return false;
    if (take_char(at, ":") && !take_digits(at, 2, &second))
        return false;
    if (take_char(at, ".") && !take_fraction(at, &ms))
        return false;
    if (hour > 23 || minute > 59 || second > 60)
        return false;
    *ret_ms = (int64_t)hour * HOUR_MS + (int64_t)minute * MINUTE_MS + second * SECOND_MS + ms;
    return true;
}

/* "Z", "+02:00" or "-0530" as what to subtract. */
static bool take_offset(const char **at, int64_t *ret_ms)
{
    bool is_west = **at == '-';
    int hour, minute;

    if (take_char(at, "Zz")) {
        *ret_ms = 0;
        return true;
    }
    if (!take_char(at, "+-") || !take_digits(at, 2, &hour))
        return false;
    (void)take_char(at, ":"); /* ISO 8601 allows to leave it out */
    if (!take_digits(at, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *ret_ms = (int64_t)hour * HOUR_MS + (int64_t)minute * MINUTE_MS;
    if (is_west)
        *ret_ms = -*ret_ms;
    return true;
}

int wall_parse(const char *chars, bool allow_naive, struct wall_time *ret_wall, struct error *err)
{
    const char *at = chars;
    int64_t day, time_ms, offset_ms = 0;

    if (!take_date(&at, &day) || !take_char(&at, "Tt ") || !take_time(&at, &time_ms))
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is not a time: write it like 2026-11-17T12:12:05Z", chars);
    if (*at == '\0' && !allow_naive)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" lacks an offset: end it with Z or with one like +01:00", chars);
    if (*at != '\0' && (!take_offset(&at, &offset_ms) || *at != '\0'))
        return error_set(err, ERROR_INVALID,
                         "\"%s\" does not end like a time: Z or an offset like +01:00 expected",
                         chars);
    ret_wall->ms = day * DAY_MS + time_ms - offset_ms;
    return 0;
}

static const struct {
    const char *name;
    int64_t ms;
} units[] = {
    { "ms", 1 }, { "s", SECOND_MS }, { "m", MINUTE_MS }, { "h", HOUR_MS }, { "d", DAY_MS },
};

static int fail_duration(const char *chars, struct error *err)
{
    return error_set(err, ERROR_INVALID,
                     "\"%s\" is not a duration: write it like 90s, 5m, 1h30m or 2d", chars);
}

/* The unit that the letters at *at name, or 0. */
static int64_t take_unit(const char **at)
{
    size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strlen(units[i].name) != length || strncmp(units[i].name, *at, length) != 0)
            continue;
        *at += length;
        return units[i].ms;
    }
    return 0;
}

/* Reads the digits after the point; false: there are none. */
static bool take_part(const char **at, double *ret_part)
{
    double digit = 0.1;

    *ret_part = 0;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++, digit /= 10)
        *ret_part += (**at - '0') * digit;
    return true;
}

int duration_parse(const char *chars, int64_t *ret_ms, struct error *err)
{
    const char *at = chars;
    int64_t total = 0;
    int64_t former_unit = INT64_MAX;

    if (*at == '\0')
        return fail_duration(chars, err);
    while (*at) {
        int64_t value = 0, unit;
        double part = 0;

        if (!isdigit((unsigned char)*at))
            return fail_duration(chars, err);
        for (; isdigit((unsigned char)*at); at++)
            if (__builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *at - '0', &value))
                return fail_duration(chars, err);
        if (take_char(&at, ".") && !take_part(&at, &part))
            return fail_duration(chars, err);
        unit = take_unit(&at);
        if (part > 0 && (unit != SECOND_MS || (value == 0 && part * SECOND_MS < 0.5)))
            return fail_duration(chars, err);
        if (unit == 0 || unit >= former_unit || __builtin_mul_overflow(value, unit, &value) ||
            __builtin_add_overflow(total, value, &total) ||
            __builtin_add_overflow(total, (int64_t)(part * SECOND_MS + 0.5), &total))
            return fail_duration(chars, err);
        former_unit = unit;
    }
    *ret_ms = total;
    return 0;
}

int seconds_parse(const char *chars, double *ret_s, struct error *err)
{
    static const struct {
        const char *name;
        const char *exponent;
    } parts[] = { { "us", "e-6" }, { "ms", "e-3" }, { "s", "" } };
    size_t length = strspn(chars, "0123456789.");
    bool is_number = isdigit((unsigned char)chars[0]) && chars[length - 1] != '.';
    char number[32];
    int64_t ms;

    for (size_t i = 0; i < COUNT_OF(parts) && is_number; i++)
        if (text_equal(chars + length, parts[i].name) &&
            text_print(number, sizeof number, "%.*s%s", (int)length, chars, parts[i].exponent) &&
            text_to_double(number, ret_s))
            return 0;
    if (duration_parse(chars, &ms, NULL) < 0)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is not a duration: write it like 250us, 0.5ms, 20ms or 1.5s",
                         chars);
    *ret_s = (double)ms / SECOND_MS;
    return 0;
}

const char *seconds_format(double seconds, char out[DURATION_TEXT_SIZE])
{
    bool is_micro = seconds < 0.001 && seconds != 0;
    bool is_milli = seconds < 1 && seconds != 0;

    text_print(out, DURATION_TEXT_SIZE, "%.6g%s",
               seconds * (is_micro   ? 1e6
                          : is_milli ? 1e3
                                     : 1),
               is_micro   ? "us"
               : is_milli ? "ms"
                          : "s");
    return out;
}

const char *duration_format(int64_t duration_ms, char out[DURATION_TEXT_SIZE])
{
    uint64_t left = duration_ms < 0 ? -(uint64_t)duration_ms : (uint64_t)duration_ms;
    size_t largest = COUNT_OF(units) - 1;
    uint64_t unit;
    int length;

    while (largest > 0 && left < (uint64_t)units[largest].ms)
        largest--;
    if (left == 0)
        largest = 1; /* "0s" */
    unit = (uint64_t)units[largest].ms;
    length = snprintf(out, DURATION_TEXT_SIZE, "%s%" PRIu64 "%s", duration_ms < 0 ? "-" : "",
                      left / unit, units[largest].name);
    left %= unit;
    if (largest == 0 || length < 0 || length >= DURATION_TEXT_SIZE)
        return out;
    unit = (uint64_t)units[largest - 1].ms;
    if (left / unit > 0)
        snprintf(out + length, DURATION_TEXT_SIZE - (size_t)length, "%" PRIu64 "%s", left / unit,
                 units[largest - 1].name);
    return out;
}

bool wall_parse_http(const char *chars, struct wall_time *ret_wall)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    char end = '\0';
    int day, year, hour, minute, second, used = 0;

    if (sscanf(chars, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n%c", &day, month, &year,
               &hour, &minute, &second, &used, &end) < 6 ||
        used == 0 || end != '\0')
        return false;

    const char *at = strstr(months, month);

    if (!at || strlen(month) != 3 || (at - months) % 3 != 0 || day < 1 || day > 31 || year < 1970 ||
        hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    ret_wall->ms = civil_day(year, (int)(at - months) / 3 + 1, day) * DAY_MS +
                   hour * (int64_t)HOUR_MS + minute * (int64_t)MINUTE_MS +
                   second * (int64_t)SECOND_MS;
    return true;
}
