/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tables of backtest_print.h.
 */
#include "broker/backtest/backtest_print.h"

#include "broker/backtest/backtest_missed.h"
#include "broker/terminal/table.h"
#include "windows/backtest/equal.h"

double backtest_money(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      const struct measure *measure)
{
    require(backtest_row(backtest, POLICY_STATIC) && backtest_counted_weeks(backtest) > 0);
    return (measure->research_h - backtest_row(backtest, POLICY_STATIC)->tuned.research_h) *
           inputs->price / backtest_counted_weeks(backtest);
}

int backtest_rank(const struct backtest_inputs *inputs, const struct backtest *backtest, size_t row)
{
    const struct backtest_row *rows = backtest->rows;
    int rank = 1;

    if (rows[row].policy->is_oracle || !backtest_is_ranked(inputs, &rows[row].tuned))
        return 0;
    for (size_t i = 0; i < backtest->count; i++)
        rank += !rows[i].policy->is_oracle && backtest_is_ranked(inputs, &rows[i].tuned) &&
                rows[i].tuned.research_h > rows[row].tuned.research_h;
    require(rank >= 1 && (size_t)rank <= backtest->count);
    return rank;
}

static void add_level(struct table *table, const struct backtest *backtest,
                      const struct backtest_row *row)
{
    require(backtest->first_week < backtest->judged.weeks);

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

static void add_share(struct table *table, bool is_known, double share)
{
    if (is_known)
        table_cell(table, "%.1f", 100 * share);
    else
        table_cell(table, "-");
}

static void add_row(struct table *table, const struct backtest_inputs *inputs,
                    const struct backtest *backtest, size_t at)
{
    const struct backtest_row *row = &backtest->rows[at];
    const struct measure *measure = &row->tuned;
    double at_equal = 0;
    bool is_known = equal_recovered(backtest, row, inputs->setup.attainment, &at_equal);
    int rank = backtest_rank(inputs, backtest, at);

    table_cell(table, "%s", row->policy->name);
    add_level(table, backtest, row);
    if (row->policy->is_oracle || measure->spans == 0)
        table_cell(table, "-");
    else if (rank > 0)
        table_cell(table, "%d", rank);
    else
        table_cell(table, "below");
    add_share(table, measure->spans > 0, measure->attainment);
    add_share(table, backtest->has_recovered, measure->recovered);
    add_share(table, is_known && measure->spans > 0, at_equal);
    table_cell(table, "%.0f", measure->research_h);
    if (backtest_row(backtest, POLICY_STATIC))
        table_cell(table, "%.0f", backtest_money(inputs, backtest, measure));
    else
        table_cell(table, "-");
    if (measure->requests > 0) {
        table_cell(table, "%.2f", 100 * measure->violations);
        table_cell(table, "%.1f", measure->worst);
    } else {
        table_cell(table, "-");
        table_cell(table, "-");
    }
    table_cell(table, "%.1f", measure->moves_a_week);
    table_cell(table, "%.0f", measure->transit_h);
    table_cell(table, "%.0f", measure->evicted_h);
    table_cell(table, "%.1f", measure->shortage_h);
}

/* Adds the bound, which holds only for policies that meet every target. */
static void add_limit(struct table *table, const struct backtest *backtest)
{
    table_cell(table, "bound");
    table_cell(table, "-");
    table_cell(table, "-");
    table_cell(table, "100.0");
    if (backtest->has_recovered)
        table_cell(table, "<=%.1f", 100 * backtest->limit.recovered);
    else
        table_cell(table, "-");
    table_cell(table, "-");
    table_cell(table, "<=%.0f", backtest->limit.research_h);
    for (int i = 0; i < 7; i++)
        table_cell(table, "-");
}

/* The level was chosen without these weeks; other settings were not. */
static void print_held(const struct backtest *backtest, struct text *out)
{
    static const char *const titles[] = { "HELD_OUT", ">LEVEL", ">MET_%", ">RECOVERED_%", NULL };
    owned(table) struct table *table = table_new(titles);
    size_t chosen_on = backtest->held_week - backtest->first_week;

    require(backtest->held_week > backtest->first_week);
    require(backtest->held_week < backtest->judged.weeks);

    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];

        if (row->policy->is_oracle)
            continue;
        table_cell(table, "%s", row->policy->name);
        table_cell(table, "%g", row->held.level);
        add_share(table, row->held.measure.spans > 0, row->held.measure.attainment);
        add_share(table, backtest->has_recovered, row->held.measure.recovered);
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
    if (backtest->has_limit)
        add_limit(table, backtest);
    table_print(table, out);
    if (backtest->held_week > 0)
        print_held(backtest, out);
    if (call_flag(inputs->call, "missed"))
        backtest_missed_print(inputs, backtest, out);
    text_add(out, "\n");
    backtest_basis(inputs, backtest, print_line, &lines);
}
