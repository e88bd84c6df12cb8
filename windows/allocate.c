/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The cells are independent and are taken by threads one after the other; what follows for a window
 * is quick and done in order.
 */
#include "windows/allocate.h"

#include "windows/allocate_window.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

/* What the threads share. */
struct work {
    const struct allocate_model *model;
    struct service_time **services; /* one a queue */
    struct allocate_plan *plan;
    struct segment_list *segments; /* one a cell */
    struct estimate *estimates;    /* one a cell */
    struct error *errors;          /* one a cell */
    atomic_size_t next;
};

void allocate_plan_free(struct allocate_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->window_count; i++)
        schedule_free(plan->schedules[i]);
    mem_free(plan->schedules);
    mem_free(plan->cells);
    mem_free(plan->missing_nodes);
    mem_free(plan);
}

static struct search_setup cell_setup(const struct work *work, size_t cell)
{
    const struct allocate_model *model = work->model;
    size_t queue = cell % model->queue_count;

    return (struct search_setup){
        .series = model->queues[queue].demand,
        .segments = &work->segments[cell],
        .service = work->services[queue],
        .scale = model->queues[queue].scale,
        .target = model->queues[queue].target,
        .seed = model->seed,
        .seeds = model->seeds,
    };
}

static int run_cell(struct work *work, size_t cell, struct error *err)
{
    const struct allocate_model *model = work->model;
    const struct allocate_queue *queue = &model->queues[cell % model->queue_count];
    size_t window = cell / model->queue_count;
    const char *name = model->windows->items[window].name;
    struct search_setup setup = cell_setup(work, cell);

    segments_of_window(queue->demand, model->windows, window, model->from, model->to,
                       &work->segments[cell]);
    if (work->segments[cell].list.count == 0)
        return error_set(err, ERROR_INVALID,
                         "queue %s: nothing is known of its demand in window %s on these days",
                         queue->name, name);

    struct arrivals_setup arrivals = { setup.series, setup.segments, setup.service, setup.scale,
                                       0 };

    estimate_init(&work->estimates[cell], &arrivals);
    if (search_servers(&setup, &work->plan->cells[cell].search, err) < 0)
        return error_context(err, "window %s", name);
    return 0;
}

static void *run_cells(void *argument)
{
    struct work *work = argument;
    size_t count = work->plan->window_count * work->plan->queue_count;

    for (size_t cell; (cell = atomic_fetch_add(&work->next, 1)) < count;)
        (void)run_cell(work, cell, &work->errors[cell]); /* first_error() looks */
    return NULL;
}

/* The caller is one of the threads. */
static void run_threads(struct work *work)
{
    enum { THREADS_MAX = 256 };
    pthread_t threads[THREADS_MAX];
    int started = 0;

    while (started < work->model->threads - 1 && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, run_cells, work) == 0)
        started++;
    run_cells(work);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static int first_error(const struct work *work, struct error *err)
{
    for (size_t i = 0; i < work->plan->window_count * work->plan->queue_count; i++)
        if (work->errors[i].kind != ERROR_NONE) {
            if (err)
                *err = work->errors[i];
            return -1;
        }
    return 0;
}

/* The wait with what was granted; where that is what was searched for, it is known already. */
static int find_waits(const struct work *work, size_t window, struct error *err)
{
    for (size_t i = 0; i < work->plan->queue_count; i++) {
        size_t at = window * work->plan->queue_count + i;
        struct allocate_cell *cell = &work->plan->cells[at];
        struct search_setup setup = cell_setup(work, at);
        double high = cell->search.wait_s[DEMAND_HIGH];
        double low = cell->search.wait_s[DEMAND_LOW];

        cell->wait_s = high > low ? high : low;
        if (cell->granted == cell->search.servers || cell->search.servers == 0)
            continue;
        if (cell->granted == 0)
            cell->wait_s = HUGE_VAL;
        else if (search_wait(&setup, cell->granted, &cell->wait_s, err) < 0)
            return -1;
    }
    return 0;
}

static int fill_windows(struct work *work, struct error *err)
{
    struct allocate_plan *plan = work->plan;

    plan->is_feasible = true;
    for (size_t i = 0; i < plan->window_count; i++) {
        struct window_work window = { work->model, &plan->cells[i * plan->queue_count],
                                      &work->estimates[i * plan->queue_count] };

        plan->schedules[i] = schedule_new();
        plan->missing_nodes[i] = allocate_window(&window, plan->schedules[i]);
        plan->is_feasible = plan->is_feasible && plan->missing_nodes[i] == 0;
        if (find_waits(work, i, err) < 0)
            return -1;
    }
    return 0;
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

struct allocate_plan *allocate_plan(const struct allocate_model *model, struct error *err)
{
    owned(allocate_plan) struct allocate_plan *plan = mem_new(sizeof *plan);
    size_t cells = model->windows->count * model->queue_count;
    struct work work = { .model = model, .plan = plan };

    plan->window_count = model->windows->count;
    plan->queue_count = model->queue_count;
    plan->cells = mem_new_array(cells, sizeof *plan->cells);
    plan->schedules = mem_new_array(plan->window_count, sizeof *plan->schedules);
    plan->missing_nodes = mem_new_array(plan->window_count, sizeof *plan->missing_nodes);
    work.services = mem_new_array(model->queue_count, sizeof *work.services);
    work.segments = mem_new_array(cells, sizeof *work.segments);
    work.estimates = mem_new_array(cells, sizeof *work.estimates);
    work.errors = mem_new_array(cells, sizeof *work.errors);
    for (size_t i = 0; i < model->queue_count; i++)
        work.services[i] = service_time_new(model->queues[i].service_s,
                                            model->queues[i].service_cv);
    run_threads(&work);

    int result = first_error(&work, err);

    if (result == 0)
        result = fill_windows(&work, err);
    work_clear(&work);
    return result == 0 ? steal(&plan) : NULL;
}
