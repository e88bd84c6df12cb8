/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forecast_check.h.
 */
#include "broker/planning/forecast_check.h"

#include "base/text.h"

static bool has_queue(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->queue_count; i++)
        if (text_equal(config->queues[i].name, name))
            return true;
    return false;
}

int forecast_check(const struct config *config, const struct forecast_file *file,
                   const char *source, struct error *err)
{
    for (size_t i = 0; i < file->windows.count; i++) {
        const struct forecast_file_window *window = &file->windows.items[i];

        if (!window_find(config->windows, window->window))
            return error_set(err, ERROR_INVALID, "%s: the configuration has no window %s", source,
                             window->window);
        for (size_t k = 0; k < window->rows.count; k++)
            if (!has_queue(config, window->rows.items[k].queue))
                return error_set(err, ERROR_INVALID,
                                 "%s: window %s: the configuration has no queue %s", source,
                                 window->window, window->rows.items[k].queue);
    }
    return 0;
}

static const struct forecast_file_row *row_of(const struct forecast_file_window *window,
                                              const char *queue)
{
    for (size_t i = 0; i < window->rows.count; i++)
        if (text_equal(window->rows.items[i].queue, queue))
            return &window->rows.items[i];
    return NULL;
}

static bool is_served(const struct config *config, const struct config_queue *queue)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (config->workloads[i].queue == queue)
            return true;
    return false;
}

static int check_window(const struct forecast_file_window *window, struct wall_time now,
                        struct error *err)
{
    char until[WALL_TEXT_SIZE];

    if (!window)
        return error_set(err, ERROR_NOT_FOUND, "there is no forecast of it");
    if (!window->is_forecast)
        return error_set(err, ERROR_NOT_FOUND,
                         "it was planned from last week's demand, without a forecast");
    if (now.ms >= window->until.ms)
        return error_set(err, ERROR_NOT_FOUND, "its forecast is for the time until %s",
                         wall_format(window->until, until));
    return 0;
}

int forecast_need(const struct config *config, const struct forecast_file_window *window,
                  struct wall_time now, struct forecast_need *ret_need, struct error *err)
{
    struct forecast_need need = { 0 };

    if (check_window(window, now, err) < 0)
        return -1;
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        const struct forecast_file_row *row = row_of(window, queue->name);

        if (!is_served(config, queue))
            continue;
        if (!row || row->lack[0])
            return error_set(err, ERROR_NOT_FOUND, "queue %s has no forecast there (%s)",
                             queue->name, row ? row->lack : "not planned");
        need.bound += row->gpus;
        if (row->replicas > 0) {
            need.point += row->gpus * row->point / (double)row->replicas;
            need.lower += row->gpus * row->lower / (double)row->replicas;
        }
    }
    *ret_need = need;
    return 0;
}

int64_t forecast_node_gpus(const struct config *config)
{
    int64_t gpus = 0;

    for (size_t i = 0; i < config->pool_count; i++) {
        const struct config_pool *pool = &config->pools[i];

        if (pool->cluster->role != ROLE_PRODUCTION)
            continue;
        if (gpus > 0 && gpus != pool->reservation->gpus_per_node)
            return 0;
        gpus = pool->reservation->gpus_per_node;
    }
    return gpus;
}
