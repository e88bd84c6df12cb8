/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where recorded arrivals are asked for: Prometheus, CloudWatch, Cloud Monitoring.  A fetch asks
 * for all queues of a span, request after request and page after page, and gives demand as a file
 * would.  What the source did not say stays unknown: it is never zero, unless the settings say that
 * silence within an hour that has points means none.
 *
 * An answer that admits to be partial ends the fetch: half of the truth would free too many nodes.
 * Throttling and outages are waited out, some attempts long, no sooner than the source asks for.
 * Counts that a source computes as fractions are rounded so that their sum stays what it was.
 */
#pragma once

#include "base/error.h"
#include "base/input/settings.h"
#include "base/timestamp.h"
#include "base/world/world.h"
#include "providers/aws/aws_credentials.h"
#include "windows/demand/demand.h"
#include "windows/servers/service_shape.h"

#include <stdbool.h>
#include <stddef.h>

struct source;

/* As in sluice.yaml (sources.NAME); texts that are not set are NULL.  Each kind's table fills the
   members that it knows.  Borrowed, must outlive the source. */
struct source_settings {
    const char *name;
    const char *kind; /* "prometheus", "cloudwatch", "monitoring" */
    const char *endpoint;
    const char *token; /* paths of files, not what is in them */
    const char *ca;
    const char *credentials;
    const char *tenant;
    const char *query;
    const char *metadata;
    const char *project;
    struct aws_account account;
    const char *namespace;
    const char *metric;
    const char *dimension;
    bool missing_zero; /* within an hour that has points */
};

/* The settings of `sources.NAME` of the kind with this number; NULL after the last. */
const struct settings_kind *source_kind_settings(size_t at);

/* Whether sources of this kind keep histograms and engines' counters, for source_measure(). */
bool source_has_histograms(const struct settings_kind *kind);

/* The source's names of a queue's arrivals.  Without priorities: DEMAND_LOW alone. */
struct source_queue {
    const char *queue;
    const char *names[DEMAND_CLASSES];
};

/* Whole steps: from is on a step, to is after the last. */
struct source_span {
    struct wall_time from;
    struct wall_time to;
    int64_t step_ms;
};

/* Exactly one of demand and err is not NULL.  The demand is the callee's to free: a series for
   each queue, sorted by name, all of the whole span. */
typedef void (*source_done_fn)(void *context, struct demand *demand, const struct error *err);

/* Which arrivals are fetched.  Borrowed until source_fetch() is back. */
struct source_query {
    const struct source_queue *queues;
    size_t queue_count; /* at least 1 */
    struct source_span span;
};

struct source *source_open(struct world *world, const struct source_settings *settings,
                           struct error *err) __attribute__((warn_unused_result));

/* Ends all fetches without calling `done`. */
void source_close(struct source *source);

/* `done` is called once, in a later turn, and may close the source.  Several fetches take turns: a
   source is asked one thing at a time.  ERROR_INVALID when the source does
   not keep points of that step for so long. */
int source_fetch(struct source *source, const struct source_query *query, source_done_fn done,
                 void *context, struct error *err) __attribute__((warn_unused_result));

/* What the source calls a queue's service times: a classic histogram, without _bucket.  Its growth
   in the span is read. */
struct source_histogram {
    const char *name;
    struct source_span span;
    double max_s;      /* what no request takes longer than; 0: not known */
    bool is_of_tokens; /* lengths, not times */
};

/* Exactly one of shape and err is not NULL; the shape is the callee's to free.  ERROR_INVALID: what
   there is in the source is no histogram from which times can be had. */
typedef void (*source_measured_fn)(void *context, struct service_shape *shape,
                                   const struct error *err);

/* Measures the service times (or lengths) of all requests of its span.  Calls `done` as
   source_fetch() does.  Prometheus only. */
int source_measure(struct source *source, const struct source_histogram *histogram,
                   source_measured_fn done, void *context, struct error *err)
    __attribute__((warn_unused_result));

/* What all fetches took: for people. */
struct source_effort {
    size_t requests;
    size_t repeats;
};
struct source_effort source_effort(const struct source *source);

static inline void owned_source(struct source **source)
{
    source_close(*source);
}
