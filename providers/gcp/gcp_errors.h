/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Compute Engine's errors mean for the caller.  They come in three places: the body of an
 * answer that is no 200, an Operation that is done and failed, and the last attempt to create an
 * instance.  One table reads all three.
 */
#pragma once

#include "base/error.h"
#include "providers/common/provider.h"

#include <jansson.h>
#include <stdbool.h>

/* The cause of an ERROR_CONFLICT: what is to be made has been made.  Of any other one the group is
   busy. */
extern const struct error_cause gcp_exists;

struct gcp_answer {
    int status;         /* of HTTP */
    const json_t *body; /* NULL: not JSON */
    const char *text;   /* the body's characters */
    int64_t retry_after_ms;
    bool is_mutation; /* an answer that does not tell the outcome is ERROR_UNKNOWN_OUTCOME */
};

/* 0 for a success; otherwise -1 and the error.  A failed Operation is a failure. */
int gcp_error_of_answer(const struct gcp_answer *answer, struct error *err)
    __attribute__((warn_unused_result));

/* The error of a managed instance's last attempt; ERROR_NONE when it has none. */
void gcp_error_of_attempt(const json_t *instance, struct error *ret_trouble);

/* As struct provider_kind has it. */
bool gcp_refusal(size_t at, struct provider_refusal *ret);
