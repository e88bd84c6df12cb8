/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fleets of 8-GPU nodes that are filled with jobs, as cases for the choice of victims: jobs are
 * drawn, placed where there is room (large ones on several nodes), and are somewhere in their run;
 * half of them wrote a checkpoint within the last hour.
 */
#pragma once

#include "base/array.h"
#include "base/random.h"
#include "broker/planning/victims.h"

#include <stdio.h>

enum { FLEET_GPUS = 8, FLEET_BLOCK = 8, FLEET_NODE_GANGS = FLEET_GPUS };

struct fleet_job {
    int64_t gpus;
    int64_t duration_s;
};

struct job_fleet {
    struct victim_case scene;
    struct victim_node *nodes;
    ARRAY(struct victim_gang) gangs;
    size_t (*on_node)[FLEET_NODE_GANGS];
    int *free_gpus;
    char (*names)[16];
    char (*blocks)[16];
};

typedef struct fleet_job (*fleet_draw_fn)(void *context, struct random *random);

static void job_fleet_free(struct job_fleet *fleet)
{
    mem_free(fleet->nodes);
    mem_free(fleet->on_node);
    mem_free(fleet->free_gpus);
    mem_free(fleet->names);
    mem_free(fleet->blocks);
    array_clear(&fleet->gangs);
}

/* Puts `gpus` of the gang on nodes from a random one on, first on nodes with room for all that is
   left or wholly free, then wherever there is room. */
static void job_fleet_place(struct job_fleet *fleet, size_t gang, int64_t gpus,
                            struct random *random)
{
    size_t count = fleet->scene.node_count;
    size_t from = (size_t)random_below(random, count);

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < count && gpus > 0; i++) {
            size_t at = (from + i) % count;
            struct victim_node *node = &fleet->nodes[at];
            int64_t least = pass > 0 ? 1 : gpus < FLEET_GPUS ? gpus : FLEET_GPUS;
            int64_t here = fleet->free_gpus[at] < gpus ? fleet->free_gpus[at] : gpus;

            if (fleet->free_gpus[at] < least ||
                (node->gang_count > 0 && node->gangs[node->gang_count - 1] == gang))
                continue;
            fleet->on_node[at][node->gang_count++] = gang;
            fleet->free_gpus[at] -= (int)here;
            gpus -= here;
        }
    }
}

static void job_fleet_fill(struct job_fleet *fleet, double load, fleet_draw_fn draw, void *context,
                           struct random *random)
{
    int64_t total = (int64_t)(load * (double)fleet->scene.node_count * FLEET_GPUS);

    for (int64_t used = 0; used < total;) {
        struct fleet_job job = draw(context, random);
        int64_t gpus = job.gpus < total - used ? job.gpus : total - used;
        int64_t since_s = (int64_t)(random_unit(random) * (double)job.duration_s);
        int64_t checkpoint_s = (int64_t)random_below(random, 3600);
        struct victim_gang *gang = array_add(&fleet->gangs);

        if (random_below(random, 2) == 0 && checkpoint_s < since_s)
            since_s = checkpoint_s;
        *gang = (struct victim_gang){ .kind = "Job", .name = "job", .team = "team", .gpus = gpus };
        gang->price_gpu_s = gang->lost_gpu_s = gpus * since_s;
        job_fleet_place(fleet, fleet->gangs.count - 1, gpus, random);
        used += gpus;
    }
}

static void job_fleet_init(struct job_fleet *fleet, size_t nodes, fleet_draw_fn draw, void *context,
                           struct random *random)
{
    *fleet = (struct job_fleet){ .scene.node_count = nodes };
    fleet->nodes = mem_new_array(nodes, sizeof *fleet->nodes);
    fleet->on_node = mem_new_array(nodes, sizeof *fleet->on_node);
    fleet->free_gpus = mem_new_array(nodes, sizeof *fleet->free_gpus);
    fleet->names = mem_new_array(nodes, sizeof *fleet->names);
    fleet->blocks = mem_new_array(nodes, sizeof *fleet->blocks);
    for (size_t i = 0; i < nodes; i++) {
        fleet->free_gpus[i] = FLEET_GPUS;
        snprintf(fleet->names[i], sizeof fleet->names[i], "node-%05u", (unsigned)(i % 100000));
        snprintf(fleet->blocks[i], sizeof fleet->blocks[i], "block-%04u",
                 (unsigned)(i / FLEET_BLOCK % 10000));
        fleet->nodes[i].name = fleet->names[i];
        fleet->nodes[i].block = fleet->blocks[i];
        fleet->nodes[i].gangs = fleet->on_node[i];
        fleet->nodes[i].created.ms = (int64_t)random_below(random, 1000000);
    }
    job_fleet_fill(fleet, 0.6 + 0.4 * random_unit(random), draw, context, random);
    fleet->scene.nodes = fleet->nodes;
    fleet->scene.gangs = fleet->gangs.items;
    fleet->scene.gang_count = fleet->gangs.count;
}
