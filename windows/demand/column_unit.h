/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The unit of a rate, as it stands behind a column's name, or in a column of units: "chat (req/s)",
 * "requests/second", "arrivals per minute", "embed_rps", "Count/Second".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct column_unit {
    size_t length;   /* of the name without the unit; 0 if the name is nothing else */
    double seconds;  /* requests in so many seconds; 0: no rate */
    bool is_unknown; /* there is a unit, and it is none of requests by time */
};

struct column_unit column_unit_find(const char *name);

/* A cell of a column of units.  Sets *ret_seconds, which is 0 for "Count" and "None"; false: it is
   no unit of requests. */
bool column_unit_read(const char *cell, double *ret_seconds);
