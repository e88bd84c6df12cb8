/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The step that binds is found by replaying the worst occurrence up to a step, and halving: later
 * requests cannot change which requests waited before.
 */
#include "windows/allocation/explain.h"

#include "windows/queueing/search_days.h"
#include "windows/servers/engine_wait.h"

#include <math.h>

/* One queue in one window, as the plan searched it. */
struct question {
    struct search_setup setup;
    struct segment_list segments;
    struct service_time *service;
};

static void question_clear(struct question *question)
{
    segments_clear(&question->segments);
    service_time_free(question->service);
}

static void question_init(struct question *question, const struct allocate_model *model,
                          struct explain_at at)
{
    const struct allocate_queue *item = &model->queues[at.queue];

    *question = (struct question){ .setup = allocate_setup(model, at.window, at.queue) };
    question->service = service_time_of(item->shape, item->service_s, item->service_cv);
    segments_of_window(item->demand, model->windows, at.window,
                       (struct wall_span){ model->from, model->to }, &question->segments);
    question->setup.service = question->service;
    question->setup.segments = &question->segments;
}

static int report(const struct search_setup *setup, int seed, int servers,
                  struct replay_result *result, struct error *err)
{
    owned(arrivals) struct arrivals *arrivals = search_arrivals(setup, seed, err);

    return arrivals ? replay_report(arrivals, servers, &setup->target, result, err) : -1;
}

/* How full the replicas are in the step in which most requests arrive. */
static void find_fullness(const struct engine *engine, double peak_per_s, struct explain_wait *wait)
{
    struct engine_station station = engine_station_of(engine, wait->replicas);

    wait->utilisation = peak_per_s / engine_capacity(&station);
    wait->occupancy = engine_state(&station, peak_per_s).running /
                      ((double)station.slots * station.replicas);
}

/* The worst day is the one with the longest wait, unless a token target has chosen it already. */
static int find_wait(const struct question *question, double peak_per_s, struct explain_wait *wait,
                     struct error *err)
{
    struct search_wait found;

    if (wait->replicas == 0)
        return 0;
    if (search_wait_under(&question->setup, wait->seed, wait->replicas, &found, err) < 0 ||
        search_tokens_under(&question->setup, wait->seed, wait->replicas, &wait->targets, err) < 0)
        return -1;
    wait->targets.found_s[REPLAY_WAIT] = found.wait_s;
    search_targets_judge(&wait->targets, &question->setup.target);
    if (wait->targets.day.begin.ms == 0)
        wait->targets.day = (struct search_late_day){ .begin = found.worst_day.begin,
                                                      .found_s = found.worst_day.wait_s };
    if (question->service->engine)
        find_fullness(question->service->engine, peak_per_s, wait);
    return 0;
}

/* The longest figure of the target that binds. */
static double longest_of(const struct replay_class *class, enum replay_figure binds)
{
    return binds == REPLAY_WAIT   ? class->max_s
           : binds == REPLAY_TTFT ? class->ttft.max_s
                                  : class->itl.max_s;
}

/* The replay that finds the step that binds. */
struct binding {
    const struct question *question;
    const struct explain_wait *with;
    enum replay_figure binds;
};

struct delay {
    double longest_s; /* of the target that binds */
    int64_t late;     /* requests */
};

/* Replays only one segment. */
static int replay_segment(const struct binding *binding, struct segment segment, struct delay *ret,
                          struct error *err)
{
    const struct explain_wait *with = binding->with;
    struct segment_list list = { 0 };
    struct search_setup setup = binding->question->setup;
    struct replay_result result;

    *array_add(&list.list) = segment;
    setup.segments = &list;

    int done = report(&setup, with->seed, with->replicas, &result, err);

    segments_clear(&list);
    if (done < 0)
        return -1;
    *ret = (struct delay){ 0 };
    for (int class = 0; class < DEMAND_CLASSES; class ++) {
        const struct replay_class *found = &result.classes[class];

        ret->longest_s = fmax(ret->longest_s, longest_of(found, binding->binds));
        ret->late += search_target_late(found, binding->binds);
    }
    return 0;
}

/* The segment with the most late requests; among equals, with the longest wait.  If each day
   counts, a segment of the day that binds. */
static int worst_segment(const struct binding *binding, const struct segment_list *segments,
                         struct segment *ret_worst, double *ret_longest_s, struct error *err)
{
    struct delay most = { .late = -1 };

    for (size_t i = 0; i < segments->list.count; i++) {
        struct delay delay;

        if (replay_segment(binding, segments->list.items[i], &delay, err) < 0)
            return -1;
        if (delay.late > most.late ||
            (delay.late == most.late && delay.longest_s > most.longest_s)) {
            most = delay;
            *ret_worst = segments->list.items[i];
        }
    }
    *ret_longest_s = most.longest_s;
    return 0;
}

static void segments_that_bind(const struct question *question, struct wall_time day,
                               struct segment_list *out)
{
    const struct segment_list *all = &question->segments;

    for (size_t i = 0; i < all->list.count && !question->setup.is_each_day; i++)
        *array_add(&out->list) = all->list.items[i];
    for (size_t i = 0; i < all->days.count && question->setup.is_each_day; i++)
        if (demand_time(question->setup.series, all->days.items[i]).ms == day.ms)
            segments_of_day(all, i, out);
}

static int find_binding(const struct question *question, const struct explain_wait *with,
                        struct explain *explain, struct error *err)
{
    const struct binding binding = { question, with, explain->binds };
    owned(segments) struct segment_list segments = { 0 };
    struct segment worst = { 0 };
    size_t below = 0; /* so many steps have not seen the longest wait yet */

    segments_that_bind(question, explain->day.begin, &segments);
    if (worst_segment(&binding, &segments, &worst, &explain->binding_wait_s, err) < 0)
        return -1;
    if (!(explain->binding_wait_s > 0))
        return 0;
    for (size_t above = worst.count; above - below > 1;) {
        size_t middle = below + (above - below) / 2;
        struct delay delay;

        if (replay_segment(&binding, (struct segment){ worst.first, middle }, &delay, err) < 0)
            return -1;
        if (delay.longest_s < explain->binding_wait_s)
            below = middle;
        else
            above = middle;
    }
    explain->binding = demand_time(question->setup.series, worst.first + below);
    return 0;
}

static double arrivals_in(const struct question *question, size_t step)
{
    const struct demand_series *series = question->setup.series;

    return (double)demand_at(series, DEMAND_HIGH, step) +
           (double)demand_at(series, DEMAND_LOW, step);
}

/* The busiest step, or the busiest minute of shorter steps.  The occupancy then does not show
   seconds in which several requests arrived at once. */
static void find_peak(const struct question *question, const struct segment *segment,
                      struct explain *explain)
{
    const struct demand_series *series = question->setup.series;
    size_t width = series->step_ms < MINUTE_MS ? (size_t)(MINUTE_MS / series->step_ms) : 1;
    double within = 0;

    width = width < segment->count ? width : segment->count;
    for (size_t i = 0; i < segment->count; i++) {
        size_t step = segment->first + i;
        double rate;

        within += arrivals_in(question, step);
        within -= i >= width ? arrivals_in(question, step - width) : 0;
        rate = question->setup.scale * within /
               ((double)width * (double)series->step_ms / SECOND_MS);
        if (i + 1 >= width && rate > explain->peak_per_s) {
            explain->peak_per_s = rate;
            explain->peak = demand_time(series, step + 1 - width);
        }
    }
}

static void find_rates(const struct question *question, struct explain *explain)
{
    double step_s = (double)question->setup.series->step_ms / SECOND_MS;
    double sum = 0;
    double steps = 0;

    for (size_t i = 0; i < question->segments.list.count; i++) {
        const struct segment *segment = &question->segments.list.items[i];

        for (size_t step = segment->first; step < segment->first + segment->count; step++) {
            sum += question->setup.scale * arrivals_in(question, step) / step_s;
            steps += 1;
        }
        find_peak(question, segment, explain);
    }
    explain->rate_per_s = steps > 0 ? sum / steps : 0;
}

int explain_cell(const struct allocate_model *model, const struct allocate_plan *plan,
                 struct explain_at at, struct explain *ret, struct error *err)
{
    const struct search_result *search =
        &plan->cells[at.window * plan->queue_count + at.queue].search;
    int with = search->failing_seed < 0 ? EXPLAIN_SAME : EXPLAIN_LESS;
    struct question question;
    int result = 0;

    question_init(&question, model, at);
    *ret = (struct explain){
        .waits = { { .replicas = search->servers - 1, .seed = search->failing_seed },
                   { .replicas = search->servers, .seed = search->worst_seed },
                   { .replicas = search->servers + 1, .seed = search->worst_seed } },
    };
    find_rates(&question, ret);
    ret->estimate = allocate_estimate(&question.setup);
    for (int i = 0; i < EXPLAIN_STEPS && result == 0; i++)
        result = find_wait(&question, ret->peak_per_s, &ret->waits[i], err);
    ret->day = ret->waits[with].targets.day;
    ret->binds = question.setup.is_each_day ? ret->day.which : ret->waits[with].targets.binds;
    if (result == 0)
        result = find_binding(&question, &ret->waits[with], ret, err);
    question_clear(&question);
    return result;
}

int explain_number(const struct allocate_model *model, struct explain_at at, int replicas,
                   struct search_targets *ret, struct error *err)
{
    struct question question;
    struct search_targets found = { 0 };
    struct search_wait wait;

    question_init(&question, model, at);

    const struct replay_target *target = &question.setup.target;
    int result = search_wait(&question.setup, replicas, &wait, err);

    for (int seed = 0; seed < model->seeds && result == 0; seed++)
        if (target->ttft.limit_s > 0 || target->itl.limit_s > 0)
            result = search_tokens_under(&question.setup, seed, replicas, &found, err);
    if (result == 0) {
        found.found_s[REPLAY_WAIT] = wait.wait_s;
        search_targets_judge(&found, target);
        *ret = found;
    }
    question_clear(&question);
    return result;
}
