/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A worker: one thread beside the loop, for what blocks.  It does one job at a time; the loop goes
 * on meanwhile, and hears of the end in a turn of its own.
 */
#pragma once

#include "base/world/loop.h"

#include <stdbool.h>

struct worker;

typedef void (*worker_fn)(void *context);

/* The thread, which takes no signals.  libevent loops only. */
struct worker *worker_new(struct loop *loop, struct error *err) __attribute__((warn_unused_result));

/* Waits for the job under way; its `done` is not called any more.  NULL is legal. */
void worker_free(struct worker *worker);

/* As worker_free(), but waits for nothing: the thread ends with the job under way.  Instead of its
   `done`, forget(context) is called once the job has ended: maybe in that thread, and when the loop
   is gone. */
void worker_abandon(struct worker *worker, worker_fn forget);

/* Calls work(context) in the thread and, when it has returned, done(context) in the loop's.  Only
   while no job is under way; done may start the next one.  The job owns the context until then. */
void worker_begin(struct worker *worker, worker_fn work, worker_fn done, void *context);

/* Blocks until the job under way has ended, and calls its `done` here; at once without one. */
void worker_wait(struct worker *worker);
