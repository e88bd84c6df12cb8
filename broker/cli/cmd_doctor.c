/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice doctor: asks clusters, clouds and sources whether sluice can work with them.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/doctor/examination.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 30 * SECOND_MS, TIMEOUT_LEAST_MS = SECOND_MS };

const struct command_option doctor_options[] = {
    { "timeout", 0, "DURATION", "wait this long for all answers (default 30s)", false },
    { "all", 0, NULL, "also show the findings that are right; other forms have all", false },
    { "output", 'o', "table|json|yaml|csv", "the form of the answer (default table)", false },
    PAGE_TITLES_OPTION,
    { 0 },
};

/* With --all each row; otherwise those that are not right. */
static void print_rows(const json_t *rows, bool wants_all, struct table_style style)
{
    static const char *const titles[] = {
        "PART", "NAME", "VERDICT", "SUBJECT", "WHAT IS SO", NULL
    };
    owned(table) struct table *table = table_new(titles);
    owned(text) struct text *out = text_new(64 << 20);
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        if (!wants_all && text_equal(json_text_or(row, "verdict", ""), "right"))
            continue;
        table_cell(table, "%s", json_text_or(row, "part", ""));
        table_cell(table, "%s", json_text_or(row, "name", ""));
        table_cell(table, "%s", json_text_or(row, "verdict", ""));
        table_cell(table, "%s", json_text_or(row, "subject", ""));
        table_cell(table, "%s", json_text_or(row, "text", ""));
    }
    table_show(table, style, out);
    fputs(out->chars, stdout);
}

static bool is_same(const json_t *row, const json_t *other, const char *key)
{
    return text_equal(json_text_or(row, key, ""), json_text_or(other, key, ""));
}

/* The names of the row's part that have its remedy, each once. */
static void add_names(const json_t *rows, const json_t *row, struct text *out)
{
    const json_t *last = NULL;
    const json_t *other;
    size_t i;

    json_array_foreach(rows, i, other) {
        if (!is_same(row, other, "remedy") || !is_same(row, other, "part") ||
            (last && is_same(last, other, "name"))) /* rows of a name stand together */
            continue;
        text_add(out, "%s%s", last ? ", " : "", json_text_or(other, "name", ""));
        last = other;
    }
}

/* Each remedy once for each kind of part, with the parts that it is for. */
static void print_remedies(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *remedy = json_text_or(row, "remedy", "");
        bool is_first = remedy[0] != '\0';

        for (size_t k = 0; k < i; k++)
            is_first &= !is_same(json_array_get(rows, k), row, "remedy") ||
                        !is_same(json_array_get(rows, k), row, "part");
        if (is_first) {
            owned(text) struct text *names = text_new(1 << 20);

            add_names(rows, row, names);
            printf("  %s %s: %s\n", json_text_or(row, "part", ""), names->chars, remedy);
        }
    }
}

/* By part and name.  Rows of one name keep their order. */
static int compare(const json_t *row, const json_t *other)
{
    static const char *const parts[] = { "cluster", "provider", "pool", "source" };

    if (!is_same(row, other, "part"))
        for (size_t i = 0; i < COUNT_OF(parts); i++) {
            if (text_equal(json_text_or(row, "part", ""), parts[i]))
                return -1;
            if (text_equal(json_text_or(other, "part", ""), parts[i]))
                return 1;
        }
    return strcmp(json_text_or(row, "name", ""), json_text_or(other, "name", ""));
}

/* Answers come in any order; a report has always the same one. */
static json_t *in_order(const json_t *rows)
{
    json_t *sorted = json_array();
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        size_t at = json_array_size(sorted);

        while (at > 0 && compare(json_array_get(sorted, at - 1), row) > 0)
            at--;
        json_array_insert(sorted, at, row);
    }
    return sorted;
}

static void print_all(const struct command_call *call, const json_t *rows, int wrong)
{
    bool wants_all = call_flag(call, "all");
    size_t doubtful = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        doubtful += text_equal(json_text_or(row, "verdict", ""), "doubtful");
    if (wants_all || wrong > 0 || doubtful > 0)
        print_rows(rows, wants_all, forms_style(call));
    if (wrong > 0 || doubtful > 0) {
        printf("\nWhat to do:\n");
        print_remedies(rows);
        printf("\n");
    }
    printf("%zu findings: %d wrong, %zu doubtful\n", json_array_size(rows), wrong, doubtful);
}

static bool read_timeout(struct command_call *call, int64_t *ret_ms, struct error *err)
{
    const char *given = call_text(call, "timeout");

    *ret_ms = DEFAULT_TIMEOUT_MS;
    if (given && duration_parse(given, ret_ms, err) < 0)
        return false;
    if (*ret_ms >= TIMEOUT_LEAST_MS)
        return true;
    error_set(err, ERROR_INVALID, "expected at least 1s");
    return false;
}

int cmd_doctor(struct command_call *call)
{
    owned(json) json_t *found = json_array();
    owned(json) json_t *root = NULL;
    json_t *rows;
    owned(config) struct config *config = NULL;
    struct error err = { 0 };
    int64_t timeout_ms;
    int code = EXIT_DONE;
    int wrong;

    if (!read_timeout(call, &timeout_ms, &err))
        return call_usage_error(call, "--timeout: %s", err.text);
    config = client_config(call, &code);
    if (!config)
        return code;
    wrong = examine(config, timeout_ms, found, &err);
    if (wrong < 0)
        return call_fail(call, EXIT_ERROR, &err);
    rows = in_order(found);
    root = json_make("{ss si so}", "kind", "doctor", "wrong", wrong, "findings", rows);
    if (!forms_print(call, root, &(struct answer_rows){ "findings", "name" }))
        print_all(call, rows, wrong);
    return wrong > 0 ? EXIT_DIFFERENT : EXIT_DONE;
}
