/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See backtest_missed.h.
 */
#include "broker/backtest/backtest_missed.h"

#include "broker/terminal/html.h"
#include "broker/terminal/table.h"

enum { BEGAN_SIZE = 32, CELL_SIZE = 64, PAGE_ROWS = 100, EXACT_S = 120 };

/* The texts of one miss, in the order of the columns. */
struct words {
    char began[BEGAN_SIZE];
    const char *window;
    const char *queue;
    char wait[DURATION_TEXT_SIZE];
    char target[CELL_SIZE];
    char why[CELL_SIZE];
};

static const struct course_span *span_of(const struct backtest *backtest,
                                         const struct backtest_miss *miss)
{
    return &backtest->judged.spans.items[miss->span];
}

static const char *window_of(const struct backtest *backtest, const struct backtest_miss *miss)
{
    return backtest->judged.set->items[span_of(backtest, miss)->window].name;
}

/* The target that most requests missed; named if it is not the wait. */
static void say_target(const struct backtest_miss *miss, const struct replay_target *target,
                       struct words *words)
{
    char limit[DURATION_TEXT_SIZE];

    if (miss->target != REPLAY_WAIT && miss->found_s < 1)
        seconds_format(miss->found_s, words->wait);
    else if (miss->found_s < EXACT_S)
        text_print(words->wait, sizeof words->wait, "%.1fs", miss->found_s);
    else
        duration_format((int64_t)(miss->found_s * SECOND_MS), words->wait);
    if (miss->target == REPLAY_WAIT)
        text_copy(words->target, sizeof words->target, duration_format(target->wait_ms, limit));
    else
        text_print(words->target, sizeof words->target, "%s %s", search_target_name(miss->target),
                   seconds_format(search_target_s(target, miss->target), limit));
}

static void say(const struct backtest_inputs *inputs, const struct backtest *backtest,
                const struct backtest_miss *miss, struct words *words)
{
    static const char *const days[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    const struct backtest_queue *queue = &inputs->queues[miss->queue];
    struct local_time local = time_zone_local(backtest->judged.set->zone,
                                              span_of(backtest, miss)->time.begin);

    text_print(words->began, sizeof words->began, "%s %04d-%02d-%02d %02d:%02d",
               days[local.weekday], local.date.year, local.date.month, local.date.day,
               local.minute_of_day / 60, local.minute_of_day % 60);
    words->window = window_of(backtest, miss);
    words->queue = queue->series->queue;
    say_target(miss, &queue->target, words);
    if (miss->reason == MISS_NO_REPLAN)
        text_print(words->why, sizeof words->why, "%s (%s had %d)", miss_reason_name(miss->reason),
                   miss->later->name, miss->facts.later);
    else
        text_copy(words->why, sizeof words->why, miss_reason_name(miss->reason));
}

/* "sluice missed 7 of 24 window occurrences: 3 bound, 4 forecast." */
static void add_sum(const struct backtest_row *row, struct text *out)
{
    size_t reasons[MISS_REASONS] = { 0 };
    const char *separator = ": ";

    for (size_t i = 0; i < row->misses.count; i++)
        reasons[row->misses.items[i].reason]++;
    text_add(out, "%s missed %zu of %zu window occurrences", row->policy->name, row->misses.count,
             row->tuned.spans);
    for (enum miss_reason reason = 0; reason < MISS_REASONS; reason++)
        if (reasons[reason] > 0) {
            text_add(out, "%s%zu %s", separator, reasons[reason], miss_reason_name(reason));
            separator = ", ";
        }
    text_add(out, ".");
}

static bool occurs(const struct backtest *backtest, enum miss_reason reason)
{
    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].misses.count; i++)
            if (backtest->rows[row].misses.items[i].reason == reason)
                return true;
    return false;
}

static size_t count_of(const struct backtest *backtest)
{
    size_t count = 0;

    for (size_t row = 0; row < backtest->count; row++)
        count += backtest->rows[row].misses.count;
    return count;
}

static bool has_tokens(const struct backtest *backtest)
{
    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].misses.count; i++)
            if (backtest->rows[row].misses.items[i].target != REPLAY_WAIT)
                return true;
    return false;
}

static void print_rows(const struct backtest_inputs *inputs, const struct backtest *backtest,
                       struct text *out)
{
    static const char *const titles[] = { "POLICY",   "BEGAN", "WINDOW",  "QUEUE",
                                          ">PLANNED", ">HELD", ">NEEDED", ">WAIT",
                                          ">TARGET",  "WHY",   NULL };
    owned(table) struct table *table = table_new(titles);

    for (size_t row = 0; row < backtest->count; row++)
        for (size_t i = 0; i < backtest->rows[row].misses.count; i++) {
            const struct backtest_miss *miss = &backtest->rows[row].misses.items[i];
            struct words words;

            say(inputs, backtest, miss, &words);
            table_cell(table, "%s", backtest->rows[row].policy->name);
            table_cell(table, "%s", words.began);
            table_cell(table, "%s", words.window);
            table_cell(table, "%s", words.queue);
            table_cell(table, "%d", miss->facts.planned);
            table_cell(table, "%d", miss->facts.held);
            table_cell(table, "%d", miss->facts.needed);
            table_cell(table, "%s", words.wait);
            table_cell(table, "%s", words.target);
            table_cell(table, "%s", words.why);
        }
    table_print(table, out);
    if (has_tokens(backtest))
        text_add(out, "Wait: at ttft until the first token, at itl of each later token.\n");
    text_add(out, "Began: by the clock of %s.\n", time_zone_name(backtest->judged.set->zone));
}

void backtest_missed_print(const struct backtest_inputs *inputs, const struct backtest *backtest,
                           struct text *out)
{
    text_add(out, "\n");
    for (size_t row = 0; row < backtest->count; row++)
        if (backtest->rows[row].policy->is_share) {
            add_sum(&backtest->rows[row], out);
            text_add(out, "\n");
        }
    if (count_of(backtest) == 0)
        return;
    print_rows(inputs, backtest, out);
    for (enum miss_reason reason = 0; reason < MISS_REASONS; reason++)
        if (occurs(backtest, reason))
            text_add(out, "%s: %s.\n", miss_reason_name(reason), miss_reason_meaning(reason));
}

static json_t *miss_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                         const struct backtest_miss *miss)
{
    const struct backtest_queue *queue = &inputs->queues[miss->queue];
    char began[WALL_TEXT_SIZE];

    return json_make("{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:s, s:f, s:f, s:s, s:o}", "began",
                     wall_format(span_of(backtest, miss)->time.begin, began), "window",
                     window_of(backtest, miss), "queue", queue->series->queue, "planned",
                     miss->facts.planned, "held", miss->facts.held, "needed", miss->facts.needed,
                     "wait_s", miss->wait_s, "target_s", (double)queue->target.wait_ms / SECOND_MS,
                     "missed", search_target_name(miss->target), "found_s", miss->found_s,
                     "limit_s", search_target_s(&queue->target, miss->target), "reason",
                     miss_reason_name(miss->reason), "later",
                     miss->later ? json_make("{s:s, s:i}", "policy", miss->later->name, "servers",
                                             miss->facts.later)
                                 : json_null());
}

json_t *backtest_missed_json(const struct backtest_inputs *inputs, const struct backtest *backtest,
                             const struct backtest_row *row)
{
    json_t *misses;

    if (!row->policy->is_share)
        return json_null();
    misses = json_array();
    for (size_t i = 0; i < row->misses.count; i++)
        json_array_append_new(misses, miss_json(inputs, backtest, &row->misses.items[i]));
    return misses;
}

static void add_page_row(const struct words *words, const struct miss_facts *facts,
                         struct text *out)
{
    const char *const cells[] = { words->began, words->window, words->queue };

    text_add(out, "<tr>");
    for (size_t i = 0; i < COUNT_OF(cells); i++) {
        text_add(out, "<td class=\"name\">");
        html_add_text(cells[i], out);
        text_add(out, "</td>");
    }
    text_add(out,
             "<td>%d</td><td>%d</td><td>%d</td><td>%s</td><td>%s</td><td class=\"name\">%s</td>"
             "</tr>\n",
             facts->planned, facts->held, facts->needed, words->wait, words->target, words->why);
}

static void add_page_table(const struct backtest_inputs *inputs, const struct backtest *backtest,
                           const struct backtest_row *row, struct text *out)
{
    text_add(out, "<p>");
    add_sum(row, out);
    text_add(out, "</p>\n");
    if (row->misses.count == 0)
        return;
    text_add(out, "<table><thead><tr><th class=\"name\">began</th><th class=\"name\">window</th>"
                  "<th class=\"name\">queue</th><th>planned</th><th>held</th><th>needed</th>"
                  "<th>wait</th><th>target</th><th class=\"name\">why</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < row->misses.count && i < PAGE_ROWS; i++) {
        struct words words;

        say(inputs, backtest, &row->misses.items[i], &words);
        add_page_row(&words, &row->misses.items[i].facts, out);
    }
    text_add(out, "</tbody></table>\n");
    if (row->misses.count > PAGE_ROWS)
        text_add(out, "<p>And %zu more, which --missed and -o json list.</p>\n",
                 row->misses.count - PAGE_ROWS);
}

void backtest_missed_html(const struct backtest_inputs *inputs, const struct backtest *backtest,
                          struct text *out)
{
    text_add(out, "<h2>What was missed, and why</h2>\n");
    for (size_t row = 0; row < backtest->count; row++)
        if (backtest->rows[row].policy->is_share)
            add_page_table(inputs, backtest, &backtest->rows[row], out);
    text_add(out, "<p>Numbers are servers; times are by the clock of ");
    html_add_text(time_zone_name(backtest->judged.set->zone), out);
    text_add(out, ".</p>\n<ul>\n");
    for (enum miss_reason reason = 0; reason < MISS_REASONS; reason++)
        if (occurs(backtest, reason))
            text_add(out, "<li>%s: %s</li>\n", miss_reason_name(reason),
                     miss_reason_meaning(reason));
    text_add(out, "</ul>\n");
}
