/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why a window occurrence missed its target under a plan of sluice: a reason from a table, by the
 * facts known afterwards.
 */
#pragma once

#include <stdbool.h>

enum miss_reason {
    MISS_CUT,
    MISS_NEIGHBOUR,
    MISS_NO_REPLAN,
    MISS_HISTORY,
    MISS_FORECAST,
    MISS_BOUND,
    MISS_REASONS
};

/* Numbers of servers. */
struct miss_facts {
    int planned;
    int held;      /* of them, after the fleet's nodes were shared out */
    int needed;    /* for its own arrivals, if no earlier request had waited */
    int later;     /* of a plan that was made closer to it and met the target; 0: there is none */
    double safest; /* the forecast expected a greater need on one day in 200; 0: there was no
                      forecast */
};

/* The first of the table that applies; the last one always does. */
enum miss_reason miss_reason(const struct miss_facts *facts);

const char *miss_reason_name(enum miss_reason reason);    /* one or two words */
const char *miss_reason_meaning(enum miss_reason reason); /* one line */
