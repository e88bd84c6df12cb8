/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kueue's two versions; see kube_kueue.c.  Paths and objects of others are left as they are.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct sim_call;
struct simulator;

/* Whether the version that the path names is served. */
bool sim_kueue_serves(const struct simulator *sim, const char *path);

/* From what was asked under that path to what is kept, the path too; object NULL: the path alone.
 */
void sim_kueue_keep(char *path, json_t *object);

/* From what is kept to what is shown under that path. */
void sim_kueue_show(const char *path, json_t *object);

/* What discovery says of it; NULL: there is no Kueue. */
json_t *sim_kueue_group(const struct sim_call *call);
