/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a cluster shows beside the announcement itself: the node's conditions MaintenancePlanned,
 * DrainInProgress and Drained (KEP-5683), and Events on the node and on one pod of each gang that
 * has to leave it.  A courtesy: nothing waits for it, a refusal is said once, and nothing of it is
 * in the journal.  Conditions follow what the nodes show; an event's name is the same for the same
 * news, so that a service that starts again reports nothing twice.
 */
#pragma once

struct announcements;
struct runner;

struct announcements *announcements_new(struct runner *runner)
    __attribute__((returns_nonnull, warn_unused_result));
void announcements_free(struct announcements *announcements);

/* Compares the announced state with the wanted one, and sends a part of the difference. */
void announcements_advance(struct announcements *announcements);
