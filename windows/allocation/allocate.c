/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cells are independent and are taken by threads one after the other; what follows for a window
 * is quick and done in order.
 */
#include "windows/allocation/allocate.h"

#include "windows/allocation/allocate_window.h"
#include "windows/queueing/estimate.h"
#include "windows/queueing/search_days.h"
#include "windows/queueing/target_limits.h"
#include "windows/queueing/transient.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* Shared by the threads: cells are taken in order, and each is computed by one thread. */
struct work {
    const struct allocate_model *model;
    struct allocate_plan *plan;
    struct service_time **services; /* one a queue */
    struct segment_list *segments;  /* one a cell */
    struct estimate *estimates;     /* one a cell */
    struct error *errors;           /* one a cell */
    size_t part;
    size_t parts;
    int (*run)(struct work *work, size_t cell, struct error *err);
    atomic_size_t next;
    double *requests; /* one for each queue: its requests, from which the time of a search is
                         expected */
    struct progress progress;
};

void allocate_plan_free(struct allocate_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->window_count; i++)
        schedule_free(plan->schedules[i]);
    mem_free(plan->schedules);
    mem_free(plan->cells);
    mem_free(plan->needs);
    mem_free(plan->missing_nodes);
    mem_free(plan->is_met);
    mem_free(plan->is_withheld);
    mem_free(plan);
}

struct allocate_plan *allocate_plan_new(const struct allocate_model *model)
{
    struct allocate_plan *plan = mem_new(sizeof *plan);
    size_t windows = model->windows->count;

    plan->window_first = model->window_first;
    plan->window_end = model->window_end > 0 ? model->window_end : windows;
    plan->window_count = windows;
    plan->queue_count = model->queue_count;
    plan->cluster_count = model->cluster_count;
    plan->cells = mem_new_array(windows * model->queue_count, sizeof *plan->cells);
    plan->schedules = mem_new_array(windows, sizeof *plan->schedules);
    plan->needs = mem_new_array(windows * model->cluster_count, sizeof *plan->needs);
    plan->missing_nodes = mem_new_array(windows, sizeof *plan->missing_nodes);
    plan->is_met = mem_new_array(windows, sizeof *plan->is_met);
    plan->is_withheld = mem_new_array(windows, sizeof *plan->is_withheld);
    return plan;
}

bool allocate_has_window(const struct allocate_model *model, size_t window)
{
    return !window_is_over(&model->windows->items[window], model->to);
}

size_t allocate_part(size_t window, size_t queue, size_t parts)
{
    return (window + queue) % parts;
}

/* An estimate needs no table of times. */
static struct service_time *new_service(const struct allocate_model *model, size_t queue)
{
    const struct allocate_queue *item = &model->queues[queue];

    const struct service_shape plain = { .mean_s = item->service_s, .cv = item->service_cv };

    if (model->is_estimate)
        return service_time_outline(item->shape ? item->shape : &plain);
    return service_time_of(item->shape, item->service_s, item->service_cv);
}

static void work_init(struct work *work, const struct allocate_model *model,
                      struct allocate_plan *plan)
{
    size_t cells = plan->window_count * plan->queue_count;

    *work = (struct work){ .model = model, .plan = plan, .parts = 1 };
    work->services = mem_new_array(model->queue_count, sizeof *work->services);
    work->segments = mem_new_array(cells, sizeof *work->segments);
    work->estimates = mem_new_array(cells, sizeof *work->estimates);
    work->errors = mem_new_array(cells, sizeof *work->errors);
    for (size_t i = 0; i < model->queue_count; i++)
        work->services[i] = new_service(model, i);
}

static void work_clear(struct work *work)
{
    for (size_t i = 0; i < work->model->queue_count; i++)
        service_time_free(work->services[i]);
    for (size_t i = 0; i < work->plan->window_count * work->plan->queue_count; i++)
        segments_clear(&work->segments[i]);
    mem_free(work->services);
    mem_free(work->segments);
    mem_free(work->estimates);
    mem_free(work->errors);
}

struct search_setup allocate_setup(const struct allocate_model *model, size_t window, size_t queue)
{
    const struct allocate_queue *item = &model->queues[queue];

    return (struct search_setup){
        .series = item->demand,
        .scale = item->scale * window_multiplier(&model->windows->items[window], item->name) *
                 (model->scales ? model->scales[window * model->queue_count + queue] : 1),
        .target = item->target,
        .seed = model->seed,
        .seeds = model->seeds,
        .is_each_day = item->is_each_day,
    };
}

static struct search_setup cell_setup(const struct work *work, size_t cell)
{
    size_t queues = work->model->queue_count;
    struct search_setup setup = allocate_setup(work->model, cell / queues, cell % queues);

    setup.segments = &work->segments[cell];
    setup.service = work->services[cell % queues];
    return setup;
}

/* Before either step: finds the segments of the window, and the result of the closed form. */
static int prepare_cell(struct work *work, size_t cell, struct error *err)
{
    const struct allocate_model *model = work->model;
    const struct allocate_queue *queue = &model->queues[cell % model->queue_count];
    size_t window = cell / model->queue_count;
    struct search_setup setup = cell_setup(work, cell);

    if (!allocate_has_window(model, window))
        return 0;
    segments_of_window(queue->demand, model->windows, window,
                       (struct wall_span){ model->from, model->to }, &work->segments[cell]);
    if (work->segments[cell].list.count == 0)
        return error_set(
            err, ERROR_INVALID,
            "queue %s: nothing is known of its demand in window %s on these days: give "
            "newer demand, or go further back by --days",
            queue->name, model->windows->items[window].name);

    search_days_estimate(&setup, &work->estimates[cell]);
    return 0;
}

/* The targets that hold when a node or a zone is lost: twice the usual ones. */
static struct replay_target twice(struct replay_target target)
{
    target.wait_ms *= 2;
    target.ttft.limit_s *= 2;
    return target;
}

/* The servers for every limit of the target, on one day or on all days pooled. */
static int estimated_servers(const struct arrivals_setup *arrivals,
                             const struct replay_target *target)
{
    struct target_limits limits = target_limits_of(arrivals->service->engine, target);
    struct estimate estimate;
    int most = 0;

    for (size_t i = 0; i < limits.wait_count; i++) {
        int servers = transient_servers(arrivals, limits.waits[i].percentile / 100,
                                        limits.waits[i].limit_s);

        most = servers > most ? servers : most;
    }
    if (limits.rate_count > 0)
        estimate_init(&estimate, arrivals);
    for (size_t i = 0; i < limits.rate_count; i++)
        most = (int)fmax(most, ceil(estimate_rate(&estimate, limits.rates[i].percentile / 100) /
                                    limits.rates[i].per_s));
    return most;
}

int allocate_estimate(const struct search_setup *setup)
{
    owned(search_days) struct search_days days;
    int most = 0;

    search_days_init(&days, setup);
    for (size_t i = 0; i < days.count; i++) {
        struct arrivals_setup arrivals = search_arrivals_setup(&days.items[i]);
        int servers = estimated_servers(&arrivals, &setup->target);

        most = servers > most ? servers : most;
    }
    return most;
}

static double estimated_wait(const struct search_setup *setup, int servers)
{
    owned(search_days) struct search_days days;
    double longest = 0;

    search_days_init(&days, setup);
    for (size_t i = 0; i < days.count; i++) {
        struct arrivals_setup arrivals = search_arrivals_setup(&days.items[i]);

        longest = fmax(longest, transient_wait(&arrivals, servers, setup->target.percentile / 100));
    }
    return longest;
}

static void estimate_cell(struct work *work, size_t at)
{
    struct allocate_cell *cell = &work->plan->cells[at];
    const struct allocate_queue *queue = &work->model->queues[at % work->model->queue_count];
    struct search_setup setup = cell_setup(work, at);
    double counts[DEMAND_CLASSES] = { 0 };

    for (size_t i = 0; i < work->segments[at].list.count; i++) {
        const struct segment *segment = &work->segments[at].list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++)
            for (int class = 0; class < DEMAND_CLASSES; class ++)
                counts[class] += demand_at(queue->demand, (enum demand_class) class, step);
    }
    cell->search = (struct search_result){ .failing_seed = -1, .worst_seed = -1 };
    for (int class = 0; class < DEMAND_CLASSES; class ++)
        cell->search.requests[class] = (int64_t)(counts[class] * setup.scale);
    cell->search.servers = allocate_estimate(&setup);
    setup.target = twice(setup.target);
    if (cell->search.servers > 0 && (queue->survives_node || queue->survives_zone))
        cell->degraded = allocate_estimate(&setup);
}

static int search_cell(struct work *work, size_t at, struct error *err)
{
    const struct allocate_model *model = work->model;
    struct allocate_cell *cell = &work->plan->cells[at];
    const struct allocate_queue *queue = &model->queues[at % model->queue_count];
    struct search_setup setup = cell_setup(work, at);
    const char *name = model->windows->items[at / model->queue_count].name;

    if (search_servers(&setup, &cell->search, err) < 0)
        return error_context(err, "window %s", name);
    if (cell->search.servers > 0 && (queue->survives_node || queue->survives_zone)) {
        struct search_result degraded;

        setup.target = twice(setup.target);
        if (search_servers(&setup, &degraded, err) < 0)
            return error_context(err, "window %s", name);
        cell->degraded = degraded.servers;
    }
    return 0;
}

static bool is_searched(const struct work *work, size_t at)
{
    size_t queues = work->plan->queue_count;

    return !work->plan->cells[at].is_known && allocate_has_window(work->model, at / queues) &&
           allocate_part(at / queues, at % queues, work->parts) == work->part;
}

static int run_search(struct work *work, size_t at, struct error *err)
{
    struct allocate_cell *cell = &work->plan->cells[at];

    if (!is_searched(work, at))
        return 0;
    if (prepare_cell(work, at, err) < 0)
        return -1;
    if (work->model->is_estimate)
        estimate_cell(work, at);
    else if (search_cell(work, at, err) < 0)
        return -1;
    cell->is_known = true;
    progress_item(&work->progress, work->requests[at % work->plan->queue_count]);
    return 0;
}

/* Token figures with the granted replicas, if they are targets; under all seeds, if the search did
   not find the worst. */
static int find_targets(const struct work *work, size_t at, struct error *err)
{
    struct allocate_cell *cell = &work->plan->cells[at];
    struct search_setup setup = cell_setup(work, at);
    bool is_told = cell->granted == cell->search.servers;
    int seed = is_told ? cell->search.worst_seed : 0;
    int end = is_told ? seed + 1 : setup.seeds;

    cell->targets = (struct search_targets){ .found_s = { cell->wait_s } };
    if (cell->granted > 0 && !work->model->is_estimate &&
        (setup.target.ttft.limit_s > 0 || setup.target.itl.limit_s > 0))
        for (; seed < end; seed++)
            if (search_tokens_under(&setup, seed, cell->granted, &cell->targets, err) < 0)
                return -1;
    search_targets_judge(&cell->targets, &setup.target);
    return 0;
}

/* The wait with the granted replicas.  The search has computed it already if all that it asked for
   was granted. */
static int find_waits(struct work *work, size_t at, struct error *err)
{
    struct allocate_cell *cell = &work->plan->cells[at];
    struct search_setup setup = cell_setup(work, at);
    struct search_wait wait;

    cell->wait_s = fmax(cell->search.wait_s[DEMAND_HIGH], cell->search.wait_s[DEMAND_LOW]);
    cell->worst_day = cell->search.worst_day;
    if (cell->search.servers == 0)
        return 0;
    if (cell->granted == 0) {
        cell->wait_s = HUGE_VAL;
        cell->worst_day = (struct search_day){ .wait_s = HUGE_VAL };
        return 0;
    }
    if (work->model->is_estimate) {
        cell->wait_s = estimated_wait(&setup, cell->granted);
        return 0;
    }
    if (cell->granted == cell->search.servers)
        return 0;
    if (search_wait(&setup, cell->granted, &wait, err) < 0)
        return -1;
    cell->wait_s = wait.wait_s;
    cell->worst_day = wait.worst_day;
    return 0;
}

static int run_wait(struct work *work, size_t at, struct error *err)
{
    return find_waits(work, at, err) < 0               ? -1
           : work->plan->cells[at].search.servers == 0 ? 0
                                                       : find_targets(work, at, err);
}

static void *run_cells(void *argument)
{
    struct work *work = argument;
    size_t end = work->plan->window_end * work->plan->queue_count;

    for (size_t cell; (cell = atomic_fetch_add(&work->next, 1)) < end;)
        (void)work->run(work, cell, &work->errors[cell]); /* run_threads() looks */
    return NULL;
}

/* The caller is one of the threads.  The error is that of the first cell in order. */
static int run_threads(struct work *work,
                       int (*run)(struct work *work, size_t cell, struct error *err),
                       struct error *err)
{
    enum { THREADS_MAX = 256 };
    pthread_t threads[THREADS_MAX];
    int started = 0;
    size_t first = work->plan->window_first * work->plan->queue_count;

    work->run = run;
    atomic_store(&work->next, first);
    while (started < work->model->threads - 1 && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, run_cells, work) == 0)
        started++;
    run_cells(work);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = first; i < work->plan->window_end * work->plan->queue_count; i++)
        if (work->errors[i].kind != ERROR_NONE) {
            if (err)
                *err = work->errors[i];
            return -1;
        }
    return 0;
}

static void fill_windows(struct work *work)
{
    struct allocate_plan *plan = work->plan;

    plan->is_feasible = true;
    for (size_t i = plan->window_first; i < plan->window_end; i++) {
        struct window_work window = { work->model, &plan->cells[i * plan->queue_count],
                                      &work->estimates[i * plan->queue_count],
                                      &plan->needs[i * plan->cluster_count],
                                      &plan->is_withheld[i] };

        plan->is_met[i] = true;
        if (!allocate_has_window(work->model, i))
            continue;
        schedule_free(plan->schedules[i]);
        plan->schedules[i] = schedule_new();
        plan->is_met[i] = allocate_window(&window, plan->schedules[i], &plan->missing_nodes[i]);
        plan->is_feasible = plan->is_feasible && plan->is_met[i];
    }
}

static double requests_of(const struct allocate_queue *queue)
{
    double count = 0;

    for (size_t step = 0; step < queue->demand->count; step++)
        if (demand_is_known(queue->demand, step))
            count += demand_at(queue->demand, DEMAND_HIGH, step) +
                     demand_at(queue->demand, DEMAND_LOW, step);
    return count * queue->scale;
}

static void begin_progress(struct work *work)
{
    const struct allocate_model *model = work->model;
    double expected = 0;
    size_t count = 0;

    work->requests = mem_new_array(model->queue_count, sizeof *work->requests);
    for (size_t i = 0; i < model->queue_count && model->report.tell; i++)
        work->requests[i] = requests_of(&model->queues[i]);
    for (size_t at = work->plan->window_first * model->queue_count;
         at < work->plan->window_end * model->queue_count; at++)
        if (is_searched(work, at)) {
            expected += work->requests[at % model->queue_count];
            count++;
        }
    progress_init(&work->progress, &model->report, expected);
    progress_begin(&work->progress, "searching numbers", count);
}

int allocate_search(const struct allocate_model *model, struct allocate_plan *plan, size_t part,
                    size_t parts, struct error *err)
{
    struct work work;

    work_init(&work, model, plan);
    work.part = part;
    work.parts = parts;
    begin_progress(&work);

    int result = run_threads(&work, run_search, err);

    progress_clear(&work.progress);
    mem_free(work.requests);
    work_clear(&work);
    return result;
}

int allocate_fill(const struct allocate_model *model, struct allocate_plan *plan, struct error *err)
{
    struct work work;

    work_init(&work, model, plan);

    int result = run_threads(&work, prepare_cell, err);

    if (result == 0) {
        fill_windows(&work);
        result = run_threads(&work, run_wait, err);
    }
    work_clear(&work);
    return result;
}

struct allocate_plan *allocate_plan(const struct allocate_model *model, struct error *err)
{
    owned(allocate_plan) struct allocate_plan *plan = allocate_plan_new(model);

    if (allocate_search(model, plan, 0, 1, err) < 0 || allocate_fill(model, plan, err) < 0)
        return NULL;
    return steal(&plan);
}
