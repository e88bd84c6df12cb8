/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See wait_for.h.
 */
#include "broker/capacity/wait_for.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 2 * SECOND_MS, USUAL_MS = 45 * MINUTE_MS };

/* What is waited for: {text "settled"} or {cluster, nodes} or {id of a transfer or move}. */
struct wish {
    const char *text;
    char *cluster;
    int64_t nodes; /* at least so many; 0: not of this kind */
};

static int read_wish(const struct config *config, struct wish *wish, struct error *err)
{
    const char *equals = strchr(wish->text, '=');
    long long nodes = 0;

    if (!equals) {
        if (text_equal(wish->text, "settled") || text_starts_with(wish->text, "t-") ||
            text_starts_with(wish->text, "m-"))
            return 0;
        return error_set(err, ERROR_INVALID,
                         "--for: \"%s\" is neither settled, nor CLUSTER=NODES, nor the ID of a "
                         "transfer or move",
                         wish->text);
    }
    wish->cluster = text_format("%.*s", (int)(equals - wish->text), wish->text);
    if (config->path && !config_cluster(config, wish->cluster)) {
        (void)config_refuse_cluster(config, wish->cluster, err);
        return error_context(err, "--for");
    }
    if (!text_to_int(equals + 1, 1, INT32_MAX, &nodes))
        return error_set(err, ERROR_INVALID, "--for: \"%s\" is not a number of nodes", equals + 1);
    wish->nodes = nodes;
    return 0;
}

/* How far it is: `left` of what is missing, and whether a part of it failed for good. */
struct state {
    int64_t left;
    bool has_failed;
    const char *what; /* is left: "transfers" */
};

static struct state of_transfers(const json_t *answer, const struct wish *wish)
{
    struct state state = { .what = "transfers" };
    const json_t *row;
    size_t i;
    bool is_known = false;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        const char *said = json_text_or(row, "state", "");

        if (!text_equal(json_text_or(row, "transfer", ""), wish->text) &&
            !text_equal(json_text_or(row, "move", ""), wish->text))
            continue;
        is_known = true;
        state.left += text_equal(said, "live");
        state.has_failed |= !text_equal(said, "live") && !text_equal(said, "done");
    }
    if (!is_known)
        state = (struct state){ .left = -1, .what = "transfers" };
    return state;
}

static int64_t above_zero(int64_t number)
{
    return number > 0 ? number : 0;
}

/* A pool that is not known may lack nodes: one goes on waiting.  Too many are to move as well. */
static struct state of_all(const json_t *status)
{
    return (struct state){ .what = "transfers, nodes and unknown pools",
                           .left = json_int_or(status, "live_transfers", 1) +
                                   board_uneven_nodes(status) +
                                   (int64_t)json_array_size(json_object_get(status, "unknown")) };
}

/* A number that is not known is as good as none: one goes on waiting. */
static struct state of_cluster(const json_t *status, const struct wish *wish)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "clusters"), i, row) {
        int64_t nodes = json_int_or(row, "nodes", 0) - json_int_or(row, "outgoing_nodes", 0);

        if (text_equal(json_text_or(row, "cluster", ""), wish->cluster))
            return (struct state){ .what = "nodes", .left = above_zero(wish->nodes - nodes) };
    }
    return (struct state){ .what = "nodes", .left = -1 };
}

static int look(const struct config *config, const struct wish *wish, struct state *ret_state,
                struct error *err)
{
    bool is_transfer = !wish->cluster && !text_equal(wish->text, "settled");
    owned(json) json_t *answer = client_ask(
        config, HTTP_GET, is_transfer ? "/v1/transfers?all=true" : "/v1/status", NULL, err);

    struct state state;

    if (!answer)
        return -1;
    if (is_transfer)
        state = of_transfers(answer, wish);
    else
        state = wish->cluster ? of_cluster(answer, wish) : of_all(answer);
    if (state.left >= 0) {
        *ret_state = state;
        return 0;
    }
    if (wish->cluster)
        return error_set(err, ERROR_NOT_FOUND, "--for: the service has no cluster %.100s",
                         wish->cluster);
    return error_set(err, ERROR_NOT_FOUND,
                     "no transfer or move %.100s is under way or ended lately (`sluice transfers "
                     "--all`)",
                     wish->text);
}

static void show(const struct state *state)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%" PRId64 " %s left\033[K", state->left, state->what);
}

static int finish(const struct command_call *call, const struct wish *wish,
                  const struct state *state)
{
    bool is_met = state->left == 0 && !state->has_failed;
    owned(json) json_t *root = json_make("{ss ss sb sI}", "kind", "wait", "for", wish->text,
                                         "is_met", (int)is_met, "left", (json_int_t)state->left);

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (client_wants_json(call))
        client_print_json(call, root);
    else if (state->left > 0)
        printf("%s: not yet, %" PRId64 " %s left\n", wish->text, state->left, state->what);
    else
        printf("%s: %s\n", wish->text, is_met ? "done" : "ended; a part went back or failed");
    return is_met ? EXIT_DONE : state->left > 0 ? EXIT_PARTIAL : EXIT_DIFFERENT;
}

static int wait_on(const struct command_call *call, const struct config *config,
                   const struct wish *wish, int64_t left_ms)
{
    struct state state = { .left = -1 };

    for (int64_t end_ms = client_now_ms() + left_ms;; left_ms = end_ms - client_now_ms()) {
        struct error err = { 0 };
        bool is_first = state.left < 0;
        int result = look(config, wish, &state, &err);

        /* A service that restarts meanwhile answers again soon. */
        if (result < 0 && (is_first || err.kind != ERROR_TRANSIENT))
            return client_fail(call, &err);
        if ((result == 0 && state.left == 0) || left_ms <= 0)
            return finish(call, wish, &state);
        show(&state);
        client_rest(left_ms < LOOK_MS ? left_ms : LOOK_MS);
    }
}

int wait_for(const struct command_call *call)
{
    struct wish wish = { .text = call_text(call, "for") };
    int64_t left_ms = USUAL_MS;
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;

    if (call_text(call, "rate") || call_text(call, "servers") || call_text(call, "slots"))
        return call_usage_error(call,
                                "--for waits for the service, and takes none of the options of "
                                "the closed form");
    if (call_duration(call, "timeout", &left_ms, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    config = client_service(call, &code);
    if (!config)
        return code;
    code = read_wish(config, &wish, &err) < 0 ? call_usage_error(call, "%s", err.text)
                                              : wait_on(call, config, &wish, left_ms);
    mem_free(wish.cluster);
    return code;
}
