/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What programs read of a backtest: JSON and CSV.
 */
#include "broker/backtest/backtest_missed.h"
#include "broker/backtest/backtest_print.h"
#include "broker/sizing/engine_facts.h"
#include "windows/backtest/equal.h"
#include "windows/forecast/forecast_parts.h"

#include <math.h>

static json_t *number_or_null(bool is_told, double number)
{
    return is_told ? json_real(number) : json_null();
}

static json_t *measure_json(const struct backtest *backtest, const struct measure *measure)
{
    return json_make("{s:f, s:o, s:o, s:I, s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:f}", "research_h",
                     measure->research_h, "recovered",
                     number_or_null(backtest->has_recovered, measure->recovered), "attainment",
                     number_or_null(measure->spans > 0, measure->attainment), "occurrences",
                     (json_int_t)measure->spans, "occurrences_met", (json_int_t)measure->spans_met,
                     "late_share", number_or_null(measure->requests > 0, measure->violations),
                     "worst", number_or_null(measure->requests > 0, measure->worst),
                     "moves_per_week", measure->moves_a_week, "production_h", measure->production_h,
                     "transit_h", measure->transit_h, "evicted_h", measure->evicted_h, "shortage_h",
                     measure->shortage_h);
}

/* null: a single week is judged. */
static json_t *held_json(const struct backtest *backtest, const struct backtest_row *row)
{
    return backtest->held_week > 0 ? json_make("{s:f, s:o}", "level", row->held.level, "measure",
                                               measure_json(backtest, &row->held.measure))
                                   : json_null();
}

static json_t *money_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                          const struct backtest_row *row)
{
    return backtest_row(backtest, POLICY_STATIC)
               ? json_real(backtest_money(inputs, backtest, &row->tuned))
               : json_null();
}

static json_t *row_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                        size_t at)
{
    const struct backtest_row *row = &backtest->rows[at];
    double at_equal = 0;
    bool is_known = equal_recovered(backtest, row, inputs->setup.attainment, &at_equal);
    int rank = backtest_rank(inputs, backtest, at);
    json_t *points = json_array();
    json_t *levels = json_array();

    for (size_t i = 0; i < row->policy->level_count; i++)
        json_array_append_new(points,
                              json_make("{s:f, s:o}", "level", row->points[i].level, "measure",
                                        measure_json(backtest, &row->points[i].measure)));
    for (size_t week = backtest->first_week; week < backtest->judged.weeks; week++)
        json_array_append_new(levels, json_real(row->levels[week]));
    return json_make("{s:s, s:s, s:s?, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "policy",
                     row->policy->name, "meaning", row->policy->meaning, "parameter",
                     row->policy->parameter, "is_oracle", (int)row->policy->is_oracle, "rank",
                     rank > 0 ? json_integer(rank) : json_null(), "levels", levels, "measure",
                     measure_json(backtest, &row->tuned), "recovered_at_equal",
                     number_or_null(is_known && row->tuned.spans > 0, at_equal), "held_out",
                     held_json(backtest, row), "money_per_week", money_json(inputs, backtest, row),
                     "frontier", points, "missed", backtest_missed_json(inputs, backtest, row));
}

/* null: it was not asked for. */
static json_t *limit_json(const struct backtest *backtest)
{
    const struct backtest_limit *limit = &backtest->limit;
    const struct backtest_row *oracle = backtest_row(backtest, policies_oracle());

    if (!backtest->has_limit)
        return json_null();
    return json_make("{s:f, s:f, s:o, s:b, s:o}", "node_h_at_least", limit->node_h,
                     "research_h_at_most", limit->research_h, "recovered_at_most",
                     number_or_null(backtest->has_recovered, limit->recovered), "has_moves",
                     (int)limit->has_moves, "oracle_node_h",
                     oracle ? json_real(backtest_node_hours(backtest, &oracle->tuned))
                            : json_null());
}

static json_t *without_json(unsigned without)
{
    json_t *names = json_array();

    for (const struct forecast_part_row *row = forecast_parts; row->name; row++)
        if (without & row->part)
            json_array_append_new(names, json_text(row->name));
    return names;
}

/* The engines of queues whose servers are replicas that serve many requests at once. */
static json_t *engines_json(const struct backtest_inputs *inputs)
{
    json_t *list = json_array();

    for (size_t i = 0; i < inputs->setup.queue_count; i++) {
        const struct engine *engine = service_shape_engine(inputs->queues[i].shape);

        if (engine)
            json_array_append_new(list,
                                  json_make("{s:s, s:o}", "queue", inputs->queues[i].series->queue,
                                            "engine", engine_facts_json(engine)));
    }
    return list;
}

/* The judged time that GPU-hours, moves and money leave out, and the queues that cause it. */
static json_t *unknown_json(const struct backtest_inputs *inputs, const struct backtest *backtest)
{
    const struct coverage *coverage = &backtest->coverage;
    json_t *queues = json_array();

    for (size_t i = 0; i < inputs->setup.queue_count; i++)
        if (coverage->unknown[i] > 0)
            json_array_append_new(
                queues, json_make("{s:s, s:f}", "queue", inputs->queues[i].series->queue, "share",
                                  (double)coverage->unknown[i] / (double)coverage->judged));
    return json_make("{s:f, s:I, s:o}", "share",
                     (double)coverage->left_out / (double)coverage->judged, "weeks",
                     (json_int_t)coverage->blanks, "queues", queues);
}

/* null: no week was played. */
static json_t *choice_json(const struct windows_choice *choice)
{
    json_t *trials;

    if (choice->weeks == 0)
        return json_null();
    trials = json_array();
    for (size_t i = 0; i < WINDOWS_TRIALS; i++)
        json_array_append_new(
            trials,
            json_make("{s:I, s:o}", "windows", (json_int_t)choice->trials[i].windows,
                      "gpu_hours_per_week",
                      number_or_null(isfinite(choice->trials[i].hours), choice->trials[i].hours)));
    return json_make("{s:I, s:o}", "weeks", (json_int_t)choice->weeks, "trials", trials);
}

/* The windows that policies plan by. */
static json_t *windows_json(const struct backtest_inputs *inputs)
{
    return json_make("{s:I, s:b, s:o}", "windows", (json_int_t)inputs->setup.planned->weekly_count,
                     "proposed", (int)(inputs->planned != NULL), "choice",
                     choice_json(&inputs->choice));
}

json_t *backtest_json(const struct backtest_inputs *inputs, const struct backtest *backtest)
{
    json_t *rows = json_array();
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];

    for (size_t i = 0; i < backtest->count; i++)
        json_array_append_new(rows, row_json(inputs, backtest, i));
    return json_make(
        "{s:s, s:s, s:I, s:o, s:o, s:I, s:I, s:i, s:f, s:f, s:o, s:o, s:o, s:s?, s:o}",
        "judged_from", wall_format(course_week(&backtest->judged, backtest->first_week), from),
        "judged_to", wall_format(backtest->judged.end, to), "weeks",
        (json_int_t)backtest_weeks(backtest), "plan_windows", windows_json(inputs), "unknown",
        unknown_json(inputs, backtest), "queues", (json_int_t)inputs->setup.queue_count, "requests",
        (json_int_t)backtest->requests, "nodes", backtest->fleet.nodes, "attainment_wanted",
        inputs->setup.attainment, "price_per_gpu_hour", inputs->price, "without",
        without_json(inputs->setup.without), "engines", engines_json(inputs), "bound",
        limit_json(backtest), "bound_lacks",
        backtest->unbounded ? backtest->unbounded->queue : NULL, "policies", rows);
}

/* Adds nothing if the share is unknown. */
static void add_share(const struct backtest *backtest, double recovered, struct text *out)
{
    if (backtest->has_recovered)
        text_add(out, "%.4f", recovered);
}

static void add_csv(const struct backtest *backtest, const struct policy *policy, const char *level,
                    const struct measure *measure, struct text *out)
{
    text_add(out, "%s,%s,%s,", policy->name, policy->parameter ? policy->parameter : "", level);
    if (measure->spans > 0)
        text_add(out, "%.4f", measure->attainment);
    text_add(out, ",");
    add_share(backtest, measure->recovered, out);
    text_add(out, ",%.1f,%.6f,%.3f,%.1f,%.1f,%.1f,%.1f,%.1f\n", measure->research_h,
             measure->violations, measure->worst, measure->moves_a_week, measure->production_h,
             measure->transit_h, measure->evicted_h, measure->shortage_h);
}

void backtest_csv(const struct backtest *backtest, struct text *out)
{
    text_add(out, "policy,parameter,level,attainment,recovered,research_h,late_share,worst,"
                  "moves_per_week,production_h,transit_h,evicted_h,shortage_h\n");
    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];

        for (size_t at = 0; at < row->policy->level_count; at++) {
            owned(chars) char *level = text_format("%g", row->points[at].level);

            add_csv(backtest, row->policy, level, &row->points[at].measure, out);
        }
        add_csv(backtest, row->policy, "chosen", &row->tuned, out);
    }
    if (!backtest->has_limit)
        return;
    text_add(out, "bound,,,1.0000,");
    add_share(backtest, backtest->limit.recovered, out);
    text_add(out, ",%.1f,,,,%.1f,,,\n", backtest->limit.research_h,
             backtest->limit.node_h * backtest->fleet.gpus_per_node);
}
