/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See misses.h.
 */
#include "windows/backtest/misses.h"

#include <stddef.h>

static bool was_cut(const struct miss_facts *facts);
static bool had_enough(const struct miss_facts *facts);
static bool was_known_later(const struct miss_facts *facts);
static bool was_not_foretold(const struct miss_facts *facts);
static bool was_unlike_any(const struct miss_facts *facts);

/* In the order in which they are asked; NULL: always. */
static const struct {
    const char *name;
    const char *meaning;
    bool (*applies)(const struct miss_facts *facts);
} reasons[MISS_REASONS] = {
    [MISS_CUT] = { "cut", "planned enough, but the fleet was full and each queue got its part",
                   was_cut },
    [MISS_NEIGHBOUR] = { "neighbour",
                         "enough for what arrived in it: requests of the window before were left "
                         "over",
                         had_enough },
    [MISS_NO_REPLAN] = { "no re-plan", "a policy that plans nearer to it had more, and met it",
                         was_known_later },
    [MISS_HISTORY] = { "history", "too little was known before it for a forecast",
                       was_not_foretold },
    [MISS_FORECAST] = { "forecast", "needed more than the forecast expected on one day in 200",
                        was_unlike_any },
    [MISS_BOUND] = { "bound",
                     "within what the forecast expected on some days: the plan left it out", NULL },
};

static bool was_cut(const struct miss_facts *facts)
{
    return facts->held < facts->needed && facts->needed <= facts->planned;
}

static bool had_enough(const struct miss_facts *facts)
{
    return facts->held >= facts->needed;
}

static bool was_known_later(const struct miss_facts *facts)
{
    return facts->later > facts->planned;
}

static bool was_not_foretold(const struct miss_facts *facts)
{
    return !(facts->safest > 0);
}

static bool was_unlike_any(const struct miss_facts *facts)
{
    return facts->needed > facts->safest;
}

enum miss_reason miss_reason(const struct miss_facts *facts)
{
    enum miss_reason reason = MISS_CUT;

    while (reasons[reason].applies && !reasons[reason].applies(facts))
        reason++;
    return reason;
}

const char *miss_reason_name(enum miss_reason reason)
{
    return reasons[reason].name;
}

const char *miss_reason_meaning(enum miss_reason reason)
{
    return reasons[reason].meaning;
}
