/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schedule of one window: replicas per workload and cluster, nodes per machine type, region,
 * cluster and zone.  A YAML file in git, written by `sluice allocate`, reviewed by people, who may
 * edit it, and obeyed by the service.
 *
 *     workloads:
 *       task-worker-2x-h100-model-a:
 *         prod-a: 48
 *     compute:
 *       a3-megagpu-8g:
 *         us-region-1:
 *           prod-a:
 *             counts: [80, 64, 0]      (one a zone of the region, in the order of the zones' names)
 *
 * Names are sorted by byte and one number has one line, so that a diff of one number is one line.
 */
#pragma once

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum { SCHEDULE_ZONES_MAX = 16 };

struct schedule_replicas {
    char *workload;
    char *cluster;
    int replicas;
    int line; /* of its file; 0: it is of none */
};

struct schedule_nodes {
    char *machine;
    char *region;
    char *cluster;
    int counts[SCHEDULE_ZONES_MAX];
    size_t zone_count;
    int line; /* of `counts` in its file; 0: it is of none */
};

struct schedule {
    struct schedule_replicas *replicas; /* sorted by workload, cluster */
    size_t replicas_count;
    struct schedule_nodes *nodes; /* sorted by machine, region, cluster */
    size_t nodes_count;
};

struct schedule *schedule_new(void) __attribute__((returns_nonnull, warn_unused_result));
void schedule_free(struct schedule *schedule);

/* Returns the row, which is valid until the next change. */
struct schedule_replicas *schedule_set_replicas(struct schedule *schedule, const char *workload,
                                                const char *cluster, int replicas)
    __attribute__((returns_nonnull));

/* Where an entry stands under "compute". */
struct schedule_path {
    const char *machine;
    const char *region;
    const char *cluster;
};

/* Nodes in each zone of the region, SCHEDULE_ZONES_MAX zones at most.  Returns the row, which is
   valid until the next change. */
struct schedule_nodes *schedule_set_nodes(struct schedule *schedule, struct schedule_path path,
                                          const int *counts, size_t zone_count)
    __attribute__((returns_nonnull));

/* -1 when the schedule does not name it: nothing is then done to it. */
int schedule_replicas_of(const struct schedule *schedule, const char *workload,
                         const char *cluster);
int schedule_nodes_of(const struct schedule *schedule, const char *machine, const char *region,
                      const char *cluster, size_t zone);

/* Errors give file, line and key: negative numbers, fractions, unknown keys, wrong shapes. */
struct schedule *schedule_parse(const char *bytes, size_t size, const char *source,
                                struct error *err) __attribute__((warn_unused_result));
struct schedule *schedule_read(const char *path, struct error *err)
    __attribute__((warn_unused_result));

/* Appends the file's text; each line of `header` (may be NULL) becomes a comment on top. */
void schedule_print(const struct schedule *schedule, const char *header, struct text *out);

static inline void owned_schedule(struct schedule **schedule)
{
    schedule_free(*schedule);
}
