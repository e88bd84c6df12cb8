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
#include "broker/terminal/columns.h"
#include "broker/terminal/prose.h"
#include "broker/terminal/table.h"
#include "broker/terminal/times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    return "";
}

static char *nodes_to(int64_t nodes, const char *verb, const char *what)
{
    return text_format("%" PRId64 " node%s %s%s%s", nodes, nodes == 1 ? "" : "s", verb,
                       what[0] ? " " : "", what);
}

/* "gpu-17 to prod-a-east"; "8 nodes to prod-a-east", or "... from research-b". */
static char *about_of(const json_t *event)
{
    const char *pool = json_text_or(event, "reclaim/pool", "");
    const char *cluster = json_text_or(event, "cluster", "");
    const char *first = first_of(event, about_members);
    const char *from = json_text_or(event, "reclaim/from", "");

    if (json_is_string(json_object_get(event, "to")))
        return text_format("%s to %s", json_text_or(event, "node", "-"),
                           json_text_or(event, "to", "-"));
    if (pool[0] != '\0') {
        owned(chars) char *ends = text_format("%s%s%s", pool, from[0] ? " from " : "", from);

        return nodes_to(json_int_or(event, "reclaim/nodes", 0), "to", ends);
    }
    if (json_is_integer(json_object_get(event, "to")))
        return text_format("%s of %s: %" PRId64 " to %" PRId64, first, cluster,
                           json_int_or(event, "from", 0), json_int_or(event, "to", 0));
    if (json_is_integer(json_object_get(event, "changed_nodes")))
        return nodes_to(json_int_or(event, "changed_nodes", 0), "change", "");
    return json_is_object(json_object_get(event, "freeze")) && first[0] == '\0'
               ? mem_copy_chars("all clusters")
               : mem_copy_chars(first[0] ? first : "-");
}

json_t *event_row(const json_t *event)
{
    owned(chars) char *about = about_of(event);

    return json_make("{ss ss ss ss ss}", "event", json_text_or(event, "event", "-"), "step",
                     json_text_or(event, "step", ""), "about", about, "by",
                     first_of(event, by_members), "reason", first_of(event, reason_members));
}

/* Events that are one row: the first of them, how many there are, and of how many nodes. */
struct event_group {
    json_t *row;
    const char *at; /* borrowed */
    int64_t ms;
    int64_t count;
    struct map *nodes;
};

struct event_groups {
    ARRAY(struct event_group) list;
    struct map *latest; /* what they have in common -> place in the list + 1, as uintptr_t */
};

static void groups_clear(struct event_groups *groups)
{
    for (size_t i = 0; i < groups->list.count; i++) {
        json_decref(groups->list.items[i].row);
        map_free(groups->list.items[i].nodes);
    }
    array_clear(&groups->list);
    map_free(groups->latest);
}

static int64_t time_of(const json_t *event)
{
    struct wall_time wall = { 0 };
    struct error ignored;

    return wall_parse(json_text_or(event, "at", ""), false, &wall, &ignored) == 0 ? wall.ms : 0;
}

/* Only steps of transfers are ever one row: what people did stays as they did it.  NULL: no step.
 */
static char *common_of(const json_t *event)
{
    owned(chars) char *reason = prose_pattern(first_of(event, reason_members));

    if (!json_is_string(json_object_get(event, "to")) || !json_object_get(event, "transfer"))
        return NULL;
    return text_format("%s\n%s\n%s\n%s\n%s", json_text_or(event, "event", ""),
                       json_text_or(event, "step", ""), json_text_or(event, "from", ""),
                       json_text_or(event, "to", ""), reason);
}

static void group(struct event_groups *groups, const json_t *event, bool is_whole)
{
    owned(chars) char *common = is_whole ? NULL : common_of(event);
    uintptr_t at = common ? (uintptr_t)map_get(groups->latest, common) : 0;
    int64_t ms = time_of(event);
    struct event_group *mine = at > 0 ? &groups->list.items[at - 1] : NULL;

    if (!mine || llabs(ms - mine->ms) > MINUTE_MS) { /* the clock may go back */
        mine = array_add(&groups->list);
        *mine = (struct event_group){ event_row(event), json_text_or(event, "at", "-"), ms, 0,
                                      map_new(NULL) };
        if (common)
            map_set(groups->latest, common, (void *)(uintptr_t)groups->list.count);
    }
    mine->count++;
    map_set(mine->nodes, json_text_or(event, "node", ""), mine->nodes);
}

/* "step drain" */
static char *event_of(const struct event_group *mine)
{
    const char *event = json_text_or(mine->row, "event", "-");

    return text_equal(event, "step") ? text_format("step %s", json_text_or(mine->row, "step", "-"))
                                     : mem_copy_chars(event);
}

static char *about_all(const struct event_group *mine)
{
    const char *about = json_text_or(mine->row, "about", "-");
    size_t nodes = map_count(mine->nodes);

    return nodes > 1 ? text_format("%s, and %zu more", about, nodes - 1) : mem_copy_chars(about);
}

/* "ann: upgrade"; "" where there is neither a person nor a reason. */
static char *reason_of(const struct event_group *mine)
{
    const char *by = json_text_or(mine->row, "by", "");
    const char *reason = json_text_or(mine->row, "reason", "");

    return text_format("%s%s%s", by, by[0] && reason[0] ? ": " : "", reason);
}

static void print_table(const struct event_groups *groups, struct text *out)
{
    static const char *const titles[] = { "AT", "EVENT", ">COUNT", "ABOUT", "REASON", NULL };
    owned(table) struct table *table = table_new(titles);

    for (size_t i = 0; i < groups->list.count; i++) {
        const struct event_group *mine = &groups->list.items[i];
        owned(chars) char *event = event_of(mine);
        owned(chars) char *about = about_all(mine);
        owned(chars) char *reason = reason_of(mine);

        table_cell(table, "%s", mine->at);
        table_cell(table, "%s", event);
        table_cell(table, "%" PRId64, mine->count);
        table_cell(table, "%s", about);
        table_cell(table, "%s", reason[0] ? reason : "-");
    }
    table_print(table, out);
}

/* "3 times gpu-17 to prod-a-east: a reason" */
static char *sentence_of(const struct event_group *mine, const char *about, const char *reason)
{
    owned(chars) char *times = mine->count > 1 ? text_format("%" PRId64 " times ", mine->count)
                                               : mem_copy_chars("");

    return text_format("%s%s%s%s", times, about, reason[0] ? ": " : "", reason);
}

/* Where the names do not fit whole: beside the time, if they fit there when they are short. */
static void print_short(const struct event_group *mine, const char *label, size_t columns,
                        struct text *out)
{
    owned(chars) char *head = text_format("%s  ", label);
    size_t room = columns > strlen(head) ? columns - strlen(head) : 0;
    owned(chars) char *all = about_all(mine);
    owned(chars) char *about = prose_fit(all, room);
    owned(chars) char *reason = reason_of(mine);
    owned(chars) char *sentence = sentence_of(mine, about, reason);

    text_tame(sentence, false);
    if (mine->count > 1 || columns_of(about, strlen(about)) > room) {
        prose_hang(out, columns, head, sentence);
        return;
    }
    text_add(out, "%s%.*s\n", head, (int)strlen(about), sentence);
    if (reason[0] != '\0')
        text_add(out, "%*s%s\n", PROSE_INDENT, "", sentence + strlen(about) + strlen(": "));
}

static void print_group(const struct event_group *mine, bool is_open, size_t columns,
                        struct text *out)
{
    owned(chars) char *local = times_local(mine->at);
    owned(chars) char *event = event_of(mine);
    owned(chars) char *label = text_format("%s %s", local, event);
    owned(chars) char *head = text_format("%-41s  ", label);
    owned(chars) char *about = about_all(mine);
    owned(chars) char *reason = reason_of(mine);
    owned(chars) char *sentence = sentence_of(mine, about, reason);
    owned(chars) char *rest = times_local(sentence); /* before it is measured */

    text_tame(rest, false);
    if (is_open || columns_of(rest, strlen(rest)) + strlen(head) <= columns)
        prose_hang(out, columns, head, rest);
    else
        print_short(mine, label, columns, out);
}

static struct event_groups groups_of(const json_t *events, bool is_open)
{
    struct event_groups groups = { .latest = map_new(NULL) };
    const json_t *event;
    size_t i;

    json_array_foreach(events, i, event)
        group(&groups, event, is_open);
    return groups;
}

void event_rows_table(const json_t *events, struct text *out)
{
    struct event_groups groups = groups_of(events, false);

    print_table(&groups, out);
    groups_clear(&groups);
}

void event_rows_screen(const json_t *events, bool is_open, size_t columns, struct text *out)
{
    struct event_groups groups = groups_of(events, is_open);

    for (size_t i = 0; i < groups.list.count; i++)
        print_group(&groups.list.items[i], is_open, columns, out);
    groups_clear(&groups);
}
