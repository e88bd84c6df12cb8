/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A number stands for a slot of five minutes.  A line changes where the number does, so its path
 * has a point for each change.
 */
#include "broker/backtest/backtest_course.h"

#include "broker/backtest/backtest_plot.h"
#include "broker/terminal/html.h"
#include "broker/terminal/plot_axis.h"

enum {
    LEFT = 60,
    TOP = 30, /* of the first strip */
    WIDTH = 740,
    HEIGHT = 90,
    STRIP = 124, /* from one to the next */
    LINES_MAX = 8,
    LEGEND_STEP = 130,
    QUEUES_MAX = 20,
    WEEK_DAYS = 7,
};

struct line {
    const struct policy *policy; /* NULL: what was needed */
    const int *values;           /* a slot */
};

struct picture {
    const struct backtest *backtest;
    struct line lines[LINES_MAX];
    size_t count;
    size_t queue; /* whose misses are marked; SIZE_MAX: none */
    struct plot_axis axis;
};

/* Of a week that is drawn. */
struct strip {
    size_t first; /* slot */
    size_t end;
    int top;
};

static double x_of(const struct strip *strip, size_t slot)
{
    require(slot >= strip->first && slot <= strip->end && strip->first < strip->end);
    return LEFT + WIDTH * (double)(slot - strip->first) / (double)(strip->end - strip->first);
}

static double y_of(const struct picture *picture, const struct strip *strip, double value)
{
    return strip->top + HEIGHT * (1 - plot_axis_part(&picture->axis, value));
}

static void add_line(struct picture *picture, const struct policy *policy, const int *values)
{
    if (picture->count < LINES_MAX)
        picture->lines[picture->count++] = (struct line){ policy, values };
}

/* Policies of sluice, and those that they are compared with. */
static bool is_drawn(const struct policy *policy)
{
    return policy->is_share || policy == &policies[POLICY_STATIC] ||
           policy == &policies[policies_oracle()];
}

/* The oracle's course changes every five minutes: of many queues it would fill the page. */
static bool is_drawn_of_queue(const struct backtest *backtest, const struct policy *policy)
{
    return is_drawn(policy) && (!policy->is_oracle || backtest->queue_count == 1);
}

/* Makes the axis as large as the greatest value of its lines in any slot that is drawn. */
static void set_axis(struct picture *picture)
{
    const struct backtest *backtest = picture->backtest;
    size_t first = course_week_slot(&backtest->planned, backtest->first_week);
    require(first < backtest->planned.slots && picture->count > 0);

    size_t count = backtest->planned.slots - first;
    double *most = mem_new_array(count, sizeof *most);

    for (size_t i = 0; i < count; i++)
        for (size_t line = 0; line < picture->count; line++)
            if (picture->lines[line].values[first + i] > most[i])
                most[i] = picture->lines[line].values[first + i];
    picture->axis = plot_axis_of(most, count);
    mem_free(most);
}

static void add_path(const struct picture *picture, const struct strip *strip,
                     const struct line *line, struct text *out)
{
    require(strip->first < strip->end);

    int last = line->values[strip->first];
    double base = strip->top + HEIGHT;

    if (line->policy)
        text_add(out, "<path class=\"line c%zu\" d=\"M%d %.1f", backtest_colour(line->policy), LEFT,
                 y_of(picture, strip, last));
    else
        text_add(out, "<path class=\"need\" d=\"M%d %.1fV%.1f", LEFT, base,
                 y_of(picture, strip, last));
    for (size_t slot = strip->first + 1; slot < strip->end; slot++)
        if (line->values[slot] != last) {
            last = line->values[slot];
            text_add(out, "H%.1fV%.1f", x_of(strip, slot), y_of(picture, strip, last));
        }
    text_add(out, "H%d", LEFT + WIDTH);
    if (!line->policy)
        text_add(out, "V%.1fZ", base);
    text_add(out, "\"/>\n");
}

static void add_marks(const struct picture *picture, const struct strip *strip, struct text *out)
{
    for (double value = 0; value <= picture->axis.to * (1 + 1e-9); value += picture->axis.step)
        text_add(out,
                 "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                 "<text class=\"axis small\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                 LEFT, y_of(picture, strip, value), LEFT + WIDTH, y_of(picture, strip, value),
                 LEFT - 6, y_of(picture, strip, value) + 4, value);
}

/* Marks the local days; a change of clocks makes a day shorter or longer. */
static void add_days(const struct picture *picture, size_t week, const struct strip *strip,
                     struct text *out)
{
    static const char *const names[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    const struct course *course = &picture->backtest->planned;
    int64_t first = course->end_day - (int64_t)(course->weeks - week) * WEEK_DAYS;

    for (int64_t day = first; day < first + WEEK_DAYS; day++) {
        struct civil_date date = civil_date_of_day(day);
        struct wall_time midnight = time_zone_wall(course->set->zone, date, 0);
        size_t slot = (size_t)((midnight.ms - course->begin.ms) / JUDGE_SLOT_MS);
        double x = x_of(strip, slot);

        text_add(out,
                 "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>"
                 "<text class=\"axis small\" x=\"%.1f\" y=\"%d\">%s %04d-%02d-%02d</text>\n",
                 x, strip->top, x, strip->top + HEIGHT, x + 2, strip->top + HEIGHT + 14,
                 names[civil_weekday(day)], date.year, date.month, date.day);
    }
}

static void mark_row(const struct picture *picture, size_t week, const struct strip *strip,
                     const struct backtest_row *row, struct text *out)
{
    const struct course *judged = &picture->backtest->judged;

    for (size_t i = 0; i < row->misses.count; i++) {
        const struct backtest_miss *miss = &row->misses.items[i];
        const struct course_span *span = &judged->spans.items[miss->span];
        size_t first;
        size_t end;

        require(miss->span < judged->spans.count);
        if (miss->queue != picture->queue || span->week != week)
            continue;
        course_slots_of(judged, span, &first, &end);
        require(first <= end);
        end = end < strip->end ? end : strip->end;
        text_add(out,
                 "<circle class=\"missed c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s missed: "
                 "held %d, needed %d (%s)</title></circle>\n",
                 backtest_colour(row->policy), (x_of(strip, first) + x_of(strip, end)) / 2,
                 y_of(picture, strip, miss->facts.held), row->policy->name, miss->facts.held,
                 miss->facts.needed, miss_reason_name(miss->reason));
    }
}

static void add_week(const struct picture *picture, size_t week, int top, struct text *out)
{
    const struct backtest *backtest = picture->backtest;
    const struct strip strip = { course_week_slot(&backtest->planned, week),
                                 course_week_slot(&backtest->planned, week + 1), top };

    require(strip.end <= backtest->planned.slots);

    for (size_t i = 0; i < picture->count; i++)
        if (!picture->lines[i].policy)
            add_path(picture, &strip, &picture->lines[i], out);
    add_marks(picture, &strip, out);
    add_days(picture, week, &strip, out);
    /* The oracle is the last row and changes most often: it is drawn below the others.
     */
    for (size_t i = picture->count; i-- > 0;)
        if (picture->lines[i].policy)
            add_path(picture, &strip, &picture->lines[i], out);
    for (size_t row = 0; picture->queue != SIZE_MAX && row < backtest->count; row++)
        mark_row(picture, week, &strip, &backtest->rows[row], out);
}

static void add_legend(const struct picture *picture, struct text *out)
{
    int x = LEFT;

    for (size_t i = 0; i < picture->count; i++, x += LEGEND_STEP) {
        const struct policy *policy = picture->lines[i].policy;

        if (policy)
            text_add(out, "<path class=\"line c%zu\" d=\"M%d 10H%d\"/>", backtest_colour(policy), x,
                     x + 16);
        else
            text_add(out, "<path class=\"need\" d=\"M%d 14V6H%dV14Z\"/>", x, x + 16);
        text_add(out, "<text class=\"axis small\" x=\"%d\" y=\"14\">%s</text>\n", x + 20,
                 policy ? policy->name : "needed");
    }
}

static void add_picture(struct picture *picture, struct text *out)
{
    const struct backtest *backtest = picture->backtest;
    size_t weeks = backtest->planned.weeks - backtest->first_week;
    owned(text) struct text *note = text_new(TEXT_UNBOUNDED);

    set_axis(picture);
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 %d\" role=\"img\" "
             "aria-label=\"servers over time\">\n",
             TOP + STRIP * (int)weeks);
    add_legend(picture, out);
    for (size_t i = 0; i < weeks; i++)
        add_week(picture, backtest->first_week + i, TOP + STRIP * (int)i, out);
    text_add(out, "</svg>\n");
    plot_axis_note(&picture->axis, "slot of five minutes is", "slots of five minutes are", note);
    if (note->length > 0)
        text_add(out, "<p>%s</p>\n", note->chars);
}

static void add_fleet(const struct backtest *backtest, struct text *out)
{
    struct picture picture = { .backtest = backtest, .queue = SIZE_MAX };

    for (size_t row = 0; row < backtest->count; row++)
        if (is_drawn(backtest->rows[row].policy))
            add_line(&picture, backtest->rows[row].policy, backtest->rows[row].nodes);
    if (picture.count == 0)
        return;
    text_add(out, "<details open=\"open\"><summary>nodes of production</summary>\n");
    add_picture(&picture, out);
    text_add(out, "</details>\n");
}

static size_t misses_of(const struct backtest *backtest, size_t queue)
{
    size_t count = 0;

    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].misses.count; i++)
            count += backtest->rows[row].misses.items[i].queue == queue;
    return count;
}

/* Spreads the need of each window over its slots. */
static void spread_needs(const struct backtest *backtest, size_t queue, int *ret_values)
{
    const struct course *course = &backtest->planned;

    for (size_t i = 0; i < course->spans.count; i++) {
        size_t first;
        size_t end;

        course_slots_of(course, &course->spans.items[i], &first, &end);
        require(end <= course->slots);
        for (size_t slot = first; slot < end; slot++)
            ret_values[slot] = backtest->needs[queue][i];
    }
}

static void add_queue(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      size_t queue, struct text *out)
{
    struct picture picture = { .backtest = backtest, .queue = queue };
    int *needs = mem_new_array(backtest->planned.slots, sizeof *needs);

    spread_needs(backtest, queue, needs);
    add_line(&picture, NULL, needs);
    for (size_t row = 0; row < backtest->count; row++)
        if (is_drawn_of_queue(backtest, backtest->rows[row].policy))
            add_line(&picture, backtest->rows[row].policy, backtest->rows[row].servers[queue]);
    text_add(out, "<details%s><summary>servers of ",
             backtest->queue_count == 1 ? " open=\"open\"" : "");
    html_add_text(inputs->queues[queue].series->queue, out);
    text_add(out, " (%zu missed)</summary>\n", misses_of(backtest, queue));
    add_picture(&picture, out);
    text_add(out, "</details>\n");
    mem_free(needs);
}

/* The next queue to draw: queues that missed most come first. */
static size_t next_queue(const struct backtest *backtest, const bool *is_done)
{
    size_t next = SIZE_MAX;

    for (size_t queue = 0; queue < backtest->queue_count; queue++)
        if (!is_done[queue] &&
            (next == SIZE_MAX || misses_of(backtest, queue) > misses_of(backtest, next)))
            next = queue;
    return next;
}

void backtest_course(const struct backtest_inputs *inputs, const struct backtest *backtest,
                     struct text *out)
{
    bool *is_done = mem_new_array(backtest->queue_count, sizeof *is_done);

    text_add(out, "<h2>Servers against need</h2>\n<p>A strip a week, days by the clock of ");
    html_add_text(time_zone_name(backtest->planned.set->zone), out);
    text_add(out, ". Axes begin at 0. Needed: the fewest servers with which a window meets its "
                  "target, alone. A dot marks what a plan missed.</p>\n");
    add_fleet(backtest, out);
    for (size_t i = 0; i < backtest->queue_count && i < QUEUES_MAX; i++) {
        size_t queue = next_queue(backtest, is_done);

        require(queue < backtest->queue_count && !is_done[queue]);
        is_done[queue] = true;
        add_queue(inputs, backtest, queue, out);
    }
    if (backtest->queue_count > QUEUES_MAX)
        text_add(out, "<p>The other %zu queues, which missed least, are not drawn.</p>\n",
                 backtest->queue_count - QUEUES_MAX);
    mem_free(is_done);
}
