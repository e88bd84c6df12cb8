/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forms of an answer that programs read: JSON, YAML, CSV and names, all of the same JSON.
 */
#pragma once

#include "base/input/options.h"
#include "base/text.h"
#include "broker/terminal/table.h"

#include <jansson.h>

/* The list of an answer, and the member that commands take as an argument. */
struct answer_rows {
    const char *list; /* "transfers" */
    const char *name; /* "id" */
};

/* The options of commands whose answer is a list: rows for an array of struct command_option. */
/* clang-format off */
#define ROWS_OPTIONS                                                                               \
    { "output", 'o', "table|wide|json|yaml|csv|name",                                              \
      "the form of the answer (default table); wide: more columns; name: one for each line",       \
      false },                                                                                     \
    { "no-headers", 0, NULL, "leave out the first line of a table or of CSV", false }

/* The same for commands whose table is a page of several tables and sentences. */
#define PAGE_TITLES_OPTION                                                                         \
    { "no-headers", 0, NULL, "leave out the titles of tables and of CSV", false }
/* clang-format on */

/* Prints the answer on standard output in the form of --output; false: that is a table. */
bool forms_print(const struct command_call *call, const json_t *answer,
                 const struct answer_rows *rows);

/* A column that a table has only with -o wide: the member of each row, a path of json_at(). */
struct wide_column {
    const char *title; /* NULL: there are no more */
    const char *member;
};

/* A table of these titles; a wide one also has these columns, before the last one. */
struct table *forms_table(bool is_wide, const char *const *titles,
                          const struct wide_column *columns)
    __attribute__((returns_nonnull, warn_unused_result));

/* Fills the cells of those columns; the last cell of the row comes after them. */
void forms_wide_cells(bool is_wide, struct table *table, const json_t *row,
                      const struct wide_column *columns);

/* Whether --output asks for a table, wide or not. */
bool forms_is_table(const struct command_call *call);

/* Whether --output asks for wide tables. */
bool forms_is_wide(const struct command_call *call);

/* How --output and --no-headers want the tables of a page. */
struct table_style forms_style(const struct command_call *call);

/* Prints a table that begins with its titles, without them if --no-headers asks for that. */
void forms_print_table(const struct command_call *call, const struct text *table);

/* RFC 4180: the columns are the members of all rows but lists and objects, in the order in which
   they first appear; a missing member and null are empty. */
void rows_csv(const json_t *list, bool has_titles, struct text *out);

/* One cell of it, with quotes where they are needed. */
void csv_add(struct text *out, const char *cell);
