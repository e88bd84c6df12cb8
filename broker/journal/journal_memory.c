/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal in memory: simulations and tests.  It outlives the service that writes to it, so a
 * test can end a service at any point and start another one on what was promised.
 */
#include "base/input/json.h"
#include "base/map.h"
#include "broker/journal/journal_ahead.h"
#include "broker/journal/journal_store.h"

enum { EVENTS_KEPT_MAX = 1000000 };

struct record {
    char *kind;
    char *id;
    uint64_t rev;
    json_t *value;
};

/* What is kept, which several handles may share. */
struct shelf {
    int handles;
    uint64_t epoch;
    struct map *records; /* "kind/id" -> struct record */
    struct ahead *held;  /* their revisions, and the claims */
    json_t *events;
    char hash[SHA256_TEXT_SIZE];
};

struct memory {
    struct journal journal;
    struct shelf *shelf;
};

static struct shelf *shelf_of(struct journal *journal)
{
    return ((struct memory *)journal)->shelf;
}

static void record_free(void *value)
{
    struct record *record = value;

    mem_free(record->kind);
    mem_free(record->id);
    json_decref(record->value);
    mem_free(record);
}

static void put(struct shelf *shelf, const struct journal_entry *entry)
{
    owned(chars) char *key = text_format("%s/%s", entry->name, entry->id);
    struct record *record = mem_new(sizeof *record);

    require(entry->value && entry->becomes > 0);
    record->kind = mem_copy_chars(entry->name);
    record->id = mem_copy_chars(entry->id);
    record->rev = entry->becomes;
    record->value = json_deep_copy(entry->value);
    map_set(shelf->records, key, record);
}

static void append(struct shelf *shelf, const struct journal_entry *entry)
{
    size_t seq = json_array_size(shelf->events) + 1;

    require(seq <= EVENTS_KEPT_MAX && entry->text);
    journal_chain(shelf->hash, entry->at, entry->text, shelf->hash);
    json_array_append_new(shelf->events, json_make("{sIsIsssO}", "seq", (json_int_t)seq, "at",
                                                   (json_int_t)entry->at.ms, "hash", shelf->hash,
                                                   "event", entry->value));
}

static void apply(struct shelf *shelf, const struct journal_entry *entry)
{
    owned(chars) char *key = text_format("%s/%s", entry->name ?: "", entry->id ?: "");

    switch (entry->operation) {
    case JOURNAL_PUT:
        put(shelf, entry);
        break;
    case JOURNAL_REMOVE:
        map_remove(shelf->records, key);
        break;
    case JOURNAL_ABSENT:
    case JOURNAL_CLAIM:
    case JOURNAL_RELEASE:
        break; /* taken with the batch */
    case JOURNAL_EVENT:
        append(shelf, entry);
        break;
    }
}

static int memory_commit(struct journal *journal, const struct journal_batch *batch,
                         struct error *err)
{
    struct shelf *shelf = shelf_of(journal);

    require(shelf->handles > 0);
    if (batch->epoch != shelf->epoch)
        return journal_refuse_old_epoch(err);
    if (ahead_take(shelf->held, batch, err) < 0)
        return -1;
    for (size_t i = 0; i < batch->entries.count; i++)
        apply(shelf, &batch->entries.items[i]);
    return 0;
}

static int memory_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    struct shelf *shelf = shelf_of(journal);

    (void)err;
    *ret_epoch = ++shelf->epoch;
    return 0;
}

static int memory_list(struct journal *journal, struct ahead *ahead, struct error *err)
{
    (void)err;
    ahead_copy(ahead, shelf_of(journal)->held);
    return 0;
}

static int memory_each(struct journal *journal, const char *kind, journal_record_fn fn,
                       void *context, struct error *err)
{
    struct shelf *shelf = shelf_of(journal);
    void *value;

    for (size_t i = 0; map_next(shelf->records, &i, NULL, &value);) {
        const struct record *record = value;

        if (text_equal(record->kind, kind) &&
            fn(context, record->id, record->rev, record->value, err) < 0)
            return -1;
    }
    return 0;
}

static int memory_each_claim(struct journal *journal, journal_claim_fn fn, void *context,
                             struct error *err)
{
    return ahead_each_claim(shelf_of(journal)->held, fn, context, err);
}

static json_t *memory_events(struct journal *journal, size_t count, struct error *err)
{
    struct shelf *shelf = shelf_of(journal);
    size_t all = json_array_size(shelf->events);
    json_t *out = json_array();

    (void)err;
    for (size_t i = count < all ? all - count : 0; i < all; i++)
        json_array_append(out, json_array_get(shelf->events, i));
    return out;
}

/* Numbers begin at 1, and none is left out. */
static json_t *memory_events_after(struct journal *journal, int64_t seq, size_t count,
                                   struct error *err)
{
    const json_t *events = shelf_of(journal)->events;
    json_t *out = json_array();

    (void)err;
    for (size_t i = (size_t)seq; i < json_array_size(events) && json_array_size(out) < count; i++)
        json_array_append(out, json_array_get(events, i));
    return out;
}

static void memory_close(struct journal *journal)
{
    struct shelf *shelf = shelf_of(journal);

    require(shelf->handles > 0);
    if (--shelf->handles == 0) {
        map_free(shelf->records);
        ahead_free(shelf->held);
        json_decref(shelf->events);
        mem_free(shelf);
    }
    mem_free(journal);
}

static const struct journal_verbs memory_verbs = {
    .keeps_values = true,
    .commit = memory_commit,
    .begin_epoch = memory_begin_epoch,
    .list = memory_list,
    .each = memory_each,
    .each_claim = memory_each_claim,
    .events = memory_events,
    .events_after = memory_events_after,
    .close = memory_close,
};

static struct journal *handle_new(struct shelf *shelf)
{
    struct memory *memory = mem_new(sizeof *memory);

    memory->journal.verbs = &memory_verbs;
    memory->journal.bound = (struct journal_bound)JOURNAL_BOUND_OF_DISK;
    memory->shelf = shelf;
    shelf->handles++;
    return &memory->journal;
}

struct journal *journal_memory_new(void)
{
    struct shelf *shelf = mem_new(sizeof *shelf);

    shelf->records = map_new(record_free);
    shelf->held = ahead_new();
    shelf->events = json_array();
    text_copy(shelf->hash, sizeof shelf->hash, journal_chain_start);
    return handle_new(shelf);
}

struct journal *journal_memory_share(struct journal *journal)
{
    require(journal->verbs == &memory_verbs);
    return handle_new(shelf_of(journal));
}
