/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Counters of one name by their labels: how often something happened, or how long it took, in
 * buckets.  They are not stored: a lower value is a new beginning
 * (https://prometheus.io/docs/concepts/metric_types/).
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct counters;

enum { COUNTERS_LABELS_MOST = 4, COUNTERS_BUCKETS_MOST = 16 };

/* labels: their names, NULL at the end.  bounds: upper ends of the buckets, rising, 0 at the end;
   NULL: only the number of times is counted.  Both are borrowed and constant. */
struct counters *counters_new(const char *const *labels, const double *bounds)
    __attribute__((returns_nonnull, warn_unused_result));
void counters_free(struct counters *counters);

/* So that the counter exists with 0 before the first time: a counter that appears with 1 shows no
   increase.  One value for each label. */
void counters_begin(struct counters *counters, const char *const *values);

/* It happened once more, and took so long (of no meaning without buckets). */
void counters_add(struct counters *counters, const char *const *values, double took);

/* [{LABEL: value, ..., "count": n}] in the order of their beginning; with buckets also "sum" and
   "buckets": [[bound, n of at most that], ...]. */
json_t *counters_describe(const struct counters *counters)
    __attribute__((returns_nonnull, warn_unused_result));
