/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See event_rows.h.
 */
#include "broker/cli/event_rows.h"

#include "base/array.h"
#include "base/input/json.h"
#include "base/map.h"
#include "base/timestamp.h"
#include "broker/terminal/prose.h"
#include "broker/terminal/table.h"

#include <inttypes.h>

/* Where events have the answer to a question: the first member that is there. */
static const char *const by_members[] = { "ended_by", "by", "approved_by", "asked_by", NULL };
static const char *const reason_members[] = {
    "reclaim/end_reason",
    "reclaim/reason",
    "freeze/reason",
    "approval/why",
    "approval/reason",
    "reason",
    "text",
    "waiting",
    "pod",
    "message",
    NULL,
};
static const char *const about_members[] = {
    "node",  "host",    "freeze/cluster", "approval/id", "workload", "quota", "pool",
    "owner", "webhook", "gang",           "id",          "cluster",  NULL,
};

static const char *first_of(const json_t *event, const char *const *members)
{
    for (; *members; members++)
        if (json_text_or(event, *members, "")[0] != '\0')
            return json_text_or(event, *members, "");
    return "-";
}

/* "gpu-17 to prod-a-east"; "8 nodes to prod-a-east". */
static char *about_of(const json_t *event)
{
    const char *pool = json_text_or(event, "reclaim/pool", "");
    const char *cluster = json_text_or(event, "cluster", "");
    const char *first = first_of(event, about_members);

    if (json_is_string(json_object_get(event, "to")))
        return text_format("%s to %s", json_text_or(event, "node", "-"),
                           json_text_or(event, "to", "-"));
    if (pool[0] != '\0')
        return text_format("%" PRId64 " nodes to %s", json_int_or(event, "reclaim/nodes", 0), pool);
    if (json_is_integer(json_object_get(event, "to")))
        return text_format("%s of %s: %" PRId64 " to %" PRId64, first, cluster,
                           json_int_or(event, "from", 0), json_int_or(event, "to", 0));
    if (json_is_integer(json_object_get(event, "changed_nodes")))
        return text_format("%" PRId64 " nodes change", json_int_or(event, "changed_nodes", 0));
    return json_is_object(json_object_get(event, "freeze")) && first[0] == '-'
               ? mem_copy_chars("all clusters")
               : mem_copy_chars(first);
}

json_t *event_row(const json_t *event)
{
    owned(chars) char *about = about_of(event);

    return json_make("{ss ss ss ss ss}", "event", json_text_or(event, "event", "-"), "step",
                     json_text_or(event, "step", ""), "about", about, "by",
                     first_of(event, by_members), "reason", first_of(event, reason_members));
}

/* Events that are one row: the first of them, and how many there are. */
struct event_group {
    json_t *row;
    const char *at; /* borrowed */
    int64_t ms;
    int64_t count;
};

struct event_groups {
    ARRAY(struct event_group) list;
    struct map *latest; /* what they have in common -> place in the list + 1, as uintptr_t */
};

static int64_t time_of(const json_t *event)
{
    struct wall_time wall = { 0 };
    struct error ignored;

    return wall_parse(json_text_or(event, "at", ""), false, &wall, &ignored) == 0 ? wall.ms : 0;
}

static char *common_of(const json_t *row)
{
    owned(chars) char *about = prose_pattern(json_text_or(row, "about", ""));
    owned(chars) char *reason = prose_pattern(json_text_or(row, "reason", ""));

    return text_format("%s\n%s\n%s\n%s\n%s", json_text_or(row, "event", ""),
                       json_text_or(row, "step", ""), about, json_text_or(row, "by", ""), reason);
}

static void group(struct event_groups *groups, const json_t *event, bool is_whole)
{
    json_t *row = event_row(event);
    owned(chars) char *common = common_of(row);
    uintptr_t at = is_whole ? 0 : (uintptr_t)map_get(groups->latest, common);
    int64_t ms = time_of(event);
    struct event_group *mine = at > 0 ? &groups->list.items[at - 1] : NULL;

    if (mine && ms - mine->ms <= MINUTE_MS) {
        mine->count++;
        json_decref(row);
        return;
    }
    mine = array_add(&groups->list);
    *mine = (struct event_group){ row, json_text_or(event, "at", "-"), ms, 1 };
    map_set(groups->latest, common, (void *)(uintptr_t)groups->list.count);
}

static void print_group(struct table *table, const struct event_group *mine)
{
    const char *event = json_text_or(mine->row, "event", "-");
    const char *about = json_text_or(mine->row, "about", "-");
    const char *by = json_text_or(mine->row, "by", "-");
    const char *reason = json_text_or(mine->row, "reason", "-");

    table_cell(table, "%s", mine->at);
    if (text_equal(event, "step"))
        table_cell(table, "step %s", json_text_or(mine->row, "step", "-"));
    else
        table_cell(table, "%s", event);
    table_cell(table, "%" PRId64, mine->count);
    if (mine->count > 1)
        table_cell(table, "%s, and %" PRId64 " more", about, mine->count - 1);
    else
        table_cell(table, "%s", about);
    if (text_equal(by, "-") || text_equal(reason, "-"))
        table_cell(table, "%s", text_equal(by, "-") ? reason : by);
    else
        table_cell(table, "%s: %s", by, reason);
}

void event_rows_print(const json_t *events, bool is_whole, struct text *out)
{
    static const char *const titles[] = { "AT", "EVENT", ">COUNT", "ABOUT", "REASON", NULL };
    owned(table) struct table *table = table_new(titles);
    struct event_groups groups = { .latest = map_new(NULL) };
    const json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
        group(&groups, event, is_whole);
    for (i = 0; i < groups.list.count; i++) {
        print_group(table, &groups.list.items[i]);
        json_decref(groups.list.items[i].row);
    }
    table_print(table, out);
    array_clear(&groups.list);
    map_free(groups.latest);
}
