/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice transfers: which node is where, since when, what it waits for, when it is expected.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/leavers.h"
#include "broker/terminal/output.h"
#include "broker/terminal/transfer_page.h"
#include "broker/terminal/transfer_rows.h"
#include "broker/terminal/watch.h"

#include <stdio.h>

const struct command_option transfers_options[] = {
    { "all", 'A', NULL, "also list transfers that ended lately", false },
    WATCH_OPTION,
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static void draw(const json_t *answer, struct watch_view view, struct text *out)
{
    if (view.is_open)
        transfer_rows_open(answer, view.columns, out);
    else
        transfer_rows_groups(answer, view.columns, out);
}

static const struct answer_rows rows = { "transfers", "transfer" };

/* JSON has its members alone; the forms of lists take it for a list of one. */
static void print_one(const struct command_call *call, const json_t *transfer)
{
    owned(json) json_t *list = json_make("{s[O]}", "transfers", transfer);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    if (client_wants_json(call))
        client_print_json(call, transfer);
    else if (!forms_print(call, list, &rows)) {
        transfer_page(transfer, out);
        output_print(call, out->chars);
    }
}

int cmd_transfers(struct command_call *call)
{
    const char *id = call_argument(call, 0);
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(chars) char *path = id ? url_format("/v1/transfers/%s", id)
                                 : url_format("/v1/transfers?all=%s",
                                              call_flag(call, "all") ? "true" : "false");
    owned(json) json_t *answer = NULL;
    owned(text) struct text *out = text_new(8 << 20);

    if (id && call_flag(call, "watch"))
        return call_usage_error(call, "--watch is for the list: leave out %s", id);
    if (!config)
        return code;
    if (call_flag(call, "watch"))
        return watch_run(call, config, &(struct watched){ path, draw, false });
    answer = client_ask(config, HTTP_GET, path, NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    if (id) {
        print_one(call, answer);
        return EXIT_DONE;
    }
    if (forms_print(call, answer, &rows))
        return EXIT_DONE;
    transfer_rows_table(answer, SIZE_MAX, (struct table_style){ .is_wide = forms_is_wide(call) },
                        out);
    forms_print_table(call, out);
    return EXIT_DONE;
}
