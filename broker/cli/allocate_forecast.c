/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See allocate_forecast.h.
 */
#include "broker/cli/allocate_forecast.h"

#include "base/file.h"

#include <stdio.h>

double *allocate_forecast_scales(const struct forecasts *forecasts,
                                 const struct allocate_model *model)
{
    size_t windows = model->windows->count;
    double *scales = mem_new_array(windows * model->queue_count, sizeof *scales);

    for (size_t window = 0; window < windows; window++)
        for (size_t queue = 0; queue < model->queue_count; queue++) {
            const struct forecast_cell *cell = forecasts_find(forecasts, model->queues[queue].name,
                                                              window);

            scales[window * model->queue_count + queue] = cell ? cell->scale : 1;
        }
    return scales;
}

/* How old the demand is depends on the clock, and the same input has to give the same bytes. */
static const char *stale_in_header(const struct forecast_cell *cell)
{
    return cell->stale == FORECAST_OLD ? "" : forecast_stale_name(cell->stale);
}

void allocate_forecast_header(const struct forecasts *forecasts, const struct allocate_model *model,
                              size_t window, struct text *out)
{
    for (size_t queue = 0; queue < model->queue_count; queue++) {
        const char *name = model->queues[queue].name;
        const struct forecast_cell *cell = forecasts_find(forecasts, name, window);

        if (cell)
            text_add(out, "forecast: %s x %.4f (%s, %s%s%s)\n", name, cell->scale,
                     forecast_method_name(cell->method), conformal_basis_name(cell->basis),
                     stale_in_header(cell)[0] ? ", stale: " : "", stale_in_header(cell));
    }
}

/* Of all workloads that serve the queue. */
static int replicas_of(const struct allocate_model *model, const struct schedule *schedule,
                       size_t queue)
{
    int sum = 0;

    for (size_t i = 0; i < model->workload_count; i++) {
        const struct allocate_workload *workload = &model->workloads[i];

        for (size_t at = 0; workload->queue == queue && at < workload->share_count; at++) {
            const char *cluster = model->clusters[workload->shares[at].cluster].name;
            int replicas = schedule_replicas_of(schedule, workload->name, cluster);

            sum += replicas > 0 ? replicas : 0;
        }
    }
    return sum;
}

static int check_window(const struct forecasts *forecasts, const struct allocate_model *model,
                        const struct allocate_plan *plan, size_t window, const char *path,
                        struct error *err)
{
    owned(schedule) struct schedule *stands = schedule_read(path, err);

    if (!stands)
        return -1;
    for (size_t queue = 0; queue < model->queue_count; queue++) {
        const char *name = model->queues[queue].name;
        const struct forecast_cell *cell = forecasts_find(forecasts, name, window);
        int had = replicas_of(model, stands, queue);
        int gets = replicas_of(model, plan->schedules[window], queue);

        if (cell && cell->stale != FORECAST_FRESH && gets < had)
            return error_set(err, ERROR_DENIED,
                             "the forecast of queue %s is stale (%s), and window %s would shrink "
                             "from %d to %d replicas: give newer demand, or leave --forecast out",
                             name, forecast_stale_name(cell->stale),
                             model->windows->items[window].name, had, gets);
    }
    return 0;
}

/* Once a queue, whatever becomes of the plan. */
static void note_stale(const struct forecasts *forecasts)
{
    for (size_t i = 0; i < forecasts->count; i++)
        for (size_t at = 0; at < forecasts->items[i]->count; at++)
            if (forecasts->items[i]->cells[at].stale != FORECAST_FRESH) {
                fprintf(stderr,
                        "note: the forecast of queue %s is stale (%s): it may add replicas, "
                        "and takes none away\n",
                        forecasts->queues[i]->name,
                        forecast_stale_name(forecasts->items[i]->cells[at].stale));
                break;
            }
}

int allocate_forecast_check(const struct forecasts *forecasts, const struct allocate_model *model,
                            const struct allocate_plan *plan, const char *folder, struct error *err)
{
    note_stale(forecasts);
    for (size_t i = 0; i < model->windows->count; i++) {
        owned(chars) char *path = text_format("%s/%s.yaml", folder, model->windows->items[i].name);

        if (plan->schedules[i] && file_exists(path) &&
            check_window(forecasts, model, plan, i, path, err) < 0)
            return -1;
    }
    return 0;
}
