/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Told under the lock, so that states come in their order.
 */
#include "base/progress.h"

#include <math.h>

void progress_init(struct progress *progress, const struct progress_report *report, double expected)
{
    *progress = (struct progress){ .report = *report, .expected = expected };
    pthread_mutex_init(&progress->lock, NULL);
}

void progress_clear(struct progress *progress)
{
    pthread_mutex_destroy(&progress->lock);
}

static void report(const struct progress *progress)
{
    const struct progress_state state = {
        .part = progress->part,
        .done = progress->items,
        .count = progress->count,
        .share = progress->expected > 0 ? fmin(progress->done / progress->expected, 1) : 0,
    };

    if (progress->report.tell)
        progress->report.tell(progress->report.context, &state);
}

void progress_begin(struct progress *progress, const char *part, size_t count)
{
    pthread_mutex_lock(&progress->lock);
    progress->part = part;
    progress->items = 0;
    progress->count = count;
    report(progress);
    pthread_mutex_unlock(&progress->lock);
}

void progress_item(struct progress *progress, double expected)
{
    pthread_mutex_lock(&progress->lock);
    progress->items++;
    progress->done += expected;
    report(progress);
    pthread_mutex_unlock(&progress->lock);
}

void progress_within(struct progress *progress, double expected)
{
    pthread_mutex_lock(&progress->lock);
    progress->done += expected;
    if (expected > 0)
        report(progress);
    pthread_mutex_unlock(&progress->lock);
}
