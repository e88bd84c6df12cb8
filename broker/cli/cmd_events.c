/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice events: the journal's story, newest last.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option events_options[] = {
    { "count", 'n', "N", "how many, the last ones (default 50, at most 10000)", false },
    CLIENT_OPTIONS,
    { 0 },
};

/* All members but those that head the line, as key=value. */
static void print_event(const json_t *event)
{
    const char *key;
    json_t *value;

    printf("%s  %-18s", json_text_or(event, "at", "-"), json_text_or(event, "event", "-"));
    json_object_foreach((json_t *)(uintptr_t)event, key, value) {
        if (text_equal(key, "at") || text_equal(key, "event") || text_equal(key, "seq"))
            continue;
        if (json_is_string(value) && json_string_length(value) > 0)
            printf(" %s=%s", key, json_string_value(value));
        else if (json_is_integer(value))
            printf(" %s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
    }
    printf("\n");
}

int cmd_events(struct command_call *call)
{
    int code = EXIT_DONE;
    int64_t count = 50;
    struct error err = { 0 };
    owned(config) struct config *config = NULL;
    owned(json) json_t *answer = NULL;
    owned(chars) char *path = NULL;
    const json_t *event;
    size_t i;

    if (call_int(call, "count", (struct int_range){ 1, 10000 }, &count, &err) < 0)
        return call_usage_error(call, "%s", err.text);
    config = client_service(call, &code);
    if (!config)
        return code;
    path = text_format("/v1/events?count=%" PRId64, count);
    answer = client_ask(config, HTTP_GET, path, NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    if (client_wants_json(call)) {
        client_print_json(answer);
        return EXIT_DONE;
    }
    json_array_foreach(json_object_get(answer, "events"), i, event)
        print_event(event);
    return EXIT_DONE;
}
