/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrivals as the CSV that --demand reads.
 */
#pragma once

#include "windows/demand/demand.h"

/* Writes all series of the demands, whole or not at all; a path that ends in .gz is packed.
   ERROR_INVALID when no step of them is known. */
int snapshot_rows_write(const struct demand *const *demands, size_t count, const char *path,
                        struct error *err) __attribute__((warn_unused_result));
