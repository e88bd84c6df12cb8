/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records that cannot be read are set aside: kept under a kind of their own, and reported, so that
 * one of them does not stop the others.
 */
#include "base/input/json.h"
#include "broker/journal/journal_store.h"

#include <inttypes.h>

/* A reading of records, and the caller's function. */
struct reading {
    struct journal *journal;
    const char *kind;
    journal_record_fn fn;
    void *context;
};

static int read_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    const struct reading *reading = context;
    struct journal_aside *aside;

    require(rev > 0 && value);
    if (reading->fn(reading->context, id, rev, value, err) == 0)
        return 0;
    if (err->kind != ERROR_CORRUPT)
        return -1;
    aside = array_add(&reading->journal->asides);
    aside->kind = mem_copy_chars(reading->kind);
    aside->id = mem_copy_chars(id);
    aside->rev = rev;
    aside->value = json_deep_copy(value);
    aside->why = mem_copy_chars(err->text);
    return 0;
}

int journal_load(struct journal *journal, const char *kind, journal_record_fn fn, void *context,
                 struct error *err)
{
    struct reading reading = { journal, kind, fn, context };

    return journal_each(journal, kind, read_one, &reading, err);
}

const struct journal_aside *journal_asides(const struct journal *journal, size_t *ret_count)
{
    *ret_count = journal->asides.count;
    return journal->asides.items;
}

void journal_asides_clear(struct journal *journal)
{
    for (size_t i = 0; i < journal->asides.count; i++) {
        mem_free(journal->asides.items[i].kind);
        mem_free(journal->asides.items[i].id);
        mem_free(journal->asides.items[i].why);
        json_decref(journal->asides.items[i].value);
    }
    array_clear(&journal->asides);
}

json_t *journal_put_aside(struct journal_batch *batch, const struct journal_aside *aside,
                          struct wall_time at)
{
    /* set aside twice at different times, the same record is two */
    owned(chars) char *id = text_format("%s %s %" PRId64, aside->kind, aside->id, at.ms);
    json_t *value = json_make("{ss ss sI sO ss sI}", "kind", aside->kind, "id", aside->id, "rev",
                              (json_int_t)aside->rev, "value", aside->value, "why", aside->why,
                              "at", (json_int_t)at.ms);
    owned(json) json_t *event = json_make("{ss ss ss ss}", "event", "record_set_aside", "kind",
                                          aside->kind, "id", aside->id, "why", aside->why);

    require(!text_equal(aside->kind, JOURNAL_UNREADABLE)); /* it would be set aside forever */
    journal_remove(batch, aside->kind, aside->id, aside->rev);
    journal_put(batch, JOURNAL_UNREADABLE, id, 0, value);
    journal_event(batch, at, event);
    return value;
}
