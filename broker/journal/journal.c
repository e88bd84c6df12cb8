/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The chain of events, and the functions of journal.h: each calls the store in use.
 */
#include "broker/journal/journal.h"

#include "base/input/json.h"
#include "broker/journal/journal_ahead.h"
#include "broker/journal/journal_queue.h"
#include "broker/journal/journal_store.h"

#include <inttypes.h>
#include <string.h>

const char journal_chain_start[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

int journal_pass_gate(struct journal *journal, struct error *err)
{
    if (journal->gate && journal->gate(journal->gate_context) < 0)
        return error_set(err, ERROR_UNKNOWN_OUTCOME, "the journal does not answer");
    return 0;
}

int journal_refuse_old_epoch(struct error *err)
{
    return error_set(err, ERROR_DENIED, "another broker has taken over this journal");
}

int journal_write(struct journal *journal, const struct journal_batch *batch, struct error *err)
{
    require(journal->verbs->commit);
    if (journal_pass_gate(journal, err) < 0)
        return -1;
    return journal->verbs->commit(journal, batch, err);
}

/* For the queue: accepts the batch, or refuses it whole. */
static int take(struct journal *journal, const struct journal_batch *batch, struct error *err)
{
    const struct error *failure = queue_failure(journal->queue);

    require(journal->ahead);
    if (failure) {
        *err = *failure;
        return -1;
    }
    if (batch->epoch != journal->epoch)
        return journal_refuse_old_epoch(err);
    return ahead_take(journal->ahead, batch, err);
}

/* The size as it will be written; refuses a batch over the store's bound then. */
static int measure(const struct journal *journal, struct journal_batch *batch, struct error *err)
{
    if (journal_batch_fold(batch, err) < 0)
        return -1;
    journal_batch_print(batch, journal->verbs->keeps_values);
    return journal_batch_check(batch, &journal->bound, err);
}

/* Writes, now or in its turn, and frees. */
static int put_down(struct journal *journal, struct journal_batch *batch, struct error *err)
{
    owned(journal_batch) struct journal_batch *whole = batch;

    if (measure(journal, whole, err) < 0)
        return -1;
    if (!journal->queue)
        return journal_write(journal, whole, err);
    if (take(journal, whole, err) < 0)
        return -1;
    queue_add(journal->queue, steal(&whole));
    return 0;
}

void journal_later(struct journal *journal, struct journal_batch **batch)
{
    require(journal->put_off.count == 0 || journal->put_off.items[0]->epoch == (*batch)->epoch);
    require((*batch)->entries.count <= journal->bound.rows);
    journal_batch_print(*batch, journal->verbs->keeps_values); /* what is gathered has a size */
    *array_add(&journal->put_off) = steal(batch);
}

void journal_gather(struct journal *journal)
{
    require(!journal->is_gathering);
    journal->is_gathering = true;
}

bool journal_is_gathering(const struct journal *journal)
{
    return journal->is_gathering;
}

int journal_settle(struct journal *journal, struct error *err)
{
    int result = 0;

    require(!journal->is_gathering || journal->epoch > 0); /* a service begins its epoch first */
    journal->is_gathering = false;
    while (result == 0 && journal->put_off.count > 0)
        result = put_down(journal, journal_batches_take(&journal->put_off, &journal->bound, NULL),
                          err);
    journal_batches_clear(&journal->put_off);
    return result;
}

int journal_commit(struct journal *journal, struct journal_batch **batch, struct error *err)
{
    require(*batch);
    if (measure(journal, *batch, err) < 0) {
        journal_batch_free(steal(batch));
        return -1;
    }
    journal->commits++;
    if (journal->is_gathering) {
        journal_later(journal, batch);
        return 0;
    }
    if (journal_settle(journal, err) < 0) {
        journal_batch_free(steal(batch));
        err->kind = ERROR_UNKNOWN_OUTCOME; /* of others: nothing may be built on the journal */
        return -1;
    }
    return put_down(journal, steal(batch), err);
}

void journal_after(struct journal *journal, journal_after_fn fn, void *context)
{
    if (journal->queue)
        queue_after(journal->queue, fn, context);
    else
        fn(context, JOURNAL_KEPT);
}

uint64_t journal_commits(const struct journal *journal)
{
    return journal->commits;
}

int64_t journal_write_ms(const struct journal *journal)
{
    return journal->queue ? queue_write_ms(journal->queue) : 0;
}

void journal_forget(struct journal *journal)
{
    if (journal->queue)
        queue_forget(journal->queue);
    journal->on_failure = NULL;
}

void journal_on_failure(struct journal *journal, journal_failure_fn fn, void *context)
{
    const struct error *failure = journal->queue ? queue_failure(journal->queue) : NULL;

    journal->on_failure = fn;
    journal->failure_context = context;
    if (failure)
        fn(context, failure);
}

static int list_ahead(struct journal *journal, struct error *err)
{
    ahead_free(journal->ahead);
    journal->ahead = ahead_new();
    return journal->verbs->list(journal, journal->ahead, err);
}

int journal_write_by_thread(struct journal *journal, struct loop *loop, struct error *err)
{
    require(!journal->queue && journal->verbs->commit);
    if (list_ahead(journal, err) < 0)
        return -1;
    journal->queue = queue_new_thread(journal, loop, err);
    return journal->queue ? 0 : -1;
}

int journal_write_slowly(struct journal *journal, struct loop *loop, int64_t delay_ms,
                         struct error *err)
{
    require(!journal->queue && journal->verbs->commit);
    journal->queue = queue_new_timer(journal, loop, delay_ms);
    return list_ahead(journal, err);
}

int journal_write_by_store(struct journal *journal, struct loop *loop, struct error *err)
{
    require(!journal->queue && journal->verbs->send && journal->verbs->abandon);
    journal->queue = queue_new_store(journal, loop);
    return list_ahead(journal, err);
}

/* Commits that a dead process had gathered, or accepted and not written, are lost with it. */
int journal_begin_epoch(struct journal *journal, uint64_t *ret_epoch, struct error *err)
{
    journal_batches_clear(&journal->put_off);
    journal->is_gathering = false;
    if (journal->queue)
        queue_drop(journal->queue);
    if (journal->verbs->begin_epoch(journal, ret_epoch, err) < 0)
        return -1;
    require(*ret_epoch > journal->epoch);
    journal->epoch = *ret_epoch;
    return journal->queue ? list_ahead(journal, err) : 0;
}

int journal_each(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                 struct error *err)
{
    if (journal->queue)
        queue_wait(journal->queue);
    return journal->verbs->each(journal, kind, fn, context, err);
}

int journal_each_claim(struct journal *journal, journal_claim_fn fn, void *context,
                       struct error *err)
{
    if (journal->queue)
        queue_wait(journal->queue);
    return journal->verbs->each_claim(journal, fn, context, err);
}

json_t *journal_events(struct journal *journal, size_t count, struct error *err)
{
    if (journal->queue)
        queue_wait(journal->queue);
    return journal->verbs->events(journal, count, err);
}

json_t *journal_events_after(struct journal *journal, int64_t seq, size_t count, struct error *err)
{
    require(seq >= 0 && count > 0);
    if (journal->queue)
        queue_wait(journal->queue);
    return journal->verbs->events_after(journal, seq, count, err);
}

/* Events are numbered from 1 without a gap. */
json_t *journal_events_before(struct journal *journal, int64_t seq, size_t count, struct error *err)
{
    owned(json) json_t *newest = journal_events(journal, 1, err);
    int64_t last = json_int_or(json_array_get(newest, 0), "seq", 0);
    int64_t older = seq - 1 < last ? seq - 1 : last;
    size_t most = (uint64_t)older < count ? (size_t)older : count;

    require(seq > 0 && count > 0);
    if (!newest)
        return NULL;
    return most > 0 ? journal_events_after(journal, older - (int64_t)most, most, err)
                    : json_array();
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    queue_free(steal(&journal->queue));
    ahead_free(journal->ahead);
    journal_batches_clear(&journal->put_off);
    journal_asides_clear(journal);
    journal->verbs->close(journal);
}

void journal_set_gate(struct journal *journal, journal_gate_fn gate, void *context)
{
    require(gate || !context);
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
    json_array_foreach(events, i, row) {
        /* The event before the first requested one only gives the hash to which the chain must
           fit. */
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
