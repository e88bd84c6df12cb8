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

/* Each remedy once, with the parts that it is for. */
static void print_remedies(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *remedy = json_text_or(row, "remedy", "");
        bool is_first = remedy[0] != '\0';

        for (size_t k = 0; k < i; k++)
            is_first &= !text_equal(json_text_or(json_array_get(rows, k), "remedy", ""), remedy);
        if (is_first)
            printf("  %s %s: %s\n", json_text_or(row, "part", ""), json_text_or(row, "name", ""),
                   remedy);
    }
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
    json_t *rows = json_array();
    owned(json)
        json_t *root = json_make("{ss si so}", "kind", "doctor", "wrong", 0, "findings", rows);
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
    wrong = examine(config, timeout_ms, rows, &err);
    if (wrong < 0)
        return call_fail(call, EXIT_ERROR, &err);
    json_object_set_new(root, "wrong", json_integer(wrong));
    if (!forms_print(call, root, &(struct answer_rows){ "findings", "name" }))
        print_all(call, rows, wrong);
    return wrong > 0 ? EXIT_DIFFERENT : EXIT_DONE;
}
