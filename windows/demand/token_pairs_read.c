/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pairs of tokens from a file.
 */
#include "base/file.h"
#include "base/text.h"
#include "windows/demand/columns.h"
#include "windows/demand/token_columns.h"
#include "windows/demand/token_pairs.h"

enum { FILE_LIMIT = 1 << 30 };

struct reader {
    struct csv csv;
    struct token_columns columns;
    int queue_at;      /* the column of queues; -1: all rows are of one */
    const char *queue; /* whose rows count */
};

static int find_columns(struct token_columns *columns, const struct csv *csv, struct error *err)
{
    if (token_columns_find(columns, csv, err) < 0)
        return -1;
    if (columns->in < 0 || columns->out < 0)
        return csv_error(csv, csv->line, err,
                         "no column of %s tokens: expected one named %s, as in input_tokens and "
                         "output_tokens, ContextTokens and GeneratedTokens",
                         columns->in < 0 ? "input" : "output", token_columns_other(columns, csv));
    return 0;
}

/* 1: a row; 0: the end; -1: an error. */
static int read_row(struct reader *reader, struct token_pairs *pairs, struct error *err)
{
    struct csv *csv = &reader->csv;
    struct token_pair pair;
    int more = csv_next(csv, err);

    if (more != 1)
        return more;
    if (reader->queue_at >= 0 && !text_equal(csv->fields[reader->queue_at], reader->queue))
        return 1;
    more = token_columns_read(&reader->columns, csv, false, &pair, err);
    if (more < 0)
        return -1;
    if (more == 0) {
        pairs->unanswered++;
    } else {
        *array_add(&pairs->list) = pair;
        pairs->requests++;
    }
    return 1;
}

int token_pairs_read(struct token_pairs *pairs, const char *path, const char *queue,
                     struct error *err)
{
    owned(text) struct text *bytes = file_read_unpacked(path, FILE_LIMIT, err);
    struct reader reader = { .queue = queue };
    struct csv *csv = &reader.csv;
    int more = 1;

    *pairs = (struct token_pairs){ 0 };
    if (!bytes || csv_open(csv, bytes->chars, bytes->length, path, err) < 0 ||
        find_columns(&reader.columns, csv, err) < 0)
        return -1;
    reader.queue_at = columns_queue_of_tokens(csv);
    while (more == 1)
        more = read_row(&reader, pairs, err);
    if (more == 0 && csv->is_cut)
        more = csv_error(csv, csv->line, err,
                         "the last line has no line end: the file may have been cut");
    if (more == 0)
        more = token_pairs_check(pairs, path, reader.queue_at >= 0 ? queue : NULL, err);
    if (more < 0)
        token_pairs_clear(pairs);
    return more;
}
