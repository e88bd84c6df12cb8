/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: GPU-seconds that pools have lent, that were in transit, and that jobs lost, as
 * counters that outlive the process.  Pure.
 *
 * A counter that is shown must never fall: Prometheus takes a lower value for a new beginning, and
 * counts all of it once more.  So what is shown is what the journal has (ledger_keep()), and what
 * was counted since is shown when it is there, too.  A crash loses that rest, and no more.
 */
#pragma once

#include "base/array.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ledger_sums {
    double lent_gpu_s; /* ready GPUs of research beyond the static ones, whether they were used or
                          not */
    double transit_gpu_s; /* from the cordon until the hand-over */
    double lost_gpu_s;    /* work of jobs that moves stopped, as it was estimated when they began */
    double unseen_s;      /* in which the service did not see the pool */
};

struct ledger_row { /* of a pool, by its name; it stays if the pool is no longer configured */
    char *pool;
    struct ledger_sums now;
    struct ledger_sums sent; /* part of the commit that is not on the disk yet */
    struct ledger_sums kept; /* in the journal */
};

struct ledger {
    ARRAY(struct ledger_row) rows;
    bool is_changed; /* something was counted that was never sent */
};

void ledger_clear(struct ledger *ledger);

/* What may be shown of the pool: 0 for one that it does not know. */
struct ledger_sums ledger_kept(const struct ledger *ledger, const char *pool);

/* Adds to a pool's counters; none of the sums is negative. */
void ledger_add(struct ledger *ledger, const char *pool, const struct ledger_sums *more);

/* The record with all that was counted.  ledger_keep(): the record sent last is on the disk. */
json_t *ledger_encode(struct ledger *ledger) __attribute__((returns_nonnull, warn_unused_result));
void ledger_keep(struct ledger *ledger);
int ledger_decode(struct ledger *ledger, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));
