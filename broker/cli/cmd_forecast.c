/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice forecast: what each queue will need in the windows of the next seven days, how sure that
 * is, and how well it was known in the weeks before.
 */
#include "base/json.h"
#include "broker/cli/client.h"
#include "broker/cli/commands.h"
#include "broker/cli/forecasts.h"
#include "broker/cli/table.h"

#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT_LIMIT = 16 << 20 };

const struct command_option forecast_options[] = {
    { "demand", 'd', "FILE", "arrivals as CSV, plain or gzip (required)", false },
    { "score", 0, NULL, "how the bounds of past weeks did, each made from the data before it",
      false },
    { "gaps", 0, "FILE", "CSV of times about which nothing is known", false },
    { "missing", 0, "unknown|zero", "what a step without a row means (default unknown)", false },
    { 0 },
};

const char forecast_examples[] = "sluice forecast --demand last-months.csv.gz\n"
                                 "sluice forecast chat --demand last-months.csv.gz --score\n"
                                 "sluice allocate --demand last-months.csv.gz --forecast\n";

const char forecast_text[] =
    "What is forecast is servers: the fewest, in closed form and with a fraction, that would have\n"
    "met the target on each past day of a window.  POINT is the neediest day of the next seven;\n"
    "nine days in ten stay under UPPER.  The method is `profile` (a median of past weeks on a\n"
    "damped trend) only where it beat `last-week` on past weeks.  The bound rests on a rank of "
    "past\n"
    "errors, with fewer than nine of them on a t-margin (normal), with fewer than two on a guess "
    "of\n"
    "a fifth (prior).  A day of which less than nine tenths are known is missing: it is neither\n"
    "fitted nor scored.  A forecast is stale when less than half of the last day is known "
    "(no-data)\n"
    "or when it needed over a tenth more than its bound (overrun).\n"
    "\n"
    "JSON: forecasts: [{queue, window, servers_last_week, servers_point, servers_lower,\n"
    "servers_upper, scale (of last week's arrivals, so that they need the upper), growth (a week,\n"
    "a factor), method (last-week, profile), basis (rank, normal, prior), stale (null, no-data,\n"
    "overrun), days, missing_days, score: {days, covered, coverage, coverage_low, coverage_high\n"
    "(95 %), ranked_days, ranked_covered, loss, loss_last_week, loss_last_week_10 (pinball at "
    "0.9,\n"
    "servers a day; coverage and losses null while there is none)}}], score (of all together).\n";

static json_t *ratio(double sum, size_t count)
{
    return count > 0 ? json_real(sum / (double)count) : json_null();
}

static json_t *score_json(const struct forecast_score *score)
{
    double low;
    double high;

    conformal_share(score->covered, score->scored, &low, &high);
    return json_make("{s:I, s:I, s:o, s:f, s:f, s:I, s:I, s:o, s:o, s:o}", "days",
                     (json_int_t)score->scored, "covered", (json_int_t)score->covered, "coverage",
                     ratio((double)score->covered, score->scored), "coverage_low", low,
                     "coverage_high", high, "ranked_days", (json_int_t)score->ranked,
                     "ranked_covered", (json_int_t)score->ranked_covered, "loss",
                     ratio(score->loss, score->scored), "loss_last_week",
                     ratio(score->last_week_loss, score->scored), "loss_last_week_10",
                     ratio(score->last_week_10_loss, score->scored));
}

static json_t *cell_json(const char *queue, const char *window, const struct forecast_cell *cell)
{
    return json_make(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s, s:o, s:I, s:I, s:o}", "queue", queue,
        "window", window, "servers_last_week", cell->last, "servers_point", cell->point,
        "servers_lower", cell->lower, "servers_upper", cell->upper, "scale", cell->scale, "growth",
        cell->growth, "method", forecast_method_name(cell->method), "basis",
        conformal_basis_name(cell->basis), "stale",
        cell->stale == FORECAST_FRESH ? json_null() : json_string(forecast_stale_name(cell->stale)),
        "days", (json_int_t)cell->past.count, "missing_days", (json_int_t)cell->missing, "score",
        score_json(&cell->score));
}

static json_t *forecasts_json(const struct forecasts *forecasts, const struct window_set *set)
{
    json_t *list = json_array();
    struct forecast_score sum = { 0 };

    for (size_t i = 0; i < forecasts->count; i++)
        for (size_t at = 0; at < forecasts->items[i]->count; at++) {
            const struct forecast_cell *cell = &forecasts->items[i]->cells[at];

            json_array_append_new(list,
                                  cell_json(forecasts->queues[i]->name, set->items[at].name, cell));
            forecast_score_add(&sum, &cell->score);
        }
    return json_make("{s:o, s:o}", "forecasts", list, "score", score_json(&sum));
}

static double number_at(const json_t *row, const char *path)
{
    return json_number_value(json_at(row, path));
}

static void print_forecasts(const json_t *list)
{
    static const char *const titles[] = { "QUEUE",    "WINDOW", ">LAST",   ">POINT", ">LOWER",
                                          ">UPPER",   ">SCALE", ">GROWTH", "METHOD", "BASIS",
                                          ">MISSING", "STALE",  NULL };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(OUTPUT_LIMIT);
    const json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
    {
        table_cell(table, "%s", json_text_or(row, "queue", ""));
        table_cell(table, "%s", json_text_or(row, "window", ""));
        table_cell(table, "%.1f", number_at(row, "servers_last_week"));
        table_cell(table, "%.1f", number_at(row, "servers_point"));
        table_cell(table, "%.1f", number_at(row, "servers_lower"));
        table_cell(table, "%.1f", number_at(row, "servers_upper"));
        table_cell(table, "%.2f", number_at(row, "scale"));
        table_cell(table, "%.2f", number_at(row, "growth"));
        table_cell(table, "%s", json_text_or(row, "method", ""));
        table_cell(table, "%s", json_text_or(row, "basis", ""));
        table_cell(table, "%" PRId64, json_int_or(row, "missing_days", 0));
        table_cell(table, "%s", json_text_or(row, "stale", "-"));
    }
    table_print(table, out);
    fputs(out->chars, stdout);
}

static void add_score(struct table *table, const char *queue, const char *window,
                      const json_t *score)
{
    table_cell(table, "%s", queue);
    table_cell(table, "%s", window);
    table_cell(table, "%" PRId64, json_int_or(score, "days", 0));
    table_cell(table, "%.1f", 100 * number_at(score, "coverage"));
    table_cell(table, "%.1f", 100 * number_at(score, "coverage_low"));
    table_cell(table, "%.1f", 100 * number_at(score, "coverage_high"));
    table_cell(table, "%.3f", number_at(score, "loss"));
    table_cell(table, "%.3f", number_at(score, "loss_last_week"));
    table_cell(table, "%.3f", number_at(score, "loss_last_week_10"));
}

static void print_scores(const json_t *root)
{
    static const char *const titles[] = { "QUEUE",          "WINDOW", ">DAYS", ">COVERED_%",
                                          ">FROM",          ">TO",    ">LOSS", ">LAST_WEEK",
                                          ">LAST_WEEK+10%", NULL };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(OUTPUT_LIMIT);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(root, "forecasts"), i, row)
        add_score(table, json_text_or(row, "queue", ""), json_text_or(row, "window", ""),
                  json_object_get(row, "score"));
    add_score(table, "all", "", json_object_get(root, "score"));
    table_print(table, out);
    printf("\n%s", out->chars);
}

int cmd_forecast(struct command_call *call)
{
    struct demand_options options = { text_equal(call_text_or(call, "missing", ""), "zero"),
                                      call_text(call, "gaps") };
    struct error err = { 0 };

    if (!call_text(call, "demand"))
        return call_usage_error(call, "--demand is required");

    owned(chars) char *path = config_find(call_text(call, "config"), &err);
    owned(config) struct config *config = path ? config_read(path, &err) : NULL;
    owned(demand) struct demand *demand =
        config ? demand_read(call_text(call, "demand"), &options, &err) : NULL;
    owned(forecasts) struct forecasts *forecasts =
        demand ? forecasts_new(config, demand, call_argument(call, 0), &err) : NULL;

    if (!forecasts)
        return call_fail(call, EXIT_ERROR, &err);

    owned(json) json_t *root = forecasts_json(forecasts, config->windows);

    if (client_wants_json(call)) {
        client_print_json(root);
        return EXIT_DONE;
    }
    print_forecasts(json_object_get(root, "forecasts"));
    if (call_flag(call, "score"))
        print_scores(root);
    return EXIT_DONE;
}
