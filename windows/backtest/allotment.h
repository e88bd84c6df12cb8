/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Distributes the allowed misses, at each level, over the windows of all queues
 * (windows/forecast/shares.h), again for each plan, from its forecasts.
 */
#pragma once

#include "windows/backtest/field.h"

/* The fields have one course. */
void allotment_make(struct field *fields, size_t count, enum outlook_kind kind);
