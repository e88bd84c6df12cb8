/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A store over the network, as a test has it: what is written takes 25 ms to the server, and the
 * answer as long again, in later turns of the loop.  The server is a journal in memory, which
 * several handles may share.  A request whose sender has ended arrives all the same.
 */
#pragma once

#include "base/world/loop.h"
#include "broker/journal/journal_ahead.h"
#include "broker/journal/journal_store.h"

enum { REMOTE_WAY_MS = 25 };

struct remote;

/* One request. */
struct flight {
    struct remote *remote;
    struct journal_batch *batch; /* as it was sent; NULL: it has arrived */
    struct timer *timer;
    journal_written_fn done; /* NULL: no caller waits for the answer */
    void *context;
    int result;
    struct error err;
};

struct remote {
    struct journal journal;
    struct journal *server;
    struct loop *loop;
    ARRAY(struct flight *) flights;
    bool loses_answers; /* what arrives is written, and no answer comes */
};

static inline void flight_free(struct flight *flight)
{
    timer_free(flight->timer);
    journal_batch_free(flight->batch);
    mem_free(flight);
}

static inline void flight_end(struct flight *flight)
{
    struct remote *remote = flight->remote;

    for (size_t i = 0; i < remote->flights.count; i++)
        if (remote->flights.items[i] == flight) {
            array_remove(&remote->flights, i);
            break;
        }
    flight_free(flight);
}

static inline void flight_lands(void *context)
{
    struct flight *flight = context;
    const struct journal *server = flight->remote->server;
    journal_written_fn done = flight->done;
    struct error err = flight->err;
    int result = flight->result;

    if (flight->batch) {
        flight->result = journal_pass_gate(&flight->remote->journal, &flight->err);
        if (flight->result == 0)
            flight->result = server->verbs->commit(flight->remote->server, flight->batch,
                                                   &flight->err);
        journal_batch_free(steal(&flight->batch));
        timer_set(flight->timer, REMOTE_WAY_MS);
        return;
    }
    if (flight->remote->loses_answers)
        result = error_set(&err, ERROR_UNKNOWN_OUTCOME, "the server does not answer");
    context = flight->context;
    flight_end(flight);
    if (done)
        done(context, result, &err);
}

static inline struct journal_batch *batch_copy(const struct journal_batch *batch)
{
    struct journal_batch *copy = journal_batch_new(batch->epoch);

    for (size_t i = 0; i < batch->entries.count; i++) {
        struct journal_entry *entry = array_add(&copy->entries);

        *entry = batch->entries.items[i];
        entry->name = entry->name ? mem_copy_chars(entry->name) : NULL;
        entry->id = entry->id ? mem_copy_chars(entry->id) : NULL;
        entry->text = entry->text ? mem_copy_chars(entry->text) : NULL;
        json_incref(entry->value);
    }
    return copy;
}

static inline void remote_send(struct journal *journal, const struct journal_batch *batch,
                               journal_written_fn done, void *context)
{
    struct remote *remote = (struct remote *)journal;
    struct flight *flight = mem_new(sizeof *flight);

    flight->remote = remote;
    flight->batch = batch_copy(batch);
    flight->timer = timer_new(remote->loop, flight_lands, flight);
    flight->done = done;
    flight->context = context;
    *array_add(&remote->flights) = flight;
    timer_set(flight->timer, REMOTE_WAY_MS);
}

static inline void remote_abandon(struct journal *journal)
{
    struct remote *remote = (struct remote *)journal;

    for (size_t i = 0; i < remote->flights.count; i++)
        remote->flights.items[i]->done = NULL;
}

static inline struct journal *remote_server(struct journal *journal)
{
    return ((struct remote *)journal)->server;
}

static inline int remote_begin_epoch(struct journal *journal, uint64_t *ret_epoch,
                                     struct error *err)
{
    struct journal *server = remote_server(journal);

    return server->verbs->begin_epoch(server, ret_epoch, err);
}

static inline int remote_list(struct journal *journal, struct ahead *ahead, struct error *err)
{
    struct journal *server = remote_server(journal);

    return server->verbs->list(server, ahead, err);
}

static inline int remote_each(struct journal *journal, const char *kind, journal_record_fn fn,
                              void *context, struct error *err)
{
    return journal_each(remote_server(journal), kind, fn, context, err);
}

static inline int remote_each_claim(struct journal *journal, journal_claim_fn fn, void *context,
                                    struct error *err)
{
    return journal_each_claim(remote_server(journal), fn, context, err);
}

static inline json_t *remote_events(struct journal *journal, size_t count, struct error *err)
{
    return journal_events(remote_server(journal), count, err);
}

static inline json_t *remote_events_after(struct journal *journal, int64_t seq, size_t count,
                                          struct error *err)
{
    return journal_events_after(remote_server(journal), seq, count, err);
}

static inline void remote_close(struct journal *journal)
{
    struct remote *remote = (struct remote *)journal;

    for (size_t i = 0; i < remote->flights.count; i++)
        flight_free(remote->flights.items[i]);
    array_clear(&remote->flights);
    journal_close(remote->server);
    mem_free(remote);
}

static const struct journal_verbs remote_verbs = {
    .keeps_values = true, /* its server does */
    .send = remote_send,
    .abandon = remote_abandon,
    .begin_epoch = remote_begin_epoch,
    .list = remote_list,
    .each = remote_each,
    .each_claim = remote_each_claim,
    .events = remote_events,
    .events_after = remote_events_after,
    .close = remote_close,
};

/* server: what another handle has, or NULL for a new one. */
static inline struct journal *remote_open(struct journal *server, struct loop *loop)
{
    struct remote *remote = mem_new(sizeof *remote);
    struct error err = { 0 };

    remote->journal.verbs = &remote_verbs;
    remote->journal.bound = (struct journal_bound){ .rows = 2000, .bytes = 1 << 20 };
    remote->server = server ? journal_memory_share(server) : journal_memory_new();
    remote->loop = loop;
    if (journal_write_by_store(&remote->journal, loop, &err) < 0)
        require(false); /* in memory nothing fails */
    return &remote->journal;
}
