/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Runs in rounds, each distributed over the threads: the forecasts of each queue; the needs of
 * single windows; the plans of all policies, levels and queues; their verdicts; and, once levels
 * are chosen, the verdicts on those.
 */
#include "windows/backtest/backtest.h"

#include "base/parallel.h"
#include "windows/backtest/allotment.h"
#include "windows/backtest/expected.h"
#include "windows/backtest/limit.h"
#include "windows/backtest/work.h"

#include <math.h>

enum { RUNS_AT_ONCE = 24 }; /* judged together */

static const double spare = 1.2; /* of a fleet whose size is not given, over its peak */

static size_t queue_of(const struct work *work, size_t at)
{
    return at % work->setup->queue_count;
}

/* Oracles are the last of the table and take longest: they start first, so that no thread is left
   with one at the end. */
static struct run *run_of(const struct work *work, size_t at)
{
    return work->round[work->round_count - 1 - at / work->setup->queue_count];
}

static int foretell(struct work *work, size_t at, struct error *err)
{
    struct field *field = &work->fields[queue_of(work, at)];
    size_t kind = at / work->setup->queue_count;

    (void)err;
    if (work->has_outlook[kind])
        outlook_foretell(&field->outlooks[kind], field);
    return 0;
}

static double foretell_expected(const struct work *work, size_t at)
{
    return work->has_outlook[at / work->setup->queue_count]
               ? expected_foretell(work, queue_of(work, at))
               : 0;
}

static const struct search_item *item_of(const struct work *work, size_t at)
{
    return &work->searches.items[at / work->setup->queue_count];
}

static int search(struct work *work, size_t at, struct error *err)
{
    struct field *field = &work->fields[queue_of(work, at)];
    const struct search_item *item = item_of(work, at);

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

static double search_expected(const struct work *work, size_t at)
{
    return expected_search(work, item_of(work, at), queue_of(work, at));
}

static int plan_one(struct work *work, size_t at, struct error *err)
{
    size_t queue = queue_of(work, at);
    struct run *run = run_of(work, at);

    return run->policy->plan(&work->fields[queue], run->level, run->servers[queue], err);
}

static double plan_expected(const struct work *work, size_t at)
{
    return expected_plan(work, run_of(work, at)->policy, queue_of(work, at));
}

/* Items of a round in which each queue's runs are judged, for so many runs. */
static size_t judge_items(const struct work *work, size_t runs)
{
    return (runs + RUNS_AT_ONCE - 1) / RUNS_AT_ONCE * work->setup->queue_count;
}

/* Some runs of a queue: the arrivals are drawn once for all of them. */
static int judge_runs(struct work *work, size_t at, struct error *err)
{
    size_t queue = queue_of(work, at);
    size_t first = at / work->setup->queue_count * RUNS_AT_ONCE;
    const struct backtest *backtest = work->backtest;
    struct search_setup setup = field_truth(&work->fields[queue], &work->whole[queue]);
    owned(arrivals) struct arrivals *arrivals = search_arrivals(&setup, 0, err);
    struct judge_case cases[RUNS_AT_ONCE];
    size_t count = 0;

    if (!arrivals)
        return -1;
    for (; count < RUNS_AT_ONCE && first + count < work->round_count; count++) {
        const struct run *run = work->round[first + count];

        cases[count] = (struct judge_case){
            { course_slot(&backtest->planned, 0), run->servers[queue], backtest->planned.slots },
            run->scores[queue],
        };
    }
    judge_all(
        &(struct judge_setup){ arrivals, &setup.target, work->spans, backtest->judged.spans.count },
        cases, count);
    return 0;
}

static double judge_expected(const struct work *work, size_t at)
{
    return expected_judge(work, RUNS_AT_ONCE, queue_of(work, at));
}

static int limit_queue(struct work *work, size_t queue, struct error *err)
{
    const struct backtest *backtest = work->backtest;
    const struct field *field = &work->fields[queue];
    size_t first = course_week_slot(&backtest->planned, backtest->first_week);

    return work->setup->queue_count == 1
               ? limit_alone(field, &backtest->fleet, first, &work->limits[queue], err)
               : limit_shared(field, &backtest->fleet, first, &work->limits[queue], err);
}

/* They come first, because they take longest. */
static size_t limit_count(const struct work *work)
{
    return work->backtest->has_limit ? work->setup->queue_count : 0;
}

static int limit_or_judge(struct work *work, size_t at, struct error *err)
{
    size_t limits = limit_count(work);

    return at < limits ? limit_queue(work, at, err) : judge_runs(work, at - limits, err);
}

static double limit_or_judge_expected(const struct work *work, size_t at)
{
    return at < limit_count(work) ? expected_limit(work, at)
                                  : judge_expected(work, at - limit_count(work));
}

/* In the order of the work. */
enum part_kind { PART_FORETELL, PART_SEARCH, PART_PLAN, PART_JUDGE, PART_CHOSEN, PARTS };

static const struct {
    const char *name; /* for people */
    int (*run)(struct work *work, size_t at, struct error *err);
    double (*expected)(const struct work *work, size_t at);
} parts[PARTS] = {
    [PART_FORETELL] = { "forecasting", foretell, foretell_expected },
    [PART_SEARCH] = { "searching numbers", search, search_expected },
    [PART_PLAN] = { "planning", plan_one, plan_expected },
    [PART_JUDGE] = { "judging", limit_or_judge, limit_or_judge_expected },
    [PART_CHOSEN] = { "judging what was chosen", judge_runs, judge_expected },
};

static size_t tuned_count(const struct work *work)
{
    size_t count = 0;

    for (size_t row = 0; row < work->backtest->count; row++)
        count += work->backtest->rows[row].policy->is_tuned;
    return count;
}

/* Items of a round with all levels; in the last part, of the tuned levels only. */
static size_t items_of(const struct work *work, enum part_kind kind)
{
    size_t queues = work->setup->queue_count;

    switch (kind) {
    case PART_FORETELL:
        return OUTLOOKS * queues;
    case PART_SEARCH:
        return work->searches.count * queues;
    case PART_PLAN:
        return work->round_count * queues;
    case PART_JUDGE:
        return judge_items(work, work->round_count) + limit_count(work);
    case PART_CHOSEN:
        return judge_items(work, tuned_count(work));
    case PARTS:
        break;
    }
    return 0;
}

static double expected_of_all(const struct work *work)
{
    double expected = 0;

    for (enum part_kind kind = 0; kind < PARTS; kind++)
        for (size_t at = 0; at < items_of(work, kind); at++)
            expected += parts[kind].expected(work, at);
    return expected;
}

struct part {
    struct work *work;
    enum part_kind kind;
};

static int run_item(void *context, size_t at, struct error *err)
{
    const struct part *part = context;
    int result = parts[part->kind].run(part->work, at, err);

    progress_item(&part->work->progress, parts[part->kind].expected(part->work, at));
    return result;
}

static int run_part(struct work *work, enum part_kind kind, struct error *err)
{
    struct part part = { work, kind };
    size_t count = items_of(work, kind);

    progress_begin(&work->progress, parts[kind].name, count);
    return parallel_run(work->setup->threads, count, run_item, &part, err);
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

/* Includes the weeks judged, because the fleet's size is not under test. */
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

/* Makes all forecasts and runs all searches that policies use. */
static int find_all(struct work *work, struct error *err)
{
    if (run_part(work, PART_FORETELL, err) < 0)
        return -1;
    for (int kind = 0; kind < OUTLOOKS; kind++)
        if (work->has_outlook[kind])
            allotment_make(work->fields, work->setup->queue_count, (enum outlook_kind)kind);
    return run_part(work, PART_SEARCH, err);
}

static void add_to_round(struct work *work, struct run *run)
{
    work->round[work->round_count++] = run;
}

static int run_all(struct work *work, struct error *err)
{
    const struct backtest *backtest = work->backtest;

    if (find_all(work, err) < 0 || run_part(work, PART_PLAN, err) < 0)
        return -1;
    if (backtest->fleet.nodes == 0)
        size_fleet(work);
    for (size_t i = 0; i < work->round_count; i++)
        run_fit(work->round[i], &work->frame, &backtest->fleet);
    if (run_part(work, PART_JUDGE, err) < 0)
        return -1;
    work->round_count = 0;
    for (size_t row = 0; row < backtest->count; row++)
        if (backtest->rows[row].policy->is_tuned) {
            verdict_tune(work, row);
            add_to_round(work, &work->tuned[row]);
        }
    return run_part(work, PART_CHOSEN, err) < 0 ? -1 : missed_find(work, err);
}

/* Runs and judges all policies with all levels. */
static int run_rounds(struct work *work, struct error *err)
{
    const struct backtest *backtest = work->backtest;
    int result;

    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].policy->level_count; i++)
            add_to_round(work, work_run(work, row, i));
    progress_init(&work->progress, &work->setup->report, expected_of_all(work));
    result = run_all(work, err);
    progress_clear(&work->progress);
    return result;
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

/* The bound's proof gives each request a server of its own, and no request arrives in slots that do
   not count. */
static const struct demand_series *find_unbounded(const struct backtest *backtest,
                                                  const struct backtest_setup *setup)
{
    for (size_t i = 0; i < setup->queue_count; i++)
        if (service_shape_engine(setup->queues[i].shape))
            return setup->queues[i].series;
    return backtest->coverage.has_arrivals ? setup->queues[backtest->coverage.worst].series : NULL;
}

static void set_limit(struct backtest *backtest, const struct backtest_setup *setup)
{
    bool is_asked = setup->played == 0 || setup->played & BACKTEST_LIMIT;

    backtest->unbounded = is_asked ? find_unbounded(backtest, setup) : NULL;
    backtest->has_limit = is_asked && !backtest->unbounded;
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
    backtest->queue_count = setup->queue_count;
    coverage_init(&backtest->coverage, setup->queues, setup->queue_count, &backtest->planned,
                  setup->first_week);
    if (backtest->coverage.left_out == backtest->coverage.judged)
        return error_set(err, ERROR_INVALID,
                         "nothing can be judged: at each time of the judged weeks the demand of a "
                         "queue is unknown (most of queue %s): give --missing zero if a step "
                         "without a row means that nothing arrived, or leave the queue out",
                         setup->queues[backtest->coverage.worst].series->queue);
    set_limit(backtest, setup);
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

    int result = run_rounds(&work, err);

    if (result == 0)
        verdict_take(&work);
    work_clear(&work);
    return result == 0 ? steal(&backtest) : NULL;
}

void backtest_free(struct backtest *backtest)
{
    if (!backtest)
        return;
    coverage_clear(&backtest->coverage);
    for (size_t row = 0; row < backtest->count; row++) {
        mem_free(backtest->rows[row].levels);
        mem_free(backtest->rows[row].nodes);
        for (size_t i = 0; backtest->rows[row].servers && i < backtest->queue_count; i++)
            mem_free(backtest->rows[row].servers[i]);
        mem_free(backtest->rows[row].servers);
        array_clear(&backtest->rows[row].misses);
    }
    for (size_t i = 0; backtest->needs && i < backtest->queue_count; i++)
        mem_free(backtest->needs[i]);
    mem_free(backtest->needs);
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
