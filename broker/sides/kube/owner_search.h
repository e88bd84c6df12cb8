/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finds the object that can suspend a pod's gang as a whole.  The search starts at the labels,
 * annotations and owner of the pod.  It goes over the Kueue Workload up to the outermost
 * controller, by direct reads.  Each is sent once while nodes drain; if the answer depends on the
 * number of draining nodes, once for each node that starts to drain.  Nothing is stored: a restart
 * asks again.
 */
#pragma once

#include "clusters/snapshot.h"

#include <stdbool.h>

struct owner_searches;
struct runner;
struct transfer;

struct owner_searches *owner_searches_new(struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
void owner_searches_free(struct owner_searches *searches);

enum owner_found {
    OWNER_UNKNOWN, /* asked for, not answered yet */
    OWNER_NONE,    /* the pod may go without the others, or its gang cannot be suspended */
    OWNER_FOUND,
};

/* Finds the gang's owner for a pod on a node that the transfer drains.  A single pod, and pods that
 * do not need each other, have none, unless their Job would fail by the evictions on all nodes that
 * are drained now.  A search that takes longer than patience_ms counts as none. *ret_path is
 * borrowed until owner_searches_forget(). */
enum owner_found owner_search(struct owner_searches *searches, const struct transfer *transfer,
                              const struct pod *pod, int64_t patience_ms, const char **ret_path);

/* Sends questions that are due again.  True while a question is open. */
bool owner_searches_tick(struct owner_searches *searches);

/* No drain runs any more: results may differ next time. */
void owner_searches_forget(struct owner_searches *searches);
