/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a table that hold a request's tokens, by the names that public traces (Azure LLM
 * inference, BurstGPT, Mooncake) and the logs of engines give them.  Pure functions of a row.
 */
#pragma once

#include "windows/demand/csv.h"
#include "windows/demand/token_pairs.h"

struct token_columns {
    int in;             /* of prompts; -1: none */
    int out;            /* of answers; -1: none */
    int64_t elapsed_ms; /* the unit of relative times in such traces; 0: they have dates, or their
                           units differ */
};

/* Finds the columns from the header, which is in header->fields.  ERROR_INVALID: several that may
   be the one. */
int token_columns_find(struct token_columns *columns, const struct csv *header, struct error *err)
    __attribute__((warn_unused_result));

/* The name that a trace with the one column given gives to the one that is not there. */
const char *token_columns_other(const struct token_columns *columns, const struct csv *header);

/* 1: ret has the tokens of the row, with a count of 1; 0: a length is missing, or the request got
   no answer; -1: an error with file and line.  of_many: the lengths are means, maybe fractions. */
int token_columns_read(const struct token_columns *columns, const struct csv *row, bool of_many,
                       struct token_pair *ret, struct error *err)
    __attribute__((warn_unused_result));
