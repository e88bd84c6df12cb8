/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecast that the schedules in force were planned for: it comes with them, is kept in the
 * journal with them, and goes when others come without one.  Nothing is decided by it: it is for
 * people.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/planning/forecast_check.h"
#include "broker/service/service_parts.h"
#include "windows/forecast/conformal.h"

#include <string.h>

static const char record_id[] = "in_force";

int forecast_decode(const struct service *service, const json_t *schedules,
                    struct forecast_file **ret_file, struct error *err)
{
    const json_t *value = json_object_get(schedules, FORECAST_FILE_NAME);
    const char *chars = json_string_value(value);
    owned(forecast_file) struct forecast_file *file = NULL;

    *ret_file = NULL;
    if (!value)
        return 0;
    if (!chars)
        return error_set(err, ERROR_INVALID,
                         "schedules/" FORECAST_FILE_NAME ": expected the text of a file");
    file = forecast_file_parse(chars, strlen(chars), FORECAST_FILE_NAME, err);
    if (!file || forecast_check(service->config, file, FORECAST_FILE_NAME, err) < 0)
        return -1;
    *ret_file = steal(&file);
    return 0;
}

void forecast_put(const struct service *service, const json_t *schedules,
                  struct journal_batch *batch)
{
    const json_t *text = json_object_get(schedules, FORECAST_FILE_NAME);
    owned(json) json_t *value = NULL;

    if (!text && service->forecast_rev == 0)
        return; /* there was none, and there is none */
    value = json_make("{ss}", "text", text ? json_string_value(text) : "");
    journal_put(batch, "forecast", record_id, service->forecast_rev, value);
}

void forecast_set(struct service *service, struct forecast_file *file)
{
    if (file || service->forecast_rev > 0)
        service->forecast_rev++;
    forecast_file_free(service->forecast);
    service->forecast = file;
}

static int load_one(void *context, const char *id, uint64_t rev, const json_t *value,
                    struct error *err)
{
    struct service *service = context;
    const char *text;

    if (!text_equal(id, record_id))
        return 0;
    if (json_need_text(value, "text", &text, err) < 0)
        return -1;
    if (text[0] != '\0') {
        service->forecast = forecast_file_parse(text, strlen(text), "forecast", err);
        if (!service->forecast) {
            err->kind = ERROR_CORRUPT; /* it is set aside, and its place is empty */
            return -1;
        }
    }
    service->forecast_rev = rev;
    return 0;
}

int forecast_load(struct service *service, struct error *err)
{
    return journal_load(service->world->journal, "forecast", load_one, service, err);
}

/* ---- for people ---- */

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

static json_t *describe_window(const struct service *service,
                               const struct forecast_file_window *window)
{
    struct wall_time now = loop_wall(service->world->loop);
    struct forecast_need need;
    struct error why = { 0 };
    bool is_known = forecast_need(service->config, window, now, &need, &why) == 0;
    json_t *rows = json_array();

    for (size_t i = 0; i < window->rows.count; i++)
        json_array_append_new(rows, describe_row(&window->rows.items[i]));
    return json_make("{ss so so so sb sb so so so}", "window", window->window, "demand_from",
                     json_wall(window->from), "demand_to", json_wall(window->to), "use_until",
                     json_wall(window->until), "is_forecast", (int)window->is_forecast,
                     "is_outdated", (int)(now.ms >= window->until.ms), "need",
                     is_known ? describe_need(&need, forecast_node_gpus(service->config))
                              : json_null(),
                     "why", is_known ? json_null() : json_text(why.text), "queues", rows);
}

/* The scorecard: each queue over its windows, in the order of the configuration. */
static json_t *describe_scores(const struct service *service, struct score_sum *all)
{
    const struct forecast_file *file = service->forecast;
    json_t *rows = json_array();

    for (size_t q = 0; q < service->config->queue_count; q++) {
        const char *queue = service->config->queues[q].name;
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

json_t *service_forecast(const struct service *service)
{
    const struct forecast_file *file = service->forecast;
    struct wall_time now = loop_wall(service->world->loop);
    struct score_sum all = { 0 };
    json_t *windows = json_array();
    json_t *scores;

    for (size_t i = 0; file && i < file->windows.count; i++)
        json_array_append_new(windows, describe_window(service, &file->windows.items[i]));
    scores = file ? describe_scores(service, &all) : json_array();
    return json_make("{ss so ss so so so}", "kind", "forecast", "at", json_wall(now), "state",
                     state_of(file, now), "windows", windows, "scores", scores, "score",
                     describe_score(&all));
}
