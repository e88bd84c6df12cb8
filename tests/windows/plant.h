/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small world to plan: a week of waves for a few queues, one workload a queue, two production
 * clusters of two pools each.  Tests change what they are about before they plan.
 */
#pragma once

#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"
#include "windows/allocation/allocate.h"

#include <math.h>

static const int64_t monday_ms = 1794805200000; /* 2026-11-16 00:00 in New York */

/* Two priorities over `days` days in 5-minute steps, with a wave, noise and holes. */
static inline struct demand *wave(const char *const *queues, size_t count, int days, double peak)
{
    owned(text) struct text *csv = text_new(1 << 26);
    struct demand_options options = { 0 };
    struct error err = { 0 };

    text_add(csv, "t,queue,count,priority\n");
    for (size_t queue = 0; queue < count; queue++)
        for (int64_t i = 0; i < days * 288; i++) {
            struct random random;
            char time[WALL_TEXT_SIZE];
            double level = 0.6 - 0.4 * cos((double)(i % 288) / 288 * 2 * M_PI);

            random_seed(&random, random_mix(9, queues[queue], (uint64_t)i, 0));
            if (random_below(&random, 50) == 0)
                continue;
            level *= peak * random_between(&random, 0.8, 1.25);
            wall_format((struct wall_time){ monday_ms + i * 5 * MINUTE_MS }, time);
            text_add(csv, "%s,%s,%d,high\n%s,%s,%d,low\n", time, queues[queue], (int)(level * 100),
                     time, queues[queue], (int)(level * 200));
        }

    struct demand *demand = demand_parse(csv->chars, csv->length, "wave.csv", &options, &err);

    if (!demand)
        fail_msg("%s", err.text);
    return demand;
}

/* A model of one workload a queue, over two clusters of two pools each. */
struct plant {
    struct window_set *windows;
    struct demand *demand;
    struct allocate_queue queues[4];
    struct allocate_cluster clusters[2];
    struct allocate_share shares[2];
    struct allocate_workload workloads[4];
    struct allocate_pool pools[4];
    struct place_pool place_pools[4];
    int reservation_nodes[2];
    struct allocate_model model;
};

static inline void plant_init(struct plant *plant, const char *const *queues, size_t count)
{
    static const char *const names[] = { "task-w", "task-x", "task-y", "task-z" };
    static const double services[] = { 20, 8, 45, 20 };

    *plant = (struct plant){
        .windows = window_set_read(NULL, time_zone_open("America/New_York", NULL), NULL),
        .demand = wave(queues, count, 7, 1),
        .clusters = { { "prod-a", 8, 1 }, { "prod-b", 8, 0 } },
        .shares = { { 0, 4, 1 }, { 1, 3, 0 } },
        .pools = { { "h100", "r1", "z1", 0, 2 },
                   { "h100", "r1", "z2", 1, 2 },
                   { "h100", "r1", "z1", 0, 2 },
                   { "h100", "r1", "z2", 1, 2 } },
        .place_pools = { { 0, 0, 1, 60, 1 },
                         { 0, 1, 0, 60, 1 },
                         { 1, 0, 0, 60, 1 },
                         { 1, 1, 0, 60, 1 } },
        .reservation_nodes = { 60, 60 },
    };
    for (size_t i = 0; i < count; i++) {
        plant->queues[i] = (struct allocate_queue){
            .name = queues[i],
            .demand = demand_find(plant->demand, queues[i]),
            .target = { 30 * SECOND_MS, 98 },
            .service_s = services[i],
            .service_cv = i == 1 ? 2 : 1,
            .scale = 1,
        };
        plant->workloads[i] = (struct allocate_workload){ names[i], i, i == 2 ? 4 : 2,
                                                          plant->shares, 2 };
    }
    plant->model = (struct allocate_model){
        .windows = plant->windows,
        .from = { monday_ms },
        .to = plant->demand->end,
        .queues = plant->queues,
        .queue_count = count,
        .clusters = plant->clusters,
        .cluster_count = 2,
        .workloads = plant->workloads,
        .workload_count = count,
        .pools = plant->pools,
        .place = { plant->place_pools, 4, plant->reservation_nodes, 2 },
        .repack_nodes = 1,
        .seeds = 3,
        .threads = 1,
        .seed = 1,
    };
}

static inline void plant_clear(struct plant *plant)
{
    window_set_free(plant->windows);
    demand_free(plant->demand);
}

static inline struct allocate_plan *plan_of(const struct plant *plant)
{
    struct error err = { 0 };
    struct allocate_plan *plan = allocate_plan(&plant->model, &err);

    if (!plan)
        fail_msg("%s", err.text);
    return plan;
}

static inline char *all_schedules(const struct allocate_plan *plan)
{
    struct text *text = text_new(1 << 20);

    for (size_t i = 0; i < plan->window_count; i++)
        schedule_print(plan->schedules[i], "window", text);
    return text_take(text);
}
