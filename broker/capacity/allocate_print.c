/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line a window and workload; the JSON has everything that the decision rests on.
 */
#include "broker/capacity/allocate_print.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/sizing/target_words.h"
#include "broker/terminal/client.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { LINE_LIMIT = 4096 };

static const struct allocate_cell *cell_of(const struct allocate_plan *plan, size_t window,
                                           size_t queue)
{
    require(window < plan->window_count && queue < plan->queue_count);
    return &plan->cells[window * plan->queue_count + queue];
}

/* "prod-a 48, prod-b 36" */
static void add_replicas(const struct allocate_model *model, const struct schedule *schedule,
                         const struct allocate_workload *workload, struct text *out)
{
    for (size_t i = 0; i < workload->share_count; i++) {
        const char *cluster = model->clusters[workload->shares[i].cluster].name;

        text_add(out, "%s%s %d", i > 0 ? ", " : "", cluster,
                 schedule_replicas_of(schedule, workload->name, cluster));
    }
}

static void print_workloads(const struct allocate_model *model, const struct allocate_plan *plan,
                            size_t window)
{
    for (size_t i = 0; i < model->workload_count; i++) {
        const struct allocate_workload *workload = &model->workloads[i];
        const struct allocate_queue *queue = &model->queues[workload->queue];
        const struct allocate_cell *cell = cell_of(plan, window, workload->queue);
        owned(text) struct text *replicas = text_new(LINE_LIMIT);

        add_replicas(model, plan->schedules[window], workload, replicas);
        owned(chars) char *seed = cell->search.worst_seed < 0
                                      ? mem_copy_chars("-")
                                      : text_format("%d", cell->search.worst_seed);

        owned(chars) char *day = cell->worst_day.begin.ms == 0
                                     ? mem_copy_chars("-")
                                     : text_format("%.2f", cell->worst_day.wait_s);

        printf("%-16s %-32s %8d %8d %9.2f %9s %9.2f %5s  %s\n", model->windows->items[window].name,
               workload->name, cell->needed, cell->granted, cell->wait_s, day,
               (double)queue->target.wait_ms / SECOND_MS, seed, replicas->chars);
    }
}

/* How the worst day misses the target: "98 of 100 wait up to 31.20 s, not 20.00 s", or the same for
   tokens.  NULL when it meets the target. */
static char *miss_of_day(const struct replay_target *target, const struct allocate_cell *cell,
                         struct wall_time *ret_begin)
{
    const struct search_late_day *late = &cell->targets.day;
    const struct search_day *day = &cell->worst_day;
    double target_s = (double)target->wait_ms / SECOND_MS;

    *ret_begin = late->begin.ms != 0 ? late->begin : day->begin;
    if (late->begin.ms != 0 && late->which != REPLAY_WAIT)
        return late->used < 1 ? NULL
                              : text_format("%g of 100 %s up to %.4g s, not %.4g s",
                                            search_target_percentile(target, late->which),
                                            target_words(late->which).many, late->found_s,
                                            search_target_s(target, late->which));
    if (late->begin.ms != 0 ? late->used < 1 : day->begin.ms == 0 || day->wait_s <= target_s)
        return NULL;
    return text_format("%g of 100 wait up to %.2f s, not %.2f s", target->percentile,
                       late->begin.ms != 0 ? late->found_s : day->wait_s, target_s);
}

/* A target that is met on all days pooled can be missed on one of them. */
static void print_bad_days(const struct allocate_model *model, const struct allocate_plan *plan,
                           size_t window)
{
    for (size_t i = 0; i < model->queue_count; i++) {
        const struct allocate_queue *queue = &model->queues[i];
        struct wall_time begin;
        owned(chars) char *miss = miss_of_day(&queue->target, cell_of(plan, window, i), &begin);

        if (queue->is_each_day || !miss)
            continue;

        struct civil_date date = time_zone_local(model->windows->zone, begin).date;

        printf("%-16s queue %s: on %04d-%02d-%02d alone %s; `slo: each-day` would prevent it\n",
               model->windows->items[window].name, queue->name, date.year, date.month, date.day,
               miss);
    }
}

/* Targets beside the wait, and which one decides. */
static void print_tokens(const struct allocate_model *model, const struct allocate_plan *plan,
                         size_t window)
{
    for (size_t i = 0; i < model->queue_count; i++) {
        const struct replay_target *target = &model->queues[i].target;
        const struct search_targets *targets = &cell_of(plan, window, i)->targets;

        for (int at = REPLAY_TTFT; at < REPLAY_FIGURES; at++)
            if (targets->found_s[at] > 0 && search_target_s(target, (enum replay_figure)at) > 0)
                printf("%-16s queue %s: %g of 100 %s up to %.4g s, the target is %.4g s%s\n",
                       model->windows->items[window].name, model->queues[i].name,
                       search_target_percentile(target, (enum replay_figure)at),
                       target_words((enum replay_figure)at).many, targets->found_s[at],
                       search_target_s(target, (enum replay_figure)at),
                       targets->binds == (enum replay_figure)at ? ": the tightest target" : "");
    }
}

static void print_waiting(const struct allocate_model *model, const struct allocate_plan *plan,
                          size_t window)
{
    for (size_t i = 0; i < model->queue_count; i++) {
        const struct allocate_cell *cell = cell_of(plan, window, i);
        int more = cell->granted - cell->needed;

        if (cell->catch_up == 0)
            continue;
        printf("%-16s queue %s: %d replicas on top serve the %.12g requests that wait already",
               model->windows->items[window].name, model->queues[i].name,
               more < cell->catch_up ? more : cell->catch_up, model->queues[i].waiting);
        if (more < cell->catch_up)
            printf("; there is no room for %d more", cell->catch_up - more);
        printf("\n");
    }
}

static void print_nodes(const struct allocate_plan *plan, size_t window, const char *name)
{
    const struct schedule *schedule = plan->schedules[window];

    require(schedule && plan->missing_nodes[window] >= 0);
    for (size_t i = 0; i < schedule->nodes_count; i++) {
        const struct schedule_nodes *nodes = &schedule->nodes[i];
        int sum = 0;

        for (size_t zone = 0; zone < nodes->zone_count; zone++)
            sum += nodes->counts[zone];
        printf("%-16s %d nodes of %s in %s for %s\n", name, sum, nodes->machine, nodes->region,
               nodes->cluster);
    }
    if (plan->missing_nodes[window] > 0)
        printf("%-16s %d nodes are missing\n", name, plan->missing_nodes[window]);
    if (plan->is_withheld[window])
        printf("%-16s not saturated: with the nodes that are left over a zone would weigh so much "
               "that a queue no longer survived its loss\n",
               name);
}

void allocate_print_table(const struct allocate_model *model, const struct allocate_plan *plan)
{
    require(plan->window_count == model->windows->count && plan->queue_count == model->queue_count);
    if (model->is_estimate)
        printf(ALLOCATE_ESTIMATE_CLAIM "\n\n");
    printf("%-16s %-32s %8s %8s %9s %9s %9s %5s  %s\n", "WINDOW", "WORKLOAD", "NEEDED", "GRANTED",
           "WAIT_S", "DAY_S", "TARGET_S", "SEED", "REPLICAS");
    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            print_workloads(model, plan, i);
    printf("\n");
    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            print_bad_days(model, plan, i);
    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            print_tokens(model, plan, i);
    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            print_waiting(model, plan, i);
    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            print_nodes(plan, i, model->windows->items[i].name);
}

/* Targets that only engines have: null if there is no target, or no replay computed it. */
static void add_targets(json_t *row, const struct replay_target *target,
                        const struct search_targets *targets)
{
    for (int i = REPLAY_TTFT; i < REPLAY_FIGURES; i++) {
        const char *name = search_target_name((enum replay_figure)i);
        double limit_s = search_target_s(target, (enum replay_figure)i);
        owned(chars) char *key = text_format("%s_s", name);
        owned(chars) char *target_key = text_format("%s_target_s", name);

        json_object_set_new(row, key,
                            limit_s > 0 && targets->found_s[i] > 0 ? json_real(targets->found_s[i])
                                                                   : json_null());
        json_object_set_new(row, target_key, limit_s > 0 ? json_real(limit_s) : json_null());
    }
    json_object_set_new(row, "binds", json_text(search_target_name(targets->binds)));
}

/* The worst day of a queue with token targets, by the target that is worst on it. */
static json_t *late_day_json(const struct search_late_day *day)
{
    char begin[WALL_TEXT_SIZE];

    if (day->begin.ms == 0)
        return json_null();
    return json_make("{s:s, s:s, s:f, s:b}", "at", wall_format(day->begin, begin), "target",
                     search_target_name(day->which), "found_s", day->found_s, "is_met",
                     day->used < 1);
}

static json_t *queue_json(const struct allocate_queue *queue, const struct allocate_cell *cell)
{
    const struct search_result *search = &cell->search;
    bool survives = queue->survives_node || queue->survives_zone;
    bool is_told = cell->worst_day.begin.ms != 0;
    char day[WALL_TEXT_SIZE];
    json_t *row = json_make(
        "{s:s, s:I, s:I, s:i, s:i, s:i, s:o, s:f, s:f, s:s, s:o, s:o, s:i, s:i, s:o, s:o}", "queue",
        queue->name, "requests_high", (json_int_t)search->requests[DEMAND_HIGH], "requests_low",
        (json_int_t)search->requests[DEMAND_LOW], "replicas_for_target", search->servers,
        "replicas_needed", cell->needed, "replicas_granted", cell->granted, "wait_s",
        isfinite(cell->wait_s) ? json_real(cell->wait_s) : json_null(), "wait_target_s",
        (double)queue->target.wait_ms / SECOND_MS, "percentile", queue->target.percentile, "slo",
        queue->is_each_day ? "each-day" : "pooled", "worst_day_at",
        is_told ? json_text(wall_format(cell->worst_day.begin, day)) : json_null(),
        "worst_day_wait_s", is_told ? json_real(cell->worst_day.wait_s) : json_null(), "worst_seed",
        search->worst_seed, "seed_failing_with_one_less", search->failing_seed, "replicas_lost",
        survives ? json_integer(cell->lost) : json_null(), "replicas_degraded",
        survives ? json_integer(cell->degraded) : json_null());
    add_targets(row, &queue->target, &cell->targets);
    json_object_set_new(row, "waiting", json_real(queue->waiting));
    json_object_set_new(row, "replicas_catch_up", json_integer(cell->catch_up));
    json_object_set_new(row, "late_day", late_day_json(&cell->targets.day));
    return row;
}

static json_t *queues_json(const struct allocate_model *model, const struct allocate_plan *plan,
                           size_t window)
{
    json_t *list = json_array();

    for (size_t i = 0; i < model->queue_count; i++) {
        const struct allocate_queue *queue = &model->queues[i];
        const struct allocate_cell *cell = cell_of(plan, window, i);

        json_array_append_new(list, queue_json(queue, cell));
    }
    return list;
}

static json_t *workloads_json(const struct schedule *schedule)
{
    json_t *list = json_array();

    for (size_t i = 0; i < schedule->replicas_count; i++)
        json_array_append_new(list, json_make("{s:s, s:s, s:i}", "workload",
                                              schedule->replicas[i].workload, "cluster",
                                              schedule->replicas[i].cluster, "replicas",
                                              schedule->replicas[i].replicas));
    return list;
}

static json_t *nodes_json(const struct schedule *schedule)
{
    json_t *list = json_array();

    for (size_t i = 0; i < schedule->nodes_count; i++) {
        const struct schedule_nodes *nodes = &schedule->nodes[i];
        json_t *counts = json_array();

        for (size_t zone = 0; zone < nodes->zone_count; zone++)
            json_array_append_new(counts, json_integer(nodes->counts[zone]));
        json_array_append_new(list, json_make("{s:s, s:s, s:s, s:o}", "machine", nodes->machine,
                                              "region", nodes->region, "cluster", nodes->cluster,
                                              "counts", counts));
    }
    return list;
}

json_t *allocate_json(const struct allocate_model *model, const struct allocate_plan *plan,
                      json_t *files, json_t *forecast, json_t *demand)
{
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];
    json_t *windows = json_array();
    json_t *root = json_make("{s:b, s:b, s:s, s:s, s:o, s:o, s:o, s:o}", "is_feasible",
                             plan->is_feasible, "is_estimate", model->is_estimate, "demand_from",
                             wall_format(model->from, from), "demand_to",
                             wall_format(model->to, to), "windows", windows, "files", files,
                             "forecast", forecast, "demand", demand);

    for (size_t i = 0; i < plan->window_count; i++)
        if (plan->schedules[i])
            json_array_append_new(
                windows,
                json_make("{s:s, s:b, s:b, s:i, s:o, s:o, s:o}", "window",
                          model->windows->items[i].name, "is_met", plan->is_met[i], "is_saturated",
                          model->is_saturated && plan->is_met[i] && !plan->is_withheld[i],
                          "missing_nodes", plan->missing_nodes[i], "queues",
                          queues_json(model, plan, i), "workloads",
                          workloads_json(plan->schedules[i]), "nodes",
                          nodes_json(plan->schedules[i])));

    return root;
}

/* The cell that misses its target by most; if all meet theirs, one that a loss would leave too
   small; the number of cells if there is neither. */
static size_t worst_cell(const struct allocate_model *model, const struct allocate_plan *plan)
{
    size_t end = plan->window_end * plan->queue_count;
    size_t worst = plan->window_count * plan->queue_count;
    double ratio_worst = -1;

    require(plan->window_first <= plan->window_end && plan->window_end <= plan->window_count);
    for (size_t i = plan->window_first * plan->queue_count; i < end; i++) {
        const struct allocate_cell *cell = &plan->cells[i];
        const struct replay_target *target = &model->queues[i % plan->queue_count].target;
        double ratio = cell->granted < cell->search.servers
                           ? cell->targets.found_s[cell->targets.binds] /
                                 search_target_s(target, cell->targets.binds)
                           : 0;

        if (!allocate_is_met(cell) && ratio > ratio_worst) {
            ratio_worst = ratio;
            worst = i;
        }
    }
    return worst;
}

void allocate_worst_miss(const struct allocate_model *model, const struct allocate_plan *plan,
                         struct text *out)
{
    size_t at = worst_cell(model, plan);
    int missing = 0;

    for (size_t i = plan->window_first; i < plan->window_end; i++)
        missing = plan->missing_nodes[i] > missing ? plan->missing_nodes[i] : missing;
    if (at == plan->window_count * plan->queue_count) {
        text_add(out, "%d nodes are missing for what every cluster must have", missing);
        return;
    }

    const struct allocate_queue *queue = &model->queues[at % plan->queue_count];
    const struct allocate_cell *cell = &plan->cells[at];
    const char *window = model->windows->items[at / plan->queue_count].name;
    enum replay_figure binds = cell->targets.binds;
    int digits = binds == REPLAY_WAIT ? 1 : 4;

    if (cell->granted >= cell->search.servers)
        text_add(out,
                 "queue %s would not survive a loss in window %s: %d of its %d replicas go with "
                 "the worst node or zone, and %d have to stay",
                 queue->name, window, cell->lost, cell->granted, cell->degraded);
    else
        text_add(out,
                 "queue %s misses its target in window %s: %g of 100 %s up to %.*f s instead of "
                 "%.*f s with %d of %d replicas",
                 queue->name, window, search_target_percentile(&queue->target, binds),
                 target_words(binds).many, digits, cell->targets.found_s[binds], digits,
                 search_target_s(&queue->target, binds), cell->granted, cell->needed);
    if (missing > 0)
        text_add(out, "; %d nodes are missing", missing);
    else
        text_add(out, "; more nodes would not help: it stands in one zone");
}
