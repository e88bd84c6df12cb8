/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h.
 */
#include "windows/backtest/progress.h"

#include "windows/backtest/backtest.h"

#include <math.h>

void progress_init(struct progress *progress, const struct backtest_setup *setup, double expected)
{
    *progress = (struct progress){ .setup = setup, .expected = expected };
    pthread_mutex_init(&progress->lock, NULL);
}

void progress_clear(struct progress *progress)
{
    pthread_mutex_destroy(&progress->lock);
}

/* One at a time, in the order of what was done. */
static void report(const struct progress *progress)
{
    const struct backtest_progress told = {
        .part = progress->part,
        .done = progress->items,
        .count = progress->count,
        .share = progress->expected > 0 ? fmin(progress->done / progress->expected, 1) : 0,
    };

    if (progress->setup->report)
        progress->setup->report(progress->setup->report_context, &told);
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
