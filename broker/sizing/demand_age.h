/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where the end of a demand lies, compared with the time at which a plan is made from it.
 */
#pragma once

#include "windows/allocation/allocate.h"

/* For a plan that rests on the last hours (--follow).  ERROR_INVALID if the demand of a queue of
   the model is not known until `now`, or if the demand ends after it.  A step and ten minutes are
   allowed both ways: an export takes time. */
int demand_age_check(const struct demand *demand, const struct allocate_model *model,
                     struct wall_time now, struct error *err) __attribute__((warn_unused_result));

/* Says on stderr if the demand ends after `now`, with the same allowance. */
void demand_age_note(const struct demand *demand, struct wall_time now);
