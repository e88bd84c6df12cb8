/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See transfer_rows.h.
 */
#include "broker/terminal/transfer_rows.h"

#include "base/input/json.h"
#include "base/timestamp.h"
#include "broker/terminal/board.h"
#include "broker/terminal/columns.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/prose.h"

#include <inttypes.h>
#include <string.h>

/* The time until it is expected; a transfer past its p95 is overdue, not ready at once.  As texts,
   times in UTC have the order of time. */
static const char *due_text(const json_t *at, const json_t *expected, char *out)
{
    const char *due = json_is_string(expected) ? json_string_value(expected) : "";

    return strcmp(due, json_is_string(at) ? json_string_value(at) : "") <= 0
               ? "overdue"
               : board_between(at, expected, out);
}

static void add_ends(struct table *table, const json_t *row)
{
    table_cell(table, "%s", json_text_or(row, "from", "-"));
    table_cell(table, "%s", json_text_or(row, "to", "-"));
}

/* The step and its times, as of `at`. */
static void add_course(struct table *table, const json_t *row, const json_t *at)
{
    bool is_live = text_equal(json_text_or(row, "state", ""), "live");
    char text[DURATION_TEXT_SIZE];

    table_cell(table, "%s%s", json_bool_or(row, "is_undoing", false) ? "undo " : "",
               is_live ? json_text_or(row, "step", "-") : json_text_or(row, "state", "-"));
    table_cell(table, "%s", board_between(json_object_get(row, "since"), at, text));
    table_cell(table, "%s", is_live ? due_text(at, json_object_get(row, "expected"), text) : "-");
}

static void add_id(struct table *table, const json_t *row)
{
    table_cell(table, "%s%s", json_text_or(row, "transfer", "-"),
               json_bool_or(row, "is_emergency", false) ? "!" : "");
}

static const struct wide_column wide[] = {
    { "MOVE", "move" },
    { "DEPARTS", "departure" },
    { "DUE", "due" },
    { "REASON", "reason" },
    { ">ATTEMPT", "attempt" },
    { "NEW NODE", "new_node" },
    { 0 },
};

/* The transfer's cells, as of `at`. */
static void add_transfer(struct table *table, const json_t *row, const json_t *at, bool is_wide)
{
    add_id(table, row);
    table_cell(table, "%s", json_text_or(row, "node", "-"));
    add_ends(table, row);
    add_course(table, row, at);
    forms_wide_cells(is_wide, table, row, wide);
    table_cell(table, "%s", json_text_or(row, "waits_for", ""));
}

void transfer_rows_table(const json_t *answer, size_t most, struct table_style style,
                         struct text *out)
{
    static const char *const titles[] = { "TRANSFER", "NODE",      "FROM",      "TO", "STEP",
                                          ">SINCE",   ">READY IN", "WAITS FOR", NULL };
    owned(table) struct table *table = forms_table(style.is_wide, titles, wide);
    const json_t *rows = json_object_get(answer, "transfers");
    size_t count = json_array_size(rows);
    size_t all = (size_t)json_int_or(answer, "live_transfers", (int64_t)count);
    const json_t *row;
    size_t i;

    if (count == 0) {
        text_add(out, "no node is moving\n");
        return;
    }
    json_array_foreach(rows, i, row) {
        if (i < most)
            add_transfer(table, row, json_object_get(answer, "at"), style.is_wide);
    }
    table_show(table, style, out);
    if (all > most)
        text_add(out, "and %zu more: sluice transfers\n", all - most);
}

/* What transfers of one row have in common. */
static bool is_same_group(const json_t *left, const json_t *right)
{
    static const char *const members[] = { "from",         "to",         "state", "step",
                                           "is_emergency", "is_undoing", NULL };
    owned(chars) char *left_waits = prose_pattern(json_text_or(left, "waits_for", ""));
    owned(chars) char *right_waits = prose_pattern(json_text_or(right, "waits_for", ""));

    for (const char *const *member = members; *member; member++) {
        const json_t *one = json_object_get(left, *member);
        const json_t *other = json_object_get(right, *member);

        if ((one || other) && !json_equal(one, other))
            return false;
    }
    return text_equal(left_waits, right_waits);
}

/* A group is its first transfer, with `count`, the earliest `since`, the latest `expected`, and the
   pattern of what they wait for where they differ.  As texts, times in UTC have the order of time.
 */
static void add_to_group(json_t *group, const json_t *row)
{
    const char *since = json_text_or(row, "since", "");
    const char *expected = json_text_or(row, "expected", "");

    if (!text_equal(json_text_or(group, "waits_for", ""), json_text_or(row, "waits_for", ""))) {
        owned(chars) char *pattern = prose_pattern(json_text_or(row, "waits_for", ""));

        json_object_set_new(group, "waits_for", json_text(pattern));
    }
    json_object_set_new(group, "count", json_integer(json_int_or(group, "count", 0) + 1));
    if (strcmp(since, json_text_or(group, "since", "")) < 0)
        json_object_set_new(group, "since", json_text(since));
    if (strcmp(expected, json_text_or(group, "expected", "")) > 0)
        json_object_set_new(group, "expected", json_text(expected));
}

/* The groups, in the order of their first transfers. */
static json_t *groups_of(const json_t *answer)
{
    json_t *groups = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "transfers"), i, row) {
        json_t *group = NULL;
        json_t *one;
        size_t k;

        json_array_foreach(groups, k, one)
            if (!group && is_same_group(one, row))
                group = one;
        if (!group) {
            group = json_copy((json_t *)(uintptr_t)row);
            json_array_append_new(groups, group);
        }
        add_to_group(group, row);
    }
    return groups;
}

static bool is_group(const json_t *row)
{
    return json_is_integer(json_object_get(row, "count"));
}

/* The row of a screen below that of a table: the node, and what it waits for.  Only the name may be
   shortened, in a group, where it is one of several. */
static void add_wait(const json_t *row, size_t columns, struct text *out)
{
    owned(chars) char *waits = mem_copy_chars(json_text_or(row, "waits_for", ""));
    const char *more = json_int_or(row, "count", 1) > 1 ? ", ..." : "";
    const char *node = json_text_or(row, "node", "-");
    size_t taken = columns_of(waits, strlen(waits)) + strlen(more) + strlen(": ") + PROSE_INDENT;
    owned(chars) char *name = is_group(row) ? prose_fit(node, columns > taken ? columns - taken : 0)
                                            : mem_copy_chars(node);

    text_tame(waits, false);
    text_add(out, "%*s%s%s: %s\n", PROSE_INDENT, "", name, more, waits);
}

/* The table, with a second row for each of `rows`, which prose_wrap() fits to the screen. */
static void print_with_waits(const struct table *table, const json_t *rows, size_t columns,
                             struct text *out)
{
    owned(text) struct text *lines = text_new(TEXT_UNBOUNDED);
    const json_t *row;
    const char *line;
    size_t i;

    table_show(table, (struct table_style){ .columns = columns }, lines);
    line = strchr(lines->chars, '\n') + 1;
    text_add(out, "%.*s", (int)(line - lines->chars), lines->chars);
    json_array_foreach(rows, i, row) {
        const char *end = strchr(line, '\n') + 1;

        text_add(out, "%.*s", (int)(end - line), line);
        add_wait(row, columns, out);
        line = end;
    }
}

static void print_rows(const json_t *rows, const json_t *at, size_t columns, struct text *out)
{
    static const char *const of_groups[] = { ">NODES", "STEP", ">SINCE", ">READY IN",
                                             "<FROM",  "<TO",  NULL };
    static const char *const of_each[] = { "TRANSFER", "STEP", ">SINCE", ">READY IN",
                                           "<FROM",    "<TO",  NULL };
    bool is_grouped = is_group(json_array_get(rows, 0));
    owned(table) struct table *table = table_new(is_grouped ? of_groups : of_each);
    const json_t *row;
    size_t i;

    if (json_array_size(rows) == 0) {
        text_add(out, "no node is moving\n");
        return;
    }
    json_array_foreach(rows, i, row) {
        if (is_grouped)
            table_cell(table, "%" PRId64 "%s", json_int_or(row, "count", 1),
                       json_bool_or(row, "is_emergency", false) ? "!" : "");
        else
            add_id(table, row);
        add_course(table, row, at);
        add_ends(table, row);
    }
    print_with_waits(table, rows, columns, out);
}

void transfer_rows_groups(const json_t *answer, size_t columns, struct text *out)
{
    owned(json) json_t *groups = groups_of(answer);

    print_rows(groups, json_object_get(answer, "at"), columns, out);
}

void transfer_rows_open(const json_t *answer, size_t columns, struct text *out)
{
    print_rows(json_object_get(answer, "transfers"), json_object_get(answer, "at"), columns, out);
}
