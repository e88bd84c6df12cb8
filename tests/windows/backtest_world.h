/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A queue of three weeks and the backtest of it.
 */
#pragma once

#include "base/random.h"
#include "tests/support/unit.h"
#include "windows/backtest/backtest.h"

#include <math.h>

enum { WEEK_STEPS = 7 * 48, STEPS = 3 * WEEK_STEPS };

static const int64_t monday_ms = 1794787200000; /* 2026-11-16 00:00 UTC */

struct world {
    struct demand_series series;
    struct window_set *set;
    struct backtest_queue queue;
    struct backtest_setup setup;
};

/* Half-hours of a wave that is lower at weekends, with noise of its own for each day. */
static inline void world_init_from(struct world *world, int64_t start_ms, int steps)
{
    *world = (struct world){ .series = { .queue = (char *)(uintptr_t) "chat",
                                         .start = { start_ms },
                                         .step_ms = 30 * MINUTE_MS,
                                         .count = (size_t)steps,
                                         .is_single = true } };
    world->series.counts[DEMAND_LOW] = mem_new_array((size_t)steps, sizeof(int32_t));
    for (int i = 0; i < steps; i++) {
        double level = (i / 48 % 7 < 5 ? 100 : 50) * (1 - 0.7 * cos(i % 48 / 48.0 * 2 * M_PI));
        struct random random;

        random_seed(&random, random_mix(5, "day", (uint64_t)(i / 48), 0));
        level *= random_between(&random, 0.9, 1.1);
        world->series.counts[DEMAND_LOW][i] = (int32_t)level;
    }
    world->set = window_set_read(NULL, time_zone_open("UTC", NULL), NULL);
    assert_non_null(world->set);
    world->queue = (struct backtest_queue){ .series = &world->series,
                                            .target = { 60 * SECOND_MS, 98 },
                                            .service_s = 160,
                                            .service_cv = 1,
                                            .scale = 1,
                                            .gpus = 2 };
    world->setup = (struct backtest_setup){
        .judged = world->set,
        .planned = world->set,
        .queues = &world->queue,
        .queue_count = 1,
        .end = demand_time(&world->series, (size_t)steps),
        .fleet = { 0, 8, 30 * MINUTE_MS, 30 * MINUTE_MS, 2 },
        .attainment = 0.9,
        .first_week = 2,
        .seeds = 1,
        .seed = 1,
        .threads = 1,
    };
}

static inline void world_init(struct world *world)
{
    world_init_from(world, monday_ms, STEPS);
}

static inline void world_clear(struct world *world)
{
    mem_free(world->series.counts[DEMAND_LOW]);
    window_set_free(world->set);
}
