/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of policies: how many servers a queue gets in each slot of five minutes of the planned
 * weeks.  Each has a parameter that buys safety with servers; its values stand in the table from
 * the boldest to the safest.  Only oracles may look at what a week brings.
 */
#pragma once

#include "windows/backtest/field.h"

enum { POLICY_LEVELS = 18 };

struct policy {
    const char *name;
    const char *meaning;   /* one line */
    const char *parameter; /* what the levels are; NULL: there is none */
    double levels[POLICY_LEVELS];
    size_t level_count;
    size_t chosen; /* the level that is used while no other is chosen */
    bool is_tuned; /* the level is chosen by how it did on past weeks */
    bool is_share; /* the level is a share of misses: the one that the attainment allows, of */
    enum outlook_kind outlook;
    bool is_again;     /* the rest of a span is planned again, as `outlook` says, and what waits
                          already is served (catch_up.h) */
    bool is_last_week; /* uses the field's `last_week`, which is computed only for such policies */
    bool is_oracle;    /* looks at the weeks that it plans */
    bool is_planned;   /* planned in advance, as `outlook` says, so nodes stay over short gaps */
    int (*plan)(const struct field *field, double level, int *servers, struct error *err);
};

extern const struct policy policies[]; /* ends with an empty entry */

enum { POLICY_STATIC }; /* the first: what the others recover capacity from */

size_t policies_count(void);

/* The index of the level while there are no past weeks to choose it from. */
size_t policies_level(const struct policy *policy, double attainment);

/* For each slot of the course, the first slot in which the number of that one is planned. */
void policies_known(const struct policy *policy, const struct field *field, size_t *ret_known);

/* The one that recovery is measured against. */
size_t policies_oracle(void);
