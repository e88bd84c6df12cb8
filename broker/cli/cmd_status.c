/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice status: the world on one screen.
 */
#include "base/input/json.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/output.h"
#include "broker/terminal/times.h"
#include "broker/terminal/transfer_rows.h"
#include "broker/terminal/watch.h"

#include <inttypes.h>
#include <stdio.h>

enum { BOARD_LIMIT = 1 << 20, TRANSFERS_SHOWN = 24, PLUGIN_UNKNOWN = 3 };

const struct command_option status_options[] = {
    WATCH_OPTION,
    { "check", 0, "[=exit|nagios]",
      "exit with 2 if a condition is a warning or critical; nagios: one line and the codes of a "
      "monitoring plugin",
      false },
    { "output", 'o', "table|wide|json|yaml|csv|name",
      "the form of the answer (default table); wide: also the pools; csv, name: the clusters",
      false },
    PAGE_TITLES_OPTION,
    CLIENT_OPTIONS,
    { 0 },
};

/* The service judges; a row of severity note does not count. */
static bool is_degraded(const json_t *status)
{
    const char *severity = json_text_or(status, "health/severity", "critical");

    return !text_equal(severity, "ok") && !text_equal(severity, "note");
}

/* One line and an exit code, as https://nagios-plugins.org/doc/guidelines.html has them: 0, 1, 2
   and 3 (nothing is known). */
static int show_plugin(const json_t *status, const struct error *err)
{
    static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };
    const char *severity = json_text_or(status, "health/severity", "");
    const json_t *conditions = json_at(status, "health/conditions");
    const json_t *worst = json_array_get(conditions, 0);
    int code = !status                            ? PLUGIN_UNKNOWN
               : text_equal(severity, "critical") ? 2
               : text_equal(severity, "warning")  ? 1
                                                  : 0;
    owned(chars) char *told = worst ? text_format("%s; %s", json_text_or(worst, "text", ""),
                                                  json_text_or(worst, "advice", ""))
                                    : mem_copy_chars(status ? "no condition holds" : err->text);

    owned(chars) char *line = times_local(told);

    for (char *at = line; *at != '\0'; at++) /* the rest of the line is for numbers */
        if (*at == '|' || *at == '\n')
            *at = ' ';
    printf("SLUICE %s - %s", words[code], line);
    if (status)
        printf(" | conditions=%zu transfers=%" PRId64 ";;;0", json_array_size(conditions),
               json_int_or(status, "live_transfers", 0));
    if (json_at(status, "margin_s"))
        printf(" margin=%" PRId64 "s;0:", json_int_or(status, "margin_s", 0));
    printf("\n");
    return code;
}

/* False when the reader has gone: the end of `sluice status -w | head`. */
static void draw(const json_t *status, struct watch_view view, struct text *out)
{
    board_status(status, (struct table_style){ 0 }, out);
    text_add(out, "\n");
    if (view.is_open)
        transfer_rows_open(status, view.columns, out);
    else
        transfer_rows_groups(status, view.columns, out);
}

static bool show(const struct command_call *call, const json_t *status)
{
    static const struct answer_rows rows = { "clusters", "cluster" };
    owned(text) struct text *board = text_new(BOARD_LIMIT);
    struct table_style style = forms_style(call);

    if (forms_print(call, status, &rows))
        return fflush(stdout) == 0 && !ferror(stdout);
    board_status(status, style, board);
    if (style.is_wide)
        board_pools(status, style, board);
    if (json_int_or(status, "live_transfers", 0) > 0) {
        text_add(board, "\n");
        transfer_rows_table(status, TRANSFERS_SHOWN, style, board);
    }
    output_print(call, board->chars);
    return fflush(stdout) == 0 && !ferror(stdout);
}

/* Programs get all transfers.  A table needs few, and the JSON of 800 takes the most of its time.
 */
static json_t *ask(const struct command_call *call, const struct config *config, struct error *err)
{
    owned(chars) char *path = text_format("/v1/status?transfers=%d", TRANSFERS_SHOWN);

    return client_ask(config, HTTP_GET, forms_is_table(call) ? path : "/v1/status", NULL, err);
}

int cmd_status(struct command_call *call)
{
    bool is_watching = call_flag(call, "watch");
    bool is_plugin = text_equal(call_text_or(call, "check", ""), "nagios");
    int code = EXIT_DONE;
    owned(config) struct config *config = client_service(call, &code);

    if (is_plugin && is_watching)
        return call_usage_error(call, "--check=nagios looks once: leave out --watch");
    if (!config)
        return is_plugin ? PLUGIN_UNKNOWN : code;
    if (is_watching)
        return watch_run(call, config, &(struct watched){ "/v1/status", draw, false });

    struct error err = { 0 };
    owned(json) json_t *status = ask(call, config, &err);

    if (is_plugin)
        return show_plugin(status, &err);
    if (!status)
        return client_fail(call, &err);
    if (!show(call, status))
        return EXIT_ERROR;
    return call_flag(call, "check") && is_degraded(status) ? EXIT_DIFFERENT : EXIT_DONE;
}
