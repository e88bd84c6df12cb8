/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The departure board (the service's answer to /v1/departures) for other programs: CSV by RFC 4180,
 * a calendar by RFC 5545.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

/* "JobSet align/sft-1412, Job eval/e-77" of one departure; the caller frees it. */
char *departure_jobs(const json_t *row, const char *between)
    __attribute__((returns_nonnull, warn_unused_result));

/* The GPUs of all jobs on the node that leaves. */
int64_t departure_gpus(const json_t *row);

/* has_titles: with a first line of titles. */
void departures_csv(const json_t *answer, bool has_titles, struct text *out);
void departures_ical(const json_t *answer, struct text *out);
