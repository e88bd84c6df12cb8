/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice forecast: what each queue will need in the windows of the next seven days, how sure that
 * is, and how well it was known in the weeks before.
 */
#include "base/input/json.h"
#include "broker/capacity/allocate_inputs.h"
#include "broker/capacity/forecast_in_force.h"
#include "broker/capacity/proposed_days.h"
#include "broker/sizing/backtest_windows.h"
#include "broker/sizing/demand_age.h"
#include "broker/sizing/demand_input.h"
#include "broker/sizing/forecasts.h"
#include "broker/sizing/measures.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/name_bits.h"
#include "broker/terminal/table.h"
#include "windows/calendar/suggest.h"
#include "windows/forecast/forecast_score.h"

#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT_LIMIT = 16 << 20 };

const struct command_option forecast_options[] = {
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip", false },
    { "in-force", 0, NULL, "ask the service for what the schedules in force were planned for",
      false },
    { "score", 0, NULL,
      "show how often the bounds of past days held; each is made from earlier data", false },
    { "without", 0, "PART[,PART]",
      "leave parts of the forecast out, to see what they improve; ? lists the parts", true },
    FORECASTS_OPTIONS,
    PLAIN_QUEUE_OPTIONS,
    { "scale", 0, "X", "with --service: arrivals are multiplied by this (default 1)", false },
    { "plan-windows", 0, "N",
      "with --service: propose at most N windows from the demand, and use them", false },
    DEMAND_INPUT_OPTIONS,
    { "output", 'o', "table|json|yaml|csv", "the form of the answer (default table)", false },
    PAGE_TITLES_OPTION,
    CLIENT_OPTIONS,
    { 0 },
};

static json_t *ratio(double sum, size_t count)
{
    return count > 0 ? json_real(sum / (double)count) : json_null();
}

static json_t *bases_json(const struct forecast_score *score)
{
    json_t *root = json_object();

    for (int basis = CONFORMAL_BASES; basis-- > 0;)
        json_object_set_new(root, conformal_basis_name((enum conformal_basis)basis),
                            json_make("{s:I, s:I}", "days", (json_int_t)score->bases[basis],
                                      "covered", (json_int_t)score->bases_covered[basis]));
    return root;
}

static json_t *score_json(const struct forecast_score *score)
{
    double low;
    double high;

    require(score->covered <= score->scored);
    conformal_share(score->covered, score->scored, &low, &high);
    return json_make("{s:I, s:I, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "days",
                     (json_int_t)score->scored, "covered", (json_int_t)score->covered, "coverage",
                     ratio((double)score->covered, score->scored), "coverage_low", low,
                     "coverage_high", high, "bases", bases_json(score), "loss",
                     ratio(score->loss, score->scored), "loss_last_week",
                     ratio(score->last_week_loss, score->scored), "loss_last_week_10",
                     ratio(score->last_week_10_loss, score->scored), "upper_over_need",
                     score->needs > 0 ? json_real(score->bounds / score->needs) : json_null());
}

/* What is not known is null, never 0. */
static json_t *known(bool is_known, double value)
{
    return is_known ? json_real(value) : json_null();
}

/* Servers are those of the closed form times `ratio`, where that is known (not 0). */
static json_t *cell_json(const char *queue, const char *window, const struct forecast_cell *cell,
                         double ratio)
{
    double times = ratio > 0 ? ratio : 1;
    enum forecast_lack lack = forecast_lack(cell);
    bool is_known = lack == FORECAST_FORETOLD;
    const char *stale = forecast_stale_name(cell->stale);
    json_t *row = json_make(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:o}",
        "queue", queue, "window", window, "servers_last_week",
        known(cell->last > 0, times * cell->last), "servers_point",
        known(is_known, times * cell->point), "servers_lower", known(is_known, times * cell->lower),
        "servers_upper", known(is_known, times * cell->upper), "replay_ratio",
        known(ratio > 0, ratio), "scale", known(is_known && cell->is_scaled, cell->scale), "growth",
        known(is_known, cell->growth), "method",
        is_known ? json_text(forecast_method_name(cell->method)) : json_null(), "basis",
        is_known ? json_text(conformal_basis_name(cell->basis)) : json_null(), "stale",
        stale[0] ? json_text(stale) : json_null(), "days", (json_int_t)cell->past.count,
        "missing_days", (json_int_t)cell->missing, "usually_known",
        known(cell->usually_known > 0, cell->usually_known), "holidays", (json_int_t)cell->holidays,
        "score", score_json(&cell->score));

    json_object_set_new(row, "no_forecast",
                        is_known ? json_null() : json_text(forecast_lack_name(lack)));
    json_object_set_new(row, "remedy",
                        is_known ? json_null() : json_text(forecast_lack_text(lack)));
    return row;
}

static json_t *forecasts_json(const struct forecasts *forecasts, const struct window_set *set,
                              const struct forecasts_options *options)
{
    json_t *list = json_array();
    json_t *queues = json_array();
    struct forecast_score sum = { 0 };

    for (size_t i = 0; i < forecasts->count; i++) {
        const char *name = forecasts->names[i];
        struct forecast_score of_queue = { 0 };

        for (size_t at = 0; at < forecasts->items[i]->count; at++) {
            const struct forecast_cell *cell = &forecasts->items[i]->cells[at];
            double replayed = forecasts->ratios[i] ? forecasts->ratios[i][at] : 0;

            json_array_append_new(list, cell_json(name, set->items[at].name, cell, replayed));
            forecast_score_add(&of_queue, &cell->score);
        }
        json_array_append_new(
            queues, json_make("{s:s, s:o}", "queue", name, "score", score_json(&of_queue)));
        forecast_score_add(&sum, &of_queue);
    }
    return json_make("{s:i, s:o, s:o, s:o, s:o}", "horizon_days", options->horizon_days, "follow_s",
                     options->follow_ms > 0 ? json_integer(options->follow_ms / SECOND_MS)
                                            : json_null(),
                     "forecasts", list, "queues", queues, "score", score_json(&sum));
}

static double number_at(const json_t *row, const char *path)
{
    return json_number_value(json_at(row, path));
}

static void add_number(struct table *table, const json_t *row, const char *key, int digits)
{
    const json_t *value = json_object_get(row, key);

    if (json_is_number(value))
        table_cell(table, "%.*f", digits, json_number_value(value));
    else
        table_cell(table, "-");
}

static void add_notes(const json_t *row, struct text *out)
{
    const char *queue = json_text_or(row, "queue", "");
    const char *window = json_text_or(row, "window", "");
    double usual = number_at(row, "usually_known");

    if (json_text_or(row, "remedy", NULL))
        text_add(out, "no forecast of queue %s in %s (%s): %s.\n", queue, window,
                 json_text_or(row, "no_forecast", ""), json_text_or(row, "remedy", ""));
    else if (usual < 1)
        text_add(out,
                 "queue %s in %s: %.0f %% of the window is unknown each time; the numbers speak of "
                 "the rest.\n",
                 queue, window, 100 * (1 - usual));
}

static void print_forecasts(const json_t *list, struct table_style style)
{
    static const char *const titles[] = { "QUEUE",  "WINDOW",   ">LAST",     ">POINT",  ">LOWER",
                                          ">UPPER", ">REPLAY",  ">SCALE",    ">GROWTH", "METHOD",
                                          "BASIS",  ">MISSING", ">HOLIDAYS", "STALE",   NULL };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(OUTPUT_LIMIT);
    owned(text) struct text *notes = text_new(OUTPUT_LIMIT);
    const json_t *row;
    size_t i;

    json_array_foreach(list, i, row) {
        table_cell(table, "%s", json_text_or(row, "queue", ""));
        table_cell(table, "%s", json_text_or(row, "window", ""));
        add_number(table, row, "servers_last_week", 1);
        add_number(table, row, "servers_point", 1);
        add_number(table, row, "servers_lower", 1);
        add_number(table, row, "servers_upper", 1);
        add_number(table, row, "replay_ratio", 2);
        add_number(table, row, "scale", 2);
        add_number(table, row, "growth", 2);
        table_cell(table, "%s", json_text_or(row, "method", "-"));
        table_cell(table, "%s", json_text_or(row, "basis", "-"));
        table_cell(table, "%" PRId64, json_int_or(row, "missing_days", 0));
        table_cell(table, "%" PRId64, json_int_or(row, "holidays", 0));
        table_cell(table, "%s", json_text_or(row, "stale", "-"));
        add_notes(row, notes);
    }
    table_show(table, style, out);
    printf("%s%s%s", out->chars, notes->chars[0] ? "\n" : "", notes->chars);
}

/* The proposed days, which the calendar does not have. */
static void print_days(const json_t *days)
{
    owned(text) struct text *out = text_new(OUTPUT_LIMIT);

    proposed_days_say(days, out);
    printf("%s%s", out->chars[0] ? "\n" : "", out->chars);
}

static void add_share(struct table *table, bool is_known, double share)
{
    if (is_known)
        table_cell(table, "%.1f", 100 * share);
    else
        table_cell(table, "-");
}

static void add_score(struct table *table, const char *queue, const char *window,
                      const json_t *score)
{
    int64_t days = json_int_or(score, "days", 0);

    table_cell(table, "%s", queue);
    table_cell(table, "%s", window);
    table_cell(table, "%" PRId64, days);
    add_share(table, days > 0, number_at(score, "coverage"));
    add_share(table, days > 0, number_at(score, "coverage_low"));
    add_share(table, days > 0, number_at(score, "coverage_high"));
    table_cell(table, "%" PRId64 "/%" PRId64 "/%" PRId64, json_int_or(score, "bases/rank/days", 0),
               json_int_or(score, "bases/normal/days", 0),
               json_int_or(score, "bases/prior/days", 0));
    add_number(table, score, "loss", 3);
    add_number(table, score, "loss_last_week", 3);
    add_number(table, score, "loss_last_week_10", 3);
}

static void print_scores(const json_t *root, struct table_style style)
{
    static const char *const titles[] = {
        "QUEUE", "WINDOW",     ">DAYS",          ">COVERED_%", ">FROM", ">TO", ">RANK/NORMAL/PRIOR",
        ">LOSS", ">LAST_WEEK", ">LAST_WEEK+10%", NULL
    };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(OUTPUT_LIMIT);
    int64_t follow_ms = json_int_or(root, "follow_s", 0) * SECOND_MS;
    int64_t horizon_days = json_int_or(root, "horizon_days", 0);
    owned(chars) char *every = horizon_days == 1
                                   ? mem_copy_chars("each day")
                                   : text_format("every %" PRId64 " days", horizon_days);
    char lead[DURATION_TEXT_SIZE];
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(root, "forecasts"), i, row)
        add_score(table, json_text_or(row, "queue", ""), json_text_or(row, "window", ""),
                  json_object_get(row, "score"));
    json_array_foreach(json_object_get(root, "queues"), i, row)
        add_score(table, json_text_or(row, "queue", ""), "all", json_object_get(row, "score"));
    add_score(table, "all", "all", json_object_get(root, "score"));
    table_show(table, style, out);
    printf("\n%s", out->chars);
    if (follow_ms > 0)
        printf("As far ahead as a plan that is made %s before its window.\n",
               duration_format(follow_ms, lead));
    else
        printf("As far ahead as a plan that is made again %s.\n", every);
}

struct forecast_command {
    struct command_call *call;
    struct plain_queue queue;
    int64_t plan_windows; /* 0: the default ones */
    struct demand_options demand_options;
    struct forecasts_options wanted;
    struct config *config;    /* or, with --service: */
    struct window_set *usual; /* in --time-zone */
    struct window_set *windows;
    struct demand *demand;
    struct forecasts *forecasts;
};

static void forecast_command_clear(struct forecast_command *command)
{
    forecasts_free(command->forecasts);
    demand_free(command->demand);
    window_set_free(command->windows);
    window_set_free(command->usual);
    config_free(command->config);
}

static int read_options(struct forecast_command *command, struct error *err)
{
    static const char *const more[] = { "scale", "plan-windows", NULL };
    struct command_call *call = command->call;

    if (!call_text(call, "demand"))
        return error_set(err, ERROR_INVALID,
                         "give --demand FILE, or --in-force for the forecast that the service has");
    if (call_argument(call, 0) && call_text(call, "queue"))
        return error_set(err, ERROR_INVALID,
                         "--queue and the argument name the same thing: "
                         "give one");
    command->demand_options = demand_input_options(call, NULL);
    command->wanted = (struct forecasts_options){ .only = call_argument(call, 0),
                                                  .is_confirmed = !call_flag(call, "score") };
    if (plain_queue_read(&command->queue, call, more, err) < 0 ||
        call_int(call, "plan-windows", (struct int_range){ 2, SUGGEST_WINDOWS_MAX },
                 &command->plan_windows, err) < 0)
        return -1;
    if (call_text(call, "queue"))
        command->wanted.only = call_text(call, "queue");
    if (name_bits_without(call, &command->wanted.without, err) < 0)
        return -1;
    return forecasts_options_read(&command->wanted, call, err);
}

/* The default windows, or the requested number, cut at the changes of demand. */
static int choose_windows(struct forecast_command *command, struct error *err)
{
    const struct demand *demand = command->demand;
    struct backtest_queue *queues = mem_new_array(demand->count, sizeof *queues);

    for (size_t i = 0; i < demand->count; i++)
        queues[i] = (struct backtest_queue){
            .series = &demand->series[i],
            .target = command->queue.target,
            .service_s = (double)command->queue.service_ms / SECOND_MS,
            .service_cv = command->queue.service_cv,
            .scale = command->queue.scale,
            .gpus = 1,
        };

    const struct backtest_past past = {
        .queues = queues,
        .queue_count = demand->count,
        .judged = command->usual,
        .until = demand->end,
    };

    command->windows = command->plan_windows == 0
                           ? steal(&command->usual)
                           : backtest_windows(&past, (size_t)command->plan_windows, err);
    mem_free(queues);
    return command->windows ? 0 : -1;
}

/* The windows.  Their time zone is that of the demand's times. */
static const struct window_set *read_windows(struct forecast_command *command, struct error *err)
{
    owned(chars) char *path = NULL;

    if (command->queue.service_ms > 0)
        return command->usual = plain_queue_windows(command->call, err);
    path = config_find(call_text(command->call, "config"), err);
    command->config = path ? config_read(path, err) : NULL;
    return command->config ? command->config->windows : NULL;
}

static int make_forecasts(struct forecast_command *command, struct error *err)
{
    const char *path = call_text(command->call, "demand");
    const struct window_set *windows = read_windows(command, err);

    if (!windows)
        return -1;
    command->demand_options.zone = windows->zone;
    command->demand = demand_input_read(path, &command->demand_options, err);
    if (!command->demand)
        return -1;
    demand_age_note(command->demand, command->wanted.now);
    if (command->config) {
        owned(measures_used) struct measures_used used = { 0 };

        if (measures_take(command->config, command->demand, path, &used, err) < 0)
            return -1;
        command->forecasts = forecasts_new(command->config, command->demand, &command->wanted, err);
    } else if (choose_windows(command, err) == 0) {
        command->forecasts = forecasts_new_plain(&command->queue, command->windows, command->demand,
                                                 &command->wanted, err);
    }
    return command->forecasts ? 0 : -1;
}

static int run(struct forecast_command *command)
{
    struct command_call *call = command->call;
    struct error err = { 0 };

    if (read_options(command, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if (make_forecasts(command, &err) < 0)
        return call_fail(call, EXIT_ERROR, &err);

    owned(json) json_t *root = forecasts_json(
        command->forecasts, command->config ? command->config->windows : command->windows,
        &command->wanted);

    json_object_set_new(root, "demand",
                        demand_input_json(command->demand, &command->demand_options));
    json_object_set_new(root, "days",
                        proposed_days(command->demand, command->config ? command->config->windows
                                                                       : command->windows));
    if (forms_print(call, root, &(struct answer_rows){ "forecasts", "queue" }))
        return EXIT_DONE;
    print_forecasts(json_object_get(root, "forecasts"), forms_style(call));
    print_days(json_object_get(root, "days"));
    if (call_flag(call, "score"))
        print_scores(root, forms_style(call));
    return EXIT_DONE;
}

int cmd_forecast(struct command_call *call)
{
    struct forecast_command command = { .call = call };
    int code = call_flag(call, "in-force") ? forecast_in_force(call) : run(&command);

    forecast_command_clear(&command);
    return code;
}
