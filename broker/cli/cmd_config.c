/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice config: what may stand in sluice.yaml, and what stands there.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command_option config_options[] = {
    { "origin", 0, NULL, "show: also where each value comes from", false },
    ROWS_OPTIONS,
    { 0 },
};

/* What commands read beside the file. */
static const struct {
    const char *key, *variable;
} environment[] = {
    { "server", "SLUICE_SERVER" },
    { "ca", "SLUICE_CA" },
    { "client_certificate", "SLUICE_CLIENT_CERTIFICATE" },
    { "client_key", "SLUICE_CLIENT_KEY" },
    { "token", "SLUICE_TOKEN_FILE" },
};

static const char *found_by(const struct command_call *call)
{
    if (call_text(call, "config"))
        return "--config";
    return getenv("SLUICE_CONFIG") ? "$SLUICE_CONFIG" : "search";
}

/* "guard" is that section, "guard.fresh" one setting. */
static bool is_wanted(const char *key, const char *wanted)
{
    size_t length = wanted ? strlen(wanted) : 0;

    return !wanted ||
           (text_starts_with(key, wanted) && (key[length] == '\0' || key[length] == '.'));
}

static json_t *read_settings(const struct config *config, const char *wanted)
{
    owned(json) json_t *all = config_origins(config);
    json_t *rows = json_array();
    json_t *row;
    size_t i;

    json_array_foreach(all, i, row)
        if (is_wanted(json_text_or(row, "key", ""), wanted))
            json_array_append(rows, row);
    for (i = 0; i < COUNT_OF(environment); i++) {
        const char *value = getenv(environment[i].variable);
        owned(chars) char *origin = text_format("environment $%s", environment[i].variable);

        if (value && is_wanted(environment[i].key, wanted))
            json_array_append_new(rows,
                                  json_make("{ss ss ss so}", "key", environment[i].key, "value",
                                            value, "origin", origin, "line", json_null()));
    }
    return rows;
}

static void print_settings(const struct command_call *call, const json_t *rows)
{
    static const char *const with_origin[] = { "ORIGIN", "KEY", "VALUE", NULL };
    bool has_origin = call_flag(call, "origin") || forms_is_wide(call);
    owned(table) struct table *table = table_new(has_origin ? with_origin : with_origin + 1);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        if (has_origin)
            table_cell(table, "%s", json_text_or(row, "origin", "-"));
        table_cell(table, "%s", json_text_or(row, "key", "-"));
        table_cell(table, "%s", json_text_or(row, "value", "-"));
    }
    table_print(table, out);
    forms_print_table(call, out);
}

static int show(const struct command_call *call)
{
    const char *wanted = call_argument(call, 1);
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_config(call, &code);
    owned(json) json_t *answer = NULL;
    json_t *rows;

    if (!config)
        return code;
    rows = read_settings(config, wanted);
    answer = json_make("{ss ss ss so}", "kind", "settings", "config", config->path, "found_by",
                       found_by(call), "settings", rows);
    if (json_array_size(rows) == 0) {
        error_set(&err, ERROR_NOT_FOUND, "%s has no setting %s: `sluice config show` lists all",
                  config->path, wanted);
        return client_fail(call, &err);
    }
    if (!forms_print(call, answer, &(struct answer_rows){ "settings", "key" }))
        print_settings(call, rows);
    return EXIT_DONE;
}

int cmd_config(struct command_call *call)
{
    const char *verb = call_argument(call, 0);
    owned(json) json_t *schema = NULL;

    if (text_equal(verb, "show"))
        return show(call);
    if (!text_equal(verb, "schema") || call_argument(call, 1))
        return call_usage_error(call, "expected schema, or: show [KEY]");
    schema = config_schema();
    client_print_json(call, schema);
    return EXIT_DONE;
}
