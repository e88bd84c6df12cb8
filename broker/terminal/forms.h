/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forms of an answer that programs read: JSON, YAML, CSV and names, all of the same JSON.
 */
#pragma once

#include "base/input/options.h"
#include "base/text.h"

#include <jansson.h>

/* The list of an answer, and the member that commands take as an argument. */
struct answer_rows {
    const char *list; /* "transfers" */
    const char *name; /* "id" */
};

/* The options of commands whose answer is a list: rows for an array of struct command_option. */
/* clang-format off */
#define ROWS_OPTIONS                                                                               \
    { "output", 'o', "table|json|yaml|csv|name",                                                   \
      "the form of the answer (default table); name: one for each line", false },                  \
    { "no-headers", 0, NULL, "leave out the first line of a table or of CSV", false }
/* clang-format on */

/* Prints the answer on standard output in the form of --output; false: that is a table. */
bool forms_print(const struct command_call *call, const json_t *answer,
                 const struct answer_rows *rows);

/* Prints a table that begins with its titles, without them if --no-headers asks for that. */
void forms_print_table(const struct command_call *call, const struct text *table);

/* RFC 4180: the columns are the members of all rows but lists and objects, in the order in which
   they first appear; a missing member and null are empty. */
void rows_csv(const json_t *list, bool has_titles, struct text *out);

/* One cell of it, with quotes where they are needed. */
void csv_add(struct text *out, const char *cell);
