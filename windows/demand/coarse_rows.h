/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows that keep a coarser grid than others of their queue: every five minutes among minutes.  They
 * may count for five minutes each; or nothing arrived between them, if silence is zero.  Their
 * times cannot tell which.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct coarse_rows {
    int64_t divisor_ms; /* of all distances between rows; 0: there are too few rows to tell */
    int64_t first_ms;   /* the first row and the last */
    int64_t last_ms;
    int64_t grid_ms; /* of the longest run of rows on a coarser grid; 0: there is none */
    int64_t from_ms; /* its first row and its last */
    int64_t until_ms;
};

/* From `count` times, ascending, none twice. */
struct coarse_rows coarse_rows_find(const int64_t *times, size_t count);
