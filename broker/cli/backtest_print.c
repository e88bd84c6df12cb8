/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See backtest_print.h; the page is in backtest_html.c.
 */
#include "broker/cli/backtest_print.h"

#include "broker/cli/table.h"

#include <inttypes.h>

const char *const backtest_caveats[] = {
    "The oracle is found by descent: a better one may exist, and then all shares are a little "
    "lower. By how much at most, the bound says; it holds for whoever meets every target, and a "
    "policy that misses some may pass it.",
    "Lead times and evicted work are constants here; in a real fleet they vary, and machines can "
    "be "
    "out of stock.",
    "A policy's replicas start and stop with its nodes' slots; images and models that load slowly "
    "count as lead time only as far as --up says so.",
    "One recorded past is one sample: with few weeks the shares of targets met are uncertain by "
    "several per cent.",
    "Arrivals inside a step of the record are drawn anywhere in it; bursts shorter than a step are "
    "not in it.",
    NULL,
};

static size_t weeks_judged(const struct backtest *backtest)
{
    return backtest->judged.weeks - backtest->first_week;
}

/* A week's money over that of static-peak. */
static double money(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    const struct measure *measure)
{
    return (measure->research_h - backtest->rows[POLICY_STATIC].tuned.research_h) * inputs->price /
           (double)weeks_judged(backtest);
}

/* 1 for the policy that recovers most of those that may be ranked; 0: it may not. */
static int rank_of(const struct backtest_inputs *inputs, const struct backtest *backtest,
                   size_t row)
{
    const struct backtest_row *rows = backtest->rows;
    int rank = 1;

    if (rows[row].policy->is_oracle || !backtest_is_ranked(inputs, &rows[row].tuned))
        return 0;
    for (size_t i = 0; i < backtest->count; i++)
        rank += !rows[i].policy->is_oracle && backtest_is_ranked(inputs, &rows[i].tuned) &&
                rows[i].tuned.research_h > rows[row].tuned.research_h;
    return rank;
}

static void add_level(struct table *table, const struct backtest *backtest,
                      const struct backtest_row *row)
{
    size_t last = backtest->judged.weeks - 1;
    double low = row->levels[last];
    double high = low;

    for (size_t week = backtest->first_week; week <= last; week++) {
        low = row->levels[week] < low ? row->levels[week] : low;
        high = row->levels[week] > high ? row->levels[week] : high;
    }
    if (!row->policy->parameter)
        table_cell(table, "-");
    else if (low < high)
        table_cell(table, "%g-%g", low, high);
    else
        table_cell(table, "%g", low);
}

static void add_row(struct table *table, const struct backtest_inputs *inputs,
                    const struct backtest *backtest, size_t at)
{
    const struct backtest_row *row = &backtest->rows[at];
    const struct measure *measure = &row->tuned;
    const struct backtest_point *best = backtest_best(row, inputs->setup.attainment);
    int rank = rank_of(inputs, backtest, at);

    table_cell(table, "%s", row->policy->name);
    add_level(table, backtest, row);
    if (row->policy->is_oracle)
        table_cell(table, "-");
    else if (rank > 0)
        table_cell(table, "%d", rank);
    else
        table_cell(table, "below");
    table_cell(table, "%.1f", 100 * measure->attainment);
    table_cell(table, "%.1f", 100 * measure->recovered);
    if (best)
        table_cell(table, "%.1f", 100 * best->measure.recovered);
    else
        table_cell(table, "-");
    table_cell(table, "%.0f", measure->research_h);
    table_cell(table, "%.0f", money(inputs, backtest, measure));
    table_cell(table, "%.2f", 100 * measure->violations);
    table_cell(table, "%.1f", measure->worst);
    table_cell(table, "%.1f", measure->moves_a_week);
    table_cell(table, "%.0f", measure->transit_h);
    table_cell(table, "%.0f", measure->evicted_h);
    table_cell(table, "%.1f", measure->shortage_h);
}

/* Only what is said of whoever meets every target. */
static void add_limit(struct table *table, const struct backtest *backtest)
{
    table_cell(table, "bound");
    table_cell(table, "-");
    table_cell(table, "-");
    table_cell(table, "100.0");
    table_cell(table, "<=%.1f", 100 * backtest->limit.recovered);
    table_cell(table, "-");
    table_cell(table, "<=%.0f", backtest->limit.research_h);
    for (int i = 0; i < 7; i++)
        table_cell(table, "-");
}

/* The level was chosen without a look at these weeks; that holds of nothing else. */
static void print_held(const struct backtest *backtest, struct text *out)
{
    static const char *const titles[] = { "HELD_OUT", ">LEVEL", ">MET_%", ">RECOVERED_%", NULL };
    owned(table) struct table *table = table_new(titles);
    size_t chosen_on = backtest->held_week - backtest->first_week;

    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];

        if (row->policy->is_oracle)
            continue;
        table_cell(table, "%s", row->policy->name);
        table_cell(table, "%g", row->held.level);
        table_cell(table, "%.1f", 100 * row->held.measure.attainment);
        table_cell(table, "%.1f", 100 * row->held.measure.recovered);
    }
    text_add(out, "\nLevels that were the best of the first %zu weeks judged, on the last %zu:\n",
             chosen_on, backtest->judged.weeks - backtest->held_week);
    table_print(table, out);
}

struct lines {
    struct text *out;
};

static void print_line(void *context, const char *text)
{
    struct lines *lines = context;

    text_add(lines->out, "%s\n", text);
}

void backtest_print(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    struct text *out)
{
    static const char *const titles[] = { "POLICY",      ">LEVEL",       ">RANK",
                                          ">MET_%",      ">RECOVERED_%", ">AT_EQUAL_%",
                                          ">RESEARCH_H", ">MONEY/W",     ">LATE_%",
                                          ">WORST_X",    ">MOVES/W",     ">TRANSIT_H",
                                          ">EVICTED_H",  ">SHORT_H",     NULL };
    owned(table) struct table *table = table_new(titles);
    struct lines lines = { out };

    for (size_t i = 0; i < backtest->count; i++)
        add_row(table, inputs, backtest, i);
    add_limit(table, backtest);
    table_print(table, out);
    if (backtest->held_week > 0)
        print_held(backtest, out);
    text_add(out, "\n");
    backtest_basis(inputs, backtest, print_line, &lines);
}

static void say(void (*line)(void *context, const char *text), void *context, char *text)
{
    line(context, text);
    mem_free(text);
}

static void say_limit(const struct backtest *backtest,
                      void (*line)(void *context, const char *text), void *context)
{
    const struct measure *oracle = &backtest->rows[policies_oracle()].tuned;
    double taken_h = backtest_node_hours(backtest, oracle);

    say(line, context,
        text_format("Bound: whoever meets every target needs %.0f node-hours at least%s, provably; "
                    "the oracle takes %.0f, %.1f %% more.",
                    backtest->limit.node_h,
                    backtest->limit.has_moves ? ", moves counted" : ", moves not counted", taken_h,
                    backtest->limit.node_h > 0 ? 100 * (taken_h / backtest->limit.node_h - 1) : 0));
}

void backtest_basis(const struct backtest_inputs *inputs, const struct backtest *backtest,
                    void (*line)(void *context, const char *text), void *context)
{
    const struct fleet *fleet = &backtest->fleet;
    const struct measure *any = &backtest->rows[POLICY_STATIC].tuned;
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];
    char up[DURATION_TEXT_SIZE];
    char down[DURATION_TEXT_SIZE];

    say(line, context,
        text_format("Judged: %zu weeks from %s to %s, each planned from what lies before it; %zu "
                    "stretches of windows of %zu queues, %" PRId64 " requests.",
                    weeks_judged(backtest),
                    wall_format(course_week(&backtest->judged, backtest->first_week), from),
                    wall_format(backtest->judged.end, to), any->spans, inputs->setup.queue_count,
                    backtest->requests));
    say(line, context,
        text_format("Met: the wait at the percentile is within the target in both classes. Below "
                    "%g %% a policy is ranked on that alone (below).",
                    inputs->attainment));
    say(line, context,
        text_format(
            "Recovered: research GPU-hours over those of static-peak, as a share of what %s "
            "recovers; at equal: the best level, in hindsight, that met %g %%.",
            policies[policies_oracle()].name, inputs->attainment));
    say_limit(backtest, line, context);
    say(line, context,
        text_format(
            "Fleet: %d nodes of %d GPUs; %s in transit to production, %s back, %g GPU-hours "
            "of research lost with each node taken.",
            fleet->nodes, fleet->gpus_per_node, duration_format(fleet->up_ms, up),
            duration_format(fleet->down_ms, down), fleet->evicted_h));
    say(line, context,
        text_format("Money: %.2f per GPU-hour (--price), a week, over static-peak.",
                    inputs->price));
    if (inputs->load > 0)
        say(line, context,
            text_format("Scaled: each queue's arrivals keep their shape and get a mean load of %g "
                        "servers (--load).",
                        inputs->load));
    else if (inputs->scale < 1 || inputs->scale > 1)
        say(line, context,
            text_format("Scaled: arrivals are multiplied by %g (--scale).", inputs->scale));
    if (inputs->planned)
        say(line, context,
            text_format("Windows: policies plan by %zu windows proposed from what lies before the "
                        "first week judged (--plan-windows).",
                        inputs->planned->weekly_count));
}

static json_t *measure_json(const struct measure *measure)
{
    return json_make("{s:f, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "research_h",
                     measure->research_h, "recovered", measure->recovered, "attainment",
                     measure->attainment, "stretches", (json_int_t)measure->spans, "stretches_met",
                     (json_int_t)measure->spans_met, "late_share", measure->violations, "worst",
                     measure->worst, "moves_per_week", measure->moves_a_week, "production_h",
                     measure->production_h, "transit_h", measure->transit_h, "evicted_h",
                     measure->evicted_h, "shortage_h", measure->shortage_h);
}

/* null: a single week is judged. */
static json_t *held_json(const struct backtest *backtest, const struct backtest_row *row)
{
    return backtest->held_week > 0 ? json_make("{s:f, s:o}", "level", row->held.level, "measure",
                                               measure_json(&row->held.measure))
                                   : json_null();
}

static json_t *row_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                        size_t at)
{
    const struct backtest_row *row = &backtest->rows[at];
    const struct backtest_point *best = backtest_best(row, inputs->setup.attainment);
    int rank = rank_of(inputs, backtest, at);
    json_t *points = json_array();
    json_t *levels = json_array();

    for (size_t i = 0; i < row->policy->level_count; i++)
        json_array_append_new(points, json_make("{s:f, s:o}", "level", row->points[i].level,
                                                "measure", measure_json(&row->points[i].measure)));
    for (size_t week = backtest->first_week; week < backtest->judged.weeks; week++)
        json_array_append_new(levels, json_real(row->levels[week]));
    return json_make("{s:s, s:s, s:s?, s:b, s:o, s:o, s:o, s:o, s:o, s:f, s:o}", "policy",
                     row->policy->name, "meaning", row->policy->meaning, "parameter",
                     row->policy->parameter, "is_oracle", (int)row->policy->is_oracle, "rank",
                     rank > 0 ? json_integer(rank) : json_null(), "levels", levels, "measure",
                     measure_json(&row->tuned), "recovered_at_equal",
                     best ? json_real(best->measure.recovered) : json_null(), "held_out",
                     held_json(backtest, row), "money_per_week",
                     money(inputs, backtest, &row->tuned), "frontier", points);
}

static json_t *limit_json(const struct backtest *backtest)
{
    const struct backtest_limit *limit = &backtest->limit;
    const struct measure *oracle = &backtest->rows[policies_oracle()].tuned;

    return json_make("{s:f, s:f, s:f, s:b, s:f}", "node_h_at_least", limit->node_h,
                     "research_h_at_most", limit->research_h, "recovered_at_most", limit->recovered,
                     "has_moves", (int)limit->has_moves, "oracle_node_h",
                     backtest_node_hours(backtest, oracle));
}

json_t *backtest_json(const struct backtest_inputs *inputs, const struct backtest *backtest)
{
    json_t *rows = json_array();
    char from[WALL_TEXT_SIZE];
    char to[WALL_TEXT_SIZE];

    for (size_t i = 0; i < backtest->count; i++)
        json_array_append_new(rows, row_json(inputs, backtest, i));
    return json_make(
        "{s:s, s:s, s:I, s:I, s:I, s:i, s:f, s:f, s:o, s:o}", "judged_from",
        wall_format(course_week(&backtest->judged, backtest->first_week), from), "judged_to",
        wall_format(backtest->judged.end, to), "weeks", (json_int_t)weeks_judged(backtest),
        "queues", (json_int_t)inputs->setup.queue_count, "requests", (json_int_t)backtest->requests,
        "nodes", backtest->fleet.nodes, "attainment_wanted", inputs->setup.attainment,
        "price_per_gpu_hour", inputs->price, "bound", limit_json(backtest), "policies", rows);
}

static void add_csv(const struct backtest_row *row, const char *level,
                    const struct measure *measure, struct text *out)
{
    text_add(out, "%s,%s,%s,%.4f,%.4f,%.1f,%.6f,%.3f,%.1f,%.1f,%.1f,%.1f,%.1f\n", row->policy->name,
             row->policy->parameter ? row->policy->parameter : "", level, measure->attainment,
             measure->recovered, measure->research_h, measure->violations, measure->worst,
             measure->moves_a_week, measure->production_h, measure->transit_h, measure->evicted_h,
             measure->shortage_h);
}

void backtest_csv(const struct backtest *backtest, struct text *out)
{
    text_add(out, "policy,parameter,level,attainment,recovered,research_h,late_share,worst,"
                  "moves_per_week,production_h,transit_h,evicted_h,shortage_h\n");
    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];

        for (size_t at = 0; at < row->policy->level_count; at++) {
            owned(chars) char *level = text_format("%g", row->points[at].level);

            add_csv(row, level, &row->points[at].measure, out);
        }
        add_csv(row, "chosen", &row->tuned, out);
    }
    text_add(out, "bound,,,1.0000,%.4f,%.1f,,,,%.1f,,,\n", backtest->limit.recovered,
             backtest->limit.research_h, backtest->limit.node_h * backtest->fleet.gpus_per_node);
}
