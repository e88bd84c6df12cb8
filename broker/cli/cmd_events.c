/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice events: the journal's story, newest last.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>

const struct command_option events_options[] = {
    { "count", 'n', "N", "how many, the last ones (default 50, at most 10000)", false },
    { "since", 0, "TIME", "only those of the last 2h, or since a time (RFC 3339)", false },
    { "node", 0, "NODE", "only those about this node or host", false },
    { "move", 0, "ID", "only those of this move or transfer", false },
    { "actor", 0, "NAME", "only what this person asked for", false },
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

static char *path_of(const struct command_call *call, int64_t count)
{
    static const char *const filters[] = { "since", "node", "move", "actor" };
    struct text *path = text_new(TEXT_UNBOUNDED);

    text_add(path, "/v1/events?count=%" PRId64, count);
    for (size_t i = 0; i < COUNT_OF(filters); i++) {
        owned(chars) char *one = url_format("%s", call_text_or(call, filters[i], ""));

        if (one[0] != '\0')
            text_add(path, "&%s=%s", filters[i], one);
    }
    return text_take(path);
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
    path = path_of(call, count);
    answer = client_ask(config, HTTP_GET, path, NULL, &err);
    if (!answer)
        return client_fail(call, &err);
    if (client_wants_json(call)) {
        client_print_json(answer);
        return EXIT_DONE;
    }
    json_array_foreach(json_object_get(answer, "events"), i, event)
        print_event(event);
    if (json_bool_or(answer, "is_cut", false))
        fprintf(stderr, "only the last 10000 events were looked at; older ones may fit, too\n");
    return EXIT_DONE;
}
