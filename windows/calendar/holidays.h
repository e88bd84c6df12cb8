/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Public holidays: rules of a country as a plain text file, and the days that follow from them.
 * The files stand in windows/holidays/, named by the country's two letters (ISO 3166), and are part
 * of the program.  One rule a line, `RULE [years=..] [observed=..|moved=..] NAME`, the name in
 * English; # begins a comment line:
 *
 *     12-25                    the same date each year
 *     12-25..12-26             each day of a range, at most 31 days
 *     2022-06-03               one day; 2022-06-02..2022-06-03
 *     11-thu-4, 05-mon-last    the fourth Thursday of November, the last Monday of May
 *     easter-2, easter+39      days from Easter Sunday (western churches)
 *     years=1986-, years=-2013, years=1990-1994,1996,2000-
 *     observed=nearest         if on a Saturday, Friday is one too; on a Sunday, Monday
 *     observed=next            if at a weekend, the next weekday without a holiday is one too
 *     moved=sun-1              if on a Sunday, it is the day before instead
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { HOLIDAYS_FIRST_YEAR = 1990, HOLIDAYS_LAST_YEAR = 2050 };

struct public_holiday {
    int64_t day; /* as civil_day() counts */
    char *name;
};

struct public_holidays {
    ARRAY(struct public_holiday) list; /* in the order of time, each day once */
};

/* A file of rules. */
struct holiday_file {
    const char *country; /* names it in errors */
    const unsigned char *bytes;
    size_t size;
};

/* Those of the program; ends with an entry without a country. */
extern const struct holiday_file holiday_files[];

struct holiday_years { /* both included */
    int first;
    int last;
};

/* All days of these years by the rules of the file. */
int holidays_read(const struct holiday_file *file, struct holiday_years years,
                  struct public_holidays *out, struct error *err)
    __attribute__((warn_unused_result));

/* The same by a country's file, from HOLIDAYS_FIRST_YEAR to HOLIDAYS_LAST_YEAR.  ERROR_NOT_FOUND
   names the countries that there are. */
int holidays_of_country(const char *country, struct public_holidays *out, struct error *err)
    __attribute__((warn_unused_result));

void holidays_clear(struct public_holidays *holidays);

/* The name, or NULL. */
const char *holidays_name(const struct public_holidays *holidays, int64_t day);

static inline void owned_holidays(struct public_holidays *holidays)
{
    holidays_clear(holidays);
}
