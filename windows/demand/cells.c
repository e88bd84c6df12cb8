/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See cells.h.
 */
#include "windows/demand/cells.h"

#include "base/text.h"
#include "windows/demand/column_unit.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum {
    DAY_CHARS = 11,  /* "2026-11-17T" */
    CLOCK_CHARS = 8, /* "12:12:00" */
    TIME_CHARS = 48, /* more than any time has */
    NUMBER_CHARS = 64,
};

static const int64_t year_1990_s = 631152000;
static const double year_2000_s = 946684800;
static const double year_2100_s = 4102444800;

/* Of numbers since 1970, as 2026030200 and 2603020000 are rather a date and an hour in digits. */
static const double year_2033_s = 1988150400;

/* Units of numbers since 1970; the ranges of the years do not overlap. */
static const double epoch_units_ms[] = { 1000, 1, 1e-3, 1e-6 };

static const struct {
    const char *ending;
    const char *means;
} zone_names[] = {
    { " +0000 UTC", "Z" }, { " UTC", "Z" }, { "UTC", "Z" },
    { " GMT", "Z" },       { "GMT", "Z" },  { " Z", "Z" },
};

static const struct {
    const char *name;
    enum demand_class class;
} class_names[] = {
    { "high", DEMAND_HIGH }, { "1", DEMAND_HIGH }, { "p1", DEMAND_HIGH },
    { "low", DEMAND_LOW },   { "2", DEMAND_LOW },  { "p2", DEMAND_LOW },
};

static const char *const void_names[] = { "", "nan", "null", "na", "n/a", "none", "undefined" };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t count_digits(const char *text)
{
    size_t digits = 0;

    while (is_digit(text[digits]))
        digits++;
    return digits;
}

/* Digits with a point or without, where so few are exact: the number that text_to_double() reads.
 */
static bool read_plainly(const char *text, double *ret)
{
    static const double tens[] = { 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
    int64_t number = 0;
    size_t digits = 0;
    size_t places = 0;

    for (; digits < 14 && is_digit(text[digits]); digits++)
        number = 10 * number + text[digits] - '0';
    if (digits == 0)
        return false;
    if (text[digits] == '.')
        for (text++; places < 9 && digits < 15 && is_digit(text[digits]); digits++, places++)
            number = 10 * number + text[digits] - '0';
    *ret = (double)number / tens[places];
    return text[digits] == '\0' && text[digits - 1] != '.';
}

bool cell_number(const char *text, double *ret)
{
    return is_digit(*text) && (read_plainly(text, ret) || text_to_double(text, ret));
}

static bool read_epoch(const char *text, struct cell_time *ret)
{
    double number;

    if (!cell_number(text, &number))
        return false;
    for (size_t i = 0; i < COUNT_OF(epoch_units_ms); i++) {
        double ms = number * epoch_units_ms[i];

        if (ms >= year_2000_s * SECOND_MS && ms < year_2033_s * SECOND_MS) {
            *ret = (struct cell_time){ (int64_t)llround(ms), false };
            return true;
        }
    }
    return false;
}

/* "2026/11/17" as "2026-11-17", names of UTC as Z, an offset close to its time and with minutes, an
   hour alone with minutes, and a date alone as its midnight. */
static void make_plain(char text[TIME_CHARS])
{
    size_t length = strlen(text);
    char *blank;

    if (length >= 10 && text[4] == '/' && text[7] == '/')
        text[4] = text[7] = '-';
    for (size_t i = 0; i < COUNT_OF(zone_names); i++) {
        size_t ending = strlen(zone_names[i].ending);

        if (length > ending + 10 && strcmp(text + length - ending, zone_names[i].ending) == 0) {
            text_copy(text + length - ending, TIME_CHARS - (length - ending), zone_names[i].means);
            return;
        }
    }
    if (length == 10) {
        text_copy(text + length, TIME_CHARS - length, "T00:00:00");
        return;
    }
    blank = strrchr(text, ' ');
    if (blank && blank > text + DAY_CHARS && (blank[1] == '+' || blank[1] == '-'))
        memmove(blank, blank + 1, strlen(blank));
    length = strlen(text);
    if (length == DAY_CHARS + 2 || (length > DAY_CHARS + 5 && strchr("+-", text[length - 3])))
        text_copy(text + length, TIME_CHARS - length, ":00");
}

/* Traces are no older.  Other years come from wrong units, and from dates that mean "never". */
static bool is_likely(struct wall_time wall)
{
    return wall.ms >= year_1990_s * SECOND_MS && wall.ms < (int64_t)year_2100_s * SECOND_MS;
}

/* "2026-11-17T08:00-05:00" is a time with an offset, as programs write it. */
bool cell_is_range(const char *text)
{
    size_t length = strlen(text);
    const char *first = length >= 11 ? text + length - 11 : NULL;

    return first && count_digits(first) == 2 && first[2] == ':' && count_digits(first + 3) == 2 &&
           first[5] == '-' && count_digits(first + 6) == 2 && first[8] == ':' &&
           (first == text || first[-1] == ' ');
}

bool cell_time(const char *text, struct cell_time *ret)
{
    char plain[TIME_CHARS];
    struct wall_time wall;
    size_t digits = count_digits(text);
    bool is_local;

    if (digits != 4 || (text[4] != '-' && text[4] != '/'))
        return read_epoch(text, ret);
    /* room for the midnight of a date alone */
    if (cell_is_range(text) || !text_copy(plain, sizeof plain, text))
        return false;
    make_plain(plain);
    is_local = wall_parse(plain, false, &wall, NULL) < 0;
    if ((is_local && wall_parse(plain, true, &wall, NULL) < 0) || !is_likely(wall))
        return false;
    *ret = (struct cell_time){ wall.ms, is_local };
    return true;
}

/* Two digits below a limit, or -1. */
static int two_digits(const char *at, int limit)
{
    int value = is_digit(at[0]) && is_digit(at[1]) ? 10 * (at[0] - '0') + at[1] - '0' : -1;

    return value < limit ? value : -1;
}

/* Past "12:12" or "12:12:00", whatever follows; NULL: it is something else. */
static const char *read_clock(const char *at, int64_t *ret_ms)
{
    int hour = two_digits(at, 24);
    int minute = hour >= 0 && at[2] == ':' ? two_digits(at + 3, 60) : -1;
    int second = minute >= 0 && at[5] == ':' ? two_digits(at + 6, 60) : 0;

    if (minute < 0 || second < 0)
        return NULL;
    *ret_ms = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
    return at + (at[5] == ':' ? CLOCK_CHARS : CLOCK_CHARS - 3);
}

bool cell_time_like(struct cell_clock *clock, const char *text, struct cell_time *ret)
{
    int64_t ms;
    const char *suffix = clock->day[0] && strncmp(text, clock->day, DAY_CHARS) == 0
                             ? read_clock(text + DAY_CHARS, &ms)
                             : NULL;

    if (suffix && strcmp(suffix, clock->suffix) == 0) {
        *ret = (struct cell_time){ clock->day_ms + ms, clock->is_local };
        return true;
    }
    if (!cell_time(text, ret))
        return false;
    suffix = strlen(text) > DAY_CHARS ? read_clock(text + DAY_CHARS, &ms) : NULL;
    if (suffix && *suffix != '.' && strlen(suffix) < sizeof clock->suffix) {
        memcpy(clock->day, text, DAY_CHARS);
        memcpy(clock->suffix, suffix, strlen(suffix) + 1);
        clock->day_ms = ret->ms - ms;
        clock->is_local = ret->is_local;
    }
    return true;
}

/* 1.234 and 1,234: a thousand and more to some, little over one to others. */
static bool is_group(const char *number, char mark)
{
    size_t digits = count_digits(number);

    return digits >= 1 && digits <= 3 && *number != '0' && number[digits] == mark &&
           count_digits(number + digits + 1) == 3 && strchr(" /", number[digits + 4]);
}

enum cell_point cell_point(const char *text, char delimiter)
{
    char mark = delimiter == ';' ? ',' : '.';

    if (!strchr(text, mark))
        return count_digits(text) > 3 ? CELL_POINT_NEEDLESS : CELL_POINT_NONE;
    return is_group(text, mark) ? CELL_POINT_DOUBTFUL : CELL_POINT_DECIMAL;
}

/* Reads the number before the unit, as text_to_double() does. */
static const char *read_number(char number[NUMBER_CHARS], char delimiter, double *ret)
{
    char *comma = strchr(number, ',');

    if (delimiter == ';' && is_group(number, '.'))
        return "1234, or 1,234 with a comma, as a point may set thousands apart here";
    if (comma && delimiter != ';')
        return "a number with a point and without thousands set apart, like 1234.5";
    if (comma && (strchr(number, '.') || strchr(comma + 1, ',')))
        return "a number without thousands set apart, like 1234,5";
    if (comma)
        *comma = '.';
    if (!text_to_double(number, ret))
        return "a number like 12, 28.5 or 70/min";
    if (*ret < 0)
        return "a number that is not negative";
    return NULL;
}

static bool read_slowly(const char *text, char delimiter, struct packed_row *row,
                        const char **ret_why)
{
    size_t length = strspn(text, "0123456789.,+-eE");
    const char *unit = text + length + strspn(text + length, " ");
    char number[NUMBER_CHARS];
    double seconds;

    *ret_why = "a number like 12, 28.5 or 70/min";
    if (length == 0 || length >= sizeof number || is_digit(*unit) ||
        !column_unit_read(unit, &seconds))
        return false;
    memcpy(number, text, length);
    number[length] = '\0';
    *ret_why = read_number(number, delimiter, &row->value);
    if (*ret_why)
        return false;
    row->kind = seconds > 0 ? PACKED_RATE : PACKED_REAL;
    if (seconds > 0)
        row->value /= seconds;
    else if (row->value == floor(row->value))
        row->kind = PACKED_COUNT;
    if (row->value > INT32_MAX) {
        *ret_why = "at most 2147483647";
        return false;
    }
    return true;
}

bool cell_count(const char *text, char delimiter, struct packed_row *row, const char **ret_why)
{
    int32_t quick = 0;
    size_t digits = 0;

    for (; digits < 9 && is_digit(text[digits]); digits++)
        quick = 10 * quick + text[digits] - '0';
    if (digits > 0 && text[digits] == '\0') {
        row->value = quick;
        row->kind = PACKED_COUNT;
        return true;
    }
    if (delimiter == ';' || !read_plainly(text, &row->value) || row->value > INT32_MAX)
        return read_slowly(text, delimiter, row, ret_why);
    row->kind = row->value == floor(row->value) ? PACKED_COUNT : PACKED_REAL;
    return true;
}

bool cell_class(const char *text, enum demand_class *ret)
{
    for (size_t i = 0; i < COUNT_OF(class_names); i++)
        if (strcasecmp(text, class_names[i].name) == 0) {
            *ret = class_names[i].class;
            return true;
        }
    return false;
}

bool cell_is_void(const char *text)
{
    for (size_t i = 0; i < COUNT_OF(void_names); i++)
        if (strcasecmp(text, void_names[i]) == 0)
            return true;
    return false;
}
