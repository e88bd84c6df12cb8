/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What AWS's errors mean for the caller.  They come from answers of all services, from the list of
 * errors in a LaunchInstances that was answered 200, from failed scaling activities (text only),
 * from stopped instances and from the health of EKS node groups.  One table reads all.
 */
#pragma once

#include "base/error.h"
#include "providers/common/provider.h"

#include <stdbool.h>

struct aws_refusal {
    int status;          /* of HTTP; 0: not from an answer */
    const char *code;    /* "": none */
    const char *message; /* "": none */
    int64_t retry_after_ms;
    bool is_mutation; /* an answer that does not tell the outcome is ERROR_UNKNOWN_OUTCOME */
};

/* Causes that callers tell from others: the region or endpoint does not know the action; the keys
   may not use the action.  Nothing happened. */
extern const struct error_cause aws_not_offered;
extern const struct error_cause aws_not_permitted;

/* Whether the code says that the keys are no longer good, so that new ones may help. */
bool aws_error_is_of_keys(const char *code);

/* Always -1. */
int aws_error_of(const struct aws_refusal *refusal, struct error *err);

/* As struct provider_kind has it. */
bool aws_refusal(size_t at, struct provider_refusal *ret);
