/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Objects by one of their texts: the pods by their node, the nodes by their provider ID.  It owns
 * nothing but its own lists; a caller that changes the objects says so before the former one is
 * freed. Objects of one key keep the order in which they came.
 */
#pragma once

#include <stddef.h>

struct index;

struct index *index_new(void) __attribute__((returns_nonnull, warn_unused_result));
void index_free(struct index *index);

/* One object replaced another; either may be NULL, and has no key then.  Keys "" are not
   indexed. */
void index_change(struct index *index, const char *former_key, const void *former, const char *key,
                  void *now);

/* The objects of a key, borrowed until the next change; NULL and 0 when there are none. */
void *const *index_find(const struct index *index, const char *key, size_t *ret_count);

static inline void owned_index(struct index **index)
{
    index_free(*index);
}
