/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests of the day differ from those of the night: if a log has the time of each request,
 * lengths are drawn from those of the same period.  Periods follow each other without a gap.  Each
 * has enough requests for a table of its own and is no shorter than PERIOD_MS: bursts of a few
 * minutes are chance, which a plan for other days may not count on.
 *
 * A period is called by a number.  ENGINE_WHOLE is the table of all lengths: of times outside the
 * log, and of all times where there are no periods.  Closed forms know only that one.
 */
#pragma once

#include "windows/demand/token_pairs.h"
#include "windows/servers/engine.h"

enum {
    ENGINE_WHOLE = 0,
    ENGINE_PERIOD_PAIRS = 1000, /* at least */
    ENGINE_PERIOD_MS = 10 * 60 * 1000,
};

struct engine_period {
    int64_t begin_ms;
    double work;  /* how much longer its prompts or its answers are on average, whichever is more */
    size_t first; /* place in the tables */
    unsigned bits; /* that tell its places */
};

struct engine_periods {
    struct engine_period *items; /* ascending; two at least */
    size_t count;
    int64_t end_ms; /* of the last */
    float *out;     /* of all, one after the other */
    float *in;
    size_t places;
    double work_most;
    double cv_most; /* of answers */
};

/* The table that 16 random bits, moved by `shift`, index. */
struct engine_draw {
    const float *out;
    const float *in;
    unsigned shift;
};

/* Makes periods from pairs with times.  Lengths are relative to the means of the engine, whose own
   tables are complete.  NULL: too few pairs, or too short a time; the engine then has no periods.
   */
struct engine_periods *engine_periods_new(const struct token_pairs *pairs,
                                          const struct engine *engine)
    __attribute__((warn_unused_result));
void engine_periods_free(struct engine_periods *periods);

/* Sorts the pairs by the length of the answer, and fills `places` entries of equal probability from
   them. */
void engine_fill_places(struct token_pair *pairs, size_t count, float *out, float *in,
                        size_t places);

/* The number of the period that a moment (Unix time) is in. */
size_t engine_period_at(const struct engine *engine, int64_t ms);

struct engine_draw engine_draw_of(const struct engine *engine, size_t period);

/* How much longer the period's requests are than those of the whole table: prompts or answers, the
   greater ratio, so that results are never too small. 1 for ENGINE_WHOLE. */
double engine_period_work(const struct engine *engine, size_t period);

/* The most of any period, and the most spread of answers; the whole table's at least. */
double engine_work_most(const struct engine *engine);
double engine_cv_most(const struct engine *engine);

/* The caller frees it. */
struct engine *engine_copy(const struct engine *engine)
    __attribute__((returns_nonnull, warn_unused_result));
void engine_free(struct engine *engine);
