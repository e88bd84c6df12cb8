/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE table of conditions: the kinds of problems that sluice can see, and how bad each is.  Every
 * face (the head of `sluice status`, the states of clusters, `--check`, metrics, alerts) reads the
 * conditions that hold from one place: health.h.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

enum severity {
    SEVERITY_NOTE,     /* worth knowing; `status --check` ends with 0 */
    SEVERITY_WARNING,  /* degraded: it ends with 2, as for the next */
    SEVERITY_CRITICAL, /* production lacks nodes, or a person must act */
};

enum condition_kind {
    CONDITION_RECLAIM_WAITS,
    CONDITION_RECLAIM_BLOCKED,
    CONDITION_RECLAIM_BEHIND,
    CONDITION_CLUSTER_UNREACHABLE,
    CONDITION_POOL_STALE,
    CONDITION_PRODUCTION_SHORT,
    CONDITION_OPERATOR_NEEDED,
    CONDITION_CERTIFICATE_EXPIRED,
    CONDITION_APPLY_WAITS,
    CONDITION_JOURNAL_DOUBT,
    CONDITION_PRODUCTION_FILLS,
    CONDITION_POOL_FAILING,
    CONDITION_MOVE_LATE,
    CONDITION_POOL_CLOSED,
    CONDITION_LEAD_TIME_DRIFTS,
    CONDITION_CONFIG_REFUSED,
    CONDITION_DOOR_CLOSED,
    CONDITION_CERTIFICATE_EXPIRES,
    CONDITION_CERTIFICATE_REFUSED,
    CONDITION_KEYS_OLD,
    CONDITION_WEBHOOK_FAILING,
    CONDITION_WINDOW_UNPLANNED,
    CONDITION_FORECAST_OUTDATED,
    CONDITION_DOCTOR_WRONG,
    CONDITION_GANG_SUSPENDED,
    CONDITION_FROZEN,
    CONDITION_NO_SCHEDULES,
    CONDITION_MOVES_HELD,
    CONDITION_NOTICE_BROKEN,
    CONDITION_HOST_QUARANTINED,
    CONDITION_CLOCK_OFF,
    CONDITION_CAPACITY_ENDS,
    CONDITION_VALUE_CONTESTED,
    CONDITION_NODE_STRAY,
    CONDITION_NODE_UNTAINTED,
    CONDITION_NODE_EXPOSED,
    CONDITION_OBJECT_UNREADABLE,
    CONDITION_DEVICES_UNKNOWN,
    CONDITION_DOCTOR_DOUBTFUL,
    CONDITION_KINDS,
};

struct condition_row {
    const char *id;
    enum severity severity;
    const char *word;    /* of the status's head and of the cluster's state; "": none */
    const char *affects; /* what cannot be relied on while it holds */
    const char *advice;  /* what to do about it, unless the condition itself says more */
};

/* The table, in the order in which one condition is told before another of the same severity. */
const struct condition_row *condition_row(enum condition_kind kind)
    __attribute__((returns_nonnull, warn_unused_result));

/* "note", "warning", "critical". */
const char *severity_name(enum severity severity)
    __attribute__((returns_nonnull, warn_unused_result));

/* The table as a page for people.  The caller frees the text with mem_free(). */
char *conditions_page(void) __attribute__((returns_nonnull, warn_unused_result));

/* The table for machines: [{id, affects, advice}].  The caller frees it. */
json_t *conditions_table(void) __attribute__((returns_nonnull, warn_unused_result));

/* The functions below read what health_describe() returns. */

/* For each condition its sentence and the advice, without freezes, which are listed with the
   overrides in force. */
json_t *conditions_texts(const json_t *health) __attribute__((returns_nonnull, warn_unused_result));

/* The words of the cluster's conditions above severity note, the worst first, each once. */
json_t *conditions_words(const json_t *health, const char *cluster)
    __attribute__((returns_nonnull, warn_unused_result));

/* How bad it is in all: 0 well, 1 note, 2 warning, 3 critical. */
int conditions_severity(const json_t *health);

/* [{id, severity, cluster, count}]: a row of count 0 for each kind of condition, and one of count 1
   for each condition that holds; cluster is "" where a condition is of none. */
json_t *conditions_counts(const json_t *health)
    __attribute__((returns_nonnull, warn_unused_result));

/* [{id, severity, cluster, since}] of the conditions that hold, each triple once: the time is that
   of the first one. */
json_t *conditions_dates(const json_t *health) __attribute__((returns_nonnull, warn_unused_result));
