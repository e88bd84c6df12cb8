/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the backtest: how far its work is.  Items are weighed by what they are expected to
 * take, so that the share that is done tells when all will be.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

struct backtest_setup;

struct progress {
    const struct backtest_setup *setup; /* whom it reports to */
    pthread_mutex_t lock;
    const char *part;
    size_t items; /* of the part that are done, of */
    size_t count;
    double done; /* of what is expected in all */
    double expected;
};

/* expected: of all parts together, in any unit. */
void progress_init(struct progress *progress, const struct backtest_setup *setup, double expected);
void progress_clear(struct progress *progress);

/* part: stays where it is until the next one begins. */
void progress_begin(struct progress *progress, const char *part, size_t count);

/* By any thread: an item of the part is done, of which so much was expected. */
void progress_item(struct progress *progress, double expected);
