/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan's spans follow each other: those of a week, or of a day.
 */
#include "windows/backtest/allotment.h"

#include "windows/shares.h"

#include <math.h>
#include <string.h>

static const double levels[OUTLOOK_LEVEL_COUNT] = OUTLOOK_LEVELS;

struct plan {
    struct field *fields;
    size_t count;
    enum outlook_kind kind;
    size_t first; /* span */
    size_t end;
    struct shares_cell *cells; /* one a window of each queue; of no days where nothing is known */
    size_t *shares;
};

static struct shares_cell *cell_of(const struct plan *plan, size_t field, size_t span)
{
    const struct course *course = plan->fields[field].course;

    return &plan->cells[field * course->set->weekly_count + course->spans.items[span].window];
}

static const double *bounds_of(const struct plan *plan, size_t field, size_t span)
{
    return &plan->fields[field].outlooks[plan->kind].bounds[span * SHARES];
}

/* A window's number has to be enough for the neediest of its days. */
static void set_bounds(const struct plan *plan, size_t field, size_t span)
{
    const struct judge_span *time = &plan->fields[field].course->spans.items[span].time;
    struct shares_cell *cell = cell_of(plan, field, span);
    const double *bounds = bounds_of(plan, field, span);

    if (!(bounds[0] > 0))
        return;
    cell->cost += plan->fields[field].queue->gpus * (double)(time->end.ms - time->begin.ms) /
                  HOUR_MS;
    cell->days++;
    for (size_t share = 0; share < SHARES; share++)
        cell->bounds[share] = fmax(cell->bounds[share], bounds[share]);
}

static void add_misses(const struct plan *plan, size_t field, size_t span)
{
    struct shares_cell *cell = cell_of(plan, field, span);
    const double *bounds = bounds_of(plan, field, span);

    for (size_t share = 0; share < SHARES && bounds[0] > 0; share++)
        cell->misses[share] += shares_beyond(bounds, cell->bounds[share]);
}

static void share_out(const struct plan *plan)
{
    const struct course *course = plan->fields[0].course;
    size_t cells = plan->count * course->set->weekly_count;

    memset(plan->cells, 0, cells * sizeof *plan->cells);
    for (size_t field = 0; field < plan->count; field++) {
        for (size_t span = plan->first; span < plan->end; span++)
            set_bounds(plan, field, span);
        for (size_t span = plan->first; span < plan->end; span++)
            add_misses(plan, field, span);
    }
    for (size_t level = 0; level < OUTLOOK_LEVEL_COUNT; level++) {
        shares_choose(plan->cells, cells, levels[level], plan->shares);
        for (size_t field = 0; field < plan->count; field++)
            for (size_t span = plan->first; span < plan->end; span++) {
                const struct shares_cell *cell = cell_of(plan, field, span);

                plan->fields[field]
                    .outlooks[plan->kind]
                    .wanted[level * course->spans.count + span] =
                    cell->bounds[plan->shares[cell - plan->cells]];
            }
    }
}

static bool is_same_plan(const struct plan *plan, const struct course_span *a,
                         const struct course_span *b)
{
    return a->week == b->week && (plan->kind == OUTLOOK_WEEKLY || a->day == b->day);
}

void allotment_make(struct field *fields, size_t count, enum outlook_kind kind)
{
    const struct course *course = fields[0].course;
    size_t cells = count * course->set->weekly_count;
    struct plan plan = { .fields = fields, .count = count, .kind = kind };

    plan.cells = mem_new_array(cells, sizeof *plan.cells);
    plan.shares = mem_new_array(cells, sizeof *plan.shares);
    for (; plan.first < course->spans.count; plan.first = plan.end) {
        for (plan.end = plan.first; plan.end < course->spans.count; plan.end++)
            if (!is_same_plan(&plan, &course->spans.items[plan.first],
                              &course->spans.items[plan.end]))
                break;
        share_out(&plan);
    }
    mem_free(plan.cells);
    mem_free(plan.shares);
}
