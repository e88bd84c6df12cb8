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
#include "broker/terminal/prose.h"
#include "broker/terminal/table.h"
#include "broker/terminal/times.h"
#include "broker/terminal/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAGE_MOST = 10000 }; /* events of one answer, and events that the service looks at for it */

const struct command_option events_options[] = {
    { "count", 'n', "N", "how many, the last ones (default 50; with --since all)", false },
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
    { "count", 'n', "N", "how many, the last ones (default 50; with --since all)", false },
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
static void add_event(const json_t *event, size_t columns, struct text *out)
{
    owned(text) struct text *members = text_new(TEXT_UNBOUNDED);
    owned(chars) char *at = times_local(json_text_or(event, "at", "-"));
    owned(chars) char *head = text_format("%s  %-18s ", at, json_text_or(event, "event", "-"));
    owned(chars) char *rest = NULL;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)event, key, value)
        if (!text_equal(key, "at") && !text_equal(key, "event") && !text_equal(key, "seq"))
            add_member(key, value, members);
    rest = times_local(members->chars + strspn(members->chars, " "));
    prose_hang(out, columns, head, rest);
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

static void draw_wide(const json_t *answer, struct watch_view view, struct text *out)
{
    const json_t *event;
    size_t i;

    json_array_foreach(json_object_get(answer, "events"), i, event) /* each is by itself anyway */
        add_event(event, view.columns, out);
}

static void draw(const json_t *answer, struct watch_view view, struct text *out)
{
    if (json_bool_or(answer, "is_cut", false))
        text_add(out, "Older events may fit, too: --watch looks at the last %d only\n", PAGE_MOST);
    event_rows_screen(json_object_get(answer, "events"), view.is_open, view.columns, out);
}

/* As the query of a URL, each behind an "&". */
static char *filters_of(const struct command_call *call, const char *names)
{
    struct text *filters = text_new(TEXT_UNBOUNDED);
    size_t length;

    for (; *names; names += length + (names[length] == ' ')) {
        owned(chars) char *name = text_format("%.*s", (int)(length = strcspn(names, " ")), names);
        owned(chars) char *value = url_format("%s", call_text_or(call, name, ""));

        if (value[0] != '\0')
            text_add(filters, "&%s=%s", name, value);
    }
    return text_take(filters);
}

/* A question to the service; without a configuration there is none, but an exit code. */
struct question {
    struct config *config;
    char *filters;
    int64_t most; /* events that are shown */
};

static void owned_question(struct question *question)
{
    config_free(question->config);
    mem_free(question->filters);
}

static struct question question_of(struct command_call *call, const char *names, const char *more,
                                   int *ret_code)
{
    int64_t most = call_text(call, "since") ? INT64_MAX : 50;
    struct error err = { 0 };
    struct question question = { 0 };
    owned(chars) char *filters = filters_of(call, names);

    if (call_int(call, "count", (struct int_range){ 1, INT32_MAX }, &most, &err) < 0) {
        *ret_code = call_usage_error(call, "%s", err.text);
        return question;
    }
    question.most = most;
    question.filters = text_format("%s%s", filters, more);
    question.config = client_service(call, ret_code);
    return question;
}

/* The last events before that number (0: of all), so many that one answer holds them. */
static char *path_of(const struct question *question, int64_t most, int64_t before)
{
    owned(chars) char *older = before > 0 ? text_format("&before=%" PRId64, before)
                                          : mem_copy_chars("");

    return text_format("/v1/events?count=%" PRId64 "%s%s", most < PAGE_MOST ? most : PAGE_MOST,
                       question->filters, older);
}

static json_t *ask_page(struct command_call *call, const struct question *question, int64_t most,
                        int64_t before, int *ret_code)
{
    owned(chars) char *path = path_of(question, most, before);
    struct error err = { 0 };
    json_t *answer = client_ask(question->config, HTTP_GET, path, NULL, &err);

    if (!answer)
        *ret_code = client_fail(call, &err);
    return answer;
}

/* Older events before newer ones. */
static void put_before(json_t *answer, const json_t *older)
{
    json_t *events = json_copy(json_object_get(older, "events"));

    json_array_extend(events, json_object_get(answer, "events"));
    json_object_set_new(answer, "events", events);
    json_object_set(answer, "is_cut", json_object_get(older, "is_cut"));
    json_object_set(answer, "before", json_object_get(older, "before"));
}

/* The service looks at a bounded number of events for each request, because it does nothing else
   meanwhile: asks on, until there are enough or none is left. */
static json_t *ask(struct command_call *call, const struct question *question, int *ret_code)
{
    owned(json) json_t *answer = NULL;
    int64_t before, more = question->most;

    if (!question->config)
        return NULL;
    answer = ask_page(call, question, more, 0, ret_code);
    while (answer && (before = json_int_or(answer, "before", 0)) > 0 &&
           (more = question->most - (int64_t)json_array_size(json_object_get(answer, "events"))) >
               0) {
        owned(json) json_t *older = ask_page(call, question, more, before, ret_code);

        if (!older)
            return NULL;
        put_before(answer, older);
    }
    return steal(&answer);
}

/* What was looked for and is not shown.  Without a filter there is nothing to miss. */
static void print_cut(const struct question *question, const json_t *answer)
{
    if (question->filters[0] != '\0' && json_int_or(answer, "before", 0) > 0)
        fprintf(stderr,
                "older events may fit, too: --count shows more than these %zu, and --since without "
                "--count shows all since a time\n",
                json_array_size(json_object_get(answer, "events")));
}

static const struct answer_rows rows = { "events", "seq" };

/* One page each time: with --since it has as many rows as without. */
static int watch(struct command_call *call, const struct question *question)
{
    owned(chars) char *path = path_of(question, question->most < INT64_MAX ? question->most : 50,
                                      0);

    return watch_run(call, question->config,
                     &(struct watched){ path, forms_is_wide(call) ? draw_wide : draw, true });
}

int cmd_events(struct command_call *call)
{
    int code = EXIT_DONE;
    owned(question) struct question question = question_of(call, "since node move actor", "",
                                                           &code);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    owned(json) json_t *answer = NULL, *flat = NULL;

    if (question.config && call_flag(call, "watch"))
        return watch(call, &question);
    answer = ask(call, &question, &code);
    if (!answer)
        return code;
    if (text_equal(call_text_or(call, "output", ""), "csv"))
        flat = flat_of(answer);
    if (forms_is_wide(call)) {
        draw_wide(answer, (struct watch_view){ .columns = SIZE_MAX }, out);
        output_print(call, out->chars);
    } else if (!forms_print(call, flat ?: answer, &rows)) {
        event_rows_table(json_object_get(answer, "events"), out);
        forms_print_table(call, out);
    }
    print_cut(&question, answer);
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
    print_cut(&question, answer);
    return EXIT_DONE;
}
