/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The demo's world: a fleet (demo_layout.h), and its demand, made by a seed or taken from
 * a file.  It is written as the files that a user would have: sluice.yaml, world.yaml, a CSV of the
 * days before and one of the days that are played.
 */
#pragma once

#include "base/error.h"
#include "base/timestamp.h"
#include "broker/demo/demo_layout.h"
#include "windows/demand/demand.h"

#include <stdint.h>

enum { DEMO_PAST_DAYS = 7 };

struct demo_world {
    const struct demo_layout *layout;
    char *folder;
    char *config_path;
    char *world_path;
    char *past_path;        /* demand of the days before */
    char *day_path;         /* demand that is played */
    struct wall_time start; /* of the play */
    int64_t length_ms;
    double scale; /* the file's arrivals were multiplied by this; 1 for the seed's */
    char *source; /* what the demand is, for people */
};

/* Makes the folder and writes everything but the machines at the start.  demand_path NULL: by the
   seed.  day: which one of the file is played; NULL: the first weekday that has a week before it.
 */
struct demo_world *demo_world_new(const struct demo_layout *layout, const char *demand_path,
                                  const struct civil_date *day, uint64_t seed, struct error *err)
    __attribute__((warn_unused_result));

/* Removes the folder. */
void demo_world_free(struct demo_world *world);

/* Writes world.yaml: so many nodes of each place's production pool at the start (the rest are
   research's), and the replicas as YAML. */
int demo_world_populate(const struct demo_world *world, const int *prod_nodes, const char *replicas,
                        uint64_t seed, struct error *err) __attribute__((warn_unused_result));

static inline void owned_demo_world(struct demo_world **world)
{
    demo_world_free(*world);
}
