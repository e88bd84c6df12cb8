/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See ledger.h.
 */
#include "broker/planning/ledger.h"

#include "base/input/json.h"
#include "base/text.h"

#include <math.h>

void ledger_clear(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->rows.count; i++)
        mem_free(ledger->rows.items[i].pool);
    array_clear(&ledger->rows);
}

/* The pool's row; a new one begins with 0. */
static struct ledger_row *row_of(struct ledger *ledger, const char *pool)
{
    struct ledger_row *row;

    for (size_t i = 0; i < ledger->rows.count; i++)
        if (text_equal(ledger->rows.items[i].pool, pool))
            return &ledger->rows.items[i];
    row = array_add(&ledger->rows);
    row->pool = mem_copy_chars(pool);
    return row;
}

struct ledger_sums ledger_kept(const struct ledger *ledger, const char *pool)
{
    for (size_t i = 0; i < ledger->rows.count; i++)
        if (text_equal(ledger->rows.items[i].pool, pool))
            return ledger->rows.items[i].kept;
    return (struct ledger_sums){ 0 };
}

void ledger_add(struct ledger *ledger, const char *pool, const struct ledger_sums *more)
{
    struct ledger_sums *now = &row_of(ledger, pool)->now;

    require(more->lent_gpu_s >= 0 && more->transit_gpu_s >= 0 && more->lost_gpu_s >= 0 &&
            more->unseen_s >= 0);
    now->lent_gpu_s += more->lent_gpu_s;
    now->transit_gpu_s += more->transit_gpu_s;
    now->lost_gpu_s += more->lost_gpu_s;
    now->unseen_s += more->unseen_s;
    ledger->is_changed = true;
}

json_t *ledger_encode(struct ledger *ledger)
{
    json_t *pools = json_object();

    for (size_t i = 0; i < ledger->rows.count; i++) {
        struct ledger_row *row = &ledger->rows.items[i];

        row->sent = row->now;
        json_put(pools, row->pool,
                 json_make("{sf sf sf sf}", "lent_gpu_s", row->now.lent_gpu_s, "transit_gpu_s",
                           row->now.transit_gpu_s, "lost_gpu_s", row->now.lost_gpu_s, "unseen_s",
                           row->now.unseen_s));
    }
    ledger->is_changed = false;
    return json_make("{so}", "pools", pools);
}

void ledger_keep(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->rows.count; i++)
        ledger->rows.items[i].kept = ledger->rows.items[i].sent;
}

static int read_sum(const json_t *value, const char *key, double *ret, struct error *err)
{
    const json_t *member = json_object_get(value, key);

    *ret = json_number_value(member);
    if (!json_is_number(member) || !isfinite(*ret) || *ret < 0)
        return error_set(err, ERROR_CORRUPT, "%s: expected a number that is not negative", key);
    return 0;
}

int ledger_decode(struct ledger *ledger, const json_t *value, struct error *err)
{
    json_t *pools;
    const char *pool;
    json_t *sums;

    if (json_need_object(value, "pools", &pools, err) < 0)
        return -1;
    json_object_foreach(pools, pool, sums) {
        struct ledger_sums read;
        struct ledger_row *row;

        if (read_sum(sums, "lent_gpu_s", &read.lent_gpu_s, err) < 0 ||
            read_sum(sums, "transit_gpu_s", &read.transit_gpu_s, err) < 0 ||
            read_sum(sums, "lost_gpu_s", &read.lost_gpu_s, err) < 0 ||
            read_sum(sums, "unseen_s", &read.unseen_s, err) < 0)
            return error_context(err, "pools/%s", pool);
        row = row_of(ledger, pool);
        row->now = row->sent = row->kept = read;
    }
    return 0;
}
