/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How far a long work is, for a listener: parts of many items, which threads take.
 * Items are weighed by what they are expected to take, so that the share that is done tells when
 * all will be.
 *
 *     progress_init(&progress, &report, seconds_of_all);
 *     progress_begin(&progress, "searching numbers", count);
 *     progress_item(&progress, seconds_of_one);      (by any thread, for each)
 *     progress_clear(&progress);
 */
#pragma once

#include <pthread.h>
#include <stddef.h>

struct progress_state {
    const char *part; /* for people: lower case, without a full stop */
    size_t done;      /* items of the part that are done */
    size_t count;
    double share; /* of the expected work of all parts: what is done, 0 .. 1 */
};

/* The receiver of progress steps.  Any thread calls it, one at a time. */
struct progress_report {
    void (*tell)(void *context, const struct progress_state *state); /* NULL: no listener */
    void *context;
};

struct progress {
    struct progress_report report;
    pthread_mutex_t lock;
    const char *part;
    size_t items; /* of the part: how many are done */
    size_t count;
    double done; /* of the expected work of all parts */
    double expected;
};

/* expected: of all parts together, in any unit. */
void progress_init(struct progress *progress, const struct progress_report *report,
                   double expected);
void progress_clear(struct progress *progress);

/* part: must stay as it is until the next one begins. */
void progress_begin(struct progress *progress, const char *part, size_t count);

/* Any thread may call it: an item of the part is done, with this share of the expected work. */
void progress_item(struct progress *progress, double expected);

/* For an item that takes long: so much of its work is done.  It takes all of that back, as a
   negative number, before progress_item() adds the whole. */
void progress_within(struct progress *progress, double expected);
