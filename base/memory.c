/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Allocation that cannot fail, and the assertion that is always on.  The only file that calls the
 * C library's allocator.
 */
#include "base/memory.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Counts per thread.  A thread that frees another thread's memory may go below zero.  Callers only
   compare two readings of one thread. */
static _Thread_local int64_t held_bytes;
static _Thread_local int64_t json_most = INT64_MAX; /* held_bytes at which jansson gets no more */

void require_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "sluice: bug: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}

static _Noreturn void out_of_memory(void)
{
    fputs("sluice: out of memory\n", stderr);
    abort();
}

static size_t product(size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total) || total > PTRDIFF_MAX)
        out_of_memory();
    return total ? total : 1;
}

void *mem_new_array(size_t count, size_t size)
{
    void *block = calloc(1, product(count, size));

    if (block == NULL)
        out_of_memory();
    held_bytes += (int64_t)malloc_usable_size(block);
    return block;
}

void *mem_new(size_t size)
{
    return mem_new_array(1, size);
}

void *mem_resize(void *block, size_t count, size_t size)
{
    size_t former = malloc_usable_size(block);
    void *resized = realloc(block, product(count, size));

    if (resized == NULL)
        out_of_memory();
    held_bytes += (int64_t)malloc_usable_size(resized) - (int64_t)former;
    return resized;
}

char *mem_copy_chars(const char *chars)
{
    size_t size;

    if (chars == NULL)
        return NULL;
    size = strlen(chars) + 1;
    return memcpy(mem_resize(NULL, size, 1), chars, size);
}

void mem_free(void *block)
{
    held_bytes -= (int64_t)malloc_usable_size(block);
    free(block);
}

int64_t mem_held(void)
{
    return held_bytes;
}

/* jansson sets every byte that it allocates, so its blocks need no zeroes.  Beyond the bound it
   gets NULL, and fails. */
static void *new_for_jansson(size_t size)
{
    if (size > PTRDIFF_MAX || held_bytes > json_most - (int64_t)size)
        return NULL;
    return mem_resize(NULL, size, 1);
}

void mem_bound_json(int64_t bytes)
{
    json_most = bytes > 0 ? held_bytes + bytes : INT64_MAX;
}

void mem_trim(void)
{
    malloc_trim(0);
}

void mem_hide(void)
{
    const struct rlimit none = { 0, 0 };

    /* A core that is piped to a program ignores the limit, but not the flag that forbids dumps. */
    require(setrlimit(RLIMIT_CORE, &none) == 0);
    require(prctl(PR_SET_DUMPABLE, 0) == 0);
}

void mem_show(void)
{
    require(prctl(PR_SET_DUMPABLE, 1) == 0);
}

void mem_setup(void)
{
    json_set_alloc_funcs(new_for_jansson, mem_free);
    json_object_seed(0); /* 0: seeded by the system */
}
