/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows for the policies of a backtest, proposed from what lies before the weeks that are judged.
 */
#pragma once

#include "windows/backtest/field.h"

/* At most `count` windows, in the zone of `judged`, from the demand of all queues before `until`.
 */
struct window_set *backtest_windows(const struct backtest_queue *queues, size_t queue_count,
                                    const struct window_set *judged, struct wall_time until,
                                    size_t count, struct error *err)
    __attribute__((warn_unused_result));
