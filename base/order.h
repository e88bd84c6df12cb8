/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Orders, for qsort() and bsearch().
 */
#pragma once

#include <stdint.h>

/* Compares two int64_t: the least comes first. */
static inline int order_int64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left;
    int64_t b = *(const int64_t *)right;

    return (a > b) - (a < b);
}
