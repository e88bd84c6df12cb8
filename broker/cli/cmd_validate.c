/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice validate: is what people wrote correct, and do schedules and configuration agree?  It
 * reports every file's first mistake, not only the first file's.
 */
#include "base/array.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "base/world/loop.h"
#include "base/world/world.h"
#include "broker/api/doors.h"
#include "broker/config/config.h"
#include "broker/doctor/examination.h"
#include "broker/fleet/fleet.h"
#include "broker/planning/forecast_check.h"
#include "broker/planning/schedule_check.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/webhooks/signature.h"
#include "windows/allocation/schedule.h"

#include <stdio.h>
#include <string.h>

const struct command_option validate_options[] = {
    { "offline", 0, NULL, "read no kubeconfig and no credentials, for machines that have none",
      false },
    { "live", 0, NULL, "also ask clusters, clouds and sources, five seconds at most", false },
    { 0 },
};

enum { LIVE_MS = 5 * SECOND_MS, BLANKS_LIMIT = 16 << 20 };

struct validation {
    const struct config *config; /* NULL: schedules are checked for themselves */
    const char *path;            /* of the configuration that is looked at */
    json_t *files;
    json_t *warnings;
    json_t *findings; /* of --live */
    bool is_offline;
    bool is_live;
    bool is_valid;
};

static void add_result(struct validation *validation, const char *path, const char *kind,
                       const struct error *err)
{
    bool is_valid = err->kind == ERROR_NONE;

    validation->is_valid = validation->is_valid && is_valid;
    json_array_append_new(validation->files,
                          json_make("{s:s, s:s, s:b, s:o}", "path", path, "kind", kind, "is_valid",
                                    is_valid, "error",
                                    is_valid ? json_null() : json_text(err->text)));
}

static void validate_schedule(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(schedule) struct schedule *schedule = schedule_read(path, &err);

    if (schedule && validation->config)
        (void)!schedule_check(validation->config, schedule, path, NULL, &err);
    add_result(validation, path, "schedule", &err);
}

static void add_warning(void *context, const char *path, const char *text)
{
    struct validation *validation = context;

    json_array_append_new(validation->warnings, json_make("{ss ss}", "path", path, "text", text));
}

/* An event that has ended needs no schedule; without a clock all need one. */
static struct wall_time wall_now(void)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);

    return loop ? loop_wall(loop) : (struct wall_time){ 0 };
}

/* The status of the service would say so, too, but only after `sluice apply`. */
static void warn_of_age(struct validation *validation, const struct forecast_file *file,
                        const char *path)
{
    const struct forecast_file_window *first = forecast_file_first(file);
    char until[WALL_TEXT_SIZE];
    owned(chars) char *told = NULL;

    if (!first || first->until.ms >= wall_now().ms)
        return;
    told = text_format("%s: these schedules were to be planned again by %s; `sluice allocate` does "
                       "it, with newer demand",
                       path, wall_format(first->until, until));
    add_warning(validation, path, told);
}

static void validate_forecast(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(forecast_file) struct forecast_file *file = forecast_file_read(path, &err);

    if (file && validation->config)
        (void)!forecast_check(validation->config, file, path, &err);
    if (file)
        warn_of_age(validation, file, path);
    add_result(validation, path, "forecast", &err);
}

static void add_found(void *context, const char *kind, const char *path, const struct error *err)
{
    add_result(context, path, kind, err);
}

/* The access errors that `serve` would find before it sends anything, for all clusters and
   providers. */
static void validate_access(struct validation *validation, const struct config *config)
{
    struct error err = { 0 };
    struct random random;
    struct world world = { .random = &random, .loop = loop_libevent_new(&err) };

    random_seed(&random, 1);
    world.http = world.loop ? http_curl_new(world.loop, NULL, &err) : NULL;
    if (world.http) {
        world.ssh = ssh_new(world.loop);
        fleet_check(&world, config, add_found, validation);
    } else {
        add_result(validation, config->path, "config", &err);
    }
    http_free(world.http);
    ssh_free(world.ssh);
    loop_free(world.loop);
}

static void add_closed(void *context, const char *part, const struct error *err)
{
    struct validation *validation = context;
    owned(chars) char *text = text_format(
        "%s (the service would start without `%s`, and try again)", err->text, part);

    add_warning(validation, validation->path, text);
}

/* What of `listen`, `access` and `tokens` this machine does not have.  The service's machine may
   have it, so it is no mistake. */
static void warn_of_doors(struct validation *validation, const struct config *config)
{
    owned(doors) struct doors *doors = doors_new(config);

    doors_tell(doors, add_closed, validation);
}

/* As with doors: the service would start, and try again. */
static void warn_of_webhooks(struct validation *validation, const struct config *config)
{
    for (size_t i = 0; i < config->webhook_count; i++) {
        owned(webhook_access) struct webhook_access access = { 0 };
        struct error err = { 0 };
        owned(chars) char *text = NULL;

        if (webhook_access_read(&config->webhooks[i], &access, &err) == 0)
            continue;
        text = text_format("%s (the service would start, and send nothing to webhook %s until this "
                           "is mended)",
                           err.text, config->webhooks[i].name);
        add_warning(validation, validation->path, text);
    }
}

/* What `sluice init` left to be written. */
static void warn_of_blanks(struct validation *validation, const struct config *config)
{
    owned(text) struct text *text = file_read(config->path, BLANKS_LIMIT, NULL);
    size_t count = 0;

    for (const char *at = text ? text->chars : ""; *at; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        owned(chars) char *line = text_format("%.*s", (int)strcspn(at, "#\n"), at);

        count += strstr(line, "REPLACE-") || strstr(line, "replace-queue") ||
                 strstr(line, "replace-workload");
        at += length;
    }
    if (count == 0)
        return;

    owned(chars) char *told = text_format(
        "%s: %zu %s words of `sluice init`: REPLACE-... or replace-...", config->path, count,
        count == 1 ? "line still has" : "lines still have");

    add_warning(validation, config->path, told);
}

/* These are no mistakes, but no plan can be made from the file alone. */
static void warn_of_lengths(struct validation *validation, const struct config *config)
{
    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        char alone[DURATION_TEXT_SIZE];

        if (!config_engine_lacks_lengths(queue))
            continue;

        owned(chars) char *text = text_format(
            "queue %s: its engine tells no lengths: plans need a demand with columns input_tokens "
            "and output_tokens for it, or what sluice snapshot measured; its targets were held "
            "against an iteration of %s alone",
            queue->name, seconds_format(config_engine_alone_s(queue), alone));

        add_warning(validation, config->path, text);
    }
}

/* As sluice doctor, without its patience. */
static void validate_live(struct validation *validation, const struct config *config)
{
    struct error err = { 0 };
    int wrong = examine(config, LIVE_MS, validation->findings, &err);

    if (wrong < 0)
        add_result(validation, config->path, "config", &err);
    validation->is_valid = validation->is_valid && wrong == 0;
}

static struct config *validate_config(struct validation *validation, const char *path)
{
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);

    require(config || err.kind != ERROR_NONE);
    if (config)
        (void)!config_check_files(config, add_warning, validation, &err);
    if (config) {
        warn_of_lengths(validation, config);
        warn_of_blanks(validation, config);
    }
    add_result(validation, path, "config", &err);
    validation->path = path;
    if (config && !validation->is_offline) {
        validate_access(validation, config);
        warn_of_doors(validation, config);
        warn_of_webhooks(validation, config);
    }
    if (config && validation->is_live)
        validate_live(validation, config);
    return steal(&config);
}

static bool is_config(const char *path)
{
    owned(yaml_document) struct yaml_document *document = yaml_read(path, NULL);

    return document && yaml_root(document)->kind == YAML_MAPPING &&
           yaml_get(yaml_root(document), "clusters");
}

static bool is_forecast(const char *path)
{
    const char *slash = strrchr(path, '/');

    return text_equal(slash ? slash + 1 : path, FORECAST_FILE_NAME);
}

static char *schedule_path(const struct config *config, size_t window)
{
    return text_format("%s/%s.yaml", config->schedules, config->windows->items[window].name);
}

/* A new configuration has no schedules; when one window has a schedule, all must. */
static bool has_schedules(const struct config *config)
{
    for (size_t i = 0; i < config->windows->count; i++) {
        owned(chars) char *file = schedule_path(config, i);

        if (file_exists(file))
            return true;
    }
    return false;
}

/* The service takes no schedule of an unknown window. */
static void validate_strays(struct validation *validation, const struct config *config)
{
    struct file_list list;
    struct error err = { 0 };

    if (file_list(config->schedules, ".yaml", &list, &err) < 0) {
        add_result(validation, config->schedules, "schedule", &err);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        size_t length = strlen(list.names[i]) - strlen(".yaml");
        owned(chars) char *window = text_format("%.*s", (int)length, list.names[i]);
        owned(chars) char *path = text_format("%s/%s", config->schedules, list.names[i]);

        if (window_find(config->windows, window))
            continue;
        (void)window_refuse(config->windows, window, &err);
        error_context(&err, "%s", path);
        add_result(validation, path, "schedule", &err);
    }
    file_list_free(&list);
}

static void validate_all(struct validation *validation, const char *path)
{
    owned(config) struct config *config = validate_config(validation, path);

    if (!config)
        return;
    if (!has_schedules(config)) {
        fprintf(stderr, "%s: no schedules yet; `sluice allocate` writes them\n", config->schedules);
        return;
    }
    validation->config = config;

    struct wall_time now = wall_now();

    for (size_t i = 0; i < config->windows->count; i++) {
        owned(chars) char *file = schedule_path(config, i);

        if (file_exists(file) || !window_is_over(&config->windows->items[i], now))
            validate_schedule(validation, file);
    }
    validate_strays(validation, config);

    owned(chars) char *forecast = text_format("%s/" FORECAST_FILE_NAME, config->schedules);

    if (file_exists(forecast))
        validate_forecast(validation, forecast);
    validation->config = NULL;
}

static void print_findings(const json_t *findings)
{
    const json_t *row;
    size_t i;

    json_array_foreach(findings, i, row) {
        if (!text_equal(json_text_or(row, "verdict", ""), "right"))
            fprintf(stderr, "%s: %s %s: %s: %s; %s\n", json_text_or(row, "verdict", ""),
                    json_text_or(row, "part", ""), json_text_or(row, "name", ""),
                    json_text_or(row, "subject", ""), json_text_or(row, "text", ""),
                    json_text_or(row, "remedy", ""));
    }
}

static int print_result(struct command_call *call, const struct validation *validation)
{
    if (client_wants_json(call)) {
        owned(json)
            json_t *root = json_make("{s:b, s:O, s:O}", "is_valid", validation->is_valid, "files",
                                     validation->files, "warnings", validation->warnings);

        if (validation->is_live)
            json_object_set(root, "findings", validation->findings);
        client_print_json(call, root);
    } else {
        for (size_t i = 0; i < json_array_size(validation->files); i++) {
            const json_t *file = json_array_get(validation->files, i);

            if (json_bool_or(file, "is_valid", false))
                printf("%s: good\n", json_text_or(file, "path", ""));
            else
                fprintf(stderr, "%s\n", json_text_or(file, "error", ""));
        }
        for (size_t i = 0; i < json_array_size(validation->warnings); i++)
            fprintf(stderr, "warning: %s\n",
                    json_text_or(json_array_get(validation->warnings, i), "text", ""));
        print_findings(validation->findings);
    }
    return validation->is_valid ? EXIT_DONE : EXIT_ERROR;
}

static int validate(struct command_call *call)
{
    owned(json) json_t *files = json_array();
    owned(json) json_t *warnings = json_array();
    owned(json) json_t *findings = json_array();
    struct validation validation = { .files = files,
                                     .warnings = warnings,
                                     .findings = findings,
                                     .is_offline = call_flag(call, "offline"),
                                     .is_live = call_flag(call, "live"),
                                     .is_valid = true };
    struct error err = { 0 };
    owned(chars) char *path = config_find(call_text(call, "config"), &err);

    if (call_argument_count(call) == 0) {
        if (!path)
            return call_fail(call, EXIT_ERROR, &err);
        validate_all(&validation, path);
        return print_result(call, &validation);
    }

    /* A missing or invalid configuration is an error only of commands that need it. */
    owned(config) struct config *config = path ? config_read(path, NULL) : NULL;

    validation.config = config;
    for (size_t i = 0; i < call_argument_count(call); i++) {
        const char *file = call_argument(call, i);

        if (is_config(file))
            config_free(validate_config(&validation, file));
        else if (is_forecast(file))
            validate_forecast(&validation, file);
        else
            validate_schedule(&validation, file);
    }
    return print_result(call, &validation);
}

int cmd_validate(struct command_call *call)
{
    return client_hide(call, validate);
}
