/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Conditions about files that end: certificates, and lists of those that are revoked.
 */
#pragma once

#include "base/timestamp.h"
#include "broker/health/health.h"

struct ending {
    const char *path;        /* of the file; borrowed by the condition */
    const char *what;        /* "certificate" */
    const char *consequence; /* once it has ended */
    struct wall_time end;    /* INT64_MAX: there is none */
    int64_t soon_ms;         /* so long before it is told */
};

/* Adds the condition that it ends soon, or has ended. */
void ending_look(const struct ending *ending, struct wall_time now, struct health *health);
