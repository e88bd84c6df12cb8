/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many columns of a terminal a text takes.  A character takes one; one of Chinese, Japanese and
 * Korean two; an accent that is combined with the character before it none (wcwidth(3)).
 */
#pragma once

#include <stddef.h>

/* The bytes of the character at the text's beginning, and its columns.  A byte that is not UTF-8,
   and a control character, is one of each.  `length` > 0. */
size_t columns_step(const char *chars, size_t length, size_t *ret_columns);

size_t columns_of(const char *chars, size_t length);

/* A copy that takes at most so many columns: a longer text has ".." in its middle, because names
   differ at their ends ("gke-rese..abcd1234").  The caller frees it. */
char *columns_shorten(const char *chars, size_t most)
    __attribute__((returns_nonnull, warn_unused_result));
