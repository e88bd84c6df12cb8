/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A map from strings to pointers.  Keys are copied, values are the caller's (or freed by the
 * function given to map_new).  Iteration is in the order of insertion, so that what is printed or
 * decided from a map is the same in every run.
 *
 *     for (size_t i = 0; map_next(map, &i, &key, &value);) ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct map;

typedef void (*map_free_fn)(void *value);

/* free_value may be NULL: the map then does not own its values. */
struct map *map_new(map_free_fn free_value) __attribute__((returns_nonnull, warn_unused_result));
void map_free(struct map *map);

size_t map_count(const struct map *map);
void *map_get(const struct map *map, const char *key); /* NULL when there is none */

/* Sets or replaces; a replaced value is freed and the key keeps its place in the order. */
void map_set(struct map *map, const char *key, void *value);

/* Removes and frees; false when there was none.  Legal for the current item of an iteration. */
bool map_remove(struct map *map, const char *key);

/* Removes without freeing and returns the value; NULL when there was none. */
void *map_take(struct map *map, const char *key);

void map_clear(struct map *map);

/* Start with *at = 0.  False at the end.  key and value may be NULL. */
bool map_next(const struct map *map, size_t *at, const char **key, void **value);

static inline void owned_map(struct map **map)
{
    map_free(*map);
}
