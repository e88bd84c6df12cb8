/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See targets.h.
 */
#include "broker/planning/targets.h"

/* What one schedule wants of one thing; -1: it does not name it. */
struct question {
    const struct config_pool *pool; /* NULL: a workload's replicas */
    const struct config_workload *workload;
    const struct config_cluster *cluster;
};

static void free_schedule(void *schedule)
{
    schedule_free(schedule);
}

struct map *targets_book_new(void)
{
    return map_new(free_schedule);
}

static int64_t ask(const struct schedule *schedule, const struct question *question)
{
    const struct config_reservation *reservation;

    if (!schedule)
        return -1;
    if (!question->pool)
        return schedule_replicas_of(schedule, question->workload->name, question->cluster->name);
    reservation = question->pool->reservation;
    return schedule_nodes_of(schedule, reservation->machine, reservation->region,
                             question->pool->cluster->name, reservation->zone_index);
}

/* The window whose schedule counts: an event that has none (nothing was applied since it was
   written into the configuration) leaves the week as it is. */
static const struct window *window_obeyed(const struct config *config, const struct map *book,
                                          struct wall_time at)
{
    const struct window *window = window_at(config->windows, at);

    return window->event && !map_get(book, window->name) ? window_beneath(config->windows, at)
                                                         : window;
}

/* The first change after `at`; inside such an event also those of the week. */
static struct wall_time next_edge(const struct config *config, const struct map *book,
                                  struct wall_time at)
{
    struct wall_time edge = window_next_change(config->windows, at);
    struct wall_time beneath;

    if (window_obeyed(config, book, at) == window_at(config->windows, at))
        return edge;
    beneath = window_beneath_next_change(config->windows, at);
    return beneath.ms > 0 && beneath.ms < edge.ms ? beneath : edge;
}

static struct target look_ahead(const struct config *config, const struct map *book,
                                const struct question *question, struct wall_time now,
                                int64_t reach_ms)
{
    const struct window *window = window_obeyed(config, book, now);
    struct target target = { .window = window->name };
    struct wall_time edge = now;

    target.now = target.wanted = ask(map_get(book, window->name), question);
    for (;;) {
        int64_t wanted;

        edge = next_edge(config, book, edge);
        if (edge.ms == 0 || edge.ms > now.ms + reach_ms)
            return target;
        window = window_obeyed(config, book, edge);
        wanted = ask(map_get(book, window->name), question);
        if (wanted > target.wanted) {
            target.wanted = wanted;
            target.window = window->name;
        }
    }
}

struct target target_nodes(const struct config *config, const struct map *book,
                           const struct config_pool *pool, struct wall_time now, int64_t reach_ms)
{
    struct question question = { .pool = pool };

    return look_ahead(config, book, &question, now, reach_ms);
}

struct target target_replicas(const struct config *config, const struct map *book,
                              const struct config_workload *workload,
                              const struct config_cluster *cluster, struct wall_time now,
                              int64_t reach_ms)
{
    struct question question = { .workload = workload, .cluster = cluster };

    return look_ahead(config, book, &question, now, reach_ms);
}

struct wall_time target_due(const struct config *config, const struct map *book,
                            const struct config_pool *pool, struct wall_time now, int64_t reach_ms,
                            int64_t have)
{
    const struct question question = { .pool = pool };
    struct wall_time edge = now;

    while (ask(map_get(book, window_obeyed(config, book, edge)->name), &question) <= have) {
        edge = next_edge(config, book, edge);
        if (edge.ms == 0 || edge.ms > now.ms + reach_ms)
            return (struct wall_time){ 0 };
    }
    return edge.ms > now.ms ? edge : (struct wall_time){ 0 };
}
