/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two arrays: `entries` in the order of insertion, where a removed one leaves a hole, and `slots`,
 * an open-addressed table of positions in `entries`.  Holes go away when the map is rebuilt, which
 * happens only in map_set(), so that removing during an iteration moves nothing.
 */
#include "base/map.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

/* Slots hold a position plus one, or one of these. */
static const size_t slot_free = 0;
static const size_t slot_removed = SIZE_MAX;

struct entry {
    char *key; /* NULL: a hole */
    uint64_t hash;
    void *value;
};

struct map {
    struct entry *entries;
    size_t used;     /* entries and holes */
    size_t count;    /* entries */
    size_t capacity; /* of entries; a power of two */
    size_t *slots;   /* 2 * capacity of them: at most half are ever taken */
    map_free_fn free_value;
};

/* FNV-1a, then a multiply and shift so that the low bits depend on all of them. */
static uint64_t hash_of(const char *key)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

struct map *map_new(map_free_fn free_value)
{
    struct map *map = mem_new(sizeof *map);

    map->free_value = free_value;
    return map;
}

void map_free(struct map *map)
{
    if (map == NULL)
        return;
    map_clear(map);
    mem_free(map->entries);
    mem_free(map->slots);
    mem_free(map);
}

size_t map_count(const struct map *map)
{
    return map->count;
}

static size_t slot_mask(const struct map *map)
{
    return 2 * map->capacity - 1;
}

/* The slot that refers to key, or NULL. */
static size_t *find_slot(const struct map *map, const char *key)
{
    uint64_t hash;

    if (map->count == 0)
        return NULL;
    hash = hash_of(key);
    for (size_t at = (size_t)hash & slot_mask(map);; at = (at + 1) & slot_mask(map)) {
        size_t slot = map->slots[at];

        if (slot == slot_free)
            return NULL;
        if (slot != slot_removed && map->entries[slot - 1].hash == hash &&
            strcmp(map->entries[slot - 1].key, key) == 0)
            return &map->slots[at];
    }
}

static void fill_slot(struct map *map, size_t position)
{
    size_t at = (size_t)map->entries[position].hash & slot_mask(map);

    while (map->slots[at] != slot_free)
        at = (at + 1) & slot_mask(map);
    map->slots[at] = position + 1;
}

/* Closes the holes, and doubles the arrays unless that made enough room. */
static void rebuild(struct map *map)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->used; i++)
        if (map->entries[i].key)
            map->entries[kept++] = map->entries[i];
    map->used = kept;
    if (kept >= map->capacity / 2) {
        map->capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
        map->entries = mem_resize(map->entries, map->capacity, sizeof *map->entries);
    }
    mem_free(map->slots);
    map->slots = mem_new_array(2 * map->capacity, sizeof *map->slots);
    for (size_t i = 0; i < map->used; i++)
        fill_slot(map, i);
}

void *map_get(const struct map *map, const char *key)
{
    const size_t *slot = find_slot(map, key);

    return slot ? map->entries[*slot - 1].value : NULL;
}

static void replace_value(struct map *map, struct entry *entry, void *value)
{
    void *former = entry->value;

    entry->value = value;
    if (map->free_value && former && former != value)
        map->free_value(former);
}

void map_set(struct map *map, const char *key, void *value)
{
    const size_t *slot = find_slot(map, key);

    if (slot) {
        replace_value(map, &map->entries[*slot - 1], value);
        return;
    }
    if (map->used == map->capacity)
        rebuild(map);
    map->entries[map->used] = (struct entry){ mem_copy_chars(key), hash_of(key), value };
    fill_slot(map, map->used);
    map->used++;
    map->count++;
}

void *map_take(struct map *map, const char *key)
{
    size_t *slot = find_slot(map, key);
    struct entry *entry;

    if (slot == NULL)
        return NULL;
    entry = &map->entries[*slot - 1];
    *slot = slot_removed;
    mem_free(steal(&entry->key)); /* last use of key, which may be this very block */
    map->count--;
    return steal(&entry->value);
}

bool map_remove(struct map *map, const char *key)
{
    void *value;

    if (find_slot(map, key) == NULL)
        return false;
    value = map_take(map, key);
    if (map->free_value && value)
        map->free_value(value);
    return true;
}

void map_clear(struct map *map)
{
    for (size_t i = 0; i < map->used; i++) {
        void *value = steal(&map->entries[i].value);

        if (map->entries[i].key == NULL)
            continue;
        mem_free(steal(&map->entries[i].key));
        if (map->free_value && value)
            map->free_value(value);
    }
    map->used = map->count = 0;
    if (map->slots)
        memset(map->slots, 0, 2 * map->capacity * sizeof *map->slots);
}

bool map_next(const struct map *map, size_t *at, const char **key, void **value)
{
    while (*at < map->used) {
        const struct entry *entry = &map->entries[(*at)++];

        if (entry->key == NULL)
            continue;
        if (key)
            *key = entry->key;
        if (value)
            *value = entry->value;
        return true;
    }
    return false;
}
