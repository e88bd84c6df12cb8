/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See forms.h.
 */
#include "broker/terminal/forms.h"

#include "base/input/json.h"
#include "base/input/yaml.h"
#include "broker/terminal/client.h"
#include "broker/terminal/output.h"

#include <stdio.h>
#include <string.h>

void csv_add(struct text *out, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        text_add(out, "%s", cell);
        return;
    }
    text_add(out, "\"");
    for (; *cell; cell++)
        text_add(out, "%s%c", *cell == '"' ? "\"" : "", *cell);
    text_add(out, "\"");
}

static bool is_cell(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

/* {member: true} in the order of their first appearance. */
static json_t *columns_of(const json_t *list)
{
    json_t *columns = json_object();
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row) {
        const char *key;
        json_t *value;

        json_object_foreach(row, key, value)
            if (is_cell(value))
                json_object_set_new(columns, key, json_true());
    }
    return columns;
}

static void add_value(struct text *out, const json_t *value)
{
    owned(chars) char *plain = NULL;

    if (!value || json_is_null(value) || !is_cell(value))
        return;
    if (json_is_string(value)) {
        csv_add(out, json_string_value(value));
        return;
    }
    plain = json_print(value);
    text_add(out, "%s", plain);
}

void rows_csv(const json_t *list, bool has_titles, struct text *out)
{
    owned(json) json_t *columns = columns_of(list);
    const char *separator = "";
    const char *key;
    json_t *row;
    json_t *value;
    size_t i;

    if (has_titles && json_object_size(columns) > 0) {
        json_object_foreach(columns, key, value) {
            text_add(out, "%s", separator);
            csv_add(out, key);
            separator = ",";
        }
        text_add(out, "\r\n");
    }
    json_array_foreach(list, i, row) {
        separator = "";
        json_object_foreach(columns, key, value) {
            text_add(out, "%s", separator);
            add_value(out, json_object_get(row, key));
            separator = ",";
        }
        text_add(out, "\r\n");
    }
}

static void rows_names(const json_t *list, const char *member, struct text *out)
{
    json_t *row;
    size_t i;

    json_array_foreach(list, i, row)
        text_add(out, "%s\n", json_text_or(row, member, "-"));
}

bool forms_is_table(const struct command_call *call)
{
    return forms_is_wide(call) || text_equal(call_text_or(call, "output", "table"), "table");
}

bool forms_is_wide(const struct command_call *call)
{
    return text_equal(call_text_or(call, "output", "table"), "wide");
}

struct table_style forms_style(const struct command_call *call)
{
    return (struct table_style){ .is_wide = forms_is_wide(call),
                                 .is_bare = call_flag(call, "no-headers") };
}

struct table *forms_table(bool is_wide, const char *const *titles,
                          const struct wide_column *columns)
{
    struct table *table = table_new(titles);

    for (; is_wide && columns->title; columns++)
        table_insert(table, columns->title);
    return table;
}

void forms_wide_cells(bool is_wide, struct table *table, const json_t *row,
                      const struct wide_column *columns)
{
    for (; is_wide && columns->title; columns++) {
        const json_t *value = json_at(row, columns->member);
        owned(chars) char *plain = value && !json_is_string(value) ? json_print(value) : NULL;
        const char *text = json_text_or(row, columns->member, plain ?: "");

        table_cell(table, "%s", text[0] != '\0' ? text : "-");
    }
}

void forms_print_table(const struct command_call *call, const struct text *table)
{
    const char *rows = strchr(table->chars, '\n');

    output_print(call, rows && call_flag(call, "no-headers") ? rows + 1 : table->chars);
}

bool forms_print(const struct command_call *call, const json_t *answer,
                 const struct answer_rows *rows)
{
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);
    const char *form = call_text_or(call, "output", "table");
    const json_t *list = json_object_get(answer, rows->list);

    if (client_wants_json(call)) {
        client_print_json(call, answer);
        return true;
    }
    if (text_equal(form, "csv"))
        rows_csv(list, !call_flag(call, "no-headers"), out);
    else if (text_equal(form, "name"))
        rows_names(list, rows->name, out);
    else
        return false;
    fputs(out->chars, stdout);
    return true;
}
