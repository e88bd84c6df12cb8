/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a person or sluice may have said of a Node, as a real API server has it.  The cluster's own
 * words (taints, annotations, copies of labels) come and go by themselves, and are left out.
 */
#pragma once

#include "base/input/json.h"

#include <stdbool.h>
#include <stddef.h>

/* UID, labels, whether it is closed, and sluice's annotations and taints. */
json_t *untouched_of(const json_t *node) __attribute__((returns_nonnull, warn_unused_result));

/* Both are name -> untouched_of().  How many Nodes are there as they were before; one that is there
   and is another fails the test. */
size_t untouched_count(const json_t *before, const json_t *after);

/* Whether the Node is as one that serves: open, and without a mark of a move. */
bool untouched_serves(const json_t *said);
