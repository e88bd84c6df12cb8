/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The journal in memory: simulations and tests.  It outlives the service that writes to it, so a
 * test can end a service at any point and start another one on what was promised.
 */
#include "base/json.h"
#include "base/map.h"
#include "broker/journal/journal_store.h"

#include <inttypes.h>

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
    struct map *claims;  /* name -> holder */
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

/* What the entries of a batch before the present one would have left: later ones build on it. */
struct outlook {
    const struct memory *memory;
    struct map *revs;    /* "kind/id" -> uint64_t, 0: removed */
    struct map *holders; /* name -> holder, "": released */
};

static int check_record(struct outlook *outlook, const struct journal_entry *entry,
                        struct error *err)
{
    owned(chars) char *key = text_format("%s/%s", entry->name, entry->id);
    const struct record *record = map_get(outlook->memory->records, key);
    const uint64_t *ahead = map_get(outlook->revs, key);
    uint64_t rev = ahead ? *ahead : record ? record->rev : 0;
    uint64_t *next;

    if (rev != entry->rev || (entry->operation == JOURNAL_REMOVE && rev == 0))
        return error_set(err, ERROR_CONFLICT, "%s is at revision %" PRIu64 ", not at %" PRIu64, key,
                         rev, entry->rev);
    next = mem_new(sizeof *next);
    *next = entry->operation == JOURNAL_PUT ? rev + 1 : 0;
    map_set(outlook->revs, key, next);
    return 0;
}

static int check_claim(struct outlook *outlook, const struct journal_entry *entry,
                       struct error *err)
{
    const char *holder = map_get(outlook->holders, entry->name)
                             ?: map_get(outlook->memory->claims, entry->name)
                             ?: "";

    if (entry->operation == JOURNAL_CLAIM) {
        if (holder[0] != '\0' && !text_equal(holder, entry->id))
            return error_set(err, ERROR_CONFLICT, "%s is claimed by %s", entry->name, holder);
        map_set(outlook->holders, entry->name, mem_copy_chars(entry->id));
    } else if (text_equal(holder, entry->id)) {
        map_set(outlook->holders, entry->name, mem_copy_chars(""));
    }
    return 0;
}

/* Whether every entry can be applied in its turn; nothing is changed here, so that a batch is whole
   or not. */
static int check(const struct memory *memory, const struct journal_batch *batch, struct error *err)
{
    owned(map) struct map *revs = map_new(mem_free);
    owned(map) struct map *holders = map_new(mem_free);
    struct outlook outlook = { memory, revs, holders };
    int result = 0;

    for (size_t i = 0; i < batch->entries.count && result == 0; i++) {
        const struct journal_entry *entry = &batch->entries.items[i];

        switch (entry->operation) {
        case JOURNAL_PUT:
        case JOURNAL_REMOVE:
            result = check_record(&outlook, entry, err);
            break;
        case JOURNAL_CLAIM:
        case JOURNAL_RELEASE:
            result = check_claim(&outlook, entry, err);
            break;
        case JOURNAL_EVENT:
            break;
        }
    }
    return result;
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
        map_set(memory->claims, entry->name, mem_copy_chars(entry->id));
        break;
    case JOURNAL_RELEASE:
        if (text_equal(map_get(memory->claims, entry->name), entry->id))
            map_remove(memory->claims, entry->name);
        break;
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
    if (check(memory, batch, err) < 0)
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
    map_free(memory->claims);
    json_decref(memory->events);
    mem_free(memory);
}

static const struct journal_verbs memory_verbs = {
    .commit = memory_commit,
    .begin_epoch = memory_begin_epoch,
    .each = memory_each,
    .events = memory_events,
    .close = memory_close,
};

struct journal *journal_memory_new(void)
{
    struct memory *memory = mem_new(sizeof *memory);

    memory->journal.verbs = &memory_verbs;
    memory->records = map_new(record_free);
    memory->claims = map_new(mem_free);
    memory->events = json_array();
    text_copy(memory->hash, sizeof memory->hash, journal_chain_start);
    return &memory->journal;
}
