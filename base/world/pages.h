/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stops paged lists that have no end.  Each page names the next by a token.  A faulty or hostile
 * server may name pages forever: the same one, two in turn, or new empty ones.  The walk detects
 * this.
 *
 *     pages_start(&walk, 200);
 *     each page:  pages_brought(&walk, items);
 *                 if (next && pages_next(&walk, next, err) < 0) ...
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAGES_EMPTY_MOST = 100, PAGES_TOKEN_MOST = 16 * 1024 };

/* All zeroes: at rest.  Owns `kept`. */
struct pages {
    int most;   /* pages of one list */
    int count;  /* of pages named so far, the first one too */
    int empty;  /* pages in a row that brought nothing */
    int period; /* the token is kept for so many pages */
    int age;
    char *kept;
};

/* A new walk of at most so many pages. */
void pages_start(struct pages *pages, int most);
void pages_clear(struct pages *pages);

/* Notes how many items a page brought. */
void pages_brought(struct pages *pages, size_t items);

/* Whether the page of this token may be asked for.  ERROR_CORRUPT for a cycle of pages (found after
   three times its length at most), for a page over the limit, and after PAGES_EMPTY_MOST pages
   without an item. */
int pages_next(struct pages *pages, const char *token, struct error *err)
    __attribute__((warn_unused_result));
