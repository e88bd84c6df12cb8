/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The moments of rows whose times have no offset, in the time zone of the file.  In the hour that
 * occurs twice in autumn the order of the rows decides: they must go through it once, and then
 * again; otherwise the row is refused.  So is a time in the hour that spring skips.
 */
#pragma once

#include "base/error.h"
#include "base/time_zone.h"
#include "windows/demand/packed.h"

/* The name of the rows, for errors, and whether several consecutive rows may have one time. */
struct local_rows {
    const char *source;
    const char *queue;
    bool may_repeat;
};

/* The rows' times become moments. */
int local_rows_resolve(struct packed *packed, const struct time_zone *zone,
                       const struct local_rows *whose, struct error *err)
    __attribute__((warn_unused_result));
