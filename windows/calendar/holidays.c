/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A line is read once and asked for each year; what is observed on another day is found when all
 * days themselves are known.
 */
#include "windows/calendar/holidays.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "windows/calendar/window.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 256, RANGE_DAYS = 31, YEARS_MAX = 16, WEEK_DAYS = 7, LAST = -1 };
enum { SATURDAY = 5, SUNDAY = 6 };

enum observed { OBSERVED_ITSELF, OBSERVED_NEAREST, OBSERVED_NEXT, OBSERVED_MOVED };

struct date {
    int year; /* 0: each */
    int month;
    int day;
};

enum rule_kind { RULE_DATES, RULE_WEEKDAY, RULE_EASTER };

struct rule {
    enum rule_kind kind;
    struct date first;
    struct date last;
    int month;
    int weekday;
    int nth;    /* of the month, or LAST */
    int offset; /* days from Easter */
    struct {
        int from;
        int to;
    } years[YEARS_MAX];
    size_t year_count; /* 0: all */
    enum observed observed;
    const char *name;
};

/* What is being read, for errors. */
struct reader {
    const char *source;
    int line;
    struct error *err;
};

static int fail(const struct reader *reader, const char *expected, const char *found)
{
    return error_set(reader->err, ERROR_INVALID, "%s:%d: expected %s, found \"%s\"", reader->source,
                     reader->line, expected, found);
}

void holidays_clear(struct public_holidays *holidays)
{
    for (size_t i = 0; i < holidays->list.count; i++)
        mem_free(holidays->list.items[i].name);
    array_clear(&holidays->list);
}

/* Digits alone, `count` of them. */
static bool read_digits(const char *chars, size_t count, int *ret)
{
    *ret = 0;
    for (size_t i = 0; i < count; i++) {
        if (chars[i] < '0' || chars[i] > '9')
            return false;
        *ret = *ret * 10 + (chars[i] - '0');
    }
    return true;
}

static bool is_date(const struct date *date)
{
    int year = date->year > 0 ? date->year : 2000; /* a leap year */
    struct civil_date back = civil_date_of_day(civil_day(year, date->month, date->day));

    return date->month >= 1 && date->month <= 12 && back.month == date->month &&
           back.day == date->day;
}

/* "12-25" or "2026-12-25" */
static bool read_date(const char *chars, size_t length, struct date *ret)
{
    const char *of_month = length == 10 ? chars + 5 : chars;

    *ret = (struct date){ 0 };
    if (length == 10 && (!read_digits(chars, 4, &ret->year) || chars[4] != '-' || ret->year < 1970))
        return false;
    return (length == 5 || length == 10) && read_digits(of_month, 2, &ret->month) &&
           of_month[2] == '-' && read_digits(of_month + 3, 2, &ret->day) && is_date(ret);
}

static bool read_dates(const char *word, struct rule *rule)
{
    const char *dots = strstr(word, "..");

    if (!read_date(word, dots ? (size_t)(dots - word) : strlen(word), &rule->first))
        return false;
    rule->last = rule->first;
    return !dots || (read_date(dots + 2, strlen(dots + 2), &rule->last) &&
                     (rule->first.year > 0) == (rule->last.year > 0));
}

/* "11-thu-4", "05-mon-last" */
static bool read_weekday(const char *word, struct rule *rule)
{
    if (strlen(word) < 8 || !read_digits(word, 2, &rule->month) || word[2] != '-' || word[6] != '-')
        return false;
    rule->kind = RULE_WEEKDAY;
    rule->weekday = window_day_named(word + 3, 3);
    rule->nth = text_equal(word + 7, "last") ? LAST : word[7] - '0';
    return rule->month >= 1 && rule->month <= 12 && rule->weekday >= 0 &&
           (rule->nth == LAST || (word[8] == '\0' && rule->nth >= 1 && rule->nth <= 4));
}

/* "easter+39" */
static bool read_easter(const char *word, struct rule *rule)
{
    size_t length = strlen("easter");

    if (strncmp(word, "easter", length) != 0 || (word[length] != '+' && word[length] != '-') ||
        strlen(word + length) < 2 || strlen(word + length) > 4 ||
        !read_digits(word + length + 1, strlen(word + length + 1), &rule->offset))
        return false;
    rule->kind = RULE_EASTER;
    rule->offset *= word[length] == '-' ? -1 : 1;
    return true;
}

/* "1986-", "-2013", "1990-1994,1996" */
static bool read_years(const char *chars, struct rule *rule)
{
    while (rule->year_count < YEARS_MAX) {
        size_t length = strcspn(chars, ",");
        int *from = &rule->years[rule->year_count].from;
        int *to = &rule->years[rule->year_count++].to;

        *from = 0;
        *to = 9999;
        if (length == 4 ? !read_digits(chars, 4, from) : length != 5 && length != 9)
            return false;
        if (length == 4)
            *to = *from;
        else if (chars[0] == '-' ? length != 5 || !read_digits(chars + 1, 4, to)
                                 : !read_digits(chars, 4, from) || chars[4] != '-' ||
                                       (length == 9 && !read_digits(chars + 5, 4, to)))
            return false;
        if (chars[length] == '\0')
            return *from <= *to;
        chars += length + 1;
    }
    return false;
}

static int read_option(const struct reader *reader, const char *word, struct rule *rule)
{
    static const struct {
        const char *word;
        enum observed observed;
    } words[] = { { "observed=nearest", OBSERVED_NEAREST },
                  { "observed=next", OBSERVED_NEXT },
                  { "moved=sun-1", OBSERVED_MOVED } };

    if (strncmp(word, "years=", strlen("years=")) == 0)
        return read_years(word + strlen("years="), rule)
                   ? 0
                   : fail(reader, "years like 1990-1994,1996,2000-", word);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text_equal(word, words[i].word)) {
            rule->observed = words[i].observed;
            return 0;
        }
    return fail(reader, "years=, observed=nearest, observed=next or moved=sun-1", word);
}

/* Cuts the first word off, and leaves *rest at the next one. */
static char *take_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    char *end = word + strcspn(word, " \t");

    *rest = end + strspn(end, " \t");
    *end = '\0';
    return word;
}

static int read_rule(const struct reader *reader, char *line, struct rule *rule)
{
    char *rest = line;
    const char *word = take_word(&rest);

    *rule = (struct rule){ 0 };
    if (!read_easter(word, rule) && !read_weekday(word, rule)) {
        rule->kind = RULE_DATES;
        if (!read_dates(word, rule))
            return fail(reader, "a date (12-25), a weekday (11-thu-4) or easter+1", word);
    }
    while (strchr(rest, '=') && strcspn(rest, "=") < strcspn(rest, " \t"))
        if (read_option(reader, take_word(&rest), rule) < 0)
            return -1;
    rule->name = rest;
    return rest[0] ? 0 : fail(reader, "the holiday's name at the end of the line", "");
}

/* The Gregorian computus (Meeus, Jones and Butcher). */
static int64_t easter(int year)
{
    int a = year % 19;
    int b = year / 100;
    int c = year % 100;
    int h = (19 * a + b - b / 4 - (b - (b + 8) / 25 + 1) / 3 + 15) % 30;
    int l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    int m = (a + 11 * h + 22 * l) / 451;
    int n = h + l - 7 * m + 114;

    return civil_day(year, n / 31, n % 31 + 1);
}

static int64_t nth_weekday(const struct rule *rule, int year)
{
    int64_t first = civil_day(year, rule->month, 1);
    int64_t day = first + (rule->weekday - civil_weekday(first) + WEEK_DAYS) % WEEK_DAYS;

    if (rule->nth != LAST)
        return day + (int64_t)(rule->nth - 1) * WEEK_DAYS;
    while (civil_date_of_day(day + WEEK_DAYS).month == rule->month)
        day += WEEK_DAYS;
    return day;
}

static bool is_in_years(const struct rule *rule, int year)
{
    bool is_in = rule->year_count == 0;

    for (size_t i = 0; i < rule->year_count; i++)
        is_in = is_in || (year >= rule->years[i].from && year <= rule->years[i].to);
    return is_in && (rule->kind != RULE_DATES || rule->first.year == 0 || rule->first.year == year);
}

/* The first and last day of a rule in a year; false: it has none (29 February). */
static bool days_of(const struct rule *rule, int year, int64_t *ret_first, int64_t *ret_last)
{
    struct date first = rule->first;
    struct date last = rule->last;

    if (rule->kind != RULE_DATES) {
        *ret_first = rule->kind == RULE_EASTER ? easter(year) + rule->offset
                                               : nth_weekday(rule, year);
        *ret_last = *ret_first;
        return true;
    }
    first.year = first.year > 0 ? first.year : year;
    last.year = last.year > 0 ? last.year : year;
    *ret_first = civil_day(first.year, first.month, first.day);
    *ret_last = civil_day(last.year, last.month, last.day);
    if (*ret_last < *ret_first) /* over the end of the year */
        *ret_last = civil_day(last.year + 1, last.month, last.day);
    return is_date(&first) && is_date(&last) && *ret_last - *ret_first < RANGE_DAYS;
}

static bool has_day(const struct public_holidays *holidays, int64_t day)
{
    for (size_t i = 0; i < holidays->list.count; i++)
        if (holidays->list.items[i].day == day)
            return true;
    return false;
}

static void add_day(struct public_holidays *out, int64_t day, const char *name, const char *suffix)
{
    struct public_holiday *item;

    if (has_day(out, day))
        return;
    item = array_add(&out->list);
    item->day = day;
    item->name = text_format("%s%s", name, suffix);
}

/* A day on which others are observed too, kept until all days are known. */
struct waiting {
    int64_t day;
    const char *name;
    enum observed observed;
};

struct waiting_list {
    ARRAY(struct waiting) list;
};

static int compare_waiting(const void *left, const void *right)
{
    const struct waiting *a = left;
    const struct waiting *b = right;

    return (a->day > b->day) - (a->day < b->day);
}

static int compare_days(const void *left, const void *right)
{
    const struct public_holiday *a = left;
    const struct public_holiday *b = right;

    return (a->day > b->day) - (a->day < b->day);
}

static void add_rule(const struct rule *rule, int year, struct public_holidays *out,
                     struct waiting_list *waiting)
{
    int64_t first;
    int64_t last;

    if (!is_in_years(rule, year) || !days_of(rule, year, &first, &last))
        return;
    for (int64_t day = first; day <= last; day++) {
        int weekday = civil_weekday(day);

        add_day(out, rule->observed == OBSERVED_MOVED && weekday == SUNDAY ? day - 1 : day,
                rule->name, "");
        if (weekday >= SATURDAY &&
            (rule->observed == OBSERVED_NEAREST || rule->observed == OBSERVED_NEXT))
            *array_add(&waiting->list) = (struct waiting){ day, rule->name, rule->observed };
    }
}

static void add_observed(const struct waiting *waiting, struct public_holidays *out)
{
    int64_t day = waiting->day;

    if (waiting->observed == OBSERVED_NEAREST) {
        day += civil_weekday(day) == SATURDAY ? -1 : 1;
    } else {
        while (civil_weekday(day) >= SATURDAY || has_day(out, day))
            day++;
    }
    add_day(out, day, waiting->name, " (observed)");
}

static void expand(const struct rule *rules, size_t count, struct holiday_years years,
                   struct public_holidays *out)
{
    struct waiting_list waiting = { 0 };

    for (int year = years.first; year <= years.last; year++)
        for (size_t i = 0; i < count; i++)
            add_rule(&rules[i], year, out, &waiting);
    if (waiting.list.count > 0)
        qsort(waiting.list.items, waiting.list.count, sizeof *waiting.list.items, compare_waiting);
    for (size_t i = 0; i < waiting.list.count; i++)
        add_observed(&waiting.list.items[i], out);
    array_clear(&waiting.list);
    if (out->list.count > 0)
        qsort(out->list.items, out->list.count, sizeof *out->list.items, compare_days);
}

int holidays_read(const struct holiday_file *file, struct holiday_years years,
                  struct public_holidays *out, struct error *err)
{
    owned(chars) char *copy = text_format("%.*s", (int)file->size, (const char *)file->bytes);
    struct reader reader = { file->country, 0, err };
    ARRAY(struct rule) rules = { 0 };
    int result = 0;

    for (char *line = copy, *next; line && result == 0; line = next) {
        struct rule rule;
        char *end = strchr(line, '\n');

        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        reader.line++;
        line[strcspn(line, "\r")] = '\0';
        if (line[strspn(line, " \t")] == '\0' || line[0] == '#')
            continue;
        result = read_rule(&reader, line, &rule);
        if (result == 0)
            *array_add(&rules) = rule;
    }
    if (result == 0)
        expand(rules.items, rules.count, years, out);
    array_clear(&rules);
    return result;
}

int holidays_of_country(const char *country, struct public_holidays *out, struct error *err)
{
    char known[LINE_SIZE] = "";

    for (const struct holiday_file *file = holiday_files; file->country; file++) {
        size_t length = strlen(known);

        if (text_equal(file->country, country))
            return holidays_read(
                file, (struct holiday_years){ HOLIDAYS_FIRST_YEAR, HOLIDAYS_LAST_YEAR }, out, err);
        text_print(known + length, sizeof known - length, "%s%s", length > 0 ? ", " : "",
                   file->country);
    }
    return error_set(err, ERROR_NOT_FOUND, "there are no holidays of \"%s\"; known countries: %s",
                     country, known);
}

const char *holidays_name(const struct public_holidays *holidays, int64_t day)
{
    for (size_t i = 0; i < holidays->list.count; i++)
        if (holidays->list.items[i].day == day)
            return holidays->list.items[i].name;
    return NULL;
}
