/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Batches, the chain of events, and the way to an implementation.
 */
#include "broker/journal/journal.h"

#include "base/json.h"
#include "broker/journal/journal_store.h"

#include <inttypes.h>
#include <string.h>

const char journal_chain_start[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

struct journal_batch *journal_batch_new(uint64_t epoch)
{
    struct journal_batch *batch = mem_new(sizeof *batch);

    batch->epoch = epoch;
    return batch;
}

void journal_batch_free(struct journal_batch *batch)
{
    if (!batch)
        return;
    for (size_t i = 0; i < batch->entries.count; i++) {
        mem_free(batch->entries.items[i].name);
        mem_free(batch->entries.items[i].id);
        json_decref(batch->entries.items[i].value);
    }
    array_clear(&batch->entries);
    mem_free(batch);
}

static struct journal_entry *add(struct journal_batch *batch, enum journal_operation operation,
                                 const char *name, const char *id)
{
    struct journal_entry *entry = array_add(&batch->entries);

    entry->operation = operation;
    entry->name = mem_copy_chars(name);
    entry->id = mem_copy_chars(id);
    return entry;
}

void journal_put(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev,
                 json_t *value)
{
    struct journal_entry *entry = add(batch, JOURNAL_PUT, kind, id);

    entry->rev = rev;
    entry->value = json_incref(value);
}

void journal_remove(struct journal_batch *batch, const char *kind, const char *id, uint64_t rev)
{
    add(batch, JOURNAL_REMOVE, kind, id)->rev = rev;
}

void journal_claim(struct journal_batch *batch, const char *name, const char *holder)
{
    add(batch, JOURNAL_CLAIM, name, holder);
}

void journal_release(struct journal_batch *batch, const char *name, const char *holder)
{
    add(batch, JOURNAL_RELEASE, name, holder);
}

void journal_event(struct journal_batch *batch, struct wall_time at, json_t *event)
{
    struct journal_entry *entry = add(batch, JOURNAL_EVENT, NULL, NULL);

    entry->at = at;
    entry->value = json_incref(event);
}

/* Writes and frees. */
static int write_batch(struct journal *journal, struct journal_batch *batch, struct error *err)
{
    owned(journal_batch) struct journal_batch *whole = batch;

    if (journal->gate && journal->gate(journal->gate_context) < 0)
        return error_set(err, ERROR_UNKNOWN_OUTCOME, "the journal does not answer");
    return journal->verbs->commit(journal, whole, err);
}

void journal_later(struct journal *journal, struct journal_batch **batch)
{
    owned(journal_batch) struct journal_batch *more = steal(batch);
    struct journal_batch *put_off = journal->put_off;

    if (!put_off) {
        journal->put_off = steal(&more);
        return;
    }
    require(put_off->epoch == more->epoch);
    for (size_t i = 0; i < more->entries.count; i++)
        *array_add(&put_off->entries) = more->entries.items[i];
    more->entries.count = 0; /* they are the other one's now */
}

void journal_gather(struct journal *journal)
{
    journal->is_gathering = true;
}

bool journal_is_gathering(const struct journal *journal)
{
    return journal->is_gathering;
}

int journal_settle(struct journal *journal, struct error *err)
{
    journal->is_gathering = false;
    return journal->put_off ? write_batch(journal, steal(&journal->put_off), err) : 0;
}

int journal_commit(struct journal *journal, struct journal_batch **batch, struct error *err)
{
    if (journal->is_gathering) {
        journal_later(journal, batch);
        return 0;
    }
    if (journal_settle(journal, err) < 0) {
        journal_batch_free(steal(batch));
        err->kind = ERROR_UNKNOWN_OUTCOME; /* of others: nothing may be built on the journal */
        return -1;
    }
    return write_batch(journal, steal(batch), err);
}

/* What a dead process had put off is lost with it. */
int journal_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    journal_batch_free(steal(&journal->put_off));
    journal->is_gathering = false;
    return journal->verbs->begin_epoch(journal, ret_epoch, err);
}

int journal_each(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                 struct error *err)
{
    return journal->verbs->each(journal, kind, fn, context, err);
}

json_t *journal_events(struct journal *journal, size_t count, struct error *err)
{
    return journal->verbs->events(journal, count, err);
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    journal_batch_free(steal(&journal->put_off));
    journal->verbs->close(journal);
}

void journal_set_gate(struct journal *journal, journal_gate_fn gate, void *context)
{
    journal->gate = gate;
    journal->gate_context = context;
}

void journal_chain(const char *before, struct wall_time at, const char *event_text,
                   char out[SHA256_TEXT_SIZE])
{
    owned(chars) char *joined = text_format("%s%" PRId64 "%s", before, at.ms, event_text);

    crypto_sha256_text(joined, strlen(joined), out);
}

int journal_verify(struct journal *journal, size_t count, struct error *err)
{
    owned(json) json_t *events = journal_events(journal, count < SIZE_MAX ? count + 1 : count, err);
    char hash[SHA256_TEXT_SIZE];
    json_t *row;
    size_t i;

    if (!events)
        return -1;

    text_copy(hash, sizeof hash, journal_chain_start);
    json_array_foreach(events, i, row)
    {
        /* The event before the first one that is asked for gives the chain's hold. */
        if (i == 0 && json_int_or(row, "seq", 0) > 1) {
            text_copy(hash, sizeof hash, json_text_or(row, "hash", ""));
            continue;
        }
        owned(chars) char *event = json_print(json_object_get(row, "event"));

        journal_chain(hash, (struct wall_time){ json_int_or(row, "at", 0) }, event, hash);
        if (!text_equal(hash, json_text_or(row, "hash", "")))
            return error_set(err, ERROR_CORRUPT,
                             "event %lld of the journal was changed after it was written",
                             (long long)json_int_or(row, "seq", 0));
    }
    return 0;
}
