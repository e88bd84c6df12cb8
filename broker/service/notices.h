/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is told inside a cluster beside the announcement itself: the node's conditions
 * MaintenancePlanned, DrainInProgress and Drained (KEP-5683), and Events on the node and on one pod
 * of each gang that has to leave it.  A courtesy: nothing waits for it, a refusal is said once, and
 * nothing of it is in the journal.  Conditions follow what the nodes show; an event's name is the
 * same for the same news, so that a service that starts again reports nothing twice.
 */
#pragma once

struct notices;
struct service;

struct notices *notices_new(struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));
void notices_free(struct notices *notices);

/* Compares what is told with what should be, and sends a little of the difference. */
void notices_advance(struct notices *notices);
