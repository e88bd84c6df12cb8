/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What errors of Azure Resource Manager and of AKS mean for the caller.  They come in the body of
 * an answer that is no success, and in the status of an agent pool whose last operation failed.
 * Codes nest: the innermost one that the table knows decides.
 */
#pragma once

#include "base/error.h"
#include "providers/common/provider.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct azure_answer {
    int status;         /* of HTTP */
    const json_t *body; /* NULL: not JSON */
    const char *text;   /* the body's characters */
    int64_t retry_after_ms;
    bool is_mutation; /* an answer that does not tell the outcome is ERROR_UNKNOWN_OUTCOME */
};

/* 0 for a status of success; otherwise -1 and the error. */
int azure_error_of_answer(const struct azure_answer *answer, struct error *err)
    __attribute__((warn_unused_result));

/* Why a pool lacks machines after an operation that ended: {code, message, details}.  The cloud
   does not try again by itself, so ERROR_NO_CAPACITY is the kind of each reason that no person must
   remove.  details NULL: it gave no reason. */
void azure_error_of_operation(const json_t *details, struct error *ret_trouble);

/* As struct provider_kind has it. */
bool azure_refusal(size_t at, struct provider_refusal *ret);
