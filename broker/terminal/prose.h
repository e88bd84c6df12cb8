/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences on a narrow terminal.
 */
#pragma once

#include "base/text.h"

/* Adds the text to `out` with its sentences wrapped at so many characters of UTF-8.  A row is a
   sentence if only its first words, the label, or an indentation of at most 16 spaces, are set
   apart; what follows the first row is indented as the sentence.  Rows of tables, which have more
   columns, stay as they are. */
void prose_wrap(const struct text *text, size_t columns, struct text *out);

/* The indentation of a row that belongs to the row above it. */
enum { PROSE_INDENT = 7 };

/* A copy of the text whose words are shortened in the middle, as names are, until it fits into so
   many columns; none gets narrower than 17 ("gke-res..abcd1234"), so it may be too wide all the
   same.  The caller frees it. */
char *prose_fit(const char *text, size_t columns)
    __attribute__((returns_nonnull, warn_unused_result));

/* Adds HEAD and REST as one row if it fits into so many columns.  If not, REST is a row of its own,
   indented, for prose_wrap().  HEAD ends with its spaces. */
void prose_hang(struct text *out, size_t columns, const char *head, const char *rest);

/* The text with "..." for each word that has a digit or a slash, as names and numbers have: equal
   for nodes that wait for the same kind of thing.  The caller frees it. */
char *prose_pattern(const char *text) __attribute__((returns_nonnull, warn_unused_result));
