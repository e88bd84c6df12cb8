/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice departures: the board that tells researchers when their nodes leave; as a table, JSON, CSV
 * (RFC 4180) or a calendar (RFC 5545).
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/api/departure_calendar.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/departure_forms.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/output.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option departures_options[] = {
    { "until", 0, "DURATION", "how far ahead (default 24h, at most 7d)", false },
    { "node", 0, "NODE", "only this node; an error when no cluster has it", false },
    { "namespace", 'n', "NAME", "only nodes on which a job of this namespace runs", false },
    { "output", 'o', "table|wide|json|yaml|csv|name|ical",
      "the form of the answer (default table); wide: more columns; name: a node on each line",
      false },
    { "no-headers", 0, NULL, "leave out the first line of a table or of CSV", false },
    CLIENT_OPTIONS,
    { 0 },
};

static bool has_namespace(const json_t *row, const char *name)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(row, "jobs"), i, job) {
        if (text_equal(json_text_or(job, "namespace", ""), name))
            return true;
    }
    return false;
}

/* Removes the departures that were not asked for. */
static void keep_asked(const struct command_call *call, json_t *answer)
{
    const char *node = call_text(call, "node");
    const char *name = call_text(call, "namespace");
    json_t *rows = json_object_get(answer, "departures");

    for (size_t i = json_array_size(rows); i-- > 0;) {
        const json_t *row = json_array_get(rows, i);

        if ((node && !text_equal(json_text_or(row, "node", ""), node)) ||
            (name && !has_namespace(row, name)))
            json_array_remove(rows, i);
    }
}

static const struct wide_column wide[] = { { "POOL", "pool" }, { "DUE", "due" }, { 0 } };

static void print_table(bool is_wide, const json_t *answer, struct text *out)
{
    static const char *const titles[] = { "LEAVES", "NODE",  "CLUSTER", "TO",   "SURE",
                                          "WINDOW", ">GPUS", "HELD BY", "JOBS", NULL };
    owned(table) struct table *table = forms_table(is_wide, titles, wide);
    int64_t unnamed = json_int_or(answer, "unnamed_nodes", 0);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "departures"), i, row) {
        owned(chars) char *jobs = departure_jobs(row, ", ");
        const char *window = json_text_or(row, "window", "");
        const char *held = json_text_or(row, "held", "");

        table_cell(table, "%s", json_text_or(row, "leaves", "-"));
        table_cell(table, "%s", json_text_or(row, "node", "-"));
        table_cell(table, "%s", json_text_or(row, "cluster", "-"));
        table_cell(table, "%s", json_text_or(row, "to", "-"));
        table_cell(table, "%s", json_text_or(row, "certainty", "-"));
        table_cell(table, "%s", window[0] ? window : "-");
        table_cell(table, "%" PRId64, departure_gpus(row));
        table_cell(table, "%s", held[0] ? held : "-");
        forms_wide_cells(is_wide, table, row, wide);
        table_cell(table, "%s", jobs[0] ? jobs : "-");
    }
    if (json_array_size(json_object_get(answer, "departures")) > 0)
        table_print(table, out);
    else if (json_array_size(json_object_get(answer, "unknown")) == 0)
        text_add(out, "no node of research leaves within that time\n");
    if (unnamed > 0)
        text_add(out, "and %" PRId64 " nodes that will come to research and leave again\n",
                 unnamed);
}

/* The pools whose departures cannot be planned now. */
static void print_unknown(const struct command_call *call, const json_t *answer, bool is_table)
{
    owned(text) struct text *lines = text_new(TEXT_UNBOUNDED);

    board_unknown(answer, lines);
    if (is_table)
        output_print(call, lines->chars);
    else
        fputs(lines->chars, stderr);
}

/* The service says whether it knows the node: an empty board for an unknown node would read as "it
   stays". */
static char *path_of(const char *node, int64_t ahead_ms)
{
    struct text *path = text_new(TEXT_UNBOUNDED);

    text_add(path, "/v1/departures?seconds=%" PRId64, ahead_ms / SECOND_MS);
    if (node) {
        text_add(path, "&node=");
        url_add_escaped(path, node);
    }
    return text_take(path);
}

static const struct answer_rows rows = { "departures", "node" };

int cmd_departures(struct command_call *call)
{
    const char *form = call_text_or(call, "output", "table");
    bool is_table = text_equal(form, "table") || forms_is_wide(call);
    int code = EXIT_DONE;
    int64_t ahead_ms = DAY_MS;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(chars) char *path = NULL;
    owned(json) json_t *answer = NULL;
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    if (!config)
        return code;
    if (call_duration(call, "until", &ahead_ms, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    path = path_of(call_text(call, "node"), ahead_ms);
    answer = client_ask(config, HTTP_GET, path, NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    keep_asked(call, answer);
    if (!text_equal(form, "csv") && forms_print(call, answer, &rows))
        return EXIT_DONE;
    if (text_equal(form, "csv"))
        departures_csv(answer, !call_flag(call, "no-headers"), out);
    else if (text_equal(form, "ical"))
        departures_ical(answer, out);
    else
        print_table(forms_is_wide(call), answer, out);
    if (is_table)
        forms_print_table(call, out);
    else
        fputs(out->chars, stdout);
    print_unknown(call, answer, is_table);
    return EXIT_DONE;
}
