/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the name of a column says: a table of known names.  They are compared without regard to
 * case, blanks and marks, and without a unit behind them: "Queue Name" is queue_name.
 */
#pragma once

#include "windows/demand/column_unit.h"

enum column_role {
    COLUMN_OTHER,
    COLUMN_TIME,
    COLUMN_QUEUE,
    COLUMN_COUNT,
    COLUMN_PRIORITY,
    COLUMN_STATISTIC, /* of requests, beside a count */
    COLUMN_UNIT,      /* of the row's count */
};

struct column_name {
    enum column_role role;
    double rate_s;   /* of a count: requests in so many seconds; 0: in the step */
    bool needs_unit; /* of a count: nothing says in how many seconds */
};

struct column_name column_name_of(const char *field);

/* Whether the name of a count may describe one request. */
bool column_name_is_vague(const char *field);
