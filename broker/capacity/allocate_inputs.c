/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Makes the model from the options.  The header of each schedule file names every option and file
 * that changes a number.
 */
#include "broker/capacity/allocate_inputs.h"

#include "base/file.h"
#include "broker/capacity/allocate_print.h"
#include "broker/sizing/allocate_forecast.h"
#include "broker/sizing/demand_age.h"
#include "broker/sizing/engine_facts.h"
#include "broker/terminal/rate.h"
#include "windows/forecast/origins.h"
#include "windows/servers/service_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WAITING_MAX = 1000000000 }; /* requests */

static int read_numbers(struct allocate_model_options *options, const struct command_call *call,
                        struct error *err)
{
    int64_t seeds = PLAN_SEEDS;
    int64_t seed = 1;
    int64_t threads = 2;

    options->days = 7;
    options->scale = 1;
    if (call_int(call, "days", (struct int_range){ 1, 3660 }, &options->days, err) < 0 ||
        call_double(call, "scale-up", (struct double_range){ 0, 1000 }, &options->scale, err) < 0 ||
        call_double(call, "percentile", (struct double_range){ 1, 100 }, &options->percentile,
                    err) < 0 ||
        call_int(call, "seeds", (struct int_range){ 1, 1000 }, &seeds, err) < 0 ||
        call_int(call, "seed", (struct int_range){ 0, INT64_MAX }, &seed, err) < 0 ||
        call_int(call, "threads", (struct int_range){ 1, 256 }, &threads, err) < 0)
        return -1;
    options->seeds = (int)seeds;
    options->seed = (uint64_t)seed;
    options->threads = (int)threads;
    return 0;
}

static bool parse_requests(const char *text, double *ret_requests)
{
    return text_to_double(text, ret_requests) && *ret_requests >= 0 && *ret_requests <= WAITING_MAX;
}

/* An option that is repeated, with an amount of a queue each time. */
struct amount_option {
    const char *name;
    const char *what;
    const char *example;
    bool (*parse)(const char *text, double *ret_value);
};

static int read_amounts(struct allocate_inputs *inputs, const struct amount_option *option,
                        struct allocate_amounts *amounts, struct error *err)
{
    for (size_t i = 0; i < call_repeat(inputs->call, option->name); i++) {
        const char *text = call_text_at(inputs->call, option->name, i);
        const char *equals = strchr(text, '=');
        double value;

        if (!equals || equals == text || !option->parse(equals + 1, &value))
            return error_set(err, ERROR_INVALID,
                             "--%s: \"%s\" is not a queue and %s: write it like %s", option->name,
                             text, option->what, option->example);

        char *name = text_format("%.*s", (int)(equals - text), text);

        *array_add(&inputs->names) = name;
        for (size_t at = 0; at < amounts->list.count; at++)
            if (text_equal(amounts->list.items[at].name, name))
                return error_set(err, ERROR_INVALID, "--%s: %s is given twice", option->name, name);
        *array_add(&amounts->list) = (struct allocate_amount){ name, value };
    }
    return 0;
}

static int read_rates(struct allocate_inputs *inputs, struct error *err)
{
    static const struct amount_option option = { "rate", "a rate", "chat=1.2/s", rate_parse };

    return read_amounts(inputs, &option, &inputs->options.rates, err);
}

int allocate_inputs_waiting(struct allocate_inputs *inputs, struct error *err)
{
    static const struct amount_option option = { "waiting", "a number of requests", "chat=1200",
                                                 parse_requests };

    return read_amounts(inputs, &option, &inputs->options.waiting, err);
}

static const char *demand_path(const struct command_call *call)
{
    return call_text_or(call, "demand", call_text(call, "from"));
}

int allocate_inputs_options(struct allocate_inputs *inputs, struct command_call *call,
                            struct error *err)
{
    *inputs = (struct allocate_inputs){ .call = call };
    if (call_text(call, "demand") && call_text(call, "from"))
        return error_set(err, ERROR_INVALID, "--demand and --from name the same thing: give one");
    if (!demand_path(call))
        return error_set(err, ERROR_INVALID, "--demand is required");
    if (read_numbers(&inputs->options, call, err) < 0 || read_rates(inputs, err) < 0)
        return -1;
    inputs->options.slo = call_text(call, "slo");
    for (size_t i = 0; i < call_repeat(call, "lose"); i++) {
        const char *what = call_text_at(call, "lose", i);

        if (!text_equal(what, "node") && !text_equal(what, "zone"))
            return error_set(err, ERROR_INVALID, "--lose: expected node or zone, found \"%s\"",
                             what);
        *(text_equal(what, "node") ? &inputs->options.loses_node
                                   : &inputs->options.loses_zone) = true;
    }
    inputs->demand_options = demand_input_options(call, NULL);
    return 0;
}

/* Demand without a workload is no mistake (a file may cover more), but is reported. */
static void note_unserved(const struct allocate_model *model, const struct demand *demand)
{
    const char *first = NULL;
    size_t unserved = 0;

    for (size_t i = 0; i < demand->count; i++) {
        bool is_served = false;

        for (size_t at = 0; at < model->queue_count; at++)
            is_served = is_served || model->queues[at].demand == &demand->series[i];
        if (!is_served && unserved++ == 0)
            first = demand->series[i].queue;
    }
    if (unserved > 0)
        fprintf(stderr, "note: no workload serves %zu of the demand's queues (%s)\n", unserved,
                first);
}

/* Sets how long the one window that is planned has been in force when the demand ends. */
static int read_again(struct allocate_inputs *inputs, struct error *err)
{
    struct wall_time end = inputs->demand->end;
    const char *name = inputs->options.window;
    struct wall_time began = origins_under_way(inputs->config->windows, name, end);
    char at[WALL_TEXT_SIZE];

    if (began.ms == 0 || began.ms == end.ms)
        return error_set(err, ERROR_INVALID,
                         "window %s is not in force when the demand ends (%s), and --again plans "
                         "the rest of a window that is: leave --again out, or give newer demand",
                         name, wall_format(end, at));
    if (origins_under_way(inputs->config->windows, name, inputs->forecast.now).ms != began.ms)
        return error_set(err, ERROR_INVALID,
                         "window %s was in force when the demand ended (%s), and is over now: plan "
                         "the window that is in force",
                         name, wall_format(end, at));
    inputs->forecast.again_ms = end.ms - began.ms;
    return 0;
}

/* Nodes that are ordered later than their lead time before a window come after it began. */
static void note_lead(const struct allocate_inputs *inputs)
{
    int64_t lead_ms = inputs->config->lead.prior_p95_ms;
    char lead[DURATION_TEXT_SIZE], follow[DURATION_TEXT_SIZE];

    if (inputs->is_again || inputs->forecast.follow_ms >= lead_ms)
        return;
    duration_format(lead_ms, lead);
    fprintf(
        stderr,
        "note: --follow %s: a node takes up to %s to come (lead.prior_p95), so that nodes which "
        "this plan adds come after the window has begun; give --follow %s, or a shorter lead "
        "time if it is known to be shorter\n",
        duration_format(inputs->forecast.follow_ms, follow), lead, lead);
}

/* A plan of days may rest on older demand (a stale forecast shrinks nothing), one of hours not. */
static int check_age(const struct allocate_inputs *inputs, struct error *err)
{
    struct wall_time now = inputs->forecast.now;

    if (inputs->forecast.follow_ms > 0) {
        note_lead(inputs);
        return demand_age_check(inputs->demand, inputs->model, now, err);
    }
    demand_age_note(inputs->demand, now);
    return 0;
}

int allocate_inputs_read(struct allocate_inputs *inputs, struct error *err)
{
    owned(chars) char *path = config_find(call_text(inputs->call, "config"), err);

    inputs->config = path ? config_read(path, err) : NULL;
    if (!inputs->config)
        return -1;
    inputs->demand_options.zone = inputs->config->windows->zone;
    inputs->demand = demand_input_read(demand_path(inputs->call), &inputs->demand_options, err);
    if (!inputs->demand || measures_take(inputs->config, inputs->demand, demand_path(inputs->call),
                                         &inputs->measured, err) < 0)
        return -1;
    if (config_suppose(inputs->config, inputs->suppositions.items, inputs->suppositions.count,
                       err) < 0)
        return error_context(err, "--engine");
    inputs->model = allocate_model_new(inputs->config, inputs->demand, &inputs->options, err);
    if (!inputs->model)
        return -1;
    note_unserved(inputs->model, inputs->demand);
    if (!inputs->is_forecast)
        return 0;
    if (check_age(inputs, err) < 0 || (inputs->is_again && read_again(inputs, err) < 0))
        return -1;
    inputs->forecasts = forecasts_new(inputs->config, inputs->demand, &inputs->forecast, err);
    if (!inputs->forecasts)
        return -1;
    if (allocate_forecast_is_near(inputs->forecasts, inputs->model, &inputs->forecast, err) < 0)
        return -1;
    inputs->scales = allocate_forecast_scales(inputs->forecasts, inputs->model);
    inputs->model->scales = inputs->scales;
    return 0;
}

void allocate_inputs_clear(struct allocate_inputs *inputs)
{
    forecasts_free(inputs->forecasts);
    mem_free(inputs->scales);
    allocate_model_free(inputs->model);
    demand_free(inputs->demand);
    config_free(inputs->config);
    measures_used_clear(&inputs->measured);
    for (size_t i = 0; i < inputs->names.count; i++)
        mem_free(inputs->names.items[i]);
    array_clear(&inputs->names);
    array_clear(&inputs->options.rates.list);
    array_clear(&inputs->options.waiting.list);
    array_clear(&inputs->suppositions);
}

/* "demand arrivals.csv.gz sha256 ..." */
static int add_input(struct text *out, const char *what, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char digest[SHA256_TEXT_SIZE];

    if (file_sha256(path, digest, err) < 0)
        return -1;
    text_add(out, "%s %s sha256 %s\n", what, slash ? slash + 1 : path, digest);
    return 0;
}

static int add_services(const struct allocate_inputs *inputs, struct text *out, struct error *err)
{
    if (inputs->measured.services &&
        add_input(out, "service times", inputs->measured.services, err) < 0)
        return -1;
    if (inputs->measured.engines && add_input(out, "engines", inputs->measured.engines, err) < 0)
        return -1;
    for (size_t i = 0; i < inputs->config->queue_count; i++) {
        const struct config_queue *queue = &inputs->config->queues[i];
        owned(chars) char *times = text_format("service times of %s", queue->name);
        owned(chars) char *lengths = text_format("lengths of %s", queue->name);

        if ((queue->service_file && add_input(out, times, queue->service_file, err) < 0) ||
            (queue->engine.tokens_file &&
             add_input(out, lengths, queue->engine.tokens_file, err) < 0))
            return -1;
    }
    return 0;
}

/* The engines assumed for queues whose replicas serve many requests at once.  They come from the
   configuration or from measurements, and a digest of the file would not show them. */
static void add_engines(const struct allocate_inputs *inputs, struct text *out)
{
    for (size_t i = 0; i < inputs->config->queue_count; i++) {
        const struct config_queue *queue = &inputs->config->queues[i];
        owned(json) json_t *facts = engine_facts_json(service_shape_engine(queue->service));

        if (!json_is_object(facts))
            continue;

        owned(chars) char *line = engine_facts_text(facts);

        text_add(out, "engine of %s, by %s: %s\n", queue->name, queue->service->origin, line);
    }
}

/* How the demand was understood: a plan rests on it. */
static void add_notes(const struct allocate_inputs *inputs, struct text *out)
{
    owned(json) json_t *notes = demand_input_notes(inputs->demand, &inputs->demand_options);
    const json_t *note;
    size_t i;

    json_array_foreach(notes, i, note)
        text_add(out, "note: %s\n", json_string_value(note));
}

static void add_amounts(const struct allocate_amounts *amounts, const char *what, const char *unit,
                        struct text *out)
{
    for (size_t i = 0; i < amounts->list.count; i++)
        text_add(out, ", %s %s=%.12g%s", what, amounts->list.items[i].name,
                 amounts->list.items[i].value, unit);
}

int allocate_inputs_header(const struct allocate_inputs *inputs, struct text *out,
                           struct error *err)
{
    const struct allocate_model_options *options = &inputs->options;

    text_add(out,
             "Written by sluice %s allocate. Edit it and it is obeyed; the next allocate\n"
             "overwrites it.\n",
             SLUICE_VERSION);
    if (add_input(out, "configuration", inputs->config->path, err) < 0 ||
        add_input(out, "demand", demand_path(inputs->call), err) < 0 ||
        (inputs->demand_options.gaps &&
         add_input(out, "gaps", inputs->demand_options.gaps, err) < 0) ||
        add_services(inputs, out, err) < 0)
        return -1;
    add_engines(inputs, out);
    text_add(out,
             "options: days %" PRId64 ", scale-up %.12g, seeds %d, seed %" PRIu64 ", missing %s",
             options->days, options->scale, options->seeds, options->seed,
             demand_input_missing(inputs->demand, &inputs->demand_options));
    if (options->percentile > 0)
        text_add(out, ", percentile %.12g", options->percentile);
    if (options->slo)
        text_add(out, ", slo %s", options->slo);
    add_amounts(&options->rates, "rate", "/s", out);
    add_amounts(&options->waiting, "waiting", "", out);
    text_add(out, "%s%s%s\n", options->loses_node ? ", lose node" : "",
             options->loses_zone ? ", lose zone" : "", options->is_saturated ? ", saturate" : "");
    add_notes(inputs, out);
    if (inputs->is_forecast)
        allocate_forecast_claim(inputs->forecasts, inputs->model, &inputs->forecast, out);
    if (options->is_estimate)
        text_add(out, ALLOCATE_ESTIMATE_CLAIM "\n");
    return 0;
}
