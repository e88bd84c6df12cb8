/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice allocate: demand and configuration in, one schedule file a window out.  The same input
 * gives the same bytes, whatever the number of threads; on any error nothing is written.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "base/json.h"
#include "broker/cli/allocate_model.h"
#include "broker/cli/allocate_print.h"
#include "broker/cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SCHEDULE_LIMIT = 1 << 20, HEADER_LIMIT = 1 << 16 };

const struct command_option allocate_options[] = {
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip (required)", false },
    { "days", 0, "N", "plan from the last N days of the file (default 7)", false },
    { "scale-up", 0, "X", "arrivals are multiplied by this, on top of each queue's scale_up",
      false },
    { "seeds", 0, "N", "repetitions, of which the worst counts (default 8)", false },
    { "seed", 0, "N", "where the random numbers begin (default 1)", false },
    { "percentile", 0, "P", "instead of each queue's own", false },
    { "gaps", 0, "FILE", "CSV of times about which nothing is known", false },
    { "missing", 0, "unknown|zero", "what a step without a row means (default unknown)", false },
    { "threads", 0, "N", "threads (default 2); the answer does not depend on it", false },
    { "out", 0, "DIR", "folder of the schedules, instead of the configuration's", false },
    { "check", 0, NULL, "write nothing; exit with 2 when a file would change", false },
    { 0 },
};

const char allocate_examples[] =
    "sluice allocate --demand last-week.csv.gz\n"
    "sluice allocate --demand last-week.csv.gz --scale-up 1.1 --out /tmp/schedules\n"
    "sluice allocate --demand last-week.csv.gz --check\n";

const char allocate_text[] =
    "Each queue gets, in each window, the fewest replicas with which a replay of the demand meets\n"
    "its target under every seed; one fewer has been shown to fail.  Exit code 4 when the\n"
    "reservations do not suffice: the queue that misses its target by most is named.\n"
    "An event is planned from its hours of the week, multiplied; one that ended before the demand\n"
    "gets no schedule any more.\n"
    "\n"
    "JSON: is_feasible, demand_from, demand_to, files (written, or that differ with --check),\n"
    "windows: [{window, missing_nodes, queues: [{queue, requests_high, requests_low,\n"
    "replicas_needed, replicas_granted, wait_s (at the percentile), wait_target_s, percentile,\n"
    "worst_seed, seed_failing_with_one_less}], workloads: [{workload, cluster, replicas}],\n"
    "nodes: [{machine, region, cluster, counts}]}].\n";

struct allocate_command {
    struct command_call *call;
    struct allocate_model_options model;
    struct demand_options demand;
    const struct config *config;
    const struct allocate_plan *plan;
};

static int read_options(struct allocate_command *command, struct error *err)
{
    struct command_call *call = command->call;
    const char *missing = call_text_or(call, "missing", "unknown");
    int64_t seeds = 8;
    int64_t seed = 1;
    int64_t threads = 2;

    command->model.days = 7;
    command->model.scale = 1;
    if (!call_text(call, "demand"))
        return error_set(err, ERROR_INVALID, "--demand is required");
    if (call_int(call, "days", 1, 3660, &command->model.days, err) < 0 ||
        call_double(call, "scale-up", 0, 1000, &command->model.scale, err) < 0 ||
        call_double(call, "percentile", 1, 100, &command->model.percentile, err) < 0 ||
        call_int(call, "seeds", 1, 1000, &seeds, err) < 0 ||
        call_int(call, "seed", 0, INT64_MAX, &seed, err) < 0 ||
        call_int(call, "threads", 1, 256, &threads, err) < 0)
        return -1;
    if (!text_equal(missing, "zero") && !text_equal(missing, "unknown"))
        return error_set(err, ERROR_INVALID, "--missing: expected unknown or zero, found \"%s\"",
                         missing);
    if (call_flag(call, "check") && call_text(call, "out"))
        return error_set(err, ERROR_INVALID,
                         "--check compares with the configuration's folder; "
                         "--out is something else");
    command->model.seeds = (int)seeds;
    command->model.seed = (uint64_t)seed;
    command->model.threads = (int)threads;
    command->demand = (struct demand_options){ text_equal(missing, "zero"),
                                               call_text(call, "gaps") };
    return 0;
}

/* "demand arrivals.csv.gz sha256 ..." */
static int add_input(struct text *out, const char *what, const char *path, struct error *err)
{
    owned(text) struct text *bytes = file_read(path, 1 << 30, err);
    const char *slash = strrchr(path, '/');
    char digest[SHA256_TEXT_SIZE];

    if (!bytes)
        return -1;
    crypto_sha256_text(bytes->chars, bytes->length, digest);
    text_add(out, "%s %s sha256 %s\n", what, slash ? slash + 1 : path, digest);
    return 0;
}

/* What the numbers come from, without times: the same input gives the same file. */
static int make_header(const struct allocate_command *command, struct text *out, struct error *err)
{
    struct command_call *call = command->call;
    const struct allocate_model_options *model = &command->model;

    text_add(out,
             "Written by sluice %s allocate. Edit it and it is obeyed; the next allocate\n"
             "writes it anew.\n",
             SLUICE_VERSION);
    if (add_input(out, "configuration", command->config->path, err) < 0 ||
        add_input(out, "demand", call_text(call, "demand"), err) < 0 ||
        (command->demand.gaps && add_input(out, "gaps", command->demand.gaps, err) < 0))
        return -1;
    text_add(out,
             "options: days %" PRId64 ", scale-up %.12g, seeds %d, seed %" PRIu64 ", missing %s",
             model->days, model->scale, model->seeds, model->seed,
             command->demand.missing_zero ? "zero" : "unknown");
    if (model->percentile > 0)
        text_add(out, ", percentile %.12g", model->percentile);
    text_add(out, "\n");
    return 0;
}

/* Whether the file holds exactly these bytes. */
static bool is_same(const char *path, const struct text *want)
{
    owned(text) struct text *found = file_read(path, SCHEDULE_LIMIT, NULL);

    return found && found->length == want->length &&
           memcmp(found->chars, want->chars, want->length) == 0;
}

/* Writes (or with --check compares) every window's file; lists those that change. */
static int put_files(const struct allocate_command *command, json_t *changed, struct error *err)
{
    const struct window_set *windows = command->config->windows;
    const char *folder = call_text_or(command->call, "out", command->config->schedules);
    bool is_check = call_flag(command->call, "check");
    owned(text) struct text *header = text_new(HEADER_LIMIT);

    if (make_header(command, header, err) < 0 ||
        (!is_check && file_make_folder(folder, 0777, err) < 0))
        return -1;
    for (size_t i = 0; i < windows->count; i++) {
        owned(chars) char *path = text_format("%s/%s.yaml", folder, windows->items[i].name);
        owned(text) struct text *bytes = text_new(SCHEDULE_LIMIT);

        if (!command->plan->schedules[i])
            continue;
        schedule_print(command->plan->schedules[i], header->chars, bytes);
        if (bytes->is_cut)
            return error_set(err, ERROR_INVALID, "%s: the schedule is too long", path);
        if (is_same(path, bytes))
            continue;
        json_array_append_new(changed, json_string(path));
        if (!is_check && file_write(path, bytes->chars, bytes->length, 0666, err) < 0)
            return -1;
    }
    return 0;
}

static int finish(struct allocate_command *command, const struct allocate_model *model)
{
    json_t *changed = json_array();
    bool is_json = text_equal(call_text_or(command->call, "output", "table"), "json");
    bool is_check = call_flag(command->call, "check");
    struct error err = { 0 };

    if (command->plan->is_feasible && put_files(command, changed, &err) < 0) {
        json_decref(changed);
        return call_fail(command->call, EXIT_ERROR, &err);
    }

    size_t count = json_array_size(changed);

    if (!is_json) {
        allocate_print_table(model, command->plan);
        for (size_t i = 0; i < count; i++)
            printf("%s %s\n", is_check ? "would change:" : "wrote",
                   json_string_value(json_array_get(changed, i)));
        json_decref(changed);
    } else {
        allocate_print_json(model, command->plan, changed);
    }
    if (!command->plan->is_feasible) {
        owned(text) struct text *miss = text_new(ERROR_TEXT_SIZE);

        allocate_worst_miss(model, command->plan, miss);
        error_set(&err, ERROR_NO_CAPACITY, "%s; nothing was written", miss->chars);
        return call_fail(command->call, EXIT_INFEASIBLE, &err);
    }
    return is_check && count > 0 ? EXIT_DIFFERENT : EXIT_DONE;
}

/* Demand that nothing serves is no mistake (a file may cover more), but worth a word. */
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

int cmd_allocate(struct command_call *call)
{
    struct allocate_command command = { .call = call };
    struct error err = { 0 };

    if (read_options(&command, &err) < 0)
        return call_usage_error(call, "%s", err.text);

    owned(chars) char *path = config_find(call_text(call, "config"), &err);
    owned(config) struct config *config = path ? config_read(path, &err) : NULL;
    owned(demand) struct demand *demand =
        config ? demand_read(call_text(call, "demand"), &command.demand, &err) : NULL;
    owned(allocate_model) struct allocate_model *model =
        demand ? allocate_model_new(config, demand, &command.model, &err) : NULL;
    owned(allocate_plan) struct allocate_plan *plan = model ? allocate_plan(model, &err) : NULL;

    if (!plan)
        return call_fail(call, EXIT_ERROR, &err);
    note_unserved(model, demand);
    command.config = config;
    command.plan = plan;
    return finish(&command, model);
}
