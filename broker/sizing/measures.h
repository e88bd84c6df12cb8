/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a snapshot measured beside the demand file: service times and engines.
 */
#pragma once

#include "broker/config/config.h"

/* From here on the queues that name a histogram have the times that a snapshot measured beside the
   demand file; where it measured none, a note says so.  *ret_path: the table, the caller's to free;
   left as it is where none is used. */
int measures_take_services(struct config *config, const char *demand, char **ret_path,
                           struct error *err) __attribute__((warn_unused_result));

/* The same of queues whose engine says its metrics. */
int measures_take_engines(struct config *config, const char *demand, char **ret_path,
                          struct error *err) __attribute__((warn_unused_result));
