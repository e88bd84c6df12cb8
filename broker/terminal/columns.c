/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h.
 */
#include "broker/terminal/columns.h"

#include "base/text.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

/* The program keeps the locale "C", by which it reads and writes numbers; this one is for widths
   alone.  glibc has it built in. */
static locale_t widths(void)
{
    static locale_t locale;

    if (!locale)
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return locale;
}

static size_t step(const char *chars, size_t length, size_t *ret_columns)
{
    mbstate_t state = { 0 };
    wchar_t character;
    size_t bytes = mbrtowc(&character, chars, length, &state);
    int columns;

    *ret_columns = 1;
    if (bytes == 0 || bytes > length) /* NUL; not UTF-8 */
        return 1;
    columns = wcwidth(character);
    if (columns >= 0)
        *ret_columns = (size_t)columns;
    return bytes;
}

size_t columns_step(const char *chars, size_t length, size_t *ret_columns)
{
    locale_t locale = widths();
    locale_t before;
    size_t bytes;

    *ret_columns = 1;
    if ((unsigned char)*chars < 0x80 || !locale)
        return 1;
    before = uselocale(locale);
    bytes = step(chars, length, ret_columns);
    uselocale(before);
    return bytes;
}

size_t columns_of(const char *chars, size_t length)
{
    size_t columns = 0;

    for (size_t at = 0; at < length;) {
        size_t wide;

        at += columns_step(chars + at, length - at, &wide);
        columns += wide;
    }
    return columns;
}

/* The bytes of the text from its beginning that take at most so many columns. */
static size_t bytes_within(const char *chars, size_t length, size_t columns)
{
    size_t at = 0;
    size_t wide;

    while (at < length) {
        size_t bytes = columns_step(chars + at, length - at, &wide);

        if (wide > columns)
            break;
        columns -= wide;
        at += bytes;
    }
    return at;
}

char *columns_shorten(const char *chars, size_t most)
{
    size_t length = strlen(chars);
    size_t all = columns_of(chars, length);
    size_t mark = most < 2 ? most : 2;
    size_t first = (most - mark) / 2;
    size_t dropped;

    if (all <= most)
        return mem_copy_chars(chars);
    /* what goes ends where the rest is narrow enough */
    for (dropped = 0; columns_of(chars + dropped, length - dropped) > most - mark - first;) {
        size_t wide;

        dropped += columns_step(chars + dropped, length - dropped, &wide);
    }
    return text_format("%.*s%.*s%s", (int)bytes_within(chars, length, first), chars, (int)mark,
                       "..", chars + dropped);
}
