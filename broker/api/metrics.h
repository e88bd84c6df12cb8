/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service's metrics, as text for Prometheus.  All come from the answer of `sluice status`, so
 * both always agree.
 */
#pragma once

#include <jansson.h>

enum metrics_form {
    METRICS_TEXT, /* Prometheus text format 0.0.4 */
    METRICS_OPEN, /* OpenMetrics 1.0 */
};

/* The form that a request's header Accept asks for (NULL: no such header): OpenMetrics if it names
   that, else the text format. */
enum metrics_form metrics_form_of(const char *accept);

/* The Content-Type of the form. */
const char *metrics_content_type(enum metrics_form form)
    __attribute__((returns_nonnull, warn_unused_result));

/* All metrics of a status (service_metrics()).  A value that is not known has no sample.  The
   caller frees the text with mem_free(). */
char *metrics_print(const json_t *status, enum metrics_form form)
    __attribute__((returns_nonnull, warn_unused_result));

/* The steps of the rows of `sluice leads`, in one array, each with its lead key as "key".  The
   caller frees it. */
json_t *metrics_steps(const json_t *leads) __attribute__((returns_nonnull, warn_unused_result));

/* The table of docs/metrics.md: a row for each metric.  The caller frees the text. */
char *metrics_page(void) __attribute__((returns_nonnull, warn_unused_result));
