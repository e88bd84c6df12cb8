/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See token_columns.h.
 */
#include "windows/demand/token_columns.h"

#include "base/text.h"
#include "base/timestamp.h"
#include "windows/demand/cells.h"

#include <math.h>

/* As csv_plain_name() writes them, and as people do. */
static const struct trace {
    const char *plain[2]; /* of a prompt's column, and its answer's */
    const char *names[2];
    int64_t elapsed_ms;
} traces[] = {
    { { "inputtokens", "outputtokens" }, { "input_tokens", "output_tokens" }, 0 },
    { { "contexttokens", "generatedtokens" }, { "ContextTokens", "GeneratedTokens" }, 0 },
    { { "requesttokens", "responsetokens" }, { "Request tokens", "Response tokens" }, SECOND_MS },
    { { "inputlength", "outputlength" }, { "input_length", "output_length" }, 1 },
    { { "prompttokens", "completiontokens" }, { "prompt_tokens", "completion_tokens" }, 0 },
};

enum { PROMPT, ANSWER };

/* The trace with such a column; NULL: none has. */
static const struct trace *trace_of(const char *field, int side)
{
    char plain[CSV_NAME_CHARS];

    for (size_t i = 0; csv_plain_name(field, plain) && i < COUNT_OF(traces); i++)
        if (text_equal(traces[i].plain[side], plain))
            return &traces[i];
    return NULL;
}

static int find_side(const struct csv *header, int side, int *ret, struct error *err)
{
    *ret = -1;
    for (size_t i = 0; i < header->columns; i++) {
        if (!trace_of(header->fields[i], side))
            continue;
        if (*ret >= 0)
            return csv_error(header, header->line, err, "the columns %s and %s may both be meant",
                             header->fields[*ret], header->fields[i]);
        *ret = (int)i;
    }
    return 0;
}

int token_columns_find(struct token_columns *columns, const struct csv *header, struct error *err)
{
    const struct trace *in;
    const struct trace *out;

    *columns = (struct token_columns){ -1, -1, 0 };
    if (find_side(header, PROMPT, &columns->in, err) < 0 ||
        find_side(header, ANSWER, &columns->out, err) < 0)
        return -1;
    in = columns->in >= 0 ? trace_of(header->fields[columns->in], PROMPT) : NULL;
    out = columns->out >= 0 ? trace_of(header->fields[columns->out], ANSWER) : NULL;
    columns->elapsed_ms = in && in == out ? in->elapsed_ms : 0;
    return 0;
}

const char *token_columns_other(const struct token_columns *columns, const struct csv *header)
{
    bool has_in = columns->in >= 0;
    int there = has_in ? columns->in : columns->out;
    const struct trace *trace = there >= 0
                                    ? trace_of(header->fields[there], has_in ? PROMPT : ANSWER)
                                    : NULL;

    return (trace ? trace : traces)->names[has_in ? ANSWER : PROMPT];
}

/* Tokens, of means the nearest whole number; -1 and an error: the cell has none. */
static double read_cell(const struct csv *row, int column, const char *what, bool of_many,
                        struct error *err)
{
    const char *text = row->fields[column];
    double found;

    if (!cell_number(text, &found) || found < 0 || found > TOKENS_MAX ||
        (!of_many && found != floor(found))) {
        csv_error(row, row->line, err,
                  "%s: expected a %snumber of tokens, 0 to %d, found \"%.80s\"", what,
                  of_many ? "" : "whole ", TOKENS_MAX, text);
        return -1;
    }
    return floor(found + 0.5);
}

int token_columns_read(const struct token_columns *columns, const struct csv *row, bool of_many,
                       struct token_pair *ret, struct error *err)
{
    double in = 0;
    double out = 0;
    bool has_in = !cell_is_void(row->fields[columns->in]);
    bool has_out = !cell_is_void(row->fields[columns->out]);

    if (has_in)
        in = read_cell(row, columns->in, "input tokens", of_many, err);
    if (in >= 0 && has_out)
        out = read_cell(row, columns->out, "output tokens", of_many, err);
    if (in < 0 || out < 0)
        return -1;
    *ret = (struct token_pair){ (float)in, (float)out, 1 };
    return has_in && has_out && out >= 1;
}
