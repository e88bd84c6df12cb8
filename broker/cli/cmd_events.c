/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice events: the journal's story, newest last.  sluice audit: what people did.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "broker/cli/event_rows.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/output.h"
#include "broker/terminal/table.h"
#include "broker/terminal/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct command_option events_options[] = {
    { "count", 'n', "N", "how many, the last ones (default 50, at most 10000)", false },
    { "since", 0, "TIME", "only those of the last 2h, or since a time (RFC 3339)", false },
    { "node", 0, "NODE", "only those about this node or host", false },
    { "move", 0, "ID", "only those of this move or transfer", false },
    { "actor", 0, "NAME",
      "only what this person asked for, under any name (root (login ada) is ada)", false },
    WATCH_OPTION,
    { "output", 'o', "table|wide|json|yaml|csv",
      "the form of the answer (default table); wide: each event with all its members", false },
    { "no-headers", 0, NULL, "leave out the first line of a table or of CSV", false },
    CLIENT_OPTIONS,
    { 0 },
};

const struct command_option audit_options[] = {
    { "count", 'n', "N", "how many, the last ones (default 50, at most 10000)", false },
    { "since", 0, "TIME", "only those of the last 2h, or since a time (RFC 3339)", false },
    { "actor", 0, "NAME", "only those of this person, under any name (root (login ada) is ada)",
      false },
    { "output", 'o', "table|json|yaml|csv", "the form of the answer (default table)", false },
    { "no-headers", 0, NULL, "leave out the first line of a table or of CSV", false },
    CLIENT_OPTIONS,
    { 0 },
};

/* A member as key=value; those of an object with its name in front: "freeze/reason=upgrade". */
static void add_member(const char *name, const json_t *value, struct text *out)
{
    const char *key;
    json_t *member;

    if (json_is_string(value) && json_string_length(value) > 0)
        text_add(out, " %s=%s", name, json_string_value(value));
    else if (json_is_integer(value))
        text_add(out, " %s=%" JSON_INTEGER_FORMAT, name, json_integer_value(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        owned(chars) char *path = text_format("%s/%s", name, key);

        if (!json_is_object(member))
            add_member(path, member, out);
    }
}

/* All members but those that head the line. */
static void add_event(const json_t *event, struct text *out)
{
    const char *key;
    json_t *value;

    text_add(out, "%s  %-18s", json_text_or(event, "at", "-"), json_text_or(event, "event", "-"));
    json_object_foreach((json_t *)(uintptr_t)event, key, value)
        if (!text_equal(key, "at") && !text_equal(key, "event") && !text_equal(key, "seq"))
            add_member(key, value, out);
    text_add(out, "\n");
}

/* For CSV, which has no members of members: also what the table says. */
static json_t *flat_of(const json_t *answer)
{
    json_t *events = json_array();
    const json_t *event;
    size_t i;

    json_array_foreach(json_object_get(answer, "events"), i, event) {
        json_t *flat = json_deep_copy(event);
        owned(json) json_t *row = event_row(event);
        const json_t *reclaim = json_object_get(event, "reclaim");

        json_object_update_missing(flat, row);
        json_object_update_missing(flat, (json_t *)(uintptr_t)reclaim);
        json_array_append_new(events, flat);
    }
    return json_make("{so}", "events", events);
}

static void draw_wide(const json_t *answer, bool is_open, struct text *out)
{
    const json_t *event;
    size_t i;

    (void)is_open; /* each is by itself anyway */
    json_array_foreach(json_object_get(answer, "events"), i, event)
        add_event(event, out);
}

static void draw(const json_t *answer, bool is_open, struct text *out)
{
    event_rows_print(json_object_get(answer, "events"), is_open ? EVENTS_OPEN : EVENTS_SCREEN, out);
}

static char *path_of(const struct command_call *call, const char *filters, int64_t count)
{
    struct text *path = text_new(TEXT_UNBOUNDED);
    size_t length;

    text_add(path, "/v1/events?count=%" PRId64, count);
    for (; *filters; filters += length + (filters[length] == ' ')) {
        owned(chars) char *name = text_format("%.*s", (int)(length = strcspn(filters, " ")),
                                              filters);
        owned(chars) char *value = url_format("%s", call_text_or(call, name, ""));

        if (value[0] != '\0')
            text_add(path, "&%s=%s", name, value);
    }
    return text_take(path);
}

/* A question to the service; without a configuration there is none, but an exit code. */
struct question {
    struct config *config;
    char *path;
};

static void owned_question(struct question *question)
{
    config_free(question->config);
    mem_free(question->path);
}

static struct question question_of(struct command_call *call, const char *filters, const char *more,
                                   int *ret_code)
{
    int64_t count = 50;
    struct error err = { 0 };
    struct question question = { 0 };
    owned(chars) char *path = NULL;

    if (call_int(call, "count", (struct int_range){ 1, 10000 }, &count, &err) < 0) {
        *ret_code = call_usage_error(call, "%s", err.text);
        return question;
    }
    path = path_of(call, filters, count);
    question.config = client_service(call, ret_code);
    question.path = text_format("%s%s", path, more);
    return question;
}

static json_t *ask(struct command_call *call, const struct question *question, int *ret_code)
{
    struct error err = { 0 };
    json_t *answer = NULL;

    if (!question->config)
        return NULL;
    answer = client_ask(question->config, HTTP_GET, question->path, NULL, &err);
    if (!answer)
        *ret_code = client_fail(call, &err);
    return answer;
}

static void print_cut(const json_t *answer)
{
    if (json_bool_or(answer, "is_cut", false))
        fprintf(stderr, "only the last 10000 events were looked at; older ones may fit, too\n");
}

static const struct answer_rows rows = { "events", "seq" };

int cmd_events(struct command_call *call)
{
    int code = EXIT_DONE;
    owned(question) struct question question = question_of(call, "since node move actor", "",
                                                           &code);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(json) json_t *answer = NULL, *flat = NULL;

    if (question.config && call_flag(call, "watch"))
        return watch_run(
            call, question.config,
            &(struct watched){ question.path, forms_is_wide(call) ? draw_wide : draw, true });
    answer = ask(call, &question, &code);
    if (!answer)
        return code;
    if (text_equal(call_text_or(call, "output", ""), "csv"))
        flat = flat_of(answer);
    if (forms_is_wide(call)) {
        draw_wide(answer, false, out);
        output_print(call, out->chars);
    } else if (!forms_print(call, flat ?: answer, &rows)) {
        event_rows_print(json_object_get(answer, "events"), EVENTS_TABLE, out);
        forms_print_table(call, out);
    }
    print_cut(answer);
    return EXIT_DONE;
}

static const char *text_of(const json_t *row, const char *member)
{
    return json_text_or(row, member, "")[0] ? json_text_or(row, member, "") : "-";
}

/* A row of the audit: {seq, at, who, act, on, reason}. */
static json_t *act_of(const json_t *event)
{
    owned(json) json_t *row = event_row(event);

    return json_make("{sI ss ss ss ss ss}", "seq", (json_int_t)json_int_or(event, "seq", 0), "at",
                     json_text_or(event, "at", "-"), "who", text_of(row, "by"), "act",
                     json_text_or(event, "event", "-"), "on", text_of(row, "about"), "reason",
                     text_of(row, "reason"));
}

static json_t *acts_of(const json_t *answer)
{
    json_t *acts = json_array();
    const json_t *event;
    size_t i;

    json_array_foreach(json_object_get(answer, "events"), i, event)
        json_array_append_new(acts, act_of(event));
    return json_make("{so}", "acts", acts);
}

static void print_acts(const struct command_call *call, const json_t *acts)
{
    static const char *const titles[] = { "AT", "WHO", "ACT", "ON", "REASON", NULL };
    static const char *const members[] = { "at", "who", "act", "on", "reason" };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(acts, "acts"), i, row)
        for (size_t k = 0; k < COUNT_OF(members); k++)
            table_cell(table, "%s", json_text_or(row, members[k], "-"));
    table_print(table, out);
    forms_print_table(call, out);
}

int cmd_audit(struct command_call *call)
{
    int code = EXIT_DONE;
    owned(question) struct question question = question_of(call, "since actor", "&acts=true",
                                                           &code);
    owned(json) json_t *answer = ask(call, &question, &code);
    owned(json) json_t *acts = answer ? acts_of(answer) : NULL;

    if (!answer)
        return code;
    if (client_wants_json(call))
        client_print_json(call, answer);
    else if (!forms_print(call, acts, &(struct answer_rows){ "acts", "seq" }))
        print_acts(call, acts);
    print_cut(answer);
    return EXIT_DONE;
}
