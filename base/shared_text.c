/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counted texts and the pool: an open-addressed table that forgets what only it owns whenever it
 * would have to grow.
 */
#include "base/shared_text.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

struct shared {
    uint32_t owners;
    uint32_t size; /* without the terminator */
    uint64_t hash; /* 0: not computed yet */
    char bytes[];
};

struct shared_pool {
    struct shared **slots;
    size_t capacity; /* a power of two */
    size_t count;
};

static struct shared *shared_of(const char *text)
{
    return (struct shared *)((uintptr_t)text - offsetof(struct shared, bytes));
}

const char *shared_text_new(const char *bytes, size_t size)
{
    struct shared *shared = mem_new(sizeof *shared + size + 1);

    require(size < UINT32_MAX);
    shared->owners = 1;
    shared->size = (uint32_t)size;
    memcpy(shared->bytes, bytes, size);
    return shared->bytes;
}

const char *shared_text_of(const char *chars)
{
    return shared_text_new(chars, strlen(chars));
}

void shared_text_drop(const char *text)
{
    struct shared *shared;

    if (!text)
        return;
    shared = shared_of(text);
    if (--shared->owners == 0)
        mem_free(shared);
}

static uint64_t hash_of(struct shared *shared)
{
    uint64_t hash = 0xcbf29ce484222325u;

    if (shared->hash != 0)
        return shared->hash;
    for (uint32_t i = 0; i < shared->size; i++)
        hash = (hash ^ (unsigned char)shared->bytes[i]) * 0x100000001b3u;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    hash ^= hash >> 32;
    return shared->hash = hash ? hash : 1;
}

struct shared_pool *shared_pool_new(void)
{
    struct shared_pool *pool = mem_new(sizeof *pool);

    pool->capacity = FIRST_CAPACITY;
    pool->slots = mem_new_array(pool->capacity, sizeof(struct shared *));
    return pool;
}

void shared_pool_free(struct shared_pool *pool)
{
    if (!pool)
        return;
    for (size_t i = 0; i < pool->capacity; i++)
        if (pool->slots[i])
            shared_text_drop(pool->slots[i]->bytes);
    mem_free(pool->slots);
    mem_free(pool);
}

/* The slot that holds this content, or the free one where it belongs. */
static struct shared **find_slot(const struct shared_pool *pool, struct shared *wanted)
{
    size_t mask = pool->capacity - 1;

    for (size_t at = (size_t)hash_of(wanted) & mask;; at = (at + 1) & mask) {
        struct shared *there = pool->slots[at];

        if (!there || (there->hash == wanted->hash && there->size == wanted->size &&
                       memcmp(there->bytes, wanted->bytes, wanted->size) == 0))
            return &pool->slots[at];
    }
}

/* Drops what only the pool owns, and is as large as the others need. */
static void make_room(struct shared_pool *pool)
{
    struct shared **former = pool->slots;
    size_t former_capacity = pool->capacity;
    size_t alive = 0;

    for (size_t i = 0; i < former_capacity; i++)
        alive += former[i] && former[i]->owners > 1;
    for (pool->capacity = FIRST_CAPACITY; alive * 4 > pool->capacity;)
        pool->capacity *= 2;
    pool->slots = mem_new_array(pool->capacity, sizeof(struct shared *));
    pool->count = alive;
    for (size_t i = 0; i < former_capacity; i++) {
        if (former[i] && former[i]->owners > 1)
            *find_slot(pool, former[i]) = former[i];
        else if (former[i])
            shared_text_drop(former[i]->bytes);
    }
    mem_free(former);
}

void shared_pool_trim(struct shared_pool *pool)
{
    make_room(pool);
}

void shared_pool_take(struct shared_pool *pool, const char **text)
{
    struct shared *own;
    struct shared **slot;

    if (!*text)
        return;
    if (pool->count * 2 >= pool->capacity)
        make_room(pool);
    own = shared_of(*text);
    slot = find_slot(pool, own);
    if (*slot == own)
        return;
    if (*slot) {
        (*slot)->owners++;
        *text = (*slot)->bytes;
        shared_text_drop(own->bytes);
        return;
    }
    *slot = own;
    own->owners++;
    pool->count++;
}

size_t shared_pool_count(const struct shared_pool *pool)
{
    return pool->count;
}

const char *packed_map_new(const json_t *object, packed_filter_fn is_wanted)
{
    owned(text) struct text *packed = text_new(TEXT_UNBOUNDED);
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        const char *chars = json_string_value(value);

        if (!chars || key[0] == '\0' || (is_wanted && !is_wanted(key, chars)))
            continue;
        text_add_bytes(packed, key, strlen(key) + 1);
        text_add_bytes(packed, chars, strlen(chars) + 1);
    }
    return shared_text_new(packed->chars, packed->length);
}

bool packed_map_next(const char **at, const char **ret_key, const char **ret_value)
{
    const char *key = *at;
    const char *value;

    if (key[0] == '\0')
        return false;
    value = key + strlen(key) + 1;
    *ret_key = key;
    *ret_value = value;
    *at = value + strlen(value) + 1;
    return true;
}

const char *packed_map_find(const char *packed, const char *key, size_t length)
{
    const char *found = NULL;
    const char *value = NULL;

    while (packed_map_next(&packed, &found, &value))
        if (strncmp(found, key, length) == 0 && found[length] == '\0')
            return value;
    return NULL;
}

const char *packed_map_get(const char *packed, const char *key)
{
    return packed_map_find(packed, key, strlen(key));
}
