/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice abort and sluice resume: takes nodes out of their moves, and gives them back.
 */
#include "base/input/json.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>

enum { USUAL_MS = HOUR_MS };

const struct command_option abort_options[] = {
    { "for", 0, "DURATION", "how long no move takes the nodes (default 1h)", false },
    { "until", 0, "TIME", "no move takes the nodes before this time (RFC 3339)", false },
    { "reason", 0, "TEXT", "why; shown in the status", false },
    CLIENT_OPTIONS,
    { 0 },
};
const struct command_option resume_options[] = {
    CLIENT_OPTIONS,
    { 0 },
};

static void print_abort(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "goes_back"), i, row)
        text_add(out, "%s  stays in %s until %s; transfer %s goes back\n",
                 json_text_or(row, "node", "-"), json_text_or(row, "cluster", "-"),
                 json_text_or(answer, "until", "-"), json_text_or(row, "transfer", "-"));
    json_array_foreach(json_object_get(answer, "goes_on"), i, row)
        text_add(out, "%s  goes on: transfer %s is at %s, and its machine cannot come back\n",
                 json_text_or(row, "node", "-"), json_text_or(row, "transfer", "-"),
                 json_text_or(row, "step", "-"));
}

int cmd_abort(struct command_call *call)
{
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;

    if (!call_text(call, "reason"))
        return call_usage_error(call, "--reason is required");
    request = json_make("{ss ss}", "what", call_argument(call, 0), "reason",
                        call_text(call, "reason"));
    if (client_add_until(call, USUAL_MS, request, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    config = client_service(call, &code);
    if (!config)
        return code;
    answer = client_ask(config, HTTP_POST, "/v1/abort", request, &err);
    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_abort);
    return json_array_size(json_object_get(answer, "goes_on")) > 0 ? EXIT_PARTIAL : EXIT_DONE;
}

static void print_resume(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "nodes"), i, row)
        text_add(out, "%s  of %s is not frozen any more\n", json_text_or(row, "node", "-"),
                 json_text_or(row, "cluster", "-"));
}

int cmd_resume(struct command_call *call)
{
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *request = json_make("{ss}", "what", call_argument(call, 0));
    owned(json) json_t *answer = NULL;

    if (!config)
        return code;
    answer = client_ask(config, HTTP_POST, "/v1/resume", request, &err);
    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_resume);
    return EXIT_DONE;
}
