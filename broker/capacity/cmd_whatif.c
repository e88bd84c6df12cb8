/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice whatif: the plan that allocate would make if something were otherwise, beside the
 * schedules as they lie in the folder.  Reads, and writes nothing.
 */
#include "base/input/json.h"
#include "broker/capacity/allocate_inputs.h"
#include "broker/capacity/allocate_print.h"
#include "broker/sizing/engine_facts.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>
#include <string.h>

const struct command_option whatif_options[] = {
    ALLOCATE_INPUT_OPTIONS,
    { "lose-zone", 0, "ZONE", "suppose that this zone's nodes are gone", false },
    { "traffic", 0, "X", "suppose that all arrivals are multiplied by this", false },
    { "reservation", 0, "NAME=N",
      "suppose that the reservation has N nodes; +N: N more; -N: N fewer", true },
    { "engine", 0, "QUEUE.KEY=V",
      "suppose the value V for KEY of the queue's engine; x1.5 multiplies the value; the KEY "
      "`times` stands for all times of the engine",
      true },
    { "without", 0, "WORKLOAD", "suppose that this workload is gone", false },
    { "window", 0, "WINDOW", "this window only", false },
    { "saturate", 0, NULL, "use the remaining nodes, as `sluice allocate --saturate` does", false },
    { "estimate", 0, NULL,
      "closed form only: quick, good to a few per cent, not confirmed by a replay", false },
    { 0 },
};

struct whatif_command {
    struct allocate_inputs inputs;
    ARRAY(struct allocate_reservation) changes;
    ARRAY(char *) names; /* of the changes */
};

static void command_clear(struct whatif_command *command)
{
    allocate_inputs_clear(&command->inputs);
    for (size_t i = 0; i < command->names.count; i++)
        mem_free(command->names.items[i]);
    array_clear(&command->names);
    array_clear(&command->changes);
}

static int read_reservations(struct whatif_command *command, const struct command_call *call,
                             struct error *err)
{
    for (size_t i = 0; i < call_repeat(call, "reservation"); i++) {
        const char *text = call_text_at(call, "reservation", i);
        const char *equals = strchr(text, '=');
        const char *value = equals ? equals + 1 : "";
        bool is_change = value[0] == '+' || value[0] == '-';
        long long nodes;

        if (!equals || equals == text ||
            !text_to_int(value[0] == '+' ? value + 1 : value, -100000, 100000, &nodes))
            return error_set(err, ERROR_INVALID,
                             "--reservation: \"%s\" is not a name and a number: write it like "
                             "east=-32 or east=64",
                             text);

        char *name = text_format("%.*s", (int)(equals - text), text);

        *array_add(&command->names) = name;
        *array_add(&command->changes) = (struct allocate_reservation){ name, nodes, is_change };
    }
    command->inputs.options.reservations = command->changes.items;
    command->inputs.options.reservation_count = command->changes.count;
    return 0;
}

static int read_options(struct whatif_command *command, struct command_call *call,
                        struct error *err)
{
    struct allocate_model_options *options = &command->inputs.options;
    double traffic = 1;

    if (allocate_inputs_options(&command->inputs, call, err) < 0 ||
        call_double(call, "traffic", (struct double_range){ 0, 1000 }, &traffic, err) < 0 ||
        read_reservations(command, call, err) < 0)
        return -1;
    for (size_t i = 0; i < call_repeat(call, "engine"); i++)
        *array_add(&command->inputs.suppositions) = call_text_at(call, "engine", i);
    options->scale *= traffic;
    options->lost_zone = call_text(call, "lose-zone");
    options->without = call_text(call, "without");
    options->window = call_text(call, "window");
    options->is_saturated = call_flag(call, "saturate");
    options->is_estimate = call_flag(call, "estimate");
    return 0;
}

static json_t *count_json(int count)
{
    return count < 0 ? json_null() : json_integer(count);
}

static void add_replicas(json_t *list, const struct schedule_replicas *item, int now, int then)
{
    if (now != then)
        json_array_append_new(list, json_make("{s:s, s:s, s:o, s:o}", "workload", item->workload,
                                              "cluster", item->cluster, "now", count_json(now),
                                              "then", count_json(then)));
}

static json_t *replicas_json(const struct schedule *now, const struct schedule *then)
{
    json_t *list = json_array();

    for (size_t i = 0; i < then->replicas_count; i++) {
        const struct schedule_replicas *item = &then->replicas[i];

        add_replicas(list, item, schedule_replicas_of(now, item->workload, item->cluster),
                     item->replicas);
    }
    for (size_t i = 0; i < now->replicas_count; i++) {
        const struct schedule_replicas *item = &now->replicas[i];

        if (schedule_replicas_of(then, item->workload, item->cluster) < 0)
            add_replicas(list, item, item->replicas, -1);
    }
    return list;
}

static const struct schedule_nodes *same_nodes(const struct schedule *schedule,
                                               const struct schedule_nodes *like)
{
    for (size_t i = 0; i < schedule->nodes_count; i++) {
        const struct schedule_nodes *item = &schedule->nodes[i];

        if (text_equal(item->machine, like->machine) && text_equal(item->region, like->region) &&
            text_equal(item->cluster, like->cluster))
            return item;
    }
    return NULL;
}

static json_t *counts_json(const struct schedule_nodes *nodes)
{
    json_t *list = nodes ? json_array() : json_null();

    for (size_t i = 0; nodes && i < nodes->zone_count; i++)
        json_array_append_new(list, json_integer(nodes->counts[i]));
    return list;
}

static void add_nodes(json_t *list, const struct schedule_nodes *now,
                      const struct schedule_nodes *then)
{
    const struct schedule_nodes *item = then ? then : now;
    json_t *row = json_make("{s:s, s:s, s:s, s:o, s:o}", "machine", item->machine, "region",
                            item->region, "cluster", item->cluster, "now", counts_json(now), "then",
                            counts_json(then));

    if (!json_equal(json_object_get(row, "now"), json_object_get(row, "then")))
        json_array_append(list, row);
    json_decref(row);
}

static json_t *nodes_json(const struct schedule *now, const struct schedule *then)
{
    json_t *list = json_array();

    for (size_t i = 0; i < then->nodes_count; i++)
        add_nodes(list, same_nodes(now, &then->nodes[i]), &then->nodes[i]);
    for (size_t i = 0; i < now->nodes_count; i++)
        if (!same_nodes(then, &now->nodes[i]))
            add_nodes(list, &now->nodes[i], NULL);
    return list;
}

static int sum_nodes(const struct schedule *schedule)
{
    int sum = 0;

    for (size_t i = 0; i < schedule->nodes_count; i++)
        for (size_t zone = 0; zone < schedule->nodes[i].zone_count; zone++)
            sum += schedule->nodes[i].counts[zone];
    return sum;
}

static int add_window(json_t *list, const struct whatif_command *command,
                      const struct allocate_plan *plan, size_t window, struct error *err)
{
    const struct config *config = command->inputs.config;
    const char *name = config->windows->items[window].name;
    owned(chars) char *path = text_format("%s/%s.yaml", config->schedules, name);
    struct error why = { 0 };
    owned(schedule) struct schedule *now = schedule_read(path, &why);
    bool has_file = now != NULL;

    if (!now && why.kind != ERROR_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (!now)
        now = schedule_new();
    json_array_append_new(list, json_make("{s:s, s:b, s:i, s:b, s:i, s:i, s:o, s:o}", "window",
                                          name, "is_met", plan->is_met[window], "missing_nodes",
                                          plan->missing_nodes[window], "has_file", has_file,
                                          "nodes_now", sum_nodes(now), "nodes_then",
                                          sum_nodes(plan->schedules[window]), "replicas",
                                          replicas_json(now, plan->schedules[window]), "nodes",
                                          nodes_json(now, plan->schedules[window])));
    return 0;
}

/* For each queue with a supposed engine: that engine. */
static json_t *engines_json(const struct allocate_inputs *inputs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < inputs->config->queue_count; i++) {
        const struct config_queue *queue = &inputs->config->queues[i];

        if (queue->is_supposed)
            json_array_append_new(list,
                                  json_make("{s:s, s:o, s:f, s:s}", "queue", queue->name, "engine",
                                            engine_facts_json(service_shape_engine(queue->service)),
                                            "service_s", queue->service->mean_s, "origin",
                                            queue->service->origin));
    }
    return list;
}

static json_t *make_answer(const struct whatif_command *command, struct error *err)
{
    const struct allocate_model *model = command->inputs.model;
    owned(allocate_plan) struct allocate_plan *plan = allocate_plan(model, err);
    owned(text) struct text *miss = text_new(ERROR_TEXT_SIZE);

    if (!plan)
        return NULL;
    if (!plan->is_feasible)
        allocate_worst_miss(model, plan, miss);

    json_t *windows = json_array();
    owned(json) json_t *root = json_make(
        "{s:b, s:b, s:o, s:o, s:o}", "is_feasible", plan->is_feasible, "is_estimate",
        model->is_estimate, "miss", plan->is_feasible ? json_null() : json_text(miss->chars),
        "windows", windows, "engines", engines_json(&command->inputs));

    for (size_t i = plan->window_first; i < plan->window_end; i++)
        if (plan->schedules[i] && add_window(windows, command, plan, i, err) < 0)
            return NULL;
    json_object_set_new(root, "demand",
                        demand_input_json(command->inputs.demand, &command->inputs.demand_options));
    return steal(&root);
}

/* "12", "[4, 8]", or "-" for what is not named. */
static char *cell_text(const json_t *value)
{
    owned(text) struct text *text = text_new(TEXT_UNBOUNDED);

    if (json_is_integer(value))
        text_add(text, "%d", (int)json_integer_value(value));
    else if (!json_is_array(value))
        text_add(text, "-");
    for (size_t i = 0; i < json_array_size(value); i++)
        text_add(text, "%s%d%s", i > 0 ? ", " : "[",
                 (int)json_integer_value(json_array_get(value, i)),
                 i + 1 == json_array_size(value) ? "]" : "");
    return text_take(steal(&text));
}

static void print_row(const char *window, const char *what, const json_t *row)
{
    owned(chars) char *now = cell_text(json_object_get(row, "now"));
    owned(chars) char *then = cell_text(json_object_get(row, "then"));

    printf("%-16s %-32s %-16s %10s %10s\n", window, what, json_text_or(row, "cluster", ""), now,
           then);
}

static void print_engine(const json_t *row)
{
    const json_t *engine = json_object_get(row, "engine");

    printf("queue %s as if: ", json_text_or(row, "queue", ""));
    if (json_is_object(engine))
        engine_facts_print(engine);
    else
        printf("a replica serves one request at a time, in %.6g s",
               json_number_value(json_object_get(row, "service_s")));
    printf("; %s\n", json_text_or(row, "origin", ""));
}

static void print_table(const json_t *root)
{
    size_t i;
    size_t at;
    const json_t *window;
    const json_t *row;

    if (json_bool_or(root, "is_estimate", false))
        printf(ALLOCATE_ESTIMATE_CLAIM "\n\n");
    json_array_foreach(json_at(root, "engines"), i, row)
        print_engine(row);
    printf("%-16s %-32s %-16s %10s %10s\n", "WINDOW", "WHAT", "CLUSTER", "NOW", "THEN");
    json_array_foreach(json_at(root, "windows"), i, window) {
        const char *name = json_text_or(window, "window", "");

        json_array_foreach(json_at(window, "replicas"), at, row)
            print_row(name, json_text_or(row, "workload", ""), row);
        json_array_foreach(json_at(window, "nodes"), at, row) {
            owned(chars) char *what = text_format("nodes of %s in %s",
                                                  json_text_or(row, "machine", ""),
                                                  json_text_or(row, "region", ""));

            print_row(name, what, row);
        }
    }
    printf("\n");
    json_array_foreach(json_at(root, "windows"), i, window)
        printf("%s: %d nodes instead of %d%s; %s\n", json_text_or(window, "window", ""),
               (int)json_int_or(window, "nodes_then", 0), (int)json_int_or(window, "nodes_now", 0),
               json_bool_or(window, "has_file", false) ? "" : " (there is no schedule yet)",
               json_bool_or(window, "is_met", false) ? "every target is met"
                                                     : "NOT every target is met");
}

static int run(struct whatif_command *command, struct command_call *call)
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
    if (json_bool_or(root, "is_feasible", false))
        return EXIT_DONE;
    error_set(&err, ERROR_NO_CAPACITY, "%s", json_text_or(root, "miss", ""));
    return call_fail(call, EXIT_INFEASIBLE, &err);
}

int cmd_whatif(struct command_call *call)
{
    struct whatif_command command = { 0 };
    int code = run(&command, call);

    command_clear(&command);
    return code;
}
