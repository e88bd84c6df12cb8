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
