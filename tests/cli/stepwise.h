/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world, played until its first transfer is at a step, and looked into.
 */
#pragma once

#include "broker/service/service_parts.h"
#include "broker/transfer/effect.h"
#include "tests/cli/small_world.h"
#include "tools/simulator/model/model.h"

enum { STEPWISE_MS = 5 };

/* In the order in which they began; NULL: there are no more. */
static inline struct transfer *transfer_at(struct rehearsal *rehearsal, size_t at)
{
    struct runner *runner = rehearsal->service->runner;

    return at < runner->transfers.count ? runner->transfers.items[at] : NULL;
}

/* How many nodes were handed over; -1: a transfer is still live. */
static inline int handed_over(const struct rehearsal *rehearsal)
{
    const struct runner *runner = rehearsal->service->runner;
    int done = 0;

    for (size_t i = 0; i < runner->transfers.count; i++) {
        if (runner->transfers.items[i]->state == TRANSFER_LIVE)
            return -1;
        done += runner->transfers.items[i]->state == TRANSFER_DONE;
    }
    return done;
}

/* The first transfer, when it is at the step; NULL: it went by it. */
static inline struct transfer *run_to(struct rehearsal *rehearsal, enum transfer_step step)
{
    for (int64_t ms = 0; ms < 3 * HOUR_MS; ms += STEPWISE_MS) {
        struct transfer *transfer = transfer_at(rehearsal, 0);

        if (transfer && transfer->state == TRANSFER_LIVE && transfer->step == (int)step)
            return transfer;
        if (transfer && (transfer->step > (int)step || transfer->state != TRANSFER_LIVE))
            return NULL;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("no transfer begins");
    return NULL;
}

/* The first transfer, as soon as it is at the step (again) or has ended. */
static inline struct transfer *go_to(struct rehearsal *rehearsal, enum transfer_step step)
{
    struct transfer *transfer = transfer_at(rehearsal, 0);

    for (int64_t ms = 0; ms < 4 * HOUR_MS && transfer->state == TRANSFER_LIVE; ms += 100) {
        if (transfer->step == (int)step)
            break;
        rehearsal_run(rehearsal, 100);
    }
    return transfer;
}

/* A new schedule wants one node; its transfer has come to the step. */
static inline struct transfer *scheduled(struct rehearsal *rehearsal, enum transfer_step step)
{
    struct transfer *transfer;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    apply(rehearsal, 7, 6);
    transfer = run_to(rehearsal, step);
    assert_non_null(transfer);
    return transfer;
}

/* The same for a reclaim of one node. */
static inline struct transfer *reclaimed(struct rehearsal *rehearsal, enum transfer_step step)
{
    owned(json) json_t *answer = NULL;
    struct transfer *transfer;

    rehearsal_run(rehearsal, 2 * MINUTE_MS);
    answer = reclaim(rehearsal, 1);
    transfer = run_to(rehearsal, step);
    assert_non_null(transfer);
    return transfer;
}

/* The removal of the transfer's machine; NULL: it was not asked for. */
static inline const struct effect *removal_of(const struct transfer *transfer)
{
    return effect_find(transfer, &effect_remove, transfer->instance);
}

/* The cloud of a pool. */
static inline const struct pool *pool_of(struct rehearsal *rehearsal, const char *name)
{
    const struct simulator *simulator = rehearsal->simulator;

    for (size_t i = 0; i < simulator->pool_count; i++)
        if (text_equal(simulator->pools[i].plan->name, name))
            return &simulator->pools[i];
    fail_msg("there is no pool %s", name);
    return NULL;
}

/* Job pods that were told to stop with less than their own grace. */
static inline int shortened(const struct rehearsal *rehearsal)
{
    int count = 0;

    for (size_t i = 0; i < rehearsal->simulator->cluster_count; i++) {
        void *value;

        for (size_t k = 0; map_next(rehearsal->simulator->clusters[i].pods, &k, NULL, &value);) {
            const struct kube_pod *pod = value;

            count += pod->job && pod->deletion_ms > 0 && pod->deletion_grace_s < pod->grace_s;
        }
    }
    return count;
}

/* The service ends, and starts again with another configuration. */
static inline void start_again_with(struct rehearsal *rehearsal, const char *folder,
                                    const char *config)
{
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", config);
    struct error err = { 0 };
    struct config *next = config_read(path, &err);

    if (!next)
        fail_msg("%s", err.text);
    rehearsal_kill(rehearsal);
    config_free(rehearsal->config);
    rehearsal->config = next;
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
}
