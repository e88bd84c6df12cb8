/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each queue is forecast with its own service time, target and scale_up.
 */
#include "broker/cli/forecasts.h"

#include "base/loop.h"
#include "base/text.h"

void forecasts_free(struct forecasts *forecasts)
{
    if (!forecasts)
        return;
    for (size_t i = 0; i < forecasts->count; i++)
        forecast_free(forecasts->items[i]);
    mem_free(forecasts->items);
    mem_free(forecasts->shares);
    mem_free((void *)(uintptr_t)forecasts->queues);
    mem_free(forecasts);
}

int forecasts_options_read(struct forecasts_options *options, const struct command_call *call,
                           struct error *err)
{
    owned(loop) struct loop *loop = NULL;
    int64_t horizon = 7;

    if (call_int(call, "horizon", 1, 7, &horizon, err) < 0)
        return -1;
    options->horizon_days = (int)horizon;
    if (call_text(call, "now"))
        return wall_parse(call_text(call, "now"), false, &options->now, err);
    loop = loop_libevent_new(err);
    if (!loop)
        return -1;
    options->now = loop_wall(loop);
    return 0;
}

/* Of a replica of the first workload that serves it. */
static int gpus_of(const struct config *config, const struct config_queue *queue)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (config->workloads[i].queue == queue)
            return (int)config->workloads[i].gpus;
    return 1;
}

struct forecasts *forecasts_new(const struct config *config, const struct demand *demand,
                                const struct forecasts_options *options, struct error *err)
{
    const char *only = options ? options->only : NULL;
    owned(forecasts) struct forecasts *forecasts = mem_new(sizeof *forecasts);

    forecasts->queues = mem_new_array(config->queue_count, sizeof *forecasts->queues);
    forecasts->items = mem_new_array(config->queue_count, sizeof *forecasts->items);
    forecasts->shares = mem_new_array(config->queue_count, sizeof *forecasts->shares);
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        struct forecast_setup setup = {
            .series = demand_find(demand, queue->name),
            .set = config->windows,
            .service_s = (double)queue->service_ms / SECOND_MS,
            .service_cv = queue->service_cv,
            .scale = queue->scale_up,
            .target = { queue->wait_target_ms, queue->percentile },
            .end = demand->end,
            .now = options ? options->now : (struct wall_time){ 0 },
            .horizon_days = options ? options->horizon_days : 0,
        };

        if (only && !text_equal(queue->name, only))
            continue;
        if (!setup.series) {
            error_set(err, ERROR_INVALID, "queue %s: the demand has no rows for it", queue->name);
            return NULL;
        }
        forecasts->queues[forecasts->count] = queue;
        forecasts->items[forecasts->count] = forecast_new(&setup);
        forecasts->shares[forecasts->count] = (struct forecast_share){
            forecasts->items[forecasts->count], setup, gpus_of(config, queue)
        };
        forecasts->count++;
    }
    if (forecasts->count == 0) {
        error_set(err, ERROR_NOT_FOUND, "there is no queue \"%s\" in %s", only, config->path);
        return NULL;
    }
    if (options && options->attainment > 0)
        forecast_share_out(forecasts->shares, forecasts->count, options->attainment);
    return steal(&forecasts);
}

const struct forecast_cell *forecasts_find(const struct forecasts *forecasts, const char *queue,
                                           size_t window)
{
    for (size_t i = 0; i < forecasts->count; i++)
        if (text_equal(forecasts->queues[i]->name, queue) && window < forecasts->items[i]->count)
            return &forecasts->items[i]->cells[window];
    return NULL;
}
