/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A way out that can be shut as a process's death shuts it: what is under way reaches its server,
 * and its answer reaches nobody; nothing more is sent.
 */
#pragma once

#include "base/http.h"

/* The inner one outlives it. */
struct http *mortal_http_new(struct http *inner)
    __attribute__((returns_nonnull, warn_unused_result));
void mortal_http_kill(struct http *http);

/* After all users of before the death have cancelled what they had. */
void mortal_http_revive(struct http *http);
