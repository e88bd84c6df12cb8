/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service's ledger: looks twice a minute what is lent and in transit, and stores the sums every
 * five minutes, and with each loss.  Time without a look, or in which a pool was not seen,
 * counts as unseen: not as lent, and not as nothing.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

enum {
    LOOK_MS = 30 * SECOND_MS,
    GAP_MS = 3 * MINUTE_MS, /* after a longer pause what was between is not known */
    STORE_MS = 5 * MINUTE_MS,
};

static const char record_id[] = "gpu_seconds";

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;

    if (!text_equal(id, record_id))
        return 0;
    if (ledger_decode(&service->ledger, value, err) < 0)
        return -1;
    service->ledger_rev = rev;
    return 0;
}

int meters_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "ledger", load_one, service, err);
}

static bool is_any(const void *context, const struct node *node)
{
    (void)context;
    (void)node;
    return true;
}

static void look_at(struct service *service, const struct config_pool *pool, double seconds,
                    bool is_gap)
{
    double gpus = (double)pool->reservation->gpus_per_node;
    struct ledger_sums more = { 0 };
    struct error why;

    if (pool->cluster->role == ROLE_RESEARCH && (is_gap || !survey_knows(service, pool, &why))) {
        more.unseen_s = seconds;
    } else if (pool->cluster->role == ROLE_RESEARCH) {
        int64_t nodes = supply_nodes(service, pool, is_any, NULL) - pool->static_nodes;

        more.lent_gpu_s = nodes > 0 ? seconds * gpus * (double)nodes : 0;
    }
    ledger_add(&service->ledger, pool->name, &more);
}

static void look_at_transfers(struct service *service, double seconds)
{
    const struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(service->runner, &i));) {
        const struct ledger_sums more = {
            .transit_gpu_s = seconds * (double)transfer->source->reservation->gpus_per_node
        };

        if (transfer->cordoned.ms > 0)
            ledger_add(&service->ledger, transfer->source->name, &more);
    }
}

static void on_stored(void *context, enum journal_fate fate)
{
    struct service *service = context;

    service->is_storing_ledger = false;
    if (fate == JOURNAL_KEPT)
        ledger_keep(&service->ledger);
}

/* One commit is under way at a time: what is kept is then what was sent last. */
static void store(struct service *service)
{
    struct journal_batch *batch;
    owned(json) json_t *value = NULL;
    struct error err;

    if (service->is_storing_ledger || !service->ledger.is_changed)
        return;
    value = ledger_encode(&service->ledger);
    batch = journal_batch_new(service->epoch);
    journal_put(batch, "ledger", record_id, service->ledger_rev, value);
    if (journal_commit(service->world->journal, &batch, &err) < 0) {
        runner_break(service->runner, &err);
        return;
    }
    service->ledger_rev++;
    service->is_storing_ledger = true;
    service->ledger_stored_ms = loop_now(service->world->loop);
    journal_after(service->world->journal, on_stored, service);
}

void meters_look(struct service *service)
{
    int64_t now_ms = loop_now(service->world->loop);
    int64_t since_ms = now_ms - service->ledger_looked_ms;
    double seconds = (double)since_ms / SECOND_MS;

    if (service->runner->is_broken)
        return;
    if (service->ledger_looked_ms == 0) { /* the first look: nothing was before */
        service->ledger_looked_ms = service->ledger_stored_ms = now_ms;
        return;
    }
    if (since_ms < LOOK_MS)
        return;
    service->ledger_looked_ms = now_ms;
    for (size_t i = 0; i < service->config->pool_count; i++)
        look_at(service, &service->config->pools[i], seconds, since_ms > GAP_MS);
    if (since_ms <= GAP_MS)
        look_at_transfers(service, seconds);
    if (now_ms - service->ledger_stored_ms >= STORE_MS)
        store(service);
}

void meters_charge(struct service *service, const struct config_pool *pool, double gpu_s)
{
    ledger_add(&service->ledger, pool->name, &(struct ledger_sums){ .lost_gpu_s = gpu_s });
}

void meters_store(struct service *service)
{
    store(service);
}

static json_t *describe_pools(const struct service *service)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < service->config->pool_count; i++) {
        const struct config_pool *pool = &service->config->pools[i];
        const struct ledger_sums kept = ledger_kept(&service->ledger, pool->name);
        json_t *row = json_make("{ss ss ss sf sf}", "pool", pool->name, "cluster",
                                pool->cluster->name, "reservation", pool->reservation->name,
                                "transit_gpu_s", kept.transit_gpu_s, "lost_gpu_s", kept.lost_gpu_s);

        if (pool->cluster->role == ROLE_RESEARCH) {
            json_object_set_new(row, "lent_gpu_s", json_real(kept.lent_gpu_s));
            json_object_set_new(row, "unseen_s", json_real(kept.unseen_s));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *describe_prices(const struct config *config)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < config->reservation_count; i++) {
        const struct config_reservation *reservation = &config->reservations[i];

        if (reservation->price > 0)
            json_array_append_new(rows, json_make("{ss sf ss ss ss}", "reservation",
                                                  reservation->name, "price", reservation->price,
                                                  "currency", reservation->price_currency, "basis",
                                                  reservation->price_basis ?: "", "date",
                                                  reservation->price_date ?: ""));
    }
    return rows;
}

static json_t *describe_targets(const struct config *config)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        owned(chars) char *percentile = text_format("%.12g", queue->percentile);

        json_array_append_new(rows, json_make("{ss ss sf}", "queue", queue->name, "percentile",
                                              percentile, "wait_target_s",
                                              (double)queue->wait_target_ms / SECOND_MS));
    }
    return rows;
}

json_t *service_ledger(const struct service *service)
{
    return json_make("{so so so}", "pools", describe_pools(service), "prices",
                     describe_prices(service->config), "queue_targets",
                     describe_targets(service->config));
}
