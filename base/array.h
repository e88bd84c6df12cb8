/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Typed growable arrays.
 *
 *     ARRAY(struct pod) pods = { 0 };
 *     *array_add(&pods) = pod;               (the new last item, zeroed, as a pointer)
 *     for (size_t i = 0; i < pods.count; i++) use(&pods.items[i]);
 *     array_clear(&pods);                    (frees the block, not what the items own)
 */
#pragma once

#include "base/memory.h"

#include <string.h>

#define ARRAY(type)                                                                                \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

#define array_add(array)                                                                           \
    (((array)->count == (array)->capacity                                                          \
          ? (void)((array)->capacity = (array)->capacity ? (array)->capacity * 2 : 8,              \
                   (array)->items = mem_resize((array)->items, (array)->capacity,                  \
                                               sizeof *(array)->items))                            \
          : (void)0),                                                                              \
     memset(&(array)->items[(array)->count], 0, sizeof *(array)->items),                           \
     &(array)->items[(array)->count++])

#define array_clear(array)                                                                         \
    (mem_free((array)->items), (array)->items = NULL, (array)->count = (array)->capacity = 0)

/* Takes out item `at`, keeping the order of the others. */
#define array_remove(array, at)                                                                    \
    (memmove(&(array)->items[at], &(array)->items[(at) + 1],                                       \
             ((array)->count - (at)-1) * sizeof *(array)->items),                                  \
     (array)->count--)
