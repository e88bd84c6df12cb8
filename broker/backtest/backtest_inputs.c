/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See backtest_inputs.h.
 */
#include "broker/backtest/backtest_inputs.h"

#include "broker/sizing/backtest_windows.h"
#include "broker/sizing/demand_input.h"
#include "broker/sizing/measures.h"
#include "broker/sizing/plain_queue.h"
#include "broker/terminal/name_bits.h"
#include "windows/calendar/suggest.h"

#include <inttypes.h>
#include <string.h>

enum {
    PLAN_THREADS = 2,
    GPUS_PER_NODE = 8,
    MOVE_MINUTES = 30,
    EVICTED_MINUTES = 15,
};

static void set_defaults(struct backtest_inputs *inputs, struct command_call *call)
{
    *inputs = (struct backtest_inputs){
        .call = call,
        .demand_options = demand_input_options(call, NULL),
        .slots = 1,
        .gpus = 1,
        .learn_weeks = 2,
        .evicted_ms = EVICTED_MINUTES * MINUTE_MS,
        .price = 2.5,
        .attainment = 95,
        .seeds = PLAN_SEEDS,
        .seed = 1,
        .threads = PLAN_THREADS,
    };
    inputs->setup.follow_ms = HOUR_MS;
    inputs->setup.fleet.up_ms = MOVE_MINUTES * MINUTE_MS;
    inputs->setup.fleet.down_ms = MOVE_MINUTES * MINUTE_MS;
}

static int read_queue_options(struct backtest_inputs *inputs, struct error *err)
{
    static const char *const more[] = { "gpus", "slots", "router", NULL };
    struct command_call *call = inputs->call;
    struct plain_queue queue;

    if (plain_queue_read(&queue, call, more, err) < 0 ||
        call_int(call, "gpus", (struct int_range){ 1, 1024 }, &inputs->gpus, err) < 0 ||
        call_int(call, "slots", (struct int_range){ 1, ENGINE_SLOTS_MAX }, &inputs->slots, err) <
            0 ||
        call_double(call, "load", (struct double_range){ 0.1, 1e5 }, &inputs->load, err) < 0)
        return -1;
    if (inputs->gpus > GPUS_PER_NODE && inputs->gpus % GPUS_PER_NODE != 0)
        return error_set(err, ERROR_INVALID,
                         "--gpus: above %d, which a node has, expected a multiple of it, found "
                         "%" PRId64,
                         GPUS_PER_NODE, inputs->gpus);
    if (call_text(call, "router") && !call_text(call, "slots"))
        return error_set(err, ERROR_INVALID, "--router requires --slots");
    inputs->router = engine_router_parse(
        call_text_or(call, "router", engine_router_name(inputs->router)));
    if (inputs->router == ENGINE_ROUTERS)
        return error_set(err, ERROR_INVALID,
                         "--router: expected least-outstanding, random, round-robin or central, "
                         "found \"%s\"",
                         call_text(call, "router"));
    inputs->service_ms = queue.service_ms;
    inputs->service_cv = queue.service_cv;
    inputs->target = queue.target;
    inputs->scale = queue.scale;
    return 0;
}

/* The policies by their names, and the bound. */
static int read_policies(struct backtest_inputs *inputs, struct error *err)
{
    size_t count = policies_count();
    struct name_bit *names = mem_new_array(count + 2, sizeof *names);
    int result;

    for (size_t i = 0; i < count; i++)
        names[i] = (struct name_bit){ policies[i].name, 1u << i };
    names[count] = (struct name_bit){ "bound", BACKTEST_LIMIT };
    names[count + 1] = (struct name_bit){ 0 };
    result = name_bits(inputs->call, "policy", names, &inputs->setup.played, err);
    mem_free(names);
    if (result == 0 && inputs->setup.played == BACKTEST_LIMIT)
        return error_set(err, ERROR_INVALID, "--policy: name a policy, too, beside the bound");
    return result;
}

/* The windows of a configuration are those that `allocate` plans by, so they stay unless another
   choice is asked for. */
static int read_plan_windows(struct backtest_inputs *inputs, struct error *err)
{
    const char *given = call_text_or(inputs->call, "plan-windows",
                                     inputs->service_ms > 0 ? "auto" : "judged");

    inputs->is_chosen = text_equal(given, "auto");
    if (inputs->is_chosen || text_equal(given, "judged"))
        return 0;
    if (strspn(given, "0123456789") < strlen(given))
        return error_set(err, ERROR_INVALID,
                         "--plan-windows: expected auto, judged or a number from 2 to %d, found "
                         "\"%s\"",
                         SUGGEST_WINDOWS_MAX, given);
    return call_int(inputs->call, "plan-windows", (struct int_range){ 2, SUGGEST_WINDOWS_MAX },
                    &inputs->plan_windows, err);
}

int backtest_inputs_options(struct backtest_inputs *inputs, struct command_call *call,
                            struct error *err)
{
    struct fleet *fleet = &inputs->setup.fleet;

    set_defaults(inputs, call);
    if (read_queue_options(inputs, err) < 0 || read_policies(inputs, err) < 0 ||
        name_bits_without(inputs->call, &inputs->setup.without, err) < 0 ||
        call_int(call, "nodes", (struct int_range){ 1, 100000 }, &inputs->nodes, err) < 0 ||
        call_int(call, "learn", (struct int_range){ 1, 520 }, &inputs->learn_weeks, err) < 0 ||
        call_int(call, "origins", (struct int_range){ 1, 520 }, &inputs->origins, err) < 0 ||
        read_plan_windows(inputs, err) < 0 ||
        call_duration(call, "follow", &inputs->setup.follow_ms, err) < 0 ||
        call_duration(call, "up", &fleet->up_ms, err) < 0 ||
        call_duration(call, "down", &fleet->down_ms, err) < 0 ||
        call_duration(call, "evicted", &inputs->evicted_ms, err) < 0 ||
        call_double(call, "price", (struct double_range){ 0, 1e6 }, &inputs->price, err) < 0 ||
        call_double(call, "attainment", (struct double_range){ 1, 100 }, &inputs->attainment, err) <
            0 ||
        call_int(call, "seeds", (struct int_range){ 1, 100 }, &inputs->seeds, err) < 0 ||
        call_int(call, "seed", (struct int_range){ 0, INT64_MAX - 1 }, &inputs->seed, err) < 0 ||
        call_int(call, "threads", (struct int_range){ 1, 256 }, &inputs->threads, err) < 0)
        return -1;
    if (!call_text(call, "demand"))
        return error_set(err, ERROR_INVALID, "--demand is required");
    if (inputs->setup.follow_ms < MINUTE_MS || inputs->setup.follow_ms > DAY_MS)
        return error_set(err, ERROR_INVALID, "--follow: expected a minute to a day");
    if (fleet->up_ms < 0 || fleet->up_ms > DAY_MS || fleet->down_ms < 0 ||
        fleet->down_ms > DAY_MS || inputs->evicted_ms < 0)
        return error_set(err, ERROR_INVALID, "--up, --down: expected at most a day");
    return 0;
}

/* All queues of the demand are alike, as the options say. */
static int take_flags(struct backtest_inputs *inputs, struct error *err)
{
    const char *only = call_text(inputs->call, "queue");

    require(inputs->service_ms > 0 && !inputs->config);
    if (inputs->slots > 1) {
        inputs->shape = service_shape_new(SERVICE_BY_CV, (double)inputs->service_ms / SECOND_MS,
                                          inputs->service_cv, "options");
        service_shape_set_slots(inputs->shape, (int)inputs->slots, inputs->router);
    }
    inputs->setup.fleet.gpus_per_node = GPUS_PER_NODE;
    inputs->queues = mem_new_array(inputs->demand->count, sizeof *inputs->queues);
    for (size_t i = 0; i < inputs->demand->count; i++) {
        const struct demand_series *series = &inputs->demand->series[i];

        if (!only || text_equal(series->queue, only))
            inputs->queues[inputs->setup.queue_count++] = (struct backtest_queue){
                .series = series,
                .target = inputs->target,
                .service_s = (double)inputs->service_ms / SECOND_MS,
                .service_cv = inputs->service_cv,
                .shape = inputs->shape,
                .scale = inputs->scale,
                .gpus = (int)inputs->gpus,
            };
    }
    if (inputs->setup.queue_count == 0)
        return error_set(err, ERROR_INVALID, "the demand has no queue \"%s\"", only ? only : "");
    return 0;
}

static int take_workload(struct backtest_inputs *inputs, const struct config_queue *queue,
                         const struct config_workload *workload, struct error *err)
{
    const struct demand_series *series = demand_need(inputs->demand, queue->name, err);

    if (!series)
        return -1;
    inputs->queues[inputs->setup.queue_count++] = (struct backtest_queue){
        .series = series,
        .target = config_target(queue, 0),
        .service_s = (double)queue->service_ms / SECOND_MS,
        .service_cv = queue->service_cv,
        .shape = queue->service,
        .scale = queue->scale_up * inputs->scale,
        .gpus = (int)workload->gpus,
    };
    return 0;
}

/* The windows that judge, whose time zone is that of the demand's times. */
static int read_windows(struct backtest_inputs *inputs, struct error *err)
{
    owned(chars) char *path = NULL;

    if (inputs->service_ms > 0) {
        inputs->setup.judged = inputs->judged = plain_queue_windows(inputs->call, err);
    } else {
        path = config_find(call_text(inputs->call, "config"), err);
        inputs->config = path ? config_read(path, err) : NULL;
        inputs->setup.judged = inputs->config ? inputs->config->windows : NULL;
    }
    return inputs->setup.judged ? 0 : -1;
}

/* Moves take as long as the service counts on before it has learned it. */
static void take_lead(struct backtest_inputs *inputs)
{
    const struct config_lead *lead = &inputs->config->lead;

    if (!call_text(inputs->call, "up"))
        inputs->setup.fleet.up_ms = lead->prior_p95_ms;
    if (!call_text(inputs->call, "down"))
        inputs->setup.fleet.down_ms = lead->prior_p50_ms;
}

/* A queue runs as the first workload that serves it; a queue without a workload is left out. */
static int take_config(struct backtest_inputs *inputs, struct error *err)
{
    const struct config *config = inputs->config;

    require(config->reservation_count > 0); /* the configuration has one */
    take_lead(inputs);
    inputs->setup.fleet.gpus_per_node = (int)config->reservations[0].gpus_per_node;
    inputs->queues = mem_new_array(config->queue_count, sizeof *inputs->queues);
    for (size_t i = 0; i < config->queue_count; i++)
        for (size_t at = 0; at < config->workload_count; at++)
            if (config->workloads[at].queue == &config->queues[i]) {
                if (take_workload(inputs, &config->queues[i], &config->workloads[at], err) < 0)
                    return -1;
                break;
            }
    if (inputs->setup.queue_count == 0)
        return error_set(err, ERROR_INVALID, "%s: no workload serves any queue", config->path);
    return 0;
}

/* Each queue keeps its shape and gets this load on average. */
static void scale_to_load(struct backtest_inputs *inputs)
{
    for (size_t i = 0; i < inputs->setup.queue_count; i++) {
        struct backtest_queue *queue = &inputs->queues[i];
        const struct demand_series *series = queue->series;
        double count = 0;
        double known = 0;

        for (size_t step = 0; step < series->count; step++)
            if (demand_is_known(series, step)) {
                count += demand_at(series, DEMAND_HIGH, step) + demand_at(series, DEMAND_LOW, step);
                known++;
            }
        if (count > 0)
            queue->scale = inputs->load * known * (double)series->step_ms /
                           (count * SECOND_MS *
                            engine_whole_s(service_shape_engine(queue->shape), queue->service_s));
    }
}

/* The weeks of the demand decide which is judged first. */
static int choose_weeks(struct backtest_inputs *inputs, struct error *err)
{
    struct backtest_setup *setup = &inputs->setup;
    struct wall_time start = setup->queues[0].series->start;
    struct course course;

    for (size_t i = 1; i < setup->queue_count; i++)
        if (setup->queues[i].series->start.ms < start.ms)
            start = setup->queues[i].series->start;
    if (course_init(&course, setup->judged, start, setup->end, err) < 0)
        return -1;

    require(inputs->learn_weeks > 0);

    size_t weeks = course.weeks;

    setup->first_week = (size_t)inputs->learn_weeks;
    if (inputs->origins > 0 && weeks > setup->first_week + (size_t)inputs->origins)
        setup->first_week = weeks - (size_t)inputs->origins;
    inputs->first = course_week(&course, setup->first_week);
    course_clear(&course);
    if (setup->first_week >= weeks)
        return error_set(err, ERROR_INVALID,
                         "the demand has %zu whole weeks, and the first %zu are only learned from: "
                         "give more, or --learn %zu",
                         weeks, setup->first_week, weeks - 1);
    setup->planned = setup->judged;
    return 0;
}

/* As for a forecast: measurements of a snapshot beside the demand replace the configuration's
   values. */
static int take_measured(struct backtest_inputs *inputs, struct error *err)
{
    const char *path = call_text(inputs->call, "demand");
    owned(measures_used) struct measures_used used = { 0 };

    return inputs->config ? measures_take(inputs->config, inputs->demand, path, &used, err) : 0;
}

int backtest_inputs_read(struct backtest_inputs *inputs, struct error *err)
{
    struct backtest_setup *setup = &inputs->setup;

    if (read_windows(inputs, err) < 0)
        return -1;
    inputs->demand_options.zone = setup->judged->zone;
    inputs->demand = demand_input_read(call_text(inputs->call, "demand"), &inputs->demand_options,
                                       err);
    if (!inputs->demand || take_measured(inputs, err) < 0)
        return -1;
    if ((inputs->service_ms > 0 ? take_flags(inputs, err) : take_config(inputs, err)) < 0)
        return -1;
    if (inputs->load > 0)
        scale_to_load(inputs);
    require(setup->queue_count > 0 && setup->fleet.gpus_per_node > 0);
    setup->queues = inputs->queues;
    setup->end = inputs->demand->end;
    setup->fleet.nodes = (int)inputs->nodes;
    setup->fleet.evicted_h = (double)inputs->evicted_ms / HOUR_MS * setup->fleet.gpus_per_node;
    setup->attainment = inputs->attainment / 100;
    setup->seeds = (int)inputs->seeds;
    setup->seed = (uint64_t)inputs->seed;
    setup->threads = (int)inputs->threads;
    return choose_weeks(inputs, err);
}

int backtest_inputs_plan(struct backtest_inputs *inputs, struct error *err)
{
    struct backtest_setup *setup = &inputs->setup;
    const struct backtest_past past = { setup->queues, setup->queue_count, setup->judged,
                                        inputs->first };

    if (inputs->is_chosen) {
        windows_choose(setup, inputs->first, &inputs->choice);
        inputs->plan_windows = (int64_t)inputs->choice.trials[inputs->choice.chosen].windows;
    }
    if (inputs->plan_windows == 0)
        return 0;
    inputs->planned = backtest_windows(&past, (size_t)inputs->plan_windows, err);
    setup->planned = inputs->planned;
    return setup->planned ? 0 : -1;
}

void backtest_inputs_clear(struct backtest_inputs *inputs)
{
    mem_free(inputs->queues);
    window_set_free(inputs->planned);
    window_set_free(inputs->judged);
    demand_free(inputs->demand);
    service_shape_free(inputs->shape);
    config_free(inputs->config);
}
