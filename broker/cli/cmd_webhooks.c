/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice webhooks: the receivers of messages and what they have of them, and a test of one.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option webhooks_options[] = {
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static const struct wide_column wide[] = {
    { "URL", "url" }, { "EVENTS", "events" }, { ">TRIES", "tries" }, { 0 }
};

static void print_webhooks(const struct command_call *call, const json_t *answer)
{
    static const char *const titles[] = { "WEBHOOK",   "FORMAT",      "STATE",    "SINCE",
                                          ">BEHIND",   ">SENT",       ">REFUSED", ">DROPPED",
                                          "LAST SENT", "LAST ANSWER", NULL };
    static const char *const counts[] = { "behind", "sent", "refused", "dropped" };
    owned(table) struct table *table = forms_table(forms_is_wide(call), titles, wide);
    owned(text) struct text *out = text_new(1 << 20);
    const json_t *row;
    size_t i;

    if (json_array_size(json_object_get(answer, "webhooks")) == 0) {
        fprintf(stderr, "No webhook is configured.\n");
        return;
    }
    json_array_foreach(json_object_get(answer, "webhooks"), i, row) {
        const char *last = json_text_or(row, "last_answer", "");

        table_cell(table, "%s", json_text_or(row, "webhook", "-"));
        table_cell(table, "%s", json_text_or(row, "format", "-"));
        table_cell(table, "%s", json_text_or(row, "state", "-"));
        table_cell(table, "%s", json_text_or(row, "failing_since", "-"));
        for (size_t k = 0; k < COUNT_OF(counts); k++)
            table_cell(table, "%" PRId64, json_int_or(row, counts[k], 0));
        table_cell(table, "%s", json_text_or(row, "last_sent", "-"));
        forms_wide_cells(forms_is_wide(call), table, row, wide);
        table_cell(table, "%s", last[0] != '\0' ? last : "-");
    }
    table_print(table, out);
    forms_print_table(call, out);
}

static void print_test(const json_t *answer, struct text *out)
{
    char took[DURATION_TEXT_SIZE];

    duration_format(json_int_or(answer, "took_ms", 0), took);
    text_add(out, "webhook %s %s the test message: %s (%s)\n", json_text_or(answer, "webhook", "-"),
             json_bool_or(answer, "is_accepted", false) ? "accepted" : "did not accept",
             json_text_or(answer, "answer", "-"), took);
}

static int test(struct command_call *call, const struct config *config, const char *name)
{
    owned(json) json_t *request = json_make("{ss}", "webhook", name);
    struct error err = { 0 };
    owned(json) json_t *answer = client_ask(config, HTTP_POST, "/v1/webhooks/test", request, &err);

    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_test);
    return json_bool_or(answer, "is_accepted", false) ? EXIT_DONE : EXIT_ERROR;
}

int cmd_webhooks(struct command_call *call)
{
    const char *verb = call_argument(call, 0);
    const char *name = call_argument(call, 1);
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *answer = NULL;

    if (verb && (!text_equal(verb, "test") || !name))
        return call_usage_error(call, "expected nothing, or: test NAME");
    config = client_service(call, &code);
    if (!config)
        return code;
    if (verb)
        return test(call, config, name);
    answer = client_ask(config, HTTP_GET, "/v1/webhooks", NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    if (!forms_print(call, answer, &(struct answer_rows){ "webhooks", "webhook" }))
        print_webhooks(call, answer);
    return EXIT_DONE;
}
