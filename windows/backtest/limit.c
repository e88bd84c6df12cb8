/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See limit.h.
 */
#include "windows/backtest/limit.h"

#include "windows/backtest/bound.h"

static double hours(int64_t duration_ms)
{
    return (double)duration_ms / HOUR_MS;
}

int limit_node_hours(const struct field *field, const struct fleet *fleet, size_t first,
                     bool is_alone, double *ret_hours, struct error *err)
{
    struct search_setup truth = field_truth(field, field->whole);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&truth, 0, err);
    struct occurrence_setup setup = { .arrivals = arrivals,
                                      .target = truth.target,
                                      .spans = field->judged,
                                      .span_count = field->judged_count,
                                      .begin = course_slot(field->course, 0),
                                      .slots = field->course->slots };
    int gpus = field->queue->gpus;
    int group = gpus > fleet->gpus_per_node ? gpus / fleet->gpus_per_node : 1;
    struct moves_cost cost = { .nodes_max = fleet->nodes, .slot_h = hours(JUDGE_SLOT_MS) };

    if (!arrivals)
        return -1;
    if (is_alone) {
        cost.up_h = hours(fleet->up_ms) + fleet->evicted_h / fleet->gpus_per_node;
        cost.down_h = hours(fleet->down_ms);
        cost.nodes_max = fleet->nodes / group;
        *ret_hours = bound_node_hours(&setup, first, (fleet->gpus_per_node + gpus - 1) / gpus,
                                      &cost) *
                     group;
        return 0;
    }
    cost.nodes_max = fleet->nodes * fleet->gpus_per_node / gpus;
    *ret_hours = bound_node_hours(&setup, first, 1, &cost) * gpus / fleet->gpus_per_node;
    return 0;
}
