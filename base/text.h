/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Growable text with an upper bound that is given at birth.  Appending past the bound cuts and
 * sets is_cut; nothing overflows and nothing is lost silently.  chars is always terminated.
 *
 *     owned(text) struct text *line = text_new(4096);
 *     text_add(line, "%s moved in %" PRId64 " s", name, seconds);
 */
#pragma once

#include "base/memory.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A limit for texts whose size follows from input that is bounded already. */
#define TEXT_UNBOUNDED (SIZE_MAX / 4)

struct text {
    char *chars;   /* never NULL after text_new() */
    size_t length; /* characters, without the terminator */
    size_t size;   /* bytes allocated */
    size_t limit;  /* characters that it may hold */
    bool is_cut;   /* something did not fit */
};

struct text *text_new(size_t limit) __attribute__((returns_nonnull, warn_unused_result));
void text_free(struct text *text);

/* Appends as printf does, with one difference: "%.120s", text cut for people, ends at a whole
   character of UTF-8; "%.*s", a slice, has exactly so many bytes.  Knows the conversions d i u x X
   o c s p e f g and %, and aborts at others. */
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_arguments(struct text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Appends bytes as they are (they may hold NUL). */
void text_add_bytes(struct text *text, const void *bytes, size_t size);

/* Takes the first `length` characters away. */
void text_drop(struct text *text, size_t length);

/* Takes all but the first `length` characters away. */
void text_end_at(struct text *text, size_t length);

/* Empties it; keeps the allocation. */
void text_reset(struct text *text);

/* Frees the shell and returns the characters, which the caller frees with mem_free(). */
char *text_take(struct text *text) __attribute__((returns_nonnull, warn_unused_result));

/* A new string as printf makes it; the caller frees it with mem_free(). */
char *text_format(const char *format, ...)
    __attribute__((format(printf, 1, 2), returns_nonnull, warn_unused_result));

/* THE place where text is cut: how many of its first `most` bytes to keep, so that no character of
   UTF-8 is split. */
size_t text_cut(const char *chars, size_t most);

/* The same for bytes that were cut already: drops a last character that is incomplete. */
size_t text_whole(const char *chars, size_t length);

/* Copies into a buffer of `size` bytes, terminated; false when it had to be cut. */
bool text_copy(char *out, size_t size, const char *chars);

/* As text_copy(), of what text_add() would append. */
bool text_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool text_print_arguments(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* Puts a '?' for each byte that is not UTF-8, because JSON cannot hold such bytes. */
void text_mend(char *chars);

/* Puts a '?' for each byte of a control character, so that a text from elsewhere neither commands a
   terminal nor, unless keeps_lines, begins a line of its own. */
void text_tame(char *chars, bool keeps_lines);

/* Whether a terminal shows it as text on one line: no control characters, C1 ones included. */
bool text_is_one_line(const char *chars);

bool text_equal(const char *left, const char *right); /* two NULLs are equal */
bool text_starts_with(const char *chars, const char *start);

/* Whole string as a decimal integer in [min, max]; false for anything else. */
bool text_to_int(const char *chars, long long min, long long max, long long *ret_value);

/* Whole string as a finite decimal number; false for anything else. */
bool text_to_double(const char *chars, double *ret_value);

static inline void owned_text(struct text **text)
{
    text_free(*text);
}
