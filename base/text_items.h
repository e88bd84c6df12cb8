/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lists that people write as one text: "a, b,c".
 *
 *     while (text_items_next(&list, &item, &length))
 *         look_at(item, length);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Gives the next item, and moves *list past it; false: there are no more.  The item is borrowed
   from the list, and no zero ends it.  *list may be NULL.  An item is empty only where the list
   begins with a separator. */
bool text_items_next(const char **list, const char **ret_item, size_t *ret_length);

/* Whether the list has it. */
bool text_items_have(const char *list, const char *item);
