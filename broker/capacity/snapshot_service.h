/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service times of a snapshot.  They are measured for queues that name a histogram, stored
 * beside the demand, and reported with it.
 */
#pragma once

#include "broker/config/config.h"
#include "broker/sources/source.h"

#include <jansson.h>

/* One queue that names its histogram. */
struct snapshot_service {
    const struct config_queue *queue;
    struct service_shape *shape; /* NULL: why */
    struct error why;
};

/* Writes the table of the measured ones beside the demand file; if none was measured, removes that
   of an earlier snapshot. *ret_path: its path, owned by the caller; NULL: there is none. */
int snapshot_service_write(const struct snapshot_service *services, size_t count,
                           const char *demand_path, char **ret_path, struct error *err)
    __attribute__((warn_unused_result));

/* [{queue, mean_s, cv, requests, error}]: a member that does not apply is null. */
json_t *snapshot_service_json(const struct snapshot_service *services, size_t count)
    __attribute__((warn_unused_result));

/* Lists failed measurements on standard error; returns their number. */
size_t snapshot_service_missing(const struct snapshot_service *services, size_t count);
