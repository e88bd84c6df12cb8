/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sentences on a narrow terminal.
 */
#pragma once

#include "base/text.h"

/* Adds the text to `out` with its sentences wrapped at so many characters of UTF-8.  A row is a
   sentence if only its first words, the label, are set apart by spaces; what follows the first row
   is indented as the sentence.  Rows of tables, which have more columns, stay as they are. */
void prose_wrap(const struct text *text, size_t columns, struct text *out);

/* The text with "..." for each word that has a digit or a slash, as names and numbers have: equal
   for nodes that wait for the same kind of thing.  The caller frees it. */
char *prose_pattern(const char *text) __attribute__((returns_nonnull, warn_unused_result));
