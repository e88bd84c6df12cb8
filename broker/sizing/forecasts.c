/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each queue is forecast with its own service time, target and scale_up.
 */
#include "broker/sizing/forecasts.h"

#include "base/parallel.h"
#include "base/text.h"
#include "base/world/loop.h"
#include "windows/forecast/confirm.h"

enum { THREADS = 2 }; /* their number changes nothing in the answer */

void forecasts_free(struct forecasts *forecasts)
{
    if (!forecasts)
        return;
    for (size_t i = 0; i < forecasts->count; i++) {
        forecast_free(forecasts->items[i]);
        mem_free(forecasts->ratios[i]);
    }
    mem_free(forecasts->items);
    mem_free(forecasts->ratios);
    mem_free(forecasts->shares);
    mem_free((void *)(uintptr_t)forecasts->shapes);
    mem_free((void *)(uintptr_t)forecasts->names);
    mem_free(forecasts);
}

/* A plan that is revised before each window is one of the nightly plans. */
static int read_follow(struct forecasts_options *options, const struct command_call *call,
                       struct error *err)
{
    if (!call_text(call, "follow"))
        return 0;
    if (call_text(call, "horizon"))
        return error_set(err, ERROR_INVALID, "--follow and --horizon: give one of them");
    if (call_duration(call, "follow", &options->follow_ms, err) < 0)
        return -1;
    if (options->follow_ms < MINUTE_MS || options->follow_ms > DAY_MS)
        return error_set(err, ERROR_INVALID, "--follow: expected a minute to a day");
    options->horizon_days = 1; /* a plan is made again before each window */
    return 0;
}

int forecasts_options_read(struct forecasts_options *options, const struct command_call *call,
                           struct error *err)
{
    owned(loop) struct loop *loop = NULL;
    int64_t horizon = 7;

    if (call_int(call, "horizon", (struct int_range){ 1, 7 }, &horizon, err) < 0)
        return -1;
    options->horizon_days = (int)horizon;
    if (read_follow(options, call, err) < 0)
        return -1;
    if (call_text(call, "now"))
        return wall_parse(call_text(call, "now"), false, &options->now, err);
    loop = loop_libevent_new(err);
    if (!loop)
        return -1;
    options->now = loop_wall(loop);
    return 0;
}

/* GPUs of a replica of the first workload that serves the queue. */
static int gpus_of(const struct config *config, const struct config_queue *queue)
{
    for (size_t i = 0; i < config->workload_count; i++)
        if (config->workloads[i].queue == queue)
            return (int)config->workloads[i].gpus;
    return 1;
}

static struct forecasts *with_room(size_t count)
{
    struct forecasts *forecasts = mem_new(sizeof *forecasts);

    forecasts->names = mem_new_array(count, sizeof *forecasts->names);
    forecasts->items = mem_new_array(count, sizeof *forecasts->items);
    forecasts->ratios = mem_new_array(count, sizeof *forecasts->ratios);
    forecasts->shares = mem_new_array(count, sizeof *forecasts->shares);
    forecasts->shapes = mem_new_array(count, sizeof *forecasts->shapes);
    return forecasts;
}

/* The setup of a queue's forecast, with the options that hold for all queues. */
static struct forecast_setup setup_of(const struct demand *demand, const struct window_set *set,
                                      const struct forecasts_options *options)
{
    return (struct forecast_setup){
        .set = set,
        .end = demand->end,
        .now = options ? options->now : (struct wall_time){ 0 },
        .horizon_days = options ? options->horizon_days : 0,
        .without = options ? options->without : 0,
        .lead_ms = options ? options->follow_ms : 0,
        .again_ms = options ? options->again_ms : 0,
    };
}

static int confirm(struct forecasts *forecasts, size_t at, struct error *err)
{
    const struct forecast_setup *setup = &forecasts->shares[at].setup;
    size_t count = forecasts->items[at]->count;

    require(!forecasts->ratios[at]);

    owned(service_time) struct service_time *service = service_time_of(
        forecasts->shapes[at], setup->service_s, setup->service_cv);

    const struct confirm_queue queue = { setup, service, forecasts->items[at] };

    forecasts->ratios[at] = mem_new_array(count, sizeof *forecasts->ratios[at]);
    for (size_t window = 0; window < count; window++)
        if (confirm_ratio(&queue, window, &forecasts->ratios[at][window], err) < 0)
            return error_context(err, "queue %s", forecasts->names[at]);
    return 0;
}

/* The queue is known; its forecast is made with the others'. */
static void add(struct forecasts *forecasts, const struct forecast_setup *setup, int gpus,
                const struct service_shape *shape)
{
    size_t at = forecasts->count++;

    require(setup->series && setup->service_s > 0 && setup->scale >= 0 && gpus > 0);
    forecasts->names[at] = setup->series->queue;
    forecasts->shares[at] = (struct forecast_share){ .setup = *setup, .gpus = gpus };
    forecasts->shapes[at] = shape;
}

struct work {
    struct forecasts *forecasts;
    bool is_confirmed;
};

static int make_one(void *context, size_t at, struct error *err)
{
    const struct work *work = context;
    struct forecasts *forecasts = work->forecasts;

    require(!forecasts->items[at]); /* threads share out the queues, and no queue is two's */
    forecasts->items[at] = forecast_new(&forecasts->shares[at].setup);
    forecasts->shares[at].forecast = forecasts->items[at];
    return work->is_confirmed ? confirm(forecasts, at, err) : 0;
}

static int make_all(struct forecasts *forecasts, const struct forecasts_options *options,
                    struct error *err)
{
    struct work work = { forecasts, options && options->is_confirmed };

    if (parallel_run(THREADS, forecasts->count, make_one, &work, err) < 0)
        return -1;
    if (options && options->attainment > 0)
        forecast_share_out(forecasts->shares, forecasts->count, options->attainment);
    return 0;
}

struct forecasts *forecasts_new(const struct config *config, const struct demand *demand,
                                const struct forecasts_options *options, struct error *err)
{
    const char *only = options ? options->only : NULL;
    owned(forecasts) struct forecasts *forecasts = with_room(config->queue_count);

    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        struct forecast_setup setup = setup_of(demand, config->windows, options);

        setup.service_s = (double)queue->service_ms / SECOND_MS;
        setup.service_cv = queue->service_cv;
        setup.engine = service_shape_engine(queue->service);
        setup.scale = queue->scale_up;
        setup.target = config_target(queue, 0);
        if (only && !text_equal(queue->name, only))
            continue;
        setup.series = demand_need(demand, queue->name, err);
        if (!setup.series)
            return NULL;
        add(forecasts, &setup, gpus_of(config, queue), queue->service);
    }
    if (forecasts->count == 0) {
        error_set(err, ERROR_NOT_FOUND, "there is no queue \"%s\" in %s", only, config->path);
        return NULL;
    }
    return make_all(forecasts, options, err) < 0 ? NULL : steal(&forecasts);
}

struct forecasts *forecasts_new_plain(const struct plain_queue *queue, const struct window_set *set,
                                      const struct demand *demand,
                                      const struct forecasts_options *options, struct error *err)
{
    owned(forecasts) struct forecasts *forecasts = with_room(demand->count);

    for (size_t i = 0; i < demand->count; i++) {
        struct forecast_setup setup = setup_of(demand, set, options);

        setup.series = &demand->series[i];
        setup.service_s = (double)queue->service_ms / SECOND_MS;
        setup.service_cv = queue->service_cv;
        setup.scale = queue->scale;
        setup.target = queue->target;
        if (options->only && !text_equal(setup.series->queue, options->only))
            continue;
        add(forecasts, &setup, 1, NULL);
    }
    if (forecasts->count == 0) {
        error_set(err, ERROR_NOT_FOUND, "the demand has no queue \"%s\"", options->only);
        return NULL;
    }
    return make_all(forecasts, options, err) < 0 ? NULL : steal(&forecasts);
}

const struct forecast_cell *forecasts_find(const struct forecasts *forecasts, const char *queue,
                                           size_t window)
{
    for (size_t i = 0; i < forecasts->count; i++)
        if (text_equal(forecasts->names[i], queue) && window < forecasts->items[i]->count)
            return &forecasts->items[i]->cells[window];
    return NULL;
}
