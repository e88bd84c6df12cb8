/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See lead_book.h.
 */
#include "broker/transfer/lead_book.h"

#include "base/input/json.h"
#include "base/map.h"
#include "base/text.h"

#include <string.h>

struct lead_book {
    struct map *by_key; /* key_of() -> struct leads */
};

static const char to_research[] = "/to-research";

/* Lead times from production include the wait for replicas; a reclaim's promise must not include
   it.  So this direction has a key of its own, and moves to production have the plain key. */
static char *key_of(const struct config_pool *pool, enum cluster_role to)
{
    owned(chars) char *key = leads_key(pool);

    return text_format("%s%s", key, to == ROLE_RESEARCH ? to_research : "");
}

static void add_key(struct lead_book *book, const struct config *config,
                    const struct config_pool *pool, enum cluster_role to)
{
    owned(chars) char *key = key_of(pool, to);
    struct leads *leads;

    if (map_get(book->by_key, key))
        return;
    leads = mem_new(sizeof *leads);
    leads->prior = &config->lead;
    map_set(book->by_key, key, leads);
}

struct lead_book *lead_book_new(const struct config *config)
{
    struct lead_book *book = mem_new(sizeof *book);

    book->by_key = map_new(mem_free);
    for (size_t i = 0; i < config->pool_count; i++) {
        add_key(book, config, &config->pools[i], ROLE_PRODUCTION);
        add_key(book, config, &config->pools[i], ROLE_RESEARCH);
    }
    return book;
}

void lead_book_free(struct lead_book *book)
{
    if (!book)
        return;
    map_free(book->by_key);
    mem_free(book);
}

static struct leads *find(const struct lead_book *book, const struct config_pool *pool,
                          enum cluster_role to)
{
    owned(chars) char *key = key_of(pool, to);
    struct leads *leads = map_get(book->by_key, key);

    require(leads);
    return leads;
}

const struct leads *lead_book_of(const struct lead_book *book, const struct config_pool *pool)
{
    return find(book, pool, pool->cluster->role);
}

static struct leads *leads_of(const struct lead_book *book, const struct transfer *transfer)
{
    return find(book, transfer->target, transfer->target->cluster->role);
}

/* Until the machine is gone the origin's lead times are learned, then those of the pool where the
   new one is made. */
static struct leads *leads_here(const struct lead_book *book, const struct transfer *transfer)
{
    return find(book, transfer->step < STEP_ACQUIRE ? transfer->source : transfer_goal(transfer),
                transfer->target->cluster->role);
}

void lead_book_add_step(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                        bool is_censored)
{
    lead_series_add(&leads_here(book, transfer)->steps[transfer->step], ms, is_censored);
}

void lead_book_add_whole(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                         bool is_censored)
{
    lead_series_add(&leads_of(book, transfer)->whole, ms, is_censored);
}

void lead_book_put(const struct lead_book *book, const struct transfer *transfer,
                   struct journal_batch *batch)
{
    const struct leads *leads = leads_of(book, transfer);
    owned(chars) char *key = key_of(transfer->target, transfer->target->cluster->role);
    owned(json) json_t *value = leads_encode(leads);

    journal_put(batch, "leads", key, leads->rev, value);
}

void lead_book_was_put(struct lead_book *book, const struct transfer *transfer)
{
    leads_of(book, transfer)->rev++;
}

static int load_key(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct lead_book *book = context;
    struct leads *leads = map_get(book->by_key, id);
    struct leads before;

    if (!leads)
        return 0;
    before = *leads;
    if (leads_decode(leads, value, err) < 0) {
        *leads = before;
        return -1;
    }
    leads->rev = rev;
    return 0;
}

int lead_book_load(struct lead_book *book, struct journal *journal, struct error *err)
{
    return journal_load(journal, "leads", load_key, book, err);
}

json_t *lead_book_describe(const struct lead_book *book)
{
    json_t *rows = json_array();
    const char *key;
    void *leads;

    for (size_t i = 0; map_next(book->by_key, &i, &key, &leads);) {
        json_t *row = leads_describe(leads);

        json_object_set_new(row, "key", json_text(key));
        json_object_set_new(row, "direction",
                            json_text(strstr(key, to_research) ? "to_research" : "to_production"));
        json_array_append_new(rows, row);
    }
    return rows;
}
