/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether the instances of a table are alike: each is fitted by itself, and their iterations are
 * compared at the mean batch of all.
 */
#pragma once

#include "windows/servers/profile_fit.h"

enum { PROFILE_INTERVALS_MIN = 12 }; /* of a fit */

struct profile_kin {
    size_t count;                /* instances that tell a law by themselves */
    double apart;                /* greatest over least iteration among these, less 1 */
    double error[PROFILE_TERMS]; /* standard errors of the means over these */
};

/* ERROR_INVALID when two instances differ by more than GPUs of one type do, and not by chance. */
int profile_kin_compare(const struct profile_table *table, struct profile_kin *ret,
                        struct error *err) __attribute__((warn_unused_result));
