/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See columns.h.
 */
#include "broker/terminal/columns.h"

#include <locale.h>
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
