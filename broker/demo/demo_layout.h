/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fleets that the demo can play: their clusters, reservations and pools.
 */
#pragma once

#include <stddef.h>

enum { DEMO_RESERVATIONS_MAX = 3 };

/* The file of an account's keys, in the demo's folder. */
#define DEMO_CREDENTIALS "credentials"

/* One reservation, with the production and the research cluster that share it. */
struct demo_place {
    const char *production;
    const char *research;
    const char *production_pool;
    const char *research_pool;
    int nodes;
};

struct demo_layout {
    const struct demo_place *places; /* in the order of the configuration's reservations */
    size_t count;
    const char *config;      /* YAML: lead, clusters, reservations, providers, pools */
    const char *shares;      /* of each workload, by production cluster */
    const char *world;       /* more YAML of world.yaml */
    int backlog;             /* jobs that wait in research */
    const char *credentials; /* of DEMO_CREDENTIALS; NULL: no such file */
};

extern const struct demo_layout demo_google; /* two zones of one cloud */
extern const struct demo_layout demo_clouds; /* three clouds, one of which is out for a while */
extern const struct demo_layout demo_slurm;  /* research is scheduled by Slurm */
