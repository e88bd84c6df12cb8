/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See work.h.
 */
#include "windows/backtest/work.h"

#include "windows/backtest/expected.h"

static const struct policy *policy_of(const struct work *work, size_t row)
{
    return work->backtest->rows[row].policy;
}

struct run *work_run(const struct work *work, size_t row, size_t level)
{
    return &work->runs[row * POLICY_LEVELS + level];
}

const struct run *work_chosen(const struct work *work, size_t policy)
{
    for (size_t row = 0; row < work->backtest->count; row++)
        if (policy_of(work, row) == &policies[policy])
            return work->chosen[row];
    return NULL;
}

struct measure work_measure(const struct work *work, const struct run *run,
                            struct course_weeks weeks)
{
    return run_measure(run, &work->frame, &work->backtest->fleet, weeks);
}

static void add_runs(struct work *work)
{
    size_t rows = work->backtest->count;

    work->runs = mem_new_array(rows * POLICY_LEVELS, sizeof *work->runs);
    work->tuned = mem_new_array(rows, sizeof *work->tuned);
    work->chosen = mem_new_array(rows, sizeof *work->chosen);
    work->round = mem_new_array(rows * POLICY_LEVELS, sizeof *work->round);
    work->limits = mem_new_array(work->setup->queue_count, sizeof *work->limits);
    for (size_t row = 0; row < rows; row++) {
        const struct policy *policy = policy_of(work, row);

        for (size_t i = 0; i < policy->level_count; i++)
            run_init(work_run(work, row, i), &work->frame, policy, policy->levels[i]);
        if (policy->is_tuned)
            run_init(&work->tuned[row], &work->frame, policy, 0);
        work->chosen[row] = policy->is_tuned
                                ? &work->tuned[row]
                                : work_run(work, row,
                                           policies_level(policy, work->setup->attainment));
    }
}

static void add_search(struct work *work, enum search_kind kind, size_t outlook, size_t at)
{
    *(struct search_item *)array_add(&work->searches) = (struct search_item){ kind, outlook, at };
}

/* Adds only searches that a played policy needs, and the needs, which the fleet's size and the
   misses use, too.  Weeks come first, because they take longest. */
static void add_searches(struct work *work)
{
    const struct course *course = &work->backtest->planned;
    bool has_last_week = false;

    for (size_t row = 0; row < work->backtest->count; row++) {
        const struct policy *policy = policy_of(work, row);

        has_last_week = has_last_week || policy->is_last_week;
        if (policy->is_share)
            work->has_outlook[policy->outlook] = true;
    }
    for (size_t week = 1; week < course->weeks && has_last_week; week++)
        add_search(work, SEARCH_LAST_WEEK, 0, week);
    for (size_t outlook = 0; outlook < OUTLOOKS; outlook++)
        for (size_t week = 1; week < course->weeks && work->has_outlook[outlook]; week++)
            add_search(work, SEARCH_OUTLOOK, outlook, week);
    for (size_t span = 0; span < course->spans.count; span++)
        add_search(work, SEARCH_NEED, 0, span);
}

static void init_field(struct work *work, size_t queue)
{
    const struct backtest_setup *setup = work->setup;
    const struct course *course = &work->backtest->planned;
    struct field *field = &work->fields[queue];

    field->up_ms = setup->fleet.up_ms;
    field->follow_ms = setup->follow_ms > field->up_ms ? setup->follow_ms : field->up_ms;
    field->without = setup->without;
    field->seed = setup->seed;
    field->seeds = setup->seeds;
    field->misses = 1 - setup->attainment;
    field->counted = work->backtest->coverage.counted;
    field->whole = &work->whole[queue];
    field->judged = work->spans;
    field->judged_count = work->backtest->judged.spans.count;
    field_init(field, &setup->queues[queue], course);
    segments_of_series(setup->queues[queue].series,
                       (struct wall_span){ course_week(course, 1), course->end },
                       &work->whole[queue]);
}

void work_init(struct work *work, const struct backtest_setup *setup, struct backtest *backtest)
{
    const struct course *judged = &backtest->judged;

    *work = (struct work){ .setup = setup, .backtest = backtest };
    work->fields = mem_new_array(setup->queue_count, sizeof *work->fields);
    work->whole = mem_new_array(setup->queue_count, sizeof *work->whole);
    work->spans = mem_new_array(judged->spans.count, sizeof *work->spans);
    for (size_t i = 0; i < judged->spans.count; i++)
        work->spans[i] = judged->spans.items[i].time;
    work->requests = mem_new_array(setup->queue_count, sizeof *work->requests);
    for (size_t i = 0; i < setup->queue_count; i++) {
        init_field(work, i);
        work->requests[i] = expected_requests(&work->fields[i]);
        work->fields[i].progress = &work->progress;
        work->fields[i].oracle_expected = expected_plan(work, &policies[policies_oracle()], i);
    }
    work->frame = (struct run_frame){ &backtest->planned, judged, work->fields,
                                      setup->queue_count };
    add_runs(work);
    add_searches(work);
}

void work_clear(struct work *work)
{
    for (size_t i = 0; i < work->setup->queue_count; i++) {
        field_clear(&work->fields[i]);
        segments_clear(&work->whole[i]);
    }
    for (size_t row = 0; row < work->backtest->count; row++) {
        for (size_t i = 0; i < POLICY_LEVELS; i++)
            run_clear(work_run(work, row, i), &work->frame);
        run_clear(&work->tuned[row], &work->frame);
    }
    array_clear(&work->searches);
    mem_free(work->fields);
    mem_free(work->requests);
    mem_free(work->whole);
    mem_free(work->spans);
    mem_free(work->runs);
    mem_free(work->tuned);
    mem_free(work->chosen);
    mem_free(work->round);
    mem_free(work->limits);
}
