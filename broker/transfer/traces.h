/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Spans of transfers for OpenTelemetry, over OTLP/HTTP with JSON (opentelemetry-proto,
 * docs/specification.md).  A transfer is a trace: one span for the whole, and under it one for each
 * step.  A span is handed over when it ends, so nothing is lost with a restart but what has not
 * been sent.  The IDs follow from the transfer's ID: spans that arrive twice are the same spans.
 *
 * Spans wait in a bounded queue.  A collector that refuses, or is out of reach, changes nothing for
 * the transfers.
 */
#pragma once

#include "base/world/world.h"
#include "broker/transfer/transfer.h"

enum { TRACES_QUEUED = 4096 }; /* spans; what comes on top is dropped */

struct traces;

/* A step that has just ended. */
struct trace_step {
    int step; /* index into transfer_steps */
    struct wall_time began;
    bool is_undoing;
    const char *waited_for; /* what it waited for last; "" if for nothing */
};

/* The endpoint is the whole URL, as http://127.0.0.1:4318/v1/traces; NULL: no traces, and then the
   result is NULL, which the functions below accept.  Both arguments are borrowed. */
struct traces *traces_new(struct world *world, const char *endpoint)
    __attribute__((warn_unused_result));
void traces_free(struct traces *traces);

/* Queues the span of the step, and that of the transfer if it has ended. */
void traces_add(struct traces *traces, const struct transfer *transfer,
                const struct trace_step *ended);
