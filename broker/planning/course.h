/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The course of a day: how many nodes each cluster had and wanted, as it was seen, and how many the
 * schedules in force want in the hours to come.  Pure.  What was seen is kept in memory for 24
 * hours; a restart forgets it.
 */
#pragma once

#include "broker/planning/targets.h"

#include <jansson.h>

/* Between two looks, and how many of them are kept: those of 24 hours. */
enum { COURSE_STEP_MS = 5 * MINUTE_MS, COURSE_LOOKS = 289 };

/* One cluster at one look; -1: not known, or no schedule names it. */
struct course_point {
    int64_t ready;  /* nodes that can be used and do not leave */
    int64_t wanted; /* nodes that the window in force wants */
    int64_t lent;   /* of a research cluster: ready nodes beyond its static ones */
};

struct course;

struct course *course_new(size_t cluster_count)
    __attribute__((returns_nonnull, warn_unused_result));
void course_free(struct course *course);

/* Whether the next look is due at loop time now_ms. */
bool course_is_due(const struct course *course, int64_t now_ms);

/* Whether there was a look. */
bool course_has_looks(const struct course *course);

/* Adds a look: a point for each cluster, which are copied.  The oldest look may be forgotten. */
void course_add(struct course *course, int64_t now_ms, const struct course_point *points);

/* [[age_s, ready_nodes, wanted_nodes, lent_nodes]] of the cluster, the oldest first; a number that
   is not known is null. */
json_t *course_describe(const struct course *course, size_t cluster, int64_t now_ms)
    __attribute__((returns_nonnull, warn_unused_result));

/* What the schedules of the horizon's book want of a production cluster from now until then:
   [{from, window, nodes}], a row for each window; nodes is null if no schedule names it. */
json_t *course_ahead(const struct horizon *horizon, const struct config_cluster *cluster,
                     struct wall_time until) __attribute__((returns_nonnull, warn_unused_result));
