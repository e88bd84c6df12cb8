/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engines of a snapshot.  They are measured for queues with engine.metrics, stored beside the
 * demand, and reported with it.
 */
#pragma once

#include "broker/capacity/profile_report.h"
#include "broker/config/config.h"
#include "broker/sources/source.h"

#include <jansson.h>

/* One queue with engine.metrics; zeroed but for queue, done and context. */
struct snapshot_engine {
    const struct config_queue *queue;
    void (*done)(void *context, const struct error *err);
    void *context;
    struct profile_ask ask;
    char *selector;
    bool is_measured;
    enum profile_method method;
    struct engine_measure measure;
    struct error why; /* why it was not measured */
};

/* Asks the queue's source; engine->done is called once, in a later turn.  An engine without a law
   is no error: it is listed.  An outage is an error.  The engine must stay where it is until then.
   */
int snapshot_engine_ask(struct snapshot_engine *engine, struct source *source,
                        const struct source_span *span, struct error *err)
    __attribute__((warn_unused_result));
void snapshot_engine_clear(struct snapshot_engine *engine);

/* Writes the table of the measured ones beside the demand file; if none was measured, removes that
   of an earlier snapshot. *ret_path: its path, owned by the caller; NULL: there is none. */
int snapshot_engine_write(const struct snapshot_engine *engines, size_t count,
                          const char *demand_path, char **ret_path, struct error *err)
    __attribute__((warn_unused_result));

/* [{queue, method, iteration_s, ..., error}]: a member that does not apply is null. */
json_t *snapshot_engine_json(const struct snapshot_engine *engines, size_t count)
    __attribute__((warn_unused_result));

/* Lists failed measurements on standard error; returns their number. */
size_t snapshot_engine_missing(const struct snapshot_engine *engines, size_t count);
