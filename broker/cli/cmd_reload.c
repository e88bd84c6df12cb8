/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice reload: the running service reads its configuration again.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"

#include <inttypes.h>
#include <stdio.h>

enum { WAIT_MS = MINUTE_MS, ASK_MS = 100 };

const struct command_option reload_options[] = {
    { "check", 0, NULL, "say what would change, and whether the service would take it; do nothing",
      false },
    CLIENT_OPTIONS,
    { 0 },
};

static void print_changes(const json_t *answer, struct text *out)
{
    const json_t *changes = json_object_get(answer, "changes");
    const json_t *row;
    size_t i;

    json_array_foreach(changes, i, row) {
        const char *key = json_text_or(row, "key", "-");
        const char *before = json_text_or(row, "before", "");
        const char *after = json_text_or(row, "after", "");
        const char *change = json_text_or(row, "change", "");

        if (text_equal(change, "added"))
            text_add(out, "  + %s: %s\n", key, after);
        else if (text_equal(change, "removed"))
            text_add(out, "  - %s: %s\n", key, before);
        else
            text_add(out, "  ~ %s: %s -> %s\n", key, before, after);
    }
    if (json_array_size(changes) == 0)
        text_add(out, "No setting of %s has changed.\n", json_text_or(answer, "config", "-"));
}

static void print_unplanned(const json_t *answer, const char *before, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "unplanned"), i, row)
        text_add(out, "%s%s\n", before, json_text_or(row, "text", "-"));
}

static void print_check(const json_t *answer, struct text *out)
{
    print_changes(answer, out);
    text_add(out, "The service would take it.  Nothing was changed.\n");
    print_unplanned(answer, "Warning, as soon as it is in force: ", out);
}

static void print_done(const json_t *answer, struct text *out)
{
    print_changes(answer, out);
    text_add(out, "%s is in force.\n", json_text_or(answer, "config", "-"));
    print_unplanned(answer, "Warning: ", out);
}

/* The service begins again with the configuration, so it cannot be asked for a moment.  NULL: it
   did not begin in time, or went back to the old configuration. */
static json_t *await(const struct config *config, const json_t *answer, struct error *err)
{
    int64_t end_ms = client_now_ms() + WAIT_MS;

    for (; client_now_ms() < end_ms; client_rest(ASK_MS)) {
        struct error why = { 0 };
        json_t *state = client_ask(config, HTTP_GET, "/v1/reload", NULL, &why);

        if (!state && why.kind != ERROR_TRANSIENT && why.kind != ERROR_UNKNOWN_OUTCOME) {
            *err = why;
            return NULL;
        }
        if (state && json_int_or(state, "start", 0) != json_int_or(answer, "start", 0))
            return state;
        json_decref(state);
    }
    error_set(err, ERROR_TRANSIENT,
              "the service was asked, and does not answer with the new configuration: look at its "
              "log");
    return NULL;
}

int cmd_reload(struct command_call *call)
{
    bool is_check = call_flag(call, "check");
    int code = EXIT_DONE;
    struct error err = { 0 };
    owned(config) struct config *config = client_service(call, &code);
    owned(json) json_t *request = json_make("{sb}", "is_dry_run", (int)is_check);
    owned(json) json_t *answer = NULL;
    owned(json) json_t *state = NULL;

    if (!config)
        return code;
    answer = client_ask(config, HTTP_POST, "/v1/reload", request, &err);
    if (!answer)
        return client_fail(call, &err);
    if (is_check) {
        client_tell(call, answer, print_check);
        return EXIT_DONE;
    }
    state = await(config, answer, &err);
    if (!state)
        return client_fail(call, &err);
    if (json_text_or(state, "refused", "")[0] != '\0') {
        error_set(&err, ERROR_DENIED, "the configuration before is in force: %s",
                  json_text_or(state, "refused", ""));
        return client_fail(call, &err);
    }
    json_object_set(answer, "unplanned", json_object_get(state, "unplanned"));
    client_tell(call, answer, print_done);
    return EXIT_DONE;
}
