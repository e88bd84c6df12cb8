/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See batch_lead.h.
 */
#include "windows/queueing/batch_lead.h"

#include "windows/servers/engine_periods.h"

#include <math.h>
#include <stdlib.h>

enum { LEAD_MEANS = 8 };

struct lead {
    const struct arrivals *arrivals;
    uint64_t span; /* ticks before the segment */
    ARRAY(uint64_t) at;
};

uint64_t batch_lead_ticks(const struct service_time *service)
{
    const struct engine *engine = service->engine;
    const struct engine_law *law = &engine->law;
    double full = engine_iteration_s(law, law->slots) / engine_iteration_s(law, 1);
    double mean_s = law->slots / engine_rate(engine, law->slots);

    double cv = engine_cv_most(engine);
    double remains = (1 + cv * cv) / 2; /* of one that runs, in means */
    double most = mean_s * engine_work_most(engine) * fmax(1, remains) * LEAD_MEANS *
                  TICKS_PER_SECOND;

    return (uint64_t)fmin((double)service->longest * full, most) + 1;
}

/* Adds the step that ends `distance` ticks before the segment begins. */
static void add_step(struct lead *lead, size_t step, uint64_t label, uint64_t distance)
{
    const struct arrivals_setup *setup = arrivals_setup_of(lead->arrivals);
    uint64_t step_ticks = (uint64_t)setup->series->step_ms * TICKS_PER_MS;

    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        struct random random;
        size_t count = arrivals_of_step(lead->arrivals, step, (enum demand_class) class, &random);

        random_seed(&random, random_mix(setup->seed, "before", label, (uint64_t) class));
        for (size_t i = 0; i < count; i++) {
            uint64_t ago = distance + ((random_next(&random) >> 32) * step_ticks >> 32);

            if (ago < lead->span)
                *array_add(&lead->at) = lead->span - 1 - ago;
        }
    }
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

void batch_lead(struct batch *batch, const struct arrivals *arrivals, size_t segment)
{
    const struct arrivals_setup *setup = arrivals_setup_of(arrivals);
    const struct demand_series *series = setup->series;
    size_t first = setup->segments->list.items[segment].first;
    uint64_t step_ticks = (uint64_t)series->step_ms * TICKS_PER_MS;
    uint64_t span = batch_lead_ticks(setup->service);
    struct lead lead = { .arrivals = arrivals, .span = span };
    struct random lengths;
    bool is_known = true;

    for (size_t i = 0; i * step_ticks < span; i++) {
        is_known = is_known && i < first && demand_is_known(series, first - i - 1);
        add_step(&lead, is_known ? first - i - 1 : first,
                 (uint64_t)demand_time(series, first).ms - i, i * step_ticks);
    }
    if (lead.at.count > 0)
        qsort(lead.at.items, lead.at.count, sizeof *lead.at.items, compare);

    uint64_t seed = random_mix(setup->seed, "lead", (uint64_t)demand_time(series, first).ms, 0);

    random_seed(&lengths, seed);
    batch_reset(batch);
    batch_draw_from(batch, &lengths, 0);
    batch_route_from(batch, random_mix(seed, "router", 0, 0), 0);
    batch_run_before(batch, &(struct batch_feed){
                                .at = { [DEMAND_LOW] = lead.at.items },
                                .count = { [DEMAND_LOW] = lead.at.count },
                                .horizon = (double)span,
                            });
    batch_begin(batch, (double)span);
    array_clear(&lead.at);
}
