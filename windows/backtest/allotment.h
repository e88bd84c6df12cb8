/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is wanted of all queues' outlooks, at each level: the misses that are allowed are shared out
 * among the windows of all queues (windows/forecast/shares.h), anew with each plan, from what its
 * forecasts say.
 */
#pragma once

#include "windows/backtest/field.h"

/* The fields have one course. */
void allotment_make(struct field *fields, size_t count, enum outlook_kind kind);
