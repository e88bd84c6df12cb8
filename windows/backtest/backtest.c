/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * In rounds, each shared out among the threads: what is foretold of each queue; what single windows
 * need; the plans of all policies, levels and queues; their verdicts; and, once levels are chosen,
 * the verdicts on those.
 */
#include "windows/backtest/backtest.h"

#include "windows/backtest/allotment.h"
#include "windows/backtest/limit.h"
#include "windows/backtest/parallel.h"
#include "windows/backtest/run.h"

#include <math.h>

static const double spare = 1.2; /* of a fleet whose size is not given, over its peak */

struct work {
    const struct backtest_setup *setup;
    struct backtest *backtest;
    struct field *fields; /* one a queue */
    struct run_frame frame;
    struct judge_span *spans;   /* of the judged course */
    struct segment_list *whole; /* one a queue: what is known of the planned weeks */
    struct run *runs;           /* [row * POLICY_LEVELS + level] */
    struct run *tuned;          /* one a row whose policy is tuned */
    struct run **chosen;        /* one a row: of `tuned`, or of `runs` where nothing is */
    struct run **round;         /* those that are planned or judged now */
    size_t round_count;
    double *limits; /* one a queue */
};

static struct run *run_at(const struct work *work, size_t row, size_t level)
{
    return &work->runs[row * POLICY_LEVELS + level];
}

static void add_runs(struct work *work)
{
    size_t rows = policies_count();

    work->runs = mem_new_array(rows * POLICY_LEVELS, sizeof *work->runs);
    work->tuned = mem_new_array(rows, sizeof *work->tuned);
    work->chosen = mem_new_array(rows, sizeof *work->chosen);
    work->round = mem_new_array(rows * POLICY_LEVELS, sizeof *work->round);
    work->limits = mem_new_array(work->setup->queue_count, sizeof *work->limits);
    for (size_t row = 0; row < rows; row++) {
        const struct policy *policy = &policies[row];

        for (size_t i = 0; i < policy->level_count; i++)
            run_init(run_at(work, row, i), &work->frame, policy, policy->levels[i]);
        if (policy->is_tuned)
            run_init(&work->tuned[row], &work->frame, policy, 0);
        work->chosen[row] = policy->is_tuned
                                ? &work->tuned[row]
                                : run_at(work, row,
                                         policies_level(policy, work->setup->attainment));
    }
}

static void work_init(struct work *work, const struct backtest_setup *setup,
                      struct backtest *backtest)
{
    const struct course *course = &backtest->planned;

    *work = (struct work){ .setup = setup, .backtest = backtest };
    work->fields = mem_new_array(setup->queue_count, sizeof *work->fields);
    work->whole = mem_new_array(setup->queue_count, sizeof *work->whole);
    for (size_t i = 0; i < setup->queue_count; i++) {
        work->fields[i].up_ms = setup->fleet.up_ms;
        work->fields[i].seed = setup->seed;
        work->fields[i].seeds = setup->seeds;
        work->fields[i].misses = 1 - setup->attainment;
        field_init(&work->fields[i], &setup->queues[i], course);
        segments_of_series(setup->queues[i].series, course_week(course, 1), course->end,
                           &work->whole[i]);
    }
    work->spans = mem_new_array(backtest->judged.spans.count, sizeof *work->spans);
    for (size_t i = 0; i < backtest->judged.spans.count; i++)
        work->spans[i] = backtest->judged.spans.items[i].time;
    for (size_t i = 0; i < setup->queue_count; i++) {
        work->fields[i].whole = &work->whole[i];
        work->fields[i].judged = work->spans;
        work->fields[i].judged_count = backtest->judged.spans.count;
    }
    work->frame = (struct run_frame){ course, &backtest->judged, work->fields, setup->queue_count };
    add_runs(work);
}

static void work_clear(struct work *work)
{
    for (size_t i = 0; i < work->setup->queue_count; i++) {
        field_clear(&work->fields[i]);
        segments_clear(&work->whole[i]);
    }
    for (size_t row = 0; row < policies_count(); row++) {
        for (size_t i = 0; i < POLICY_LEVELS; i++)
            run_clear(run_at(work, row, i), &work->frame);
        run_clear(&work->tuned[row], &work->frame);
    }
    mem_free(work->fields);
    mem_free(work->whole);
    mem_free(work->spans);
    mem_free(work->runs);
    mem_free(work->tuned);
    mem_free(work->chosen);
    mem_free(work->round);
    mem_free(work->limits);
}

static int foretell(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    struct field *field = &work->fields[at / OUTLOOKS];

    (void)err;
    outlook_foretell(&field->outlooks[at % OUTLOOKS], field);
    return 0;
}

/* What is known of a week, then of a span. */
static int find(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    struct field *field = &work->fields[at % work->setup->queue_count];
    size_t item = at / work->setup->queue_count;
    size_t weeks = field->course->weeks - 1;
    size_t week = item % weeks + 1;

    if (item < weeks)
        return field_find_last_week(field, week, err);
    if (item < (1 + OUTLOOKS) * weeks)
        return outlook_search(&field->outlooks[item / weeks - 1], field, week, err);
    return field_find_need(field, item - (1 + OUTLOOKS) * weeks, err);
}

static int plan_queue(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    size_t queue = at % work->setup->queue_count;
    struct run *run = work->round[at / work->setup->queue_count];

    return run->policy->plan(&work->fields[queue], run->level, run->servers[queue], err);
}

static int judge_queue(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    size_t queue = at % work->setup->queue_count;
    struct run *run = work->round[at / work->setup->queue_count];
    const struct backtest *backtest = work->backtest;
    struct search_setup setup = field_truth(&work->fields[queue], &work->whole[queue]);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 0, err);
    struct judge_plan plan = { course_slot(&backtest->planned, 0), run->servers[queue],
                               backtest->planned.slots };

    if (!arrivals)
        return -1;
    judge(arrivals, &plan, &setup.target, work->spans, backtest->judged.spans.count,
          run->scores[queue]);
    return 0;
}

/* The limits come first: they take longest. */
static int limit_or_judge(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    size_t queues = work->setup->queue_count;

    return at < queues ? limit_node_hours(
                             &work->fields[at], &work->backtest->fleet,
                             course_week_slot(&work->backtest->planned, work->backtest->first_week),
                             queues == 1, &work->limits[at], err)
                       : judge_queue(context, at - queues, err);
}

static int run_round(struct work *work, int (*run)(void *context, size_t at, struct error *err),
                     struct error *err)
{
    return parallel_run(work->setup->threads, work->round_count * work->setup->queue_count, run,
                        work, err);
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Over what the weeks judged will bring, too: a fleet is not what is tested. */
static void size_fleet(struct work *work)
{
    struct fleet *fleet = &work->backtest->fleet;
    int most = 0;

    for (size_t row = 0; row < policies_count(); row++)
        for (size_t i = 0; i < work->backtest->planned.slots; i++)
            if (row == POLICY_STATIC || policies[row].is_oracle)
                most = larger(most, run_gpus(work->chosen[row], &work->frame, i));
    if (fleet->nodes == 0)
        fleet->nodes = (int)ceil(spare * most / fleet->gpus_per_node);
}

static struct measure measure_weeks(const struct work *work, const struct run *run, size_t from,
                                    size_t to)
{
    return run_measure(run, &work->frame, &work->backtest->fleet, from, to, NULL);
}

/* As if the next stretch were missed: the share that is missed on new weeks is then kept on average
   by what kept it on few. */
static bool is_enough(const struct measure *measure, double attainment)
{
    return (double)measure->spans_met >= attainment * (double)(measure->spans + 1);
}

/* The level for a week, from the weeks before it. */
static size_t choose_level(const struct work *work, size_t row, size_t week)
{
    const struct policy *policy = &policies[row];
    size_t best = policy->level_count - 1;
    double most = -HUGE_VAL;

    if (week <= 1)
        return policies_level(policy, work->setup->attainment);
    for (size_t i = 0; i < policy->level_count; i++) {
        struct measure measure = measure_weeks(work, run_at(work, row, i), 1, week);

        if (is_enough(&measure, work->setup->attainment) && measure.research_h > most) {
            most = measure.research_h;
            best = i;
        }
    }
    return best;
}

/* Puts a plan together from the weeks of the levels that were chosen for them. */
static void tune(struct work *work, size_t row)
{
    struct backtest *backtest = work->backtest;
    struct run *run = &work->tuned[row];

    for (size_t week = 1; week < backtest->planned.weeks; week++) {
        size_t level = choose_level(work, row, week);
        size_t first = course_week_slot(&backtest->planned, week);
        size_t end = course_week_slot(&backtest->planned, week + 1);

        backtest->rows[row].levels[week] = policies[row].levels[level];
        for (size_t i = 0; i < work->setup->queue_count; i++)
            memcpy(run->servers[i] + first, run_at(work, row, level)->servers[i] + first,
                   (end - first) * sizeof **run->servers);
    }
    run_fit(run, &work->frame, &backtest->fleet);
}

/* All that policies go by. */
static int find_all(struct work *work, struct error *err)
{
    const struct course *course = &work->backtest->planned;
    size_t queues = work->setup->queue_count;
    size_t items = course->spans.count + (1 + OUTLOOKS) * (course->weeks - 1);

    if (parallel_run(work->setup->threads, OUTLOOKS * queues, foretell, work, err) < 0)
        return -1;
    for (int kind = 0; kind < OUTLOOKS; kind++)
        allotment_make(work->fields, queues, (enum outlook_kind)kind);
    return parallel_run(work->setup->threads, items * queues, find, work, err);
}

static int run_all(struct work *work, struct error *err)
{
    size_t rows = policies_count();

    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < policies[row].level_count; i++)
            work->round[work->round_count++] = run_at(work, row, i);
    if (find_all(work, err) < 0 || run_round(work, plan_queue, err) < 0)
        return -1;
    size_fleet(work);
    for (size_t i = 0; i < work->round_count; i++)
        run_fit(work->round[i], &work->frame, &work->backtest->fleet);
    if (parallel_run(work->setup->threads, (work->round_count + 1) * work->setup->queue_count,
                     limit_or_judge, work, err) < 0)
        return -1;
    work->round_count = 0;
    for (size_t row = 0; row < rows; row++)
        if (policies[row].is_tuned) {
            tune(work, row);
            work->round[work->round_count++] = &work->tuned[row];
        }
    return run_round(work, judge_queue, err);
}

double backtest_node_hours(const struct backtest *backtest, const struct measure *measure)
{
    return (measure->production_h + measure->transit_h + measure->evicted_h) /
           backtest->fleet.gpus_per_node;
}

static void set_limit(struct work *work)
{
    struct backtest *backtest = work->backtest;
    struct backtest_limit *limit = &backtest->limit;
    const struct fleet *fleet = &backtest->fleet;
    int64_t judged_ms = backtest->planned.end.ms -
                        course_week(&backtest->planned, backtest->first_week).ms;

    limit->has_moves = work->setup->queue_count == 1;
    for (size_t i = 0; i < work->setup->queue_count; i++)
        limit->node_h += work->limits[i];
    limit->research_h = fleet->gpus_per_node *
                        ((double)judged_ms / HOUR_MS * fleet->nodes - limit->node_h);
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

static void set_recovered(struct backtest *backtest)
{
    struct span_of_hours hours = { backtest->rows[POLICY_STATIC].tuned.research_h,
                                   backtest->rows[policies_oracle()].tuned.research_h };

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
static size_t best_level(const struct work *work, size_t row, size_t from, size_t to)
{
    struct measure best = { .attainment = -1 };
    size_t level = 0;

    for (size_t i = 0; i < policies[row].level_count; i++) {
        struct measure measure = measure_weeks(work, run_at(work, row, i), from, to);
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
    struct span_of_hours hours = {
        measure_weeks(work, work->chosen[POLICY_STATIC], half, end).research_h,
        measure_weeks(work, work->chosen[policies_oracle()], half, end).research_h,
    };

    backtest->held_week = half;
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_point *held = &backtest->rows[row].held;
        size_t level = best_level(work, row, backtest->first_week, half);

        held->level = policies[row].levels[level];
        held->measure = measure_weeks(work, run_at(work, row, level), half, end);
        held->measure.recovered = share_of(hours, held->measure.research_h);
    }
}

static void take_results(struct work *work)
{
    struct backtest *backtest = work->backtest;
    size_t from = backtest->first_week;
    size_t to = backtest->planned.weeks;

    if (to - from >= 2)
        hold_out(work);
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_row *item = &backtest->rows[row];

        for (size_t i = 0; i < item->policy->level_count; i++) {
            item->points[i].level = item->policy->levels[i];
            item->points[i].measure = measure_weeks(work, run_at(work, row, i), from, to);
        }
        item->tuned = run_measure(work->chosen[row], &work->frame, &backtest->fleet, from, to,
                                  &backtest->requests);
        item->nodes = steal(&work->chosen[row]->nodes);
    }
    set_limit(work);
    set_recovered(backtest);
}

static struct wall_time start_of(const struct backtest_setup *setup)
{
    struct wall_time start = setup->queues[0].series->start;

    for (size_t i = 1; i < setup->queue_count; i++)
        if (setup->queues[i].series->start.ms < start.ms)
            start = setup->queues[i].series->start;
    return start;
}

static int backtest_init(struct backtest *backtest, const struct backtest_setup *setup,
                         struct error *err)
{
    struct wall_time start = start_of(setup);

    if (course_init(&backtest->judged, setup->judged, start, setup->end, err) < 0 ||
        course_init(&backtest->planned, setup->planned, start, setup->end, err) < 0)
        return -1;
    if (setup->first_week >= backtest->planned.weeks)
        return error_set(err, ERROR_INVALID,
                         "the demand has %zu whole weeks: with %zu of them before the first that "
                         "is judged, none is left",
                         backtest->planned.weeks, setup->first_week);
    backtest->first_week = setup->first_week;
    backtest->fleet = setup->fleet;
    backtest->count = policies_count();
    backtest->rows = mem_new_array(backtest->count, sizeof *backtest->rows);
    for (size_t row = 0; row < backtest->count; row++) {
        struct backtest_row *item = &backtest->rows[row];

        item->policy = &policies[row];
        item->levels = mem_new_array(backtest->planned.weeks, sizeof *item->levels);
        for (size_t week = 1; week < backtest->planned.weeks; week++)
            item->levels[week] =
                policies[row].levels[policies_level(&policies[row], setup->attainment)];
    }
    return 0;
}

struct backtest *backtest_run(const struct backtest_setup *setup, struct error *err)
{
    owned(backtest) struct backtest *backtest = mem_new(sizeof *backtest);
    struct work work;

    if (backtest_init(backtest, setup, err) < 0)
        return NULL;
    work_init(&work, setup, backtest);

    int result = run_all(&work, err);

    if (result == 0)
        take_results(&work);
    work_clear(&work);
    return result == 0 ? steal(&backtest) : NULL;
}

void backtest_free(struct backtest *backtest)
{
    if (!backtest)
        return;
    for (size_t row = 0; row < backtest->count; row++) {
        mem_free(backtest->rows[row].levels);
        mem_free(backtest->rows[row].nodes);
    }
    mem_free(backtest->rows);
    course_clear(&backtest->judged);
    course_clear(&backtest->planned);
    mem_free(backtest);
}

const struct backtest_point *backtest_best(const struct backtest_row *row, double attainment)
{
    const struct backtest_point *best = NULL;

    for (size_t i = 0; i < row->policy->level_count; i++)
        if (row->points[i].measure.attainment >= attainment &&
            (!best || row->points[i].measure.research_h > best->measure.research_h))
            best = &row->points[i];
    return best;
}
