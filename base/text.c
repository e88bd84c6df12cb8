/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Growable text with a bound, and the small questions about strings that the C library answers
 * badly: exact numbers, equality with NULL, copying that says when it cut.  See text_print.c for
 * what printf does.
 */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 64 };

struct text *text_new(size_t limit)
{
    struct text *text = mem_new(sizeof *text);

    text->limit = limit < TEXT_UNBOUNDED ? limit : TEXT_UNBOUNDED;
    text->size = FIRST_SIZE;
    text->chars = mem_new(text->size);
    return text;
}

void text_free(struct text *text)
{
    if (text == NULL)
        return;
    mem_free(text->chars);
    mem_free(text);
}

/* Makes room for `length` more characters and the terminator. */
static void make_room(struct text *text, size_t length)
{
    size_t wanted = text->length + length + 1;

    if (wanted <= text->size)
        return;
    text->size = wanted < text->size * 2 ? text->size * 2 : wanted;
    text->chars = mem_resize(text->chars, text->size, 1);
}

/* How many of `length` characters still fit; sets the mark of a cut text if not all do. */
static size_t within_limit(struct text *text, size_t length)
{
    size_t room = text->limit - text->length;

    if (length <= room)
        return length;
    text->is_cut = true;
    return room;
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
    size_t length = within_limit(text, size);

    make_room(text, length);
    if (length > 0)
        memcpy(text->chars + text->length, bytes, length);
    text->length += length;
    text->chars[text->length] = '\0';
}

void text_drop(struct text *text, size_t length)
{
    require(length <= text->length);
    text->length -= length;
    memmove(text->chars, text->chars + length, text->length + 1);
}

void text_end_at(struct text *text, size_t length)
{
    require(length <= text->length);
    text->length = length;
    text->chars[length] = '\0';
}

void text_reset(struct text *text)
{
    text_end_at(text, 0);
    text->is_cut = false;
}

char *text_take(struct text *text)
{
    char *chars = text->chars;

    mem_free(text);
    return chars;
}

/* Bytes of the character there by RFC 3629; 0: it is none. */
static size_t character_size(const unsigned char *at)
{
    size_t size = at[0] < 0x80                     ? 1
                  : at[0] >= 0xc2 && at[0] <= 0xdf ? 2
                  : (at[0] & 0xf0) == 0xe0         ? 3
                  : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                   : 0;

    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* Too long for its number, a surrogate, beyond the last one. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return size;
}

void text_mend(char *chars)
{
    while (*chars) {
        size_t size = character_size((const unsigned char *)chars);

        if (size == 0)
            *chars = '?';
        chars += size ? size : 1;
    }
}

size_t text_whole(const char *chars, size_t length)
{
    size_t start = length;
    unsigned char first;

    /* A character has at most three bytes after its first; a longer run is not one character. */
    while (start > 0 && length - start < 4 && ((unsigned char)chars[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0)
        return length;
    start--;
    first = (unsigned char)chars[start];
    return length - start < (first >= 0xf0   ? 4u
                             : first >= 0xe0 ? 3u
                             : first >= 0xc0 ? 2u
                                             : 1u)
               ? start
               : length;
}

size_t text_cut(const char *chars, size_t most)
{
    size_t length = strnlen(chars, most);

    return length < most || chars[length] == '\0' ? length : text_whole(chars, length);
}

bool text_copy(char *out, size_t size, const char *chars)
{
    size_t length;

    require(size > 0);
    length = text_cut(chars, size - 1);
    memcpy(out, chars, length);
    out[length] = '\0';
    return chars[length] == '\0';
}

/* C0, DEL and, as UTF-8 has them, C1. */
static bool is_control(const unsigned char *at)
{
    return *at < ' ' || *at == 0x7F || (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0);
}

void text_tame(char *chars, bool keeps_lines)
{
    for (unsigned char *at = (unsigned char *)chars; *at; at++) {
        if (!is_control(at) || (keeps_lines && *at == '\n'))
            continue;
        if (*at == 0xC2)
            *at++ = '?';
        *at = '?';
    }
}

bool text_is_one_line(const char *chars)
{
    for (const unsigned char *at = (const unsigned char *)chars; *at; at++)
        if (is_control(at))
            return false;
    return true;
}

bool text_equal(const char *left, const char *right)
{
    if (left == NULL || right == NULL)
        return left == right;
    return strcmp(left, right) == 0;
}

bool text_starts_with(const char *chars, const char *start)
{
    return strncmp(chars, start, strlen(start)) == 0;
}

bool text_to_int(const char *chars, long long min, long long max, long long *ret_value)
{
    const char *digits = chars + (*chars == '-');
    long long value;

    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    value = strtoll(chars, NULL, 10);
    if (errno != 0 || value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}

bool text_to_double(const char *chars, double *ret_value)
{
    char *end;
    double value;

    /* strtod() alone would also take spaces, hexadecimal, "inf" and "nan" */
    if (*chars == '\0' || chars[strspn(chars, "0123456789.eE+-")] != '\0' || *chars == '+')
        return false;
    value = strtod(chars, &end);
    if (end == chars || *end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}
