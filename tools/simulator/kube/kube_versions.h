/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * API groups in several versions (scenario_groups); see kube_versions.c.  Paths and objects of
 * others are left as they are.
 */
#pragma once

#include "tools/simulator/model/scenario.h"

#include <jansson.h>

struct sim_call;
struct simulator;

/* Whether the server has the group and version that the call's path names from `at` on. */
bool sim_version_is_served(const struct sim_call *call, size_t at);

/* Converts the object under that path, and the path itself, to the stored version; object NULL: the
 * path alone.
 */
void sim_version_keep(char *path, json_t *object);

/* Converts the object from the stored version to that of the path. */
void sim_version_show(const char *path, json_t *object);

/* The newest version that is served; of a group that is not there, the newest. */
const char *sim_version_of(const struct simulator *sim, enum scenario_group_id group)
    __attribute__((returns_nonnull));

/* The discovery document of a group; NULL: it is unknown, or not one of these. */
json_t *sim_version_group(const struct sim_call *call, const char *name);
