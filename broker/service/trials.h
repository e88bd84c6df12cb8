/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trials: when a plan is read, the API servers are asked by dry runs what they would say to the
 * evictions of which the numbers alone cannot tell: pods under several budgets, unready ones,
 * budgets that are not known, and where an admission webhook has a say one pod of each owner.
 *
 * A few for each node, a few at once of each cluster, within a few seconds; nothing is evicted by
 * them, and a server that is busy, or may be too old to know a dry run, is not asked.
 */
#pragma once

#include <jansson.h>

struct service;
struct trials;

struct trials *trials_new(struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));
/* After the fleet was closed: it answers no more.  What is still asked is forgotten. */
void trials_free(struct trials *trials);
