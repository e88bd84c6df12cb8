/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demand_input.h.
 */
#include "broker/sizing/demand_input.h"

#include "base/input/json.h"
#include "base/text.h"
#include "windows/demand/column_unit.h"
#include "windows/servers/engine_lengths.h"

#include <stdarg.h>
#include <stdio.h>

enum { OTHERS_SIZE = 64 };

struct demand_options demand_input_options(const struct command_call *call,
                                           const struct time_zone *zone)
{
    return (struct demand_options){
        .missing_zero = text_equal(call_text(call, "missing"), "zero"),
        .gaps = call_text(call, "gaps"),
        .begin = call_text(call, "begin"),
        .zone = zone,
    };
}

const char *demand_input_missing(const struct demand *demand, const struct demand_options *options)
{
    return options->missing_zero || demand->facts.is_log ? "zero" : "unknown";
}

static void __attribute__((format(printf, 2, 3))) add_note(json_t *notes, const char *format, ...)
{
    owned(text) struct text *note = text_new(ERROR_TEXT_SIZE);
    va_list arguments;

    va_start(arguments, format);
    text_add_arguments(note, format, arguments);
    va_end(arguments);
    json_array_append_new(notes, json_text(note->chars));
}

static const char *zone_of(const struct demand_options *options)
{
    return options->zone ? time_zone_name(options->zone) : "UTC";
}

/* Steps that a gaps file or the file itself leaves out; with missing zero only a gaps file does. */
static void note_unknown(const struct demand *demand, const struct demand_options *options,
                         json_t *notes)
{
    const struct demand_series *worst = NULL;
    size_t most = 0;
    size_t queues = 0;
    size_t unknown = 0;
    size_t half_known = 0;
    size_t steps = 0;
    char half[120] = "";

    for (size_t i = 0; i < demand->count; i++) {
        size_t here = demand_unknown(&demand->series[i]);

        steps += demand->series[i].count;
        half_known += demand->series[i].half_known;
        unknown += here;
        queues += here > 0;
        if (here > most) {
            most = here;
            worst = &demand->series[i];
        }
    }
    require(unknown <= steps && (unknown > 0) == (worst != NULL));
    if (!worst)
        return;
    if (text_equal(demand_input_missing(demand, options), "zero")) {
        add_note(notes,
                 "%zu of %zu steps are unknown by %s, in %zu of %zu queues (most in %s: %zu of "
                 "%zu); they are left out",
                 unknown, steps, options->gaps ? options->gaps : "--gaps", queues, demand->count,
                 worst->queue, most, worst->count);
        return;
    }
    if (half_known > 0)
        text_print(half, sizeof half,
                   "; %zu of them have a row of one class, and none of the other", half_known);
    add_note(
        notes,
        "%zu of %zu steps have no row%s and are unknown, in %zu of %zu queues (most in %s: %zu "
        "of %zu%s); they are left out. If the export leaves out steps without arrivals, give "
        "--missing zero; not if rows were lost",
        unknown, steps, options->gaps ? " (or are in a gap of --gaps)" : "", queues, demand->count,
        worst->queue, most, worst->count, half);
}

/* A queue whose rows end before those of the others; no step tells that they are missing. */
static void note_ends(const struct demand *demand, json_t *notes)
{
    const struct demand_series *first = NULL;
    struct wall_time first_end = demand->end;
    char end[WALL_TEXT_SIZE];
    char until[WALL_TEXT_SIZE];
    size_t count = 0;

    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];
        struct wall_time its_end = demand_time(series, series->count);

        if (demand->end.ms - its_end.ms <= HOUR_MS)
            continue;
        count++;
        if (its_end.ms < first_end.ms) {
            first = series;
            first_end = its_end;
        }
    }
    if (first)
        add_note(notes,
                 "%zu of %zu queues end earlier than the others (first %s, at %s; the demand ends "
                 "at %s): the time from there on is unknown",
                 count, demand->count, first->queue, wall_format(first_end, end),
                 wall_format(demand->end, until));
}

/* How long nothing has arrived when the demand ends; 0: no longer than once before. */
static int64_t silence_of(const struct demand_series *series)
{
    size_t longest = 0;
    size_t last = 0;

    for (size_t i = 0; i < series->count; i++) {
        bool is_silent = demand_is_known(series, i) &&
                         demand_at(series, DEMAND_HIGH, i) + demand_at(series, DEMAND_LOW, i) == 0;

        if (!is_silent && last > longest)
            longest = last;
        last = is_silent ? last + 1 : 0;
    }
    return last > longest ? (int64_t)last * series->step_ms : 0;
}

/* With --missing zero a queue whose exporter died looks like one in which nothing arrives. */
static void note_silence(const struct demand *demand, json_t *notes)
{
    const struct demand_series *first = NULL;
    char longest[DURATION_TEXT_SIZE];
    int64_t longest_ms = DAY_MS;
    size_t count = 0;

    for (size_t i = 0; i < demand->count; i++) {
        int64_t silence_ms = silence_of(&demand->series[i]);

        count += silence_ms > DAY_MS;
        if (silence_ms <= longest_ms)
            continue;
        longest_ms = silence_ms;
        first = &demand->series[i];
    }
    if (first)
        add_note(notes,
                 "in %zu of %zu queues nothing arrived for longer than ever before (longest in %s, "
                 "for the last %s): if rows were lost there, list this time in --gaps",
                 count, demand->count, first->queue, duration_format(longest_ms, longest));
}

/* The first queue whose rows count for longer than its steps; *ret_more: how many others do. */
static const struct demand_series *first_mixed(const struct demand *demand, bool is_change,
                                               size_t *ret_more)
{
    const struct demand_series *first = NULL;

    *ret_more = 0;
    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];

        if (series->longest_ms <= series->step_ms || (series->changed.ms != 0) != is_change)
            continue;
        *ret_more += first != NULL;
        first = first ? first : series;
    }
    return first;
}

/* " (and of 3 more queues)"; nothing where there is no other. */
static const char *others_of(size_t more, char others[static OTHERS_SIZE])
{
    others[0] = '\0';
    if (more > 0)
        text_print(others, OTHERS_SIZE, " (and of %zu more queues)", more);
    return others;
}

static void note_steps(const struct demand *demand, json_t *notes)
{
    char step[DURATION_TEXT_SIZE];
    char longest[DURATION_TEXT_SIZE];
    char changed[WALL_TEXT_SIZE];
    char others[OTHERS_SIZE] = "";
    size_t more;
    const struct demand_series *series = first_mixed(demand, true, &more);

    if (more > 0)
        text_print(others, sizeof others, ", as those of %zu more queues do", more);
    if (series)
        add_note(notes,
                 "the rows of queue %s change their step (first at %s)%s: counts of up to %s are "
                 "spread evenly over steps of %s, so that bursts within them are not seen",
                 series->queue, wall_format(series->changed, changed), others,
                 duration_format(series->longest_ms, longest),
                 duration_format(series->step_ms, step));
    series = first_mixed(demand, false, &more);
    if (series)
        add_note(
            notes,
            "the rows of queue %s%s are %s apart: their counts are spread evenly over steps of "
            "%s, and no plan made from them covers the peaks within",
            series->queue, others_of(more, others), duration_format(series->longest_ms, longest),
            duration_format(series->step_ms, step));
}

/* The first queue of which all rows, or a part of them, keep a coarser grid; *ret_count: of how
   many that is so. */
static const struct demand_series *first_apart(const struct demand *demand, bool is_all,
                                               size_t *ret_count)
{
    const struct demand_series *first = NULL;

    *ret_count = 0;
    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_apart *apart = &demand->series[i].apart;

        if (apart->grid_ms == 0 || apart->is_all != is_all)
            continue;
        *ret_count += 1;
        first = first ? first : &demand->series[i];
    }
    return first;
}

/* With missing zero, rows of a queue exported in longer steps look like steps without arrivals. */
static void note_apart(const struct demand *demand, json_t *notes)
{
    char apart[DURATION_TEXT_SIZE];
    char step[DURATION_TEXT_SIZE];
    char from[WALL_TEXT_SIZE];
    char until[WALL_TEXT_SIZE];
    size_t count;
    const struct demand_series *first = first_apart(demand, true, &count);

    if (first)
        add_note(
            notes,
            "the rows of %zu queues (%s) are further apart all the time (%s) than the steps of "
            "all (%s): each count is taken to have arrived in its first step, and each rate to "
            "hold for it. If they count for longer, put these queues into a file of their own",
            count, first->queue, duration_format(first->apart.grid_ms, apart),
            duration_format(first->step_ms, step));
    first = first_apart(demand, false, &count);
    if (first)
        add_note(notes,
                 "some rows of %zu queues keep longer steps (those of %s from %s to %s: %s) than "
                 "all (%s): each count is taken to have arrived in its first step, and each rate "
                 "to hold for it. If they count for longer, put these rows into a file of their "
                 "own",
                 count, first->queue, wall_format(first->apart.from, from),
                 wall_format(first->apart.until, until),
                 duration_format(first->apart.grid_ms, apart),
                 duration_format(first->step_ms, step));
}

/* Counts that overlap, or that leave time out between them. */
static void note_windows(const struct demand *demand, json_t *notes)
{
    char window[DURATION_TEXT_SIZE];
    char step[DURATION_TEXT_SIZE];

    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];
        int64_t window_ms = (int64_t)(column_unit_window(series->queue) * SECOND_MS);

        if (window_ms == 0 || window_ms == series->step_ms)
            continue;
        add_note(notes,
                 "each count of %.80s is that of %s by its name, and is taken to be that of a step "
                 "(%s): export it by the step",
                 series->queue, duration_format(window_ms, window),
                 duration_format(series->step_ms, step));
        return;
    }
}

/* The first queue with rows that have no answer, with how many; *ret_more: others. */
static const struct demand_series *first_unanswered(const struct demand *demand, size_t *ret_more)
{
    const struct demand_series *first = NULL;

    *ret_more = 0;
    for (size_t i = 0; i < demand->count; i++) {
        const struct token_pairs *tokens = demand->series[i].tokens;

        if (!tokens || tokens->unanswered == 0)
            continue;
        *ret_more += first != NULL;
        first = first ? first : &demand->series[i];
    }
    return first;
}

static void note_tokens(const struct demand *demand, const struct demand_options *options,
                        json_t *notes)
{
    char others[OTHERS_SIZE];
    size_t more;
    const struct demand_series *series = first_unanswered(demand, &more);
    char step[DURATION_TEXT_SIZE];

    if (demand->facts.is_log)
        add_note(notes,
                 "there are columns of tokens and none of counts: each row is taken to be a "
                 "request, they are counted by steps of %s, and a step without one had none; if "
                 "rows were lost, give --gaps",
                 duration_format(demand->series[0].step_ms, step));
    if (options->begin)
        add_note(notes, "times count from the file's beginning, which --begin says was %s",
                 options->begin);
    if (demand->facts.has_means)
        add_note(notes, "tokens are the means of each row's requests: single requests differ more, "
                        "so that plans by these lengths may have too few replicas; a row for each "
                        "request would tell");
    if (series)
        add_note(
            notes,
            "%zu rows of queue %s%s have no answer: they count as arrivals, and tell no length",
            series->tokens->unanswered, series->queue, others_of(more, others));
}

static void note_void(const struct demand *demand, const struct demand_options *options,
                      json_t *notes)
{
    if (demand->facts.void_cells > 0)
        add_note(notes,
                 "%zu cells hold no count (empty, NaN, null and the like): they are no rows, and a "
                 "step without a row is %s",
                 demand->facts.void_cells, demand_input_missing(demand, options));
    if (demand->facts.empty_queues > 0)
        add_note(notes, "queues without any count are left out: %zu", demand->facts.empty_queues);
    if (demand->facts.file_gaps > 0 && demand->count > 1)
        add_note(notes,
                 "%zu of %zu gaps of %s name this file in their column trace, and no queue: they "
                 "are gaps of all its %zu queues",
                 demand->facts.file_gaps, demand->facts.gaps, options->gaps, demand->count);
    if (demand->facts.idle_gaps > 0)
        add_note(notes,
                 "%zu of %zu gaps of %s change nothing: they name neither a queue nor this file in "
                 "their column trace or queue, or are outside of its time",
                 demand->facts.idle_gaps, demand->facts.gaps, options->gaps);
}

json_t *demand_input_notes(const struct demand *demand, const struct demand_options *options)
{
    json_t *notes = json_array();

    require(demand->count > 0); /* a file without rows was refused */
    if (demand->facts.is_wide)
        add_note(notes,
                 "no column is named count: each column is taken to be a queue (%zu; the first by "
                 "name is %s)",
                 demand->count, demand->series[0].queue);
    if (demand->left_out && !demand->facts.is_wide)
        add_note(
            notes,
            "columns that are not read: %zu (the first is \"%.80s\"); sluice reads times, queues, "
            "counts, priorities, units and tokens, and windows/README.md says by which names",
            demand->facts.left_out, demand->left_out);
    else if (demand->left_out)
        add_note(notes,
                 "%zu columns (the first is \"%.80s\") are no queues and are left out: they number "
                 "the rows, or their names begin with _",
                 demand->facts.left_out, demand->left_out);
    if (demand->facts.has_unit_rates)
        add_note(notes, "counts are rates, by the unit in a column's name or in the column of "
                        "units: each is multiplied by the length of its step");
    if (demand->facts.has_fractions)
        add_note(notes,
                 "most counts have a fraction, as rates have: if they are, say their unit in "
                 "the column's name, like \"chat (req/s)\"");
    if (demand->facts.has_local)
        add_note(notes, "times without an offset are taken to be in the time zone %s",
                 zone_of(options));
    if (demand->facts.is_cut)
        add_note(notes, "the last line has no line end: if the file was cut there, its last count "
                        "may be too small");
    note_windows(demand, notes);
    note_void(demand, options, notes);
    note_tokens(demand, options, notes);
    note_steps(demand, notes);
    note_apart(demand, notes);
    note_unknown(demand, options, notes);
    note_ends(demand, notes);
    if (text_equal(demand_input_missing(demand, options), "zero"))
        note_silence(demand, notes);
    return notes;
}

struct demand *demand_input_read(const char *path, const struct demand_options *options,
                                 struct error *err)
{
    struct demand *demand = demand_read(path, options, err);
    owned(json) json_t *notes = demand ? demand_input_notes(demand, options) : NULL;
    const json_t *note;
    size_t i;

    json_array_foreach(notes, i, note)
        fprintf(stderr, "note: %s: %s\n", path, json_string_value(note));
    return demand;
}

static json_t *tokens_json(const struct token_pairs *tokens)
{
    double count = 0;
    double in = 0;
    double out = 0;

    for (size_t i = 0; tokens && i < tokens->list.count; i++) {
        const struct token_pair *pair = &tokens->list.items[i];

        count += (double)pair->count;
        in += (double)pair->in * (double)pair->count;
        out += (double)pair->out * (double)pair->count;
    }
    if (!tokens)
        return json_null();
    return json_make("{s:f, s:o, s:o, s:I}", "requests", tokens->requests, "in_mean",
                     count > 0 ? json_real(in / count) : json_null(), "out_mean",
                     count > 0 ? json_real(out / count) : json_null(), "rows_without_answer",
                     (json_int_t)tokens->unanswered);
}

json_t *demand_input_json(const struct demand *demand, const struct demand_options *options)
{
    json_t *queues = json_array();
    json_int_t steps = 0;
    json_int_t unknown = 0;

    for (size_t i = 0; i < demand->count; i++) {
        const struct demand_series *series = &demand->series[i];
        json_int_t here = (json_int_t)demand_unknown(series);

        require(series->step_ms > 0 && here <= (json_int_t)series->count);
        steps += (json_int_t)series->count;
        unknown += here;
        json_array_append_new(queues,
                              json_make("{s:s, s:f, s:f, s:I, s:I, s:o}", "queue", series->queue,
                                        "step_s", (double)series->step_ms / SECOND_MS,
                                        "longest_step_s", (double)series->longest_ms / SECOND_MS,
                                        "steps", (json_int_t)series->count, "steps_unknown", here,
                                        "tokens", tokens_json(series->tokens)));
    }
    return json_make("{s:s, s:o, s:o, s:b, s:I, s:I, s:o, s:o}", "missing",
                     demand_input_missing(demand, options), "time_zone",
                     demand->facts.has_local ? json_text(zone_of(options)) : json_null(), "begin",
                     options->begin ? json_text(options->begin) : json_null(), "is_log",
                     (int)demand->facts.is_log, "steps", steps, "steps_unknown", unknown, "notes",
                     demand_input_notes(demand, options), "queues", queues);
}
