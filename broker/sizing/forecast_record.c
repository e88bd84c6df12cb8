/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forecast_record.h.
 */
#include "broker/sizing/forecast_record.h"

/* What the queue's workloads take in the schedule, over their replicas. */
static double gpus_per_replica(const struct allocate_model *model, const struct schedule *schedule,
                               size_t queue)
{
    double replicas = 0, gpus = 0, most = 0;

    for (size_t i = 0; i < model->workload_count; i++) {
        const struct allocate_workload *workload = &model->workloads[i];

        if (workload->queue != queue)
            continue;
        most = workload->gpus > most ? workload->gpus : most;
        for (size_t at = 0; at < workload->share_count; at++) {
            const char *cluster = model->clusters[workload->shares[at].cluster].name;
            int found = schedule_replicas_of(schedule, workload->name, cluster);

            replicas += found > 0 ? found : 0;
            gpus += found > 0 ? (double)found * workload->gpus : 0;
        }
    }
    return replicas > 0 ? gpus / replicas : most;
}

/* The age of the demand depends on the clock, but the same input must give the same bytes. */
static const char *stale_of(const struct forecast_cell *cell)
{
    return cell->stale == FORECAST_OLD ? "" : forecast_stale_name(cell->stale);
}

static void set_score(const struct forecast_score *score, struct forecast_file_score *out)
{
    double days = (double)score->scored;

    *out = (struct forecast_file_score){ .days = (int64_t)score->scored,
                                         .covered = (int64_t)score->covered };
    if (score->scored == 0)
        return;
    out->loss = score->loss / days;
    out->last_week = score->last_week_loss / days;
    out->last_week_10 = score->last_week_10_loss / days;
}

static void set_forecast(const struct forecast_cell *cell, struct forecast_file_row *row)
{
    double ratio = cell->upper > 0 ? (double)row->replicas / cell->upper : 1;

    row->point = ratio * cell->point;
    row->lower = ratio * cell->lower;
    row->share = 1 - cell->misses;
    text_print(row->method, sizeof row->method, "%s", forecast_method_name(cell->method));
    text_print(row->basis, sizeof row->basis, "%s", conformal_basis_name(cell->basis));
    text_print(row->stale, sizeof row->stale, "%s", stale_of(cell));
    set_score(&cell->score, &row->score);
}

static const char *lack_of(const struct forecast_record *record, const struct forecast_cell *cell)
{
    if (!record->forecasts)
        return "not-asked";
    if (!cell)
        return "event";
    return forecast_plan_lack(cell) == FORECAST_FORETOLD
               ? ""
               : forecast_lack_name(forecast_plan_lack(cell));
}

/* A plan that follows the day is of the next occurrence alone; one from last week's demand is made
   again each week. */
static struct wall_time until_of(const struct forecast_record *record)
{
    const struct forecasts_options *options = record->options;
    int64_t ms = WEEK_MS;

    if (record->forecasts && options->follow_ms > 0)
        ms = options->follow_ms + DAY_MS;
    else if (record->forecasts && options->horizon_days > 0)
        ms = (int64_t)options->horizon_days * DAY_MS;
    return (struct wall_time){ record->model->to.ms + ms };
}

static void add_window(const struct forecast_record *record, size_t at, struct forecast_file *file)
{
    const struct allocate_model *model = record->model;
    struct forecast_file_window *window = forecast_file_add(file, model->windows->items[at].name);

    window->from = model->from;
    window->to = model->to;
    window->until = until_of(record);
    window->is_forecast = record->forecasts != NULL;
    for (size_t queue = 0; queue < model->queue_count; queue++) {
        const char *name = model->queues[queue].name;
        const struct allocate_cell *found = &record->plan->cells[at * model->queue_count + queue];
        const struct forecast_cell *cell = record->forecasts
                                               ? forecasts_find(record->forecasts, name, at)
                                               : NULL;
        struct forecast_file_row *row = forecast_file_add_row(window, name);

        row->replicas = found->search.servers;
        row->gpus = found->search.servers *
                    gpus_per_replica(model, record->plan->schedules[at], queue);
        text_print(row->lack, sizeof row->lack, "%s", lack_of(record, cell));
        if (!row->lack[0])
            set_forecast(cell, row);
    }
}

static void keep_window(const struct forecast_record *record, const char *name,
                        struct forecast_file *file)
{
    const struct forecast_file_window *before = record->before
                                                    ? forecast_file_find(record->before, name)
                                                    : NULL;
    struct forecast_file_window *window;

    if (!before)
        return;
    window = forecast_file_add(file, name);
    window->from = before->from;
    window->to = before->to;
    window->until = before->until;
    window->is_forecast = before->is_forecast;
    for (size_t i = 0; i < before->rows.count; i++) {
        struct forecast_file_row *row = forecast_file_add_row(window, before->rows.items[i].queue);
        char *queue = row->queue;

        *row = before->rows.items[i];
        row->queue = queue;
    }
}

struct forecast_file *forecast_record_make(const struct forecast_record *record)
{
    const struct allocate_plan *plan = record->plan;
    struct forecast_file *file = forecast_file_new();

    for (size_t i = 0; i < record->model->windows->count; i++) {
        if (i < plan->window_first || i >= plan->window_end)
            keep_window(record, record->model->windows->items[i].name, file);
        else if (plan->schedules[i])
            add_window(record, i, file);
    }
    return file;
}
