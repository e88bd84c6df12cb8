/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice explain: the plan that allocate would make, and for each number of it the reason: what one
 * replica less does and when, what the closed form says, how GPUs become nodes; and what the
 * schedule as it lies in the folder does instead, where a person has changed it.
 */
#include "base/json.h"
#include "broker/cli/allocate_inputs.h"
#include "broker/cli/client.h"
#include "broker/cli/commands.h"
#include "windows/explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct command_option explain_options[] = {
    ALLOCATE_INPUT_OPTIONS,
    { "window", 0, "WINDOW", "of a workload: in this one only, which is quicker", false },
    { "saturate", 0, NULL, "as the plan was made", false },
    { 0 },
};

const char explain_examples[] =
    "sluice explain workload chat-2x --demand last-week.csv.gz\n"
    "sluice explain workload chat-2x --window weekday-peak --demand last-week.csv.gz\n"
    "sluice explain window weekday-day --demand last-week.csv.gz -o json\n";

const char explain_text[] =
    "Plans as allocate does with the same options, writes nothing, and tells why each number is\n"
    "what it is: the wait with one replica less, with that many and with one more; the step of "
    "the\n"
    "demand that makes the longest wait with one less; what the closed form says; how replicas\n"
    "become nodes. Where the schedule in the folder says another number, the wait with that one.\n"
    "\n"
    "JSON: demand (how it was understood, as of sluice replay),\n"
    "is_feasible, windows: [{window, is_met, missing_nodes, queues: "
    "[{queue, workloads,\n"
    "service: {law, mean_s, cv, requests (that were measured), origin},\n"
    "rate_per_s, peak_per_s, peak_at, replicas_for_target, replicas_degraded, replicas_lost,\n"
    "replicas_needed, replicas_granted, replicas_in_file and wait_in_file_s (null without a "
    "file),\n"
    "wait_s, wait_target_s, percentile, waits: [{replicas, seed, wait_s, is_met}], seeds,\n"
    "replicas_estimated, slo, binding_day_at, binding_day_local and binding_day_wait_s (the day "
    "that\n"
    "waits longest at the percentile with one replica less), binding_at, binding_local,\n"
    "binding_wait_s (null when nobody waits)}],\n"
    "clusters: [{cluster, gpus, gpus_per_node, nodes_packed, nodes_repack, nodes_static, "
    "nodes}]}].\n";

struct explain_command {
    struct allocate_inputs inputs;
    const char *workload; /* NULL: all of the window */
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
        return error_set(err, ERROR_INVALID, "--window is for a workload");
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

/* What a schedule gives a queue; -1 where it does not name all its workloads. */
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

/* What the closed form, the replays and the worst moment say; not for a queue without arrivals. */
static int add_reasons(json_t *row, const struct explain_command *command,
                       const struct allocate_plan *plan, size_t window, size_t queue,
                       struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    double target_s = (double)model->queues[queue].target.wait_ms / SECOND_MS;
    struct explain explain;
    json_t *waits = json_array();

    json_object_set_new(row, "waits", waits);
    if (explain_cell(model, plan, window, queue, &explain, err) < 0)
        return -1;
    for (int i = 0; i < EXPLAIN_STEPS; i++) {
        const struct explain_wait *wait = &explain.waits[i];

        if (wait->replicas > 0)
            json_array_append_new(waits,
                                  json_make("{s:i, s:i, s:f, s:b}", "replicas", wait->replicas,
                                            "seed", wait->seed, "wait_s", wait->wait_s, "is_met",
                                            wait->wait_s <= target_s));
    }

    bool is_bound = explain.binding.ms != 0;
    owned(chars) char *local = is_bound ? local_text(model->windows->zone, explain.binding) : NULL;
    owned(chars) char *day = local_text(model->windows->zone, explain.day.begin);
    json_t *more = json_make(
        "{s:f, s:f, s:o, s:i, s:i, s:s, s:o, s:s, s:f, s:o, s:o, s:o}", "rate_per_s",
        explain.rate_per_s, "peak_per_s", explain.peak_per_s, "peak_at", time_json(explain.peak),
        "seeds", model->seeds, "replicas_estimated", explain.estimate, "slo",
        model->queues[queue].is_each_day ? "each-day" : "pooled", "binding_day_at",
        time_json(explain.day.begin), "binding_day_local", day, "binding_day_wait_s",
        explain.day.wait_s, "binding_at", time_json(explain.binding), "binding_local",
        is_bound ? json_text(local) : json_null(), "binding_wait_s",
        is_bound ? json_real(explain.binding_wait_s) : json_null());

    json_object_update(row, more);
    json_decref(more);
    return 0;
}

static int add_file(json_t *row, const struct explain_command *command, size_t window, size_t queue,
                    const struct schedule *file, struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    int replicas = file ? replicas_in(model, file, queue) : -1;
    double wait_s = HUGE_VAL;

    json_object_set_new(row, "replicas_in_file",
                        replicas < 0 ? json_null() : json_integer(replicas));
    if (replicas > 0 && explain_wait(model, window, queue, replicas, &wait_s, err) < 0)
        return -1;
    json_object_set_new(row, "wait_in_file_s", wait_json(wait_s));
    return 0;
}

/* Where the queue's service times come from. */
static json_t *service_json(const struct service_shape *shape)
{
    return json_make("{s:s, s:f, s:f, s:f, s:s}", "law", service_law_name(shape->law, shape->cv),
                     "mean_s", shape->mean_s, "cv", shape->cv, "requests", shape->requests,
                     "origin", shape->origin);
}

static int add_queue(json_t *list, const struct explain_command *command,
                     const struct allocate_plan *plan, size_t window, size_t queue,
                     const struct schedule *file, struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    const struct allocate_queue *item = &model->queues[queue];
    const struct allocate_cell *cell = &plan->cells[window * plan->queue_count + queue];
    json_t *row = json_make(
        "{s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:o, s:f, s:f}", "queue", item->name, "workloads",
        workloads_json(model, plan->schedules[window], queue), "replicas_for_target",
        cell->search.servers, "replicas_degraded", cell->degraded, "replicas_lost", cell->lost,
        "replicas_needed", cell->needed, "replicas_granted", cell->granted, "wait_s",
        wait_json(cell->wait_s), "wait_target_s", (double)item->target.wait_ms / SECOND_MS,
        "percentile", item->target.percentile);

    json_array_append_new(list, row);
    json_object_set_new(row, "service", service_json(item->shape));
    if (cell->search.servers > 0 && add_reasons(row, command, plan, window, queue, err) < 0)
        return -1;
    return add_file(row, command, window, queue, file, err);
}

static json_t *clusters_json(const struct allocate_model *model, const struct allocate_plan *plan,
                             size_t window)
{
    json_t *list = json_array();

    for (size_t i = 0; i < model->cluster_count; i++) {
        const struct allocate_need *need = &plan->needs[window * plan->cluster_count + i];

        json_array_append_new(list,
                              json_make("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "cluster",
                                        model->clusters[i].name, "gpus", need->gpus,
                                        "gpus_per_node", model->clusters[i].gpus_per_node,
                                        "nodes_packed", need->packed, "nodes_repack", need->repack,
                                        "nodes_static", need->floor, "nodes", need->nodes));
    }
    return list;
}

/* The schedule as it lies in the folder; NULL and no error where there is none. */
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
    for (size_t i = 0; i < model->queue_count; i++) {
        bool is_asked = !command->workload;

        for (size_t at = 0; at < model->workload_count && !is_asked; at++)
            is_asked = model->workloads[at].queue == i &&
                       text_equal(model->workloads[at].name, command->workload);
        if (is_asked && add_queue(queues, command, plan, window, i, file, err) < 0)
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

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void print_numbers(const json_t *row)
{
    int64_t target = json_int_or(row, "replicas_for_target", 0);
    int64_t needed = json_int_or(row, "replicas_needed", 0);
    int64_t granted = json_int_or(row, "replicas_granted", 0);
    int64_t degraded = json_int_or(row, "replicas_degraded", 0);

    if (degraded > 0)
        printf("  losses      %d of %d go with the worst node or zone; %d keep it within twice its "
               "target\n",
               (int)json_int_or(row, "replicas_lost", 0), (int)granted, (int)degraded);
    if (needed > target)
        printf("  needed      %d: %s asks for more than the target\n", (int)needed,
               degraded > 0 ? "the loss" : "replica_min");
    if (granted < needed)
        printf("  granted     %d: the nodes do not suffice\n", (int)granted);
    else if (granted > needed)
        printf("  granted     %d: %d more from what the reservations have left\n", (int)granted,
               (int)(granted - needed));
    if (json_is_integer(json_object_get(row, "replicas_in_file")) &&
        json_int_or(row, "replicas_in_file", 0) != granted) {
        double wait_s = json_is_null(json_object_get(row, "wait_in_file_s"))
                            ? HUGE_VAL
                            : number(row, "wait_in_file_s");

        printf("  in the file %d: waits of %.2f s, %s the target\n",
               (int)json_int_or(row, "replicas_in_file", 0), wait_s,
               wait_s <= number(row, "wait_target_s") ? "meets" : "misses");
    }
}

static void print_service(const json_t *service)
{
    printf("  service     %.4g s, %s (cv %.3g), by %s", number(service, "mean_s"),
           json_text_or(service, "law", ""), number(service, "cv"),
           json_text_or(service, "origin", ""));
    if (number(service, "requests") > 0)
        printf(", of %.0f requests", number(service, "requests"));
    printf("\n");
}

static void print_queue(const char *window, const json_t *row)
{
    size_t i;
    const json_t *item;

    printf("%s, queue %s: %d replicas\n", window, json_text_or(row, "queue", ""),
           (int)json_int_or(row, "replicas_granted", 0));
    json_array_foreach(json_at(row, "workloads"), i, item)
        printf("  %-11s %s: %d in %s, %d GPUs each\n", i == 0 ? "runs" : "",
               json_text_or(item, "workload", ""), (int)json_int_or(item, "replicas", 0),
               json_text_or(item, "cluster", ""), (int)json_int_or(item, "gpus", 0));
    print_service(json_object_get(row, "service"));
    if (!json_object_get(row, "waits")) {
        printf("  demand      nothing arrives\n");
        print_numbers(row);
        return;
    }
    printf("  demand      %.3g/s, at most %.3g/s in the step of %s\n", number(row, "rate_per_s"),
           number(row, "peak_per_s"), json_text_or(row, "peak_at", ""));
    json_array_foreach(json_at(row, "waits"), i, item) printf(
        "  %-11s %d: %g of 100 wait up to %.2f s, %s the target of %.2f s (seed %d)\n",
        i == 0 ? "replayed" : "", (int)json_int_or(item, "replicas", 0), number(row, "percentile"),
        number(item, "wait_s"), json_bool_or(item, "is_met", false) ? "meets" : "misses",
        number(row, "wait_target_s"), (int)json_int_or(item, "seed", 0));
    printf("  worst day   %s: there %g of 100 wait up to %.2f s with one replica less; the target "
           "holds for %s\n",
           json_text_or(row, "binding_day_local", ""), number(row, "percentile"),
           number(row, "binding_day_wait_s"),
           text_equal(json_text_or(row, "slo", ""), "each-day") ? "each day" : "all days in one");
    if (json_object_get(row, "binding_local") &&
        !json_is_null(json_object_get(row, "binding_local")))
        printf("  binding     %s: there a request waits %.2f s with one replica less\n",
               json_text_or(row, "binding_local", ""), number(row, "binding_wait_s"));
    printf("  estimate    %d in closed form\n", (int)json_int_or(row, "replicas_estimated", 0));
    print_numbers(row);
}

static void print_table(const json_t *root)
{
    size_t i;
    size_t at;
    const json_t *window;
    const json_t *row;

    json_array_foreach(json_at(root, "windows"), i, window)
    {
        const char *name = json_text_or(window, "window", "");

        json_array_foreach(json_at(window, "queues"), at, row) print_queue(name, row);
        json_array_foreach(json_at(window, "clusters"), at, row) printf(
            "%s, cluster %s: %d nodes: %d GPUs of all workloads on %d nodes of %d, %d to "
            "repack, at least %d static\n",
            name, json_text_or(row, "cluster", ""), (int)json_int_or(row, "nodes", 0),
            (int)json_int_or(row, "gpus", 0), (int)json_int_or(row, "nodes_packed", 0),
            (int)json_int_or(row, "gpus_per_node", 0), (int)json_int_or(row, "nodes_repack", 0),
            (int)json_int_or(row, "nodes_static", 0));
        if (json_int_or(window, "missing_nodes", 0) > 0)
            printf("%s: %d nodes are missing\n", name,
                   (int)json_int_or(window, "missing_nodes", 0));
    }
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
    client_show(call, root, print_table);
    return EXIT_DONE;
}

int cmd_explain(struct command_call *call)
{
    struct explain_command command = { 0 };
    int code = run(&command, call);

    allocate_inputs_clear(&command.inputs);
    return code;
}
