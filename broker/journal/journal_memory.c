/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal in memory: simulations and tests.  It outlives the service that writes to it, so a
 * test can end a service at any point and start another one on what was promised.
 */
#include "base/json.h"
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

struct memory {
    struct journal journal;
    uint64_t epoch;
    struct map *records; /* "kind/id" -> struct record */
    struct ahead *held;  /* their revisions, and the claims */
    json_t *events;
    char hash[SHA256_TEXT_SIZE];
};

static void record_free(void *value)
{
    struct record *record = value;

    mem_free(record->kind);
    mem_free(record->id);
    json_decref(record->value);
    mem_free(record);
}

static void put(struct memory *memory, const struct journal_entry *entry)
{
    owned(chars) char *key = text_format("%s/%s", entry->name, entry->id);
    struct record *record = mem_new(sizeof *record);

    record->kind = mem_copy_chars(entry->name);
    record->id = mem_copy_chars(entry->id);
    record->rev = entry->rev + 1;
    record->value = json_deep_copy(entry->value);
    map_set(memory->records, key, record);
}

static void append(struct memory *memory, const struct journal_entry *entry)
{
    owned(chars) char *text = json_print(entry->value);

    require(json_array_size(memory->events) < EVENTS_KEPT_MAX);
    journal_chain(memory->hash, entry->at, text, memory->hash);
    json_array_append_new(memory->events, json_make("{sIsIsssO}", "seq",
                                                    (json_int_t)json_array_size(memory->events) + 1,
                                                    "at", (json_int_t)entry->at.ms, "hash",
                                                    memory->hash, "event", entry->value));
}

static void apply(struct memory *memory, const struct journal_entry *entry)
{
    owned(chars) char *key = text_format("%s/%s", entry->name ?: "", entry->id ?: "");

    switch (entry->operation) {
    case JOURNAL_PUT:
        put(memory, entry);
        break;
    case JOURNAL_REMOVE:
        map_remove(memory->records, key);
        break;
    case JOURNAL_CLAIM:
    case JOURNAL_RELEASE:
        break; /* taken with the batch */
    case JOURNAL_EVENT:
        append(memory, entry);
        break;
    }
}

static int memory_commit(struct journal *journal, const struct journal_batch *batch,
                         struct error *err)
{
    struct memory *memory = (struct memory *)journal;

    if (batch->epoch != memory->epoch)
        return error_set(err, ERROR_DENIED, "another broker has taken over this journal");
    if (ahead_take(memory->held, batch, err) < 0)
        return -1;
    for (size_t i = 0; i < batch->entries.count; i++)
        apply(memory, &batch->entries.items[i]);
    return 0;
}

static int memory_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    struct memory *memory = (struct memory *)journal;

    (void)err;
    *ret_epoch = ++memory->epoch;
    return 0;
}

static int memory_list(struct journal *journal, struct ahead *ahead, struct error *err)
{
    (void)err;
    ahead_copy(ahead, ((struct memory *)journal)->held);
    return 0;
}

static int memory_each(struct journal *journal, const char *kind, journal_record_fn fn,
                       void *context, struct error *err)
{
    struct memory *memory = (struct memory *)journal;
    void *value;

    for (size_t i = 0; map_next(memory->records, &i, NULL, &value);) {
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
    return ahead_each_claim(((struct memory *)journal)->held, fn, context, err);
}

static json_t *memory_events(struct journal *journal, size_t count, struct error *err)
{
    struct memory *memory = (struct memory *)journal;
    size_t all = json_array_size(memory->events);
    json_t *out = json_array();

    (void)err;
    for (size_t i = count < all ? all - count : 0; i < all; i++)
        json_array_append(out, json_array_get(memory->events, i));
    return out;
}

static void memory_close(struct journal *journal)
{
    struct memory *memory = (struct memory *)journal;

    map_free(memory->records);
    ahead_free(memory->held);
    json_decref(memory->events);
    mem_free(memory);
}

static const struct journal_verbs memory_verbs = {
    .commit = memory_commit,
    .begin_epoch = memory_begin_epoch,
    .list = memory_list,
    .each = memory_each,
    .each_claim = memory_each_claim,
    .events = memory_events,
    .close = memory_close,
};

struct journal *journal_memory_new(void)
{
    struct memory *memory = mem_new(sizeof *memory);

    memory->journal.verbs = &memory_verbs;
    memory->records = map_new(record_free);
    memory->held = ahead_new();
    memory->events = json_array();
    text_copy(memory->hash, sizeof memory->hash, journal_chain_start);
    return &memory->journal;
}
