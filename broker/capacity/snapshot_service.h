/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service times of a snapshot: measured where a queue names its histogram, kept beside the
 * demand, told with it.
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

/* Writes the table of those that were measured beside the demand file; where none is, takes away
   the one of an earlier snapshot.  *ret_path: where it is, the caller's to free; NULL: nowhere. */
int snapshot_service_write(const struct snapshot_service *services, size_t count,
                           const char *demand_path, char **ret_path, struct error *err)
    __attribute__((warn_unused_result));

/* [{queue, mean_s, cv, requests, error}]: null for what is not so. */
json_t *snapshot_service_json(const struct snapshot_service *services, size_t count)
    __attribute__((warn_unused_result));

/* Lists what could not be measured on standard error; how many those are. */
size_t snapshot_service_missing(const struct snapshot_service *services, size_t count);
