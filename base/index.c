/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A map of short lists.
 */
#include "base/index.h"

#include "base/array.h"
#include "base/map.h"
#include "base/text.h"

struct shelf {
    ARRAY(void *) objects;
};

struct index {
    struct map *shelves; /* key -> struct shelf, none of them empty */
};

static void free_shelf(void *value)
{
    struct shelf *shelf = value;

    array_clear(&shelf->objects);
    mem_free(shelf);
}

struct index *index_new(void)
{
    struct index *index = mem_new(sizeof *index);

    index->shelves = map_new(free_shelf);
    return index;
}

void index_free(struct index *index)
{
    if (!index)
        return;
    map_free(index->shelves);
    mem_free(index);
}

static void take_out(struct index *index, const char *key, const void *object)
{
    struct shelf *shelf = map_get(index->shelves, key);

    for (size_t i = 0; shelf && i < shelf->objects.count; i++) {
        if (shelf->objects.items[i] != object)
            continue;
        array_remove(&shelf->objects, i);
        if (shelf->objects.count == 0)
            map_remove(index->shelves, key);
        return;
    }
}

static void put_in(struct index *index, const char *key, void *object)
{
    struct shelf *shelf = map_get(index->shelves, key);

    if (!shelf) {
        shelf = mem_new(sizeof *shelf);
        map_set(index->shelves, key, shelf);
    }
    *array_add(&shelf->objects) = object;
}

static void replace(struct index *index, const char *key, const void *former, void *now)
{
    struct shelf *shelf = map_get(index->shelves, key);

    for (size_t i = 0; shelf && i < shelf->objects.count; i++)
        if (shelf->objects.items[i] == former) {
            shelf->objects.items[i] = now;
            return;
        }
    put_in(index, key, now);
}

void index_change(struct index *index, const char *former_key, const void *former, const char *key,
                  void *now)
{
    if (former && now && text_equal(former_key, key)) {
        if (key[0] != '\0')
            replace(index, key, former, now);
        return;
    }
    if (former && former_key[0] != '\0')
        take_out(index, former_key, former);
    if (now && key[0] != '\0')
        put_in(index, key, now);
}

void *const *index_find(const struct index *index, const char *key, size_t *ret_count)
{
    const struct shelf *shelf = map_get(index->shelves, key);

    *ret_count = shelf ? shelf->objects.count : 0;
    return shelf ? shelf->objects.items : NULL;
}
