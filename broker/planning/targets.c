/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See targets.h.
 */
#include "broker/planning/targets.h"

/* A question for the wanted number in one schedule; -1: the schedule does not name it. */
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

const struct window *target_window(const struct horizon *horizon, struct wall_time at)
{
    const struct window_set *windows = horizon->config->windows;
    const struct window *window = window_at(windows, at);

    require(window); /* every minute belongs to one */
    return window->event && !map_get(horizon->book, window->name) ? window_beneath(windows, at)
                                                                  : window;
}

static const struct schedule *schedule_at(const struct horizon *horizon, struct wall_time at)
{
    return map_get(horizon->book, target_window(horizon, at)->name);
}

struct wall_time target_edge(const struct horizon *horizon, struct wall_time at)
{
    const struct window_set *windows = horizon->config->windows;
    struct wall_time edge = window_next_change(windows, at);
    struct wall_time beneath;

    require(edge.ms == 0 || edge.ms > at.ms); /* walks from edge to edge end */
    if (target_window(horizon, at) == window_at(windows, at))
        return edge;
    beneath = window_beneath_next_change(windows, at);
    require(beneath.ms == 0 || beneath.ms > at.ms);
    return beneath.ms > 0 && beneath.ms < edge.ms ? beneath : edge;
}

/* The number of waves is bounded by the nodes only: a week holds every change there is. */
enum { LOOK_MS_MAX = 7 * DAY_MS };

static int64_t named(int64_t count)
{
    return count < 0 ? 0 : count;
}

static int64_t growth_ms(const struct horizon *horizon, const struct schedule *from,
                         const struct schedule *to)
{
    const struct config *config = horizon->config;
    const struct reach *reach = &horizon->reach;
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

int64_t reach_ms(const struct horizon *horizon, struct wall_time edge)
{
    return growth_ms(horizon, schedule_at(horizon, horizon->now), schedule_at(horizon, edge));
}

/* The longest time of all changes from this window: no edge beyond it matters.  A look at the
   calendar for each of a week's edges would cost more than all else that a plan does. */
static int64_t longest_ms(const struct horizon *horizon, const struct schedule *from)
{
    int64_t longest = horizon->reach.notice_ms + horizon->reach.wave_ms;
    void *schedule;

    for (size_t i = 0; map_next(horizon->book, &i, NULL, &schedule);) {
        int64_t change_ms = growth_ms(horizon, from, schedule);

        longest = change_ms > longest ? change_ms : longest;
    }
    return longest < LOOK_MS_MAX ? longest : LOOK_MS_MAX;
}

/* The first change of window after `edge` for which one has to act at `now`; 0: there is none. */
static struct wall_time next_within(const struct horizon *horizon, struct wall_time edge)
{
    const struct schedule *has = schedule_at(horizon, horizon->now);
    int64_t now_ms = horizon->now.ms;
    int64_t longest = longest_ms(horizon, has);

    for (;;) {
        edge = target_edge(horizon, edge);
        if (edge.ms == 0 || edge.ms > now_ms + longest)
            return (struct wall_time){ 0 };
        if (edge.ms <= now_ms + growth_ms(horizon, has, schedule_at(horizon, edge)))
            return edge;
    }
}

static struct target look_ahead(const struct horizon *horizon, const struct question *question)
{
    const struct window *window = target_window(horizon, horizon->now);
    struct target target = { .window = window->name };
    struct wall_time edge = horizon->now;

    target.now = target.wanted = ask(map_get(horizon->book, window->name), question);
    for (;;) {
        int64_t wanted;

        edge = next_within(horizon, edge);
        require(target.wanted >= target.now);
        if (edge.ms == 0)
            return target;
        window = target_window(horizon, edge);
        wanted = ask(map_get(horizon->book, window->name), question);
        if (wanted > target.wanted) {
            target.wanted = wanted;
            target.window = window->name;
        }
    }
}

struct target target_nodes(const struct horizon *horizon, const struct config_pool *pool)
{
    const struct question question = { .pool = pool };

    return look_ahead(horizon, &question);
}

struct target target_replicas(const struct horizon *horizon, const struct config_workload *workload,
                              const struct config_cluster *cluster)
{
    const struct question question = { .workload = workload, .cluster = cluster };

    return look_ahead(horizon, &question);
}

struct wall_time target_due(const struct horizon *horizon, const struct config_pool *pool,
                            int64_t have)
{
    const struct question question = { .pool = pool };
    struct wall_time edge = horizon->now;

    while (ask(schedule_at(horizon, edge), &question) <= have) {
        edge = next_within(horizon, edge);
        if (edge.ms == 0)
            return (struct wall_time){ 0 };
    }
    return edge.ms > horizon->now.ms ? edge : (struct wall_time){ 0 };
}

/* As far as it is known from `back_ms` before now on; that time itself: perhaps since earlier. */
static struct wall_time wanted_since(const struct horizon *horizon, const struct question *question,
                                     int64_t wanted, int64_t back_ms)
{
    struct wall_time edge = { horizon->now.ms - back_ms };
    struct wall_time since = edge;
    bool was = ask(schedule_at(horizon, edge), question) >= wanted;

    while ((edge = target_edge(horizon, edge)).ms > 0 && edge.ms <= horizon->now.ms) {
        bool is = ask(schedule_at(horizon, edge), question) >= wanted;

        if (is && !was)
            since = edge;
        was = is;
    }
    return since;
}

struct wall_time target_since(const struct horizon *horizon, const struct config_pool *pool,
                              int64_t have)
{
    const struct question question = { .pool = pool };
    int64_t in_force = ask(schedule_at(horizon, horizon->now), &question);
    int64_t wanted = have < in_force ? have + 1 : in_force;
    struct wall_time since = wanted_since(horizon, &question, wanted, DAY_MS);

    return since.ms > horizon->now.ms - DAY_MS
               ? since
               : wanted_since(horizon, &question, wanted, LOOK_MS_MAX);
}
