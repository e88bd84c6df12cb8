/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The needed replicas are split by weight and placed.  If there is no room for them, everything
 * begins again from the replicas that always run, and grows by one replica at a time: first all
 * queues up to their targets, then up to the replicas that survive losses.
 */
#include "windows/allocation/allocate_window.h"

#include "windows/allocation/layout.h"
#include "windows/queueing/backlog.h"
#include "windows/queueing/target_limits.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { ROUNDS_MAX = 200 }; /* of raising for lost zones; each closes a fixed share of the gap */

static int least_replicas(const struct allocate_model *model, size_t queue)
{
    int sum = 0;

    for (size_t i = 0; i < model->workload_count; i++)
        for (size_t at = 0;
             model->workloads[i].queue == queue && at < model->workloads[i].share_count; at++)
            sum += model->workloads[i].shares[at].replica_min;
    return sum;
}

enum { UNSTABLE = 1000 }; /* pressures from here on are of queues that grow without end */

/* The queue's wait in the replay, divided by its wait in the estimate; 1 if either is unknown.
 */
static double correction_of(const struct window_work *work, size_t queue)
{
    const struct replay_target *target = &work->model->queues[queue].target;
    const struct search_result *search = &work->cells[queue].search;
    double target_s = (double)target->wait_ms / SECOND_MS;
    double waits = fmax(search->wait_s[DEMAND_HIGH], search->wait_s[DEMAND_LOW]) / target_s;
    double estimated = waits > 0 ? estimate_pressure(&work->estimates[queue], search->servers,
                                                     target->percentile / 100, target_s)
                                 : 0;

    return estimated > 0 && estimated < UNSTABLE ? waits / estimated : 1;
}

/* Pressure of token targets, in closed form: by how much the arrival rate exceeds the rate that
   meets them. 0 when they are met: surplus nodes go by waits, because the reserves of tokens have
   another unit. */
static double token_pressure(const struct window_work *work, size_t queue, int replicas)
{
    const struct allocate_queue *item = &work->model->queues[queue];
    const struct estimate *estimate = &work->estimates[queue];
    const struct engine *engine = service_shape_engine(item->shape);
    struct target_limits limits = target_limits_of(engine, &item->target);
    double most = 0;

    for (size_t i = 1; i < limits.wait_count; i++)
        most = fmax(most, estimate_pressure(estimate, replicas, limits.waits[i].percentile / 100,
                                            fmax(limits.waits[i].limit_s, engine_floor_s(engine))));
    for (size_t i = 0; i < limits.rate_count; i++)
        most = fmax(most, estimate_rate(estimate, limits.rates[i].percentile / 100) /
                              limits.rates[i].per_s / (replicas > 0 ? replicas : 0.5));
    return most > 1 ? most : 0;
}

/* Everything is ranked by the estimate, which computes hundreds of replica counts in the time of
   one replay.  It is right about the value of one more replica; if a replay has computed the wait,
   the estimate is scaled to it.  Among queues without waits the load in the last digits decides. */
static double pressure_of(const struct window_work *work, size_t queue, int replicas,
                          double correction)
{
    const struct replay_target *target = &work->model->queues[queue].target;
    const struct estimate *estimate = &work->estimates[queue];
    double pressure = estimate_pressure(estimate, replicas, target->percentile / 100,
                                        (double)target->wait_ms / SECOND_MS);

    if (pressure < UNSTABLE)
        pressure = fmin(fmax(pressure * correction, token_pressure(work, queue, replicas)),
                        UNSTABLE);
    return pressure + 1e-6 * estimate_load(estimate) / (replicas > 0 ? replicas : 0.5);
}

struct pressed { /* a queue while replicas are given out */
    int replicas;
    double pressure;
    double correction;
};

/* The queue with the highest pressure that still wants a replica; `count` when none does. */
static size_t most_pressed(const struct pressed *queues, const int *wanted, size_t count)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++)
        if (queues[i].replicas < wanted[i] &&
            (best == count || queues[i].pressure > queues[best].pressure))
            best = i;
    return best;
}

/* Grants one replica at a time to the queue with the highest pressure for whose replica there is
   room. */
static void grow(const struct window_work *work, struct layout *layout, int *wanted)
{
    size_t count = work->model->queue_count;
    struct pressed *queues = mem_new_array(count, sizeof *queues);

    for (size_t i = 0; i < count; i++) {
        queues[i].replicas = layout_replicas(layout, i);
        queues[i].correction = correction_of(work, i);
        queues[i].pressure = pressure_of(work, i, queues[i].replicas, queues[i].correction);
    }
    for (size_t at; (at = most_pressed(queues, wanted, count)) < count;) {
        if (!layout_add(layout, at)) {
            wanted[at] = 0; /* no room: never again */
            continue;
        }
        queues[at].replicas++;
        queues[at].pressure = pressure_of(work, at, queues[at].replicas, queues[at].correction);
    }
    mem_free(queues);
}

/* Whether the minimums found room; if not, there is nothing more to grant. */
static bool share_scarce(const struct window_work *work, struct layout *layout)
{
    size_t count = work->model->queue_count;
    int *wanted = mem_new_array(count, sizeof *wanted);

    for (size_t i = 0; i < count; i++) {
        layout_split(layout, i, least_replicas(work->model, i));
        wanted[i] = work->cells[i].search.servers;
    }

    bool has_room = layout_place(layout) == 0;

    grow(work, layout, wanted);
    for (size_t i = 0; i < count; i++)
        wanted[i] = work->cells[i].needed;
    grow(work, layout, wanted);
    mem_free(wanted);
    return has_room;
}

static int lost_replicas(const struct window_work *work, const struct layout *layout, size_t queue)
{
    const struct allocate_queue *item = &work->model->queues[queue];
    int node = item->survives_node ? layout_lost_with_node(layout, queue) : 0;
    int zone = item->survives_zone ? layout_lost_with_zone(layout, queue) : 0;

    return node > zone ? node : zone;
}

/* Raises needs that losses leave too small.  Returns whether any was raised: more replicas do not
   help a queue that is in one zone only. */
static bool raise_for_losses(const struct window_work *work, struct layout *layout)
{
    bool is_raised = false;

    for (size_t i = 0; i < work->model->queue_count; i++) {
        struct allocate_cell *cell = &work->cells[i];
        int lost = lost_replicas(work, layout, i);
        int more = cell->degraded + lost - cell->needed;

        if (cell->degraded == 0 || more <= 0 ||
            (work->model->queues[i].survives_zone && layout_is_in_one_zone(layout, i)))
            continue;
        cell->needed += more;
        layout_split(layout, i, cell->needed);
        is_raised = true;
    }
    return is_raised;
}

/* Returns how many nodes found no room. */
static int lay_out_needs(const struct window_work *work, struct layout *layout)
{
    const struct allocate_model *model = work->model;
    int missing = 0;

    for (size_t i = 0; i < model->queue_count; i++) {
        struct allocate_cell *cell = &work->cells[i];
        int least = least_replicas(model, i);

        cell->needed = cell->search.servers > least ? cell->search.servers : least;
        layout_split(layout, i, cell->needed);
    }
    for (int round = 0; round < ROUNDS_MAX; round++) {
        missing = layout_place(layout);
        if (!raise_for_losses(work, layout) || missing > 0)
            break;
    }
    return missing > 0 ? missing : layout_place(layout);
}

static bool take_grants(const struct window_work *work, const struct layout *layout)
{
    bool is_met = true;

    for (size_t i = 0; i < work->model->queue_count; i++) {
        struct allocate_cell *cell = &work->cells[i];

        cell->granted = layout_replicas(layout, i);
        cell->lost = cell->degraded > 0 ? lost_replicas(work, layout, i) : 0;
        if (!allocate_is_met(cell))
            is_met = false;
    }
    memcpy(work->needs, layout->needs, work->model->cluster_count * sizeof *work->needs);
    return is_met;
}

/* Adds up to the wanted replicas.  If the added nodes would make a zone so large that a queue no
   longer survives its loss, nothing is added; false. */
static bool extend(const struct window_work *work, struct layout *layout, int *wanted)
{
    bool is_met;

    grow(work, layout, wanted);
    is_met = take_grants(work, layout);
    if (!is_met) {
        (void)lay_out_needs(work, layout);
        (void)take_grants(work, layout);
    }
    return is_met;
}

/* The share of what each queue wants to catch up, on top of what it needs.  Returns whether there
   is any. */
static bool want_share(const struct window_work *work, int parts, int *wanted)
{
    bool is_any = false;

    for (size_t i = 0; i < work->model->queue_count; i++) {
        const struct allocate_cell *cell = &work->cells[i];

        wanted[i] = cell->needed + cell->catch_up / parts;
        is_any = is_any || cell->catch_up >= parts;
    }
    return is_any;
}

/* Those who wait already come after all targets and losses: less is added where more would leave a
   queue too few after a loss. */
static void catch_up(const struct window_work *work, struct layout *layout)
{
    size_t count = work->model->queue_count;
    int *wanted = mem_new_array(count, sizeof *wanted);

    for (size_t i = 0; i < count; i++) {
        const struct allocate_queue *queue = &work->model->queues[i];
        double whole_s = engine_whole_s(service_shape_engine(queue->shape), queue->service_s);

        work->cells[i].catch_up = backlog_servers(queue->waiting * whole_s, work->cells[i].needed,
                                                  queue->target.wait_ms);
    }
    for (int parts = 1; want_share(work, parts, wanted) && !extend(work, layout, wanted);)
        parts *= 2;
    mem_free(wanted);
}

static void saturate(const struct window_work *work, struct layout *layout)
{
    int *wanted = mem_new_array(work->model->queue_count, sizeof *wanted);

    for (size_t i = 0; i < work->model->queue_count; i++)
        wanted[i] = INT_MAX;
    *work->is_withheld = !extend(work, layout, wanted);
    if (*work->is_withheld)
        catch_up(work, layout);
    mem_free(wanted);
}

static void write_schedule(const struct allocate_model *model, const struct layout *layout,
                           struct schedule *schedule)
{
    for (size_t i = 0; i < layout->slots.count; i++) {
        const struct layout_slot *slot = &layout->slots.items[i];

        schedule_set_replicas(schedule, model->workloads[slot->workload].name,
                              model->clusters[slot->share->cluster].name, slot->replicas);
    }
    for (size_t i = 0; i < model->place.pool_count; i++) {
        const struct allocate_pool *pool = &model->pools[i];
        size_t cluster = model->place.pools[i].cluster;
        int counts[SCHEDULE_ZONES_MAX] = { 0 };

        for (size_t j = 0; j < model->place.pool_count; j++)
            if (model->place.pools[j].cluster == cluster &&
                text_equal(model->pools[j].machine, pool->machine) &&
                text_equal(model->pools[j].region, pool->region))
                counts[model->pools[j].zone] += layout->nodes[j];
        schedule_set_nodes(
            schedule,
            (struct schedule_path){ pool->machine, pool->region, model->clusters[cluster].name },
            counts, pool->zone_count);
    }
}

bool allocate_window(const struct window_work *work, struct schedule *schedule, int *ret_missing)
{
    struct layout layout;
    bool has_room = true;

    layout_init(&layout, work->model);

    int missing = lay_out_needs(work, &layout);

    if (missing > 0)
        has_room = share_scarce(work, &layout);

    bool is_met = take_grants(work, &layout) && has_room;

    if (is_met)
        catch_up(work, &layout);
    if (is_met && work->model->is_saturated)
        saturate(work, &layout);
    write_schedule(work->model, &layout, schedule);
    layout_clear(&layout);
    *ret_missing = is_met ? 0 : missing;
    return is_met;
}
