/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Days that a demand shows to have been unlike their weekday (windows/calendar/odd_days.h), with
 * the lines for sluice.yaml that say so; for sluice windows --suggest and sluice forecast.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "windows/calendar/window.h"
#include "windows/demand/demand.h"

/* [{date, weekday, like (a weekday, or null), factor, share, public (names by country), yaml}] */
json_t *proposed_days(const struct demand *demand, const struct window_set *set)
    __attribute__((warn_unused_result));

/* As YAML to paste; nothing where there is none. */
void proposed_days_yaml(const json_t *days, struct text *out);

/* As sentences, each with its line. */
void proposed_days_say(const json_t *days, struct text *out);
