/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One blocker, shared by blockers*.c: what was computed and what a server said have the same form.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct pod;

struct blocker_kind {
    const char *name;
    const char *verdict; /* "never", "slow" or "note" */
    const char *advice;  /* what a person can do */
    bool is_of_budget;   /* a server's answer to a dry run replaces it */
};

/* Both see it: the numbers and the server. */
#define BLOCKER_TWO_BUDGETS                                                                        \
    {                                                                                              \
        "two budgets", "never", "delete one of them, or narrow its selector", true                 \
    }

/* expected_ms: until the pod is gone, at most; -1: unknown. */
json_t *blocker_describe(const struct pod *pod, const struct blocker_kind *kind, const char *text,
                         int64_t expected_ms) __attribute__((returns_nonnull, warn_unused_result));

/* Whether it is among those that are computed from budgets. */
bool blocker_is_of_budget(const char *kind);
