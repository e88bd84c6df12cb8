/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See lead_book.h.
 */
#include "broker/transfer/lead_book.h"

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"

struct lead_book {
    struct map *routes; /* leads_route() -> struct leads */
};

struct lead_book *lead_book_new(const struct config *config)
{
    struct lead_book *book = mem_new(sizeof *book);

    book->routes = map_new(mem_free);
    for (size_t i = 0; i < config->pool_count; i++) {
        owned(chars) char *route = leads_route(&config->pools[i]);
        struct leads *leads;

        if (map_get(book->routes, route))
            continue;
        leads = mem_new(sizeof *leads);
        leads->prior = &config->lead;
        map_set(book->routes, route, leads);
    }
    return book;
}

void lead_book_free(struct lead_book *book)
{
    if (!book)
        return;
    map_free(book->routes);
    mem_free(book);
}

static struct leads *find(const struct lead_book *book, const struct config_pool *pool)
{
    owned(chars) char *route = leads_route(pool);
    struct leads *leads = map_get(book->routes, route);

    require(leads);
    return leads;
}

const struct leads *lead_book_of(const struct lead_book *book, const struct config_pool *pool)
{
    return find(book, pool);
}

/* Until the machine is gone the source teaches, then the pool where the new one is made. */
static struct leads *route_of(const struct lead_book *book, const struct transfer *transfer)
{
    return find(book, transfer->step < STEP_ACQUIRE ? transfer->source : transfer_goal(transfer));
}

void lead_book_add_step(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                        bool is_censored)
{
    lead_series_add(&route_of(book, transfer)->steps[transfer->step], ms, is_censored);
}

void lead_book_add_whole(struct lead_book *book, const struct transfer *transfer, int64_t ms,
                         bool is_censored)
{
    lead_series_add(&find(book, transfer->target)->whole, ms, is_censored);
}

void lead_book_put(const struct lead_book *book, const struct transfer *transfer,
                   struct journal_batch *batch)
{
    const struct leads *leads = find(book, transfer->target);
    owned(chars) char *route = leads_route(transfer->target);
    owned(json) json_t *value = leads_encode(leads);

    journal_put(batch, "leads", route, leads->rev, value);
}

void lead_book_was_put(struct lead_book *book, const struct transfer *transfer)
{
    find(book, transfer->target)->rev++;
}

static int load_route(void *context, const char *id, uint64_t rev, const json_t *value,
                      struct error *err)
{
    struct lead_book *book = context;
    struct leads *leads = map_get(book->routes, id);

    if (!leads)
        return 0;
    leads->rev = rev;
    return leads_decode(leads, value, err);
}

int lead_book_load(struct lead_book *book, struct journal *journal, struct error *err)
{
    return journal_each(journal, "leads", load_route, book, err);
}

json_t *lead_book_describe(const struct lead_book *book)
{
    json_t *rows = json_array();
    const char *route;
    void *leads;

    for (size_t i = 0; map_next(book->routes, &i, &route, &leads);) {
        json_t *row = leads_describe(leads);

        json_object_set_new(row, "route", json_string(route));
        json_array_append_new(rows, row);
    }
    return rows;
}
