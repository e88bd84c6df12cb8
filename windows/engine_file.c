/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Measured lengths from a file.  Names of columns are those of public traces (Azure LLM inference,
 * BurstGPT, Mooncake) and of the engines' own logs.
 */
#include "base/file.h"
#include "base/text.h"
#include "windows/csv.h"
#include "windows/engine_lengths.h"

#include <math.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 30 };

/* A prompt's column and its answer's, one trace a line. */
static const char *const in_names[] = { "input_tokens", "ContextTokens", "Request tokens",
                                        "input_length", "prompt_tokens" };
static const char *const out_names[] = { "output_tokens", "GeneratedTokens", "Response tokens",
                                         "output_length", "completion_tokens" };
static const char *const queue_names[] = { "queue", "model" };

struct token_columns {
    int in;
    int out;
    int queue; /* -1: all rows are of one queue */
};

/* The one column with one of these names; -1: none; -2 and an error: several. */
static int find_column(const struct csv *csv, const char *const *names, size_t count,
                       struct error *err)
{
    int found = -1;

    for (size_t i = 0; i < count; i++) {
        int at = csv_column(csv, names[i]);

        if (at >= 0 && found >= 0) {
            csv_error(csv, csv->line, err, "the columns %s and %s may both be meant",
                      csv->fields[found], csv->fields[at]);
            return -2;
        }
        found = at >= 0 ? at : found;
    }
    return found;
}

static int find_columns(struct token_columns *columns, const struct csv *csv, struct error *err)
{
    columns->in = find_column(csv, in_names, COUNT_OF(in_names), err);
    columns->out = find_column(csv, out_names, COUNT_OF(out_names), err);
    columns->queue = find_column(csv, queue_names, COUNT_OF(queue_names), err);
    if (columns->in == -2 || columns->out == -2 || columns->queue == -2)
        return -1;
    if (columns->in < 0 || columns->out < 0)
        return csv_error(csv, csv->line, err,
                         "no column of %s tokens: expected one named %s, as in input_tokens and "
                         "output_tokens, ContextTokens and GeneratedTokens",
                         columns->in < 0 ? "input" : "output",
                         columns->in < 0 ? in_names[0] : out_names[0]);
    return 0;
}

static int read_tokens(const struct csv *csv, int column, const char *name, float *ret,
                       struct error *err)
{
    double tokens;

    if (!text_to_double(csv->fields[column], &tokens) || tokens != floor(tokens) || tokens < 0 ||
        tokens > ENGINE_TOKENS_MAX)
        return csv_error(csv, csv->line, err,
                         "%s: expected a whole number of tokens, 0 to %d, found \"%.80s\"", name,
                         ENGINE_TOKENS_MAX, csv->fields[column]);
    *ret = (float)tokens;
    return 0;
}

/* 1: a row; 0: the end; -1: an error. */
static int read_row(struct token_pairs *pairs, struct csv *csv, const struct token_columns *columns,
                    const char *queue, struct error *err)
{
    struct token_pair pair;
    int more = csv_next(csv, err);

    if (more != 1)
        return more;
    if (columns->queue >= 0 && !text_equal(csv->fields[columns->queue], queue))
        return 1;
    if (read_tokens(csv, columns->in, "input tokens", &pair.in, err) < 0 ||
        read_tokens(csv, columns->out, "output tokens", &pair.out, err) < 0)
        return -1;
    if (pair.out < 1)
        pairs->unanswered++;
    else
        *array_add(&pairs->list) = pair;
    return 1;
}

int token_pairs_read(struct token_pairs *pairs, const char *path, const char *queue,
                     struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, FILE_LIMIT, err);
    struct token_columns columns;
    struct csv csv;
    int more = 1;

    *pairs = (struct token_pairs){ 0 };
    if (!bytes || csv_open(&csv, bytes->chars, bytes->length, path, err) < 0 ||
        find_columns(&columns, &csv, err) < 0)
        return -1;
    while (more == 1)
        more = read_row(pairs, &csv, &columns, queue, err);
    if (more == 0 && csv.is_cut)
        more = csv_error(&csv, csv.line, err,
                         "the last line has no line end: the file may have been cut");
    if (more == 0 && pairs->list.count < ENGINE_PAIRS_MIN)
        more = error_set(err, ERROR_INVALID,
                         "%s: %zu requests%s%s with an answer, and %d are needed", path,
                         pairs->list.count, columns.queue >= 0 ? " of " : "",
                         columns.queue >= 0 ? queue : "", ENGINE_PAIRS_MIN);
    if (more < 0)
        token_pairs_clear(pairs);
    return more;
}
