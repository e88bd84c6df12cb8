/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What will keep a node's pods from leaving, said before the first of them is asked.  Pure: it
 * compares what the snapshot shows with the time that there is.
 *
 * "slow" ends by itself, sooner or later than the deadline; "never" says that no eviction will do
 * it and the pod goes by a forced delete at its own deadline; "note" delays nothing, but somebody
 * loses something by it.
 */
#pragma once

#include "base/timestamp.h"
#include "clusters/snapshot.h"

#include <jansson.h>

/* An array of {pod, kind, verdict, text}, the worst first; deadline_ms: how long a drain may take.
 */
json_t *blockers_of_node(const struct snapshot *snapshot, const char *node_name,
                         int64_t deadline_ms, struct wall_time now)
    __attribute__((returns_nonnull, warn_unused_result));
