/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Results of attempts to create machines: those of the last attempts for each pool, and the
 * physical hosts on which a machine never served.  Stored in the journal, in the batch that ends
 * the attempt.
 *
 * They have two effects.  A pool whose last attempts failed is closed for scheduled moves for a
 * while, so that no second wave of nodes is drained for machines that are not available.  And a
 * machine on a host in quarantine is discarded before it serves, as long as attempts are left.
 */
#pragma once

#include "base/timestamp.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"
#include "broker/transfer/transfer.h"

struct attempts;

/* How the last attempts at machines of one pool went. */
struct lane {
    int64_t failures; /* in a row, up to now */
    int64_t served;   /* machines that came to serve since the last failure */
    struct wall_time failed;
    char why[TRANSFER_REASON_SIZE]; /* the last one failed */
    uint64_t rev;                   /* of its record; 0: none */
};

struct attempts *attempts_new(const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
void attempts_free(struct attempts *attempts);

/* Pools and hosts that the configuration does not have any more are left where they are. */
int attempts_load(struct attempts *attempts, struct journal *journal, struct error *err)
    __attribute__((warn_unused_result));

/* The transfer's present attempt failed, for the reason in transfer->waiting; host: the host at
   fault, or "".  Both functions put records and events into the batch, and count them as stored: if
   the batch fails, no further one may follow. */
void attempts_failed(struct attempts *attempts, const struct transfer *transfer, const char *host,
                     struct wall_time now, struct journal_batch *batch);
void attempts_served(struct attempts *attempts, const struct transfer *transfer,
                     struct journal_batch *batch);

/* The system clock was moved by so much: closed pools and quarantines last as long as before.  Puts
   the records into the batch, as above. */
void attempts_move_clock(struct attempts *attempts, int64_t by_ms, struct journal_batch *batch);

/* Never NULL. */
const struct lane *attempts_lane(const struct attempts *attempts, const struct config_pool *pool)
    __attribute__((returns_nonnull));

/* When the pool opens again; 0: it is open. */
struct wall_time lane_closed_until(const struct lane *lane, const struct config_guard *guard,
                                   struct wall_time now);

/* -1 and ERROR_DENIED, in a sentence, while the pool is closed. */
int attempts_allow(const struct attempts *attempts, const struct config_pool *pool,
                   struct wall_time now, struct error *err) __attribute__((warn_unused_result));

/* How many nodes may begin to move to an open pool now, with so many of earlier waves and of this
   one under way.  The smallest wave is one group.  INT64_MAX: any number. */
int64_t lane_room(const struct lane *lane, const struct config_guard *guard, int64_t group,
                  int64_t earlier, int64_t of_this_wave);

/* Until when this host of the pool's provider is in quarantine; 0: it is not. */
struct wall_time attempts_quarantine(const struct attempts *attempts,
                                     const struct config_pool *pool, const char *host,
                                     struct wall_time now);

/* The key of the one host in quarantine that a person means, PROVIDER/HOST.  name: HOST, or
   PROVIDER/HOST where two clouds have one of that name.  NULL and ERROR_NOT_FOUND or
   ERROR_CONFLICT.  Borrowed until attempts change. */
const char *attempts_find_host(const struct attempts *attempts, const char *name,
                               struct wall_time now, struct error *err)
    __attribute__((warn_unused_result));

/* A person, `by`, says that the host of this key is in order: its quarantine ends now.  Puts record
   and event into the batch, as above, and returns its row, as attempts_hosts() has it. */
json_t *attempts_release(struct attempts *attempts, const char *key, const char *by,
                         struct wall_time now, struct journal_batch *batch)
    __attribute__((returns_nonnull, warn_unused_result));

/* [{host, provider, pool, machine, until, text}] of the hosts in quarantine. */
json_t *attempts_hosts(const struct attempts *attempts, struct wall_time now)
    __attribute__((returns_nonnull, warn_unused_result));
