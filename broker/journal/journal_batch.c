/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batches: how they are built, folded, measured, and put together into transactions.
 */
#include "broker/journal/journal_batch.h"

#include "base/input/json.h"
#include "base/map.h"
#include "broker/journal/journal_entry.h"

#include <inttypes.h>
#include <string.h>

/* The limit for batches written together: after a slow disk no transaction takes as long again. */
enum { GROUP_ROWS_MAX = 20000, GROUP_BYTES_MAX = 16 << 20 };

struct journal_batch *journal_batch_new(uint64_t epoch)
{
    struct journal_batch *batch = mem_new(sizeof *batch);

    batch->epoch = epoch;
    return batch;
}

static void entry_clear(struct journal_entry *entry)
{
    mem_free(entry->name);
    mem_free(entry->id);
    json_decref(entry->value);
    mem_free(entry->text);
}

void journal_batch_free(struct journal_batch *batch)
{
    if (!batch)
        return;
    for (size_t i = 0; i < batch->entries.count; i++)
        entry_clear(&batch->entries.items[i]);
    array_clear(&batch->entries);
    mem_free(batch);
}

static struct journal_entry *add(struct journal_batch *batch, enum journal_operation operation,
                                 const char *name, const char *id)
{
    struct journal_entry *entry = array_add(&batch->entries);

    require(batch->bytes == 0); /* not printed yet */
    entry->operation = operation;
    entry->name = mem_copy_chars(name);
    entry->id = mem_copy_chars(id);
    return entry;
}

void journal_put(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev,
                 json_t *value)
{
    struct journal_entry *entry = add(batch, JOURNAL_PUT, kind, id);

    require(kind[0] != '\0' && !strchr(kind, '/') && id[0] != '\0');
    require(value);
    entry->rev = rev;
    entry->becomes = rev + 1;
    entry->value = json_incref(value);
}

void journal_remove(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev)
{
    require(kind[0] != '\0' && !strchr(kind, '/') && id[0] != '\0');
    add(batch, JOURNAL_REMOVE, kind, id)->rev = rev;
}

void journal_claim(struct journal_batch *batch, const char *name, const char *holder)
{
    require(name[0] != '\0' && holder[0] != '\0');
    add(batch, JOURNAL_CLAIM, name, holder);
}

void journal_release(struct journal_batch *batch, const char *name, const char *holder)
{
    require(name[0] != '\0' && holder[0] != '\0');
    add(batch, JOURNAL_RELEASE, name, holder);
}

void journal_event(struct journal_batch *batch, struct wall_time at, json_t *event)
{
    struct journal_entry *entry = add(batch, JOURNAL_EVENT, NULL, NULL);

    require(event);
    entry->at = at;
    entry->value = json_incref(event);
}

static bool is_of_record(const struct journal_entry *entry)
{
    return entry->operation == JOURNAL_PUT || entry->operation == JOURNAL_REMOVE ||
           entry->operation == JOURNAL_ABSENT;
}

/* Folds two entries of a record into the first; takes from the second. */
static int fold_two(struct journal_entry *first, struct journal_entry *second, struct error *err)
{
    if (second->rev != first->becomes)
        return error_set(err, ERROR_CONFLICT,
                         "%s/%s is at revision %" PRIu64 " in this batch, not at %" PRIu64,
                         first->name, first->id, first->becomes, second->rev);
    require(is_of_record(first) && is_of_record(second));
    json_decref(first->value);
    mem_free(first->text);
    first->becomes = second->becomes;
    first->value = steal(&second->value);
    first->text = steal(&second->text);
    first->operation = first->becomes > 0 ? JOURNAL_PUT
                       : first->rev > 0   ? JOURNAL_REMOVE
                                          : JOURNAL_ABSENT;
    return 0;
}

/* Most batches are of one record. */
static bool is_folded(const struct journal_batch *batch)
{
    size_t records = 0;

    for (size_t i = 0; i < batch->entries.count && records < 2; i++)
        records += is_of_record(&batch->entries.items[i]);
    return records < 2;
}

static int fold_one(struct journal_entry *entries, size_t at, struct map *places, size_t *kept,
                    struct error *err)
{
    struct journal_entry *entry = &entries[at];
    owned(chars) char *key = NULL;
    size_t place;

    if (!is_of_record(entry)) {
        entries[(*kept)++] = *entry;
        return 0;
    }
    if (entry->operation == JOURNAL_REMOVE && entry->rev == 0)
        return error_set(err, ERROR_CONFLICT, "%s/%s is removed, and does not exist", entry->name,
                         entry->id);
    key = text_format("%s/%s", entry->name, entry->id);
    place = (uintptr_t)map_get(places, key);
    if (place == 0) {
        entries[(*kept)++] = *entry;
        map_set(places, key, (void *)(uintptr_t)*kept);
        return 0;
    }
    if (fold_two(&entries[place - 1], entry, err) < 0)
        return -1;
    entry_clear(entry);
    return 0;
}

int journal_batch_fold(struct journal_batch *batch, struct error *err)
{
    owned(map) struct map *places = NULL; /* "kind/id" -> its entry's place + 1 */
    struct journal_entry *entries = batch->entries.items;
    size_t count = batch->entries.count;
    size_t kept = 0;
    size_t at = 0;

    if (is_folded(batch))
        return 0;
    places = map_new(NULL);
    while (at < count && fold_one(entries, at, places, &kept, err) == 0)
        at++;
    memmove(&entries[kept], &entries[at], (count - at) * sizeof *entries);
    require(kept <= at && at <= count);
    batch->entries.count = kept + (count - at);
    return at == count ? 0 : -1;
}

static size_t length_of(const char *chars)
{
    return chars ? strlen(chars) : 0;
}

void journal_batch_print(struct journal_batch *batch, bool keeps_values)
{
    batch->bytes = 0;
    for (size_t i = 0; i < batch->entries.count; i++) {
        struct journal_entry *entry = &batch->entries.items[i];

        if (entry->value && !entry->text)
            entry->text = json_print(entry->value);
        if (!keeps_values) {
            json_decref(entry->value);
            entry->value = NULL;
        }
        batch->bytes += length_of(entry->name) + length_of(entry->id) + length_of(entry->text);
    }
}

int journal_batch_check(const struct journal_batch *batch, const struct journal_bound *bound,
                        struct error *err)
{
    require(bound->rows > 0 && bound->bytes > 0);
    if (batch->entries.count > bound->rows)
        return error_set(err, ERROR_INVALID,
                         "%zu rows at once: the journal writes %zu at most in one transaction",
                         batch->entries.count, bound->rows);
    if (batch->bytes > bound->bytes)
        return error_set(err, ERROR_INVALID,
                         "%zu bytes at once: the journal writes %zu at most in one transaction",
                         batch->bytes, bound->bytes);
    return 0;
}

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Appends the batch, and frees it. */
static void join(struct journal_batch *whole, struct journal_batch *batch)
{
    require(batch->epoch == whole->epoch);
    for (size_t i = 0; i < batch->entries.count; i++)
        *array_add(&whole->entries) = batch->entries.items[i];
    whole->bytes += batch->bytes;
    batch->entries.count = 0; /* they are the other one's now */
    journal_batch_free(batch);
}

struct journal_batch *journal_batches_take(struct journal_batches *batches,
                                           const struct journal_bound *bound, size_t *ret_count)
{
    size_t rows_max = smaller(bound->rows, GROUP_ROWS_MAX);
    size_t bytes_max = smaller(bound->bytes, GROUP_BYTES_MAX);
    struct journal_batch *whole;
    size_t count = 1;

    require(batches->count > 0);
    whole = batches->items[0];
    for (; count < batches->count; count++) {
        const struct journal_batch *next = batches->items[count];

        if (whole->entries.count + next->entries.count > rows_max ||
            whole->bytes + next->bytes > bytes_max)
            break;
        join(whole, batches->items[count]);
    }
    batches->count -= count;
    memmove(batches->items, batches->items + count, batches->count * sizeof *batches->items);
    if (ret_count)
        *ret_count = count;
    return whole;
}

void journal_batches_clear(struct journal_batches *batches)
{
    for (size_t i = 0; i < batches->count; i++)
        journal_batch_free(batches->items[i]);
    array_clear(batches);
}
