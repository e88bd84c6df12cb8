/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Across: the share of window occurrences that met their target.  The safe end takes most of the
 * picture, since that is where policies are chosen: the axis is the square root of the share that
 * missed.
 */
#include "broker/backtest/backtest_plot.h"

#include "broker/terminal/plot_axis.h"

#include <math.h>

enum { LEFT = 70, TOP = 20, WIDTH = 560, HEIGHT = 380, LEGEND = 660, LINE = 26 };

struct picture {
    const struct backtest *backtest;
    struct plot_axis met;    /* per cent; */
    struct plot_axis height; /* per cent recovered, or GPU-hours */
};

static double value_of(const struct picture *picture, const struct measure *measure)
{
    return picture->backtest->has_recovered ? 100 * measure->recovered : measure->research_h;
}

static double x_at(const struct picture *picture, double met)
{
    require(met <= 100);
    return LEFT + WIDTH * (1 - sqrt(1 - plot_axis_part(&picture->met, met)));
}

static double x_of(const struct picture *picture, const struct measure *measure)
{
    return x_at(picture, 100 * measure->attainment);
}

static double y_at(const struct picture *picture, double value)
{
    return TOP + HEIGHT * (1 - plot_axis_part(&picture->height, value));
}

static double y_of(const struct picture *picture, const struct measure *measure)
{
    return y_at(picture, value_of(picture, measure));
}

static void count_point(struct picture *picture, const struct measure *measure)
{
    plot_axis_count(&picture->met, 100 * measure->attainment);
    plot_axis_count(&picture->height, value_of(picture, measure));
}

static void count_points(struct picture *picture)
{
    for (size_t row = 0; row < picture->backtest->count; row++) {
        const struct backtest_row *item = &picture->backtest->rows[row];

        for (size_t i = 0; i < item->policy->level_count; i++)
            count_point(picture, &item->points[i].measure);
        count_point(picture, &item->tuned);
    }
}

/* GPU-hours from 0; all that were measured. */
static struct plot_axis hours_axis(const struct backtest *backtest)
{
    double most = 0;

    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].policy->level_count; i++)
            most = fmax(most, backtest->rows[row].points[i].measure.research_h);
    return plot_axis_of(&most, 1);
}

static void set_axes(struct picture *picture)
{
    picture->met = (struct plot_axis){ .from = 50, .to = 100 };
    picture->height = picture->backtest->has_recovered
                          ? (struct plot_axis){ .from = -20, .to = 110, .step = 20 }
                          : hours_axis(picture->backtest);
    require(picture->height.step > 0 && picture->height.from < picture->height.to);
    count_points(picture);
}

static void add_scales(const struct picture *picture, struct text *out)
{
    static const int met[] = { 50, 70, 80, 90, 95, 98, 100 };
    const struct plot_axis *height = &picture->height;

    for (size_t i = 0; i < COUNT_OF(met); i++) {
        double x = x_at(picture, met[i]);

        text_add(out,
                 "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                 "<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
                 x, TOP, x, TOP + HEIGHT, x, TOP + HEIGHT + 18, met[i]);
    }
    for (double value = height->from; value <= height->to * (1 + 1e-9); value += height->step)
        text_add(out,
                 "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                 "<text class=\"axis\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                 LEFT, y_at(picture, value), LEFT + WIDTH, y_at(picture, value), LEFT - 8,
                 y_at(picture, value) + 4, value);
    text_add(out,
             "<text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">window occurrences "
             "that met their target, %% (misses on a root scale, from 50)</text>\n"
             "<text class=\"axis\" transform=\"translate(18 %d) rotate(-90)\" "
             "text-anchor=\"middle\">%s</text>\n",
             LEFT + WIDTH / 2, TOP + HEIGHT + 42, TOP + HEIGHT / 2,
             picture->backtest->has_recovered
                 ? "research capacity recovered, % of the oracle's (from -20)"
                 : "research GPU-hours (from 0)");
}

static void add_line(const struct picture *picture, const struct backtest_row *row,
                     struct text *out)
{
    size_t colour = backtest_colour(row->policy);
    const char *unit = picture->backtest->has_recovered ? "% recovered" : "GPU-hours";
    const char *separator = "";

    text_add(out, "<polyline class=\"c%zu\" points=\"", colour);
    for (size_t i = 0; i < row->policy->level_count; i++) {
        text_add(out, "%s%.1f,%.1f", separator, x_of(picture, &row->points[i].measure),
                 y_of(picture, &row->points[i].measure));
        separator = " ";
    }
    text_add(out, "\"/>\n");
    for (size_t i = 0; i < row->policy->level_count; i++) {
        const struct measure *measure = &row->points[i].measure;

        text_add(out,
                 "<circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>%s %s %g: "
                 "%.1f %% met, %.1f %s</title></circle>\n",
                 colour, x_of(picture, measure), y_of(picture, measure), row->policy->name,
                 row->policy->parameter ? row->policy->parameter : "", row->points[i].level,
                 100 * measure->attainment, value_of(picture, measure), unit);
    }
    text_add(out,
             "<circle class=\"c%zu chosen\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>%s as chosen: "
             "%.1f %% met, %.1f %s</title></circle>\n",
             colour, x_of(picture, &row->tuned), y_of(picture, &row->tuned), row->policy->name,
             100 * row->tuned.attainment, value_of(picture, &row->tuned), unit);
}

static void add_legend(const struct backtest *backtest, struct text *out)
{
    int y = TOP + 10;

    for (size_t i = 0; i < backtest->count; i++, y += LINE)
        text_add(out,
                 "<circle class=\"c%zu chosen\" cx=\"%d\" cy=\"%d\" r=\"6\"/>"
                 "<text class=\"axis\" x=\"%d\" y=\"%d\">%s</text>\n",
                 backtest_colour(backtest->rows[i].policy), LEGEND, y - 4, LEGEND + 14, y,
                 backtest->rows[i].policy->name);
    text_add(out, "<text class=\"axis\" x=\"%d\" y=\"%d\">large: as chosen</text>\n", LEGEND - 8,
             y + LINE);
}

/* The value of the bound on the vertical axis. */
static double limit_value(const struct backtest *backtest)
{
    return backtest->has_recovered ? 100 * backtest->limit.recovered : backtest->limit.research_h;
}

/* A bound beyond the picture is said below it. */
static void add_limit(const struct picture *picture, struct text *out)
{
    const struct backtest *backtest = picture->backtest;
    double most = limit_value(backtest);

    if (backtest->has_limit && most <= picture->height.to)
        text_add(out,
                 "<line class=\"bound\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\">"
                 "<title>bound: at most %.1f by a policy that meets every target</title></line>\n",
                 LEFT, y_at(picture, most), LEFT + WIDTH, y_at(picture, most), most);
}

static void add_notes(const struct picture *picture, struct text *out)
{
    const struct backtest *backtest = picture->backtest;
    owned(text) struct text *notes = text_new(TEXT_UNBOUNDED);
    double most = limit_value(backtest);

    if (picture->met.above + picture->met.below > 0) {
        text_add(notes, "Met: ");
        plot_axis_note(&picture->met, "point is", "points are", notes);
    }
    if (picture->height.above + picture->height.below > 0) {
        text_add(notes, backtest->has_recovered ? "Recovered: " : "GPU-hours: ");
        plot_axis_note(&picture->height, "point is", "points are", notes);
    }
    if (backtest->has_limit && most > picture->height.to)
        text_add(notes, "The bound is beyond the axis, at %.5g. ", most);
    if (notes->length > 0)
        text_add(out, "<p>%s</p>\n", notes->chars);
}

void backtest_plot(const struct backtest *backtest, double attainment, struct text *out)
{
    struct picture picture = { .backtest = backtest };
    double wanted;

    set_axes(&picture);
    wanted = x_at(&picture, 100 * attainment);
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 470\" role=\"img\" "
                  "aria-label=\"targets met against capacity recovered\">\n");
    add_scales(&picture, out);
    text_add(out, "<line class=\"wanted\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", wanted,
             TOP, wanted, TOP + HEIGHT);
    add_limit(&picture, out);
    for (size_t i = 0; i < backtest->count; i++)
        add_line(&picture, &backtest->rows[i], out);
    add_legend(backtest, out);
    text_add(out, "</svg>\n");
    add_notes(&picture, out);
}
