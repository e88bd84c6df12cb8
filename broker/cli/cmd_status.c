/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice status: the world on one screen.
 */
#include "base/json.h"
#include "broker/cli/board.h"
#include "broker/cli/client.h"
#include "broker/cli/commands.h"

#include <stdio.h>
#include <unistd.h>

enum { WATCH_MS = 2 * SECOND_MS, BOARD_LIMIT = 1 << 20, TRANSFERS_SHOWN = 24 };

const struct command_option status_options[] = {
    { "watch", 'w', NULL, "look again every two seconds: a board on a terminal, else JSON lines",
      false },
    { "check", 0, NULL,
      "exit with 2 when something is late, short, stale, blocked or needs a person", false },
    { 0 },
};
const char status_examples[] = "sluice status\n"
                               "sluice status -w\n"
                               "sluice status -o json | jq '.clusters[] | {cluster, nodes}'\n";
const char status_text[] =
    "JSON: at, local, window, window_until, next_window, margin_s (of the tightest move, p95; "
    "null:\n"
    "nothing is due), margin_for, live_transfers, steps: {STEP: count, needs_operator},\n"
    "clusters: [{cluster, role, nodes, wanted_nodes, static_nodes, ephemeral_nodes,\n"
    "incoming_nodes, outgoing_nodes, ready_gpus, age_s, state, states, trouble}],\n"
    "reservations: [{reservation, machine, zone, reserved_nodes, nodes, moving_nodes}],\n"
    "workloads: [{workload, cluster, replicas, wanted_replicas, trouble}],\n"
    "quotas: [{quota, cluster, cluster_queue, flavor, gpus, wanted_gpus, is_reserved, trouble}],\n"
    "unknown: [{pool, cluster, reservation, reason, age_s}] (pools that no plan counts on),\n"
    "holds: {freezes, reclaims}, transfers (as `sluice transfers`), warnings,\n"
    "lead_p50_s, lead_p95_s, is_lead_learned, notice_violations (pods that had to leave with less\n"
    "notice than promised: 0), emergency_evictions.  Times are RFC 3339 in UTC.\n"
    "health: {severity (ok, note, warning, critical), word, conditions: [{id, severity, word, "
    "since,\n"
    "what, cluster, text}]}: what is not as it should be, the worst first; the head of the table,\n"
    "states, warnings and --check (2 from warning on) say it again.\n"
    "State: OK, GROWING, LEAVING; or what is wrong, the worst first: BLOCKED (a reclaim's pool "
    "gets\n"
    "no machines), BEHIND (a reclaim's promise has passed), SHORT (production has less than it\n"
    "wants), OPERATOR (a transfer needs a person), UNREACHABLE, STALE (too little is known to "
    "act),\n"
    "CLOSED (a pool whose last attempts failed), FROZEN.\n";

/* The service judges; what is only a note does not count. */
static bool is_degraded(const json_t *status)
{
    const char *severity = json_text_or(status, "health/severity", "critical");

    return !text_equal(severity, "ok") && !text_equal(severity, "note");
}

/* False when nobody reads any more: the end of `sluice status -w | head`. */
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
