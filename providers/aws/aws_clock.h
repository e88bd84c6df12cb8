/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * By how much AWS's clock is ahead of ours.  Signatures hold for some minutes.  The requests of a
 * machine whose clock is further off are refused, and the refusal tells the right time.
 */
#pragma once

#include "base/timestamp.h"
#include "base/world/http.h"

#include <stdbool.h>

struct aws_clock {
    int64_t ahead_ms;
};

/* When a request that is signed now is signed. */
static inline struct wall_time aws_clock_now(const struct aws_clock *clock, struct wall_time ours)
{
    return (struct wall_time){ ours.ms + clock->ahead_ms };
}

/* Whether the answer refused a signature for its time, and has the right time in Date: the clock is
   then corrected, and the request may be signed once more. */
bool aws_clock_correct(struct aws_clock *clock, struct wall_time ours,
                       const struct http_answer *answer);
