/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice plan and sluice apply: what the schedules would do, and putting them in force.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/terminal/bill.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/leavers.h"
#include "broker/terminal/output.h"
#include "broker/terminal/table.h"
#include "windows/forecast/forecast_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLAN_LIMIT = 16 << 20 };

const struct command_option plan_options[] = {
    { "schedules", 0, "DIR", "folder of schedule files (default: the configured one)", false },
    { "in-force", 0, NULL, "plan with the schedules in force instead of files", false },
    { "out", 0, "FILE", "write the plan as JSON, for `sluice apply FILE`", false },
    { "exit-code", 0, NULL, "exit with 2 when something would change", false },
    { "output", 'o', "table|json|yaml|csv|name",
      "the form of the answer (default table); csv, name: the nodes to move", false },
    PAGE_TITLES_OPTION,
    CLIENT_OPTIONS,
    { 0 },
};

const struct command_option apply_options[] = {
    { "schedules", 0, "DIR", "folder of schedule files (default: the configured one)", false },
    CLIENT_OPTIONS,
    { 0 },
};

static const char *number(const json_t *row, const char *key, char *out, size_t size)
{
    if (json_at(row, key))
        text_print(out, size, "%" PRId64, json_int_or(row, key, 0));
    else
        text_print(out, size, "-");
    return out;
}

static void print_pools(const json_t *plan, struct table_style style, struct text *out)
{
    static const char *const titles[] = { "POOL", "CLUSTER", "ZONE", ">NODES", ">IN",
                                          ">NOW", ">WANTED", "BY",   NULL };
    owned(table) struct table *table = table_new(titles);
    const json_t *row;
    char text[32];
    size_t i;

    json_array_foreach(json_object_get(plan, "pools"), i, row) {
        table_cell(table, "%s", json_text_or(row, "pool", "-"));
        table_cell(table, "%s", json_text_or(row, "cluster", "-"));
        table_cell(table, "%s", json_text_or(row, "zone", "-"));
        table_cell(table, "%s", number(row, "nodes", text, sizeof text));
        table_cell(table, "%s", number(row, "incoming_nodes", text, sizeof text));
        table_cell(table, "%s", number(row, "now_nodes", text, sizeof text));
        table_cell(table, "%s", number(row, "wanted_nodes", text, sizeof text));
        table_cell(table, "%s", json_text_or(row, "due", "-"));
    }
    table_show(table, style, out);
}

/* Lines with a sign: what would change.  Returns how many. */
static int print_changes(const json_t *plan, struct text *out)
{
    char before[32];
    char after[32];
    const json_t *row;
    int changes = (int)json_array_size(json_object_get(plan, "transfers"));
    size_t i;

    leavers_print(plan, out);
    json_array_foreach(json_object_get(plan, "workloads"), i, row) {
        if (json_equal(json_object_get(row, "replicas"), json_object_get(row, "wanted_replicas")))
            continue;
        text_add(out, "  ~ deployment %s  %s  %s -> %s\n", json_text_or(row, "workload", "-"),
                 json_text_or(row, "cluster", "-"), number(row, "replicas", before, sizeof before),
                 number(row, "wanted_replicas", after, sizeof after));
        changes++;
    }
    board_lacks(plan, out);
    return changes;
}

static void print_plan(const json_t *plan, struct table_style style, struct text *out)
{
    size_t moves = json_array_size(json_object_get(plan, "transfers"));
    int64_t withdrawn = json_int_or(plan, "withdrawn_transfers", 0);
    char lead[DURATION_TEXT_SIZE];
    char reach[DURATION_TEXT_SIZE];

    text_add(out, "window %s, looking %s ahead (notice and lead time; p95 of one node %s)\n",
             json_text_or(plan, "window", "-"),
             duration_format(json_int_or(plan, "reach_s", 0) * SECOND_MS, reach),
             duration_format(json_int_or(plan, "lead_p95_s", 0) * SECOND_MS, lead));
    board_overrides(plan, out);
    board_unknown(plan, out);
    text_add(out, "\n");
    print_pools(plan, style, out);
    text_add(out, "\n");
    print_changes(plan, out);
    bill_print(json_object_get(plan, "bill"), out);
    text_add(out,
             "Plan: %zu node%s to move now, %" PRId64 " transfer%s to withdraw. Fingerprint %s.\n",
             moves, moves == 1 ? "" : "s", withdrawn, withdrawn == 1 ? "" : "s",
             json_text_or(plan, "fingerprint", "-"));
}

/* The service has refused a forecast that cannot be read.  schedules NULL: those in force, of whose
   age the service warns some hours later. */
static void add_age(const json_t *plan, const json_t *schedules, struct text *out)
{
    const char *text = json_text_or(schedules, FORECAST_FILE_NAME, "");
    owned(forecast_file) struct forecast_file *file = forecast_file_parse(
        text, strlen(text), FORECAST_FILE_NAME, &(struct error){ 0 });
    const struct forecast_file_window *first = file ? forecast_file_first(file) : NULL;
    struct wall_time at;
    char until[WALL_TEXT_SIZE];

    if (first && wall_parse(json_text_or(plan, "at", ""), false, &at, &(struct error){ 0 }) == 0 &&
        first->until.ms < at.ms)
        text_add(out,
                 "warning: these schedules were to be planned again by %s; `sluice allocate` does "
                 "it, with newer demand\n",
                 wall_format(first->until, until));
}

/* The plan on standard output, and what it rests on uncertainly on standard error, where JSON does
   not have it. */
static void show_plan(const struct command_call *call, struct table_style style, const json_t *plan,
                      const json_t *schedules)
{
    static const struct answer_rows rows = { "transfers", "node" };
    owned(text) struct text *out = text_new(PLAN_LIMIT);
    owned(text) struct text *warnings = text_new(PLAN_LIMIT);

    if (!forms_print(call, plan, &rows)) {
        print_plan(plan, style, out);
        output_print(call, out->chars);
    }
    if (client_wants_json(call))
        return;
    board_warnings(plan, warnings);
    add_age(plan, schedules, warnings);
    fputs(warnings->chars, stderr);
}

/* The plan file holds the schedules, too: `apply` uses the texts that were reviewed. */
static int write_plan(const char *path, const json_t *plan, json_t *schedules, struct error *err)
{
    owned(json) json_t *file = json_make("{sO}", "schedules", schedules);
    owned(chars) char *text = NULL;

    json_object_update(file, (json_t *)(uintptr_t)plan);
    text = json_print_pretty(file);
    return file_write(path, text, strlen(text), 0644, err);
}

static json_t *read_schedules(const struct command_call *call, const struct config *config,
                              struct error *err)
{
    const char *folder = call_text_or(call, "schedules", config->schedules);

    if (folder)
        return client_schedules(folder, err);
    error_set(err, ERROR_INVALID,
              "without a sluice.yaml the folder of the schedules is not known: give --schedules");
    return NULL;
}

int cmd_plan(struct command_call *call)
{
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *schedules = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *plan = NULL;
    owned(text) struct text *changes = text_new(PLAN_LIMIT);

    if (!config)
        return code;
    if (!call_flag(call, "in-force")) {
        schedules = read_schedules(call, config, &err);
        if (!schedules)
            return client_fail(call, &err);
    }
    request = schedules ? json_make("{sO}", "schedules", schedules) : json_object();
    plan = client_ask(config, HTTP_POST, "/v1/plan", request, &err);
    if (!plan)
        return client_fail(call, &err);
    if (call_text(call, "out") && !schedules)
        return call_usage_error(call, "--out needs schedules from files, not --in-force");
    if (call_text(call, "out") && write_plan(call_text(call, "out"), plan, schedules, &err) < 0)
        return client_fail(call, &err);
    show_plan(call, forms_style(call), plan, schedules);
    return call_flag(call, "exit-code") && print_changes(plan, changes) > 0 ? EXIT_DIFFERENT
                                                                            : EXIT_DONE;
}

/* The request of an apply: from a plan file, with its fingerprint, or from the schedule files. */
static json_t *read_request(const struct command_call *call, const struct config *config,
                            struct error *err)
{
    const char *path = call_argument(call, 0);
    owned(text) struct text *text = NULL;
    owned(json) json_t *plan = NULL;
    owned(json) json_t *schedules = NULL;
    const char *fingerprint;
    json_t *object;

    if (!path) {
        schedules = read_schedules(call, config, err);
        return schedules ? json_make("{sO}", "schedules", schedules) : NULL;
    }
    text = file_read(path, PLAN_LIMIT, err);
    plan = text ? json_parse(text->chars, text->length, path, err) : NULL;
    if (!plan)
        return NULL;
    if (json_need_object(plan, "schedules", &object, err) < 0 ||
        json_need_text(plan, "fingerprint", &fingerprint, err) < 0) {
        error_context(err, "%s", path);
        return NULL;
    }
    return json_make("{sO ss}", "schedules", object, "fingerprint", fingerprint);
}

/* Whether it is in force, or waits for a second person. */
static void print_applied(const json_t *plan, const json_t *schedules, struct text *out)
{
    bool has_forecast = json_object_get(schedules, FORECAST_FILE_NAME) != NULL;
    const char *id = json_text_or(plan, "approval/id", "-");

    if (json_bool_or(plan, "is_applied", true))
        text_add(out, "Applied: %zu schedules are in force%s.\n",
                 json_object_size(schedules) - has_forecast,
                 has_forecast ? ", with the forecast that they were planned for" : "");
    else
        text_add(out,
                 "Not applied: %" PRId64 " nodes would change their pools. %s waits for a second "
                 "person until %s.\nThat person looks at it with: sluice approve %s\n",
                 json_int_or(plan, "approval/nodes", 0), id,
                 json_text_or(plan, "approval/ends", "-"), id);
}

int cmd_apply(struct command_call *call)
{
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *request = NULL;
    owned(json) json_t *plan = NULL;
    owned(text) struct text *out = text_new(PLAN_LIMIT);

    if (!config)
        return code;
    request = read_request(call, config, &err);
    plan = request ? client_ask(config, HTTP_POST, "/v1/apply", request, &err) : NULL;
    if (!plan)
        return client_fail(call, &err);
    show_plan(call, (struct table_style){ 0 }, plan, json_object_get(request, "schedules"));
    if (!client_wants_json(call)) {
        print_applied(plan, json_object_get(request, "schedules"), out);
        output_print(call, out->chars);
    }
    return json_bool_or(plan, "is_applied", true) ? EXIT_DONE : EXIT_REFUSED;
}
