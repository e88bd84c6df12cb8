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

    require(question->pool || (question->workload && question->cluster));
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

    require(window); /* every minute belongs to one */
    return window->event && !map_get(book, window->name) ? window_beneath(config->windows, at)
                                                         : window;
}

/* The first change after `at`; inside such an event also those of the week. */
static struct wall_time next_edge(const struct config *config, const struct map *book,
                                  struct wall_time at)
{
    struct wall_time edge = window_next_change(config->windows, at);
    struct wall_time beneath;

    require(edge.ms == 0 || edge.ms > at.ms); /* walks from edge to edge end */
    if (window_obeyed(config, book, at) == window_at(config->windows, at))
        return edge;
    beneath = window_beneath_next_change(config->windows, at);
    require(beneath.ms == 0 || beneath.ms > at.ms);
    return beneath.ms > 0 && beneath.ms < edge.ms ? beneath : edge;
}

/* Of the waves' number there is no bound but the nodes': a week holds every change there is. */
enum { LOOK_MS_MAX = 7 * DAY_MS };

static int64_t named(int64_t count)
{
    return count < 0 ? 0 : count;
}

static int64_t growth_ms(const struct config *config, const struct reach *reach,
                         const struct schedule *from, const struct schedule *to)
{
    int64_t growth = 0;
    int64_t group = 1;
    int64_t wave_nodes;
    int64_t waves;

    require(reach->wave_nodes >= 1 && reach->wave_ms >= 0 && reach->notice_ms >= 0);
    for (size_t i = 0; i < config->pool_count; i++) {
        const struct question question = { .pool = &config->pools[i] };
        int64_t more = named(ask(to, &question)) - named(ask(from, &question));

        growth += more > 0 ? more : 0;
        if (more > 0 && config->pools[i].group > group)
            group = config->pools[i].group;
    }
    /* A wave takes whole groups, at least one. */
    wave_nodes = reach->wave_nodes - reach->wave_nodes % group;
    wave_nodes = wave_nodes > group ? wave_nodes : group;
    waves = (growth + wave_nodes - 1) / wave_nodes;
    return reach->notice_ms + reach->wave_ms * (waves > 1 ? waves : 1);
}

int64_t reach_ms(const struct config *config, const struct map *book, const struct reach *reach,
                 struct wall_time now, struct wall_time edge)
{
    return growth_ms(config, reach, map_get(book, window_obeyed(config, book, now)->name),
                     map_get(book, window_obeyed(config, book, edge)->name));
}

/* Of all changes from this window: no edge beyond it matters.  A look at the calendar for each of a
   week's edges would cost more than all else that a plan does. */
static int64_t longest_ms(const struct config *config, const struct map *book,
                          const struct reach *reach, const struct window *from)
{
    int64_t longest = reach->notice_ms + reach->wave_ms;
    void *schedule;

    for (size_t i = 0; map_next(book, &i, NULL, &schedule);) {
        int64_t change_ms = growth_ms(config, reach, map_get(book, from->name), schedule);

        longest = change_ms > longest ? change_ms : longest;
    }
    return longest < LOOK_MS_MAX ? longest : LOOK_MS_MAX;
}

/* The first change of window after `edge` for which one has to act at `now`; 0: there is none. */
static struct wall_time next_within(const struct config *config, const struct map *book,
                                    const struct reach *reach, struct wall_time now,
                                    struct wall_time edge)
{
    const struct window *from = window_obeyed(config, book, now);
    const struct schedule *has = map_get(book, from->name);
    int64_t longest = longest_ms(config, book, reach, from);

    for (;;) {
        const struct window *window;

        edge = next_edge(config, book, edge);
        if (edge.ms == 0 || edge.ms > now.ms + longest)
            return (struct wall_time){ 0 };
        window = window_obeyed(config, book, edge);
        if (edge.ms <= now.ms + growth_ms(config, reach, has, map_get(book, window->name)))
            return edge;
    }
}

static struct target look_ahead(const struct config *config, const struct map *book,
                                const struct question *question, struct wall_time now,
                                const struct reach *reach)
{
    const struct window *window = window_obeyed(config, book, now);
    struct target target = { .window = window->name };
    struct wall_time edge = now;

    target.now = target.wanted = ask(map_get(book, window->name), question);
    for (;;) {
        int64_t wanted;

        edge = next_within(config, book, reach, now, edge);
        require(target.wanted >= target.now);
        if (edge.ms == 0)
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
                           const struct config_pool *pool, struct wall_time now,
                           const struct reach *reach)
{
    struct question question = { .pool = pool };

    return look_ahead(config, book, &question, now, reach);
}

struct target target_replicas(const struct config *config, const struct map *book,
                              const struct config_workload *workload,
                              const struct config_cluster *cluster, struct wall_time now,
                              const struct reach *reach)
{
    struct question question = { .workload = workload, .cluster = cluster };

    return look_ahead(config, book, &question, now, reach);
}

struct wall_time target_due(const struct config *config, const struct map *book,
                            const struct config_pool *pool, struct wall_time now,
                            const struct reach *reach, int64_t have)
{
    const struct question question = { .pool = pool };
    struct wall_time edge = now;

    while (ask(map_get(book, window_obeyed(config, book, edge)->name), &question) <= have) {
        edge = next_within(config, book, reach, now, edge);
        if (edge.ms == 0)
            return (struct wall_time){ 0 };
    }
    return edge.ms > now.ms ? edge : (struct wall_time){ 0 };
}
