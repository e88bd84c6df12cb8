/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How often each person may ask: a token bucket for each person and kind of request.  A bucket
 * holds `burst` requests and is refilled at `per_s`.  Time is the caller's, so tests need none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rate {
    RATE_FREE, /* costs next to nothing: not limited */
    RATE_READ, /* walks all nodes or the journal: status, metrics, events */
    RATE_PLAN, /* makes a plan, and may ask API servers */
    RATE_ACT,  /* changes something */
    RATE_COUNT,
};

enum { RATES_PERSONS_MOST = 4096 };

struct rates;

struct rates *rates_new(void) __attribute__((returns_nonnull, warn_unused_result));
void rates_free(struct rates *rates);

/* Takes one request of the person at now_ms, which never goes back.  0: it may be answered; else in
   how many milliseconds the next one may.  Persons whose buckets are full are forgotten.  A new
   person is refused for a second while RATES_PERSONS_MOST others are known. */
int64_t rates_take(struct rates *rates, const char *person, enum rate rate, int64_t now_ms);

/* The limit in words: "40 at once, then 20 a second". */
const char *rate_text(enum rate rate) __attribute__((returns_nonnull));

/* How many persons are known. */
size_t rates_persons(const struct rates *rates);

static inline void owned_rates(struct rates **rates)
{
    rates_free(*rates);
}
