/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A disruption budget as its controller last wrote it, which pods it selects, and what it lets
 * happen.  Pure: it decides by comparing numbers, and asks no server.
 */
#pragma once

#include "base/error.h"
#include "clusters/snapshot.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct budget {
    const char *namespace;
    const char *name;
    const char *resource_version;
    json_t *selector;       /* NULL: selects nothing */
    bool empty_selects_all; /* policy/v1; in v1beta1 the empty selector selects nothing */
    bool is_current;        /* the status is of the present spec */
    bool frees_unready;     /* unhealthyPodEvictionPolicy AlwaysAllow */
    int64_t allowed;        /* disruptions, now */
    int64_t healthy;
    int64_t wanted; /* healthy pods that it requires */
    int64_t expected;
    const char *failure; /* why its controller cannot compute the numbers above; "": it can */
    int64_t disrupted;   /* evicted and not gone yet, as the status knows */
};

struct budget *budget_decode_v1(const json_t *object, struct error *err)
    __attribute__((warn_unused_result));
struct budget *budget_decode_v1beta1(const json_t *object, struct error *err)
    __attribute__((warn_unused_result));
void budget_free(struct budget *budget);

bool budget_selects(const struct budget *budget, const struct pod *pod);

/* Whether the server would look at budgets at all to evict this pod: not for one that has not
   started, has ended or is leaving. */
bool budget_counts_for(const struct pod *pod);

/* The budgets that the server would ask to evict this pod; at most `most` of them, the first by
   name, are written to out.  Returns how many there are. */
size_t budgets_of_pod(const struct snapshot *snapshot, const struct pod *pod,
                      const struct budget **out, size_t most);

/* Whether an unready pod may go without being counted. */
bool budget_frees_unready(const struct budget *budget);

/* When a budget lets a pod go. */
enum budget_verdict {
    BUDGET_ALLOWS,      /* at least one pod at once */
    BUDGET_UNKNOWN,     /* its controller has not looked at the present spec */
    BUDGET_LATER,       /* once the pods that should be healthy are healthy */
    BUDGET_RESCHEDULED, /* once the evicted pods run again elsewhere */
    BUDGET_FAILED,      /* once its controller can compute it, which waiting does not bring about */
    BUDGET_NEVER,       /* all its pods are healthy and it allows none of them to go */
};
enum budget_verdict budget_judge(const struct budget *budget);
