/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Engines as a snapshot measured them: a table beside its demand, a row a queue, with the columns
 * queue, iteration_s, iteration_per_request_s, prefill_per_token_s, tokens_in, tokens_out,
 * tokens_cv.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

struct engine_measure {
    double iteration_s;
    double per_request_s;
    double prefill_s;  /* 0: a part of the others */
    double tokens_in;  /* computed ones of a prompt; 0: not known, with prefill_s 0 */
    double tokens_out; /* 1 at least */
    double tokens_cv;
};

struct engine_table {
    struct engine_row {
        char *queue;
        struct engine_measure measure;
    } * rows;
    size_t count;
};

/* Errors name the file and the line: a number that no engine has is refused. */
struct engine_table *engine_table_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));
void engine_table_free(struct engine_table *table);

/* NULL if the table has no row for the queue, or there is no table. */
const struct engine_measure *engine_table_find(const struct engine_table *table, const char *queue);

/* "last-week.csv.gz" has its table in "last-week.engine.csv"; the caller frees it. */
char *engine_table_path(const char *demand) __attribute__((returns_nonnull, warn_unused_result));

/* The header, and the row of one queue, with all the digits that matter. */
void engine_table_begin(struct text *out);
void engine_table_add(struct text *out, const char *queue, const struct engine_measure *measure);

static inline void owned_engine_table(struct engine_table **table)
{
    engine_table_free(*table);
}
