/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The unit of a rate, as it stands behind a column's name, in a column of units, or behind a count:
 * "chat (req/s)", "requests/second", "arrivals per minute", "embed_rps", "Count/Second", "/min".
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

/* A cell of a column of units, or what follows a count.  Sets *ret_seconds, which is 0 for "Count"
   and "None"; false: it is no unit of requests. */
bool column_unit_read(const char *cell, double *ret_seconds);

/* The seconds of the window that a call of Prometheus counts over, like increase(x[5m]); 0: the
   name is none. */
double column_unit_window(const char *name);

/* The seconds of a unit of time as people write it: "s", "min", "h"; 0: it is none. */
double column_unit_seconds(const char *unit);
