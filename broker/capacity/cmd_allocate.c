/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice allocate: demand and configuration in, one schedule file a window out.  The same input
 * gives the same bytes, whatever the number of threads.  Either all files change or none.  After a
 * crash between their renames, the next run reports that only some were replaced.
 */
#include "base/file.h"
#include "base/file_set.h"
#include "base/input/json.h"
#include "base/meter.h"
#include "broker/capacity/allocate_inputs.h"
#include "broker/capacity/allocate_print.h"
#include "broker/capacity/allocate_shard.h"
#include "broker/sizing/allocate_forecast.h"
#include "broker/sizing/forecast_record.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SCHEDULE_LIMIT = 1 << 20, HEADER_LIMIT = 1 << 16 };

const struct command_option allocate_options[] = {
    ALLOCATE_INPUT_OPTIONS,
    { "window", 0, "WINDOW", "this window only", false },
    { "saturate", 0, NULL, "give the remaining nodes to the queues nearest to their targets",
      false },
    { "estimate", 0, NULL,
      "closed form only: quick, good to a few per cent, not confirmed by a replay", false },
    { "forecast", 0, NULL, "plan for next week's upper bound (sluice forecast), not for last week",
      false },
    { "attainment", 0, "P",
      "with --forecast: per cent of days that meet the target, over all queues and windows "
      "together; at most 99",
      false },
    FORECASTS_OPTIONS,
    { "again", 0, NULL, "with --follow: plan the rest of the window that is in force", false },
    { "waiting", 0, "QUEUE=NUMBER",
      "with --follow: requests that wait already; replicas are added that serve them in an hour",
      true },
    { "out", 0, "DIR", "folder of the schedules, instead of the configuration's", false },
    { "shard", 0, "I/N", "search only part I of N, and write the results to a file in --out",
      false },
    { "merge", 0, "DIR", "make the whole plan from the shards in this folder", false },
    { "check", 0, NULL, "write nothing; exit with 2 when a file would change", false },
    { 0 },
};

struct put { /* of schedules */
    json_t *changed;
    struct file_set files;
    const struct text *header; /* that all of them begin with */
    bool is_check;
};

struct allocate_command {
    struct command_call *call;
    struct allocate_inputs inputs;
    struct shard shard; /* parts 0: not asked for */
    const struct allocate_plan *plan;
};

static int read_attainment(struct allocate_command *command, struct error *err)
{
    double attainment = 0;

    if (call_double(command->call, "attainment", (struct double_range){ 50, 99 }, &attainment,
                    err) < 0)
        return -1;
    if (attainment > 0 && !call_flag(command->call, "forecast"))
        return error_set(err, ERROR_INVALID, "--attainment is of a plan by --forecast: give both");
    command->inputs.forecast.attainment = attainment / 100;
    return 0;
}

static int read_options(struct allocate_command *command, struct error *err)
{
    struct command_call *call = command->call;

    if (allocate_inputs_options(&command->inputs, call, err) < 0)
        return -1;
    if (call_flag(call, "check") && call_text(call, "out"))
        return error_set(err, ERROR_INVALID,
                         "--check compares with the configuration's folder; "
                         "--out is something else");
    if (call_text(call, "shard") && !shard_parse(call_text(call, "shard"), &command->shard))
        return error_set(err, ERROR_INVALID, "--shard: \"%s\" is no part: write it like 3/8",
                         call_text(call, "shard"));
    if (command->shard.parts > 0 && (!call_text(call, "out") || call_text(call, "merge")))
        return error_set(err, ERROR_INVALID, "--shard needs --out, and goes before --merge");
    if (call_flag(call, "forecast") && command->inputs.options.rates.list.count > 0)
        return error_set(err, ERROR_INVALID,
                         "--rate says what arrives, and so does --forecast: give one of them");
    command->inputs.is_forecast = call_flag(call, "forecast");
    if (forecasts_options_read(&command->inputs.forecast, call, err) < 0 ||
        read_attainment(command, err) < 0)
        return -1;
    command->inputs.options.window = call_text(call, "window");
    if (command->inputs.forecast.follow_ms > 0 &&
        (!command->inputs.is_forecast || !command->inputs.options.window))
        return error_set(err, ERROR_INVALID,
                         "--follow plans one window by its forecast: give --forecast and --window");
    command->inputs.is_again = call_flag(call, "again");
    if (command->inputs.is_again && command->inputs.forecast.follow_ms == 0)
        return error_set(err, ERROR_INVALID,
                         "--again plans the rest of a window by what its last hours brought: "
                         "give --follow, too");
    if (allocate_inputs_waiting(&command->inputs, err) < 0)
        return -1;
    if (command->inputs.options.waiting.list.count > 0 && command->inputs.forecast.follow_ms == 0)
        return error_set(err, ERROR_INVALID,
                         "--waiting is of a plan for the next hours: give --follow, too");
    command->inputs.options.is_saturated = call_flag(call, "saturate");
    command->inputs.options.is_estimate = call_flag(call, "estimate");
    return 0;
}

/* Whether the file holds exactly these bytes. */
static bool is_same(const char *path, const struct text *want)
{
    owned(text) struct text *found = file_read(path, SCHEDULE_LIMIT, NULL);

    return found && found->length == want->length &&
           memcmp(found->chars, want->chars, want->length) == 0;
}

/* Prepares a file where it changes. */
static int put_bytes(const char *path, const struct text *bytes, struct put *put, struct error *err)
{
    if (is_same(path, bytes))
        return 0;
    json_array_append_new(put->changed, json_text(path));
    return put->is_check ? 0 : file_set_add(&put->files, path, bytes->chars, bytes->length, err);
}

/* The file of the windows that are not planned now; NULL: there is none. */
static struct forecast_file *read_before(const struct allocate_command *command, const char *path)
{
    struct forecast_file *file;
    struct error err = { 0 };

    if (!command->inputs.options.window || !file_exists(path))
        return NULL;
    file = forecast_file_read(path, &err);
    if (!file)
        fprintf(stderr, "note: it is replaced, without its other windows: %s\n", err.text);
    return file;
}

/* What the windows were planned for, beside their files.  Too long a one is left out: it must not
   keep a plan from being written, and an old one would be of another plan. */
static int put_forecast(const struct allocate_command *command, const char *folder, struct put *put,
                        struct error *err)
{
    const struct allocate_inputs *inputs = &command->inputs;
    owned(chars) char *path = text_format("%s/" FORECAST_FILE_NAME, folder);
    owned(forecast_file) struct forecast_file *before = read_before(command, path);
    const struct forecast_record record = { inputs->model, command->plan, inputs->forecasts,
                                            &inputs->forecast, before };
    owned(forecast_file) struct forecast_file *file = forecast_record_make(&record);
    owned(text) struct text *bytes = text_new(FORECAST_FILE_LIMIT);

    forecast_file_print(file, bytes);
    if (bytes->is_cut) {
        owned(forecast_file) struct forecast_file *none = forecast_file_new();

        fprintf(stderr, "note: %s would be longer than %d bytes: it is written without windows\n",
                path, FORECAST_FILE_LIMIT);
        text_reset(bytes);
        forecast_file_print(none, bytes);
    }
    return put_bytes(path, bytes, put, err);
}

/* Prepares one window's file where it changes. */
static int put_file(const struct allocate_command *command, size_t window, const char *path,
                    struct put *put, struct error *err)
{
    owned(text) struct text *bytes = text_new(SCHEDULE_LIMIT);
    owned(text) struct text *head = text_new(HEADER_LIMIT);

    text_add(head, "%s", put->header->chars);
    if (command->inputs.forecasts)
        allocate_forecast_header(command->inputs.forecasts, command->inputs.model, window, head);
    schedule_print(command->plan->schedules[window], head->chars, bytes);
    if (bytes->is_cut)
        return error_set(err, ERROR_INVALID, "%s: the schedule is too long", path);
    return put_bytes(path, bytes, put, err);
}

/* Writes (or with --check compares) every window's file, all or none; lists those that change. */
static int put_files(const struct allocate_command *command, struct put *put, struct error *err)
{
    const struct window_set *windows = command->inputs.config->windows;
    const char *folder = call_text_or(command->call, "out", command->inputs.config->schedules);
    owned(text) struct text *header = text_new(HEADER_LIMIT);

    if (command->inputs.forecasts &&
        allocate_forecast_check(command->inputs.forecasts, command->inputs.model, command->plan,
                                folder, err) < 0)
        return -1;
    if (allocate_inputs_header(&command->inputs, header, err) < 0 ||
        (!put->is_check && file_make_folder(folder, 0777, err) < 0))
        return -1;
    put->header = header;
    for (size_t i = 0; i < windows->count; i++) {
        owned(chars) char *path = text_format("%s/%s.yaml", folder, windows->items[i].name);

        if (file_set_is_cut_short(path, !put->is_check))
            fprintf(stderr, "note: an allocate before this one was cut short: %s was not written\n",
                    path);
        if (command->plan->schedules[i] && put_file(command, i, path, put, err) < 0)
            return -1;
    }
    if (put_forecast(command, folder, put, err) < 0)
        return -1;
    return file_set_place(&put->files, err);
}

/* An attainment was asked for, and some window to plan has no forecast. */
static bool is_short(const struct allocate_command *command)
{
    return command->inputs.forecast.attainment > 0 && command->inputs.forecasts &&
           allocate_forecast_is_short(command->inputs.forecasts, command->inputs.model);
}

static int finish(struct allocate_command *command, const struct allocate_model *model)
{
    json_t *changed = json_array();
    bool is_json = client_wants_json(command->call);
    bool is_check = call_flag(command->call, "check");
    struct error err = { 0 };

    struct put put = { .changed = changed, .is_check = is_check };

    if (command->plan->is_feasible && put_files(command, &put, &err) < 0) {
        file_set_clear(&put.files);
        json_decref(changed);
        return call_fail(command->call, err.kind == ERROR_DENIED ? EXIT_REFUSED : EXIT_ERROR, &err);
    }

    size_t count = json_array_size(changed);

    if (!is_json) {
        allocate_print_table(model, command->plan);
        if (command->inputs.forecasts)
            allocate_forecast_print(command->inputs.forecasts, model);
        for (size_t i = 0; i < count; i++)
            printf("%s %s\n", is_check ? "would change:" : "wrote",
                   json_string_value(json_array_get(changed, i)));
        json_decref(changed);
    } else {
        owned(json) json_t *root = allocate_json(
            model, command->plan, changed,
            command->inputs.forecasts ? allocate_forecast_json(command->inputs.forecasts, model,
                                                               &command->inputs.forecast)
                                      : json_null(),
            demand_input_json(command->inputs.demand, &command->inputs.demand_options));

        client_print_json(command->call, root);
    }
    if (!command->plan->is_feasible) {
        owned(text) struct text *miss = text_new(ERROR_TEXT_SIZE);

        allocate_worst_miss(model, command->plan, miss);
        error_set(&err, ERROR_NO_CAPACITY, "%s; nothing was written", miss->chars);
        return call_fail(command->call, EXIT_INFEASIBLE, &err);
    }
    return (is_check && count > 0) || is_short(command) ? EXIT_DIFFERENT : EXIT_DONE;
}

/* On a terminal, the progress is shown meanwhile. */
static int search(struct allocate_command *command, struct allocate_plan *plan, size_t part,
                  size_t parts, struct error *err)
{
    struct allocate_model model = *command->inputs.model;
    owned(meter) struct meter *meter = meter_new(client_wants_json(command->call) ? -1
                                                                                  : STDERR_FILENO);

    model.report = (struct progress_report){ meter_show, meter };
    return allocate_search(&model, plan, part, parts, err);
}

static int write_shard(struct allocate_command *command)
{
    struct command_call *call = command->call;
    const struct allocate_model *model = command->inputs.model;
    owned(allocate_plan) struct allocate_plan *plan = allocate_plan_new(model);
    owned(chars) char *path = NULL;
    struct error err = { 0 };
    size_t cells = 0;

    if (search(command, plan, command->shard.part, command->shard.parts, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    path = shard_write(&command->inputs, plan, command->shard, call_text(call, "out"), &err);
    if (!path)
        return call_fail(call, EXIT_ERROR, &err);
    for (size_t i = 0; i < plan->window_count * plan->queue_count; i++)
        cells += plan->cells[i].is_known;
    if (client_wants_json(call)) {
        owned(json) json_t *root = json_make("{s:s, s:i, s:i, s:i}", "file", path, "shard",
                                             (int)command->shard.part + 1, "shards",
                                             (int)command->shard.parts, "cells", (int)cells);
        client_print_json(call, root);
    } else {
        printf("wrote %s: %zu of %zu queues in windows\n", path, cells,
               plan->window_count * plan->queue_count);
    }
    return EXIT_DONE;
}

static int run(struct allocate_command *command)
{
    struct command_call *call = command->call;
    const char *merge = call_text(call, "merge");
    struct error err = { 0 };

    if (read_options(command, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (allocate_inputs_read(&command->inputs, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    if (command->shard.parts > 0)
        return write_shard(command);

    const struct allocate_model *model = command->inputs.model;
    owned(allocate_plan) struct allocate_plan *plan = allocate_plan_new(model);
    int result = merge ? shard_merge(&command->inputs, plan, merge, &err)
                       : search(command, plan, 0, 1, &err);

    if (result < 0 || allocate_fill(model, plan, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);
    command->plan = plan;
    return finish(command, model);
}

int cmd_allocate(struct command_call *call)
{
    struct allocate_command command = { .call = call };
    int code = run(&command);

    allocate_inputs_clear(&command.inputs);
    return code;
}
