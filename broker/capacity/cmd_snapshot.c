/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice snapshot: asks the sources for each queue's arrivals, and for service times where a source
 * has them.  It stores them in files, so that a plan can be made again from the same numbers
 * without a network.  A file is written whole or not at all.  A minute that no source knew has no
 * row; it is listed on standard error.
 */
#include "base/input/json.h"
#include "broker/capacity/snapshot_engine.h"
#include "broker/capacity/snapshot_rows.h"
#include "broker/capacity/snapshot_service.h"
#include "broker/sizing/source_world.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STEP_MS = MINUTE_MS, RANGES_SHOWN = 100 };

const struct command_option snapshot_options[] = {
    { "days", 0, "N", "how many days before the end (default 7)", false },
    { "to", 0, "TIME",
      "the end (RFC 3339, whole minutes; default: the newest minute whose counts can no longer "
      "change)",
      false },
    { "out", 0, "FILE", "the CSV file; compressed if its name ends in .gz (required)", false },
    { 0 },
};

struct snapshot;

/* One source that queues name, and what it is asked. */
struct errand {
    struct snapshot *snapshot;
    const struct config_source *config;
    struct source_settings settings;
    struct source *source;
    struct source_queue *queues;
    size_t count;
    struct demand *demand;
};

/* One queue whose service times are measured. */
struct gauge {
    struct snapshot *snapshot;
    struct snapshot_service *service; /* one of the snapshot's */
};

struct snapshot {
    struct command_call *call;
    const struct config *config;
    struct source_world world;
    struct source_span span;
    struct errand *errands;
    size_t errand_count;
    struct gauge *gauges;
    struct snapshot_service *services;
    size_t service_count; /* of both */
    struct snapshot_engine *engines;
    size_t engine_count;
    char *service_path; /* of what was written */
    char *engine_path;
    size_t pending;
    struct error err; /* the first */
};

static void snapshot_clear(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->errand_count; i++) {
        source_close(snapshot->errands[i].source);
        demand_free(snapshot->errands[i].demand);
        mem_free(snapshot->errands[i].queues);
    }
    for (size_t i = 0; i < snapshot->service_count; i++)
        service_shape_free(snapshot->services[i].shape);
    mem_free(snapshot->errands);
    mem_free(snapshot->gauges);
    mem_free(snapshot->services);
    for (size_t i = 0; i < snapshot->engine_count; i++)
        snapshot_engine_clear(&snapshot->engines[i]);
    mem_free(snapshot->engines);
    mem_free(snapshot->service_path);
    mem_free(snapshot->engine_path);
    source_world_close(&snapshot->world);
}

static inline void owned_snapshot(struct snapshot *snapshot)
{
    snapshot_clear(snapshot);
}

/* The sources in the order of the configuration, without those that no queue names. */
static int make_errands(struct snapshot *snapshot, struct error *err)
{
    const struct config *config = snapshot->config;

    snapshot->errands = mem_new_array(config->source_count, sizeof *snapshot->errands);
    for (size_t i = 0; i < config->source_count; i++) {
        struct errand *errand = &snapshot->errands[snapshot->errand_count];

        errand->queues = mem_new_array(config->queue_count, sizeof *errand->queues);
        for (size_t at = 0; at < config->queue_count; at++) {
            const struct config_queue *queue = &config->queues[at];

            if (queue->source == &config->sources[i])
                errand->queues[errand->count++] = source_queue_of(queue);
        }
        if (errand->count == 0) {
            mem_free(errand->queues);
            errand->queues = NULL;
            continue;
        }
        errand->snapshot = snapshot;
        errand->config = &config->sources[i];
        errand->settings = source_settings_of(errand->config);
        snapshot->errand_count++;
    }
    if (snapshot->errand_count == 0)
        return error_set(err, ERROR_INVALID,
                         "no queue of %s has a source: set sources.NAME and queues.NAME.source",
                         config->path);
    return 0;
}

/* The span ends before the points that may still change, by the `settle` of the slowest source. */
static int make_span(struct snapshot *snapshot, struct error *err)
{
    struct command_call *call = snapshot->call;
    int64_t settle_ms = 0;
    int64_t days = 7;
    int64_t newest_ms;
    struct wall_time to;

    for (size_t i = 0; i < snapshot->errand_count; i++)
        if (snapshot->errands[i].config->settle_ms > settle_ms)
            settle_ms = snapshot->errands[i].config->settle_ms;
    newest_ms = (loop_wall(snapshot->world.world.loop).ms - settle_ms) / STEP_MS * STEP_MS;
    to.ms = newest_ms;
    if (call_int(call, "days", (struct int_range){ 1, 455 }, &days, err) < 0)
        return -1;
    if (call_text(call, "to") && wall_parse(call_text(call, "to"), false, &to, err) < 0)
        return error_context(err, "--to");
    if (to.ms % STEP_MS != 0 || to.ms < days * DAY_MS)
        return error_set(err, ERROR_INVALID, "--to: expected a whole minute after 1970");
    if (to.ms > newest_ms) {
        char newest[WALL_TEXT_SIZE];

        wall_format((struct wall_time){ newest_ms }, newest);
        return error_set(err, ERROR_INVALID,
                         "--to: points after %s may still change; ask for less, or set "
                         "sources.NAME.settle",
                         newest);
    }
    snapshot->span = (struct source_span){ { to.ms - days * DAY_MS }, to, STEP_MS };
    return 0;
}

static void count_answer(struct snapshot *snapshot, const struct error *err)
{
    snapshot->pending--;
    if (err && snapshot->err.kind == ERROR_NONE)
        snapshot->err = *err;
    if (err || snapshot->pending == 0)
        loop_stop(snapshot->world.world.loop);
}

static void on_demand(void *context, struct demand *demand, const struct error *err)
{
    struct errand *errand = context;

    errand->demand = demand;
    count_answer(errand->snapshot, err);
}

/* A histogram without usable times is listed; an outage ends the snapshot. */
static void on_measured(void *context, struct service_shape *shape, const struct error *err)
{
    struct gauge *gauge = context;
    bool is_listed = err && err->kind == ERROR_INVALID;

    gauge->service->shape = shape;
    if (err)
        gauge->service->why = *err;
    count_answer(gauge->snapshot, is_listed ? NULL : err);
}

/* What the queues of a source call their service times. */
static int measure(struct snapshot *snapshot, struct source *source,
                   const struct config_source *config, struct error *err)
{
    for (size_t i = 0; i < snapshot->config->queue_count; i++) {
        const struct config_queue *queue = &snapshot->config->queues[i];
        const struct source_histogram histogram = {
            .name = queue->service_histogram,
            .span = snapshot->span,
            .max_s = (double)queue->service_max_ms / SECOND_MS,
        };
        size_t at = snapshot->service_count;

        if (queue->source != config || !queue->service_histogram)
            continue;
        snapshot->services[at].queue = queue;
        snapshot->gauges[at] = (struct gauge){ snapshot, &snapshot->services[at] };
        snapshot->service_count++;
        if (source_measure(source, &histogram, on_measured, &snapshot->gauges[at], err) < 0)
            return error_context(err, "queue %s", queue->name);
        snapshot->pending++;
    }
    return 0;
}

static void on_engine(void *context, const struct error *err)
{
    count_answer(context, err);
}

/* The engines of a source's queues. */
static int measure_engines(struct snapshot *snapshot, struct source *source,
                           const struct config_source *config, struct error *err)
{
    for (size_t i = 0; i < snapshot->config->queue_count; i++) {
        const struct config_queue *queue = &snapshot->config->queues[i];
        struct snapshot_engine *engine = &snapshot->engines[snapshot->engine_count];

        if (queue->source != config || !queue->engine.metrics)
            continue;
        *engine = (struct snapshot_engine){
            .queue = queue,
            .done = on_engine,
            .context = snapshot,
        };
        snapshot->engine_count++;
        if (snapshot_engine_ask(engine, source, &snapshot->span, err) < 0)
            return -1;
        snapshot->pending++;
    }
    return 0;
}

static int fetch_all(struct snapshot *snapshot, struct error *err)
{
    size_t queues = snapshot->config->queue_count;

    snapshot->services = mem_new_array(queues, sizeof *snapshot->services);
    snapshot->gauges = mem_new_array(queues, sizeof *snapshot->gauges);
    snapshot->engines = mem_new_array(queues, sizeof *snapshot->engines);
    for (size_t i = 0; i < snapshot->errand_count; i++) {
        struct errand *errand = &snapshot->errands[i];

        errand->source = source_open(&snapshot->world.world, &errand->settings, err);

        const struct source_query query = { errand->queues, errand->count, snapshot->span };

        if (!errand->source || source_fetch(errand->source, &query, on_demand, errand, err) < 0)
            return -1;
        snapshot->pending++;
        if (measure(snapshot, errand->source, errand->config, err) < 0 ||
            measure_engines(snapshot, errand->source, errand->config, err) < 0)
            return -1;
    }
    loop_run(snapshot->world.world.loop);
    if (snapshot->err.kind == ERROR_NONE)
        return 0;
    *err = snapshot->err;
    return -1;
}

static int write_file(const struct snapshot *snapshot, const char *path, struct error *err)
{
    const struct demand **demands = mem_new_array(snapshot->errand_count, sizeof *demands);
    int result;

    for (size_t i = 0; i < snapshot->errand_count; i++)
        demands[i] = snapshot->errands[i].demand;
    result = snapshot_rows_write(demands, snapshot->errand_count, path, err);
    mem_free(demands);
    return result;
}

static json_t *wall_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return json_text(wall_format(wall, text));
}

/* [{from, to, steps}] of what is unknown. */
static json_t *missing_json(const struct demand_series *series, int64_t *ret_steps)
{
    json_t *ranges = json_array();

    *ret_steps = 0;
    for (size_t step = 0; step < series->count;) {
        size_t first = step;

        while (step < series->count && !demand_is_known(series, step))
            step++;
        if (step == first) {
            step++;
            continue;
        }
        *ret_steps += (int64_t)(step - first);
        json_array_append_new(ranges, json_make("{s:o, s:o, s:I}", "from",
                                                wall_json(demand_time(series, first)), "to",
                                                wall_json(demand_time(series, step)), "steps",
                                                (json_int_t)(step - first)));
    }
    return ranges;
}

static json_t *queue_json(const struct errand *errand, const struct demand_series *series)
{
    int64_t requests[DEMAND_CLASSES] = { 0 };
    int64_t missing = 0;
    json_t *ranges = missing_json(series, &missing);

    for (size_t step = 0; step < series->count; step++)
        for (int class = 0; class < DEMAND_CLASSES && demand_is_known(series, step); class ++)
            requests[class] += demand_at(series, (enum demand_class) class, step);
    return json_make("{s:s, s:s, s:I, s:I, s:I, s:I, s:o}", "queue", series->queue, "source",
                     errand->settings.name, "steps", (json_int_t)series->count, "steps_missing",
                     (json_int_t)missing, "requests_high", (json_int_t)requests[DEMAND_HIGH],
                     "requests_low", (json_int_t)requests[DEMAND_LOW], "missing", ranges);
}

static json_t *report(const struct snapshot *snapshot, const char *path)
{
    json_t *queues = json_array();
    int64_t missing = 0;
    size_t requests = 0;
    size_t repeats = 0;

    for (size_t i = 0; i < snapshot->errand_count; i++) {
        const struct errand *errand = &snapshot->errands[i];

        requests += source_effort(errand->source).requests;
        repeats += source_effort(errand->source).repeats;
        for (size_t at = 0; at < errand->demand->count; at++) {
            json_t *queue = queue_json(errand, &errand->demand->series[at]);

            missing += json_int_or(queue, "steps_missing", 0);
            json_array_append_new(queues, queue);
        }
    }
    return json_make("{s:s?, s:o, s:s?, s:o, s:s, s:o, s:o, s:i, s:I, s:I, s:I, s:o}",
                     "engines_file", snapshot->engine_path, "engines",
                     snapshot_engine_json(snapshot->engines, snapshot->engine_count),
                     "services_file", snapshot->service_path, "services",
                     snapshot_service_json(snapshot->services, snapshot->service_count), "file",
                     path, "from", wall_json(snapshot->span.from), "to",
                     wall_json(snapshot->span.to), "step_s", STEP_MS / SECOND_MS, "requests",
                     (json_int_t)requests, "repeats", (json_int_t)repeats, "steps_missing",
                     (json_int_t)missing, "queues", queues);
}

static void list_missing(const struct snapshot *snapshot, const json_t *root)
{
    const json_t *queues = json_object_get(root, "queues");
    int64_t shown = 0;
    int64_t all = 0;

    for (size_t i = 0; i < json_array_size(queues); i++) {
        const json_t *queue = json_array_get(queues, i);
        const json_t *ranges = json_object_get(queue, "missing");

        for (size_t at = 0; at < json_array_size(ranges); at++) {
            const json_t *range = json_array_get(ranges, at);

            if (all++ >= RANGES_SHOWN)
                continue;
            shown++;
            fprintf(stderr, "missing: %s from %s to %s, %" PRId64 " minutes\n",
                    json_text_or(queue, "queue", ""), json_text_or(range, "from", ""),
                    json_text_or(range, "to", ""), json_int_or(range, "steps", 0));
        }
    }
    if (all > shown)
        fprintf(stderr, "missing: %" PRId64 " more such times; -o json lists them all\n",
                all - shown);
    for (size_t i = 0; i < snapshot->errand_count && all > 0; i++)
        if (text_equal(snapshot->errands[i].settings.kind, "cloudwatch") &&
            !snapshot->errands[i].settings.missing_zero)
            fprintf(stderr,
                    "note: CloudWatch may leave out minutes without a message; with `missing: "
                    "zero`,\nsource %s counts those of an hour that has points as 0\n",
                    snapshot->errands[i].settings.name);
}

static int finish(const struct snapshot *snapshot, const char *path)
{
    owned(json) json_t *root = report(snapshot, path);
    int64_t missing = json_int_or(root, "steps_missing", 0);
    const json_t *queues = json_object_get(root, "queues");

    if (client_wants_json(snapshot->call)) {
        client_print_json(snapshot->call, root);
    } else {
        printf("wrote %s: %zu queues from %s to %s (asked in %" PRId64 " requests)\n", path,
               json_array_size(queues), json_text_or(root, "from", ""),
               json_text_or(root, "to", ""), json_int_or(root, "requests", 0));
        if (snapshot->service_path)
            printf("wrote %s: service times\n", snapshot->service_path);
        if (snapshot->engine_path)
            printf("wrote %s: engines\n", snapshot->engine_path);
    }
    list_missing(snapshot, root);
    missing += (int64_t)snapshot_service_missing(snapshot->services, snapshot->service_count);
    missing += (int64_t)snapshot_engine_missing(snapshot->engines, snapshot->engine_count);
    return missing > 0 ? EXIT_DIFFERENT : EXIT_DONE;
}

static int take(struct command_call *call)
{
    int code = EXIT_DONE;
    owned(config) struct config *config = client_config(call, &code);
    owned(snapshot) struct snapshot snapshot = { .call = call, .config = config };
    const char *path = call_text(call, "out");
    struct error err = { 0 };

    if (!config)
        return code;
    if (!path)
        return call_usage_error(call, "--out is required");
    if (config_check_files(config, NULL, NULL, &err) < 0 ||
        source_world_open(&snapshot.world, &err) < 0 || make_errands(&snapshot, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    if (make_span(&snapshot, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (fetch_all(&snapshot, &err) < 0 || write_file(&snapshot, path, &err) < 0 ||
        snapshot_service_write(snapshot.services, snapshot.service_count, path,
                               &snapshot.service_path, &err) < 0 ||
        snapshot_engine_write(snapshot.engines, snapshot.engine_count, path, &snapshot.engine_path,
                              &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    return finish(&snapshot, path);
}

int cmd_snapshot(struct command_call *call)
{
    return client_hide(call, take);
}
