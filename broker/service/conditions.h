/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Problems as data, with severities.  One place computes them from facts; the head of `sluice
 * status`, the states of clusters, the warnings and the exit code of `status --check` only read
 * them.
 */
#pragma once

#include "base/timestamp.h"

#include <jansson.h>
#include <stdbool.h>

enum severity {
    SEVERITY_NOTE,     /* worth knowing; `status --check` ends with 0 */
    SEVERITY_WARNING,  /* degraded: it ends with 2, as for the next */
    SEVERITY_CRITICAL, /* production lacks nodes, or a person must act */
};

enum condition_kind {
    CONDITION_RECLAIM_BLOCKED,
    CONDITION_RECLAIM_BEHIND,
    CONDITION_POOL_STALE,
    CONDITION_CLUSTER_UNREACHABLE,
    CONDITION_PRODUCTION_SHORT,
    CONDITION_OPERATOR_NEEDED,
    CONDITION_JOURNAL_DOUBT,
    CONDITION_MOVE_LATE,
    CONDITION_POOL_CLOSED,
    CONDITION_CONFIG_REFUSED,
    CONDITION_FROZEN,
    CONDITION_NO_SCHEDULES,
    CONDITION_MOVES_HELD,
    CONDITION_NOTICE_BROKEN,
    CONDITION_HOST_QUARANTINED,
    CONDITION_CLOCK_OFF,
    CONDITION_CAPACITY_ENDS,
    CONDITION_GANG_SUSPENDED,
    CONDITION_VALUE_CONTESTED,
    CONDITION_NODE_STRAY,
    CONDITION_NODE_UNTAINTED,
    CONDITION_NODE_EXPOSED,
    CONDITION_OBJECT_UNREADABLE,
    CONDITION_DEVICES_UNKNOWN,
    CONDITION_KINDS,
};

/* One that holds now. */
struct condition {
    enum condition_kind kind;
    struct wall_time since; /* 0: not known */
    const char *what;       /* the reclaim, pool, cluster, transfer ... that it is about */
    const char *cluster;    /* whose state it changes; NULL: none */
};

/* Adds a row {id, severity, word, since, what, cluster, text} to the array; the sentence names the
   problem and the remedy.  A row that is there already is not added again.  Takes text. */
void condition_add(json_t *rows, const struct condition *condition, char *text);

/* Sorts the rows, the worst first, and returns {severity, word, conditions}: severity "ok" and word
   "" without rows.  Takes rows. */
json_t *conditions_describe(json_t *rows) __attribute__((returns_nonnull, warn_unused_result));

/* The sentences alone, without freezes, which are listed with the overrides in force. */
json_t *conditions_texts(const json_t *health) __attribute__((returns_nonnull, warn_unused_result));

/* The words of the cluster's conditions above severity note, the worst first, each once. */
json_t *conditions_words(const json_t *health, const char *cluster)
    __attribute__((returns_nonnull, warn_unused_result));

/* How bad it is in all: 0 well, 1 note, 2 warning, 3 critical. */
int conditions_severity(const json_t *health);

/* [{id, severity, count}], a row for each kind of condition, also for those that do not hold. */
json_t *conditions_counts(const json_t *health)
    __attribute__((returns_nonnull, warn_unused_result));
