/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One blocker, shared by blockers*.c: what was computed and what a server said have the same form.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct pod;

struct blocker {
    const char *kind;
    const char *verdict; /* "never", "slow" or "note" */
    const char *text;
    int64_t expected_ms; /* until the pod is gone; -1: nobody knows */
    const char *advice;  /* what a person can do */
};

json_t *blocker_describe(const struct pod *pod, const struct blocker *blocker)
    __attribute__((returns_nonnull, warn_unused_result));
