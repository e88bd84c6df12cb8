/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecasts of `sluice` for one queue and its plans from them, week by week or night by night:
 * a part of a queue's data (field.h).
 *
 * A plan is searched exactly for the level that is asked for.  For the others, which only draw the
 * frontier, that number is multiplied by what the closed form asks for more or less.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"

#include <stddef.h>

struct course_span;
struct field;

/* Shares of misses that a whole plan may have, from the boldest to the safest.  They include the
   shares that plans for 95 and 98 % use (forecast_share.h). */
#define OUTLOOK_LEVELS                                                                             \
    {                                                                                              \
        0.3, 0.2, 0.15, 0.12, 0.1, 0.085, 0.07, 0.06, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.012, \
            0.01, 0.0075, 0.005                                                                    \
    }
enum { OUTLOOK_LEVEL_COUNT = 18 };

enum outlook_kind {
    OUTLOOK_WEEKLY,  /* one number for all days of a window in a week */
    OUTLOOK_NIGHTLY, /* one for each */
    OUTLOOK_FOLLOW,  /* the same, looked at again shortly before its window begins, and each hour
                        while it is in force */
    OUTLOOKS
};

struct outlook {
    enum outlook_kind kind;
    size_t chosen;  /* the level that is asked for */
    double *bounds; /* [span * SHARES + share], in closed form (windows/forecast/shares.h); 0:
                       unknown */
    double *shared; /* the same, for distributing misses: `bounds` itself, except that a revised
                       window has only its own bound new */
    double *alike;  /* [span]: the correlation of the errors of one day's windows, as known then */
    size_t *looks;  /* [span]: its first one in `again`, for each hour after the span has begun;
                       NULL: there are none */
    double *again;  /* [look * SHARES + share]: the bounds as they are known then; 0: unknown */
    size_t *shares; /* [level * spans + span]: the share of `bounds` that is planned for; with
                       `looks` */
    double *wanted; /* [level * spans + span]: those of them that are planned for */
    int *numbers;   /* [span]: exactly, at the chosen level */
};

void outlook_init(struct outlook *outlook, const struct field *field, enum outlook_kind kind);
void outlook_clear(struct outlook *outlook);

/* The greatest level that is at most this; the last one if all are. */
size_t outlook_level(double misses);

/* The level of plans that may miss so many days. */
size_t outlook_chosen(enum outlook_kind kind, double misses);

/* The moment at which a span's number is set: its week's midnight, its day's, or `follow_ms` before
   it begins. */
struct wall_time outlook_made(enum outlook_kind kind, const struct field *field,
                              const struct course_span *span);

/* Sets all bounds. */
void outlook_foretell(struct outlook *outlook, const struct field *field);

/* Sets one week's numbers, once the wanted levels are known (allotment.h). */
int outlook_search(struct outlook *outlook, const struct field *field, size_t week,
                   struct error *err) __attribute__((warn_unused_result));

/* Servers of a span. */
int outlook_number(const struct outlook *outlook, const struct field *field, size_t level,
                   size_t span);

/* How often a span is looked at again. */
size_t outlook_looks(const struct outlook *outlook, size_t span);

/* When that happens for the time `look`, from 0 on. */
struct wall_time outlook_look_made(const struct course_span *span, size_t look);

/* The first slot of the course that has what is decided then: nodes take their time. */
size_t outlook_look_slot(const struct field *field, const struct course_span *span, size_t look);

/* Servers of a span's rest from then on. */
int outlook_number_again(const struct outlook *outlook, const struct field *field, size_t level,
                         size_t span, size_t look);
