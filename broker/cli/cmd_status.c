/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice status: the world on one screen.
 */
#include "base/input/json.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>
#include <unistd.h>

enum { WATCH_MS = 2 * SECOND_MS, BOARD_LIMIT = 1 << 20, TRANSFERS_SHOWN = 24 };

const struct command_option status_options[] = {
    { "watch", 'w', NULL, "look again every two seconds: a board on a terminal, else JSON lines",
      false },
    { "check", 0, NULL, "exit with 2 if a condition is a warning or critical", false },
    { 0 },
};

/* The service judges; a row of severity note does not count. */
static bool is_degraded(const json_t *status)
{
    const char *severity = json_text_or(status, "health/severity", "critical");

    return !text_equal(severity, "ok") && !text_equal(severity, "note");
}

/* False when the reader has gone: the end of `sluice status -w | head`. */
static bool show(const struct command_call *call, const json_t *status, bool is_watching)
{
    owned(text) struct text *board = text_new(BOARD_LIMIT);

    if (client_wants_json(call) && !is_watching) {
        client_print_json(status);
    } else if (client_wants_json(call) || (is_watching && !isatty(STDOUT_FILENO))) {
        owned(chars) char *line = json_print(status);

        printf("%s\n", line);
    } else {
        board_status(status, board);
        if (json_int_or(status, "live_transfers", 0) > 0) {
            text_add(board, "\n");
            board_transfers(status, TRANSFERS_SHOWN, board);
        }
        printf("%s%s", is_watching ? "\033[H\033[J" : "", board->chars);
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

int cmd_status(struct command_call *call)
{
    bool is_watching = call_flag(call, "watch");
    int code = EXIT_DONE;
    owned(config) struct config *config = client_config(call, &code);

    if (!config)
        return code;
    for (;;) {
        struct error err = { 0 };
        owned(json) json_t *status = client_ask(config, HTTP_GET, "/v1/status", NULL, &err);

        if (!status)
            return client_fail(call, &err);
        if (!show(call, status, is_watching))
            return EXIT_ERROR;
        if (!is_watching)
            return call_flag(call, "check") && is_degraded(status) ? EXIT_DIFFERENT : EXIT_DONE;
        client_rest(WATCH_MS);
    }
}
