/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice hold: asks sluice to postpone the departure of a node.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <stdio.h>

const struct command_option hold_options[] = {
    { "until", 0, "TIME", "the node should not leave before this time (RFC 3339)", false },
    { "for", 0, "DURATION", "how much later than planned the node should leave, instead of --until",
      false },
    { "reason", 0, "TEXT", "why; shown on the departure board", false },
    CLIENT_OPTIONS,
    { 0 },
};

static void print_hold(const json_t *answer, struct text *out)
{
    const char *asked = json_text_or(answer, "asked", "");
    const char *departure = json_text_or(answer, "departure", "-");

    text_add(out, "%s leaves at %s, not at %s", json_text_or(answer, "node", "-"), departure,
             json_text_or(answer, "before", "-"));
    if (!text_equal(asked, departure))
        text_add(out, "; asked for was %s", asked);
    text_add(out, "\n");
}

int cmd_hold(struct command_call *call)
{
    int code = EXIT_DONE;
    int64_t for_ms = 0;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;

    if (!call_text(call, "reason"))
        return call_usage_error(call, "--reason is required");
    if (call_duration(call, "for", &for_ms, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    if ((call_text(call, "until") != NULL) == (for_ms > 0))
        return call_usage_error(call, "say how long: --until TIME or --for DURATION");
    config = client_service(call, &code);
    if (!config)
        return code;
    request = json_make("{ss ss}", "node", call_argument(call, 0), "reason",
                        call_text(call, "reason"));
    if (call_text(call, "until"))
        json_object_set_new(request, "until", json_text(call_text(call, "until")));
    else
        json_object_set_new(request, "for_s", json_integer((json_int_t)(for_ms / SECOND_MS)));
    answer = client_ask(config, HTTP_POST, "/v1/hold", request, &err);
    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_hold);
    return EXIT_DONE;
}
