/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The departure board (the service's answer to /v1/departures) as a calendar by RFC 5545.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>

/* "JobSet align/sft-1412, Job eval/e-77" of one departure; the caller frees it. */
char *departure_jobs(const json_t *row, const char *between)
    __attribute__((returns_nonnull, warn_unused_result));

void departures_ical(const json_t *answer, struct text *out);
