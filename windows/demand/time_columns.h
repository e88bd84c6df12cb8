/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which columns of a demand file hold the times of its rows: by their names, and by what stands in
 * them.  A part of columns.h.
 */
#pragma once

#include "windows/demand/columns.h"

/* Sets date, clock, elapsed_ms and is_utc; the roles of the other columns are known. ERROR_INVALID:
   none holds times, or nothing says which of two does. */
int time_columns_find(struct columns *columns, const struct csv *header, const struct csv *row,
                      struct error *err) __attribute__((warn_unused_result));
