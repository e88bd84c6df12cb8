/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world, played until its first transfer is at a step, and looked into.
 */
#pragma once

#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"
#include "tools/simulator/model.h"

enum { STEPWISE_MS = 5 };

/* The first transfer, when it is at the step; NULL: it went by it. */
static inline struct transfer *run_to(struct rehearsal *rehearsal, enum transfer_step step)
{
    const struct runner *runner = rehearsal->service->runner;

    for (int64_t ms = 0; ms < 3 * HOUR_MS; ms += STEPWISE_MS) {
        struct transfer *transfer = runner->transfers.count > 0 ? runner->transfers.items[0] : NULL;

        if (transfer && transfer->state == TRANSFER_LIVE && transfer->step == (int)step)
            return transfer;
        if (transfer && (transfer->step > (int)step || transfer->state != TRANSFER_LIVE))
            return NULL;
        rehearsal_run(rehearsal, STEPWISE_MS);
    }
    fail_msg("no transfer begins");
    return NULL;
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
