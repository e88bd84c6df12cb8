/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which nodes the pools of a plan give, once their number is decided.  Private to broker/planning.
 */
#pragma once

#include "broker/planning/plan.h"

/* Chooses `taken` nodes of each pool, fills plan->choices, and gives every transfer its node. */
void plan_choose(const struct plan_input *input, struct plan *plan, const size_t *taken);
