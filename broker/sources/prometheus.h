/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What both questions to Prometheus share: arrivals (prometheus.c) and histograms of service times
 * (histogram.c).
 */
#pragma once

#include "base/input/json.h"
#include "broker/sources/source_parts.h"

/* A range query: evaluated at first, a step later, ..., at last. */
struct range_query {
    const char *query;
    struct wall_time first;
    struct wall_time last;
    int64_t step_ms; /* at least a second */
};

/* Fills the request, which the caller clears, also after an error. */
int prometheus_range(const struct source *source, const struct range_query *range,
                     struct source_request *request, struct error *err)
    __attribute__((warn_unused_result));

/* The series of a whole answer: an array in `ret_body`, which the caller releases. */
int prometheus_series(const struct http_answer *answer, json_t **ret_body, json_t **ret_series,
                      struct error *err) __attribute__((warn_unused_result));

/* [time, "value"]: ERROR_CORRUPT for anything else; the value may be NaN. */
int prometheus_point(const json_t *point, int64_t *ret_ms, double *ret_value, struct error *err)
    __attribute__((warn_unused_result));
