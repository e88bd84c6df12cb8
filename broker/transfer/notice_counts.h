/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How often the promise of the notice (notice.h) was not kept, or not given.
 */
#pragma once

#include "base/timestamp.h"

#include <stdint.h>

struct notice_counts {
    int64_t violations;        /* pods of voluntary transfers that were asked to leave too soon */
    struct wall_time violated; /* when the last of them was; 0: none, or a record of an older
                                  release */
    int64_t emergencies;       /* pods that left for an emergency */
    uint64_t rev;
};
