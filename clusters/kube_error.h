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

/* 0 when the answer is a success; otherwise -1 and the error. */
int kube_error_of_answer(const struct kube_answer *answer, struct error *err)
    __attribute__((warn_unused_result));

/* Whether a DELETE with a UID precondition says that this object is gone already. */
bool kube_error_is_gone(const struct kube_answer *answer);
