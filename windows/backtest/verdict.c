/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From verdicts to results: the best levels, and the figures of the backtest.
 */
#include "windows/backtest/work.h"

#include <math.h>

/* Whether the attainment is reached even if the next occurrence is missed: so the expected share of
   misses on new weeks holds although few weeks were seen. */
static bool is_enough(const struct measure *measure, double attainment)
{
    return (double)measure->spans_met >= attainment * (double)(measure->spans + 1);
}

/* The level for a week, from the weeks before it. */
static size_t choose_level(const struct work *work, size_t row, size_t week)
{
    const struct policy *policy = work->backtest->rows[row].policy;
    size_t best = policy->level_count - 1;
    double most = -HUGE_VAL;

    if (week <= 1)
        return policies_level(policy, work->setup->attainment);
    for (size_t i = 0; i < policy->level_count; i++) {
        struct measure measure = work_measure(work, work_run(work, row, i),
                                              (struct course_weeks){ 1, week });

        if (is_enough(&measure, work->setup->attainment) && measure.research_h > most) {
            most = measure.research_h;
            best = i;
        }
    }
    return best;
}

void verdict_tune(struct work *work, size_t row)
{
    struct backtest *backtest = work->backtest;
    struct run *run = &work->tuned[row];

    for (size_t week = 1; week < backtest->planned.weeks; week++) {
        size_t level = choose_level(work, row, week);
        size_t first = course_week_slot(&backtest->planned, week);
        size_t end = course_week_slot(&backtest->planned, week + 1);

        backtest->rows[row].levels[week] = backtest->rows[row].policy->levels[level];
        for (size_t i = 0; i < work->setup->queue_count; i++)
            memcpy(run->servers[i] + first, work_run(work, row, level)->servers[i] + first,
                   (end - first) * sizeof **run->servers);
    }
    run_fit(run, &work->frame, &backtest->fleet);
}

static void set_limit(struct work *work)
{
    struct backtest *backtest = work->backtest;
    struct backtest_limit *limit = &backtest->limit;
    const struct fleet *fleet = &backtest->fleet;
    size_t counted = backtest->coverage.judged - backtest->coverage.left_out;

    if (!backtest->has_limit)
        return;
    limit->has_moves = work->setup->queue_count == 1;
    for (size_t i = 0; i < work->setup->queue_count; i++)
        limit->node_h += work->limits[i];
    limit->research_h = fleet->gpus_per_node *
                        ((double)counted * JUDGE_SLOT_MS / HOUR_MS * fleet->nodes - limit->node_h);
}

/* What static-peak and the oracle leave to research. */
struct span_of_hours {
    double from;
    double to;
};

static double share_of(struct span_of_hours hours, double research_h)
{
    return hours.to > hours.from ? (research_h - hours.from) / (hours.to - hours.from) : 0;
}

/* The hours of static-peak and the oracle; only if both were played. */
static struct span_of_hours hours_of(const struct work *work, struct course_weeks weeks)
{
    return (struct span_of_hours){
        work_measure(work, work_chosen(work, POLICY_STATIC), weeks).research_h,
        work_measure(work, work_chosen(work, policies_oracle()), weeks).research_h,
    };
}

static void set_recovered(struct backtest *backtest)
{
    struct span_of_hours hours = {
        backtest_row(backtest, POLICY_STATIC)->tuned.research_h,
        backtest_row(backtest, policies_oracle())->tuned.research_h,
    };

    backtest->limit.recovered = share_of(hours, backtest->limit.research_h);
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_row *item = &backtest->rows[row];

        for (size_t i = 0; i < item->policy->level_count; i++)
            item->points[i].measure.recovered = share_of(hours, item->points[i].measure.research_h);
        item->tuned.recovered = share_of(hours, item->tuned.research_h);
    }
}

/* The level that leaves most to research of those that reach the attainment in these weeks; failing
   that, the one that meets most. */
static size_t best_level(const struct work *work, size_t row, struct course_weeks weeks)
{
    struct measure best = { .attainment = -1 };
    size_t level = 0;

    for (size_t i = 0; i < work->backtest->rows[row].policy->level_count; i++) {
        struct measure measure = work_measure(work, work_run(work, row, i), weeks);
        double wanted = work->setup->attainment;
        bool is_better = measure.attainment >= wanted && best.attainment >= wanted
                             ? measure.research_h > best.research_h
                             : measure.attainment > best.attainment;

        if (is_better) {
            best = measure;
            level = i;
        }
    }
    return level;
}

/* Levels from the first half of the weeks judged, verdicts from the second. */
static void hold_out(struct work *work)
{
    struct backtest *backtest = work->backtest;
    size_t end = backtest->planned.weeks;
    size_t half = (backtest->first_week + end + 1) / 2;
    struct course_weeks learned = { backtest->first_week, half };
    struct course_weeks held_out = { half, end };

    backtest->held_week = half;
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_point *held = &backtest->rows[row].held;
        size_t level = best_level(work, row, learned);

        held->level = backtest->rows[row].policy->levels[level];
        held->measure = work_measure(work, work_run(work, row, level), held_out);
        if (backtest->has_recovered)
            held->measure.recovered = share_of(hours_of(work, held_out), held->measure.research_h);
    }
}

void verdict_take(struct work *work)
{
    struct backtest *backtest = work->backtest;
    struct course_weeks weeks = { backtest->first_week, backtest->planned.weeks };

    backtest->has_recovered = work_chosen(work, POLICY_STATIC) &&
                              work_chosen(work, policies_oracle());
    if (weeks.to - weeks.from >= 2)
        hold_out(work);
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_row *item = &backtest->rows[row];

        for (size_t i = 0; i < item->policy->level_count; i++) {
            item->points[i].level = item->policy->levels[i];
            item->points[i].measure = work_measure(work, work_run(work, row, i), weeks);
        }
        item->tuned = work_measure(work, work->chosen[row], weeks);
        backtest->requests = item->tuned.requests;
        item->nodes = steal(&work->chosen[row]->nodes);
        item->servers = mem_new_array(work->setup->queue_count, sizeof *item->servers);
        for (size_t i = 0; i < work->setup->queue_count; i++)
            item->servers[i] = steal(&work->chosen[row]->servers[i]);
    }
    backtest->needs = mem_new_array(work->setup->queue_count, sizeof *backtest->needs);
    for (size_t i = 0; i < work->setup->queue_count; i++)
        backtest->needs[i] = steal(&work->fields[i].needs);
    set_limit(work);
    if (backtest->has_recovered)
        set_recovered(backtest);
}
