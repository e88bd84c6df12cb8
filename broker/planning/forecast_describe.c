/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A forecast as people ask for it: needs of windows, queues, and the scorecard.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/planning/forecast_check.h"
#include "windows/forecast/conformal.h"

static json_t *time_of(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return json_text(wall_format(wall, text));
}

struct score_sum {
    double days;
    double covered;
    double promised; /* days times their shares */
    double loss;
    double last_week;
    double last_week_10;
};

static void add_score(struct score_sum *sum, const struct forecast_file_row *row)
{
    const struct forecast_file_score *score = &row->score;
    double days = (double)score->days;

    if (row->lack[0] || score->days == 0)
        return;
    sum->days += days;
    sum->covered += (double)score->covered;
    sum->promised += days * row->share;
    sum->loss += days * score->loss;
    sum->last_week += days * score->last_week;
    sum->last_week_10 += days * score->last_week_10;
}

/* A sum over no day is unknown, and not 0. */
static json_t *describe_score(const struct score_sum *sum)
{
    bool is_week_best = sum->last_week <= sum->last_week_10;
    double low, high;

    if (!(sum->days > 0))
        return json_null();
    conformal_share((size_t)sum->covered, (size_t)sum->days, &low, &high);
    return json_make("{sI sI sf sf sf sf sf ss sf}", "occurrences", (json_int_t)sum->days,
                     "covered", (json_int_t)sum->covered, "coverage", sum->covered / sum->days,
                     "coverage_low", low, "coverage_high", high, "coverage_promised",
                     sum->promised / sum->days, "loss", sum->loss / sum->days, "baseline",
                     is_week_best ? "last week" : "last week + 10 %", "baseline_loss",
                     (is_week_best ? sum->last_week : sum->last_week_10) / sum->days);
}

static json_t *describe_row(const struct forecast_file_row *row)
{
    struct score_sum sum = { 0 };
    json_t *value = json_make("{ss sI sf}", "queue", row->queue, "replicas",
                              (json_int_t)row->replicas, "gpus", row->gpus);
    bool is_known = !row->lack[0];

    add_score(&sum, row);
    json_object_set_new(value, "no_forecast", is_known ? json_null() : json_text(row->lack));
    json_object_set_new(value, "point", is_known ? json_real(row->point) : json_null());
    json_object_set_new(value, "lower", is_known ? json_real(row->lower) : json_null());
    json_object_set_new(value, "share", is_known ? json_real(row->share) : json_null());
    json_object_set_new(value, "method", is_known ? json_text(row->method) : json_null());
    json_object_set_new(value, "basis", is_known ? json_text(row->basis) : json_null());
    json_object_set_new(value, "stale", row->stale[0] ? json_text(row->stale) : json_null());
    json_object_set_new(value, "score", describe_score(&sum));
    return value;
}

static json_t *describe_need(const struct forecast_need *need, int64_t node_gpus)
{
    json_t *value = json_make("{s{sf sf sf}}", "gpus", "lower", need->lower, "point", need->point,
                              "bound", need->bound);

    json_object_set_new(value, "nodes",
                        node_gpus > 0
                            ? json_make("{sf sf sf}", "lower", need->lower / (double)node_gpus,
                                        "point", need->point / (double)node_gpus, "bound",
                                        need->bound / (double)node_gpus)
                            : json_null());
    return value;
}

static json_t *describe_window(const struct config *config, struct wall_time now,
                               const struct forecast_file_window *window)
{
    struct forecast_need need;
    struct error why = { 0 };
    bool is_known = forecast_need(config, window, now, &need, &why) == 0;
    json_t *rows = json_array();

    for (size_t i = 0; i < window->rows.count; i++)
        json_array_append_new(rows, describe_row(&window->rows.items[i]));
    return json_make("{ss so so so sb sb so so so}", "window", window->window, "demand_from",
                     time_of(window->from), "demand_to", time_of(window->to), "use_until",
                     time_of(window->until), "is_forecast", (int)window->is_forecast, "is_outdated",
                     (int)(now.ms >= window->until.ms), "need",
                     is_known ? describe_need(&need, forecast_node_gpus(config)) : json_null(),
                     "why", is_known ? json_null() : json_text(why.text), "queues", rows);
}

/* The scorecard: each queue over its windows, in the order of the configuration. */
static json_t *describe_scores(const struct config *config, const struct forecast_file *file,
                               struct score_sum *all)
{
    json_t *rows = json_array();

    for (size_t q = 0; q < config->queue_count; q++) {
        const char *queue = config->queues[q].name;
        struct score_sum sum = { 0 };
        bool is_named = false;

        for (size_t i = 0; i < file->windows.count; i++)
            for (size_t k = 0; k < file->windows.items[i].rows.count; k++) {
                const struct forecast_file_row *row = &file->windows.items[i].rows.items[k];

                if (!text_equal(row->queue, queue))
                    continue;
                is_named = true;
                add_score(&sum, row);
                add_score(all, row);
            }
        if (is_named)
            json_array_append_new(
                rows, json_make("{ss so}", "queue", queue, "score", describe_score(&sum)));
    }
    return rows;
}

/* "none", "not-asked", "outdated", "current". */
static const char *state_of(const struct forecast_file *file, struct wall_time now)
{
    bool is_forecast = false;
    bool is_outdated = false;

    for (size_t i = 0; file && i < file->windows.count; i++) {
        is_forecast |= file->windows.items[i].is_forecast;
        is_outdated |= now.ms >= file->windows.items[i].until.ms;
    }
    if (!file || file->windows.count == 0)
        return "none";
    if (!is_forecast)
        return "not-asked";
    return is_outdated ? "outdated" : "current";
}

json_t *forecast_describe(const struct config *config, const struct forecast_file *file,
                          struct wall_time now)
{
    struct score_sum all = { 0 };
    json_t *windows = json_array();
    json_t *scores;

    for (size_t i = 0; file && i < file->windows.count; i++)
        json_array_append_new(windows, describe_window(config, now, &file->windows.items[i]));
    scores = file ? describe_scores(config, file, &all) : json_array();
    return json_make("{ss so ss so so so}", "kind", "forecast", "at", time_of(now), "state",
                     state_of(file, now), "windows", windows, "scores", scores, "score",
                     describe_score(&all));
}
