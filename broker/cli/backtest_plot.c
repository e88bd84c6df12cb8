/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Across: the share of stretches that met their target.  The safe end takes most of the picture,
 * since that is where policies are chosen: what is missed is drawn by its root.
 */
#include "broker/cli/backtest_plot.h"

#include <math.h>

enum { LEFT = 70, TOP = 20, WIDTH = 560, HEIGHT = 380, LEGEND = 660, LINE = 26 };

static const double missed_max = 0.5; /* further left is drawn at the border */
static const double recovered_min = -0.2;
static const double recovered_max = 1.1;

static double between(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

static double x_of(double attainment)
{
    double missed = between(1 - attainment, 0, missed_max);

    return LEFT + WIDTH * (1 - sqrt(missed / missed_max));
}

static double y_of(double recovered)
{
    double part = (between(recovered, recovered_min, recovered_max) - recovered_min) /
                  (recovered_max - recovered_min);

    return TOP + HEIGHT * (1 - part);
}

static void add_axes(struct text *out)
{
    static const int met[] = { 50, 70, 80, 90, 95, 98, 100 };

    for (size_t i = 0; i < COUNT_OF(met); i++) {
        double x = x_of(met[i] / 100.0);

        text_add(out,
                 "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                 "<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                 x, TOP, x, TOP + HEIGHT, x, TOP + HEIGHT + 18, met[i]);
    }
    for (int recovered = -20; recovered <= 100; recovered += 20)
        text_add(out,
                 "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                 "<text class=\"axis\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
                 LEFT, y_of(recovered / 100.0), LEFT + WIDTH, y_of(recovered / 100.0), LEFT - 8,
                 y_of(recovered / 100.0) + 4, recovered);
    text_add(out,
             "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">stretches of windows "
             "that met their target, %% (misses on a root scale; 50 and fewer at the "
             "border)</text>\n"
             "<text class=\"axis\" transform=\"translate(18 %d) rotate(-90)\" "
             "text-anchor=\"middle\">research capacity recovered, %% of the oracle's</text>\n",
             LEFT + WIDTH / 2, TOP + HEIGHT + 42, TOP + HEIGHT / 2);
}

static void add_line(const struct backtest_row *row, size_t colour, struct text *out)
{
    const char *separator = "";

    text_add(out, "<polyline class=\"c%zu\" points=\"", colour);
    for (size_t i = 0; i < row->policy->level_count; i++) {
        text_add(out, "%s%.1f,%.1f", separator, x_of(row->points[i].measure.attainment),
                 y_of(row->points[i].measure.recovered));
        separator = " ";
    }
    text_add(out, "\"/>\n");
    for (size_t i = 0; i < row->policy->level_count; i++)
        text_add(
            out,
            "<circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>%s %s %g: %.1f %% "
            "met, %.1f %% recovered</title></circle>\n",
            colour, x_of(row->points[i].measure.attainment), y_of(row->points[i].measure.recovered),
            row->policy->name, row->policy->parameter ? row->policy->parameter : "",
            row->points[i].level, 100 * row->points[i].measure.attainment,
            100 * row->points[i].measure.recovered);
    text_add(out,
             "<circle class=\"c%zu chosen\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>%s as chosen: "
             "%.1f %% met, %.1f %% recovered</title></circle>\n",
             colour, x_of(row->tuned.attainment), y_of(row->tuned.recovered), row->policy->name,
             100 * row->tuned.attainment, 100 * row->tuned.recovered);
}

static void add_legend(const struct backtest *backtest, struct text *out)
{
    int y = TOP + 10;

    for (size_t i = 0; i < backtest->count; i++, y += LINE)
        text_add(out,
                 "<circle class=\"c%zu chosen\" cx=\"%d\" cy=\"%d\" r=\"6\"/>"
                 "<text class=\"axis\" x=\"%d\" y=\"%d\">%s</text>\n",
                 i % BACKTEST_COLOURS, LEGEND, y - 4, LEGEND + 14, y,
                 backtest->rows[i].policy->name);
    text_add(out, "<text class=\"axis\" x=\"%d\" y=\"%d\">large: as chosen</text>\n", LEGEND - 8,
             y + LINE);
}

void backtest_plot(const struct backtest *backtest, double attainment, struct text *out)
{
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 470\" role=\"img\" "
                  "aria-label=\"targets met against capacity recovered\">\n");
    add_axes(out);
    text_add(out, "<line class=\"wanted\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
             x_of(attainment), TOP, x_of(attainment), TOP + HEIGHT);
    if (backtest->has_limit)
        text_add(
            out,
            "<line class=\"bound\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"><title>bound: at "
            "most %.1f %% recovered by whoever meets every target</title></line>\n",
            LEFT, y_of(backtest->limit.recovered), LEFT + WIDTH, y_of(backtest->limit.recovered),
            100 * backtest->limit.recovered);
    for (size_t i = 0; i < backtest->count; i++)
        add_line(&backtest->rows[i], i % BACKTEST_COLOURS, out);
    add_legend(backtest, out);
    text_add(out, "</svg>\n");
}
