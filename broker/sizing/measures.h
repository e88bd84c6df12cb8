/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a snapshot measured beside the demand file: service times and engines.
 */
#pragma once

#include "broker/config/config.h"

/* What of it was used: paths, NULL where none was. */
struct measures_used {
    char *services;
    char *engines;
};

/* Sets, in this order: the service times and engines that a snapshot measured beside the demand
   file at `path`; then, for engines still without lengths, those of the demand's rows.  Notes on
   stderr name queues that ask for a measurement and have none.  Borrows all; the caller frees *ret
   with measures_used_clear(), whatever is returned.  ERROR_INVALID: a table that cannot be read, or
   an engine without lengths. */
int measures_take(struct config *config, const struct demand *demand, const char *path,
                  struct measures_used *ret, struct error *err) __attribute__((warn_unused_result));
void measures_used_clear(struct measures_used *used);

static inline void owned_measures_used(struct measures_used *used)
{
    measures_used_clear(used);
}
