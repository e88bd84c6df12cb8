/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice leads: how long transfers take, by lead key and step, as the journal has learned it.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option leads_options[] = {
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static void add_quantile(struct table *table, const json_t *row, const char *key)
{
    char text[DURATION_TEXT_SIZE];
    int64_t seconds = json_int_or(row, key, -1);

    table_cell(table, "%s", seconds < 0 ? "-" : duration_format(seconds * SECOND_MS, text));
}

static void add_row(struct table *table, const char *key, const json_t *row)
{
    table_cell(table, "%s", key);
    table_cell(table, "%s", json_text_or(row, "step", "(whole)"));
    table_cell(table, "%" PRId64, json_int_or(row, "known", 0));
    table_cell(table, "%" PRId64, json_int_or(row, "censored", 0));
    add_quantile(table, row, "p50_s");
    add_quantile(table, row, "p95_s");
}

int cmd_leads(struct command_call *call)
{
    static const char *const titles[] = {
        "KEY", "STEP", ">KNOWN", ">CENSORED", ">P50", ">P95", NULL
    };
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *answer = NULL;
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(1 << 20);
    const json_t *row;
    size_t i;

    if (!config)
        return code;
    answer = client_ask(config, HTTP_GET, "/v1/leads", NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    if (forms_print(call, answer, &(struct answer_rows){ "leads", "key" }))
        return EXIT_DONE;
    json_array_foreach(json_object_get(answer, "leads"), i, row) {
        const char *name = json_text_or(row, "key", "-");
        const json_t *step;
        size_t k;

        add_row(table, name, row);
        json_array_foreach(json_object_get(row, "steps"), k, step)
            add_row(table, name, step);
    }
    table_print(table, out);
    forms_print_table(call, out);
    return EXIT_DONE;
}
