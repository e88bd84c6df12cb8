/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an answer of a Kubernetes API server means for the caller: a pure function of status and
 * body.  The body counts more than the status line, because an eviction can be answered with 201
 * around a Status that says Failure.
 */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct kube_answer {
    int status;         /* of HTTP */
    const json_t *body; /* NULL: not JSON */
    const char *text;   /* the body's characters */
    int64_t retry_after_ms;
    bool is_mutation; /* an answer that does not tell the outcome is ERROR_UNKNOWN_OUTCOME */
    bool is_eviction;
};

/* Causes (base/error.h) that code compares.  For evictions: the budget, webhook or policy that
   denies for now (ERROR_THROTTLED), two budgets that select one pod (ERROR_DENIED), a webhook that
   the server could not call.  For any request: ERROR_DENIED for a missing permission; ERROR_INVALID
   for a resource, or a whole API group, that the server surely lacks. */
extern const struct error_cause kube_cause_budget;
extern const struct error_cause kube_cause_webhook;
extern const struct error_cause kube_cause_policy;
extern const struct error_cause kube_cause_two_budgets;
extern const struct error_cause kube_cause_webhook_down;
extern const struct error_cause kube_cause_forbidden;
extern const struct error_cause kube_cause_unserved;
extern const struct error_cause kube_cause_no_group;

/* Whether a rule delays this pod's eviction for now, and not an overloaded server. */
bool kube_error_holds_eviction(const struct error *err);

/* 0 when the answer is a success; otherwise -1 and the error. */
int kube_error_of_answer(const struct kube_answer *answer, struct error *err)
    __attribute__((warn_unused_result));

/* Whether a DELETE with a UID precondition says that this object is gone already. */
bool kube_error_is_gone(const struct kube_answer *answer);
