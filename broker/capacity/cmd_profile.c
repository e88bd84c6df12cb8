/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice profile: asks Prometheus what an engine counted, and makes the `engine:` block of a queue
 * of it.  It writes nothing.
 */
#include "base/input/json.h"
#include "broker/capacity/profile_report.h"
#include "broker/sizing/source_world.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STEP_MS = 15 * SECOND_MS, SLOTS_MOST = 4096 };

const struct command_option profile_options[] = {
    { "engine", 0, "vllm|sglang|tgi|dynamo",
      "the kind of engine; it decides the names of the metrics (default: the queue's)", false },
    { "prometheus", 0, "URL", "the Prometheus server (default: the queue's source)", false },
    { "selector", 0, "MATCHERS", "labels of the engine's series (default: the queue's)", false },
    { "since", 0, "DURATION", "how far back from the end (default 1d)", false },
    { "to", 0, "TIME", "the end (RFC 3339; default: now)", false },
    { "slots", 0, "N", "requests that run at once: the engine's own option --max-num-seqs", false },
    { 0 },
};

struct profile {
    struct command_call *call;
    struct config *config; /* NULL: without */
    struct profile_ask ask;
    char *selector;              /* of the queue */
    struct source_settings from; /* name NULL: none is known yet */
    struct source_world world;
    struct engine_scrapes *scrapes;
    struct error err;
};

static void profile_clear(struct profile *profile)
{
    engine_scrapes_free(profile->scrapes);
    source_world_close(&profile->world);
    mem_free(profile->selector);
    config_free(profile->config);
}

static inline void owned_profile(struct profile *profile)
{
    profile_clear(profile);
}

/* Engine and labels, out of a metric that is the engine's own. */
static bool take_metric(struct profile *profile, const char *metric)
{
    const struct engine_kind *kind = metric ? engine_kind_of(metric) : NULL;
    const char *labels = metric ? strchr(metric, '{') : NULL;
    size_t length = labels ? strlen(labels) : 0;

    if (!kind || (length > 0 && labels[length - 1] != '}'))
        return false;
    profile->ask.kind = kind;
    profile->selector = engine_matchers(labels ?: "");
    return true;
}

static int take_queue(struct profile *profile, const char *name, struct error *err)
{
    const struct config_queue *queue = NULL;

    for (size_t i = 0; i < profile->config->queue_count; i++)
        if (text_equal(profile->config->queues[i].name, name))
            queue = &profile->config->queues[i];
    if (!queue)
        return error_set(err, ERROR_NOT_FOUND, "%s: no queue %s", profile->config->path, name);
    if (queue->source)
        profile->from = source_settings_of(queue->source);
    if (queue->engine.metrics)
        return engine_metrics_parse(queue->engine.metrics, &profile->ask.kind, &profile->selector,
                                    err);
    if (!take_metric(profile, queue->service_histogram))
        take_metric(profile, queue->arrivals);
    return 0;
}

static int read_time(struct profile *profile, struct error *err)
{
    struct wall_time now = loop_wall(profile->world.world.loop);
    int64_t since_ms = DAY_MS;

    profile->ask.to.ms = now.ms / STEP_MS * STEP_MS;
    if (call_duration(profile->call, "since", &since_ms, err) < 0)
        return -1;
    if (call_text(profile->call, "to") &&
        wall_parse(call_text(profile->call, "to"), false, &profile->ask.to, err) < 0)
        return error_context(err, "--to");
    if (profile->ask.to.ms > now.ms)
        return error_set(err, ERROR_INVALID, "--to: is in the future");
    if (since_ms < 10 * MINUTE_MS || since_ms > 31 * (int64_t)DAY_MS)
        return error_set(err, ERROR_INVALID, "--since: expected 10m to 31d");
    profile->ask.to.ms = profile->ask.to.ms / STEP_MS * STEP_MS;
    profile->ask.from.ms = profile->ask.to.ms - since_ms / STEP_MS * STEP_MS;
    return 0;
}

static int read_options(struct profile *profile, struct error *err)
{
    struct command_call *call = profile->call;
    const char *name = call_text(call, "engine");
    const char *url = call_text(call, "prometheus");

    if (name)
        profile->ask.kind = engine_kind_find(name);
    if (!profile->ask.kind)
        return error_set(
            err, ERROR_INVALID,
            "--engine is required (%s): what the queue names is no engine's own metric",
            engine_kind_names());
    if (call_text(call, "selector")) {
        mem_free(profile->selector);
        profile->selector = engine_matchers(call_text(call, "selector"));
    }
    profile->ask.selector = profile->selector ?: "";
    if (url) {
        profile->from =
            (struct source_settings){ .name = url, .kind = "prometheus", .endpoint = url };
    }
    if (!profile->from.name)
        return error_set(err, ERROR_INVALID,
                         "--prometheus is required: the queue has no source to ask");
    profile->ask.source = profile->from.name;
    return call_int(call, "slots", (struct int_range){ 1, SLOTS_MOST }, &profile->ask.slots, err);
}

static void on_scrapes(void *context, struct engine_scrapes *scrapes, const struct error *err)
{
    struct profile *profile = context;

    profile->scrapes = scrapes;
    if (err)
        profile->err = *err;
    loop_stop(profile->world.world.loop);
}

static int ask_source(struct profile *profile, struct error *err)
{
    struct engine_question_set set = {
        .kind = profile->ask.kind,
        .selector = profile->ask.selector,
    };
    owned(source) struct source *source = source_open(&profile->world.world, &profile->from, err);

    engine_question_set_span(&set, profile->ask.from, profile->ask.to);
    if (!source || engine_scrapes_ask(source, &set, on_scrapes, profile, err) < 0)
        return -1;
    loop_run(profile->world.world.loop);
    if (profile->scrapes)
        return 0;
    *err = profile->err;
    return -1;
}

static int show(const struct profile *profile)
{
    struct profile_report report;
    owned(text) struct text *yaml = text_new(TEXT_UNBOUNDED);

    profile_report_make(&report, &profile->ask, profile->scrapes);
    profile_report_yaml(&report, yaml);
    if (client_wants_json(profile->call)) {
        owned(json) json_t *root = profile_report_json(&report);

        client_print_json(profile->call, root);
    } else {
        printf("%s", yaml->chars);
    }
    if (!report.has_law)
        return call_fail(profile->call, EXIT_ERROR, &report.why);
    return report.is_whole ? EXIT_DONE : EXIT_DIFFERENT;
}

static int run(struct command_call *call)
{
    owned(profile) struct profile profile = { .call = call };
    const char *queue = call_argument(call, 0);
    struct error err = { 0 };
    int code = EXIT_DONE;

    if (queue) {
        profile.config = client_config(call, &code);
        if (!profile.config)
            return code;
        if (config_check_files(profile.config, NULL, NULL, &err) < 0 ||
            take_queue(&profile, queue, &err) < 0)
            return call_fail(call, EXIT_ERROR, &err);
    }
    if (read_options(&profile, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (source_world_open(&profile.world, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    if (read_time(&profile, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (ask_source(&profile, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    return show(&profile);
}

int cmd_profile(struct command_call *call)
{
    return client_hide(call, run);
}
