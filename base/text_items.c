/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See text_items.h.
 */
#include "base/text_items.h"

#include <string.h>

bool text_items_next(const char **list, const char **ret_item, size_t *ret_length)
{
    static const char separators[] = ", ";
    const char *item = *list;
    size_t length;

    if (!item || *item == '\0')
        return false;
    length = strcspn(item, separators);
    *list = item + length + strspn(item + length, separators);
    *ret_item = item;
    *ret_length = length;
    return true;
}

bool text_items_have(const char *list, const char *item)
{
    const char *found;
    size_t length;

    while (text_items_next(&list, &found, &length))
        if (length == strlen(item) && strncmp(found, item, length) == 0)
            return true;
    return false;
}
