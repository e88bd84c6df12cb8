/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the log and the metrics have of refused requests.  A line `request_refused` appears at most
 * once in REFUSALS_TELL_MS for each person and reason.  What was left out is in the next line, with
 * its number; that line comes by itself.
 */
#pragma once

#include "base/world/loop.h"

#include <stddef.h>
#include <stdint.h>

enum refusal_reason {
    REFUSAL_IDENTITY,   /* it is not known who asks */
    REFUSAL_PERMISSION, /* the role is too low */
    REFUSAL_RATE,       /* the person asks too often */
    REFUSAL_ORIGIN,     /* a page of another site, or another server's name */
    REFUSAL_REASONS,
};

enum { REFUSALS_TELL_MS = 10 * SECOND_MS, REFUSALS_KEPT_MOST = 1024 };

struct refusal {
    enum refusal_reason reason;
    const char *who;  /* the same for all requests of one person or address */
    const char *by;   /* the person's name; "": not known */
    const char *path; /* of the route */
    const char *why;  /* the sentence of the answer */
};

struct refusals;

struct refusals *refusals_new(struct loop *loop)
    __attribute__((returns_nonnull, warn_unused_result));
void refusals_free(struct refusals *refusals);

void refusals_add(struct refusals *refusals, const struct refusal *refusal);

/* Since the start of the service. */
int64_t refusals_count(const struct refusals *refusals, enum refusal_reason reason);

/* "permission" */
const char *refusal_reason_name(enum refusal_reason reason) __attribute__((returns_nonnull));

/* How many persons and reasons are remembered. */
size_t refusals_kept(const struct refusals *refusals);

static inline void owned_refusals(struct refusals **refusals)
{
    refusals_free(*refusals);
}
