/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": the known name that is most like a mistyped one.
 *
 *     struct nearest nearest = nearest_to("clustre");
 *     for (...) nearest_offer(&nearest, known_name);
 *     if (nearest.name) ...
 */
#pragma once

#include <stddef.h>

struct nearest {
    const char *wanted;
    const char *name; /* the best so far, or NULL when none is near enough to be meant */
    size_t distance;
};

struct nearest nearest_to(const char *wanted);

/* The first of equally near names wins.  The name must live as long as the result is used. */
void nearest_offer(struct nearest *nearest, const char *name);
