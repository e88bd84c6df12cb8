/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See rates.h.  A bucket is the time at which it is full again: each request moves that time by
 * 1/rate, and is refused when it would be further ahead than a whole burst takes.
 */
#include "broker/access/rates.h"

#include "base/map.h"
#include "base/memory.h"

enum { US_OF_MS = 1000, REFUSED_MS = 1000 };

static const struct {
    int64_t burst;
    int64_t period_us; /* of one request */
    const char *text;
} limits[RATE_COUNT] = {
    [RATE_FREE] = { 0, 0, "no limit" },
    [RATE_READ] = { 40, 50000, "40 at once, then 20 a second" },
    [RATE_PLAN] = { 10, 500000, "10 at once, then 2 a second" },
    [RATE_ACT] = { 40, 500000, "40 at once, then 2 a second" },
};

struct buckets {
    int64_t full_us[RATE_COUNT];
};

struct rates {
    struct map *persons; /* -> struct buckets */
};

struct rates *rates_new(void)
{
    struct rates *rates = mem_new(sizeof *rates);

    rates->persons = map_new(mem_free);
    return rates;
}

void rates_free(struct rates *rates)
{
    if (!rates)
        return;
    map_free(rates->persons);
    mem_free(rates);
}

static bool are_full(const struct buckets *buckets, int64_t now_us)
{
    for (size_t i = 0; i < RATE_COUNT; i++)
        if (buckets->full_us[i] > now_us)
            return false;
    return true;
}

static void forget_idle(struct rates *rates, int64_t now_us)
{
    const char *person;
    void *buckets;

    for (size_t i = 0; map_next(rates->persons, &i, &person, &buckets);)
        if (are_full(buckets, now_us))
            map_remove(rates->persons, person);
}

/* NULL: too many persons ask at once. */
static struct buckets *find(struct rates *rates, const char *person, int64_t now_us)
{
    struct buckets *buckets = map_get(rates->persons, person);

    if (buckets)
        return buckets;
    if (map_count(rates->persons) >= RATES_PERSONS_MOST)
        forget_idle(rates, now_us);
    if (map_count(rates->persons) >= RATES_PERSONS_MOST)
        return NULL;
    buckets = mem_new(sizeof *buckets);
    map_set(rates->persons, person, buckets);
    return buckets;
}

int64_t rates_take(struct rates *rates, const char *person, enum rate rate, int64_t now_ms)
{
    int64_t now_us = now_ms * US_OF_MS;
    int64_t period_us = limits[rate].period_us;
    int64_t ahead_us;
    struct buckets *buckets;

    require(rate < RATE_COUNT);
    if (rate == RATE_FREE)
        return 0;
    buckets = find(rates, person, now_us);
    if (!buckets)
        return REFUSED_MS;
    if (buckets->full_us[rate] < now_us)
        buckets->full_us[rate] = now_us;
    ahead_us = buckets->full_us[rate] + period_us - now_us - limits[rate].burst * period_us;
    if (ahead_us > 0)
        return (ahead_us + US_OF_MS - 1) / US_OF_MS;
    buckets->full_us[rate] += period_us;
    return 0;
}

const char *rate_text(enum rate rate)
{
    require(rate < RATE_COUNT);
    return limits[rate].text;
}

size_t rates_persons(const struct rates *rates)
{
    return map_count(rates->persons);
}
