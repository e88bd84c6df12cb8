/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See conditions.h.
 */
#include "broker/health/conditions.h"

#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/timestamp.h"

/* clang-format off */
static const struct condition_row rows[] = {
    [CONDITION_RECLAIM_WAITS] = { "reclaim_waits", SEVERITY_CRITICAL, "APPROVAL",
        "nodes that a reclaim asked for",
        "`sluice approve` shows it to a second person" },
    [CONDITION_RECLAIM_BLOCKED] = { "reclaim_blocked", SEVERITY_CRITICAL, "BLOCKED",
        "nodes that a reclaim asked for",
        "wait, reclaim from another reservation, ask the cloud, or end it with `sluice reclaim end`" },
    [CONDITION_RECLAIM_BEHIND] = { "reclaim_behind", SEVERITY_CRITICAL, "BEHIND",
        "nodes that a reclaim promised",
        "`sluice transfers` shows what each waits for" },
    [CONDITION_CLUSTER_UNREACHABLE] = { "cluster_unreachable", SEVERITY_CRITICAL, "UNREACHABLE",
        "moves from and to the cluster",
        "`sluice doctor` asks it what is wrong" },
    [CONDITION_POOL_STALE] = { "pool_stale", SEVERITY_CRITICAL, "STALE",
        "moves from and to the pool",
        "`sluice doctor` asks its cluster and its cloud what is wrong" },
    [CONDITION_PRODUCTION_SHORT] = { "production_short", SEVERITY_CRITICAL, "SHORT",
        "the cluster's queues",
        "`sluice plan --in-force` shows what can be had" },
    [CONDITION_OPERATOR_NEEDED] = { "operator_needed", SEVERITY_CRITICAL, "OPERATOR",
        "a transfer, its node and its machine",
        "do what it waits for; sluice keeps trying" },
    [CONDITION_CERTIFICATE_EXPIRED] = { "certificate_expired", SEVERITY_CRITICAL, "CERTIFICATE",
        "all who ask over TLS",
        "put a renewed certificate there; sluice reads it within a minute" },
    [CONDITION_APPLY_WAITS] = { "apply_waits", SEVERITY_WARNING, "APPROVAL",
        "schedules that are not in force yet",
        "`sluice approve` shows it to a second person" },
    [CONDITION_JOURNAL_DOUBT] = { "journal_doubt", SEVERITY_WARNING, "DOUBT",
        "decisions, which rest on the journal",
        "stop the service, then `sluice journal check` names what is wrong; moves pause until it runs again" },
    [CONDITION_PRODUCTION_FILLS] = { "production_fills", SEVERITY_WARNING, "FILLING",
        "the cluster's queues, until the last node serves",
        "`sluice transfers` shows the nodes that come now" },
    [CONDITION_POOL_FAILING] = { "pool_failing", SEVERITY_WARNING, "FAILING",
        "nodes that scheduled moves bring to the pool",
        "wait, reclaim from another reservation, or ask the cloud" },
    [CONDITION_MOVE_LATE] = { "move_late", SEVERITY_WARNING, "LATE",
        "production at the start of its window",
        "`sluice transfers` shows what the nodes wait for" },
    [CONDITION_POOL_CLOSED] = { "pool_closed", SEVERITY_WARNING, "CLOSED",
        "nodes that moves were to bring to the pool",
        "wait, reclaim from another reservation, or ask the cloud" },
    [CONDITION_LEAD_TIME_DRIFTS] = { "lead_time_drifts", SEVERITY_WARNING, "DRIFT",
        "the promise that nodes come in time",
        "`sluice leads` shows which step takes longer" },
    [CONDITION_CONFIG_REFUSED] = { "config_refused", SEVERITY_WARNING, "CONFIG",
        "changes of the configuration",
        "mend it, then `sluice reload`" },
    [CONDITION_DOOR_CLOSED] = { "door_closed", SEVERITY_WARNING, "DOOR",
        "those who ask there",
        "mend what the sentence names; sluice tries again by itself" },
    [CONDITION_CERTIFICATE_EXPIRES] = { "certificate_expires", SEVERITY_WARNING, "CERTIFICATE",
        "all who ask over TLS, from its end on",
        "put a renewed certificate there; sluice reads it within a minute" },
    [CONDITION_CERTIFICATE_REFUSED] = { "certificate_refused", SEVERITY_WARNING, "CERTIFICATE",
        "the renewal of certificates and keys",
        "mend the files; sluice reads them again by itself" },
    [CONDITION_KEYS_OLD] = { "keys_old", SEVERITY_WARNING, "KEYS",
        "tokens that a new key of the issuer has signed",
        "make the URL answer; sluice asks again by itself" },
    [CONDITION_WEBHOOK_FAILING] = { "webhook_failing", SEVERITY_WARNING, "WEBHOOK",
        "those who count on its messages",
        "`sluice webhooks` shows its state; `sluice webhooks test` asks it again" },
    [CONDITION_WINDOW_UNPLANNED] = { "window_unplanned", SEVERITY_WARNING, "UNPLANNED",
        "production in that window: no scheduled move brings it nodes",
        "`sluice allocate` with the configuration as it is now, then `sluice apply`" },
    [CONDITION_FORECAST_OUTDATED] = { "forecast_outdated", SEVERITY_WARNING, "OUTDATED",
        "windows whose demand has changed since the plan",
        "`sluice allocate --forecast` with fresh demand, then `sluice apply`" },
    [CONDITION_DOCTOR_WRONG] = { "doctor_wrong", SEVERITY_WARNING, "DOCTOR",
        "what sluice does there: it cannot, or not safely",
        "`sluice doctor` asks again at once, and names each remedy" },
    [CONDITION_GANG_SUSPENDED] = { "gang_suspended", SEVERITY_WARNING, "",
        "a gang of research",
        "resume it by hand" },
    [CONDITION_FROZEN] = { "frozen", SEVERITY_NOTE, "FROZEN",
        "scheduled moves of the cluster",
        "`sluice unfreeze` ends it" },
    [CONDITION_NO_SCHEDULES] = { "no_schedules", SEVERITY_NOTE, "",
        "all scheduled moves",
        "`sluice apply` puts schedules in force" },
    [CONDITION_MOVES_HELD] = { "moves_held", SEVERITY_NOTE, "",
        "moves that the plan wants",
        "`sluice plan --in-force` shows them" },
    [CONDITION_NOTICE_BROKEN] = { "notice_broken", SEVERITY_NOTE, "",
        "research that counts on its notice",
        "`sluice events` names the transfers" },
    [CONDITION_HOST_QUARANTINED] = { "host_quarantined", SEVERITY_NOTE, "",
        "one host of a reservation",
        "`sluice hosts release` ends it early" },
    [CONDITION_CLOCK_OFF] = { "clock_off", SEVERITY_NOTE, "",
        "times of windows, deadlines and objects",
        "set the clock right" },
    [CONDITION_CAPACITY_ENDS] = { "capacity_ends", SEVERITY_NOTE, "",
        "plans beyond the end",
        "extend the capacity, or let a window want fewer nodes" },
    [CONDITION_VALUE_CONTESTED] = { "value_contested", SEVERITY_NOTE, "",
        "replicas and quotas",
        "let one controller set the number" },
    [CONDITION_NODE_STRAY] = { "node_stray", SEVERITY_NOTE, "",
        "one node",
        "take its taint and the annotations sluice.dev/* off by hand; in Slurm: delete the reservation "
        "sluice_*, and resume the node" },
    [CONDITION_NODE_UNTAINTED] = { "node_untainted", SEVERITY_NOTE, "",
        "pods on new nodes of the pool",
        "put the taint into the pool's node template" },
    [CONDITION_NODE_EXPOSED] = { "node_exposed", SEVERITY_NOTE, "",
        "a machine, which another writer may end",
        "`sluice doctor` says which permission is missing" },
    [CONDITION_OBJECT_UNREADABLE] = { "object_unreadable", SEVERITY_NOTE, "",
        "plans, which take such pods for whole nodes",
        "mend the object, or report it" },
    [CONDITION_DEVICES_UNKNOWN] = { "devices_unknown", SEVERITY_NOTE, "",
        "plans, which take pods with claims for whole nodes",
        "`sluice doctor` says which right is missing" },
    [CONDITION_DOCTOR_DOUBTFUL] = { "doctor_doubtful", SEVERITY_NOTE, "",
        "a part of what sluice can do there",
        "`sluice doctor` asks again at once, and names each remedy" },
};
/* clang-format on */

static const char *const severity_names[] = { "note", "warning", "critical" };

_Static_assert(COUNT_OF(rows) == CONDITION_KINDS, "a row for each kind");

const struct condition_row *condition_row(enum condition_kind kind)
{
    require(kind >= 0 && kind < CONDITION_KINDS);
    return &rows[kind];
}

const char *severity_name(enum severity severity)
{
    require(severity >= 0 && severity < COUNT_OF(severity_names));
    return severity_names[severity];
}

char *conditions_page(void)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    text_add(out, "| id | severity | word | affects | advice |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        text_add(out, "| `%s` | %s | %s | %s | %s |\n", rows[i].id,
                 severity_names[rows[i].severity], rows[i].word, rows[i].affects, rows[i].advice);
    return text_take(out);
}

json_t *conditions_table(void)
{
    json_t *table = json_array();

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        json_array_append_new(table, json_make("{ss ss ss}", "id", rows[i].id, "affects",
                                               rows[i].affects, "advice", rows[i].advice));
    return table;
}

json_t *conditions_texts(const json_t *health)
{
    json_t *texts = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        owned(chars) char *text = text_format("%s; %s", json_text_or(row, "text", ""),
                                              json_text_or(row, "advice", ""));

        if (!text_equal(json_text_or(row, "id", ""), rows[CONDITION_FROZEN].id))
            json_array_append_new(texts, json_text(text));
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

static json_t *counted(const char *id, const char *severity, const char *cluster, int count)
{
    return json_make("{ss ss ss si}", "id", id, "severity", severity, "cluster", cluster, "count",
                     count);
}

json_t *conditions_counts(const json_t *health)
{
    json_t *counts = json_array();
    const json_t *row;
    size_t i;

    for (size_t kind = 0; kind < COUNT_OF(rows); kind++)
        json_array_append_new(counts,
                              counted(rows[kind].id, severity_names[rows[kind].severity], "", 0));
    json_array_foreach(json_object_get(health, "conditions"), i, row)
        json_array_append_new(counts, counted(json_text_or(row, "id", ""),
                                              json_text_or(row, "severity", ""),
                                              json_text_or(row, "cluster", ""), 1));
    return counts;
}

/* The row of the same id, severity and cluster; NULL: none. */
static json_t *find_same(json_t *dates, const json_t *row)
{
    static const char *const members[] = { "id", "severity", "cluster" };
    json_t *date;
    size_t i;

    json_array_foreach(dates, i, date) {
        size_t same = 0;

        for (size_t k = 0; k < COUNT_OF(members); k++)
            same += text_equal(json_text_or(date, members[k], ""),
                               json_text_or(row, members[k], ""));
        if (same == COUNT_OF(members))
            return date;
    }
    return NULL;
}

static int64_t since_of(const json_t *row)
{
    struct wall_time since = { INT64_MAX };

    return wall_parse(json_text_or(row, "since", ""), false, &since, NULL) == 0 ? since.ms
                                                                                : INT64_MAX;
}

json_t *conditions_dates(const json_t *health)
{
    json_t *dates = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(health, "conditions"), i, row) {
        json_t *date = find_same(dates, row);

        if (!date)
            json_array_append_new(dates,
                                  json_make("{ss ss ss ss}", "id", json_text_or(row, "id", ""),
                                            "severity", json_text_or(row, "severity", ""),
                                            "cluster", json_text_or(row, "cluster", ""), "since",
                                            json_text_or(row, "since", "")));
        else if (since_of(row) < since_of(date))
            json_object_set(date, "since", json_object_get(row, "since"));
    }
    return dates;
}
