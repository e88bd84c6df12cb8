/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The departure board (the service's answer to /v1/departures) for other programs: CSV by RFC 4180.
 * The calendar is in broker/api.
 */
#pragma once

#include "base/text.h"

#include <jansson.h>
#include <stdbool.h>

/* The GPUs of all jobs on the node that leaves. */
int64_t departure_gpus(const json_t *row);

/* has_titles: with a first line of titles. */
void departures_csv(const json_t *answer, bool has_titles, struct text *out);
