/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demo_play.h.
 */
#include "broker/demo/demo_play.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
    BOARD_LIMIT = 1 << 18,
    BOARD_EVERY_MS = 10 * MINUTE_MS, /* on a terminal */
    LINE_EVERY_MS = 2 * HOUR_MS,     /* elsewhere */
    FRAME_MS = 40,                   /* long enough to be seen */
};

static const struct config_pool *production_pool(const struct config *config, size_t reservation)
{
    for (size_t i = 0; i < config->pool_count; i++)
        if (config->pools[i].reservation == &config->reservations[reservation] &&
            config->pools[i].cluster->role == ROLE_PRODUCTION)
            return &config->pools[i];
    require(false); /* the demo's reservations have a production pool each */
    return NULL;
}

int demo_wanted(const struct config *config, const struct schedule *schedule, size_t reservation)
{
    const struct config_pool *pool = production_pool(config, reservation);

    return schedule_nodes_of(schedule, pool->reservation->machine, pool->reservation->region,
                             pool->cluster->name, pool->reservation->zone_index);
}

/* All begins of windows in the play. */
static void find_edges(struct demo_play *play)
{
    const struct config *config = play->rehearsal->config;
    struct wall_time at = play->world->start;

    for (;;) {
        struct demo_edge *edge = &play->edges[play->edge_count];
        const struct window *window;

        at = window_next_change(config->windows, at);
        if (at.ms == 0 || at.ms > play->world->start.ms + play->world->length_ms)
            return;
        require(play->edge_count < DEMO_EDGES_MAX);
        window = window_at(config->windows, at);
        edge->begins = at;
        edge->window = window->name;
        for (size_t i = 0; i < play->world->layout->count; i++)
            edge->wanted[i] = demo_wanted(config, play->schedules[window - config->windows->items],
                                          i);
        play->edge_count++;
    }
}

static int ready_nodes(const json_t *status, const char *cluster)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "clusters"), i, row)
        if (text_equal(json_text_or(row, "cluster", ""), cluster))
            return (int)(json_int_or(row, "ready_gpus", 0) / 8);
    return 0;
}

/* Records whether production has the replicas that the next window wants. */
static void note_readiness(struct demo_play *play, const json_t *status)
{
    const struct config *config = play->rehearsal->config;
    struct wall_time now = loop_wall(play->rehearsal->loop);

    for (size_t i = 0; i < play->edge_count; i++) {
        struct demo_edge *edge = &play->edges[i];
        bool is_ready = true;

        if (edge->is_over)
            continue;
        for (size_t k = 0; k < play->world->layout->count; k++) {
            edge->ready[k] = ready_nodes(status, production_pool(config, k)->cluster->name);
            is_ready = is_ready && edge->ready[k] >= edge->wanted[k];
        }
        if (!is_ready)
            edge->ready_since.ms = 0;
        else if (edge->ready_since.ms == 0)
            edge->ready_since = now;
        edge->is_over = now.ms >= edge->begins.ms;
        return; /* only the next one */
    }
}

static void show_board(const json_t *status)
{
    owned(text) struct text *board = text_new(BOARD_LIMIT);

    board_status(status, (struct table_style){ 0 }, board);
    fprintf(stderr, "\033[H\033[J%s", board->chars);
    client_rest(FRAME_MS);
}

static void show_line(const json_t *status)
{
    const json_t *row;
    size_t i;

    fprintf(stderr, "%s  %-16s", json_text_or(status, "local", ""),
            json_text_or(status, "window", ""));
    json_array_foreach(json_object_get(status, "clusters"), i, row)
        fprintf(stderr, " %s %2" PRId64, json_text_or(row, "cluster", ""),
                json_int_or(row, "nodes", 0));
    fprintf(stderr, "  moving %2" PRId64 "\n", json_int_or(status, "live_transfers", 0));
}

int demo_play_run(struct demo_play *play, struct error *err)
{
    bool is_terminal = isatty(STDERR_FILENO);
    int64_t every_ms = is_terminal ? BOARD_EVERY_MS : LINE_EVERY_MS;

    find_edges(play);
    for (int64_t at = 0; at < play->world->length_ms; at += MINUTE_MS) {
        owned(json) json_t *status = NULL;

        rehearsal_run(play->rehearsal, MINUTE_MS);
        if (service_is_broken(play->rehearsal->service))
            return error_set(err, ERROR_BUG, "the service stopped");
        status = service_status(play->rehearsal->service);
        note_readiness(play, status);
        if (play->is_quiet || at % every_ms != 0)
            continue;
        if (is_terminal)
            show_board(status);
        else
            show_line(status);
    }
    return 0;
}
