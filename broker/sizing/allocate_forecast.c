/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See allocate_forecast.h.
 */
#include "broker/sizing/allocate_forecast.h"

#include "base/file.h"

#include <stdio.h>

enum { SHOWN_MAX = 8 }; /* queues in windows, in a sentence */

struct unplanned_cell {
    const char *queue;
    const char *window;
    const char *why;    /* a name, for programs */
    const char *remedy; /* what to do about it, or at least why */
};

/* The queues in planned windows for which no attainment is claimed.  No forecast scales them, and
   they use last week's demand; or one scales the part of the window that is known. */
struct unplanned {
    ARRAY(struct unplanned_cell) cells;
    size_t asked;  /* all queues in all planned windows */
    size_t scaled; /* of them, in part or as a whole */
    bool is_short; /* one of them is in a window of the week, not in an event */
};

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
            require(scales[window * model->queue_count + queue] >= 0);
        }
    return scales;
}

/* The age of the demand depends on the clock, but the same input must give the same bytes. */
static const char *stale_in_header(const struct forecast_cell *cell)
{
    return cell->stale == FORECAST_OLD ? "" : forecast_stale_name(cell->stale);
}

static bool is_planned(const struct allocate_model *model, size_t window)
{
    return (model->window_end == 0 ||
            (window >= model->window_first && window < model->window_end)) &&
           allocate_has_window(model, window);
}

static void add_unplanned(const struct forecast_cell *cell, const char *queue, const char *window,
                          struct unplanned *out)
{
    enum forecast_lack lack = cell ? forecast_plan_lack(cell) : FORECAST_FORETOLD;
    struct unplanned_cell *item;

    out->scaled += cell && (lack == FORECAST_FORETOLD || lack == FORECAST_PARTLY);
    if (cell && lack == FORECAST_FORETOLD)
        return;
    out->is_short = out->is_short || cell;
    item = array_add(&out->cells);
    item->queue = queue;
    item->window = window;
    item->why = cell ? forecast_lack_name(lack) : "event";
    item->remedy = cell ? forecast_lack_text(lack)
                        : "an event is planned from its hours of last week and its multiplier";
}

static struct unplanned find_unplanned(const struct forecasts *forecasts,
                                       const struct allocate_model *model)
{
    struct unplanned found = { 0 };

    for (size_t window = 0; window < model->windows->count; window++)
        for (size_t queue = 0; queue < model->queue_count && is_planned(model, window); queue++) {
            const char *name = model->queues[queue].name;

            found.asked++;
            add_unplanned(forecasts_find(forecasts, name, window), name,
                          model->windows->items[window].name, &found);
        }
    require(found.cells.count <= found.asked);
    return found;
}

static void owned_unplanned(struct unplanned *unplanned)
{
    array_clear(&unplanned->cells);
}

bool allocate_forecast_is_short(const struct forecasts *forecasts,
                                const struct allocate_model *model)
{
    owned(unplanned) struct unplanned unplanned = find_unplanned(forecasts, model);

    return unplanned.is_short;
}

int allocate_forecast_is_near(const struct forecasts *forecasts, const struct allocate_model *model,
                              const struct forecasts_options *options, struct error *err)
{
    for (size_t window = 0; options->follow_ms > 0 && window < model->windows->count; window++)
        for (size_t queue = 0; queue < model->queue_count && is_planned(model, window); queue++) {
            const struct forecast_cell *cell = forecasts_find(forecasts, model->queues[queue].name,
                                                              window);
            char away[DURATION_TEXT_SIZE];
            char lead[DURATION_TEXT_SIZE];

            if (!cell || cell->away_ms <= options->follow_ms + model->queues[queue].demand->step_ms)
                continue;
            duration_format(cell->away_ms, away);
            return error_set(err, ERROR_INVALID,
                             "window %s begins %s after the end of the demand, and --follow says "
                             "%s: give newer demand%s%s",
                             model->windows->items[window].name, away,
                             duration_format(options->follow_ms, lead),
                             cell->away_ms > DAY_MS ? ", or leave --follow out" : ", or --follow ",
                             cell->away_ms > DAY_MS ? "" : away);
        }
    return 0;
}

static void add_exceptions(const struct unplanned *unplanned, struct text *out)
{
    size_t shown = unplanned->cells.count < SHOWN_MAX ? unplanned->cells.count : SHOWN_MAX;

    if (shown == 0)
        return;
    text_add(out, "NOT planned for, and no attainment is claimed (%zu of %zu queues in windows):",
             unplanned->cells.count, unplanned->asked);
    for (size_t i = 0; i < shown; i++)
        text_add(out, "%s %s in %s (%s)", i > 0 ? "," : "", unplanned->cells.items[i].queue,
                 unplanned->cells.items[i].window, unplanned->cells.items[i].why);
    text_add(out, "%s\n", shown < unplanned->cells.count ? ", ..." : "");
}

/* Adds for how long a plan holds, or when such plans are made. */
static void add_lead(const struct forecasts_options *options, struct text *out)
{
    char lead[DURATION_TEXT_SIZE];

    if (options->again_ms > 0)
        text_add(out,
                 "for the rest of the window in force, by plans that were made when it had "
                 "been for %s)\n",
                 duration_format(options->again_ms, lead));
    else if (options->follow_ms > 0)
        text_add(out, "for the next window alone, by plans that were made %s before it)\n",
                 duration_format(options->follow_ms, lead));
    else
        text_add(out, "for %d days)\n", options->horizon_days);
}

/* An attainment counts days; a pooled target is that of all requests of a window. */
static void add_pooled(const struct allocate_model *model, struct text *out)
{
    size_t pooled = 0;

    for (size_t queue = 0; queue < model->queue_count; queue++)
        pooled += !model->queues[queue].is_each_day;
    if (pooled > 0)
        text_add(out,
                 "%zu of %zu queues have the slo pooled: all days of a window together meet the "
                 "target, and single days may miss it (--slo each-day: each day meets it)\n",
                 pooled, model->queue_count);
}

void allocate_forecast_claim(const struct forecasts *forecasts, const struct allocate_model *model,
                             const struct forecasts_options *options, struct text *out)
{
    owned(unplanned) struct unplanned unplanned = find_unplanned(forecasts, model);

    if (unplanned.scaled == 0) {
        text_add(out, "no forecast could be made: last week's arrivals count as they were\n");
    } else {
        text_add(out, "arrivals are scaled to the forecast's upper bound");
        if (options->attainment > 0)
            text_add(out, "s (%.12g of 100 days of all windows together, ",
                     100 * options->attainment);
        else
            text_add(out, " (90 of 100 days, ");
        add_lead(options, out);
        add_pooled(model, out);
    }
    add_exceptions(&unplanned, out);
}

void allocate_forecast_print(const struct forecasts *forecasts, const struct allocate_model *model)
{
    owned(unplanned) struct unplanned unplanned = find_unplanned(forecasts, model);

    for (size_t i = 0; i < unplanned.cells.count && i < SHOWN_MAX; i++) {
        const struct unplanned_cell *cell = &unplanned.cells.items[i];

        printf("%-16s queue %s: NOT planned for any attainment (%s): %s\n", cell->window,
               cell->queue, cell->why, cell->remedy);
    }
    if (unplanned.cells.count > SHOWN_MAX)
        printf("%zu more queues in windows are not planned for any attainment (-o json lists "
               "them)\n",
               unplanned.cells.count - SHOWN_MAX);
}

json_t *allocate_forecast_json(const struct forecasts *forecasts,
                               const struct allocate_model *model,
                               const struct forecasts_options *options)
{
    owned(unplanned) struct unplanned unplanned = find_unplanned(forecasts, model);
    json_t *list = json_array();

    for (size_t i = 0; i < unplanned.cells.count; i++) {
        const struct unplanned_cell *cell = &unplanned.cells.items[i];

        json_array_append_new(list, json_make("{s:s, s:s, s:s}", "queue", cell->queue, "window",
                                              cell->window, "why", cell->why));
    }
    return json_make(
        "{s:i, s:o, s:o, s:o, s:o}", "horizon_days", options->horizon_days, "follow_s",
        options->follow_ms > 0 ? json_integer(options->follow_ms / SECOND_MS) : json_null(),
        "again_s",
        options->again_ms > 0 ? json_integer(options->again_ms / SECOND_MS) : json_null(),
        "attainment", options->attainment > 0 ? json_real(100 * options->attainment) : json_null(),
        "not_planned", list);
}

void allocate_forecast_header(const struct forecasts *forecasts, const struct allocate_model *model,
                              size_t window, struct text *out)
{
    for (size_t queue = 0; queue < model->queue_count; queue++) {
        const char *name = model->queues[queue].name;
        const struct forecast_cell *cell = forecasts_find(forecasts, name, window);
        enum forecast_lack lack = cell ? forecast_plan_lack(cell) : FORECAST_FORETOLD;

        if (lack != FORECAST_FORETOLD)
            text_add(out, "forecast: %s x %.4f, NOT planned for any attainment (%s)\n", name,
                     cell->scale, forecast_lack_name(lack));
        else if (cell)
            text_add(out, "forecast: %s x %.4f (%s, %s%s%s)\n", name, cell->scale,
                     forecast_method_name(cell->method), conformal_basis_name(cell->basis),
                     stale_in_header(cell)[0] ? ", stale: " : "", stale_in_header(cell));
    }
}

/* The replicas of all workloads that serve the queue. */
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
    require(sum >= 0);
    return sum;
}

/* What the schedule of a window would become. */
struct schedule_change {
    size_t window;
    const struct schedule *stands; /* in the folder */
    const struct schedule *planned;
};

static int check_change(const struct forecasts *forecasts, const struct allocate_model *model,
                        const struct schedule_change *change, struct error *err)
{
    for (size_t queue = 0; queue < model->queue_count; queue++) {
        const char *name = model->queues[queue].name;
        const struct forecast_cell *cell = forecasts_find(forecasts, name, change->window);
        int had = replicas_of(model, change->stands, queue);
        int gets = replicas_of(model, change->planned, queue);

        if (cell && gets < had && forecast_plan_lack(cell) == FORECAST_NO_SHAPE)
            return error_set(err, ERROR_DENIED,
                             "the forecast of queue %s has a bound, but too little arrived in the "
                             "last seven days to be scaled to it (no-shape), and window %s would "
                             "shrink from %d to %d replicas: give newer demand, or leave "
                             "--forecast out",
                             name, model->windows->items[change->window].name, had, gets);
        if (cell && cell->stale != FORECAST_FRESH && gets < had)
            return error_set(err, ERROR_DENIED,
                             "the forecast of queue %s is stale (%s), and window %s would shrink "
                             "from %d to %d replicas: give newer demand, or leave --forecast out",
                             name, forecast_stale_name(cell->stale),
                             model->windows->items[change->window].name, had, gets);
    }
    return 0;
}

/* Reports stale forecasts, once for each queue, even if the plan is refused later. */
static void note_stale(const struct forecasts *forecasts)
{
    for (size_t i = 0; i < forecasts->count; i++)
        for (size_t at = 0; at < forecasts->items[i]->count; at++)
            if (forecasts->items[i]->cells[at].stale != FORECAST_FRESH) {
                fprintf(stderr,
                        "note: the forecast of queue %s is stale (%s): it may add replicas, "
                        "and takes none away\n",
                        forecasts->names[i],
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
        owned(schedule) struct schedule *stands = NULL;

        if (!plan->schedules[i] || !file_exists(path))
            continue;
        stands = schedule_read(path, err);

        const struct schedule_change change = { i, stands, plan->schedules[i] };

        if (!stands || check_change(forecasts, model, &change, err) < 0)
            return -1;
    }
    return 0;
}
