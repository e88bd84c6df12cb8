/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice explain: the plan that allocate would make, and for each number of it the reason: what one
 * replica less does and when, what the closed form says, how GPUs become nodes; and what the
 * schedule as it lies in the folder does instead, where a person has changed it.
 */
#include "base/input/json.h"
#include "broker/capacity/allocate_inputs.h"
#include "broker/capacity/explain_print.h"
#include "broker/sizing/engine_facts.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "windows/allocation/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct command_option explain_options[] = {
    ALLOCATE_INPUT_OPTIONS,
    { "window", 0, "WINDOW", "explain a workload in this window only, which is quicker", false },
    { "saturate", 0, NULL, "explain a plan that was made with --saturate", false },
    { 0 },
};

struct explain_command {
    struct allocate_inputs inputs;
    const char *workload; /* NULL: all of the window */
};

/* One window of the plan, while its queues are explained. */
struct explained_window {
    const struct allocate_model *model;
    const struct allocate_plan *plan;
    size_t window;
    const struct schedule *file; /* as it lies in the folder; NULL: there is none */
};

static int read_options(struct explain_command *command, struct command_call *call,
                        struct error *err)
{
    const char *kind = call_argument(call, 0);
    bool is_workload = text_equal(kind, "workload");

    if (allocate_inputs_options(&command->inputs, call, err) < 0)
        return -1;
    if (!is_workload && !text_equal(kind, "window"))
        return error_set(err, ERROR_INVALID, "expected workload or window, found \"%s\"", kind);
    if (!is_workload && call_text(call, "window"))
        return error_set(err, ERROR_INVALID, "--window requires workload NAME");
    command->workload = is_workload ? call_argument(call, 1) : NULL;
    command->inputs.options.window = is_workload ? call_text(call, "window")
                                                 : call_argument(call, 1);
    command->inputs.options.is_saturated = call_flag(call, "saturate");
    return 0;
}

/* "Tue 2026-11-17 08:52 EST" */
static char *local_text(const struct time_zone *zone, struct wall_time wall)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    struct local_time local = time_zone_local(zone, wall);

    return text_format("%s %04d-%02d-%02d %02d:%02d %s", days[local.weekday], local.date.year,
                       local.date.month, local.date.day, local.minute_of_day / 60,
                       local.minute_of_day % 60, local.abbreviation);
}

static json_t *time_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall, text));
}

static json_t *wait_json(double wait_s)
{
    return isfinite(wait_s) ? json_real(wait_s) : json_null();
}

/* A queue's replicas in a schedule; -1 if the schedule does not name all its workloads. */
static int replicas_in(const struct allocate_model *model, const struct schedule *schedule,
                       size_t queue)
{
    int sum = 0;

    for (size_t i = 0; i < model->workload_count; i++) {
        const struct allocate_workload *workload = &model->workloads[i];

        for (size_t at = 0; workload->queue == queue && at < workload->share_count; at++) {
            int replicas = schedule_replicas_of(schedule, workload->name,
                                                model->clusters[workload->shares[at].cluster].name);

            if (replicas < 0)
                return -1;
            sum += replicas;
        }
    }
    return sum;
}

static json_t *workloads_json(const struct allocate_model *model, const struct schedule *schedule,
                              size_t queue)
{
    json_t *list = json_array();

    for (size_t i = 0; i < model->workload_count; i++) {
        const struct allocate_workload *workload = &model->workloads[i];

        for (size_t at = 0; workload->queue == queue && at < workload->share_count; at++) {
            const char *cluster = model->clusters[workload->shares[at].cluster].name;

            json_array_append_new(
                list, json_make("{s:s, s:s, s:i, s:i}", "workload", workload->name, "cluster",
                                cluster, "gpus", workload->gpus, "replicas",
                                schedule_replicas_of(schedule, workload->name, cluster)));
        }
    }
    return list;
}

/* The waits with one number of replicas; of engines also tokens, and how full the replicas are. */
static json_t *step_json(const struct explain_wait *wait, const struct engine *engine)
{
    json_t *row = json_make("{s:i, s:i, s:f, s:b}", "replicas", wait->replicas, "seed", wait->seed,
                            "wait_s", wait->targets.found_s[REPLAY_WAIT], "is_met",
                            wait->targets.is_met);

    if (!engine)
        return row;

    json_t *more = json_make("{s:s, s:f, s:f}", "binds", search_target_name(wait->targets.binds),
                             "peak_utilisation", wait->utilisation, "peak_occupancy",
                             wait->occupancy);

    for (int i = REPLAY_TTFT; i < REPLAY_FIGURES; i++) {
        owned(chars) char *key = text_format("%s_s", search_target_name((enum replay_figure)i));

        json_object_set_new(more, key,
                            engine_has_tokens(engine) ? json_real(wait->targets.found_s[i])
                                                      : json_null());
    }
    json_object_update(row, more);
    json_decref(more);
    return row;
}

/* What the closed form, the replays and the worst moment say; not for a queue without arrivals. */
static int add_reasons(json_t *row, const struct explained_window *explained, size_t queue,
                       struct error *err)
{
    const struct allocate_model *model = explained->model;
    const struct engine *engine = service_shape_engine(model->queues[queue].shape);
    struct explain explain;
    json_t *waits = json_array();

    json_object_set_new(row, "waits", waits);
    if (explain_cell(model, explained->plan, (struct explain_at){ explained->window, queue },
                     &explain, err) < 0)
        return -1;
    for (int i = 0; i < EXPLAIN_STEPS; i++)
        if (explain.waits[i].replicas > 0)
            json_array_append_new(waits, step_json(&explain.waits[i], engine));

    bool is_bound = explain.binding.ms != 0;
    owned(chars) char *local = is_bound ? local_text(model->windows->zone, explain.binding) : NULL;
    owned(chars) char *day = local_text(model->windows->zone, explain.day.begin);
    json_t *more = json_make(
        "{s:f, s:f, s:o, s:i, s:i, s:s, s:o, s:s, s:f, s:s, s:o, s:o, s:o, s:s}", "rate_per_s",
        explain.rate_per_s, "peak_per_s", explain.peak_per_s, "peak_at", time_json(explain.peak),
        "seeds", model->seeds, "replicas_estimated", explain.estimate, "slo",
        model->queues[queue].is_each_day ? "each-day" : "pooled", "binding_day_at",
        time_json(explain.day.begin), "binding_day_local", day, "binding_day_wait_s",
        explain.day.found_s, "binding_day_target", search_target_name(explain.day.which),
        "binding_at", time_json(explain.binding), "binding_local",
        is_bound ? json_text(local) : json_null(), "binding_wait_s",
        is_bound ? json_real(explain.binding_wait_s) : json_null(), "binds",
        search_target_name(explain.binds));

    json_object_update(row, more);
    json_decref(more);
    return 0;
}

static int add_file(json_t *row, const struct explained_window *explained, size_t queue,
                    struct error *err)
{
    const struct allocate_model *model = explained->model;
    int replicas = explained->file ? replicas_in(model, explained->file, queue) : -1;
    struct search_targets found = { .found_s = { HUGE_VAL } };

    json_object_set_new(row, "replicas_in_file",
                        replicas < 0 ? json_null() : json_integer(replicas));
    if (replicas > 0 && explain_number(model, (struct explain_at){ explained->window, queue },
                                       replicas, &found, err) < 0)
        return -1;
    json_object_set_new(row, "wait_in_file_s", wait_json(found.found_s[REPLAY_WAIT]));
    json_object_set_new(row, "is_met_in_file",
                        replicas < 0 ? json_null() : json_boolean(found.is_met));
    return 0;
}

/* Where the queue's service times come from. */
static json_t *service_json(const struct service_shape *shape)
{
    return json_make("{s:s, s:f, s:f, s:f, s:s}", "law", service_law_name(shape->law, shape->cv),
                     "mean_s", shape->mean_s, "cv", shape->cv, "requests", shape->requests,
                     "origin", shape->origin);
}

static json_t *limit_json(const struct replay_limit *limit)
{
    return limit->limit_s > 0 ? json_make("{s:f, s:f}", "target_s", limit->limit_s, "percentile",
                                          limit->percentile)
                              : json_null();
}

/* The engine of each replica, and its targets. */
static void add_engine(json_t *row, const struct allocate_queue *item)
{
    const struct engine *engine = service_shape_engine(item->shape);

    json_object_set_new(row, "engine", engine_facts_json(engine));
    json_object_set_new(row, "ttft", limit_json(&item->target.ttft));
    json_object_set_new(row, "itl", limit_json(&item->target.itl));
}

static int add_queue(json_t *list, const struct explained_window *explained, size_t queue,
                     struct error *err)
{
    const struct allocate_model *model = explained->model;
    const struct allocate_plan *plan = explained->plan;
    const struct allocate_queue *item = &model->queues[queue];
    const struct allocate_cell *cell = &plan->cells[explained->window * plan->queue_count + queue];
    json_t *row = json_make(
        "{s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:o, s:f, s:f}", "queue", item->name, "workloads",
        workloads_json(model, plan->schedules[explained->window], queue), "replicas_for_target",
        cell->search.servers, "replicas_degraded", cell->degraded, "replicas_lost", cell->lost,
        "replicas_needed", cell->needed, "replicas_granted", cell->granted, "wait_s",
        wait_json(cell->wait_s), "wait_target_s", (double)item->target.wait_ms / SECOND_MS,
        "percentile", item->target.percentile);

    json_array_append_new(list, row);
    json_object_set_new(row, "service", service_json(item->shape));
    add_engine(row, item);
    if (cell->search.servers > 0 && add_reasons(row, explained, queue, err) < 0)
        return -1;
    return add_file(row, explained, queue, err);
}

static json_t *clusters_json(const struct allocate_model *model, const struct allocate_plan *plan,
                             size_t window)
{
    json_t *list = json_array();

    for (size_t i = 0; i < model->cluster_count; i++) {
        const struct allocate_need *need = &plan->needs[window * plan->cluster_count + i];

        json_array_append_new(
            list, json_make("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "cluster",
                            model->clusters[i].name, "gpus", need->gpus, "gpus_per_node",
                            model->clusters[i].gpus_per_node, "nodes_packed", need->packed,
                            "nodes_repack", need->repack, "nodes_rest", need->rest, "group_nodes",
                            need->group, "nodes_static", need->floor, "nodes", need->nodes));
    }
    return list;
}

/* The schedule file in the folder; NULL and no error if there is none. */
static int read_file(const struct explain_command *command, size_t window,
                     struct schedule **ret_schedule, struct error *err)
{
    const struct config *config = command->inputs.config;
    owned(chars) char *path = text_format("%s/%s.yaml", config->schedules,
                                          config->windows->items[window].name);
    struct error why = { 0 };

    *ret_schedule = schedule_read(path, &why);
    if (*ret_schedule || why.kind == ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

static int add_window(json_t *list, const struct explain_command *command,
                      const struct allocate_plan *plan, size_t window, struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    owned(schedule) struct schedule *file = NULL;
    json_t *queues = json_array();

    json_array_append_new(list, json_make("{s:s, s:b, s:i, s:o, s:o}", "window",
                                          model->windows->items[window].name, "is_met",
                                          plan->is_met[window], "missing_nodes",
                                          plan->missing_nodes[window], "queues", queues, "clusters",
                                          clusters_json(model, plan, window)));
    if (read_file(command, window, &file, err) < 0)
        return -1;

    const struct explained_window explained = { model, plan, window, file };

    for (size_t i = 0; i < model->queue_count; i++) {
        bool is_asked = !command->workload;

        for (size_t at = 0; at < model->workload_count && !is_asked; at++)
            is_asked = model->workloads[at].queue == i &&
                       text_equal(model->workloads[at].name, command->workload);
        if (is_asked && add_queue(queues, &explained, i, err) < 0)
            return -1;
    }
    return 0;
}

static json_t *make_answer(const struct explain_command *command, struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    bool is_known = !command->workload;

    for (size_t i = 0; i < model->workload_count && !is_known; i++)
        is_known = text_equal(model->workloads[i].name, command->workload);
    if (!is_known) {
        error_set(err, ERROR_INVALID, "there is no workload \"%s\"", command->workload);
        return NULL;
    }

    owned(allocate_plan) struct allocate_plan *plan = allocate_plan(model, err);

    if (!plan)
        return NULL;

    json_t *windows = json_array();
    owned(json) json_t *root = json_make("{s:b, s:o}", "is_feasible", plan->is_feasible, "windows",
                                         windows);

    for (size_t i = plan->window_first; i < plan->window_end; i++)
        if (plan->schedules[i] && add_window(windows, command, plan, i, err) < 0)
            return NULL;
    json_object_set_new(root, "demand",
                        demand_input_json(command->inputs.demand, &command->inputs.demand_options));
    return steal(&root);
}

static int run(struct explain_command *command, struct command_call *call)
{
    struct error err = { 0 };

    if (read_options(command, call, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (allocate_inputs_read(&command->inputs, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);

    owned(json) json_t *root = make_answer(command, &err);

    if (!root)
        return call_fail(call, EXIT_ERROR, &err);
    client_show(call, root, explain_print);
    return EXIT_DONE;
}

int cmd_explain(struct command_call *call)
{
    struct explain_command command = { 0 };
    int code = run(&command, call);

    allocate_inputs_clear(&command.inputs);
    return code;
}
