/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See conditions.h.  The table is in the order in which one is told before another of the same
 * severity.
 */
#include "broker/service/conditions.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"

/* clang-format off */
static const struct kind {
    const char *id;
    enum severity severity;
    const char *word; /* of the status's head and of the cluster's state */
} kinds[] = {
    [CONDITION_RECLAIM_BLOCKED]     = { "reclaim_blocked",     SEVERITY_CRITICAL, "BLOCKED" },
    [CONDITION_RECLAIM_BEHIND]      = { "reclaim_behind",      SEVERITY_CRITICAL, "BEHIND" },
    [CONDITION_POOL_STALE]          = { "pool_stale",          SEVERITY_CRITICAL, "STALE" },
    [CONDITION_CLUSTER_UNREACHABLE] = { "cluster_unreachable", SEVERITY_CRITICAL, "UNREACHABLE" },
    [CONDITION_PRODUCTION_SHORT]    = { "production_short",    SEVERITY_CRITICAL, "SHORT" },
    [CONDITION_OPERATOR_NEEDED]     = { "operator_needed",     SEVERITY_CRITICAL, "OPERATOR" },
    [CONDITION_JOURNAL_DOUBT]       = { "journal_doubt",       SEVERITY_WARNING,  "DOUBT" },
    [CONDITION_MOVE_LATE]           = { "move_late",           SEVERITY_WARNING,  "LATE" },
    [CONDITION_POOL_CLOSED]         = { "pool_closed",         SEVERITY_WARNING,  "CLOSED" },
    [CONDITION_CONFIG_REFUSED]      = { "config_refused",      SEVERITY_WARNING,  "CONFIG" },
    [CONDITION_FROZEN]              = { "frozen",              SEVERITY_NOTE,     "FROZEN" },
    [CONDITION_NO_SCHEDULES]        = { "no_schedules",        SEVERITY_NOTE,     "" },
    [CONDITION_MOVES_HELD]          = { "moves_held",          SEVERITY_NOTE,     "" },
    [CONDITION_NOTICE_BROKEN]       = { "notice_broken",       SEVERITY_NOTE,     "" },
    [CONDITION_HOST_QUARANTINED]    = { "host_quarantined",    SEVERITY_NOTE,     "" },
    [CONDITION_CLOCK_OFF]           = { "clock_off",           SEVERITY_NOTE,     "" },
    [CONDITION_CAPACITY_ENDS]       = { "capacity_ends",       SEVERITY_NOTE,     "" },
    [CONDITION_GANG_SUSPENDED]      = { "gang_suspended",      SEVERITY_NOTE,     "" },
    [CONDITION_VALUE_CONTESTED]     = { "value_contested",     SEVERITY_NOTE,     "" },
    [CONDITION_NODE_STRAY]          = { "node_stray",          SEVERITY_NOTE,     "" },
    [CONDITION_NODE_UNTAINTED]      = { "node_untainted",      SEVERITY_NOTE,     "" },
    [CONDITION_NODE_EXPOSED]        = { "node_exposed",        SEVERITY_NOTE,     "" },
    [CONDITION_OBJECT_UNREADABLE]   = { "object_unreadable",   SEVERITY_NOTE,     "" },
    [CONDITION_DEVICES_UNKNOWN]     = { "devices_unknown",     SEVERITY_NOTE,     "" },
};
/* clang-format on */

static const char *const severity_names[] = { "note", "warning", "critical" };

_Static_assert(COUNT_OF(kinds) == CONDITION_KINDS, "a row for each kind");

static bool is_told(const json_t *rows, const char *text)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        if (text_equal(json_text_or(row, "text", ""), text))
            return true;
    return false;
}

void condition_add(json_t *rows, const struct condition *condition, char *text)
{
    const struct kind *kind = &kinds[condition->kind];
    owned(chars) char *mine = text;
    char since[WALL_TEXT_SIZE];

    if (is_told(rows, mine))
        return;
    json_array_append_new(
        rows, json_make("{ss ss ss so ss ss ss}", "id", kind->id, "severity",
                        severity_names[kind->severity], "word", kind->word, "since",
                        condition->since.ms == 0 ? json_null()
                                                 : json_text(wall_format(condition->since, since)),
                        "what", condition->what ?: "", "cluster", condition->cluster ?: "", "text",
                        mine));
}

static size_t place_of(const json_t *row)
{
    size_t at = 0;

    while (at < COUNT_OF(kinds) && !text_equal(kinds[at].id, json_text_or(row, "id", "")))
        at++;
    return at;
}

json_t *conditions_describe(json_t *rows)
{
    json_t *sorted = json_array();
    const json_t *worst;

    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        json_t *row;
        size_t i;

        json_array_foreach(rows, i, row)
            if (place_of(row) == kind)
                json_array_append(sorted, row);
    }
    json_decref(rows);
    worst = json_array_get(sorted, 0);
    return json_make("{ss ss so}", "severity", json_text_or(worst, "severity", "ok"), "word",
                     json_text_or(worst, "word", ""), "conditions", sorted);
}

json_t *conditions_texts(const json_t *health)
{
    json_t *texts = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        if (!text_equal(json_text_or(row, "id", ""), kinds[CONDITION_FROZEN].id))
            json_array_append(texts, json_object_get(row, "text"));
    }
    return texts;
}

json_t *conditions_words(const json_t *health, const char *cluster)
{
    json_t *words = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        const char *word = json_text_or(row, "word", "");
        bool is_there = false;
        const json_t *other;
        size_t k;

        json_array_foreach(words, k, other)
            is_there |= text_equal(json_string_value(other), word);
        if (word[0] != '\0' && !is_there && text_equal(json_text_or(row, "cluster", ""), cluster))
            json_array_append_new(words, json_text(word));
    }
    return words;
}

int conditions_severity(const json_t *health)
{
    for (size_t i = 0; i < COUNT_OF(severity_names); i++)
        if (text_equal(severity_names[i], json_text_or(health, "severity", "")))
            return (int)i + 1;
    return 0;
}

json_t *conditions_counts(const json_t *health)
{
    json_t *counts = json_array();

    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        json_int_t count = 0;
        const json_t *row;
        size_t i;

        json_array_foreach(json_object_get(health, "conditions"), i, row)
            count += place_of(row) == kind;
        json_array_append_new(counts,
                              json_make("{ss ss sI}", "id", kinds[kind].id, "severity",
                                        severity_names[kinds[kind].severity], "count", count));
    }
    return counts;
}
