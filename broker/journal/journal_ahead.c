/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See journal_ahead.h.
 */
#include "broker/journal/journal_ahead.h"

#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

struct ahead {
    struct map *revs;    /* "kind/id" -> uint64_t */
    struct map *holders; /* name -> holder */
};

struct ahead *ahead_new(void)
{
    struct ahead *ahead = mem_new(sizeof *ahead);

    ahead->revs = map_new(mem_free);
    ahead->holders = map_new(mem_free);
    return ahead;
}

void ahead_free(struct ahead *ahead)
{
    if (!ahead)
        return;
    map_free(ahead->revs);
    map_free(ahead->holders);
    mem_free(ahead);
}

static void owned_ahead(struct ahead **ahead)
{
    ahead_free(*ahead);
}

static void set_rev(struct map *revs, const char *key, uint64_t rev)
{
    uint64_t *value = mem_new(sizeof *value);

    require(strchr(key, '/'));
    *value = rev;
    map_set(revs, key, value);
}

void ahead_set_record(struct ahead *ahead, const char *kind, const char *id, uint64_t rev)
{
    owned(chars) char *key = text_format("%s/%s", kind, id);

    require(rev > 0);
    set_rev(ahead->revs, key, rev);
}

void ahead_set_claim(struct ahead *ahead, const char *name, const char *holder)
{
    require(name[0] != '\0');
    map_set(ahead->holders, name, mem_copy_chars(holder));
}

int ahead_each_claim(const struct ahead *ahead,
                     int (*fn)(void *context, const char *name, const char *holder,
                               struct error *err),
                     void *context, struct error *err)
{
    const char *name;
    void *holder;

    for (size_t i = 0; map_next(ahead->holders, &i, &name, &holder);)
        if (fn(context, name, holder, err) < 0)
            return -1;
    return 0;
}

/* `next` has the changes of the entries before this one: 0 removed, "" released. */
static int take_record(const struct ahead *ahead, struct ahead *next,
                       const struct journal_entry *entry, struct error *err)
{
    owned(chars) char *key = text_format("%s/%s", entry->name, entry->id);
    const uint64_t *found = map_get(next->revs, key) ?: map_get(ahead->revs, key);
    uint64_t rev = found ? *found : 0;

    require(entry->operation != JOURNAL_PUT || entry->becomes > 0);
    if (rev != entry->rev || (entry->operation == JOURNAL_REMOVE && rev == 0))
        return error_set(err, ERROR_CONFLICT, "%s is at revision %" PRIu64 ", not at %" PRIu64, key,
                         rev, entry->rev);
    set_rev(next->revs, key, entry->becomes);
    return 0;
}

static int take_claim(const struct ahead *ahead, struct ahead *next,
                      const struct journal_entry *entry, struct error *err)
{
    const char *holder = map_get(next->holders, entry->name)
                             ?: map_get(ahead->holders, entry->name)
                             ?: "";

    if (entry->operation == JOURNAL_CLAIM) {
        if (holder[0] != '\0' && !text_equal(holder, entry->id))
            return error_set(err, ERROR_CONFLICT, "%s is claimed by %s", entry->name, holder);
        ahead_set_claim(next, entry->name, entry->id);
    } else if (text_equal(holder, entry->id)) {
        ahead_set_claim(next, entry->name, "");
    }
    return 0;
}

static int take_entry(const struct ahead *ahead, struct ahead *next,
                      const struct journal_entry *entry, struct error *err)
{
    switch (entry->operation) {
    case JOURNAL_PUT:
    case JOURNAL_REMOVE:
    case JOURNAL_ABSENT:
        return take_record(ahead, next, entry, err);
    case JOURNAL_CLAIM:
    case JOURNAL_RELEASE:
        return take_claim(ahead, next, entry, err);
    case JOURNAL_EVENT:
        return 0;
    }
    return 0;
}

void ahead_copy(struct ahead *ahead, const struct ahead *next)
{
    const char *key;
    void *value;

    require(ahead != next);
    for (size_t i = 0; map_next(next->revs, &i, &key, &value);) {
        if (*(const uint64_t *)value == 0)
            map_remove(ahead->revs, key);
        else
            set_rev(ahead->revs, key, *(const uint64_t *)value);
    }
    for (size_t i = 0; map_next(next->holders, &i, &key, &value);) {
        if (((const char *)value)[0] == '\0')
            map_remove(ahead->holders, key);
        else
            ahead_set_claim(ahead, key, value);
    }
}

int ahead_take(struct ahead *ahead, const struct journal_batch *batch, struct error *err)
{
    owned(ahead) struct ahead *next = ahead_new();

    for (size_t i = 0; i < batch->entries.count; i++)
        if (take_entry(ahead, next, &batch->entries.items[i], err) < 0)
            return -1;
    ahead_copy(ahead, next);
    return 0;
}
