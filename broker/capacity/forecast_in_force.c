/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forecast_in_force.h.
 */
#include "broker/capacity/forecast_in_force.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/output.h"
#include "broker/terminal/table.h"

#include <inttypes.h>

static const struct {
    const char *state;
    const char *sentence;
} states[] = {
    { "none", "The schedules in force came without a forecast." },
    { "not-asked",
      "The schedules in force were planned from last week's demand, not for a forecast." },
    { "outdated", "OUTDATED: these schedules were to be planned again by now.  `sluice allocate "
                  "--forecast` plans them from fresh demand." },
};

/* Takes the rows of other queues out.  Returns how many are left. */
static size_t keep_queue(json_t *rows, const char *queue)
{
    for (size_t i = json_array_size(rows); i-- > 0;)
        if (!text_equal(json_text_or(json_array_get(rows, i), "queue", ""), queue))
            json_array_remove(rows, i);
    return json_array_size(rows);
}

static int keep_only(json_t *answer, const char *queue, struct error *err)
{
    json_t *windows = json_object_get(answer, "windows");
    size_t kept = keep_queue(json_object_get(answer, "scores"), queue);
    json_t *window;
    size_t i;

    json_array_foreach(windows, i, window)
        kept += keep_queue(json_object_get(window, "queues"), queue);
    if (kept > 0 || json_array_size(windows) == 0)
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "the forecast in force has no queue %s", queue);
}

/* What is not known is "-", never 0. */
static void add_number(struct table *table, const json_t *row, const char *path)
{
    const json_t *value = json_at(row, path);

    if (json_is_number(value))
        table_cell(table, "%.1f", json_number_value(value));
    else
        table_cell(table, "-");
}

static void print_needs(const json_t *windows, struct table_style style, struct text *out)
{
    static const char *const titles[] = { "WINDOW", "USE UNTIL",    ">LOWER GPUS",     ">POINT",
                                          ">UPPER", ">UPPER NODES", "UNKNOWN BECAUSE", NULL };
    owned(table) struct table *table = table_new(titles);
    const json_t *row;
    size_t i;

    json_array_foreach(windows, i, row) {
        table_cell(table, "%s", json_text_or(row, "window", "-"));
        table_cell(table, "%s", json_text_or(row, "use_until", "-"));
        add_number(table, row, "need/gpus/lower");
        add_number(table, row, "need/gpus/point");
        add_number(table, row, "need/gpus/bound");
        add_number(table, row, "need/nodes/bound");
        table_cell(table, "%s", json_text_or(row, "why", "-"));
    }
    table_show(table, style, out);
}

static void print_queues(const json_t *windows, struct table_style style, struct text *out)
{
    static const char *const titles[] = { "QUEUE",     "WINDOW", ">LOWER", ">POINT",
                                          ">REPLICAS", ">HELD",  ">DAYS",  "METHOD",
                                          "BASIS",     "STALE",  NULL };
    owned(table) struct table *table = table_new(titles);
    const json_t *window;
    size_t i;

    json_array_foreach(windows, i, window) {
        const json_t *row;
        size_t k;

        json_array_foreach(json_object_get(window, "queues"), k, row) {
            table_cell(table, "%s", json_text_or(row, "queue", "-"));
            table_cell(table, "%s", json_text_or(window, "window", "-"));
            add_number(table, row, "lower");
            add_number(table, row, "point");
            table_cell(table, "%" PRId64, json_int_or(row, "replicas", 0));
            table_cell(table, "%" PRId64, json_int_or(json_at(row, "score"), "covered", 0));
            table_cell(table, "%" PRId64, json_int_or(json_at(row, "score"), "occurrences", 0));
            table_cell(table, "%s",
                       json_text_or(row, "method", json_text_or(row, "no_forecast", "-")));
            table_cell(table, "%s", json_text_or(row, "basis", "-"));
            table_cell(table, "%s", json_text_or(row, "stale", "-"));
        }
    }
    table_show(table, style, out);
}

static void print(const json_t *answer, struct table_style style, struct text *out)
{
    const json_t *windows = json_object_get(answer, "windows");
    const char *state = json_text_or(answer, "state", "");

    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (text_equal(states[i].state, state))
            text_add(out, "%s\n", states[i].sentence);
    if (json_array_size(windows) == 0)
        return;
    print_needs(windows, style, out);
    text_add(out, "\n");
    print_queues(windows, style, out);
}

/* A row of CSV for each queue of each window: how often the bound held is in the row itself. */
static json_t *flat_of(const json_t *answer)
{
    static const char *const counts[] = { "occurrences", "covered" };
    json_t *rows = json_array();
    const json_t *window;
    size_t i;

    json_array_foreach(json_object_get(answer, "windows"), i, window) {
        json_t *queue;
        size_t k;

        json_array_foreach(json_object_get(window, "queues"), k, queue) {
            json_t *row = json_make("{ss ss}", "window", json_text_or(window, "window", "-"),
                                    "use_until", json_text_or(window, "use_until", ""));

            json_object_update(row, queue);
            for (size_t n = 0; n < COUNT_OF(counts); n++) {
                json_t *count = json_object_get(json_object_get(queue, "score"), counts[n]);

                json_object_set_new(row, counts[n], count ? json_copy(count) : json_null());
            }
            json_array_append_new(rows, row);
        }
    }
    return json_make("{so}", "queues", rows);
}

static void show(const struct command_call *call, const json_t *answer)
{
    bool is_csv = text_equal(call_text_or(call, "output", ""), "csv");
    owned(json) json_t *flat = flat_of(answer);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    if (forms_print(call, is_csv ? flat : answer, &(struct answer_rows){ "queues", "queue" }))
        return;
    print(answer, forms_style(call), out);
    output_print(call, out->chars);
}

int forecast_in_force(const struct command_call *call)
{
    const char *queue = call_argument(call, 0);
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *answer = NULL;

    if (call_text(call, "demand"))
        return call_usage_error(call, "--in-force asks the service, and --demand makes a forecast: "
                                      "give one of them");
    config = client_service(call, &code);
    if (!config)
        return code;
    answer = client_ask(config, HTTP_GET, "/v1/forecast", NULL, &err);
    if (!answer || (queue && keep_only(answer, queue, &err) < 0))
        return client_fail(call, &err);
    show(call, answer);
    return EXIT_DONE;
}
