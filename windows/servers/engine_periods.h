/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requests of the day are others than those of the night: where a log tells when each came, lengths
 * are drawn from those of their time.  Periods follow each other without a gap.  Each has enough
 * requests for a table of its own and is no shorter than PERIOD_MS: bursts of a few minutes are
 * chance, which a plan for other days may not count on.
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

/* What 16 random bits, moved by `shift`, are a place of. */
struct engine_draw {
    const float *out;
    const float *in;
    unsigned shift;
};

/* Of pairs with times.  Lengths are compared to the means of the engine, whose own tables are
   complete.  NULL: too few, or of too short a time; the engine has then none. */
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

/* How much longer than those of the whole table the period's requests are: of the longer side, so
   that what follows from it is never too little.  1 of ENGINE_WHOLE. */
double engine_period_work(const struct engine *engine, size_t period);

/* The most of any period, and the most spread of answers; the whole table's at least. */
double engine_work_most(const struct engine *engine);
double engine_cv_most(const struct engine *engine);

/* The caller frees it. */
struct engine *engine_copy(const struct engine *engine)
    __attribute__((returns_nonnull, warn_unused_result));
void engine_free(struct engine *engine);
