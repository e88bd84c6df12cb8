/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See board.h.
 */
#include "broker/terminal/board.h"

#include "base/input/json.h"
#include "base/timestamp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct wall_time wall_of(const json_t *json)
{
    struct wall_time wall = { 0 };

    if (!json_is_string(json) || wall_parse(json_string_value(json), false, &wall, NULL) < 0)
        return (struct wall_time){ 0 };
    return wall;
}

const char *board_between(const json_t *from, const json_t *to, char *out)
{
    struct wall_time first = wall_of(from);
    struct wall_time second = wall_of(to);

    if (first.ms == 0 || second.ms == 0)
        text_print(out, DURATION_TEXT_SIZE, "-");
    else
        duration_format((second.ms - first.ms) / SECOND_MS * SECOND_MS, out);
    return out;
}

static void add_head(const json_t *status, struct text *out)
{
    char until[DURATION_TEXT_SIZE];

    text_add(out, "%s   window %s", json_text_or(status, "local", "-"),
             json_text_or(status, "window", "-"));
    if (json_at(status, "window_until"))
        text_add(out, "   next %s in %s", json_text_or(status, "next_window", "-"),
                 board_between(json_object_get(status, "at"),
                               json_object_get(status, "window_until"), until));
    text_add(out, "\n");
}

int64_t board_uneven_nodes(const json_t *status)
{
    const json_t *row;
    int64_t nodes = 0;
    size_t i;

    json_array_foreach(json_object_get(status, "pools"), i, row)
        if (json_at(row, "wanted_nodes") && json_at(row, "nodes"))
            nodes += llabs(json_int_or(row, "wanted_nodes", 0) - json_int_or(row, "nodes", 0));
    return nodes;
}

/* The worst condition comes first, with what to do. */
static void add_health(const json_t *status, struct text *out)
{
    const json_t *health = json_object_get(status, "health");
    const json_t *worst = json_array_get(json_object_get(health, "conditions"), 0);
    const char *severity = json_text_or(health, "severity", "ok");
    char age[DURATION_TEXT_SIZE];

    if (text_equal(severity, "ok") || text_equal(severity, "note"))
        return;
    text_add(out, "%-15s %s (for %s)\n%-15s %s\n", json_text_or(health, "word", "-"),
             json_text_or(worst, "text", "-"),
             board_between(json_object_get(worst, "since"), json_object_get(status, "at"), age), "",
             json_text_or(worst, "advice", "-"));
}

static void add_margin(const json_t *status, struct text *out)
{
    int64_t live = json_int_or(status, "live_transfers", 0);
    char text[DURATION_TEXT_SIZE];
    int64_t margin_s;

    if (live == 0 && json_array_size(json_at(status, "overrides/freezes")) > 0)
        return; /* the freezes come next: with them nothing is settled */
    if (live == 0) {
        text_add(out, board_uneven_nodes(status) == 0
                          ? "SETTLED         no node is moving\n"
                          : "WAITING         no node is moving yet: replicas go down "
                            "first, nodes come when they can be had\n");
        return;
    }
    if (!json_at(status, "margin_s")) {
        text_add(out, "MOVING          %" PRId64 " transfers under way\n", live);
        return;
    }
    margin_s = json_int_or(status, "margin_s", 0);
    text_add(out, "%s   %" PRId64 " transfers under way, margin %s (p95)\n",
             margin_s >= 0 ? "READY IN TIME" : "LATE         ", live,
             duration_format(margin_s * SECOND_MS, text));
}

static bool is_same_freeze(const json_t *left, const json_t *right)
{
    static const char *const members[] = { "cluster", "until", "by", "reason", NULL };

    for (const char *const *member = members; *member; member++)
        if (!json_equal(json_object_get(left, *member), json_object_get(right, *member)))
            return false;
    return true;
}

/* One line for nodes that were frozen together. */
static void print_frozen_nodes(const json_t *rows, struct text *out)
{
    enum { SHOWN = 3 };
    size_t count = json_array_size(rows);

    for (size_t first = 0, end; first < count; first = end) {
        const json_t *row = json_array_get(rows, first);

        for (end = first + 1; end < count && is_same_freeze(row, json_array_get(rows, end)); end++)
            ;
        text_add(out, "FROZEN          %s: ", json_text_or(row, "cluster", "-"));
        for (size_t i = first; i < end && i < first + SHOWN; i++)
            text_add(out, "%s%s", i > first ? ", " : "",
                     json_text_or(json_array_get(rows, i), "node", "-"));
        if (end - first > SHOWN)
            text_add(out, " and %zu more", end - first - SHOWN);
        text_add(out, " until %s by %s: %s\n", json_text_or(row, "until", "-"),
                 json_text_or(row, "by", "-"), json_text_or(row, "reason", "-"));
    }
}

void board_overrides(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_at(answer, "overrides/freezes"), i, row)
        text_add(out, "FROZEN          %s until %s by %s: %s\n",
                 json_text_or(row, "cluster", "")[0] ? json_text_or(row, "cluster", "") : "all",
                 json_text_or(row, "until", "-"), json_text_or(row, "by", "-"),
                 json_text_or(row, "reason", "-"));
    print_frozen_nodes(json_at(answer, "overrides/frozen_nodes"), out);
    json_array_foreach(json_at(answer, "overrides/reclaims"), i, row)
        text_add(out, "RECLAIM         %s at %" PRId64 " nodes%s%s until %s by %s: %s\n",
                 json_text_or(row, "pool", "-"), json_int_or(row, "level_nodes", 0),
                 json_text_or(row, "from", "")[0] ? ", from " : "", json_text_or(row, "from", ""),
                 json_text_or(row, "until", "-"), json_text_or(row, "by", "-"),
                 json_text_or(row, "reason", "-"));
    json_array_foreach(json_at(answer, "overrides/approvals"), i, row)
        text_add(out, "APPROVAL        %s (%s of %" PRId64 " nodes) waits until %s; asked by %s\n",
                 json_text_or(row, "id", "-"), json_text_or(row, "act", "-"),
                 json_int_or(row, "nodes", 0), json_text_or(row, "ends", "-"),
                 json_text_or(row, "by", "-"));
    json_array_foreach(json_at(answer, "overrides/quotas"), i, row)
        text_add(out, "HELD            %s gives no node: %s\n", json_text_or(row, "cluster", "-"),
                 json_text_or(row, "text", "-"));
}

void board_unknown(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "unknown"), i, row) {
        char age[DURATION_TEXT_SIZE] = "never";

        if (json_at(row, "age_s"))
            duration_format(json_int_or(row, "age_s", 0) * SECOND_MS, age);
        text_add(out, "UNKNOWN         pool %s is left out, last seen: %s%s; %s\n",
                 json_text_or(row, "pool", "-"), age, json_at(row, "age_s") ? " ago" : "",
                 json_text_or(row, "reason", "-"));
    }
}

void board_warnings(const json_t *answer, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "warnings"), i, row)
        text_add(out, "warning: %s\n", json_string_value(row));
}

/* A number, or "-" where it is not known. */
static void add_number(struct table *table, const json_t *row, const char *key)
{
    if (json_at(row, key))
        table_cell(table, "%" PRId64, json_int_or(row, key, 0));
    else
        table_cell(table, "-");
}

/* Adds the states in force, and the servers' messages. */
static void add_states(struct table *table, const json_t *row)
{
    owned(text) struct text *cell = text_new(1 << 16);
    const json_t *state;
    size_t i;

    json_array_foreach(json_object_get(row, "states"), i, state)
        text_add(cell, "%s%s", i > 0 ? ", " : "", json_string_value(state));
    if (json_text_or(row, "trouble", "")[0] != '\0')
        text_add(cell, "  %s", json_text_or(row, "trouble", ""));
    table_cell(table, "%s", cell->chars);
}

static void add_clusters(const json_t *status, struct table_style style, struct text *out)
{
    static const char *const titles[] = { "CLUSTER", "ROLE",       ">NODES", ">WANTED",
                                          ">STATIC", ">EPHEMERAL", ">IN",    ">OUT",
                                          ">GPUS",   "STATE",      NULL };
    owned(table) struct table *table = table_new(titles);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "clusters"), i, row) {
        table_cell(table, "%s", json_text_or(row, "cluster", "-"));
        table_cell(table, "%s", json_text_or(row, "role", "-"));
        add_number(table, row, "nodes");
        add_number(table, row, "wanted_nodes");
        add_number(table, row, "static_nodes");
        add_number(table, row, "ephemeral_nodes");
        add_number(table, row, "incoming_nodes");
        add_number(table, row, "outgoing_nodes");
        add_number(table, row, "ready_gpus");
        add_states(table, row);
    }
    text_add(out, "\n");
    table_show(table, style, out);
}

void board_pools(const json_t *status, struct table_style style, struct text *out)
{
    static const char *const titles[] = { "POOL",    "CLUSTER", "ZONE",       ">NODES",
                                          ">WANTED", ">STATIC", ">EPHEMERAL", ">IN",
                                          ">OUT",    ">AGE",    NULL };
    static const char *const numbers[] = { "nodes",           "wanted_nodes",   "static_nodes",
                                           "ephemeral_nodes", "incoming_nodes", "outgoing_nodes" };
    owned(table) struct table *table = table_new(titles);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "pools"), i, row) {
        char age[DURATION_TEXT_SIZE] = "never";

        table_cell(table, "%s", json_text_or(row, "pool", "-"));
        table_cell(table, "%s", json_text_or(row, "cluster", "-"));
        table_cell(table, "%s", json_text_or(row, "zone", "-"));
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            add_number(table, row, numbers[k]);
        if (json_at(row, "age_s"))
            duration_format(json_int_or(row, "age_s", 0) * SECOND_MS, age);
        table_cell(table, "%s", age);
    }
    text_add(out, "\n");
    table_show(table, style, out);
}

static void add_moves(const json_t *status, struct text *out)
{
    const json_t *steps = json_object_get(status, "steps");
    char p50[DURATION_TEXT_SIZE];
    char p95[DURATION_TEXT_SIZE];
    const char *name;
    json_t *value;
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(status, "reservations"), i, row)
        text_add(out, "reservation %s: %" PRId64 " in pools + %" PRId64 " moving of %" PRId64 "\n",
                 json_text_or(row, "reservation", "-"), json_int_or(row, "nodes", 0),
                 json_int_or(row, "moving_nodes", 0), json_int_or(row, "reserved_nodes", 0));
    text_add(out, "\nMOVES");
    json_object_foreach((json_t *)(uintptr_t)steps, name, value)
        if (json_integer_value(value) > 0)
            text_add(out, "   %s %" JSON_INTEGER_FORMAT, name, json_integer_value(value));
    text_add(out, "   lead p50 %s p95 %s%s\n",
             duration_format(json_int_or(status, "lead_p50_s", 0) * SECOND_MS, p50),
             duration_format(json_int_or(status, "lead_p95_s", 0) * SECOND_MS, p95),
             json_bool_or(status, "is_lead_learned", false) ? ""
                                                            : " (configured, not learned yet)");
    json_array_foreach(json_object_get(status, "warnings"), i, row)
        text_add(out, "WARN %s\n", json_string_value(row));
}

void board_status(const json_t *status, struct table_style style, struct text *out)
{
    add_head(status, out);
    add_health(status, out);
    add_margin(status, out);
    board_overrides(status, out);
    add_clusters(status, style, out);
    add_moves(status, out);
}

static void print_lack(const json_t *lack, struct text *out)
{
    const json_t *row;
    size_t i;

    text_add(out, "  ! pool %s lacks %" PRId64 " nodes that no pool can give\n",
             json_text_or(lack, "pool", "-"), json_int_or(lack, "nodes", 0));
    json_array_foreach(json_object_get(lack, "kept"), i, row) {
        const char *tool = json_text_or(row, "tool", "-");

        text_add(out, "    %" PRId64 " nodes of pool %s ", json_int_or(row, "nodes", 0),
                 json_text_or(row, "pool", "-"));
        if (text_equal(tool, "freeze"))
            text_add(out, "are frozen: `sluice status` tells by whom, `sluice resume` ends it\n");
        else
            text_add(out, "run slurmd (%s): %s\n", tool,
                     json_text_or(row, "why", "drain them in Slurm"));
    }
}

void board_lacks(const json_t *plan, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(plan, "lacks"), i, row)
        print_lack(row, out);
}
