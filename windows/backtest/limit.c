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

static struct arrivals *arrivals_of(const struct field *field, struct error *err)
{
    struct search_setup truth = field_truth(field, field->whole);

    return search_arrivals(&truth, 0, err);
}

static struct occurrence_setup occurrences_of(const struct field *field, struct arrivals *arrivals)
{
    return (struct occurrence_setup){ .arrivals = arrivals,
                                      .target = field->queue->target,
                                      .spans = field->judged,
                                      .span_count = field->judged_count,
                                      .begin = course_slot(field->course, 0),
                                      .slots = field->course->slots };
}

int limit_alone(const struct field *field, const struct fleet *fleet, size_t first,
                double *ret_hours, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = arrivals_of(field, err);
    struct occurrence_setup setup = occurrences_of(field, arrivals);
    int gpus = field->queue->gpus;
    int group = gpus > fleet->gpus_per_node ? gpus / fleet->gpus_per_node : 1;
    struct moves_cost cost = { .nodes_max = fleet->nodes / group,
                               .slot_h = hours(JUDGE_SLOT_MS),
                               .counted = field->counted,
                               .up_h = hours(fleet->up_ms) +
                                       fleet->evicted_h / fleet->gpus_per_node,
                               .down_h = hours(fleet->down_ms) };

    if (!arrivals)
        return -1;
    *ret_hours = bound_node_hours(&setup, first, (fleet->gpus_per_node + gpus - 1) / gpus, &cost) *
                 group;
    return 0;
}

int limit_shared(const struct field *field, const struct fleet *fleet, size_t first,
                 double *ret_hours, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = arrivals_of(field, err);
    struct occurrence_setup setup = occurrences_of(field, arrivals);
    int gpus = field->queue->gpus;
    struct moves_cost cost = { .nodes_max = fleet->nodes * fleet->gpus_per_node / gpus,
                               .slot_h = hours(JUDGE_SLOT_MS),
                               .counted = field->counted };

    if (!arrivals)
        return -1;
    *ret_hours = bound_node_hours(&setup, first, 1, &cost) * gpus / fleet->gpus_per_node;
    return 0;
}
