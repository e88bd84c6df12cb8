/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What errors of Oracle's cloud mean for the caller.  They come in the body of an answer, and in a
 * node that could not be made.  One table reads both.
 */
#pragma once

#include "base/error.h"
#include "providers/common/provider.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct oci_said {
    int status;         /* of HTTP */
    const json_t *body; /* NULL: not JSON */
    int64_t retry_after_ms;
    bool is_mutation; /* an answer that does not tell the outcome is ERROR_UNKNOWN_OUTCOME */
};

/* 0 for a success; otherwise -1 and the error. */
int oci_error_of_answer(const struct oci_said *said, struct error *err)
    __attribute__((warn_unused_result));

/* The nodeError of a node; ERROR_NONE when it has none. */
void oci_error_of_node(const json_t *node, struct error *ret_trouble);

/* As struct provider_kind has it. */
bool oci_refusal(size_t at, struct provider_refusal *ret);
