/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory that cannot fail, and ownership that ends by itself.
 *
 * Running out of memory aborts: a service that survives being killed at any point restarts into
 * the code path that it needs anyway.  A local that owns something is declared with owned():
 *
 *     owned(chars) char *path = text_format("%s/%s", folder, name);
 *     owned(json) json_t *body = json_object();
 *     return steal(&path);          (hands it on; the local is NULL afterwards)
 *
 * Each module that has an owned type defines `static inline void owned_NAME(TYPE **)`.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define owned(name) __attribute__((cleanup(owned_##name)))
#define steal(pointer)                                                                             \
    __extension__({                                                                                \
        __typeof__(*(pointer)) stolen_ = *(pointer);                                               \
        *(pointer) = NULL;                                                                         \
        stolen_;                                                                                   \
    })

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* An assertion about our own code, always on: prints the condition and its place, then aborts.
   Never for input. */
#define require(condition) ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__))

_Noreturn void require_failed(const char *condition, const char *file, int line);

/* size bytes of zeroes (at least one byte), to be freed with mem_free(). */
void *mem_new(size_t size) __attribute__((returns_nonnull, warn_unused_result));

/* count * size bytes of zeroes; aborts when the product overflows. */
void *mem_new_array(size_t count, size_t size) __attribute__((returns_nonnull, warn_unused_result));

/* The block at another size; new bytes are not set.  count * size must not overflow. */
void *mem_resize(void *block, size_t count, size_t size)
    __attribute__((returns_nonnull, warn_unused_result));

/* A copy of a string; NULL stays NULL. */
char *mem_copy_chars(const char *chars) __attribute__((warn_unused_result));

/* NULL is legal. */
void mem_free(void *block);

/* Bytes that this thread has allocated and not freed.  The memory of an object is the difference
   between before and after it was made. */
int64_t mem_held(void);

/* From now on jansson gets at most so many more bytes in this thread, and fails after that; 0: no
   limit.  Only for parsing a server's answer. */
void mem_bound_json(int64_t bytes);

/* Gives free pages back to the system: after large and rare allocations. */
void mem_trim(void);

/* Gives jansson, libcurl and SQLite users one place: routes jansson through these functions and
   seeds its hash.  Call once, first thing in main(). */
void mem_setup(void);

/* For a program that holds secrets, before it reads the first.  When the program dies it leaves no
   core file, and no other process of the same user may read its memory. mem_show() reverts the
   second part, at a clean end, because a leak checker has to read it then. */
void mem_hide(void);
void mem_show(void);

static inline void owned_chars(char **chars)
{
    mem_free(*chars);
}

static inline void owned_json(json_t **json)
{
    json_decref(*json);
}
