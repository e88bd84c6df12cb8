/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plan's spans follow each other: those of a week, or of a day.
 */
#include "windows/backtest/allotment.h"

#include "windows/forecast/shares.h"

#include <math.h>
#include <string.h>

static const double levels[OUTLOOK_LEVEL_COUNT] = OUTLOOK_LEVELS;

static const double further_least = 0.2; /* measured where whole days are alike */

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

static const struct outlook *outlook_of(const struct plan *plan, size_t field)
{
    return &plan->fields[field].outlooks[plan->kind];
}

/* Misses are allowed to judged occurrences.  If planned windows are finer, such an occurrence
   contains several, and misses if any of them does.  Windows whose errors are alike miss together;
   of the others each further one adds its own misses: the judged occurrence would otherwise have
   met its target. */
static double misses_of_judged(const struct plan *plan, size_t field, size_t span)
{
    const struct field *at = &plan->fields[field];
    double parts = (double)at->course->spans.count / fmax(1, (double)at->judged_count);
    double further = fmax(1 - outlook_of(plan, field)->alike[span], further_least);

    return 1 + further * fmax(0, parts - 1);
}

/* A window's number has to be enough for the neediest of its days. */
static void set_bounds(const struct plan *plan, size_t field, size_t span)
{
    const struct wall_span *time = &plan->fields[field].course->spans.items[span].time;
    struct shares_cell *cell = cell_of(plan, field, span);
    const double *bounds = &outlook_of(plan, field)->shared[span * SHARES];

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
    const double *bounds = &outlook_of(plan, field)->shared[span * SHARES];
    double judged = misses_of_judged(plan, field, span);

    for (size_t share = 0; share < SHARES && bounds[0] > 0; share++)
        cell->misses[share] += judged * shares_beyond(bounds, cell->bounds[share]);
}

/* The bound in force, at the share of misses that the plan gave its window. */
static double wanted_of(const struct plan *plan, size_t field, size_t span)
{
    const struct shares_cell *cell = cell_of(plan, field, span);
    const struct outlook *outlook = outlook_of(plan, field);
    size_t share = plan->shares[cell - plan->cells];

    return outlook->shared == outlook->bounds ? cell->bounds[share]
                                              : outlook->bounds[span * SHARES + share];
}

/* What each span is planned for at a level, from the shares that were chosen. */
static void set_wanted(const struct plan *plan, size_t level)
{
    size_t spans = plan->fields[0].course->spans.count;

    for (size_t field = 0; field < plan->count; field++) {
        struct outlook *outlook = &plan->fields[field].outlooks[plan->kind];

        for (size_t span = plan->first; span < plan->end; span++) {
            outlook->wanted[level * spans + span] = wanted_of(plan, field, span);
            if (outlook->shares)
                outlook->shares[level * spans + span] =
                    plan->shares[cell_of(plan, field, span) - plan->cells];
        }
    }
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
        set_wanted(plan, level);
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
    struct plan plan = { fields, count, kind, 0, 0, NULL, NULL };

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
