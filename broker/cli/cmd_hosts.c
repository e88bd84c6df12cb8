/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice hosts: the physical hosts in quarantine, and the end of one.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <stdio.h>

const struct command_option hosts_options[] = {
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static const struct wide_column wide[] = { { "MACHINE", "machine" }, { 0 } };

static void print_hosts(const struct command_call *call, const json_t *answer)
{
    static const char *const titles[] = { "HOST", "PROVIDER", "POOL", "UNTIL", "WHY", NULL };
    owned(table) struct table *table = forms_table(forms_is_wide(call), titles, wide);
    owned(text) struct text *out = text_new(8 << 20);
    const json_t *row;
    size_t i;

    if (json_array_size(json_object_get(answer, "hosts")) == 0) {
        fprintf(stderr, "No host is in quarantine.\n");
        return;
    }
    json_array_foreach(json_object_get(answer, "hosts"), i, row) {
        table_cell(table, "%s", json_text_or(row, "host", "-"));
        table_cell(table, "%s", json_text_or(row, "provider", "-"));
        table_cell(table, "%s", json_text_or(row, "pool", "-"));
        table_cell(table, "%s", json_text_or(row, "until", "-"));
        forms_wide_cells(forms_is_wide(call), table, row, wide);
        table_cell(table, "%s", json_text_or(row, "text", "-"));
    }
    table_print(table, out);
    forms_print_table(call, out);
}

static void print_released(const json_t *row, struct text *out)
{
    text_add(out, "host %s is used again; its quarantine was to end at %s\n",
             json_text_or(row, "host", "-"), json_text_or(row, "until", "-"));
}

int cmd_hosts(struct command_call *call)
{
    const char *verb = call_argument(call, 0);
    const char *host = call_argument(call, 1);
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;

    if (verb && (!text_equal(verb, "release") || !host))
        return call_usage_error(call, "expected nothing, or: release HOST");
    config = client_service(call, &code);
    if (!config)
        return code;
    if (verb) {
        request = json_make("{ss}", "host", host);
        answer = client_ask(config, HTTP_POST, "/v1/hosts/release", request, &err);
    } else {
        answer = client_ask(config, HTTP_GET, "/v1/hosts", NULL, &err);
    }
    if (!answer)
        return client_fail(call, &err);
    if (verb)
        client_tell(call, answer, print_released);
    else if (!forms_print(call, answer, &(struct answer_rows){ "hosts", "host" }))
        print_hosts(call, answer);
    return EXIT_DONE;
}
