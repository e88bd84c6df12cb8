/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Brent's way to find a cycle: one token is kept and held against those that follow, for twice as
 * many pages as the one before it.
 */
#include "base/world/pages.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

void pages_clear(struct pages *pages)
{
    mem_free(pages->kept);
    *pages = (struct pages){ 0 };
}

void pages_start(struct pages *pages, int most)
{
    pages_clear(pages);
    pages->most = most;
    pages->count = 1;
    pages->period = 1;
}

void pages_brought(struct pages *pages, size_t items)
{
    pages->empty = items > 0 ? 0 : pages->empty + 1;
}

int pages_next(struct pages *pages, const char *token, struct error *err)
{
    if (pages->kept && text_equal(token, pages->kept))
        return error_set(err, ERROR_CORRUPT, "the list repeats a page: it has no end");
    if (pages->count >= pages->most)
        return error_set(err, ERROR_CORRUPT, "the list has more than %d pages", pages->most);
    if (pages->empty >= PAGES_EMPTY_MOST)
        return error_set(err, ERROR_CORRUPT, "%d pages in a row brought nothing but the next one",
                         pages->empty);
    if (strlen(token) > PAGES_TOKEN_MOST)
        return error_set(err, ERROR_CORRUPT, "the name of the next page is longer than %d bytes",
                         PAGES_TOKEN_MOST);
    pages->count++;
    if (!pages->kept || ++pages->age == pages->period) {
        mem_free(pages->kept);
        pages->kept = mem_copy_chars(token);
        pages->period *= 2;
        pages->age = 0;
    }
    return 0;
}
