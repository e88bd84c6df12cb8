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
#include "windows/backtest/work.h"

#include <math.h>

static const double spare = 1.2; /* of a fleet whose size is not given, over its peak */

static int foretell(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    struct field *field = &work->fields[at / OUTLOOKS];

    (void)err;
    if (work->has_outlook[at % OUTLOOKS])
        outlook_foretell(&field->outlooks[at % OUTLOOKS], field);
    return 0;
}

static int search(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    struct field *field = &work->fields[at % work->setup->queue_count];
    const struct search_item *item = &work->searches.items[at / work->setup->queue_count];

    switch (item->kind) {
    case SEARCH_NEED:
        return field_find_need(field, item->at, err);
    case SEARCH_LAST_WEEK:
        return field_find_last_week(field, item->at, err);
    case SEARCH_OUTLOOK:
        return outlook_search(&field->outlooks[item->outlook], field, item->at, err);
    }
    return 0;
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

static int limit_queue(struct work *work, size_t queue, struct error *err)
{
    const struct backtest *backtest = work->backtest;

    return limit_node_hours(&work->fields[queue], &backtest->fleet,
                            course_week_slot(&backtest->planned, backtest->first_week),
                            work->setup->queue_count == 1, &work->limits[queue], err);
}

/* The limits come first: they take longest. */
static int limit_or_judge(void *context, size_t at, struct error *err)
{
    struct work *work = context;
    size_t queues = work->setup->queue_count;

    return at < queues ? limit_queue(work, at, err) : judge_queue(context, at - queues, err);
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

/* GPUs that the windows of all queues need, each alone. */
static void add_needs(const struct work *work, int *gpus)
{
    const struct course *course = &work->backtest->planned;

    for (size_t i = 0; i < course->spans.count; i++) {
        size_t first;
        size_t end;
        int needed = 0;

        course_slots_of(course, &course->spans.items[i], &first, &end);
        for (size_t queue = 0; queue < work->setup->queue_count; queue++)
            needed += work->fields[queue].needs[i] * work->fields[queue].queue->gpus;
        for (size_t slot = first; slot < end; slot++)
            gpus[slot] = needed;
    }
}

/* Over what the weeks judged will bring, too: a fleet is not what is tested. */
static void size_fleet(struct work *work)
{
    struct fleet *fleet = &work->backtest->fleet;
    size_t slots = work->backtest->planned.slots;
    int *gpus = mem_new_array(slots, sizeof *gpus);
    int most = 1;

    add_needs(work, gpus);
    for (size_t slot = 0; slot < slots; slot++) {
        most = larger(most, gpus[slot]);
        for (size_t policy = 0; policy < policies_count(); policy++) {
            const struct run *run = work_chosen(work, policy);

            if (run && (policy == POLICY_STATIC || policies[policy].is_oracle))
                most = larger(most, run_gpus(run, &work->frame, slot));
        }
    }
    fleet->nodes = (int)ceil(spare * most / fleet->gpus_per_node);
    mem_free(gpus);
}

/* All that policies go by. */
static int find_all(struct work *work, struct error *err)
{
    size_t queues = work->setup->queue_count;

    if (parallel_run(work->setup->threads, OUTLOOKS * queues, foretell, work, err) < 0)
        return -1;
    for (int kind = 0; kind < OUTLOOKS; kind++)
        if (work->has_outlook[kind])
            allotment_make(work->fields, queues, (enum outlook_kind)kind);
    return parallel_run(work->setup->threads, work->searches.count * queues, search, work, err);
}

static void add_to_round(struct work *work, struct run *run)
{
    work->round[work->round_count++] = run;
}

static int judge_levels(struct work *work, struct error *err)
{
    size_t queues = work->setup->queue_count;

    return work->backtest->has_limit
               ? parallel_run(work->setup->threads, (work->round_count + 1) * queues,
                              limit_or_judge, work, err)
               : run_round(work, judge_queue, err);
}

static int run_all(struct work *work, struct error *err)
{
    const struct backtest *backtest = work->backtest;

    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].policy->level_count; i++)
            add_to_round(work, work_run(work, row, i));
    if (find_all(work, err) < 0 || run_round(work, plan_queue, err) < 0)
        return -1;
    if (backtest->fleet.nodes == 0)
        size_fleet(work);
    for (size_t i = 0; i < work->round_count; i++)
        run_fit(work->round[i], &work->frame, &backtest->fleet);
    if (judge_levels(work, err) < 0)
        return -1;
    work->round_count = 0;
    for (size_t row = 0; row < backtest->count; row++)
        if (backtest->rows[row].policy->is_tuned) {
            verdict_tune(work, row);
            add_to_round(work, &work->tuned[row]);
        }
    return run_round(work, judge_queue, err);
}

double backtest_node_hours(const struct backtest *backtest, const struct measure *measure)
{
    return (measure->production_h + measure->transit_h + measure->evicted_h) /
           backtest->fleet.gpus_per_node;
}

static struct wall_time start_of(const struct backtest_setup *setup)
{
    struct wall_time start = setup->queues[0].series->start;

    for (size_t i = 1; i < setup->queue_count; i++)
        if (setup->queues[i].series->start.ms < start.ms)
            start = setup->queues[i].series->start;
    return start;
}

static bool is_played(const struct backtest_setup *setup, size_t policy)
{
    return setup->played == 0 || setup->played >> policy & 1;
}

static void add_rows(struct backtest *backtest, const struct backtest_setup *setup)
{
    backtest->rows = mem_new_array(policies_count(), sizeof *backtest->rows);
    for (size_t policy = 0; policy < policies_count(); policy++) {
        struct backtest_row *row = &backtest->rows[backtest->count];

        if (!is_played(setup, policy))
            continue;
        backtest->count++;
        row->policy = &policies[policy];
        row->levels = mem_new_array(backtest->planned.weeks, sizeof *row->levels);
        for (size_t week = 1; week < backtest->planned.weeks; week++)
            row->levels[week] = row->policy->levels[policies_level(row->policy, setup->attainment)];
    }
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
    backtest->has_limit = setup->played == 0 || setup->played & BACKTEST_LIMIT;
    add_rows(backtest, setup);
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
        verdict_take(&work);
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

const struct backtest_row *backtest_row(const struct backtest *backtest, size_t policy)
{
    for (size_t row = 0; row < backtest->count; row++)
        if (backtest->rows[row].policy == &policies[policy])
            return &backtest->rows[row];
    return NULL;
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
