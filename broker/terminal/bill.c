/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See bill.h.
 */
#include "broker/terminal/bill.h"

#include "base/input/json.h"

#include <inttypes.h>

enum { GANGS_SHOWN = 8, TEAMS_SHOWN = 4 };

static double hours_at(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void print_teams(const json_t *teams, struct text *out)
{
    const json_t *row;
    size_t i;

    json_array_foreach(teams, i, row) {
        if (i < TEAMS_SHOWN)
            text_add(out, "%s%s %.1f", i ? ", " : " (", json_text_or(row, "team", "-"),
                     hours_at(row, "lost_gpu_hours"));
    }
    if (json_array_size(teams) > TEAMS_SHOWN)
        text_add(out, ", %zu more", json_array_size(teams) - TEAMS_SHOWN);
    text_add(out, "%s", json_array_size(teams) > 0 ? ")" : "");
}

static void print_gangs(const json_t *gangs, struct text *out)
{
    size_t count = json_array_size(gangs);
    const json_t *row;
    size_t i;

    json_array_foreach(gangs, i, row) {
        if (i < GANGS_SHOWN)
            text_add(out, "  x %s %s  team %s  %" PRId64 " GPUs  loses %.1f GPU-h\n",
                     json_text_or(row, "kind", "-"), json_text_or(row, "gang", "-"),
                     json_text_or(row, "team", "-"), json_int_or(row, "gpus", 0),
                     hours_at(row, "lost_gpu_hours"));
    }
    if (count > GANGS_SHOWN)
        text_add(out, "  x %zu more, none losing more\n", count - GANGS_SHOWN);
}

static void print_alternatives(const json_t *bill, struct text *out)
{
    static const struct {
        const char *key;
        const char *name;
    } rows[] = {
        { "random_gpu_hours", "at random" },
        { "oldest_first_gpu_hours", "oldest nodes first" },
        { "node_greedy_gpu_hours", "node by node" },
    };
    const json_t *alternatives = json_object_get(bill, "alternatives");
    const json_t *spared = json_object_get(alternatives, "next_best_gpu_hours");

    text_add(out, "chosen otherwise, GPU-h lost:");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        text_add(out, "%s %s %.1f", i ? "," : "", rows[i].name,
                 hours_at(alternatives, rows[i].key));
    if (json_is_number(spared) && json_array_size(json_object_get(bill, "gangs")) > 0)
        text_add(out, ", sparing %s %.1f",
                 json_text_or(json_array_get(json_object_get(bill, "gangs"), 0), "gang", "-"),
                 json_number_value(spared));
    text_add(out, "\n");
}

void bill_print(const json_t *bill, struct text *out)
{
    size_t gangs = json_array_size(json_object_get(bill, "gangs"));
    int64_t nodes = json_int_or(bill, "nodes", 0);
    int64_t broken = json_int_or(bill, "blocks_broken", 0);

    if (nodes == 0)
        return;
    text_add(out,
             "%" PRId64 " research node%s, %" PRId64 " of them idle: %zu gang%s end%s, "
             "%.1f GPU-h lost",
             nodes, nodes == 1 ? "" : "s", json_int_or(bill, "idle_nodes", 0), gangs,
             gangs == 1 ? "" : "s", gangs == 1 ? "s" : "", hours_at(bill, "lost_gpu_hours"));
    print_teams(json_object_get(bill, "teams"), out);
    if (broken > 0)
        text_add(out, ", %" PRId64 " block%s left in part", broken, broken == 1 ? "" : "s");
    text_add(out, "\n");
    print_gangs(json_object_get(bill, "gangs"), out);
    print_alternatives(bill, out);
}
