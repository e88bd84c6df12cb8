/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same work for many items, taken by threads one after the other.  Items are independent, so
 * the number of threads changes nothing in the answer.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Runs `work` for 0 .. count - 1.  When some fail, the error is that of the lowest. */
int parallel_run(int threads, size_t count,
                 int (*work)(void *context, size_t at, struct error *err), void *context,
                 struct error *err) __attribute__((warn_unused_result));
