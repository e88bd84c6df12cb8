/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables for people: columns as wide as their widest cell, numbers to the right.
 */
#pragma once

#include "base/text.h"

#include <stdbool.h>

struct table;

/* Titles end with NULL; one that begins with '>' is a column of numbers, one with '<' a column of
   names that may be shortened. */
struct table *table_new(const char *const *titles)
    __attribute__((returns_nonnull, warn_unused_result));
void table_free(struct table *table);

/* One column more, before the last one; only while there are no cells. */
void table_insert(struct table *table, const char *title);

/* Fills the next cell, row by row. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

void table_print(const struct table *table, struct text *out);

/* What a person chose for the tables of a page. */
struct table_style {
    bool is_wide; /* with more columns or tables */
    bool is_bare; /* without titles */
    /* Of the terminal: shortens names, but none to less than 16 columns, until rows fit.  0: it
       shortens none. */
    size_t columns;
};

void table_show(const struct table *table, struct table_style style, struct text *out);

static inline void owned_table(struct table **table)
{
    table_free(*table);
}
