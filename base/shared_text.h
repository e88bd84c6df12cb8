/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Texts that never change and are counted by their owners: tens of thousands of pods say the same
 * namespace, owner and labels, and memory holds each of these once.  A pool knows one text of each
 * content; what is shared through it outlives the pool as long as it has an owner.
 *
 * A packed map is such a text: "key\0value\0key\0value\0" and an empty key at the end.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A copy of the bytes (and a terminator), owned once. */
const char *shared_text_new(const char *bytes, size_t size)
    __attribute__((returns_nonnull, warn_unused_result));
const char *shared_text_of(const char *chars) __attribute__((returns_nonnull, warn_unused_result));

/* NULL is legal. */
void shared_text_drop(const char *text);

struct shared_pool;
struct shared_pool *shared_pool_new(void) __attribute__((returns_nonnull, warn_unused_result));
void shared_pool_free(struct shared_pool *pool);

/* Replaces the owned text by the pool's one of the same content; NULL stays. */
void shared_pool_take(struct shared_pool *pool, const char **text);

/* Forgets the texts that only the pool owns. */
void shared_pool_trim(struct shared_pool *pool);

/* How many texts the pool holds, for tests. */
size_t shared_pool_count(const struct shared_pool *pool);

typedef bool (*packed_filter_fn)(const char *key, const char *value);

/* Packs the texts of a JSON object (NULL: none); is_wanted may be NULL: all. */
const char *packed_map_new(const json_t *object, packed_filter_fn is_wanted)
    __attribute__((returns_nonnull, warn_unused_result));

/* The value, borrowed, or NULL. */
const char *packed_map_get(const char *packed, const char *key);

/* Likewise for a key of so many bytes. */
const char *packed_map_find(const char *packed, const char *key, size_t length);

/* Start with *at = packed.  False at the end. */
bool packed_map_next(const char **at, const char **ret_key, const char **ret_value);
