/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The queue between accepted commits and the disk: batches wait here, in order, while earlier ones
 * are written.  All waiting batches are written in one transaction.  Private to this folder.
 */
#pragma once

#include "base/world/loop.h"
#include "broker/journal/journal_store.h"

struct journal_queue;

/* New queues: batches are written by a thread of the queue's own; by a timer, delay_ms later, on
   any loop; or by the store, which answers later. */
struct journal_queue *queue_new_thread(struct journal *journal, struct loop *loop,
                                       struct error *err) __attribute__((warn_unused_result));
struct journal_queue *queue_new_timer(struct journal *journal, struct loop *loop, int64_t delay_ms)
    __attribute__((returns_nonnull, warn_unused_result));

struct journal_queue *queue_new_store(struct journal *journal, struct loop *loop)
    __attribute__((returns_nonnull, warn_unused_result));

/* Writes the waiting batches, if a thread writes, and frees the queue. */
void queue_free(struct journal_queue *queue);

/* NULL, or why nothing is written any more. */
const struct error *queue_failure(const struct journal_queue *queue);

/* Takes the batch, which fits what was accepted before. */
void queue_add(struct journal_queue *queue, struct journal_batch *batch);

/* See journal.h. */
void queue_after(struct journal_queue *queue, journal_after_fn fn, void *context);
void queue_forget(struct journal_queue *queue);

/* Loses the waiting batches, as when the process dies. */
void queue_drop(struct journal_queue *queue);

/* How long the write under way has taken so far; 0: there is none. */
int64_t queue_write_ms(const struct journal_queue *queue);

/* Waits until the store may be read in this thread. */
void queue_wait(struct journal_queue *queue);
